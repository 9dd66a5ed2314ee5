"""The paper's tables beside ours, with a verdict per cell."""

from __future__ import annotations

import math
from typing import NamedTuple

from mobai import views
from mobai.document import Block, Chart, Paragraph, Table
from mobai.lab.instances import find_instance, snw
from mobai.lab.summary import SummaryRow
from mobai.research.paper.archive import Archive
from mobai.research.paper.published import NAMES, TABLE_2, TABLE_3, Published
from mobai.research.paper.runs import SNW, SNW_AS_WRITTEN, TABLES, TENTH, TWENTIETH
from mobai.theory.lower_bound import lower_bound


class ClaimVerdict(NamedTuple):
    """Whether a cell of the paper and ours agree, and why one thinks so."""

    word: str
    reason: str


def compare(published: Published, row: SummaryRow | None) -> ClaimVerdict:
    """Judge a cell: they agree when chance explains the difference of two means with our standard deviation."""
    if row is None:
        return ClaimVerdict("cannot be compared", "not run")
    if row.stopped < row.trials:
        return ClaimVerdict(
            "cannot be compared", f"{row.trials - row.stopped} of our {row.trials} trials were given up"
        )
    half = 1.96 * row.sd * math.sqrt(1 / row.trials + 1 / published.trials)
    if abs(published.mean - row.mean) <= half:
        return ClaimVerdict("agrees", f"the difference is within chance, which allows {half:,.0f}")
    return ClaimVerdict(
        "differs", f"ours is {row.mean / published.mean:.2f} times the paper's; chance allows {half:,.0f} pulls"
    )


def interval(row: SummaryRow) -> str:
    """Write the 95 % interval of a mean."""
    return f"{row.mean_interval[0]:,.0f} to {row.mean_interval[1]:,.0f}"


def _cell(name: str, level: str, published: Published, row: SummaryRow | None) -> list[str]:
    verdict = compare(published, row)
    paper = f"{published.mean:,.0f} ± {published.spread:,.0f} ({published.trials})"
    ours = ["-", "-", "-"] if row is None else [f"{row.mean:,.0f}", interval(row), str(row.trials)]
    return [name, level, paper, *ours, verdict.word, verdict.reason]


_HEADER = ["rule", "level", "paper (trials)", "ours", "95 % interval", "trials", "verdict", "why"]


def table_2(archive: Archive) -> list[Block]:
    """Stopping times on SNW at small delta."""
    runs = ("snw-mo-bai", "snw-baseline-20", "snw-baseline-100")
    rows = [
        _cell(NAMES[rule], f"log(1/delta) = {x:g}", published, archive.find(rule, "empirical", x, *runs))
        for rule, cells in TABLE_2.items()
        for x, published in cells.items()
    ]
    return [Paragraph(_READING), Table(_HEADER, rows, left=2)]


_READING = (
    "SNW with area as it is, times 10 (the reading that does not contradict the lower bound), threshold empirical. "
    "The Baseline tracks with the right sign. A cell agrees when the difference of the means is within what chance "
    "allows at 95 %, from our standard deviation and both numbers of trials. The paper's text does not determine how "
    "SNW was normalised, so a difference of a constant factor says nothing about either implementation."
)


def table_3(archive: Archive) -> list[Block]:
    """Stopping times on SNW at practical delta."""
    rows = []
    for rule, cells in TABLE_3.items():
        for delta, published in cells.items():
            x = {0.1: TENTH, 0.05: TWENTIETH}[delta]
            if rule == "successive-elimination":
                for printed in (",as_printed=true", ""):
                    spec = f"{rule}:delta={delta}{printed}"
                    row = archive.find(spec, "elimination", x, f"snw-elimination-{delta}")
                    name = NAMES[rule] + (", as printed" if printed else ", repaired")
                    rows.append(_cell(name, f"delta = {delta}", published, row))
            else:
                row = archive.find(rule, "empirical", x, "snw-mo-bai", "snw-baseline")
                rows.append(_cell(NAMES[rule], f"delta = {delta}", published, row))
    return [Paragraph(_READING), Table(_HEADER, rows, left=2)]


