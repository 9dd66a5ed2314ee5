"""Events of a journal in a few words each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from mobai.views.words import plural

if TYPE_CHECKING:
    from mobai.store.journal import Event


def event_text(event: Event, arms: Sequence[str]) -> str:
    """Return what an event of a journal says, in a few words."""
    body = event.body
    match event.kind:
        case "created":
            return f"{plural(len(body['arms']), 'arm')}, {plural(len(body['objectives']), 'objective')}, {body['rule']}"
        case "asked":
            return f"handed out: {_counted(arms[index] for index in body['arms'])}"
        case "told":
            rows = body["reports"]
            shown = "; ".join(f"{number}: {_metrics(metrics)}" for number, metrics in rows[:2])
            return f"{plural(len(rows), 'report')} ({shown}{'; ...' if len(rows) > 2 else ''})"
        case "recorded":
            rows = body["rows"]
            shown = "; ".join(f"{arm}: {_metrics(metrics)}" for arm, metrics in rows[:2])
            return f"{plural(len(rows), 'observation')} ({shown}{'; ...' if len(rows) > 2 else ''})"
        case "dropped" | "expired":
            numbers = ", ".join(str(number) for number in body["ids"][:10])
            return f"{plural(len(body['ids']), 'assignment')} ({numbers}{', ...' if len(body['ids']) > 10 else ''})"
        case "closed":
            equal = body.get("as_equal", {})
            return "; ".join(f"{name} as equal: {', '.join(one['arms'])}" for name, one in equal.items())
        case _:
            return str(body.get("arm", ""))


def _counted(names: Iterable[str]) -> str:
    """Return names with how often they come, those that come most often first."""
    found = Counter(names).most_common()
    shown = ", ".join(f"{name} ({count})" if count > 1 else name for name, count in found[:6])
    return shown + (f" and {plural(len(found) - 6, 'other arm')}" if len(found) > 6 else "")


def _metrics(metrics: Mapping[str, float | None]) -> str:
    return ", ".join(
        f"{name} {'will not come' if one is None else format(one, '.5g')}" for name, one in metrics.items()
    )
