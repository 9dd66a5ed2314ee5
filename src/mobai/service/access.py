"""Who makes a request, and whether it may: every route states the scope that it needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from inspect import Parameter, signature
from typing import Any, get_type_hints
from urllib.parse import unquote

from anyio import to_thread
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from mobai.service.bodies import MOST_BYTES_FROM_ANYBODY
from mobai.service.problems import ProblemError
from mobai.service.tokens import ANYBODY, SESSION, Caller, Tokens

COOKIE = "mobai_session"
HISTORY = "mobai-history"
OPEN = "open"  # the scope of what anybody may see
_SAFE = ("GET", "HEAD")
# What proxies add: whoever is behind one is not somebody on this machine.
_FORWARDED = re.compile(
    "forwarded|via|x-(original-)?forwarded.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-.*|cdn-loop|"
    "fly-.*|fastly-.*|x-envoy-.*|x-amzn-.*|x-azure-.*|x-appengine-.*|x-goog-.*|tailscale-.*|x-original-.*|x-request-start"
)


def needs(scope: str) -> dict[str, Any]:
    """Return what a route says about the scope it needs."""
    return {"x-scope": scope, **({} if scope == OPEN else {"security": [{"token": []}]})}


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class ScopedRoute(APIRoute):
    """A route that states the scope it needs (``openapi_extra=needs("read")``); without, it cannot be made."""

    def get_route_handler(self) -> Handler:
        """Return a handler that checks who calls before anything else is looked at."""
        handler = self.bound()
        scope: str = (self.openapi_extra or {})["x-scope"]

        async def checked(request: Request) -> Response:
            _decode_path(request)
            request.scope["route"] = self
            if scope == OPEN:
                request.scope["most_bytes"] = MOST_BYTES_FROM_ANYBODY
            else:
                caller = await identify(request)
                request.scope["caller"] = caller
                _allow(request, caller, scope)
                _show(request)
            await _check_history(request)
            if request.method not in _SAFE:
                await request.body()  # not before it is known who sends it
            return await handler(request)

        return checked

    def bound(self) -> Handler:
        """Return a handler that gives the endpoint its parameters: FastAPI's own."""
        return super().get_route_handler()


def _show(request: Request) -> None:
    """Let the connection be known as one of somebody who may come in."""
    connection = request.scope.get("mobai.connection")
    if connection is not None:
        connection.show()


class WorkRoute(ScopedRoute):
    """A route for what workers call all the time, of ``(request, path parameters..., body)`` and nothing else.

    The body is read and checked in one go, in a third of the time that FastAPI takes for the same.
    """

    def bound(self) -> Handler:
        """Return a handler that gives the endpoint its parameters."""
        endpoint: Any = self.endpoint
        kind = get_type_hints(endpoint)["body"]
        needed = signature(endpoint).parameters["body"].default is Parameter.empty
        validate = TypeAdapter(kind).validate_json

        async def handler(request: Request) -> Response:
            data, body = await request.body(), None
            if data or needed:
                try:
                    body = validate(data)
                except ValidationError as error:
                    details = [{**one, "loc": ("body", *one["loc"])} for one in error.errors(include_url=False)]
                    raise RequestValidationError(details) from None
            answer: Response = await endpoint(request, **request.path_params, body=body)
            return answer

        return handler


async def _check_history(request: Request) -> None:
    """Refuse a caller who knows another history of the experiment than there is now."""
    known, name = request.headers.get(HISTORY), request.path_params.get("name")
    if known is not None and name is not None:
        found = await request.app.state.service.history_of(name)
        if known != found:
            raise ProblemError(412, "the experiment was deleted and created anew, or restored; load it again")


def _decode_path(request: Request) -> None:
    try:
        found = {name: unquote(value, errors="strict") for name, value in request.scope["path_params"].items()}
    except UnicodeDecodeError:
        raise ProblemError(404, "the path is not UTF-8, percent-encoded") from None
    request.scope["path_params"] = found


async def identify(request: Request) -> Caller:
    """Return who makes a request; refuse one that shows no token where there are any, or a wrong one."""
    tokens: Tokens = request.app.state.service.tokens
    if tokens.is_stale():
        await to_thread.run_sync(tokens.refresh)
    header = request.headers.get("authorization")
    if header is not None:
        kind, _, secret = header.partition(" ")
        caller = tokens.check(secret.strip()) if kind.lower() == "bearer" else None
        if caller is None:
            raise _unknown("the token is not valid: it is mistyped, has expired or was revoked")
        return caller
    cookie = request.cookies.get(COOKIE)
    if cookie is not None:
        caller = tokens.check(cookie, SESSION)
        if caller is not None:
            return caller
    if tokens.any or _is_forwarded(request) or not request.app.state.service.open_without_token:
        raise _unknown("a token is needed: Authorization: Bearer TOKEN; `mobai token create` makes one")
    return ANYBODY


def _is_forwarded(request: Request) -> bool:
    """Whether a proxy has had a request; one that adds nothing is known by HTTP/1.0, which nobody else speaks."""
    return request.scope.get("http_version") == "1.0" or any(map(_FORWARDED.fullmatch, request.headers))


def _unknown(detail: str) -> ProblemError:
    return ProblemError(401, detail, {"WWW-Authenticate": 'Bearer realm="mobai"'})


def _allow(request: Request, caller: Caller, scope: str) -> None:
    name = request.path_params.get("name")
    if not caller.may(scope):
        raise ProblemError(403, f"this needs a token of scope {scope}, and yours has {caller.scope}")
    if not caller.may(scope, name):
        raise ProblemError(403, f"the token is for experiments named {caller.only} only")
    if request.app.state.service.read_only and request.method not in _SAFE:
        raise ProblemError(403, "the service is read-only")
