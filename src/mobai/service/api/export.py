"""What an experiment has recorded: the journal in pages, assignments as files that are streamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from mobai import views
from mobai.live import codec
from mobai.live.experiment import Experiment
from mobai.service.answers import EventsOut
from mobai.service.api.common import PROBLEMS, ScopedRoute, answer, needs, service_of

router = APIRouter(route_class=ScopedRoute, responses=PROBLEMS)

_ROWS_AT_A_TIME = 2_000


@router.get("/experiments/{name}/events", openapi_extra=needs("read"), response_model=EventsOut, summary="The journal")
async def events(
    request: Request,
    name: str,
    after: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=5_000)] = 1_000,
) -> Response:
    """Return events after a number. Each has its hash, which covers the one before."""
    found = await service_of(request).read(name, lambda experiment: experiment.events(after, limit))
    return answer({"events": [codec.event_json(event) for event in found]})


@router.get("/experiments/{name}/assignments.csv", openapi_extra=needs("read"), summary="Assignments as CSV")
async def as_csv(request: Request, name: str, raw: bool = False) -> Response:
    """Return every assignment with what was told of it; no text can be taken for a formula, unless it is `raw`."""

    def parts(rows: Iterator[dict[str, Any]], columns: list[str]) -> Iterator[str]:
        yield views.csv_text([], columns, raw=raw)
        while part := list(islice(rows, _ROWS_AT_A_TIME)):
            yield views.csv_text(part, columns, raw=raw, header=False)

    return await _streamed(request, name, parts, "text/csv; charset=utf-8")


@router.get("/experiments/{name}/assignments.jsonl", openapi_extra=needs("read"), summary="Assignments as JSON lines")
async def as_json_lines(request: Request, name: str) -> Response:
    """Return every assignment with what was told of it, a JSON object per line."""

    def parts(rows: Iterator[dict[str, Any]], columns: list[str]) -> Iterator[str]:  # noqa: ARG001
        while part := list(islice(rows, _ROWS_AT_A_TIME)):
            yield views.json_lines(part)

    return await _streamed(request, name, parts, "application/jsonl")


@router.get("/experiments/{name}/assignments.parquet", openapi_extra=needs("read"), summary="Assignments as Parquet")
async def as_parquet(request: Request, name: str) -> Response:
    """Return every assignment with what was told of it."""

    def make(experiment: Experiment) -> bytes:
        from mobai.rows import parquet_bytes

        return parquet_bytes(experiment.iterate_records(), _columns(experiment))

    found = await service_of(request).read(name, make)
    return Response(found, media_type="application/vnd.apache.parquet")


def _columns(experiment: Experiment) -> list[str]:
    unit = ["unit"] if experiment.has_units else []
    places = ["index", "item"] if experiment.problem.design is not None else []
    return ["id", *unit, "arm", "status", "asked_at", *places, *experiment.problem.recorded]


async def _streamed(
    request: Request, name: str, parts: Callable[[Iterator[dict[str, Any]], list[str]], Iterator[str]], kind: str
) -> Response:
    def begin(experiment: Experiment) -> Iterator[str]:
        return parts(experiment.iterate_records(), _columns(experiment))

    return StreamingResponse(await service_of(request).read(name, begin), media_type=kind)
