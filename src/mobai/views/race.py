"""How a race ended, and the items that tell most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mobai.errors import InputError
from mobai.views.text import status_text

if TYPE_CHECKING:
    from mobai.engine import Verdict
    from mobai.live.status import Status


def race_text(status: Status, ending: str, made: int, most: int | None) -> str:
    """Return how a race ended, in lines of text."""
    saved = f", {most - made:,} saved" if most is not None and ending == "decided" else ""
    of = "" if most is None else f" of {most:,}{saved}"
    endings = {
        "used-up": "nothing is left to measure",
        "interrupted": "interrupted",
        "budget": "the budget is spent",
        "paused": "the experiment is paused",
        "closed": "the experiment is closed",
        "failed": "a measurement failed",
    }
    said = "" if ending == "decided" else f"; {endings[ending]}"
    return f"{made:,} measurements{of}{said}\n{status_text(status)}"


def hardest_items(verdict: Verdict, rows: Iterable[Mapping[str, Any]], metric: str, count: int) -> list[dict[str, Any]]:
    """Return the items on which the leader of a metric loses most to the best other arm that was measured there."""
    names = verdict.problem.objective_names
    if metric not in names:
        raise InputError("metric", f"must be one of {', '.join(names)}, not {metric!r}")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError("count", f"must be a whole number, 1 or more, not {count!r}")
    m = names.index(metric)
    leader, sign = verdict.answers[m], verdict.problem.objectives[m].sign
    by_item: dict[Any, dict[str, float]] = {}
    for row in rows:
        if row[metric] is not None:
            by_item.setdefault(row["item"], {})[row["arm"]] = row[metric]
    found = []
    for item, values in by_item.items():
        others = {arm: value for arm, value in values.items() if arm != leader}
        if leader in values and others:
            best = max(others, key=lambda arm: sign * others[arm])
            found.append(
                {"item": item, "lost": sign * (others[best] - values[leader]), leader: values[leader], "to": best}
            )
    found.sort(key=lambda row: -row["lost"])
    return [row for row in found if row["lost"] > 0][:count]
