"""Race: measure arms on the same items, in parallel, until the best of every objective is known.

A race is a live experiment with a loop around it: what was measured is in its journal, so that a race with a storage
that was interrupted, or killed, goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from mobai import views
from mobai.engine import RARE, Verdict
from mobai.errors import ConflictError, InputError
from mobai.extras import need
from mobai.live.experiment import Experiment
from mobai.live.race_loop import Measure, MeasureAttempt, ProgressLine, RaceError, RaceLoop, RaceProgress
from mobai.live.settings import Settings
from mobai.live.status import Status
from mobai.live.storage import delete
from mobai.problem import Guardrail, Objective
from mobai.problem.design import MOST_NAMES
from mobai.problem.objective import is_name
from mobai.rows import Frame, decoded, frame_rows, read_rows
from mobai.store.journal import Journal, MemoryJournal

_ON_ERROR = ("stop", "worst")
_MOST_JOBS = 1_000
# How far down things that arms and items stand for are looked into.
_DEEPEST = 8


@dataclass(frozen=True, eq=False)
class RaceResult:
    """How a race ended.

    Attributes
    ----------
    experiment
        The experiment that it was, to be looked at or gone on with.
    ending
        ``decided``, ``used-up`` (nothing is left to measure), ``budget``, ``interrupted``, ``paused`` or ``closed``; of
        the result that a RaceError has, ``failed``.
    most
        How many measurements all arms on all items would have been; None without an end.
    failures
        How many measurements failed, with those that were tried again.
    """

    experiment: Experiment
    ending: str
    most: int | None
    failures: int

    @property
    def made(self) -> int:
        """How many measurements there are, with those that count as the worst, of other processes and earlier runs."""
        status = self.experiment.status()
        return status.pulls + status.dropped

    @property
    def status(self) -> Status:
        """Where it stands: verdict, standings, means, intervals."""
        return self.experiment.status()

    @property
    def verdict(self) -> Verdict:
        """What is decided."""
        return self.experiment.verdict()

    @property
    def winners(self) -> dict[str, str | None]:
        """The best arm of every metric; None where it is open."""
        return self.verdict.winners

    def rows(self) -> list[dict[str, Any]]:
        """Return the table of items: a row per measurement, with its item, its arm, and every metric."""
        names = self.experiment.problem.metric_names
        return [
            {"item": row["item"], "arm": row["arm"], **{name: row[name] for name in names}}
            for row in self.experiment.iterate_records()
            if row["status"] == "answered"
        ]

    def to_pandas(self) -> Any:
        """Return the table of items as a data frame, a row per item and arm."""
        return need("pandas").DataFrame(self.rows()).set_index(["item", "arm"])

    def hardest(self, metric: str, count: int = 10) -> list[dict[str, Any]]:
        """Return the items on which the leader of a metric loses most to the best other arm: what to read next."""
        return views.hardest_items(self.status.verdict, self.rows(), metric, count)

    def __str__(self) -> str:
        """Say it in a few lines."""
        return views.race_text(self.status, self.ending, self.made, self.most)


def race(
    arms: Sequence[str] | Mapping[str, Any],
    items: int | str | Path | Sequence[Any] | Mapping[str, Any] | Frame | None,
    measure: Measure,
    objectives: Sequence[Objective | str] | Mapping[str, str],
    *,
    delta: float = 0.05,
    n_jobs: int = 1,
    processes: bool = False,
    storage: str | Path | Journal | None = None,
    name: str = "race",
    guardrails: Sequence[Guardrail | str] = (),
    baseline: str | None = None,
    rounds: bool = False,
    budget: int | None = None,
    retries: int = 2,
    on_error: str = "stop",
    seed: int = 0,
    rare: float | None = RARE,
    watch: Callable[[RaceProgress], None] | None = None,
) -> RaceResult:
    """Measure arms on the same items until the best arm of every objective is known.

    Parameters
    ----------
    arms
        Their names; or a mapping from names to what ``measure`` is given: prompts, models, functions.
    items
        What all arms are measured on: a list of anything, a mapping from names to anything, a data frame or a file of
        rows (CSV, JSON lines, Parquet), or how many there are. They are all there are: each is measured once per arm at
        most. ``"stream"`` for new items without end: ``measure`` is then given a number. None with ``rounds``.
    measure
        Called with an arm and an item; returns a number per metric, None for one that there is not.
    objectives, guardrails, delta, baseline, seed, rare
        As for :meth:`mobai.Experiment.create`.
    n_jobs, processes
        How many measurements are made at once, in threads unless ``processes``: then ``measure`` is at the top of a
        module, and a script calls this under ``if __name__ == "__main__"``.
    storage, name
        Where the race is kept, so that it goes on where it was when it is started again; nowhere unless given.
    rounds
        Whether arms are compared in rounds: an item is then the number of a round, in which every open arm is measured
        once, in an order drawn at random.
    budget
        How many measurements are made at most; any number unless given.
    retries, on_error
        How often a measurement that raises an exception is made again; and what happens then, or when it returns what a
        metric does not accept: ``stop``, with a RaceError whose ``result`` is what there is, or ``worst``, it counts as
        the worst there could be, for every claim: neither arm gains from it.
    watch
        Called with the progress after every measurement. Unless given, a line in the terminal says it.

    Examples
    --------
    >>> lengths = {"short": 1, "long": 9}
    >>> words = ["a", "bb", "ccc", "dddd"]
    >>> found = race(lengths, words, lambda arm, item: {"size": arm + len(item)}, ["size:min:bounded=0..20"])
    >>> found.winners, found.ending
    ({'size': 'short'}, 'decided')
    """
    if on_error not in _ON_ERROR:
        raise InputError("on_error", f"must be stop or worst, not {on_error!r}")
    for argument, value, least in (("n_jobs", n_jobs, 1), ("retries", retries, 0), ("budget", budget, 1)):
        if argument == "budget" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InputError(argument, f"must be a whole number, {least} or more, not {value!r}")
    if n_jobs > _MOST_JOBS:
        raise InputError("n_jobs", f"must be at most {_MOST_JOBS:,}, not {n_jobs!r}")
    if not callable(measure):
        raise InputError("measure", f"must be a function of an arm and an item, not {measure!r}")
    if watch is not None and not callable(watch):
        raise InputError("watch", f"must be a function of the progress, not {watch!r}")
    if processes:
        _check_sent(measure)
    things, named, digest = _items_of(items, rounds)
    names, given = _arms_of(arms)
    others = {name: _likeness(one) for name, one in given.items() if one is not name}
    digest = _digest([digest, others]) if others else digest
    options: dict[str, Any] = {"delta": delta, "seed": seed, "ahead": max(2, n_jobs), "items_digest": digest}
    options["rare"] = rare
    journal: Any = MemoryJournal() if storage is None else storage
    experiment, begun = begin_or_go_on(
        journal,
        name,
        names,
        objectives,
        items=named,
        rounds=rounds,
        guardrails=guardrails,
        baseline=baseline,
        **options,
    )
    if on_error == "worst":
        for metric in experiment.problem.metrics:
            if not metric.has_worst:
                raise InputError("on_error", f"must be stop: there is no worst that {metric.name} could be")
    loop = RaceLoop(
        experiment, things, MeasureAttempt(measure, given, retries), on_error, watch or ProgressLine(), budget
    )
    try:
        ending = loop.run(n_jobs, processes)
    except InputError:
        if begun and not loop.made:  # what was stated may be what is wrong
            delete(journal, name)
        raise
    except RaceError as error:
        error.result = RaceResult(experiment, "failed", loop.most, loop.failures)
        raise
    return RaceResult(experiment, ending, loop.most, loop.failures)


def _arms_of(arms: Any) -> tuple[list[Any], dict[Any, Any]]:
    """Return the names of arms, and what each stands for."""
    if isinstance(arms, Mapping):
        return list(arms), dict(arms)
    if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
        raise InputError(
            "arms", f"must be a list of names, or a mapping from names to what they stand for, not {arms!r}"
        )
    names = list(arms)
    return names, dict(zip(names, names, strict=True)) if all(isinstance(one, str) for one in names) else {}


def _items_of(items: Any, rounds: bool) -> tuple[Mapping[str, Any] | Sequence[Any] | None, Any, str | None]:
    """Return items by name or number, None where the number is all there is; how an experiment is told; their digest.

    Rows are called by their ``id``, ``item`` or ``name``, if each has another one.
    """
    if rounds or (isinstance(items, str) and items == "stream"):
        return None, items, None
    if isinstance(items, int | np.integer) and not isinstance(items, bool):
        return None, int(items), None
    if isinstance(items, Mapping):
        return _named_things(items)
    if getattr(items, "ndim", None) == 1 and hasattr(items, "to_list"):
        items = items.to_list()  # a column of a frame
    if items is None or isinstance(items, bytes | bytearray | set | frozenset) or _is_single(items):
        raise InputError(
            "items",
            f'must be a list, a file, a number of items or "stream" (or None with rounds=True), not {str(items)[:80]}',
        )
    if isinstance(items, str | Path) and Path(items).suffix.lower() == ".txt":
        lines = decoded(Path(items).read_bytes()).splitlines() if Path(items).is_file() else None
        items = items if lines is None else [line for line in lines if line.strip()]
    rows = read_rows(items) if isinstance(items, str | Path) else frame_rows(items)
    things: list[Any] = list(items) if rows is None else list(rows)
    if not things:
        raise InputError("items", "must be one item at least")
    digest = _digest(things)
    for key in (None, "id", "item", "name"):
        names = [one if key is None else one.get(key) if isinstance(one, Mapping) else None for one in things]
        if len(things) <= MOST_NAMES and all(is_name(one) for one in names) and len(set(names)) == len(names):
            return dict(zip(map(str, names), things, strict=True)), names, digest
    return things, len(things), digest


def _named_things(items: Mapping[Any, Any]) -> tuple[Mapping[str, Any], list[str], str]:
    """Return things that have names already."""
    wrong = [name for name in items if not is_name(name)]
    if wrong or not items:
        raise InputError("items", f"must have names, one at least, not {str(wrong[0] if wrong else items)[:80]!r}")
    named = {str(name): one for name, one in items.items()}
    return named, list(named), _digest([named])


def _is_single(items: Any) -> bool:
    """Whether this is neither a list of anything nor a frame, file or name of one."""
    return not isinstance(items, Iterable | str | Path) and frame_rows(items) is None


def _check_sent(measure: Measure) -> None:
    """Refuse a function that cannot be sent to another process."""
    try:
        pickle.dumps(measure)
    except Exception as error:
        raise InputError(
            "measure", f"must be a function at the top of a module, with processes=True: {error}"
        ) from None


def _digest(things: Sequence[Any]) -> str:
    """Return a text that tells these things from others, in any process."""
    said = json.dumps([_likeness(one) for one in things], sort_keys=True)
    return hashlib.blake2b(said.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def _likeness(thing: Any, depth: int = 0) -> Any:
    """Return what tells a thing from others, as plain data: of an object that is no data class, its type alone."""
    if thing is None or isinstance(thing, str | int | float):
        return thing
    if isinstance(thing, bytes | bytearray):
        return thing.hex()
    if isinstance(thing, np.ndarray | np.generic):
        whole = np.asarray(thing)
        return [
            str(whole.dtype),
            whole.shape,
            _likeness(whole.tolist()) if whole.dtype == object else whole.tobytes().hex(),
        ]
    if depth < _DEEPEST and isinstance(thing, Mapping):
        return {str(key): _likeness(value, depth + 1) for key, value in thing.items()}
    if depth < _DEEPEST and isinstance(thing, set | frozenset):
        return sorted(json.dumps(_likeness(one, depth + 1), sort_keys=True) for one in thing)
    if depth < _DEEPEST and isinstance(thing, Sequence):
        return [_likeness(one, depth + 1) for one in thing]
    if depth < _DEEPEST and is_dataclass(thing) and not isinstance(thing, type):
        return {one.name: _likeness(getattr(thing, one.name), depth + 1) for one in fields(thing)}
    if isinstance(thing, Path | date | time | Decimal | Fraction | UUID):
        return str(thing)
    kind = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{kind.__module__}.{kind.__qualname__}"


def begin_or_go_on(
    journal: Any, name: str, arms: list[str], objectives: Any, **options: Any
) -> tuple[Experiment, bool]:
    """Return the experiment of this name, if it is the same race; or begin it, and say so."""
    try:
        return Experiment.create(journal, name, arms, objectives, **options), True
    except ConflictError:
        there = Experiment.load(journal, name)
    asked = Experiment.create(MemoryJournal(), name, arms, objectives, **options)
    one, other = there.settings, asked.settings
    if one.problem.design is None:
        raise InputError("name", f"there is an experiment {name!r} already, which is no race; choose another name")
    parts: dict[str, Callable[[Settings], Any]] = {
        "arms": lambda of: of.problem.arms,
        "objectives": lambda of: of.problem.objectives,
        "guardrails": lambda of: of.problem.guardrails,
        "baseline": lambda of: of.problem.baseline,
        "items": lambda of: (of.problem.design, of.problem.design and of.problem.design.names),
        "things behind its arms or items": lambda of: of.items_digest,
        "delta": lambda of: of.log_inv_delta,
        "seed": lambda of: of.seed,
    }
    differ = [what for what, part in parts.items() if part(one) != part(other)]
    if differ:
        made = views.plural(there.status().pulls, "measurement")
        raise InputError(
            "name", f"the race {name!r} has other {' and '.join(differ)} ({made}); choose another name, or delete it"
        )
    return there, False
