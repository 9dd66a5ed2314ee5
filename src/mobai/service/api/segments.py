"""Experiments in segments: begin one, and look at all of its segments together."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from mobai.errors import NotFoundError
from mobai.live.experiment import Experiment
from mobai.live.part import Part
from mobai.live.segments import SEPARATOR, SegmentedStatus, Segments, segmented_status
from mobai.live.settings import is_own_rule
from mobai.live.status import Status
from mobai.service.api.common import PROBLEMS, ScopedRoute, answer, caller_of, needs, service_of, signed
from mobai.service.models import NewSegments
from mobai.service.problems import ProblemError
from mobai.service.service import Service
from mobai.service.tokens import Caller

router = APIRouter(route_class=ScopedRoute, responses=PROBLEMS)


@router.post("/segments", openapi_extra=needs("admin"), status_code=201, summary="Begin an experiment in segments")
async def create(request: Request, body: NewSegments) -> Response:
    """Begin an experiment in every segment, `NAME@SEGMENT`, all under one delta; 409 if there are any of that name."""
    service, caller = service_of(request), caller_of(request)
    for name in (body.name, *(f"{body.name}{SEPARATOR}{segment}" for segment in body.segments)):
        if not caller.may("admin", name):
            raise ProblemError(403, f"the token is for experiments named {caller.only} only")
    given = body.model_copy(update={"by": signed(request, body.by)})
    names = await service.write(lambda: _create(service, given))
    return answer(
        {"name": body.name, "experiments": names}, 201, Location=f"/api/v1/segments/{quote(body.name, safe='')}"
    )


def _create(service: Service, body: NewSegments) -> list[str]:
    given = body.model_dump(exclude_none=True)
    if is_own_rule(body.rule):
        raise ProblemError(422, "only rules that come with mobai can be named here")
    made = Segments.create(service.experiments.journal, **given)
    for experiment in made.values():
        service.experiments.add(experiment)
    return [experiment.name for experiment in made.values()]


@router.get("/segments/{name}", openapi_extra=needs("read"), summary="Where segments stand")
async def status(request: Request, name: str) -> Response:
    """Return who is best in every segment, and over all where shares are stated."""
    found = await look_at(service_of(request), caller_of(request), name)
    return answer(found.json())


async def look_at(service: Service, caller: Caller, name: str) -> SegmentedStatus:
    """Return the status of all segments of an experiment."""
    names = await to_thread.run_sync(service.experiments.names)
    first = next((one for one in names if one.startswith(f"{name}{SEPARATOR}")), None)
    part: Part | None = None if first is None else await service.read(first, _part_of)
    if (
        part is None
        or part.of != name
        or not all(caller.may("read", f"{name}{SEPARATOR}{one}") for one in part.segments)
    ):
        raise NotFoundError("name", f"there is no experiment {name!r} in segments")
    found: dict[str, Status] = {}
    for segment in part.segments:
        found[segment] = await service.read(f"{name}{SEPARATOR}{segment}", _status_of)
    return segmented_status(name, part.delta, found, part.shares)


def _part_of(experiment: Experiment) -> Part | None:
    return experiment.settings.part


def _status_of(experiment: Experiment) -> Any:
    return experiment.status()
