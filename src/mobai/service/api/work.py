"""Asking and telling: what workers call, again and again."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from mobai.live import operations
from mobai.live.assignments import Assignment
from mobai.live.operations import Operation
from mobai.live.units import Unit, UnitOfArm
from mobai.service.access import WorkRoute
from mobai.service.answers import AssignmentsOut, Dropped
from mobai.service.api.common import PROBLEMS, ScopedRoute, key_of, needs, service_of, signed, work
from mobai.service.models import Ask, DropOlder, ObservationsIn, Report, Reports, UnitAsk

router = APIRouter(route_class=WorkRoute, responses=PROBLEMS)
drops = APIRouter(route_class=ScopedRoute, responses=PROBLEMS)


async def _carry_out(request: Request, name: str, operation: Operation[list[Assignment]]) -> Response:
    whole = operations.and_whether_decided(operation)
    return work(*await service_of(request).do(name, whole, request.scope["body_size"]))


@router.post(
    "/experiments/{name}/assignments",
    openapi_extra=needs("tell"),
    response_model=AssignmentsOut,
    summary="Ask what is next",
)
async def ask(request: Request, name: str, body: Ask | None = None) -> Response:
    """Hand out assignments. With an `Idempotency-Key`, the same call again returns the same ones."""
    wanted = body or Ask()
    who, key = signed(request, wanted.by), key_of(request)
    return await _carry_out(request, name, operations.ask(wanted.n, if_decided=wanted.if_decided, key=key, by=who))


@router.put(
    "/experiments/{name}/units/{unit}",
    openapi_extra=needs("tell"),
    response_model=AssignmentsOut,
    summary="The assignment of a unit",
)
async def ask_for_unit(request: Request, name: str, unit: str, body: UnitAsk | None = None) -> Response:
    """Return the assignment of a unit (a visitor, a patient): 201 the first time, 200 with the same one ever after."""
    wanted = body or UnitAsk()
    asked = operations.ask(unit=unit, if_decided=wanted.if_decided, by=signed(request, wanted.by))
    whole = operations.and_whether_new(operations.and_whether_decided(asked))
    (found, stopped), new = await service_of(request).do(name, whole, request.scope["body_size"])
    return work(found, stopped, 201 if new else 200)


@router.post(
    "/experiments/{name}/reports",
    openapi_extra=needs("tell"),
    response_model=AssignmentsOut,
    summary="Tell what was measured",
)
async def report(request: Request, name: str, body: Reports) -> Response:
    """Take reports in, all or none, as one moment; hand out `ask` new assignments in the same transaction.

    The same report again changes nothing. With `ask`, an `Idempotency-Key` makes the call safe to repeat.
    """
    given = [(_named(one), one.metrics) for one in body.reports]
    key = key_of(request) if body.ask else None
    who = signed(request, body.by)
    told = operations.tell_all(given, ask=body.ask, if_decided=body.if_decided, key=key, by=who)
    return await _carry_out(request, name, told)


def _named(report: Report) -> Assignment | Unit | UnitOfArm | int | None:
    if report.unit is not None:
        return Unit(report.unit) if report.arm is None else UnitOfArm(report.unit, report.arm)
    if report.arm is not None and report.assignment is not None:
        return Assignment(report.assignment, report.arm)
    return report.assignment


@router.post(
    "/experiments/{name}/observations",
    openapi_extra=needs("tell"),
    response_model=AssignmentsOut,
    summary="Record what nobody asked for",
)
async def observe(request: Request, name: str, body: ObservationsIn) -> Response:
    """Take observations in that nobody asked for, all or none, as one moment.

    Sent twice they count twice, unless both have the same `Idempotency-Key`.
    """
    rows = [(one.arm, one.metrics) for one in body.observations]
    who, key = signed(request, body.by), key_of(request)
    return await _carry_out(request, name, operations.record_all(rows, key=key, by=who))


@drops.delete(
    "/experiments/{name}/assignments/{assignment}", openapi_extra=needs("tell"), status_code=204, summary="Drop"
)
async def drop(
    request: Request,
    name: str,
    assignment: int,
    arm: str | None = None,
    reason: str | None = None,
    refused: bool = False,
    by: str | None = None,
) -> Response:
    """Say that an assignment will not be answered; of one that was told in part, that the rest will not come.

    It counts as the worst there could be, unless `reason=lost` says that this has nothing to do with any result.
    """
    named: Any = assignment if arm is None else Assignment(assignment, arm)
    who = signed(request, by)
    await service_of(request).do(name, operations.drop(named, reason=reason, refused=refused, by=who))
    return Response(None, 204)


@drops.delete("/experiments/{name}/units/{unit}", openapi_extra=needs("tell"), status_code=204, summary="Drop a unit's")
async def drop_unit(
    request: Request,
    name: str,
    unit: str,
    reason: str | None = None,
    refused: bool = False,
    by: str | None = None,
) -> Response:
    """Say that the assignment of a unit will not be answered."""
    who = signed(request, by)
    await service_of(request).do(name, operations.drop(Unit(unit), reason=reason, refused=refused, by=who))
    return Response(None, 204)


@drops.post(
    "/experiments/{name}/assignments/drop",
    openapi_extra=needs("tell"),
    response_model=Dropped,
    summary="Drop what has waited long",
)
async def drop_older(request: Request, name: str, body: DropOlder) -> Dropped:
    """Say of all assignments that have waited for a number of seconds that they, or the rest of them, will not come."""
    operation = operations.drop_older(body.older_than, reason=body.reason, by=signed(request, body.by))
    return Dropped(dropped=await service_of(request).do(name, operation))
