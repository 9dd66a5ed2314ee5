"""Group commit: one thread takes whatever is waiting and writes it in one transaction.

Nothing is delayed on purpose: while one commit is under way, requests gather for the next. Each is checked alone, and
one that is refused fails alone.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from mobai.errors import InputError
from mobai.live.experiment import carry_out_together
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
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]


class Writer:
    """The one writer of a storage in this process."""

    def __init__(self, experiments: OpenExperiments, metrics: Metrics) -> None:
        self._experiments, self._metrics = experiments, metrics
        self._waiting: list[_Waiting] = []
        self._bytes = 0
        self._changed = threading.Condition()
        self._stops = False
        self._thread = threading.Thread(target=self._run, name="mobai-writer", daemon=True)
        self.after_commit: list[Any] = []  # called in the writer's thread with the names of what was written

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def stop(self) -> None:
        """Write what is waiting, and end."""
        with self._changed:
            self._stops = True
            self._changed.notify()
        self._thread.join()

    @property
    def waiting(self) -> int:
        """How many requests wait."""
        return len(self._waiting)

    async def do(self, name: str, operation: Operation[Any], size: int = 0) -> Any:
        """Have an operation carried out, and return its result once it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._changed:
            if self._stops:
                raise busy("the service is shutting down")
            if len(self._waiting) >= MOST_WAITING or self._bytes + size > MOST_BYTES_WAITING:
                raise busy("too many requests are waiting for the storage")
            self._waiting.append(_Waiting(name, operation, size, loop, future))
            self._bytes += size
            self._changed.notify()
        return await future

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._stops:
                    self._changed.wait()
                batch, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
                self._bytes -= sum(one.size for one in batch)
                if not batch:
                    return
            self._answer(batch, self._carry_out(batch))

    def _carry_out(self, batch: Sequence[_Waiting]) -> list[Any]:
        start = time.perf_counter()
        found: list[Any] = []
        ready = []
        for one in batch:
            try:
                ready.append((self._experiments.get(one.name), one.operation))
                found.append(None)
            except Exception as error:
                found.append(error)
        try:
            done: list[Any] = carry_out_together(ready) if ready else []
        except Exception as error:
            done = [error] * len(ready)
        results = iter(done)
        found = [next(results) if one is None else one for one in found]
        for one, result in zip(batch, found, strict=True):
            if isinstance(result, Exception):
                self._experiments.note(one.name, result)
                if not isinstance(result, InputError):
                    _log.warning("%s: %s: %s", one.name, type(result).__name__, result)
        self._metrics.committed(len(batch), time.perf_counter() - start)
        names = {one.name for one, result in zip(batch, found, strict=True) if not isinstance(result, Exception)}
        for listener in self.after_commit:
            listener(names)
        return found

    def _answer(self, batch: Sequence[_Waiting], found: Sequence[Any]) -> None:
        def tell() -> None:
            for one, result in zip(batch, found, strict=True):
                if one.future.done():
                    continue  # whoever asked is gone
                if isinstance(result, Exception):
                    one.future.set_exception(result)
                else:
                    one.future.set_result(result)

        batch[0].loop.call_soon_threadsafe(tell)
