"""What handlers have in common."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from fastapi import Request, Response

from mobai.live.assignments import Assignment, assignment_json
from mobai.service.access import OPEN, ScopedRoute, needs
from mobai.service.answers import ProblemOut
from mobai.service.problems import MEDIA_TYPE, ProblemError
from mobai.service.renderings import to_json
from mobai.service.service import Service
from mobai.service.tokens import Caller

__all__ = ["OPEN", "PROBLEMS", "ScopedRoute", "answer", "caller_of", "key_of", "needs", "service_of", "signed", "work"]

_WORDS = {
    401: "no token, or not a valid one",
    403: "not allowed with this token",
    404: "there is no such experiment, assignment or unit",
    409: "contradicts what is there; closed; paused; the name is taken",
    413: "too large",
    422: "a value that is not accepted",
    503: "the storage is away or busy; come again after `Retry-After`",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"description": words, "model": ProblemOut, "content": {MEDIA_TYPE: {}}} for code, words in _WORDS.items()
}


def service_of(request: Request) -> Service:
    """Return the service that a request is made to."""
    service: Service = request.app.state.service
    return service


def caller_of(request: Request) -> Caller:
    """Return who makes a request."""
    caller: Caller = request.scope["caller"]
    return caller


def signed(request: Request, by: str | None) -> str | None:
    """Return who does it, for the journal."""
    return caller_of(request).signed(by)


def answer(facts: Any, code: int = 200, **headers: str) -> Response:
    """Return plain data as a response."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(to_json(facts), code, headers=named, media_type="application/json")


def work(assignments: list[Assignment], stopped: bool, code: int = 200) -> Response:
    """Return assignments as a response."""
    rows = [assignment_json(one) for one in assignments]
    return answer({"assignments": rows, "stopped": stopped}, code)


def key_of(request: Request) -> str | None:
    """Return the Idempotency-Key of a request, written plainly or as a quoted string."""
    text = request.headers.get("idempotency-key")
    if text is None:
        return None
    with suppress(UnicodeError):  # a header is bytes; those who write more than ASCII write UTF-8
        text = text.encode("latin-1").decode()
    if not text.startswith('"'):
        return text
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, str):
        raise ProblemError(422, "Idempotency-Key must be a text, or a quoted one")
    return found
