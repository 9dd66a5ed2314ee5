"""The way in for browsers: a one-time link or a token, then a cookie."""

from __future__ import annotations

import re

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from mobai.service.access import COOKIE, OPEN, ScopedRoute, needs
from mobai.service.api.common import service_of
from mobai.service.pages.forms import read_form
from mobai.service.pages.rendering import STATIC, compressed_file, page, static_file
from mobai.service.tokens import SECONDS_OF_A_SESSION, Caller

router = APIRouter(route_class=ScopedRoute, include_in_schema=False)


@router.get("/login", openapi_extra=needs(OPEN))
async def login(request: Request, code: str | None = None, next: str = "/") -> Response:
    """Log in with the one-time code of a link, or show a form for a token."""
    if code is None:
        return page(request, "login.html", message=None, then=_place(next))
    if not service_of(request).tokens.use_code(code):
        words = "The link was used before, or is older than ten minutes."
        return page(request, "login.html", 401, message=words, then="/")
    return await _logged_in(request, Caller(None, "admin"))


def _place(path: str) -> str:
    """Return where to go after the login: a page of ours, and nothing else."""
    return path if re.fullmatch(r"/(?![/\\])[\w\-./%~]*", path, re.ASCII) else "/"


@router.post("/login", openapi_extra=needs(OPEN))
async def login_with_token(request: Request) -> Response:
    """Log in with a token."""
    form = await read_form(request)
    given, then = form.get("token"), _place(form.get("next", "/"))
    tokens = service_of(request).tokens
    await to_thread.run_sync(tokens.refresh)
    caller = tokens.check(given)
    if caller is None:
        words = "This is not a valid token: mistyped, expired or revoked."
        return page(request, "login.html", 401, message=words, then=then)
    return await _logged_in(request, caller, then)


async def _logged_in(request: Request, caller: Caller, then: str = "/") -> Response:
    answer = RedirectResponse(then, 303)
    await set_session(request, answer, caller)
    return answer


async def set_session(request: Request, answer: Response, caller: Caller) -> None:
    """Begin a session for the browser that is answered."""
    service = service_of(request)
    secret = await service.write(lambda: service.tokens.new_session(caller))
    secure = request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, secret, max_age=SECONDS_OF_A_SESSION, httponly=True, samesite="strict", secure=secure, path="/"
    )


@router.post("/logout", openapi_extra=needs(OPEN))
async def logout(request: Request) -> Response:
    """End the session of this browser."""
    secret = request.cookies.get(COOKIE)
    service = service_of(request)
    if secret is not None:
        await service.write(lambda: service.tokens.end_session(secret))
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


@router.get("/static/{edition}/{file}", openapi_extra=needs(OPEN))
async def static(request: Request, edition: str, file: str) -> Response:  # noqa: ARG001 - browsers tell them apart
    """Return a file that pages load, compressed for those who take it so. (Pages are not: they may hold secrets.)"""
    if file not in STATIC:
        return Response(None, 404)
    # Its address changes with its content.
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(static_file(file), media_type=STATIC[file], headers=headers)
    return Response(compressed_file(file), media_type=STATIC[file], headers={**headers, "Content-Encoding": "gzip"})
