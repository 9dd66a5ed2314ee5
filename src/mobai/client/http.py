"""Calls to a service: one kept connection per thread, idempotent retries, and refusals as our own errors."""

from __future__ import annotations

import http.client
import json
import os
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from mobai.errors import ConflictError, HistoryChangedError, InputError, NotFoundError, StorageError, visible
from mobai.version import __version__

API = "/api/v1"
# For how long a call is tried again while the service is away or busy, in seconds; at first, it may not be there.
_RETRY_SECONDS, _RETRY_SECONDS_AT_FIRST = 20.0, 3.0
_SOCKET_SECONDS = 120.0  # and how long one attempt waits for an answer
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
_ERRORS: dict[int, type[Exception]] = {404: NotFoundError, 409: ConflictError, 412: HistoryChangedError}
_COME_AGAIN = (502, 503, 504)  # by the service, or by a proxy in front of one that is away


class Answer(NamedTuple):
    """What a service answered: the code, the body, and whether it took more than one attempt."""

    code: int
    data: bytes
    again: bool

    def json(self) -> Any:
        """Return the body, read as JSON."""
        try:
            return json.loads(self.data)
        except ValueError:
            raise StorageError("the service did not answer in JSON; is it mobai at that address?") from None


class _Connection(http.client.HTTPConnection):
    """A connection that is closed when nobody has it any more."""

    def __del__(self) -> None:
        """Close it."""
        self.close()


class _SecureConnection(http.client.HTTPSConnection, _Connection):
    """The same with TLS."""


class HttpClient:
    """A service at an address, and the token to show it; ``MOBAI_TOKEN`` in the environment unless given."""

    def __init__(self, address: str, token: str | None = None) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise InputError(
                "storage", "must be http://HOST:PORT or https://HOST; a token is given apart from it (token)"
            )
        token = os.environ.get("MOBAI_TOKEN") if token is None else token
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
            raise InputError("token", "must be the text that `mobai token create` printed")
        self.address = address.rstrip("/")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, _port(address)
        self._prefix = parts.path.rstrip("/") + API
        self._headers = {"User-Agent": f"mobai/{__version__}", "Accept": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._own = threading.local()
        self._answered = False

    def __repr__(self) -> str:
        """Name the address; the token stays out."""
        return f"HttpClient({self.address!r})"

    def get(self, *path: str, **query: Any) -> Any:
        """Return what is at a path, read as JSON."""
        return self.call("GET", *path, query=query).json()

    def call(
        self,
        method: str,
        *path: str,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        only_once: bool = False,
    ) -> Answer:
        """Make a call that may be made twice, and make it again while the service is away or busy.

        Raises what the service refused as the errors of a local experiment, and StorageError if it stays away. What can
        be done ``only_once`` is refused the second time: after a cut connection, that says that it was done.
        """
        asked = {name: value for name, value in (query or {}).items() if value is not None}
        target = self._prefix + "".join(f"/{quote(part, safe='')}" for part in path)
        target += f"?{urlencode(asked)}" if asked else ""
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        sent = {**self._headers, **(headers or {}), **({"Content-Type": "application/json"} if data else {})}
        # Who has never answered is perhaps not there.
        end = time.monotonic() + (_RETRY_SECONDS if self._answered else _RETRY_SECONDS_AT_FIRST)
        pause, again, reason = _FIRST_PAUSE, False, "it did not answer"
        while True:
            try:
                code, after, found = self._exchange(method, target, data, sent)
            except (OSError, http.client.HTTPException) as error:
                # Whether it was carried out is not known: that is why it must be a call that may be made twice.
                reason, wait, again = str(error) or type(error).__name__, pause, True
            else:
                self._answered = True
                if again and only_once and code in (404, 409, 422):
                    return Answer(code, found, again)
                if code not in _COME_AGAIN:
                    return self._checked(code, found, again)
                reason, wait, again = _detail(found), max(after, pause), again or code != 503
            if time.monotonic() + wait > end:
                raise StorageError(f"{self.address}: {visible(reason)}")
            time.sleep(wait)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, float, bytes]:
        """Send one request over this thread's connection; return the code, when to come again, and the body."""
        connection = self._connection()
        try:
            connection.request(method, target, data, dict(headers))
            answer = connection.getresponse()
            found = answer.read()
        except BaseException:
            self.close()
            raise
        if answer.will_close:
            self.close()
        after = answer.headers.get("Retry-After", "0")
        return answer.status, float(after) if after.isdigit() else 0.0, found

    def _connection(self) -> http.client.HTTPConnection:
        """Return this thread's connection; a forked process has its own."""
        if getattr(self._own, "process", None) != os.getpid():
            self._own.process, self._own.connection = os.getpid(), self._new_connection()
        connection: http.client.HTTPConnection = self._own.connection
        return connection

    def _new_connection(self) -> http.client.HTTPConnection:
        if not self._secure:
            return _Connection(self._host, self._port, timeout=_SOCKET_SECONDS)
        context = ssl.create_default_context()
        return _SecureConnection(self._host, self._port, timeout=_SOCKET_SECONDS, context=context)

    def close(self) -> None:
        """Close this thread's connection; the next call opens another."""
        if getattr(self._own, "process", None) == os.getpid():
            self._own.connection.close()

    def _checked(self, code: int, found: bytes, again: bool) -> Answer:
        if code < 300 or code == 304:
            return Answer(code, found, again)
        reason = visible(_detail(found))
        if code == 401:
            raise InputError("token", f"{reason.partition(':')[0]}; give token=, or MOBAI_TOKEN in the environment")
        if code == 403:
            raise InputError("token", f"{reason}")
        if 400 <= code < 500:
            raise _ERRORS.get(code, InputError)(reason)
        raise StorageError(f"{self.address}: {reason}")


def _port(address: str) -> int | None:
    try:
        return urlsplit(address).port
    except ValueError:
        raise InputError("storage", "the port must be a number up to 65535") from None


def _detail(found: bytes) -> str:
    """Return what a refusal says."""
    try:
        return str(json.loads(found)["detail"])
    except (ValueError, LookupError, TypeError):
        return "the service did not answer as mobai does; is it at that address?"
