"""One message to one address: signed, and only to where it may go."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import ipaddress
import json
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from mobai.errors import InputError
from mobai.version import __version__

SECONDS_FOR_A_MESSAGE = 10.0  # for all of it, however slowly somebody answers
# What is not for the public, by IANA's registries of special-purpose addresses (November 2026): what Python's own
# tables say differs from version to version.
_NOT_PUBLIC_4 = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
"""
# Of version 6, global unicast addresses are public, but for what is reserved among them or stands for another address.
_PUBLIC_6 = ipaddress.IPv6Network("2000::/3")
_NOT_PUBLIC_6 = "2001::/23 2001:db8::/32 2002::/16 3fff::/20"
_NOT_PUBLIC = [ipaddress.ip_network(text) for text in (_NOT_PUBLIC_4 + _NOT_PUBLIC_6).split()]


class Attempt(NamedTuple):
    """Whether a message was taken, and how it went in words, without anything of the address but its host."""

    taken: bool
    detail: str


def check_address(url: str, allow_private: bool) -> None:
    """Refuse an address that nothing can be sent to. Where its name leads is looked at when something is sent."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError("url", "must be http://HOST/... or https://HOST/..., without a user in it") from None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username
        or not url.isprintable()
        or " " in url
    ):
        raise InputError("url", "must be http://HOST/... or https://HOST/..., without a user in it")
    try:
        parts.port  # noqa: B018 - raises
        address = ipaddress.ip_address(parts.hostname)
    except ValueError as error:
        if "Port" in str(error) or "port" in str(error):
            raise InputError("url", "the port must be a number up to 65535") from None
        return
    if not allow_private and not _is_public(address):
        raise InputError(
            "url",
            "a private address",
            hint="allow it here (--private) and where it is sent (mobai serve --private-webhooks)",
        )


def signature(secret: str, number: str, at: int, body: bytes) -> str:
    """Return the signature of a message, as Standard Webhooks has it."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    made = hmac.new(key, f"{number}.{at}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(made).decode()}"


def deliver(url: str, secret: str, number: str, message: Mapping[str, Any], allow_private: bool) -> Attempt:
    """Send a message once; redirects are not followed."""
    parts, at = urlsplit(url), int(time.time())
    body = json.dumps(message, separators=(",", ":")).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"mobai/{__version__}",
        "webhook-id": number,
        "webhook-timestamp": str(at),
        "webhook-signature": signature(secret, number, at, body),
    }
    host = parts.hostname or ""
    try:
        plain = _connect(host, parts.port or (443 if parts.scheme == "https" else 80), allow_private)
        with _Deadline(plain):
            code = _post(plain, parts, body, headers)
    except (OSError, http.client.HTTPException, InputError, UnicodeError) as error:
        return Attempt(False, f"{host}: {str(error) or type(error).__name__}")
    return Attempt(200 <= code < 300, f"{host} answered {code}")


def _connect(host: str, port: int, allow_private: bool) -> socket.socket:
    """Connect to an address of the host that was looked at: asking for it again could give another one."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for _, _, _, _, place in found:
        if not allow_private and not _is_public(ipaddress.ip_address(str(place[0]).partition("%")[0])):
            raise InputError("the name leads to a private address (mobai serve --private-webhooks allows that)")
    return socket.create_connection((str(found[0][4][0]), port), timeout=SECONDS_FOR_A_MESSAGE)


def _post(plain: socket.socket, parts: SplitResult, body: bytes, headers: Mapping[str, str]) -> int:
    """Send a message over a connection, which is closed, and return the code of the answer."""
    host = parts.hostname or ""
    connection = http.client.HTTPConnection(host, parts.port)
    connection.sock = plain
    try:
        if parts.scheme == "https":
            connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body, dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


class _Deadline:
    """Hangs up when the time for a message is over: an answer that comes byte by byte would never time out."""

    def __init__(self, plain: socket.socket) -> None:
        self._plain = plain.dup()  # stays what it is where TLS takes the other one over
        self._timer = threading.Timer(SECONDS_FOR_A_MESSAGE, self._hang_up)
        self._timer.daemon = True
        self._passed = False

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._timer.cancel()
        self._plain.close()
        if self._passed and isinstance(error, OSError | http.client.HTTPException):
            raise TimeoutError(f"did not answer within {SECONDS_FOR_A_MESSAGE:g} seconds") from error

    def _hang_up(self) -> None:
        self._passed = True
        with suppress(OSError):
            self._plain.shutdown(socket.SHUT_RDWR)


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if address.version == 6 and address not in _PUBLIC_6:
        return False
    return not any(address in network for network in _NOT_PUBLIC)
