"""Pages of experiments: the list, and one experiment, which follows what happens where scripts may run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import APIRouter, Request, Response
from starlette.responses import RedirectResponse

from mobai import views
from mobai.errors import NotFoundError
from mobai.live.experiment import Experiment
from mobai.service.access import ScopedRoute, needs
from mobai.service.api.common import caller_of, service_of
from mobai.service.pages.rendering import page
from mobai.service.problems import RefusedError


class PageRoute(ScopedRoute):
    """A page: whoever is not logged in is led to where one can."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that refuses in the way of pages."""
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handler(request)
            except RefusedError as error:
                if error.code == 401:
                    return RedirectResponse("/login", 303)
                return page("problem.html", error.code, detail=error.detail)
            except NotFoundError:
                return page("problem.html", 404, detail="There is no experiment of this name.")

        return shown


router = APIRouter(route_class=PageRoute, include_in_schema=False)

_MOST_LISTED = 200


@router.get("/", openapi_extra=needs("read"))
async def index(request: Request) -> Response:
    """Show all experiments that the caller may see, the newest first."""
    service, caller = service_of(request), caller_of(request)

    def look() -> list[dict[str, Any]]:
        names = [name for name in service.experiments.names() if caller.may("read", name)]
        return [service.experiments.read(name, _line) for name in reversed(names[-_MOST_LISTED:])]

    return page("index.html", rows=await to_thread.run_sync(look))


def _line(experiment: Experiment) -> dict[str, Any]:
    status = experiment.status()
    return {**views.status_summary(status), "headline": views.headline(status), "path": _path(status.name)}


@router.get("/e/{name}", openapi_extra=needs("read"))
async def show(request: Request, name: str, part: bool = False) -> Response:
    """Show one experiment; with ``part``, only what changes, for the script of the page."""
    facts = await service_of(request).read(name, _facts)
    return page("experiment-part.html" if part else "experiment.html", **facts)


def _facts(experiment: Experiment) -> dict[str, Any]:
    status, series = experiment.status(), experiment.series()
    problem = status.verdict.problem
    pairs = zip(problem.objective_names, status.verdict.decisions, strict=True)
    decided = {name for name, decision in pairs if decision is not None}
    return {
        "name": status.name,
        "path": _path(status.name),
        "stream": f"/api/v1/experiments/{quote(status.name, safe='')}/stream",
        "export": f"/api/v1/experiments/{quote(status.name, safe='')}/assignments",
        "headline": views.headline(status),
        "line": views.status_line(status),
        "remarks": views.status_remarks(status),
        "forests": [views.forest(status, m) for m in range(len(problem.metrics))],
        "evidence": views.evidence_chart(series, decided),
        "allocation": views.allocation_chart(series),
        "limits": views.comparison_tables(status.verdict, status.pulls, status.differences),
        "caption": views.intervals_caption(status.verdict, status.intervals),
        "head": status.head,
    }


def _path(name: str) -> str:
    return f"/e/{quote(name, safe='')}"
