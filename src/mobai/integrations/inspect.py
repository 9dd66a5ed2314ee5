"""Stop an evaluation of Inspect early: models or solvers on one dataset race, and what is decided is not asked again.

Needs ``inspect_ai`` (``pip install 'mobai[inspect]'``). See https://inspect.aisi.org.uk/early-stopping.html.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mobai import views
from mobai.engine import Verdict
from mobai.errors import InputError, did_you_mean
from mobai.extras import need
from mobai.live.assignments import Assignment, PlacedAssignment
from mobai.live.experiment import Experiment
from mobai.live.race import begin_or_go_on
from mobai.problem import Guardrail, Objective
from mobai.problem.design import Design
from mobai.store.journal import Journal, MemoryJournal

need("inspect_ai")

import anyio  # noqa: E402
from inspect_ai.hooks import Hooks, SampleEnd, hooks  # noqa: E402
from inspect_ai.scorer import value_to_float  # noqa: E402
from inspect_ai.util import EarlyStop  # noqa: E402

if TYPE_CHECKING:
    from inspect_ai.dataset import Sample
    from inspect_ai.log import EvalSample, EvalSpec
    from inspect_ai.scorer import SampleScore

# What every sample has without a scorer: seconds, and tokens of all models it called.
OF_EVERY_SAMPLE = ("seconds", "tokens")
# Seconds between two looks at how far the others are; and without news before an arm waits for them no longer.
_WAIT, _PATIENCE = 0.02, 30.0
_MOST_LACKING = 10
_arm: ContextVar[str] = ContextVar("arm")
_races: dict[str, tuple[Racing, str]] = {}  # by the id of the evaluation that is under way


class _Progress(NamedTuple):
    """How many samples of an arm are done or skipped, and since when."""

    done: int
    at: float


class Racing:
    """Race models, solvers or tasks on one dataset: an ``EarlyStopping`` that all of their tasks share.

    Every sample is an item. A task whose arm can no longer be the best in any metric has its other samples skipped;
    once everything is decided, nothing more is run. The verdict is in every log, under ``results.early_stopping``.

    Parameters
    ----------
    arms
        What takes part, all of it: names of models as Inspect has them (``"openai/gpt-5-mini"``); or names of your own,
        each then given to its task as :meth:`arm`.
    metrics
        What is compared: the name of a scorer, or ``scorer/key`` of one that returns several values, as in
        ``"match:bernoulli"``; ``seconds`` and ``tokens`` need no scorer. A sample that fails counts as the worst there
        could be, for every claim.
    delta, guardrails, baseline, seed
        As for :func:`mobai.race`.
    stream
        Whether the samples stand for others, drawn from the same population. Else they are all there are, and the
        answer is about this very dataset.
    storage, name
        Where the race is kept; nowhere unless given.
    ahead
        How many samples an arm may begin before the first of them is done by all arms that are still in the race. Raise
        it where Inspect runs more at once (``max_samples``): it is also what an arm that leaves may cost too many.
    shuffled
        Whether the samples are in a random order, although Inspect was not told to shuffle them.

    """

    def __init__(
        self,
        arms: Sequence[str],
        metrics: Sequence[Objective | str],
        *,
        delta: float = 0.05,
        guardrails: Sequence[Guardrail | str] = (),
        baseline: str | None = None,
        stream: bool = False,
        storage: str | Path | Journal | None = None,
        name: str = "race",
        seed: int = 0,
        ahead: int = 16,
        shuffled: bool = False,
    ) -> None:
        if isinstance(arms, str):
            raise InputError("arms", f"must be a list of names, not {arms!r}")
        if isinstance(ahead, bool) or not isinstance(ahead, int) or ahead < 1:
            raise InputError("ahead", f"must be a whole number of samples, 1 or more, not {ahead!r}")
        self._journal: Any = MemoryJournal() if storage is None else storage
        self._name, self._seed, self._ahead = name, seed, ahead
        self._stream, self._shuffled = stream, shuffled
        self._stated: dict[str, Any] = {"delta": delta, "guardrails": guardrails, "baseline": baseline, "seed": seed}
        # What is wrong is said here, and not by the first task.
        asked = Experiment.create(
            MemoryJournal(), name, arms, metrics, items=2 if not stream else "stream", **self._stated
        )
        self.arms, self._metrics = asked.problem.arms, metrics
        self._columns = tuple(dict.fromkeys(name for metric in asked.problem.metrics for name in metric.columns))
        self._places: dict[str, int] = {}
        self._handed: dict[tuple[str, int], Assignment] = {}
        self._progress: dict[str, _Progress] = {}  # of arms whose task is under way
        self._tasks: dict[str, str] = {}  # by arm; a task that is tried again keeps its id
        self._ended: set[str] = set()
        self._forgiving: set[str] = set()  # whose tasks go on when a sample fails
        self._skipped = dict.fromkeys(self.arms, 0)
        self._extras: dict[tuple[str, int], dict[str, float | None]] = {}
        self._experiment: Experiment | None = None
        self._lacking: dict[str, int] = {}  # by column: how many samples had no such score; -1 once one had
        self._made = 0
        self._known_in: set[str] | None = None
        self._last = -1  # the place of what was handed out last

    def arm(self, name: str) -> _OneArm:
        """Return the early stopping of one arm, for a task that cannot be told by its model."""
        return _OneArm(self, self._known(name))

    @property
    def experiment(self) -> Experiment:
        """The experiment that it is, once a task has begun."""
        if self._experiment is None:
            raise InputError("no task of this race has begun")
        return self._experiment

    @property
    def made(self) -> int:
        """How many samples were run, those that failed counted."""
        return self._made

    @property
    def verdict(self) -> Verdict:
        """What is decided."""
        return self.experiment.verdict()

    @property
    def winners(self) -> dict[str, str | None]:
        """The best arm of every metric; None where it is open."""
        return self.verdict.winners

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Begin the race, or let one more arm take part in it."""
        return self._start(self._arm_of(task), task, samples, epochs)

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Say whether a sample is still needed; wait if the others are far behind."""
        arm, place = _arm.get(), self._places[str(id)]
        while True:
            if not self._is_needed(arm, place):
                self._skip(arm, place)
                return EarlyStop(id=id, epoch=epoch, reason=self._why_not(arm))
            if not self._is_far_ahead(place):
                return None
            await anyio.sleep(_WAIT)

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:  # noqa: ARG002
        """Take in what a sample brought."""
        arm, place = _arm.get(), self._places[str(id)]
        found = _numbers(scores) | self._extras.pop((arm, place), {})
        self._check_keys(found)
        try:
            self._tell(arm, place, {name: found.get(name) for name in self._columns})
        except InputError as error:
            raise InputError(str(error)) from None  # Inspect shows its last argument alone

    async def complete_task(self) -> dict[str, Any]:
        """Return the verdict, for the log."""
        arm = _arm.get()
        self._ended.add(arm)
        self._progress.pop(arm, None)
        for one in [key for key, (race, name) in _races.items() if race is self and name == arm]:
            del _races[one]
        return self._summary(arm)

    def _check_keys(self, found: Mapping[str, float | None]) -> None:
        """Refuse a key that no score has, once several samples have brought other ones; else a value is missing."""
        for name in self._columns:
            if name in found:
                self._lacking[name] = -1
            elif self._lacking.get(name, 0) >= 0 and name not in OF_EVERY_SAMPLE:
                self._lacking[name] = self._lacking.get(name, 0) + 1
            if self._lacking.get(name, 0) >= _MOST_LACKING:
                others = sorted({*found, *OF_EVERY_SAMPLE})
                raise InputError(
                    f"no score is called {name!r}; there are {', '.join(others)}{did_you_mean(name, others)}"
                )

    def _check_scorers(self, task: EvalSpec) -> None:
        """Refuse a metric of a scorer that a task does not have."""
        scorers = [one.name.rpartition("/")[2] for one in task.scorers or ()]
        for name in self._columns:
            if scorers and name not in OF_EVERY_SAMPLE and name.partition("/")[0] not in scorers:
                others = [*scorers, *OF_EVERY_SAMPLE]
                raise InputError(
                    f"no scorer is called {name!r}; there are {', '.join(others)}{did_you_mean(name, others)}"
                )

    def _known(self, name: str) -> str:
        if name not in self.arms:
            raise InputError(
                "arm", f"must be one of {', '.join(self.arms)}, not {name!r}{did_you_mean(name, self.arms)}"
            )
        return name

    def _arm_of(self, task: EvalSpec) -> str:
        for name in (task.model, task.model.rpartition("/")[2], task.solver, task.task):
            if name in self.arms:
                return str(name)
        raise InputError(
            f"none of {', '.join(self.arms)} is the model {task.model} or the task {task.task}; name the arm of a task "
            "with early_stopping=racing.arm(NAME)",
        )

    def _start(self, arm: str, task: EvalSpec, samples: Sequence[Sample], epochs: int) -> str:
        """Let an arm take part with these samples."""
        if self._tasks.setdefault(arm, task.task_id) != task.task_id:
            raise InputError(f"two tasks are called {arm!r}; give each its own with racing.arm(NAME)")
        if epochs != 1:
            raise InputError(f"epochs must be 1 in a race, not {epochs}: a sample is one item")
        self._check_scorers(task)
        if not (self._shuffled or task.dataset.shuffled or task.config.sample_shuffle):
            raise InputError(
                "the dataset must be in a random order, the same for all arms: shuffle it with a seed, eval(..., "
                "sample_shuffle=1), or say shuffled=True if it is"
            )
        names = [str(sample.id) for sample in samples]
        if not self._places:
            try:
                self._begin(names)
            except InputError as error:
                raise InputError(str(error)) from None
            self._places = {name: place for place, name in enumerate(names)}
        elif list(self._places) != names:
            raise InputError(
                f"{arm} has other samples, or another order, than the others: shuffle with one seed for all"
            )
        _arm.set(arm)
        _races[task.eval_id] = self, arm
        self._progress[arm] = _Progress(0, time.monotonic())
        if task.config.continue_on_fail or task.config.fail_on_error not in (None, True):
            self._forgiving.add(arm)
        return "mobai"

    def _begin(self, names: list[str]) -> None:
        """Begin the experiment, or go on with one that is there; its order is that of Inspect."""
        items: Any = "stream"
        if not self._stream:
            items = [""] * len(names)
            for place, number in enumerate(Design("items", len(names)).order(self._seed).tolist()):
                items[number] = names[place]
        self._experiment, _ = begin_or_go_on(
            self._journal,
            self._name,
            list(self.arms),
            self._metrics,
            items=items,
            ahead=max(len(names), self._ahead),  # who waits for whom is decided here
            **self._stated,
        )
        for row in self.experiment.iterate_records():
            if row["status"] == "pending":
                placed = PlacedAssignment.at(row["id"], row["arm"], row["index"], row["item"])
                self._handed[row["arm"], row["index"]] = placed

    def _hand_out(self, place: int) -> None:
        """Have everything handed out up to a place, to all arms that are still in the race."""
        while self._last <= place:
            found = self.experiment.tell_all((), ask=1, if_decided="stop")
            if not found:
                return
            assert isinstance(found[0], PlacedAssignment)
            self._handed[found[0].arm, found[0].index] = found[0]
            self._last = found[0].index

    def _still_in(self) -> set[str]:
        """Return the arms that a metric that is open still needs; looked at anew when something was told.

        Where wins count, who may win must go on to beat those that others have beaten: all of them stay.
        """
        if self._known_in is None:
            verdict = self.verdict
            still_open = [name for name, winner in verdict.winners.items() if winner is None]
            wins = {one.name for one in verdict.problem.objectives if one.family.counts_wins}
            left = {one.objective: one.left for one in verdict.contention if one.objective not in wins}
            compared_with = (
                {one.of for one in verdict.problem.guardrails if one.of is not None} if still_open else set()
            )
            self._known_in = compared_with.union(*(left.get(name, self.arms) for name in still_open))
        return self._known_in

    def _is_needed(self, arm: str, place: int) -> bool:
        if arm not in self._still_in():
            return False
        self._hand_out(place)
        return (arm, place) in self._handed

    def _why_not(self, arm: str) -> str:
        still_in = self._still_in()
        if not still_in:
            return "everything is decided"
        return f"{arm} is out" if arm not in still_in else "measured already"

    def _skip(self, arm: str, place: int) -> None:
        """Give back what was handed out for a sample that is not run, so that nothing waits for it."""
        self._skipped[arm] += 1
        self._go_on(arm)
        assignment = self._handed.pop((arm, place), None)
        if assignment is not None:
            self.experiment.drop(assignment, reason="lost")

    def _go_on(self, arm: str) -> None:
        if arm in self._progress:
            self._progress[arm] = _Progress(self._progress[arm].done + 1, time.monotonic())

    def _is_far_ahead(self, place: int) -> bool:
        """Whether an arm that is under way, and not silent, has done so few samples that it pays to wait for it."""
        still_in, now = self._still_in(), time.monotonic()
        waited_for = [one for arm, one in self._progress.items() if arm in still_in and now - one.at < _PATIENCE]
        return any(place >= one.done + self._ahead for one in waited_for)

    def _tell(self, arm: str, place: int, found: Mapping[str, float | None]) -> None:
        """Report what a sample brought, unless that was done before; without any number it counts as the worst."""
        self._go_on(arm)
        self._hand_out(place)
        assignment = self._handed.pop((arm, place), None)
        if assignment is None:
            return
        if any(value is not None for value in found.values()):
            self.experiment.tell(assignment, found)
        else:
            self.experiment.drop(assignment)
        self._made, self._known_in = self._made + 1, None

    def _ended_sample(self, arm: str, sample: EvalSample) -> None:
        """Note what a sample took; one that failed, and was not scored, counts as the worst, if its task goes on."""
        place = self._places[str(sample.id)]
        if sample.error is not None and not sample.scores:
            if arm in self._forgiving:
                self._tell(arm, place, {})
            else:  # the end of its task
                self._progress.pop(arm, None)
            return
        tokens = sum(usage.total_tokens for usage in sample.model_usage.values())
        self._extras[arm, place] = {"seconds": sample.working_time, "tokens": float(tokens)}

    def _summary(self, arm: str) -> dict[str, Any]:
        status = self.experiment.status()
        facts = views.verdict_json(status.verdict)
        return {
            "arm": arm,
            "final": len(self._ended) == len(self.arms),
            "winners": status.verdict.winners,
            "samples": self.made,
            "of": len(self._places) * len(self.arms),
            "skipped": self._skipped[arm],
            "verdict": facts,
            "text": views.headline(status),
        }


class _OneArm:
    """The early stopping of one arm, stated by name."""

    def __init__(self, race: Racing, arm: str) -> None:
        self._race, self._arm = race, arm
        self.schedule_sample, self.complete_sample = race.schedule_sample, race.complete_sample
        self.complete_task = race.complete_task

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        return self._race._start(self._arm, task, samples, epochs)


@hooks(name="mobai", description="Tells races what samples took, and which failed.")
class _SampleHooks(Hooks):
    def enabled(self) -> bool:
        return bool(_races)

    async def on_sample_end(self, data: SampleEnd) -> None:
        found = _races.get(data.eval_id)
        if found is not None:
            found[0]._ended_sample(found[1], data.sample)


def _numbers(scores: Mapping[str, SampleScore]) -> dict[str, float | None]:
    """Return every number there is: by scorer, and by scorer/key where it returns several; None for what is none."""
    found: dict[str, float | None] = {}
    number = value_to_float()
    for name, one in scores.items():
        value = one.score.value
        if isinstance(value, Mapping):
            found |= {f"{name}/{key}": _finite(number(part)) for key, part in value.items() if part is not None}
        elif not isinstance(value, Sequence) or isinstance(value, str):
            found[name] = _finite(number(value))
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
