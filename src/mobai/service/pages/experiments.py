"""Pages of experiments: the list, and one experiment, which follows what happens where scripts may run."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import Request, Response
from starlette.responses import StreamingResponse

from mobai import views
from mobai.errors import StorageError
from mobai.live.experiment import Experiment
from mobai.problem.families import ranges_of
from mobai.service.access import needs
from mobai.service.api.common import caller_of, service_of, signed
from mobai.service.api.experiments import SSE_HEADERS, go_on
from mobai.service.pages.rendering import page
from mobai.service.pages.routing import page_router, path_of, see
from mobai.service.problems import ProblemError
from mobai.service.service import ARMS_ON_A_PAGE, Service

router = page_router()

_ON_A_PAGE = 50


@router.get("/", openapi_extra=needs("read"))
async def index(request: Request, skip: int = 0) -> Response:
    """Show all experiments that the caller may see, the newest first."""
    service, caller = service_of(request), caller_of(request)

    def look() -> tuple[list[dict[str, Any]], int]:
        names = [name for name in service.experiments.names() if caller.may("read", name)][::-1]
        first = min(max(skip, 0), len(names))
        return [_row_of(service, name) for name in names[first : first + _ON_A_PAGE]], len(names)

    rows, total = await to_thread.run_sync(look)
    address = f"{request.url.scheme}://{request.headers['host']}"
    more = skip + _ON_A_PAGE if total > skip + _ON_A_PAGE else None
    return page(request, "index.html", rows=rows, total=total, more=more, address=address, demo=service.demo.runs)


def _row_of(service: Service, name: str) -> dict[str, Any]:
    """Return an experiment in the list; one that cannot be read does not hide the others."""
    try:
        summary = service.summaries(name)
        return {**summary.facts, **summary.row, "unreadable": None, "path": path_of(name)}
    except (StorageError, ValueError) as error:
        return {"name": name, "path": path_of(name), "unreadable": service.without_address(str(error))}


@router.post("/demo", openapi_extra=needs("admin"))
async def start_demo(request: Request) -> Response:
    """Start the demonstration."""
    if not caller_of(request).may("admin", "demo"):
        raise ProblemError(403, f"the token is for experiments named {caller_of(request).only} only")
    return see(path_of(await service_of(request).demo.start(signed(request, None))))


@router.get("/e/{name}", openapi_extra=needs("read"))
async def show(request: Request, name: str, x: str | None = None, y: str | None = None) -> Response:
    """Show one experiment; ``x`` and ``y`` are the objectives whose trade-off is drawn."""
    service = service_of(request)
    rendered = await to_thread.run_sync(service.pages, name)
    choice = await service.read(name, lambda experiment: _choice(experiment, x, y))
    parts = rendered.facts["parts"]
    if choice["pair"] != (0, 1):
        drawn = await service.read(name, lambda one: views.tradeoff_html(one.status(), *choice["pair"]))
        parts = {**parts, "tradeoff": drawn}
    shown = ("state", "paused", "empty", "title", "stamp", "more_arms")
    about: dict[str, Any] = {key: rendered.facts[key] for key in shown}
    about["address"] = f"{request.url.scheme}://{request.headers['host']}"
    about["api"] = f"/api/v1/experiments/{quote(name, safe='')}"
    about["sample"], about["on_items"] = await service.read(name, lambda one: (_sample(one), _is_on_items(one)))
    about["segment"] = await service.read(name, lambda one: one.settings.part)
    about["closed"] = about["state"] == "closed"
    marks = [one["mark"] for one in rendered.facts["happened"]]
    export = f"/api/v1/experiments/{quote(name, safe='')}/assignments"
    facts = {"name": name, "path": path_of(name), "export": export, "parts": parts, "marks": marks}
    return page(request, "experiment.html", **facts, **about, **choice)


def _is_on_items(experiment: Experiment) -> bool:
    """Whether an assignment says what its variant is to be measured on."""
    design = experiment.problem.design
    return design is not None and design.kind != "rounds"


def _sample(experiment: Experiment) -> dict[str, float]:
    """Return something that could be measured, for an example."""
    found: dict[str, float] = {}
    for metric in experiment.problem.metrics:
        for column, (low, high) in zip(metric.columns, ranges_of(metric.family), strict=True):
            found.setdefault(column, 1 if low <= 1 <= high else high)
    return found


def _choice(experiment: Experiment, x: str | None, y: str | None) -> dict[str, Any]:
    """Return the objectives to choose from, and the two that are chosen: the first two unless others are named."""
    names = list(experiment.problem.objective_names)
    pair = (names.index(x) if x in names else 0, names.index(y) if y in names else min(1, len(names) - 1))
    if pair[0] == pair[1]:
        pair = (pair[0], (pair[0] + 1) % len(names))
    return {"objectives": names, "pair": pair}


@router.get("/e/{name}/numbers", openapi_extra=needs("read"))
async def numbers(request: Request, name: str, skip: int = 0) -> Response:
    """Show all numbers of some arms after the other."""
    status = await service_of(request).read(name, lambda experiment: experiment.status())
    total = len(status.verdict.problem.arms)
    first = min(max(skip, 0), max(total - 1, 0))
    arms = range(first, min(first + ARMS_ON_A_PAGE, total))
    facts: dict[str, Any] = {
        "first": first,
        "last": arms.stop,
        "total": total,
        "table": views.numbers_html(status, arms),
    }
    earlier = max(first - ARMS_ON_A_PAGE, 0) if first else None
    later = arms.stop if arms.stop < total else None
    return page(request, "numbers.html", name=name, path=path_of(name), earlier=earlier, later=later, **facts)


@router.get("/e/{name}/trade-off", openapi_extra=needs("read"))
async def tradeoff(request: Request, name: str, x: str | None = None, y: str | None = None) -> Response:
    """Return the trade-off of two objectives, for the script of the page."""

    def look(experiment: Experiment) -> str:
        return views.tradeoff_html(experiment.status(), *_choice(experiment, x, y)["pair"])

    return Response(await service_of(request).read(name, look), media_type="text/html; charset=utf-8")


@router.get("/e/{name}/stream", openapi_extra=needs("read"))
async def stream(request: Request, name: str) -> Response:
    """Send the parts of the page whenever they change, at most twice a second."""
    last = request.headers.get("last-event-id") or request.query_params.get("after")
    updates = await service_of(request).page_streams.open(name, last, go_on(request, name))
    return StreamingResponse(updates, media_type="text/event-stream", headers=SSE_HEADERS)


@router.get("/e/{name}/report.html", openapi_extra=needs("read"))
async def report(request: Request, name: str) -> Response:
    """Return the report of an experiment, to be kept."""

    def look(experiment: Experiment) -> str:
        return views.report_html(experiment.status(), experiment.series())

    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}.html"}
    return Response(await service_of(request).read(name, look), headers=headers, media_type="text/html; charset=utf-8")
