"""Refusals in the form of RFC 9457: what is wrong in one line, with a JSON pointer to where it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from mobai.errors import ConflictError, FileReplacedError, HistoryChangedError, InputError, NotFoundError, StorageError
from mobai.service.experiments import REPLACED

MEDIA_TYPE = "application/problem+json"
_CODES = {NotFoundError: 404, ConflictError: 409, InputError: 422, StorageError: 503}
_TITLES = {413: "Content too large", 421: "Misdirected request", 422: "Not acceptable as it is"}
_SECONDS = 1  # after which to come again


class ProblemError(Exception):
    """A request that is answered with a code and one line."""

    def __init__(self, code: int, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.code, self.detail, self.headers = code, detail, dict(headers or {})


def busy(detail: str) -> ProblemError:
    """Say that it would work a little later."""
    return ProblemError(503, detail, {"Retry-After": str(_SECONDS)})


def problem(
    code: int, detail: str, *, pointers: Sequence[tuple[str, str]] = (), headers: Mapping[str, str] | None = None
) -> Response:
    """Return a refusal as a response; ``pointers`` say where in the body, and what is wrong there."""
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": _TITLES.get(code) or HTTPStatus(code).phrase,
        "status": code,
        "detail": detail,
    }
    if pointers:
        body["errors"] = [{"pointer": f"#{place}", "detail": text} for place, text in pointers]
    return Response(json.dumps(body), code, headers=dict(headers or {}), media_type=MEDIA_TYPE)


def code_of(error: Exception) -> int:
    """Return the code that an error of the library is answered with."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), 500)


def without_hint(error: Exception) -> Exception:
    """Return an error without what only those may know, or can use, who run the service."""
    return error.within(hint=None) if isinstance(error, NotFoundError) else error


async def answer_error(request: Request, error: Exception) -> Response:
    """Answer an error of the library."""
    # Which experiments there are, and where the storage is, is not for everybody.
    code, detail = code_of(error), str(without_hint(error))
    if isinstance(error, StorageError):
        detail = request.app.state.service.without_address(detail)
    if isinstance(error, FileReplacedError):
        detail = REPLACED
    elif isinstance(error, HistoryChangedError):
        detail = "the storage was replaced or restored, and is loaded anew; try again"
    comes_back = code == 503 and not isinstance(error, FileReplacedError)
    headers = {"Retry-After": str(_SECONDS)} if comes_back else {}
    pointers = [(place, detail)] if code in (404, 409, 422) and (place := _place(error, await _body(request))) else []
    return problem(code, detail, pointers=pointers, headers=headers)


async def answer_refusal(_: Request, error: Exception) -> Response:
    """Answer what the service itself refuses."""
    assert isinstance(error, ProblemError)
    return problem(error.code, error.detail, headers=error.headers)


async def answer_http(_: Request, error: Exception) -> Response:
    """Answer what the framework refuses: no such path, no such method, a body that is no JSON."""
    assert isinstance(error, HTTPException)
    words = {404: "there is nothing at this path", 400: "the body must be JSON"}
    return problem(error.status_code, words.get(error.status_code, str(error.detail)), headers=error.headers)


async def answer_invalid(_: Request, error: Exception) -> Response:
    """Answer a body or a query that is not of the documented form."""
    assert isinstance(error, RequestValidationError)
    pointers = [(_pointer(one["loc"]), _words(one)) for one in error.errors()[:20]]
    place, first = pointers[0]
    more = f" (and {len(error.errors()) - 1} more)" if len(error.errors()) > 1 else ""
    name = place.strip("/").replace("/", ".") or "body"
    in_body = [one for one, where in zip(pointers, error.errors(), strict=False) if where["loc"][0] == "body"]
    return problem(422, f"{name}: {first}{more}", pointers=in_body)


async def answer_unexpected(_: Request, error: Exception) -> Response:
    """Answer what should not happen, without telling what it was."""
    return problem(500, f"unexpected {type(error).__name__}; the log of the service says more")


HANDLERS: dict[Any, Callable[[Request, Exception], Any]] = {
    InputError: answer_error,
    StorageError: answer_error,
    ProblemError: answer_refusal,
    HTTPException: answer_http,
    RequestValidationError: answer_invalid,
    Exception: answer_unexpected,
}


def _pointer(location: Sequence[Any]) -> str:
    return "".join(f"/{_escaped(str(part))}" for part in location[1:] if part != "[key]")


def _escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _words(error: Any) -> str:
    message = str(error["msg"]).removeprefix("Value error, ")
    return "the body must be JSON" if error["type"] == "json_invalid" else message[:1].lower() + message[1:]


async def _body(request: Request) -> dict[str, Any]:
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _place(error: Exception, body: dict[str, Any]) -> str | None:
    """Return where in the body it is that an error of the library complains about, None if it cannot be said."""
    if not isinstance(error, InputError):
        return None
    if error.assignment is not None and isinstance(body.get("reports"), list):
        named = [isinstance(one, dict) and one.get("assignment") == error.assignment for one in body["reports"]]
        return f"/reports/{named.index(True)}" if True in named else None
    if error.row is not None and "observations" in body:
        return f"/observations/{error.row - 1}"
    return f"/{error.argument}" if error.argument in body else None
