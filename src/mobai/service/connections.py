"""Connections: how many there may be, and how long one may take to say what it wants.

A connection has *shown* who it is once a request on it was let in. Those that have not can be made by anybody, so they
are few, they have some seconds for the headers of a request, and the oldest goes first where there are too many.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_log = logging.getLogger(__name__)

MOST_BYTES_OF_HEADERS = 64 * 2**10
SECONDS_FOR_HEADERS = 10.0
SECONDS_UNKNOWN_AND_IDLE = 5
MOST_UNKNOWN_PER_ADDRESS = 200
# Requests that are sent before those before them are answered; of strangers, and of others.
_MOST_AHEAD_UNKNOWN, _MOST_AHEAD = 4, 64
_MOST_PARTS_UNKNOWN = 500  # of bodies, whose every chunk takes time
_SECONDS_TO_SPEAK = 1.0  # a connection this young is not closed for want of room for its kind
_SECONDS_BETWEEN_SWEEPS = 0.25
_MOST_CLOSED_PER_SWEEP = 100  # whoever comes again at once must not come all at once
_SECONDS_BETWEEN_WORDS = 60.0
_DESCRIPTORS_KEPT = 200  # for files, databases and what is sent out
_MOST_DESCRIPTORS = 16_384


def raise_descriptor_limit() -> int:
    """Allow this process as many open files as it may have, within reason; return how many connections that allows."""
    try:
        import resource
    except ImportError:  # Windows, where sockets are not counted with files
        return _MOST_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(_MOST_DESCRIPTORS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    allowed = _MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    return max(64, allowed - _DESCRIPTORS_KEPT)


class Connections:
    """The connections that are open, oldest first; lives in the event loop.

    Parameters
    ----------
    most
        How many there may be in all.
    per_address
        Whether addresses are told apart; behind a proxy all requests come from one.
    """

    def __init__(self, most: int, *, per_address: bool = True) -> None:
        self.most, self._per_address = most, per_address
        self._open: dict[BoundedProtocol, None] = {}
        self._unknown: Counter[str] = Counter()
        self._closed: Counter[str] = Counter()
        self._spoke_at = -_SECONDS_BETWEEN_WORDS
        self._sweeping: asyncio.TimerHandle | None = None

    def add(self, connection: BoundedProtocol) -> None:
        """Take a new connection in; the oldest that has not shown who it is makes room for it."""
        if len(self._open) >= self.most:
            victim = next(self._strangers(), None) or next(self._idle(), None) or connection
            self.close(victim)
            if victim is connection:
                return
        self._open[connection] = None
        self._unknown[connection.address] += 1
        if self._sweeping is None:
            self._sweeping = connection.loop.call_later(_SECONDS_BETWEEN_SWEEPS, self._sweep)

    def discard(self, connection: BoundedProtocol) -> None:
        """Forget a connection that is closed."""
        if connection in self._open:
            del self._open[connection]
            if not connection.known:
                self._unknown[connection.address] -= 1

    def know(self, connection: BoundedProtocol) -> None:
        """Note that a connection has shown who it is."""
        if not connection.known and connection in self._open:
            connection.known = True
            self._unknown[connection.address] -= 1

    def close(self, connection: BoundedProtocol) -> None:
        """Close a connection at once, and count it."""
        self._closed[connection.address] += 1
        connection.transport.abort()
        self.discard(connection)

    def _strangers(self) -> Iterator[BoundedProtocol]:
        return (one for one in self._open if not one.known)

    def _idle(self) -> Iterator[BoundedProtocol]:
        return (one for one in self._open if one.is_idle)

    def _sweep(self) -> None:
        """Close what is silent or stuck, and the oldest where one address has too many; say so now and then."""
        self._sweeping = None
        now = time.monotonic()
        late = [one for one in self._open if one.is_overdue(now) or self._is_crowded(one, now)]
        for connection in late[:_MOST_CLOSED_PER_SWEEP]:
            if connection.is_overdue(now) or self._is_crowded(connection, now):
                self.close(connection)
        self._unknown = +self._unknown
        self._say(now)
        if self._open:
            loop = next(iter(self._open)).loop
            self._sweeping = loop.call_later(_SECONDS_BETWEEN_SWEEPS, self._sweep)

    def _is_crowded(self, connection: BoundedProtocol, now: float) -> bool:
        """Whether a stranger has had time to speak, while its address has too many of them."""
        crowded = self._per_address and self._unknown[connection.address] > MOST_UNKNOWN_PER_ADDRESS
        return crowded and not connection.known and now - connection.since > _SECONDS_TO_SPEAK

    def _say(self, now: float) -> None:
        if self._closed and now - self._spoke_at >= _SECONDS_BETWEEN_WORDS:
            self._spoke_at = now
            most = ", ".join(f"{count} of {address}" for address, count in self._closed.most_common(5))
            _log.warning("closed connections that were silent, stuck or too many: %s", most)
            self._closed.clear()


class BoundedProtocol(HttpToolsProtocol):
    """A connection of uvicorn's with bounds on the size of headers, and on the time that they take."""

    registry: Connections  # of the class that :func:`bounded_protocol` makes

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.known = False
        self.address = "?"
        self.since = time.monotonic()
        # Since when headers are waited for, None while there is nothing to wait for; and how many bytes have come.
        self._headers_since: float | None = self.since
        self._header_bytes = 0
        self._stuck_since: float | None = None
        self._parts = 0
        self._usual_keep_alive = self.timeout_keep_alive
        self.timeout_keep_alive = min(self.timeout_keep_alive, SECONDS_UNKNOWN_AND_IDLE)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take note of a new connection."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else "?"
        self.registry.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self.registry.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, up to a number of bytes of headers."""
        if self.transport.is_closing():
            return
        if self._headers_since is None and self.is_idle:
            self._headers_since = time.monotonic()
        if self._headers_since is not None:
            self._header_bytes += len(data)
        super().data_received(data)
        if self._headers_since is not None and self._header_bytes > MOST_BYTES_OF_HEADERS:
            self._refuse_headers()

    def on_message_begin(self) -> None:
        """Begin to wait for headers."""
        super().on_message_begin()
        self.scope["mobai.connection"] = self  # type: ignore[typeddict-unknown-key]
        if self._headers_since is None:
            self._headers_since, self._header_bytes = time.monotonic(), 0

    def on_headers_complete(self) -> None:
        """Begin to answer; refuse whoever sends requests ahead, and waits for no answer."""
        self._headers_since, self._header_bytes = None, 0
        if len(self.pipeline) >= (_MOST_AHEAD if self.known else _MOST_AHEAD_UNKNOWN):
            raise ValueError("too many requests at once")
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body in; hang up on a stranger who sends very many."""
        if not self.known:
            self._parts += 1
            if self._parts > _MOST_PARTS_UNKNOWN:
                raise ValueError("too many parts of bodies")
        super().on_body(body)

    def show(self) -> None:
        """Note that a request on this connection was let in."""
        self.timeout_keep_alive = self._usual_keep_alive
        self.registry.know(self)

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def is_overdue(self, now: float) -> bool:
        """Whether headers take too long, or an answer is not read by somebody who has not shown who it is."""
        if self._headers_since is not None and now - self._headers_since > SECONDS_FOR_HEADERS:
            return True
        if self.known or self.transport.get_write_buffer_size() == 0:
            self._stuck_since = None
            return False
        self._stuck_since = self._stuck_since or now
        return now - self._stuck_since > SECONDS_FOR_HEADERS

    def _refuse_headers(self) -> None:
        words = f"headers must have at most {MOST_BYTES_OF_HEADERS:,} bytes".encode()
        head = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-type: text/plain\r\n"
        self.transport.write(head + b"content-length: %d\r\n\r\n" % len(words) + words)
        self.transport.close()


def bounded_protocol(connections: Connections) -> type[BoundedProtocol]:
    """Return the protocol whose connections are counted by ``connections``."""
    return type("CountedProtocol", (BoundedProtocol,), {"registry": connections})
