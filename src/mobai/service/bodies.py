"""The bodies of requests: read whole, bounded in size and time, and only once somebody asks for them."""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive, Scope

from mobai.service.problems import ProblemError

MOST_BYTES = 2 * 2**20
MOST_BYTES_FROM_ANYBODY = 64 * 2**10  # where no token is needed
SECONDS_FOR_A_BODY = 15.0
_MOST_BYTES_THROWN_AWAY, _SECONDS_TO_THROW_AWAY = 16 * 2**20, 1.0
_CLOSE = {"Connection": "close"}


class BoundedBody:
    """Receives a body as one message; refuses one that is too large, too slow or cut off.

    Nothing is read before the first call, so that whoever shows no token sends nothing that is kept. How much is
    accepted is read off the scope (``most_bytes``), where the size is noted (``body_size``).
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope, self._receive = scope, receive
        self._given = False
        scope["body_size"], scope["most_bytes"] = 0, MOST_BYTES

    async def __call__(self) -> Message:
        """Return the whole body the first time, and what comes after it from then on."""
        if self._given:
            return await self._receive()
        self._given = True
        body = await self._read()
        self._scope["body_size"] = len(body)
        return {"type": "http.request", "body": body, "more_body": False}

    async def _read(self) -> bytes:
        most, parts, size = self._scope["most_bytes"], [b""], 0
        try:
            async with asyncio.timeout(SECONDS_FOR_A_BODY) as patience:
                more = True
                while more:
                    message = await self._receive()
                    if message["type"] == "http.disconnect":
                        raise ProblemError(400, "the request was cut off")
                    part = message.get("body", b"")
                    size += len(part)
                    parts.append(part)
                    more = message.get("more_body", False)
                    if size > most:
                        # It is read on for a while, and thrown away: else the answer would not arrive.
                        parts, more = [], more and size <= _MOST_BYTES_THROWN_AWAY
                        patience.reschedule(asyncio.get_running_loop().time() + _SECONDS_TO_THROW_AWAY)
        except TimeoutError:
            if size <= most:
                words = f"the body did not come within {SECONDS_FOR_A_BODY:g} seconds"
                raise ProblemError(408, words, _CLOSE) from None
        if size > most:
            raise ProblemError(413, f"the body must have at most {most:,} bytes", _CLOSE)
        return b"".join(parts)
