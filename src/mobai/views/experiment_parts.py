"""An experiment on one sheet, in named parts of HTML: pages, reports and notebooks put them together."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from mobai.document import Table, to_rows
from mobai.views.charts import allocation_chart, drift_charts, evidence_chart, forest, tradeoff_chart, wide
from mobai.views.charts.scale import svg
from mobai.views.data import time_text
from mobai.views.headline import headline, status_remarks
from mobai.views.notifications import notifications_json
from mobai.views.race_tables import hardest_table, standings_tables
from mobai.views.tables import contenders, differences_table, limits_table, means_table
from mobai.views.words import certification, intervals_caption, moment_text, plural

if TYPE_CHECKING:
    from mobai.live.state import Milestone
    from mobai.live.status import Status
    from mobai.live.trace import Series

_DONE = {"paused": "paused", "resumed": "resumed", "closed": "closed"}
_MOST_MOMENTS = 50


def parts_of(status: Status, series: Series, most_arms: int | None = None) -> dict[str, str]:
    """Return the parts of the sheet by name; of more arms than ``most_arms``, only those that matter have numbers."""
    return {
        "headline": f"<p>{escape(headline(status))}</p>",
        "guarantee": f'<p class="quiet">{escape(guarantee_text(status))}</p>',
        "facts": facts_html(status),
        "remarks": remarks_html(status),
        "metrics": metrics_html(status),
        "limits": limits_html(status),
        "standings": standings_html(status),
        "evidence": evidence_chart(series, status),
        "allocation": allocation_chart(series, status),
        "drift": drift_html(series, status),
        "timeline": timeline_html(status),
        "numbers": numbers_html(status, _with_numbers(status, most_arms)),
    }


def page_json(status: Status, series: Series, most_arms: int | None = None) -> dict[str, Any]:
    """Return what a page of an experiment needs, as plain data: its parts, its title, and what has happened.

    ``more_arms`` is how many are left out of the table of all numbers.
    """
    decided = sum(decision is not None for decision in status.verdict.decisions)
    happened = [{key: one[key] for key in ("mark", "text")} for one in notifications_json(status)]
    return {
        "state": status.state,
        "paused": status.paused_at is not None,
        "empty": status.verdict.pulls == 0,
        "title": f"{decided} of {len(status.verdict.decisions)} decided - {status.name}",
        "parts": {**parts_of(status, series, most_arms), "tradeoff": tradeoff_html(status)},
        "more_arms": len(status.verdict.problem.arms) - len(_with_numbers(status, most_arms)),
        "happened": happened,
    }


def facts_html(status: Status) -> str:
    """Return the plain facts: how many samples, what is outstanding, at which error probability."""
    verdict = status.verdict
    decided = sum(decision is not None for decision in verdict.decisions)
    lost = status.dropped + status.expired
    waiting = f"{status.pending:,} {'never answered' if status.closed_at else 'pending'}"
    waiting += f", {status.incomplete:,} incomplete" if status.incomplete else ""
    facts = {
        "decided": f"{decided} of {len(verdict.decisions)}",
        "samples": f"{verdict.pulls:,}",
        **({} if status.spending is None else {"spent": status.spending.words.replace(" spent", "")}),
        "waiting for answers": waiting + (f", {lost:,} dropped or expired" if lost else ""),
        "error probability": f"at most {verdict.delta:g}" if verdict.certified else f"{verdict.delta:g}, NOT certified",
        "last report": moment_text(status.last_report_at) if status.last_report_at else "none yet",
        "sampling rule": status.rule,
    }
    rows = (f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items())
    return f'<dl class="facts">{"".join(rows)}</dl>'


def remarks_html(status: Status) -> str:
    """Return what else a reader should know; nothing if there is nothing."""
    found = "".join(f"<li>{escape(remark)}</li>" for remark in status_remarks(status))
    return f'<ul class="remarks">{found}</ul>' if found else ""


def metrics_html(status: Status) -> str:
    """Return where the means of every objective lie, with what that promises and how to read it."""
    count = len(status.verdict.decisions)
    charts = "".join(f'<div class="card">{forest(status, m)}</div>' for m in range(count))
    promise = intervals_caption(status.verdict, status.intervals)
    return f'{charts}{_legend(status)}<p class="quiet">{escape(promise[:1].upper() + promise[1:])}. {_OVERLAP}</p>'


_OVERLAP = (
    "A decision compares two arms directly, and can be certain while their intervals, which hold for all arms at once, "
    "still overlap."
)


def _legend(status: Status) -> str:
    """Return what the marks mean, of those that there may be."""
    problem = status.verdict.problem
    marks = [(_mark("decided"), "decided"), (_mark("leader"), "leads"), (_mark("other"), "mean")]
    if any(objective.eps > 0 for objective in problem.objectives):
        marks.append((_area("eps"), "differences from the leader that do not matter"))
    if any(one.limit is not None for one in problem.guardrails):
        marks.append((_area("limit"), "limit, with its tolerance"))
    return f'<ul class="keys">{"".join(f"<li>{mark}{words}</li>" for mark, words in marks)}</ul>'


def _mark(kind: str) -> str:
    return svg("shape", f'<circle class="{kind}" cx="50%" cy="50%" r="5"/>')


def _area(kind: str) -> str:
    return svg("shape", f'<rect class="{kind}-band" width="100%" height="100%"/>')


# What the guarantee rests on, by the design of measurement.
_ASSUMED = {
    "": "samples are independent and measurements are of the kind stated for each metric",
    "items": "measurements lie in the ranges stated; decisions are about these items alone",
    "stream": "items are drawn independently of each other, and measurements are of the kind stated for each metric",
    "rounds": "at no time a worse variant is better, what one member of a round brings does not depend on what the "
    "others got, and measurements are of the kind stated for each metric",
}


def guarantee_text(status: Status) -> str:
    """Return what is promised, in a sentence."""
    verdict = status.verdict
    if not verdict.certified:
        return "Not certified: the chance that a decision here is wrong may be larger than it should be."
    design = verdict.problem.design
    kind = "" if design is None else design.kind
    some = " Decisions are about the arms that still take part." if not status.active.all() else ""
    return (
        f"However often you look, the chance that any decision here is ever wrong is at most {verdict.delta:.3g}, "
        f"provided that {_ASSUMED[kind]}.{some}"
    )


def limits_html(status: Status) -> str:
    """Return what is known of limits, and of the differences to a baseline; nothing where there are none."""
    verdict, parts = status.verdict, []
    if verdict.problem.guardrails:
        own = range(len(verdict.decisions), len(verdict.problem.metrics))
        parts.append(wide(to_rows(limits_table(verdict, status.rewards)), "Limits"))
        parts += [forest(status, m) for m in own]
    if status.differences is not None:
        table = differences_table(verdict, status.rewards, status.differences)
        parts.append(wide(to_rows(table), "Differences from the baseline"))
    return "".join(f'<div class="card">{part}</div>' for part in parts)


def standings_html(status: Status) -> str:
    """Return how arms stand to the leaders, who is out at which index, and what was saved; nothing without a design."""
    design = status.verdict.problem.design
    if design is None or not status.standings:
        return ""
    made, arms = status.verdict.pulls, len(status.verdict.problem.arms)
    of = f" of the {design.size * arms:,} there are" if design.size is not None else ""
    note = (
        f'<p class="quiet">{made:,} measurements{of}. What is measured counts places in the common order; an arm '
        "that is out of a metric is measured no more for it.</p>"
    )
    tables = (wide(to_rows(one), one.header[0]) for one in standings_tables(status))
    hardest, where = hardest_table(status), "Where the leaders lose"
    read_next = "" if hardest is None else f"<h3>{where}</h3>{wide(to_rows(hardest), where)}"
    return note + "".join(f'<div class="card">{table}</div>' for table in tables) + read_next


def tradeoff_html(status: Status, first: int = 0, second: int = 1) -> str:
    """Return the trade-off of two objectives; nothing where there is only one."""
    return tradeoff_chart(status, first, second) if len(status.verdict.decisions) > 1 else ""


def drift_html(series: Series, status: Status) -> str:
    """Return how the means went, tenth by tenth."""
    if all(metric.family.functional for metric in series.problem.metrics):
        return '<p class="quiet">Quantiles and ratios are not shown tenth by tenth: they do not add up.</p>'
    keys, charts = drift_charts(series, status)
    if not charts:
        return '<p class="quiet">Once there are more samples, the means of every tenth of them are shown here.</p>'
    return keys + f'<div class="pair">{"".join(f"<div class=card>{chart}</div>" for chart in charts)}</div>'


def timeline_html(status: Status) -> str:
    """Return what happened, the latest first."""
    moments = [(status.created_at, "created"), *(_told(one) for one in status.timeline)]
    earlier = {f"{objective}\n{answer}\n{pull}" for objective, answer, pull in status.past}
    untimed = []
    for one in notifications_json(status):
        text = one["text"].removeprefix(f"{status.name}: ")
        if one["kind"] in ("paused", "closed"):
            continue  # in the timeline already
        if one["mark"].partition("\n")[2] in earlier:
            untimed.append(f"earlier, among other arms: {text}")
        elif one["at"] is None:
            untimed.append(text)
        else:
            moments.append((one["at"], text))
    shown = sorted(moments, key=lambda one: -one[0])[:_MOST_MOMENTS]
    rows = [f"<li>{_time(at)} {escape(text)}</li>" for at, text in shown]
    rows += [f"<li>{escape(text)}</li>" for text in untimed]
    return f'<ol class="timeline">{"".join(rows)}</ol>'


def _told(one: Milestone) -> tuple[float, str]:
    verb = {"arm_added": "added", "arm_retired": "retired"}.get(one.kind)
    return one.at, _DONE.get(one.kind, one.kind) if verb is None else f"{one.arm} {verb}"


def _time(at: float) -> str:
    return f'<time datetime="{time_text(at)}">{moment_text(at)}</time>'


def _with_numbers(status: Status, most: int | None) -> Sequence[int]:
    """Return the arms whose numbers are shown: all, or those that matter where there are more than ``most``."""
    arms = range(len(status.verdict.problem.arms))
    return arms if most is None or len(arms) <= most else contenders(status, most)


def numbers_html(status: Status, arms: Sequence[int]) -> str:
    """Return all numbers of some arms as a table."""
    verdict = status.verdict
    table = means_table(verdict, status.rewards, status.means, status.intervals, status.active, arms)
    asked = [f"{int(status.asked[arm]):,}" for arm in arms]
    rows = [[*row, count] for row, count in zip(table.rows, asked, strict=True)]
    return wide(to_rows(Table([*table.header, "asked for"], rows)), "All numbers")


def provenance_html(status: Status) -> str:
    """Return of which journal this is, and how the promise is called."""
    proof = certification("mixture", status.verdict.certified)
    made = f"{plural(status.events, 'event')} in the journal; the hash of the last one is"
    return (
        f'<p class="quiet">delta = {status.verdict.delta:g}; {escape(proof)}.</p>'
        f'<p class="quiet">{made} <code>{escape(status.head)}</code>.</p>'
    )
