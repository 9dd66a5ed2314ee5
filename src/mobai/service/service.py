"""What the handlers share: the experiments, the writer, who may do what, streams and counts."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from anyio import CapacityLimiter, to_thread

from mobai import views
from mobai.live.addresses import shown_storage
from mobai.live.experiment import Experiment
from mobai.live.journal import Journal
from mobai.live.operations import Operation
from mobai.service.experiments import OpenExperiments
from mobai.service.metrics import Metrics
from mobai.service.problems import busy
from mobai.service.stream import Streams
from mobai.service.tokens import Tokens
from mobai.service.webhooks import Webhooks
from mobai.service.writer import Writer

Result = TypeVar("Result")

_MOST_SLOW = 200  # waiting to create, delete or log in


class Rendered(NamedTuple):
    """A status as it is sent: whose it is, a text that begins with its last event's number and changes, the JSON."""

    history: str
    stamp: str
    data: bytes
    last: bool = False  # nothing will follow


class Service:
    """One process that serves one storage.

    ``open_without_token`` says whether anybody may do anything as long as there is no token: on loopback only.
    """

    def __init__(
        self,
        storage: str | Journal,
        *,
        read_only: bool = False,
        open_without_token: bool = True,
        private_webhooks: bool = False,
    ) -> None:
        self.read_only, self.open_without_token = read_only, open_without_token
        self.metrics = Metrics()
        self.experiments = OpenExperiments(storage, create=not read_only)
        self.writer = Writer(self.experiments, self.metrics)
        self.tokens = Tokens(lambda: self.experiments.journal)
        self.streams = Streams(self.render, self.metrics)
        self.webhooks = Webhooks(self.experiments, allow_private=private_webhooks)
        self._rendered: dict[str, Rendered] = {}
        self._probe: asyncio.Future[None] | None = None
        self._slow = CapacityLimiter(8)

    async def start(self) -> None:
        """Begin to serve."""
        self.writer.start()
        self.streams.start()
        self.writer.after_commit.append(self.streams.poke)
        if not self.read_only:
            self.webhooks.start()
            self.writer.after_commit.append(self.webhooks.poke)

    async def stop(self) -> None:
        """Write what is waiting, end streams and deliveries, and let go of the storage."""
        await self.streams.stop()
        await self.writer.stop()
        await to_thread.run_sync(self.webhooks.stop)
        await to_thread.run_sync(self.experiments.close)

    async def do(self, name: str, operation: Operation[Result], size: int = 0) -> Result:
        """Change an experiment, and return once that is durable."""
        if not self.experiments.is_loaded(name):
            # Not in the writer's thread: a long journal would keep the others waiting.
            await to_thread.run_sync(self.experiments.get, name)
        result: Result = await self.writer.do(name, operation, size)
        return result

    async def write(self, action: Callable[[], Result]) -> Result:
        """Do something that waits for the storage's lock; not with the threads that readers need."""
        if self._slow.statistics().tasks_waiting >= _MOST_SLOW:
            raise busy("too many requests are waiting for the storage")
        return await to_thread.run_sync(action, limiter=self._slow)

    async def read(self, name: str, look: Callable[[Experiment], Result]) -> Result:
        """Return what somebody reads off an experiment."""
        return await to_thread.run_sync(self.experiments.read, name, look)

    async def probe(self) -> None:
        """Read the storage and write to it; raises what is wrong with it. One probe at a time, whoever asks."""
        if self._probe is None or self._probe.done():
            self._probe = asyncio.ensure_future(to_thread.run_sync(self._try_storage, limiter=CapacityLimiter(1)))
        await asyncio.shield(self._probe)

    def _try_storage(self) -> None:
        self.experiments.names()
        if not self.read_only:
            self.experiments.journal.put_record("probe", "ready", {"at": time.time()})

    async def history_of(self, name: str) -> str:
        """Return what tells the history of an experiment from others of its name."""
        if self.experiments.is_loaded(name):
            return self.experiments.get(name).history_id
        return await self.read(name, lambda experiment: experiment.history_id)

    def render(self, name: str) -> Rendered:
        """Return the status of an experiment as it is sent, made anew only if it has changed; blocks."""

        def look(experiment: Experiment) -> Rendered:
            history, stamp = experiment.history_id, experiment.stamp()[1]
            known = self._rendered.get(name)
            if known is None or (known.history, known.stamp) != (history, stamp):
                facts = {**views.status_json(experiment.status()), "stamp": stamp}
                known = Rendered(history, stamp, to_json(facts), facts["state"] == "closed")
                self._rendered[name] = known
            return known

        return self.experiments.read(name, look)

    def without_address(self, text: str) -> str:
        """Return a complaint of the storage without where it is."""
        if isinstance(self.experiments.storage, str) and self.experiments.storage != "memory:":
            shown = shown_storage(self.experiments.storage)
            for place in (f"{shown}: ", shown, shown.partition(":///")[2] or shown):
                text = text.replace(place, "" if place.endswith(": ") else "its address")
            text = text.partition("; creating an experiment")[0]
        return text

    def forget(self, name: str) -> None:
        """Forget an experiment that was deleted."""
        self._rendered.pop(name, None)


def to_json(facts: Any) -> bytes:
    """Return plain data as JSON."""
    return json.dumps(facts, allow_nan=False, separators=(",", ":")).encode()
