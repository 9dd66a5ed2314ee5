"""Group commit: whatever is waiting is written in one transaction.

Nothing is delayed on purpose. Requests gather while a commit is under way, and those that the event loop has at hand go
together. Each is checked alone, and one that is refused fails alone.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from queue import SimpleQueue
from typing import Any, NamedTuple

from mobai.errors import InputError
from mobai.live.local import carry_out_together
from mobai.live.operations import Operation
from mobai.service.experiments import OpenExperiments
from mobai.service.metrics import Metrics
from mobai.service.problems import busy

_log = logging.getLogger(__name__)

MOST_WAITING = 2_000
MOST_BYTES_WAITING = 64 * 2**20
_MOST_AT_ONCE = 1_000


class _Waiting(NamedTuple):
    """A request that waits: on which experiment, what to do, how large it is, and who is told."""

    name: str
    operation: Operation[Any]
    size: int
    future: asyncio.Future[Any]


class Writer:
    """The one writer of a storage in this process: a thread that writes, fed by the event loop."""

    def __init__(self, experiments: OpenExperiments, metrics: Metrics) -> None:
        self._experiments, self._metrics = experiments, metrics
        self._waiting: list[_Waiting] = []
        self._bytes = 0
        self._writes = self._armed = self._stops = False
        self._batches: SimpleQueue[list[_Waiting] | None] = SimpleQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="mobai-writer", daemon=True)
        # Called in the writer's thread with the names of what was written.
        self.after_commit: list[Callable[[Collection[str]], None]] = []

    def start(self) -> None:
        """Begin to write."""
        self._loop = asyncio.get_running_loop()
        self._idle.set()
        self._thread.start()

    async def stop(self) -> None:
        """Write what is waiting, and end."""
        self._stops = True
        await self._idle.wait()
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join)

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    async def do(self, name: str, operation: Operation[Any], size: int = 0) -> Any:
        """Have an operation carried out, and return its result once it is durable."""
        if self._stops:
            raise busy("the service is shutting down")
        if len(self._waiting) >= MOST_WAITING or self._bytes + size > MOST_BYTES_WAITING:
            raise busy("too many requests are waiting for the storage")
        assert self._loop is not None
        future: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.append(_Waiting(name, operation, size, future))
        self._bytes += size
        self._idle.clear()
        self._arm()
        return await future

    def _arm(self) -> None:
        """Hand over what is waiting in the next turn of the event loop: what is at hand in this one goes with it."""
        if not self._writes and not self._armed and self._loop is not None:
            self._armed = True
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        self._armed, self._writes = False, True
        batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
        self._bytes -= sum(one.size for one in batch)
        self._batches.put(batch)

    def _answer(self, batch: Sequence[_Waiting], found: Sequence[Any]) -> None:
        """Tell everybody how it went, and go on with those that came meanwhile."""
        self._writes = False
        for one, result in zip(batch, found, strict=True):
            if one.future.done():
                continue  # whoever asked is gone
            if isinstance(result, Exception):
                one.future.set_exception(result)
            else:
                one.future.set_result(result)
        if self._waiting:
            self._arm()
        else:
            self._idle.set()

    def _run(self) -> None:
        assert self._loop is not None
        while (batch := self._batches.get()) is not None:
            start = time.perf_counter()
            found = self._carry_out(batch)
            self._loop.call_soon_threadsafe(self._answer, batch, found)
            self._metrics.committed(len(batch), time.perf_counter() - start)
            names = {one.name for one, result in zip(batch, found, strict=True) if not isinstance(result, Exception)}
            for listener in self.after_commit:
                listener(names)

    def _carry_out(self, batch: Sequence[_Waiting]) -> list[Any]:
        """Return the result of every request, or its exception."""
        loaded: list[Any] = []
        for one in batch:
            try:
                loaded.append(self._experiments.get(one.name))
            except Exception as error:
                loaded.append(error)
        ready = [
            (experiment, one.operation)
            for one, experiment in zip(batch, loaded, strict=True)
            if not isinstance(experiment, Exception)
        ]
        try:
            done = iter(carry_out_together(ready) if ready else [])
        except Exception as error:
            done = iter([error] * len(ready))
        found = [one if isinstance(one, Exception) else next(done) for one in loaded]
        for one, result in zip(batch, found, strict=True):
            if isinstance(result, Exception):
                self._note(one.name, result)
        return found

    def _note(self, name: str, error: Exception) -> None:
        self._experiments.note(name, error)
        if not isinstance(error, InputError):
            _log.warning("%s: %s: %s", name, type(error).__name__, error)
