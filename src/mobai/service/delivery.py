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
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mobai.errors import InputError
from mobai.version import __version__

_SECONDS = 10.0
# Addresses of version 6 that stand for one of version 4, which may be private.
_TRANSLATED = [ipaddress.ip_network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "::/96")]


class Attempt(NamedTuple):
    """Whether a message was taken, and how it went in words, without anything of the address but its host."""

    taken: bool
    detail: str


def check_address(url: str, allow_private: bool) -> None:
    """Refuse an address that nothing can be sent to. Where its name leads is looked at when something is sent."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError("url must be http://HOST/... or https://HOST/..., without a user in it") from None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.username
        or not url.isprintable()
        or " " in url
    ):
        raise InputError("url must be http://HOST/... or https://HOST/..., without a user in it")
    try:
        parts.port  # noqa: B018 - raises
        address = ipaddress.ip_address(parts.hostname)
    except ValueError as error:
        if "Port" in str(error) or "port" in str(error):
            raise InputError("url: the port must be a number up to 65535") from None
        return
    if not allow_private and not _is_public(address):
        raise InputError(
            "url: a private address; allow it here (--private) and where it is sent (mobai serve --private-webhooks)"
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
        connection = _connection(parts.scheme == "https", host, parts.port, allow_private)
        try:
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, headers)
            code = connection.getresponse().status
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, InputError, UnicodeError) as error:
        return Attempt(False, f"{host}: {str(error) or type(error).__name__}")
    return Attempt(200 <= code < 300, f"{host} answered {code}")


def _connection(secure: bool, host: str, port: int | None, allow_private: bool) -> http.client.HTTPConnection:
    """Connect to an address of the host that was looked at: asking for it again could give another one."""
    number = port or (443 if secure else 80)
    found = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)
    for _, _, _, _, place in found:
        if not allow_private and not _is_public(ipaddress.ip_address(str(place[0]).partition("%")[0])):
            raise InputError("the name leads to a private address")
    connection = http.client.HTTPConnection(host, number, timeout=_SECONDS)
    plain = socket.create_connection((str(found[0][4][0]), number), timeout=_SECONDS)
    connection.sock = ssl.create_default_context().wrap_socket(plain, server_hostname=host) if secure else plain
    return connection


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    mapped = getattr(address, "ipv4_mapped", None)
    if mapped is not None:
        return _is_public(mapped)
    if any(address in network for network in _TRANSLATED):
        return False
    return address.is_global and not address.is_multicast
