"""What every request must pass before anything looks at it: host, size, origin; and the headers of every answer.

Plain ASGI, for speed. Paths stay percent-encoded until they are routed, so that a slash in a name is part of the name.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mobai.service.bodies import BoundedBody
from mobai.service.connections import MOST_BYTES_OF_HEADERS
from mobai.service.metrics import Metrics
from mobai.service.problems import problem

_SAFE = ("GET", "HEAD", "OPTIONS")
_METHODS = (*_SAFE, "POST", "PUT", "DELETE")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
        b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
]
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[\w.-]+)(:\d{1,5})?", re.ASCII)
_API = "/api/v1"
_FORM = b"application/x-www-form-urlencoded"
_access = logging.getLogger("mobai.service.access")


class Guard:
    """Wraps the application. ``behind_proxy`` says that a proxy names the scheme and the sender of every request."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], metrics: Metrics, behind_proxy: bool = False) -> None:
        self._app, self._metrics, self._behind_proxy = app, metrics, behind_proxy
        self._hosts = {host.lower() for host in (*_LOOPBACK, *hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, code = time.perf_counter(), 500
        headers = _single(scope["headers"])
        method = scope["method"]
        if method == "HEAD" and not scope["path"].endswith("/stream"):
            scope = {**scope, "method": "GET"}  # the server leaves out what it would send
        if self._behind_proxy:
            _believe_proxy(scope, headers)

        async def send_on(message: Message) -> None:
            nonlocal code
            if message["type"] == "http.response.start":
                code = message["status"]
                sent = [*message.get("headers", []), *_HEADERS]
                if not any(name == b"cache-control" for name, _ in sent):
                    sent.append((b"cache-control", b"no-store"))
                message["headers"] = sent
            await send(message)

        try:
            refusal = self._refusal(scope, headers)
            if refusal is not None:
                await refusal(scope, receive, send_on)
                return
            scope["path"] = scope["raw_path"].decode("latin-1")
            await self._app(scope, BoundedBody(scope, receive), send_on)
        finally:
            route = _template(scope)
            seconds = time.perf_counter() - start
            self._metrics.answered(method if method in _METHODS else "(other)", route, code, seconds)
            if _access.isEnabledFor(logging.INFO):
                who = getattr(scope.get("caller"), "name", None) or "-"
                _access.info("%s %s %d %.1f ms, %s", method, scope["path"], code, 1000 * seconds, who)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> Any:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_BYTES_OF_HEADERS:
            return problem(
                431, f"headers must have at most {MOST_BYTES_OF_HEADERS:,} bytes", headers={"Connection": "close"}
            )
        host = headers.get(b"host", b"").decode("latin-1")
        if _host_name(host) not in self._hosts:
            return problem(421, "this service does not answer to that Host; --allowed-host NAME adds one")
        if (scope["method"] not in _SAFE or scope["path"].startswith(_API)) and not _same_origin(headers, host):
            return problem(403, "the request comes from another origin")
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        # Forms are for pages; what the API takes is JSON.
        taken = b"application/json" if scope["path"].startswith(_API) else _FORM
        if _has_body(headers) and kind != taken:
            return problem(415, f"a body must be {taken.decode()}, and say so: Content-Type: {taken.decode()}")
        return None


def _single(headers: list[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return headers by name; of one that is given twice nothing is known."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        found[name] = b"" if name in found else value
    return found


def _host_name(host: str) -> str:
    """Return the name in a Host header, without the port; nothing for what is no name."""
    if not _HOST.fullmatch(host):
        return ""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _same_origin(headers: dict[bytes, bytes], host: str) -> bool:
    """Whether a browser says that a page of ours makes the request; other clients say nothing."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        return site in (b"same-origin", b"none")
    if origin is not None:
        return urlsplit(origin.decode("latin-1")).netloc.lower() == host.lower() != ""
    return True


def _template(scope: Scope) -> str:
    """Return the template of the path that a request was routed to."""
    found = str(getattr(scope.get("route"), "path", "(none)"))
    inside = scope["path"].startswith(_API) and found.startswith("/") and not found.startswith(_API)
    return _API + found if inside else found


def _has_body(headers: dict[bytes, bytes]) -> bool:
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


def _believe_proxy(scope: Scope, headers: dict[bytes, bytes]) -> None:
    """Take the scheme and the sender of a request from what the proxy says of them."""
    scheme = headers.get(b"x-forwarded-proto", b"").partition(b",")[0].strip().lower()
    scope["scheme"] = "http" if scheme == b"http" else "https"  # what is not said is taken for the safer one
    sender = headers.get(b"x-forwarded-for", b"").rpartition(b",")[2].strip().decode("latin-1")
    if sender:
        scope["client"] = (sender, 0)
