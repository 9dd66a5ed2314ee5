"""Server-sent events: whoever watches an experiment is sent its status, at most twice a second.

One task per experiment that is watched looks whether something has changed, and makes the status once for all
watchers. Experiments that nobody watches cost nothing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import suppress
from typing import Protocol

from anyio import to_thread

from mobai.errors import NotFoundError
from mobai.service.metrics import Metrics
from mobai.service.problems import ProblemError, busy

_log = logging.getLogger(__name__)

MOST_STREAMS = 200
SECONDS_BETWEEN = 0.5
_SECONDS_OF_SILENCE = 15.0
_SECONDS_BETWEEN_CHECKS = 2.0  # of the token


class Update(Protocol):
    """A status as it is sent."""

    @property
    def history(self) -> str:
        """Another one for another experiment of the same name."""
        ...

    @property
    def stamp(self) -> str:
        """Another one whenever the status is; begins with the number of the last event."""
        ...

    @property
    def data(self) -> bytes:
        """The status as JSON."""
        ...

    @property
    def last(self) -> bool:
        """Whether nothing will follow."""
        ...


class _Topic:
    """An experiment that is watched: the last update, how many watch, and what wakes them and the task."""

    def __init__(self) -> None:
        self.last: Update | None = None
        self.word: str | None = None  # why there will be no more
        self.watchers = 0
        self.changed, self.poked = asyncio.Event(), asyncio.Event()
        self.task: asyncio.Task[None] | None = None

    async def wait(self) -> float:
        """Wait for another update, or a while; return how long, in seconds."""
        start = time.monotonic()
        with suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_BETWEEN_CHECKS):
                await self.changed.wait()
        return time.monotonic() - start

    def publish(self, update: Update | None) -> None:
        """Wake those who wait, if there is something new for them."""
        new = update is not None and (self.last is None or update.stamp != self.last.stamp)
        if new:
            self.last = update
        if new or self.word is not None:
            waiting, self.changed = self.changed, asyncio.Event()
            waiting.set()


class Streams:
    """The streams that are open. Lives in the event loop; ``render`` blocks, and is called in threads."""

    def __init__(self, render: Callable[[str], Update], metrics: Metrics, event: str = "status") -> None:
        self._render, self._metrics, self._event = render, metrics, event.encode()
        self._topics: dict[str, _Topic] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: str | None = None

    def start(self) -> None:
        """Take note of the event loop."""
        self._loop = asyncio.get_running_loop()

    def end(self, word: str) -> None:
        """Let every stream end, with a word."""
        self._ending = word
        for topic in self._topics.values():
            topic.poked.set()

    async def stop(self) -> None:
        """End every stream, and the tasks behind them."""
        self.end("the service is shutting down")
        tasks = [topic.task for topic in self._topics.values() if topic.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def poke(self, names: Collection[str]) -> None:
        """Say that experiments have changed; from any thread."""
        watched = [topic for name in names if (topic := self._topics.get(name)) is not None]
        if watched and self._loop is not None and not self._loop.is_closed():
            for topic in watched:
                self._loop.call_soon_threadsafe(topic.poked.set)

    async def open(self, name: str, last: str | None, may_go_on: Callable[[], Awaitable[bool]]) -> AsyncIterator[bytes]:
        """Return a stream of updates, from after the one that a watcher has; refused beyond a number of them."""
        if self._metrics.streams >= MOST_STREAMS:
            raise busy(f"{MOST_STREAMS} streams are open, and there may be no more")
        if self._ending is not None:
            raise busy(self._ending)
        first = await to_thread.run_sync(self._render, name)  # refuses what is not there
        topic = self._topics.get(name)
        if topic is None or (topic.last is not None and topic.last.history != first.history):
            topic = self._topics[name] = _Topic()
        if topic.last is None:
            topic.last = first
        self._metrics.streams += 1
        topic.watchers += 1
        if topic.task is None:
            topic.task = asyncio.create_task(self._follow(name, topic))
        return self._updates(name, topic, last, may_go_on)

    async def _updates(
        self, name: str, topic: _Topic, last: str | None, may_go_on: Callable[[], Awaitable[bool]]
    ) -> AsyncIterator[bytes]:
        seen, silent = "", 0.0
        try:
            yield b"retry: 2000\n\n"
            if topic.last is not None and last == topic.last.stamp:
                seen = topic.last.stamp
            while topic.word is None:
                if not await may_go_on():
                    yield _event("bye", "the token is no longer valid")
                    return
                update = topic.last
                if update is not None and update.stamp != seen:
                    seen, silent = update.stamp, 0.0
                    yield b"id: %s\nevent: %s\ndata: %s\n\n" % (update.stamp.encode(), self._event, update.data)
                elif silent >= _SECONDS_OF_SILENCE:
                    silent = 0.0
                    yield b": nothing new\n\n"
                if update is not None and update.last:
                    yield _event("bye", "the experiment is closed")
                    return
                silent += await topic.wait()
            yield _event("bye", topic.word)
        finally:
            self._leave(name, topic)

    def _leave(self, name: str, topic: _Topic) -> None:
        self._metrics.streams -= 1
        topic.watchers -= 1
        if topic.watchers == 0:
            if topic.task is not None:
                topic.task.cancel()
            if self._topics.get(name) is topic:
                del self._topics[name]

    async def _follow(self, name: str, topic: _Topic) -> None:
        """Look for changes, of this process at once and of others twice a second, until nobody watches."""
        while topic.word is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(SECONDS_BETWEEN):
                    await topic.poked.wait()
            topic.poked.clear()
            update = topic.last
            if self._ending is not None:
                topic.word = self._ending
            else:
                try:
                    update = await to_thread.run_sync(self._render, name)
                    if topic.last is not None and update.history != topic.last.history:
                        topic.word = "the experiment was deleted, or restored"
                except (NotFoundError, ProblemError):
                    topic.word = "the experiment was deleted"
                except Exception as error:
                    _log.warning("%s: no update for its streams: %s", name, error)
            topic.publish(update)
            if topic.word is None:
                await asyncio.sleep(SECONDS_BETWEEN)


def _event(kind: str, text: str) -> bytes:
    return f"event: {kind}\ndata: {text}\n\n".encode()
