"""What the handlers share: the experiments, the writer, who may do what, streams and counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread

from mobai import views
from mobai.live import codec
from mobai.live.experiment import Experiment
from mobai.live.operations import Operation
from mobai.service.demo import Demo
from mobai.service.experiments import OpenExperiments
from mobai.service.metrics import Metrics
from mobai.service.problems import busy
from mobai.service.renderings import Renderings
from mobai.service.stream import Streams
from mobai.service.summaries import Summaries
from mobai.service.tokens import Tokens
from mobai.service.webhooks import Webhooks
from mobai.service.writer import Writer
from mobai.store.addresses import shown_storage
from mobai.store.journal import Journal

Result = TypeVar("Result")

ARMS_ON_A_PAGE = 50  # with all their numbers; others have pages of their own
_SECONDS_BETWEEN_LOOKS = 1.0  # at the file of the storage
_MOST_SLOW = 200  # waiting to create, delete or log in


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
        self.statuses = Renderings(self.experiments, _status)
        self.pages = Renderings(self.experiments, _page)
        self.summaries = Summaries(self.experiments)
        self.streams = Streams(self.statuses, self.metrics)
        self.page_streams = Streams(self.pages, self.metrics, event="page")
        self.webhooks = Webhooks(self.experiments, allow_private=private_webhooks)
        self.demo, self.begin_demo = Demo(self), False
        self._probe: asyncio.Future[None] | None = None
        self._checking: asyncio.Future[list[str]] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._slow, self._sending = CapacityLimiter(8), CapacityLimiter(8)

    async def start(self) -> None:
        """Begin to serve."""
        self.writer.start()
        for streams in (self.streams, self.page_streams):
            streams.start()
            self.writer.after_commit.append(streams.poke)
        if not self.read_only:
            self.webhooks.start()
            self.writer.after_commit.append(self.webhooks.poke)
        self._watching = asyncio.create_task(self._watch())
        if self.begin_demo:
            await self.demo.start()

    async def _watch(self) -> None:
        """Look at the storage now and then, also while nobody asks for anything."""
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            await to_thread.run_sync(self.experiments.watch)

    async def stop(self) -> None:
        """Write what is waiting, end streams and deliveries, and let go of the storage."""
        self.end_streams()
        if self._watching is not None:
            self._watching.cancel()
        await self.demo.stop()
        for streams in (self.streams, self.page_streams):
            await streams.stop()
        await self.writer.stop()
        await to_thread.run_sync(self.webhooks.stop)
        await to_thread.run_sync(self.experiments.close)

    def end_streams(self) -> None:
        """Tell everybody who watches that there will be no more."""
        for streams in (self.streams, self.page_streams):
            streams.end("the service is shutting down")

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

    async def send(self, action: Callable[[], Result]) -> Result:
        """Do something that waits for somebody else's machine; not with the threads that others need."""
        if self._sending.statistics().tasks_waiting >= _MOST_SLOW:
            raise busy("too many messages are being sent")
        return await to_thread.run_sync(action, limiter=self._sending)

    async def read(self, name: str, look: Callable[[Experiment], Result]) -> Result:
        """Return what somebody reads off an experiment."""
        return await to_thread.run_sync(self.experiments.read, name, look)

    async def probe(self) -> None:
        """Read the storage and write to it; raises what is wrong with it. One probe at a time, whoever asks."""
        if self._probe is None or self._probe.done():
            self._probe = asyncio.ensure_future(to_thread.run_sync(self._try_storage, limiter=CapacityLimiter(1)))
        await asyncio.shield(self._probe)

    async def damage(self) -> list[str]:
        """Return what is wrong with the storage itself. One check at a time, whoever asks: it may read everything."""
        if self._checking is None or self._checking.done():

            def look() -> list[str]:
                return self.experiments.journal.damage()

            self._checking = asyncio.ensure_future(to_thread.run_sync(look, limiter=CapacityLimiter(1)))
        return await asyncio.shield(self._checking)

    def _try_storage(self) -> None:
        self.experiments.names()
        if not self.read_only:
            self.experiments.journal.put_record("probe", "ready", {"at": time.time()})

    async def history_of(self, name: str) -> str:
        """Return what tells the history of an experiment from others of its name."""
        if self.experiments.is_loaded(name):
            return self.experiments.get(name).history_id
        return await self.read(name, lambda experiment: experiment.history_id)

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
        self.statuses.forget(name)
        self.pages.forget(name)
        self.summaries.forget(name)


def _status(experiment: Experiment) -> dict[str, Any]:
    return codec.status_json(experiment.status())


def _page(experiment: Experiment) -> dict[str, Any]:
    return views.page_json(experiment.status(), experiment.series(), ARMS_ON_A_PAGE)