def readings(archive: Archive) -> list[Block]:
    """Return two readings of SNW, and what the lower bound says of each."""
    bounds = {name: lower_bound(find_instance(name)) for name in (SNW_AS_WRITTEN, SNW)}
    rows = []
    printed = {TENTH: 968.82, TWENTIETH: 1023.77, 10.0: 1686.67, 50.0: 5097.33, 100.0: 8435.0}
    for x in TABLES:
        cells = [f"{x:.4g}", f"{printed[x]:,.0f}"]
        for name, run in ((SNW_AS_WRITTEN, "snw-as-written"), (SNW, "snw-mo-bai")):
            row, bound = archive.find("mo-bai", "empirical", x, run), bounds[name].samples(log_inv_delta=x)
            ours = "-" if row is None else f"{row.mean:,.0f}"
            share = "-" if row is None else f"{row.mean / printed[x]:.2f}"
            cells += [f"{bound:,.0f}", ours, share]
        rows.append(cells)
    header = [
        "log(1/delta)",
        "paper",
        "bound (a)",
        "ours (a)",
        "ours/paper (a)",
        "bound (b)",
        "ours (b)",
        "ours/paper (b)",
    ]
    a, b = (bounds[name].value for name in (SNW_AS_WRITTEN, SNW))
    wrong = [x for x in TABLES if printed[x] < bounds[SNW_AS_WRITTEN].samples(log_inv_delta=x)]
    text = (
        f"(a) As the text says, objectives (-area, throughput) times 10: c* = {a:.2f}. (b) Without the negation: c* = "
        f"{b:.2f}. Under (a) the paper's stopping times lie below the lower bound on the mean of any rule at "
        f"{len(wrong)} of {len(TABLES)} levels (at log(1/delta) = 100: {printed[100.0]:,.0f} against "
        f"{bounds[SNW_AS_WRITTEN].samples(log_inv_delta=100.0):,.0f}), so they cannot come from it. (b) is consistent "
        "with the bound and is what the other tables use; MO-BAI then needs the share of the paper's pulls in the last "
        "column. The paper's normalisation is not determined by its text, and no scale was fitted here. (The table has "
        f"{snw().shape[0]} designs.)"
    )
    return [Paragraph(text), Table(header, rows, left=0)]


def beyond(archive: Archive) -> list[Block]:
    """Return every rule and threshold, on both data sets."""
    header = ["rule", "threshold", "log(1/delta)", "trials", "mean pulls", "95 % interval", "x bound", "error"]
    blocks: list[Block] = [Paragraph(_BEYOND)]
    for data, runs in BEYOND.items():
        found = [row for run in runs for row in archive.summary(run).values() if row.log_inv_delta in (TENTH, 100.0)]
        found.sort(key=lambda row: (row.log_inv_delta, row.stopping, row.mean))
        levels = dict.fromkeys(row.log_inv_delta for row in found)
        charts = [views.stopping_chart([row for row in found if row.log_inv_delta == x]) for x in levels]
        blocks += [
            Paragraph(f"{data}:"),
            *map(Chart, charts),
            Table(header, [_beyond_row(row) for row in found], left=2),
        ]
    return blocks


def _beyond_row(row: SummaryRow) -> list[str]:
    low, high = row.error_interval
    return [
        row.rule,
        row.stopping + ("" if row.certified else " (not certified)"),
        f"{row.log_inv_delta:.4g}",
        str(row.trials),
        f"{row.mean:,.0f}",
        interval(row),
        "-" if row.ratio is None else f"{row.ratio:.2f}",
        f"{row.error:.2f} ({low:.2f} to {high:.2f})",
    ]


BEYOND = {
    "Synthetic": (
        "synthetic-eta",
        "synthetic-others",
        "synthetic-frank-wolfe",
        "synthetic-d-tracking",
        "synthetic-theory",
    ),
    "SNW": ("snw-mo-bai", "snw-others", "snw-baseline", "snw-baseline-20", "snw-theory"),
}
_BEYOND = (
    "Rules beyond the paper's, and the certified threshold beside the paper's two, at delta = 0.1 and at "
    "log(1/delta) = 100, sorted by pulls. x bound: the mean over the lower bound on the mean of any rule with that "
    "error probability."
)
