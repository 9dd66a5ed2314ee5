"""Durable experiments: ask which arm is next, tell what was measured, from any number of processes.

What is here is what an experiment can do, wherever it is kept: in a storage of this process
(:mod:`mobai.live.local`), or in that of a service (:mod:`mobai.client`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy.typing as npt

from mobai.engine import Verdict
from mobai.engine.concerns import Concern
from mobai.engine.explain import Explanation
from mobai.errors import InputError, StorageError, refuse_unknown
from mobai.live.assigning import check_name, made_by
from mobai.live.assignments import Assignment
from mobai.live.ledger import Ledger
from mobai.live.reports import Metrics
from mobai.live.settings import ExperimentOptions, Settings, new_settings
from mobai.live.status import Status, describe
from mobai.live.storage import client_of
from mobai.live.trace import Series
from mobai.live.units import Unit
from mobai.live.verify import Verification
from mobai.problem import Guardrail, Objective, Problem
from mobai.problem.codec import problem_json, stated_problem
from mobai.rows import Frame
from mobai.store.journal import Event, Journal
from mobai.views import experiment_html


class Experiment(ABC):
    """A live experiment. Make one with :meth:`create` or :meth:`load`.

    Examples
    --------
    >>> import mobai
    >>> test = Experiment.create("memory:", "ads", ["A", "B"], ["click:bernoulli", "latency:min:unknown-variance"])
    >>> first, second = test.ask(2)
    >>> test.tell(first, {"click": 1, "latency": 83.0})
    >>> test.tell(second, {"click": 0})
    >>> test.tell(second, {"latency": 91.5})
    >>> test.verdict().stopped
    False
    >>> mobai.delete("memory:", "ads")
    """

    @classmethod
    def create(
        cls,
        storage: str | Path | Journal,
        name: str,
        arms: Sequence[str] | None = None,
        objectives: Sequence[Objective | str] | Mapping[str, str] | None = None,
        *,
        variants: Sequence[str] | None = None,
        metrics: Sequence[Objective | str] | Mapping[str, str] | None = None,
        sd: npt.ArrayLike | None = None,
        guardrails: Sequence[Guardrail | str] = (),
        baseline: str | None = None,
        items: int | str | Sequence[str] | None = None,
        rounds: bool = False,
        costs: Mapping[str, float] | Sequence[float] | None = None,
        cost_metric: str | None = None,
        cost_unit: str | None = None,
        token: str | None = None,
        by: str | None = None,
        **options: Unpack[ExperimentOptions],
    ) -> Experiment:
        """Begin an experiment.

        Parameters
        ----------
        storage
            ``sqlite:///ads.db`` (or a path), ``postgresql://user@host/name``, ``memory:``, or the address of a service,
            ``http://host:8321``.
        name
            What it is called in the storage.
        arms, objectives, sd, guardrails, baseline
            As for :class:`mobai.Problem`.
        items
            What every arm is measured on: how many items there are or their names, which are then all there are, or
            ``"stream"`` for new ones without end, drawn from one population. Each assignment then says which
            (``index``, ``item``), and arms are compared by their differences on the same items.
        rounds
            Whether arms are compared in rounds: blocks of visitors, requests or repetitions, one for each arm, handed
            out in an order drawn at random. What drifts for all of them cancels.
        costs, cost_metric, cost_unit
            What a sample of each arm costs, ``{"large": 12.0, "small": 0.3}``, or the metric that says what one cost;
            and the unit, such as ``USD``. Sampling then saves money, not samples; the guarantee does not look at it.
        variants, metrics
            Other names of ``arms`` and ``objectives``.
        token
            For a service; ``MOBAI_TOKEN`` in the environment unless given.
        by
            Who creates it, for the journal.
        delta
            The error probability, for all objectives and times together; 0.05 unless given.
        rule
            How arms are chosen: a name with options, ``package.module:Class`` for a rule of your own, or the rule;
            ``top-two`` unless given.
        seed
            Fixes the rule's own choices; 0 unless given.
        focus
            Sample only for objectives that are not decided yet; True unless given.
        expire_after
            Seconds after which what is missing of an assignment is left out, whatever comes later: fixed at the start,
            it has nothing to do with values. A metric that has a value for everybody is better given a window.
        reserve
            The share of delta kept for arms added or retired later, 0 if there will be none; 0.1 unless given, which
            costs 0.1 nats.
        on_broken
            What happens to an arm that breaks a limit: ``bar``, it is asked for no more, or ``tell``; ``bar`` unless
            given.
        max_samples
            How many assignments are handed out, dropped and expired ones aside; any number unless given.
        max_cost
            How much may be spent: nothing is handed out once samples have cost that much, those still to come counted;
            any amount unless given.
        until
            Hand out none after this time, as ISO 8601, Unix time or a datetime; never ends unless given.
        order
            In which order evidence reads the rewards of each metric: as they were ``asked`` for, which is right
            whatever is late or slow; or complete pulls as they were ``told``, for delays that have nothing to do with
            values. ``asked`` unless given.
        rare
            Of metrics with an unknown or shared variance: no objective is decided before the arms in question have
            log(1/delta) / rare rewards, so that extremes of that frequency would have shown; 0.02 unless given, None to
            take extremes for ruled out.
        allow_large_delta
            Whether a delta of a half or more is meant; False unless given.
        interval_share
            The share of delta that the confidence intervals have for themselves; 0.1 unless given. With less, decisions
            come a little earlier (0.1 nats at most), and intervals are wider.
        ahead
            With items or rounds: how many indices arms may be ahead of the first one at which something is still to
            come; 16 with items, any number with rounds, unless given.
        items_digest
            A text that tells this list of items from another one, for whoever takes the experiment up again.
        """
        refuse_unknown("create", options, ExperimentOptions)
        check_name(name)
        named = _either("arms", arms, "variants", variants), _either("objectives", objectives, "metrics", metrics)
        paid: dict[str, Any] = {"costs": costs, "cost_metric": cost_metric, "cost_unit": cost_unit}
        stated: dict[str, Any] = {"sd": sd, "guardrails": guardrails, "baseline": baseline, **paid}
        problem = stated_problem(*named, items=items, rounds=rounds, **stated)
        settings = new_settings(problem, **options)
        client = client_of(storage, token)
        if client is not None:
            from mobai.client.experiment import RemoteExperiment

            plain: dict[str, Any] = {
                "seed": settings.seed,
                "max_samples": settings.max_samples,
                "until": settings.until,
            }
            plain |= {} if settings.part is None else {"part": settings.part.facts()}
            given = {**options, **plain, "rule": settings.rule_address, **made_by(by)}
            return RemoteExperiment.create_at(client, {"name": name, **problem_json(problem), **given})
        from mobai.live.local import LocalExperiment

        return LocalExperiment.create_in(storage, name, settings, by=by)

    @classmethod
    def load(cls, storage: str | Path | Journal, name: str, *, token: str | None = None) -> Experiment:
        """Take an experiment up again, in this or another process, or that of a service."""
        client = client_of(storage, token)
        if client is not None:
            from mobai.client.experiment import RemoteExperiment

            return RemoteExperiment.load_at(client, name)
        from mobai.live.local import LocalExperiment

        return LocalExperiment.load_from(storage, name)

    @property
    @abstractmethod
    def _ledger(self) -> Ledger:
        """The journal as this process reads it, which makes verification and replay its own."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called in its storage."""

    @property
    @abstractmethod
    def number(self) -> int:
        """A number that no other experiment in its storage has or had."""

    @property
    @abstractmethod
    def history_id(self) -> str:
        """What tells this history from that of another experiment, and from one that was restored from a backup."""

    @property
    @abstractmethod
    def has_units(self) -> bool:
        """Whether some assignments were handed out for units."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """What it was set up with: delta, rule, seed and the rest."""

    @property
    @abstractmethod
    def problem(self) -> Problem:
        """The arms (with retired ones), objectives and known noise."""

    @abstractmethod
    def ask(
        self,
        n: int = 1,
        *,
        if_decided: str = "go-on",
        unit: str | None = None,
        key: str | None = None,
        by: str | None = None,
    ) -> list[Assignment]:
        """Return the next assignments. Pending ones are counted: several askers do not pile onto one arm.

        Parameters
        ----------
        n
            How many, at most 10,000; fewer come if ``max_samples`` leaves no room.
        if_decided
            What to do once every objective is decided: ``go-on`` sampling; ``stop``, which returns none; or
            ``winner=OBJECTIVE``, which hands out the arm that was decided on.
        unit
            Who it is for, a visitor say: the same unit has the same assignment for ever.
        key
            A name for this call: made again with the same key, it returns the same assignments.
        by
            Who asks, for the journal.
        """

    def tell(
        self,
        assignment: Assignment | int | None = None,
        metrics: Metrics | None = None,
        *,
        unit: str | None = None,
        by: str | None = None,
    ) -> None:
        """Report what was measured, all metrics at once or one after the other; None for one that will not come.

        The assignment is named by itself, its id, or the unit it was handed out for. Sampling sees it at once; evidence
        reads each metric in the order of asking, and waits for what may still come. The same report twice changes
        nothing; one that contradicts an earlier one is refused; one that comes after its window is put aside.
        """
        if (assignment is None) == (unit is None) or metrics is None:
            raise InputError("tell takes an assignment or a unit, and metrics")
        self.tell_all([(assignment if unit is None else Unit(unit), metrics)], by=by)

    @abstractmethod
    def tell_all(
        self,
        reports: Iterable[tuple[Assignment | Unit | int | None, Metrics]] | Mapping[Any, Metrics] | Frame,
        *,
        ask: int = 0,
        if_decided: str = "go-on",
        key: str | None = None,
        by: str | None = None,
    ) -> list[Assignment]:
        """Report on many assignments in one transaction, all or nothing; ``ask`` new ones are handed out in the same.

        Assignments are given as such, by their ids, or as :class:`mobai.Unit`. A data frame (pandas, polars, Arrow)
        will do: a column ``id`` or ``unit``, and one per metric, where an empty cell may still come.

        None come, and the reports are taken, while nothing is handed out (paused, ended, no samples left);
        ``if_decided`` is that of :meth:`ask`. A call that
        is made again because its reply was lost hands out further assignments, and the first ones stay pending, unless
        both have the same ``key``: then it returns the same.
        """

    def record(self, arm: str, metrics: Metrics, *, key: str | None = None, by: str | None = None) -> Assignment:
        """Report an observation that nobody asked for; return an assignment to tell metrics that come later by.

        The guarantee is the same, as long as which arm came next did not depend on its outcome. Recording the
        same observation twice counts it twice, unless both calls have the same ``key``.
        """
        return self.record_all([(arm, metrics)], key=key, by=by)[0]

    @abstractmethod
    def record_all(
        self, rows: Iterable[tuple[str, Metrics]] | Frame, *, key: str | None = None, by: str | None = None
    ) -> list[Assignment]:
        """Report observations that nobody asked for in one transaction, all or nothing, and as one moment.

        A data frame (pandas, polars, Arrow) will do: a column ``arm``, and one per metric.
        """

    @abstractmethod
    def drop(
        self,
        assignment: Assignment | Unit | int,
        *,
        reason: str | None = None,
        refused: bool = False,
        by: str | None = None,
    ) -> None:
        """Drop an assignment that will not be told, or the rest of one that was told in part; it cannot be told later.

        Why it is dropped may have to do with its values, so they count as the worst there could be: the low end of the
        range for the leader, the high end for a rival. A metric without a range goes on waiting for it. With
        ``reason="lost"`` you say that it has nothing to do with any result, and it is left out; every verdict repeats
        that. With ``refused`` it is lost because of its value, and nothing is called certified any more.
        """

    @abstractmethod
    def drop_older(self, seconds: float, *, reason: str | None = None, by: str | None = None) -> int:
        """Drop every assignment that has waited for so long, or what is missing of it; return how many there were.

        Those that only wait for metrics with a window are left alone: these end by themselves.
        """

    @abstractmethod
    def add_arm(self, arm: str, sd: npt.ArrayLike | None = None, *, by: str | None = None) -> None:
        """Add an arm; every objective is undecided again until the leader has been separated from it.

        ``sd`` is its standard deviation, as for :class:`mobai.Problem`; that of the others unless given.
        """

    @abstractmethod
    def retire_arm(self, arm: str, *, by: str | None = None) -> None:
        """Stop asking for an arm and look for the best of the others; decisions for other arms stand."""

    @abstractmethod
    def pause(self, *, by: str | None = None) -> None:
        """Hand out nothing until :meth:`resume`; answers are still taken. Pausing twice changes nothing."""

    @abstractmethod
    def resume(self, *, by: str | None = None) -> None:
        """Hand out assignments again."""

    @abstractmethod
    def close(self, *, as_equal: bool | Sequence[str] = False, by: str | None = None) -> None:
        """End the experiment; it can be read, not changed.

        With ``as_equal``, objectives that are open (their names, or True for all of them) end in a tie: the journal
        says which arms may still be best, and by how much these can differ, and so does every status from then on.
        """

    @abstractmethod
    def verdict(self) -> Verdict:
        """Return what is decided at the experiment's delta."""

    @abstractmethod
    def status(self) -> Status:
        """Return where the experiment stands: verdict, evidence, counts, means and intervals."""

    @abstractmethod
    def stamp(self) -> tuple[int, str]:
        """Return the number of the last event, and a text that is another one whenever the status is."""

    @abstractmethod
    def explain(self) -> Explanation:
        """Return why it is not decided yet, pair by pair, and what the rule would ask for next and why."""

    @abstractmethod
    def series(self) -> Series:
        """Return how it went: some hundred points of evidence, counts, means and intervals, over pulls and time."""

    @abstractmethod
    def concerns(self) -> list[Concern]:
        """Return what looks wrong: lost answers, metrics that have stopped coming, means that change, outliers.

        Each kind is raised falsely with a probability of at most one in a thousand, at all times together. They are not
        part of delta.
        """

    def __str__(self) -> str:
        """Say in a few lines where the experiment stands."""
        return str(self.status())

    def _repr_html_(self) -> str:
        return experiment_html(self.status(), self.series())

    def history(self) -> Sequence[Event]:
        """Return every event from the beginning."""
        return self._ledger.history()

    @abstractmethod
    def events(self, after: int = 0, most: int = 1000) -> Sequence[Event]:
        """Return the events after one, at most ``most`` of them."""

    @abstractmethod
    def verify(self) -> Verification:
        """Check the chain of events, what they add up to, the snapshot and the database."""

    def records(self) -> list[dict[str, Any]]:
        """Return every assignment with what was told of it, as plain rows; None where nothing was.

        Where some were handed out for units, these are named, too.
        """
        return list(self.iterate_records())

    @abstractmethod
    def iterate_records(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of :meth:`records` as they are now, one by one: a million of them do not fit into memory."""

    def replay(self) -> Status:
        """Replay the whole journal, let the rule make every choice again, and return the status.

        StorageError names the choices that differ, as they may on another processor or in another version of a rule;
        what was asked was asked all the same.
        """
        self._ledger.check()
        state = self._ledger.fold(compare=True)
        if state.differences:
            found = [
                f"assignment {one.assignment} was arm {one.arm} in the journal and is arm {one.chosen} now"
                for one in state.differences[:3]
            ]
            more = len(state.differences) - len(found)
            raise StorageError("; ".join(found) + (f"; and {more:,} more" if more else ""))
        return describe(self.name, state)


def _either(name: str, given: Any, other_name: str, other: Any) -> Any:
    """Return what was given under one of two names; InputError if it was under none, or both."""
    if (given is None) == (other is None):
        raise InputError(name, f"must be given, under this name or as {other_name}, and only once")
    return other if given is None else given
