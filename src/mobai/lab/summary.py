"""Means, error rates and their 95 % intervals, beside the lower bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mobai import views
from mobai.document import Table
from mobai.errors import ConvergenceError, InputError
from mobai.extras import need
from mobai.lab.results import Results
from mobai.problem import Instance
from mobai.theory.confidence import delta_of
from mobai.theory.lower_bound import lower_bound

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[float, float]


class SummaryRow(NamedTuple):
    """One rule with one stopping rule at one delta.

    ``mean`` and ``sd`` are of the stopping times (of ``max_pulls`` for trials that did not stop), with a Student
    interval for the mean; ``error`` is the share of trials that stopped with a wrong answer, with a Clopper-Pearson
    interval; ``bound`` is the least mean any rule with error at most delta can have, None where arms are tied. Where
    samples have costs, ``spend`` is the mean of what trials spent, ``bound`` that of the spend, None elsewhere.
    """

    rule: str
    stopping: str
    certified: bool
    delta: float
    log_inv_delta: float
    trials: int
    stopped: int
    mean: float
    sd: float
    mean_interval: Interval
    error: float
    error_interval: Interval
    bound: float | None
    spend: float | None = None

    @property
    def ratio(self) -> float | None:
        """The mean, or the mean spend, over the lower bound; None where there is no bound or it is zero."""
        return (self.mean if self.spend is None else self.spend) / self.bound if self.bound else None


@dataclass(frozen=True)
class Summary:
    """The rows of a summary; prints as a table."""

    rows: tuple[SummaryRow, ...]

    def __iter__(self) -> Iterator[SummaryRow]:
        """Return the rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table."""
        pandas = need("pandas")
        table: pd.DataFrame = pandas.DataFrame(
            [{**row._asdict(), "ratio": row.ratio} for row in self.rows], columns=[*SummaryRow._fields, "ratio"]
        )
        return table

    @property
    def table(self) -> Table:
        """The rows as text, with the lower bound at the end."""
        rows = [*(_cells(row) for row in self.rows), *self._bounds()]
        if all(row.spend is None for row in self.rows):
            return Table(_HEADER, rows, left=2)
        spends = [*(f"{row.spend:,.2f}" for row in self.rows), *(row[_MEAN] for row in rows[len(self.rows) :])]
        for row in rows[len(self.rows) :]:  # the bound is one of the spend
            row[_MEAN] = ""
        header = [*_HEADER[: _MEAN + 1], "mean spend", *_HEADER[_MEAN + 1 :]]
        paired = zip(rows, spends, strict=True)
        return Table(header, [[*row[: _MEAN + 1], spend, *row[_MEAN + 1 :]] for row, spend in paired], left=2)

    def _repr_html_(self) -> str:
        return views.summary_html(self)

    def __str__(self) -> str:
        """Write a table, with the lower bound at its end."""
        return views.to_text(self.table)

    def _bounds(self) -> Iterator[list[str]]:
        for row in {row.log_inv_delta: row for row in self.rows}.values():
            if row.bound is not None:
                yield ["lower bound", "any", _delta(row), "", f"{row.bound:,.1f}", *[""] * 4, "1.00"]


_HEADER = [
    "rule",
    "stopping",
    "delta",
    "trials",
    "mean pulls",
    "95 % interval",
    "sd",
    "error",
    "95 % interval",
    "x bound",
]


_MEAN = _HEADER.index("mean pulls")


def _cells(row: SummaryRow) -> list[str]:
    """Write the cells of a row."""
    low, high = row.mean_interval
    unfinished = "" if row.stopped == row.trials else f" ({row.trials - row.stopped} unstopped)"
    return [
        row.rule,
        row.stopping + ("" if row.certified else " (not certified)"),
        _delta(row),
        f"{row.trials}{unfinished}",
        f"{row.mean:,.1f}",
        f"{low:,.1f} to {high:,.1f}" if row.trials > 1 else "-",
        f"{row.sd:,.1f}",
        f"{row.error:.4f}",
        f"{row.error_interval[0]:.4f} to {row.error_interval[1]:.4f}",
        "-" if row.ratio is None else f"{row.ratio:.2f}",
    ]


def _delta(row: SummaryRow) -> str:
    return f"{row.delta:.3g}" if row.delta > 1e-300 else f"exp(-{row.log_inv_delta:g})"


def summarise(results: Results) -> Summary:
    """Summarise what was finished."""
    rows = []
    bounds = lower_bounds(results.instance, results.log_inv_deltas)
    for rule, stoppings in results.config["policies"].items():
        trials = [trial for trial in results.trials if trial.rule == rule]
        if not trials:
            continue
        pulls, costs = np.array([trial.pulls for trial in trials], dtype=float), results.instance.costs
        stopped = np.array([trial.stopped for trial in trials])
        wrong = stopped & ~np.array([trial.correct for trial in trials])
        for s, stopping in enumerate(stoppings):
            for d, x in enumerate(results.log_inv_deltas):
                times, errors = pulls[:, s, d], int(wrong[:, s, d].sum())
                rows.append(
                    SummaryRow(
                        rule=rule,
                        stopping=stopping,
                        certified=stopping in results.config["certified"][rule],
                        delta=delta_of(x),
                        log_inv_delta=x,
                        trials=len(times),
                        stopped=int(stopped[:, s, d].sum()),
                        mean=float(times.mean()),
                        sd=float(times.std(ddof=1)) if len(times) > 1 else 0.0,
                        mean_interval=mean_interval(times),
                        error=errors / len(times),
                        error_interval=share_interval(errors, len(times)),
                        bound=bounds[d],
                        spend=None if costs is None else float(np.mean([t.arm_pulls[s, d] @ costs for t in trials])),
                    )
                )
    return Summary(tuple(rows))


def lower_bounds(instance: Instance, log_inv_deltas: Sequence[float]) -> list[float | None]:
    """Return the lower bound on the mean number of pulls, or on what they cost, at each delta; None for ties."""
    try:
        bound = lower_bound(instance)
    except (InputError, ConvergenceError):
        return [None] * len(log_inv_deltas)
    return [bound.spend(log_inv_delta=x) for x in log_inv_deltas]


def mean_interval(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Interval:
    """Return the 95 % Student interval of the mean; without end when there is one value only."""
    from scipy.special import stdtrit

    count, mean = len(values), float(values.mean())
    if count < 2:
        return -math.inf, math.inf
    half = float(stdtrit(count - 1, 0.975) * values.std(ddof=1) / math.sqrt(count))
    return mean - half, mean + half


def share_interval(hits: int, count: int) -> Interval:
    """Return the 95 % Clopper-Pearson interval of a share."""
    from scipy.special import betaincinv

    low = float(betaincinv(hits, count - hits + 1, 0.025)) if hits else 0.0
    high = float(betaincinv(hits + 1, count - hits, 0.975)) if hits < count else 1.0
    return low, high
