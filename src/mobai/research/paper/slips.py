"""The algorithms as the paper prints them beside the repaired ones, and what that changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mobai.document import Block, Paragraph, Table
from mobai.lab.summary import mean_interval
from mobai.research.paper.archive import Archive
from mobai.research.paper.runs import TENTH
from mobai.research.paper.tables import interval


class Duel(NamedTuple):
    """The stopping times of a rule minus those of MO-BAI, trial by trial: the mean and its 95 % interval."""

    data: str
    rule: str
    log_inv_delta: float
    mean: float
    low: float
    high: float

    @property
    def winner(self) -> str:
        """Say who stops earlier, if the interval does."""
        return "MO-BAI" if self.low > 0 else "D-Tracking" if self.high < 0 else "undecided"


def duel(archive: Archive, data: str, ours: str, theirs: str, rule: str, x: float) -> Duel:
    """Compare two runs over the trials that both have."""
    times = []
    for run, name in ((theirs, rule), (ours, "mo-bai")):
        results = archive.results(run)
        s, d = results.config["policies"][name].index("empirical"), results.log_inv_deltas.index(x)
        times.append({t.trial: float(t.pulls[s, d]) for t in results.trials if t.rule == name})
    common = sorted(times[0].keys() & times[1].keys())
    gaps = np.array([times[0][n] - times[1][n] for n in common])
    return Duel(data, rule, x, float(gaps.mean()), *mean_interval(gaps))


def slips(archive: Archive) -> list[Block]:
    """Return the printed algorithms and the repaired ones."""
    duels = _duels(archive)
    return [
        Paragraph(_SLIPS),
        _sign_table(archive),
        Paragraph(_CONCLUSION),
        _duel_table(duels),
        Paragraph(_who_wins(duels)),
        *_elimination(archive),
    ]


_SLIPS = (
    "Baseline tracks argmax N - t w as printed, which pulls the arm that is furthest ahead of its weight; D-Tracking "
    "pulls the one furthest behind, argmax t w - N. Trials given up count with the pulls they had."
)
_CONCLUSION = (
    "Does MO-BAI still beat D-Tracking once the sign is right? Stopping times of D-Tracking minus those of MO-BAI, "
    "trial by trial on the same noise (threshold empirical), with 95 % intervals: positive favours MO-BAI."
)


def _sign_table(archive: Archive) -> Table:
    rows = []
    for data, right, printed in (
        ("synthetic", "synthetic-d-tracking", "synthetic-printed-sign"),
        ("SNW", "snw-baseline", "snw-printed-sign"),
    ):
        for run, sign in ((right, "right"), (printed, "as printed")):
            for (rule, _, x), row in archive.summary(run).items():
                if x == TENTH and "iterations" not in rule:
                    stopped = f"{row.stopped} of {row.trials}"
                    rows.append([data, rule, sign, stopped, f"{row.mean:,.0f}", interval(row), f"{row.error:.2f}"])
    return Table(["data", "rule", "sign", "stopped", "mean pulls, delta = 0.1", "95 % interval", "error"], rows, left=3)


def _duels(archive: Archive) -> list[Duel]:
    ladder = [
        ("synthetic", "synthetic-eta", "synthetic-d-tracking", rule, x)
        for rule in ("d-tracking:iterations=5", "d-tracking:iterations=10", "d-tracking")
        for x in (TENTH, 10.0, 50.0, 100.0)
    ]
    two = ("d-tracking", "d-tracking:start=previous")
    practical = [("SNW", "snw-mo-bai", "snw-baseline", rule, TENTH) for rule in two]
    small = [("SNW", "snw-mo-bai", "snw-baseline-20", "d-tracking", x) for x in (10.0, 50.0, 100.0)]
    most = [("SNW", "snw-mo-bai", "snw-baseline-100", "d-tracking:iterations=100", x) for x in (10.0, 50.0, 100.0)]
    return [duel(archive, *one) for one in (*ladder, *practical, *small, *most)]


def _duel_table(duels: list[Duel]) -> Table:
    rows = [
        [d.data, d.rule, f"{d.log_inv_delta:.4g}", f"{d.mean:+,.0f}", f"{d.low:+,.0f} to {d.high:+,.0f}", d.winner]
        for d in duels
    ]
    return Table(
        ["data", "rule", "log(1/delta)", "minus MO-BAI, pulls", "95 % interval", "stops earlier"], rows, left=2
    )


def _who_wins(duels: list[Duel]) -> str:
    """Count who stops earlier, data set by data set."""
    parts = []
    for data in dict.fromkeys(one.data for one in duels):
        winners = [one.winner for one in duels if one.data == data]
        counts = ", ".join(f"{name} in {winners.count(name)}" for name in ("MO-BAI", "D-Tracking", "undecided"))
        parts.append(f"on {data}, {counts} of {len(winners)}")
    return (
        f"Who stops earlier in these comparisons: {'; '.join(parts)}. The paper has MO-BAI earlier in all of its own."
    )


def _elimination(archive: Archive) -> list[Block]:
    rows = []
    for data in ("synthetic", "snw"):
        for delta in (0.1, 0.05):
            for (rule, _, _), row in archive.summary(f"{data}-elimination-{delta}").items():
                kind = "as printed" if "as_printed" in rule else "repaired"
                low, high = row.error_interval
                errors = f"{row.error:.2f} ({low:.2f} to {high:.2f})"
                rows.append([data, kind, f"{delta:g}", f"{row.stopped} of {row.trials}", f"{row.mean:,.0f}", errors])
    text = (
        "MO-SE's radius counts all pulls as printed, and the arm's own when repaired (Even-Dar et al.). Error: "
        "trials that stopped with a wrong answer. A best arm that was dropped by mistake can leave arms that take "
        "very long to tell apart: trials given up after 1,000,000 pulls are not counted as errors."
    )
    return [
        Paragraph(text),
        Table(["data", "radius", "delta", "stopped", "mean pulls", "error (95 % interval)"], rows, left=2),
    ]
