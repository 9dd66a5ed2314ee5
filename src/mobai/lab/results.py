"""What simulations give back: one row per sampling rule, stopping rule, trial and delta."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.extras import need
from mobai.problem import Instance, IntArray
from mobai.problem.codec import instance_json
from mobai.problem.guardrail import NOBODY
from mobai.theory.confidence import delta_of

if TYPE_CHECKING:
    import pandas as pd

    from mobai.lab.summary import Summary
    from mobai.lab.trajectory import Trajectory

Flags = npt.NDArray[np.bool_]


class TrialRecord(NamedTuple):
    """One trial of one sampling rule, read by S stopping rules at D deltas.

    Shapes: pulls, stopped and correct (S, D); decided and answers (S, D, M), -1 where undecided; arm_pulls (S, D, K).
    ``length`` is that of the trajectory.
    """

    rule: str
    trial: int
    length: int
    pulls: IntArray
    stopped: Flags
    correct: Flags
    decided: IntArray
    answers: IntArray
    arm_pulls: IntArray

    @classmethod
    def read(cls, instance: Instance, rule: str, trial: int, trajectory: Trajectory) -> TrialRecord:
        """Read a trajectory; where nothing was decided the leaders at its end stand in for answers."""
        decided, answers = trajectory.decided.transpose(0, 2, 1), trajectory.answers.transpose(0, 2, 1)
        stopped: Flags = np.asarray((decided >= 0).all(axis=2))
        given = np.where(answers != -1, answers, trajectory.leaders)
        nobody = (instance.best_arms < 0).all()
        right = np.where(given == NOBODY, nobody, instance.right_arms[given, np.arange(instance.shape[1])])
        return cls(
            rule=rule,
            trial=trial,
            length=trajectory.pulls,
            pulls=np.where(stopped, decided.max(axis=2), trajectory.pulls),
            stopped=stopped,
            correct=np.asarray(right.all(axis=2)),
            decided=decided,
            answers=answers,
            arm_pulls=trajectory.asked,
        )


@dataclass(frozen=True, eq=False)
class Results:
    """The outcome of :func:`mobai.simulate`.

    Attributes
    ----------
    config
        Everything that determines the results: instance, policies, log(1/delta), trials, seed, max_pulls, version.
    trials
        What was finished, ordered by rule and trial.
    ending
        Why some are missing: ``"interrupted"`` or which worker error; None when nothing went wrong.
    known
        The instance itself, where it is at hand: a family of somebody's own cannot be made of its name.
    """

    config: dict[str, Any]
    trials: tuple[TrialRecord, ...]
    ending: str | None = field(default=None)
    known: Instance | None = field(default=None, repr=False)

    @cached_property
    def instance(self) -> Instance:
        """The instance that was simulated."""
        if self.known is not None:
            return self.known
        try:
            return Instance(**self.config["instance"])
        except InputError as error:
            raise error.within(
                hint="a family of somebody's own cannot be made of its name: Results.load(path, instance)"
            ) from None

    @property
    def log_inv_deltas(self) -> list[float]:
        """The log(1/delta) that were asked for, ascending."""
        return list(self.config["log_inv_deltas"])

    @property
    def trials_wanted(self) -> int:
        """How many trials a complete simulation has, each rule counting its own."""
        return len(self.config["policies"]) * int(self.config["trials"])

    @property
    def missing(self) -> dict[str, list[int]]:
        """The trials that were not finished, by rule; rules without any are left out."""
        done = {(rows.rule, rows.trial) for rows in self.trials}
        wanted = {
            rule: [n for n in range(self.config["trials"]) if (rule, n) not in done] for rule in self.config["policies"]
        }
        return {rule: numbers for rule, numbers in wanted.items() if numbers}

    @property
    def complete(self) -> bool:
        """Whether no trial is missing."""
        return not self.missing

    def merged(self, fresh: Sequence[TrialRecord], ending: str | None = None) -> Results:
        """Return these results with more finished trials added."""
        order = {rule: n for n, rule in enumerate(self.config["policies"])}
        trials = sorted((*self.trials, *fresh), key=lambda rows: (order[rows.rule], rows.trial))
        return Results(self.config, tuple(trials), ending, self.known)

    def extended(self, config: dict[str, Any]) -> Results:
        """Take these results over into a simulation with more trials; everything else must be the same.

        With fewer, none is given up.
        """
        for key, value in config.items():
            if key != "trials" and self.config.get(key) != value:
                if key == "code":
                    raise InputError(
                        "out", "the file holds results of other code of your own rules or families; name another file"
                    )
                there = "another one" if key == "instance" else repr(self.config.get(key))
                raise InputError("out", f"the file holds other results, {key} is {there} there; name another file")
        return Results(
            {**config, "trials": max(config["trials"], self.config["trials"])}, self.trials, known=self.known
        )

    def summary(self) -> Summary:
        """Return means, error rates, their intervals and the ratio to the lower bound."""
        from mobai.lab.summary import summarise

        return summarise(self)

    def __len__(self) -> int:
        """Return the number of rows."""
        return sum(rows.pulls.size for rows in self.trials)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Return the rows one by one, as dictionaries."""
        arms, objectives = self.instance.arms, self.instance.problem.objective_names
        for rows in self.trials:
            for s, stopping in enumerate(self.config["policies"][rows.rule]):
                for d, x in enumerate(self.log_inv_deltas):
                    decided, answers = rows.decided[s, d].tolist(), rows.answers[s, d].tolist()
                    yield {
                        "rule": rows.rule,
                        "stopping": stopping,
                        "trial": rows.trial,
                        "delta": delta_of(x),
                        "log_inv_delta": x,
                        "pulls": int(rows.pulls[s, d]),
                        "stopped": bool(rows.stopped[s, d]),
                        "correct": bool(rows.correct[s, d]),
                        **{f"decided at: {o}": t if t >= 0 else None for o, t in zip(objectives, decided, strict=True)},
                        **{
                            f"answer: {o}": arms[arm] if arm >= 0 else "none qualifies" if arm == NOBODY else None
                            for o, arm in zip(objectives, answers, strict=True)
                        },
                    }

    def to_pandas(self) -> pd.DataFrame:
        """Return a tidy table: a row per rule, stopping rule, trial and delta, with a decision time per objective."""
        pandas = need("pandas")
        table: pd.DataFrame = pandas.DataFrame(list(self), columns=self._names()).convert_dtypes()
        return table

    def _names(self) -> list[str]:
        """Return the columns of the tidy table."""
        plain = ["rule", "stopping", "trial", "delta", "log_inv_delta", "pulls", "stopped", "correct"]
        objectives = self.instance.problem.objective_names
        return plain + [f"{what}: {name}" for what in ("decided at", "answer") for name in objectives]

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw stopping times, their spread and where the pulls went; return the figure, or save it."""
        from mobai.lab import plots

        return plots.plot(self) if path is None else plots.save_plot(self, path)

    def save(self, path: str | Path) -> None:
        """Write the rows: to ``.csv``, or to a Parquet file with the whole configuration in its metadata."""
        from mobai.lab import parquet

        if Path(path).suffix.lower() == ".csv":
            self._save_csv(Path(path))
        else:
            parquet.write(self, Path(path))

    def _save_csv(self, path: Path) -> None:
        try:
            if path.exists() and _header_of(path) != self._names():
                raise InputError(f"{path}: is there already, and holds something else; name another file")
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, self._names())
                writer.writeheader()
                writer.writerows(self)
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or 'cannot be written'}") from None

    @classmethod
    def load(cls, path: str | Path, instance: Instance | None = None) -> Results:
        """Read what :meth:`save` wrote; with the instance, if a metric of it has a family of your own."""
        from mobai.lab import parquet

        found = parquet.read(Path(path))
        if instance is None:
            return found
        if instance_json(instance) != found.config["instance"]:
            return found  # what it holds is said by who compares them
        return Results(found.config, found.trials, known=instance)

    def __repr__(self) -> str:
        """Say what was simulated and what is missing."""
        done = f"{len(self.trials)} of {self.trials_wanted} trials"
        reason = f", {self.ending}" if self.ending else ""
        return f"Results({', '.join(self.config['policies'])}: {done}{reason})"


def _header_of(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        return next(csv.reader(file), [])
