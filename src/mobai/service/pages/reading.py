"""Pages to read: why an experiment stands where it does, and its journal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fastapi import Request, Response

from mobai import views
from mobai.live.experiment import Experiment
from mobai.service.access import needs
from mobai.service.api.common import service_of
from mobai.service.pages.rendering import page
from mobai.service.pages.routing import page_router, path_of
from mobai.store.journal import Event

router = page_router()

_EVENTS = 50
_PAIRS, _FEWEST_PAIRS = 200, 5


@router.get("/e/{name}/explain", openapi_extra=needs("read"))
async def explain(request: Request, name: str, of: str | None = None, skip: int = 0) -> Response:
    """Show which pairs of arms hold a decision up, and what is asked for next and why; of one objective, page by page.

    Where there are very many pairs, those of each objective that hold it up are shown first.
    """
    facts = await service_of(request).read(name, lambda experiment: _explanation(experiment, of, max(skip, 0)))
    return page(request, "explain.html", name=name, path=path_of(name), of=of, skip=skip, **facts)


def _explanation(experiment: Experiment, of: str | None, skip: int) -> dict[str, Any]:
    found, names = experiment.explain(), experiment.problem.objective_names
    shown = [name for name in names if of in (None, name)]
    most = _PAIRS if of is not None else max(_PAIRS // len(names), _FEWEST_PAIRS)
    pairs: dict[str, list[Any]] = {name: [] for name in shown}
    counts = Counter(pair.objective for pair in found.pairs)
    passed: Counter[str] = Counter()
    for pair in found.pairs:
        passed[pair.objective] += 1
        if pair.objective not in pairs or not skip < passed[pair.objective] <= skip + most:
            continue
        best = max(pair.evidence, pair.broken)
        share = min(max(best / pair.threshold, 0.0), 1.0)
        pairs[pair.objective].append(
            {
                "pair": pair,
                "gap": "-" if pair.gap != pair.gap else views.number_text(pair.gap, abs(pair.gap)),
                "evidence": f"{max(best, 0.0):.2f}",
                "bar": views.progress_bar(1.0 if pair.decided else min(share, 0.999)),
            }
        )
    limits = views.limit_evidence_table(found) if found.limits and of is None else None
    left = {name: max(counts[name] - skip - most, 0) for name in shown}
    about = {"explanation": found, "pairs": pairs, "limits": limits, "level": _level(found)}
    return {**about, "left": left, "next": skip + most}


def _level(found: Any) -> str | None:
    return f"{found.pairs[0].threshold:.2f}" if found.pairs else None


@router.get("/e/{name}/journal", openapi_extra=needs("read"))
async def journal(request: Request, name: str, before: int | None = None) -> Response:
    """Show the events of the journal, the latest first."""
    facts = await service_of(request).read(name, lambda experiment: _journal(experiment, before))
    return page(request, "journal.html", name=name, path=path_of(name), **facts)


def _journal(experiment: Experiment, before: int | None) -> dict[str, Any]:
    status = experiment.status()
    last = status.events if before is None else min(max(before - 1, 0), status.events)
    first = max(last - _EVENTS, 0)
    arms = experiment.problem.arms
    events = [_row(event, arms) for event in experiment.events(first, last - first)][::-1] if last > first else []
    return {
        "events": events,
        "total": status.events,
        "head": status.head,
        "older": first + 1 if first > 0 else None,
        "newer": last + _EVENTS + 1 if last < status.events else None,
    }


def _row(event: Event, arms: Sequence[str]) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "kind": event.kind.replace("_", " "),
        "time": views.moment_text(event.at),
        "stamp": views.time_text(event.at),
        "by": event.body.get("by", ""),
        "text": views.event_text(event, arms),
        "body": json.dumps(event.body, ensure_ascii=False),
        "hash": event.hash[:12],
    }
