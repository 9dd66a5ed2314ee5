"""A demonstration: an experiment with simulated visitors, for somebody who wants to see one move."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from anyio import to_thread

from mobai.errors import ConflictError, InputError, NotFoundError, StorageError
from mobai.lab.environment import Environment
from mobai.lab.instances import guarded_ads
from mobai.live import operations
from mobai.live.assignments import Assignment
from mobai.live.experiment import Experiment
from mobai.service.problems import ProblemError

if TYPE_CHECKING:
    from mobai.service.service import Service

_log = logging.getLogger(__name__)

NAME = "demo"
_SECONDS, _VISITORS = 0.2, 12  # how often, and how many at a time
_SECONDS_TO_WAIT = 1.0  # while it is paused, or the storage is away
_BY = "simulated visitors"


class Demo:
    """Six adverts, three metrics and a limit. Visitors come until everything is decided, or it is closed."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._task: asyncio.Task[None] | None = None
        self._name = NAME

    @property
    def runs(self) -> bool:
        """Whether visitors come."""
        return self._task is not None and not self._task.done()

    async def start(self, by: str | None = None) -> str:
        """Let visitors come, to the demonstration that is under way or to a new one; return its name."""
        if not self.runs or not await to_thread.run_sync(self._is_under_way, self._name):
            await self.stop()
            self._name = await self._service.write(lambda: self._prepare(by))
            self._task = asyncio.create_task(self._run(self._name))
        return self._name

    async def stop(self) -> None:
        """Let no more visitors come."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    def _prepare(self, by: str | None) -> str:
        """Return the name of a demonstration that is not over yet, which is created if need be."""
        experiments, instance = self._service.experiments, guarded_ads()
        for number in range(1, 1000):
            name = NAME if number == 1 else f"{NAME} {number}"
            try:
                made = Experiment.create(
                    experiments.journal,
                    name,
                    instance.arms,
                    instance.objectives,
                    sd=instance.problem.sd,
                    guardrails=instance.problem.guardrails,
                    by=by,
                )
                experiments.add(made)
                return name
            except ConflictError:
                if self._is_under_way(name):
                    return name
        raise InputError("name", f"there are too many experiments named {NAME}")

    def _is_under_way(self, name: str) -> bool:
        """Whether there is a demonstration of this name that visitors may come to."""

        def look(experiment: Experiment) -> bool:
            same = experiment.problem.metric_names == guarded_ads().problem.metric_names
            return same and experiment.status().state in ("running", "paused")

        try:
            return self._service.experiments.read(name, look)
        except NotFoundError:
            return False

    async def _run(self, name: str) -> None:
        instance = guarded_ads()
        world = Environment(instance, seed=await self._service.read(name, lambda one: one.status().events))

        def answer(one: Assignment) -> tuple[Assignment, dict[str, float]]:
            # An arm that somebody has added is like the first one.
            arm = instance.arms.index(one.arm) if one.arm in instance.arms else 0
            return one, dict(zip(instance.problem.metric_names, world.pull(arm).tolist(), strict=True))

        waiting: list[Assignment] = []
        while await to_thread.run_sync(self._is_under_way, name):
            told = operations.tell_all([answer(one) for one in waiting], ask=_VISITORS, if_decided="stop", by=_BY)
            try:
                waiting = await self._service.do(name, told)
            except (InputError, StorageError, ProblemError) as error:
                # Paused, closed, deleted or away: what comes next is looked up.
                _log.info("%s: simulated visitors wait: %s", name, error)
                waiting = []
            await asyncio.sleep(_SECONDS if waiting else _SECONDS_TO_WAIT)
