"""The findings of an audit as a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from mobai import views
from mobai.document import Block, Chart, Heading, Paragraph, Table, to_html, to_markdown
from mobai.errors import InputError
from mobai.research.audit.audit import AuditFinding
from mobai.version import __version__

HEADER = (
    "family",
    "instance",
    "stopping",
    "sampling",
    "delta",
    "trials",
    "decided",
    "error / delta",
    "95 % interval",
    "",
)

_TITLE = "An audit of the guarantee"
_INTRODUCTION = (
    "Each line simulates a rule where errors are likeliest and counts the trials in which some objective was decided "
    "for an arm that is not a right answer. The number is that error probability over delta: at most 1 is what is "
    "claimed. A claim is broken when the whole interval lies above 1; a control, a rule known to be invalid, is caught "
    "then."
)
_INSTANCES = (
    "Two arms without a gap: they differ by a billionth of the noise, one is wrong, and the test is looked at after "
    "every pull. Just outside eps: two arms that differ by a millionth more than the indifference zone of 0.2 sd. Two "
    "contenders: K = 2M arms, two of which differ by 0.2 sd in each of M = 3 objectives (with all families at once, "
    "M = 4). Trials are cut off after 400 to 1,000,000 pulls, so the errors are lower bounds. For delta = exp(-50) and "
    "exp(-500) wrong decisions are estimated by importance sampling: rewards are drawn with random means, and each "
    "trial is weighted by its likelihood ratio. Rewards are told one by one, but for the lines that say otherwise: "
    "batches of 200, sorted by arm and value and told as one moment; two metrics of a pull with a correlation of 0.9, "
    "the second told ten pulls after the first; and as controls the same batches looked at row by row, a metric that "
    "is missing whenever another one is negative, and measurements repeated until the value is small enough. Times, by "
    "32 workers: an arm that is usually fast and sometimes very slow beside one that is a little faster on average, "
    "told when they are over, and read in the order of asking; slow ones dropped, which counts them as the worst; as "
    "controls the same read as they are told, and with slow ones left out. On the "
    "limit: two arms whose guarded means are a billionth beyond the tolerance of a limit, and within the limit; on a "
    "margin: the same against a baseline. There a false claim about a limit, at any look, counts as an error; with "
    "differences to a baseline, of three tied arms, a true one that is left out. The controls are a test and intervals "
    "made for one look. Groups: revenue per session of two arms with the same ratio, in one of which those with many "
    "sessions spend little in each; as a control the means of the ratios, visitor by visitor. Twenty segments, each "
    "with its part of delta: a wrong decision in any counts; as a control, all of delta in each."
)


def cells(finding: AuditFinding) -> list[str]:
    """Write a finding as a row."""
    case, (low, high) = finding.case, finding.interval
    delta = f"{math.exp(-case.log_inv_delta):.3g}" if case.log_inv_delta < 20 else f"exp(-{case.log_inv_delta:g})"
    return [
        case.family,
        case.name,
        case.stopping.name + ("" if case.valid else " (control)"),
        case.rule.name,
        delta,
        f"{case.trials:,}" + (" weighted" if case.tilted else ""),
        f"{finding.decided:.0%}",
        f"{finding.ratio:.3f}",
        f"{max(low, 0):.3f} to {high:.3f}",
        finding.verdict,
    ]


def blocks(findings: Sequence[AuditFinding], seed: int) -> list[Block]:
    """Put the page together."""
    wrong = [finding for finding in findings if not finding.passed]
    outcome = (
        "Every claim holds and every control is caught." if not wrong else f"{len(wrong)} lines are not as claimed."
    )
    return [
        Heading(_TITLE, 1),
        Paragraph(f"mobai {__version__}, seed {seed}. {outcome}"),
        Paragraph(_INTRODUCTION),
        Paragraph(_INSTANCES),
        Chart(_chart(findings)),
        Table(HEADER, [cells(finding) for finding in findings], left=5),
    ]


def _chart(findings: Sequence[AuditFinding]) -> str:
    """Return the errors over delta with their intervals; what is claimed ends at 1."""
    rows = []
    for finding in findings:
        row, (low, high) = cells(finding), finding.interval
        name = ", ".join(row[:5])
        rows.append(views.IntervalRow(name, finding.ratio, max(low, 0.0), high, f"{row[7]} ({row[8]})"))
    return views.interval_chart(
        "Error over delta", rows, ("case", "95 % interval", "error / delta"), [views.Band("limit", 1.0, 1.0)]
    )


def write(findings: Sequence[AuditFinding], seed: int, folder: Path) -> None:
    """Write ``report.md`` and ``report.html`` into a folder."""
    page = blocks(findings, seed)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.md").write_text(to_markdown(page), encoding="utf-8")
        (folder / "report.html").write_text(to_html(page, folder, _TITLE, views.chart_style()), encoding="utf-8")
    except OSError as error:
        raise InputError("out", f"{folder}: {error.strerror or 'cannot be written'}") from None
