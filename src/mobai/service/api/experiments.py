"""Experiments: list, create, look at, administer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Annotated, Any
from urllib.parse import quote

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse

from mobai.errors import ConflictError, NotFoundError, StorageError
from mobai.live import codec, operations
from mobai.live.experiment import Experiment
from mobai.live.operations import Operation
from mobai.live.settings import is_own_rule, new_settings, to_body
from mobai.problem.codec import STATED, stated_problem
from mobai.service.access import identify
from mobai.service.answers import PageOut, StatusOut
from mobai.service.api.common import PROBLEMS, ScopedRoute, answer, caller_of, needs, service_of, signed
from mobai.service.models import Closing, NewArm, NewExperiment, Who
from mobai.service.problems import ProblemError
from mobai.service.service import Service

router = APIRouter(route_class=ScopedRoute, responses=PROBLEMS)

_PAGE = 100
SSE_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@router.get("/experiments", openapi_extra=needs("read"), response_model=PageOut, summary="List experiments")
async def list_experiments(
    request: Request,
    skip: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = _PAGE,
    only: Annotated[str | None, Query(description="`names` for nothing but names", pattern="^names$")] = None,
) -> Response:
    """Return the experiments that the token may see, in the order of their creation."""
    service, caller = service_of(request), caller_of(request)
    names = [name for name in await to_thread.run_sync(service.experiments.names) if caller.may("read", name)]
    page = names[skip : skip + limit]
    more = len(names) > skip + limit
    if only == "names":
        return answer({"names": page, "total": len(names), "more": more})
    rows = await to_thread.run_sync(lambda: [_line(service, name) for name in page])
    return answer({"experiments": rows, "total": len(names), "more": more})


def _line(service: Service, name: str) -> dict[str, Any]:
    """Return an experiment in a few facts; one that cannot be read does not hide the others."""
    try:
        return service.summaries(name).facts
    except (StorageError, ValueError):
        nothing = dict.fromkeys(("arms", "objectives", "decided", "pulls", "pending", "warnings"), 0)
        return {
            "name": name,
            "state": "unreadable",
            **nothing,
            "certified": False,
            "last_report_at": None,
            "created_at": "",
        }


@router.post("/experiments", openapi_extra=needs("admin"), status_code=201, summary="Begin an experiment")
async def create(request: Request, body: NewExperiment) -> Response:
    """Begin an experiment: 201; 200 if there is the same one already, 409 if there is another one of that name."""
    service, caller = service_of(request), caller_of(request)
    if not caller.may("admin", body.name):
        raise ProblemError(403, f"the token is for experiments named {caller.only} only")
    given = body.model_copy(update={"by": signed(request, body.by)})
    code = await service.write(lambda: _create(service, given))
    return answer({"name": body.name}, code, Location=f"/api/v1/experiments/{quote(body.name, safe='')}")


def _create(service: Service, body: NewExperiment) -> int:
    given = body.model_dump(exclude_none=True)
    if is_own_rule(body.rule):
        raise ProblemError(422, "rule: only rules that come with mobai can be named over HTTP")
    try:
        there = service.experiments.read(body.name, lambda experiment: to_body(experiment.settings))
    except NotFoundError:
        service.experiments.add(Experiment.create(service.experiments.journal, **given))
        return 201
    for key in ("name", "by"):
        given.pop(key, None)
    stated = {key: given.pop(key) for key in STATED if key in given}
    if to_body(new_settings(stated_problem(**stated), **given)) != there:
        raise ConflictError("name", f"there is an experiment {body.name!r} already")
    return 200


@router.get(
    "/experiments/{name}", openapi_extra=needs("read"), response_model=StatusOut, summary="Where an experiment stands"
)
async def status(request: Request, name: str) -> Response:
    """Return the status: verdict, evidence, counts, means, intervals, warnings. `ETag` changes when it does."""
    rendered = await to_thread.run_sync(service_of(request).statuses, name)
    tag = f'"{rendered.stamp}"'
    known = request.headers.get("if-none-match", "")
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if tag in (one.strip().removeprefix("W/") for one in known.split(",")) or known.strip() == "*":
        return Response(None, 304, headers=headers)
    return Response(rendered.data, headers=headers, media_type="application/json")


@router.get("/experiments/{name}/settings", openapi_extra=needs("read"), summary="What it was set up with")
async def settings(request: Request, name: str) -> Response:
    """Return the settings, and the number of the experiment, which no other one in the storage has or had."""

    def look(experiment: Experiment) -> dict[str, Any]:
        about = {"name": name, "number": experiment.number, "history": experiment.history_id}
        return {**about, "settings": to_body(experiment.settings)}

    return answer(await service_of(request).read(name, look))


@router.get("/experiments/{name}/series", openapi_extra=needs("read"), summary="How it went")
async def series(request: Request, name: str) -> Response:
    """Return some hundred points of evidence, counts, means and intervals, over pulls and time."""
    found = await service_of(request).read(name, lambda experiment: codec.series_json(experiment.series()))
    return answer(found)


@router.get("/experiments/{name}/explain", openapi_extra=needs("read"), summary="Why this arm, why not stopped")
async def explain(
    request: Request,
    name: str,
    skip: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=0, le=5_000)] = 1_000,
) -> Response:
    """Return the pairs that hold it up, and what the rule would ask for next and why.

    Pairs come in pages, the ones that hold most up first; `total` says how many there are.
    """
    found = await service_of(request).read(name, lambda experiment: experiment.explain())
    part = replace(found, pairs=found.pairs[skip : skip + limit])
    return answer({**codec.explanation_json(part), "total": len(found.pairs)})


@router.get("/experiments/{name}/stream", openapi_extra=needs("read"), summary="Follow an experiment")
async def stream(request: Request, name: str) -> Response:
    """Send the status as server-sent events whenever it changes, at most twice a second.

    `id` is the number of the last event; `Last-Event-ID` goes on from there. The last event is `bye`, with a word.
    """
    last = request.headers.get("last-event-id")
    updates = await service_of(request).streams.open(name, last, go_on(request, name))
    return StreamingResponse(updates, media_type="text/event-stream", headers=SSE_HEADERS)


def go_on(request: Request, name: str) -> Callable[[], Awaitable[bool]]:
    """Return what says whether whoever follows a stream still may."""

    async def may_go_on() -> bool:
        try:
            return (await identify(request)).may("read", name)
        except ProblemError:
            return False
        except Exception:  # the storage is away: the stream waits with it
            return True

    return may_go_on


@router.delete("/experiments/{name}", openapi_extra=needs("admin"), summary="Remove an experiment")
async def delete(request: Request, name: str) -> Response:
    """Remove an experiment with all its events. There is no way back."""
    service = service_of(request)

    def remove() -> None:
        service.experiments.journal.delete(name)
        service.experiments.note(name, NotFoundError(name))
        service.forget(name)

    await service.write(remove)
    return Response(None, 204)


def _by(body: Who | None) -> str | None:
    return None if body is None else body.by


async def _change(request: Request, name: str, operation: Operation[None]) -> Response:
    await service_of(request).do(name, operation)
    return Response(None, 204)


@router.post("/experiments/{name}/pause", openapi_extra=needs("admin"), status_code=204, summary="Pause")
async def pause(request: Request, name: str, body: Who | None = None) -> Response:
    """Hand out nothing until it is resumed; answers are still taken."""
    return await _change(request, name, operations.pause(by=signed(request, _by(body))))


@router.post("/experiments/{name}/resume", openapi_extra=needs("admin"), status_code=204, summary="Resume")
async def resume(request: Request, name: str, body: Who | None = None) -> Response:
    """Hand out assignments again."""
    return await _change(request, name, operations.resume(by=signed(request, _by(body))))


@router.post("/experiments/{name}/close", openapi_extra=needs("admin"), status_code=204, summary="Close")
async def close(request: Request, name: str, body: Closing | None = None) -> Response:
    """End the experiment; it can be read, not changed. Objectives that are open may end `as_equal`, in a tie."""
    equal = False if body is None else body.as_equal
    return await _change(request, name, operations.close(as_equal=equal, by=signed(request, _by(body))))


@router.post("/experiments/{name}/arms", openapi_extra=needs("admin"), status_code=204, summary="Add an arm")
async def add_arm(request: Request, name: str, body: NewArm) -> Response:
    """Add an arm; every objective is undecided again until the leader has been separated from it."""
    return await _change(request, name, operations.add_arm(body.arm, body.sd, by=signed(request, body.by)))


@router.delete("/experiments/{name}/arms/{arm}", openapi_extra=needs("admin"), status_code=204, summary="Retire an arm")
async def retire_arm(request: Request, name: str, arm: str, by: str | None = None) -> Response:
    """Stop asking for an arm and look for the best of the others; decisions for other arms stand."""
    return await _change(request, name, operations.retire_arm(arm, by=signed(request, by)))
