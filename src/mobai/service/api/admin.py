"""Health, counts, webhooks: what operators look at."""

from __future__ import annotations

import asyncio
from typing import Any

from anyio import to_thread
from fastapi import APIRouter, Request, Response

from mobai.errors import FileReplacedError
from mobai.service.api.common import OPEN, PROBLEMS, ScopedRoute, answer, caller_of, needs, service_of
from mobai.service.models import NewWebhook
from mobai.service.problems import ProblemError, busy
from mobai.service.webhooks import Webhooks
from mobai.version import __version__

health = APIRouter(route_class=ScopedRoute)
router = APIRouter(route_class=ScopedRoute, responses=PROBLEMS)

_SECONDS_TO_BE_READY = 5.0


@health.get("/healthz", openapi_extra=needs(OPEN), summary="Alive?")
async def alive() -> Response:
    """Return 200 as long as the process answers."""
    return answer({"status": "alive"})


@health.get("/readyz", openapi_extra=needs(OPEN), summary="Ready?", responses={503: PROBLEMS[503]})
async def ready(request: Request) -> Response:
    """Return 200 if the storage can be read and written, 503 if not, or not within some seconds."""
    service = service_of(request)
    try:
        async with asyncio.timeout(_SECONDS_TO_BE_READY):
            await service.probe()
    except FileReplacedError:
        raise
    except Exception:
        raise busy("the storage does not answer, or cannot be written") from None
    return answer({"status": "ready"})


@health.get("/version", openapi_extra=needs(OPEN), summary="Which version?")
async def version() -> Response:
    """Return the version of mobai."""
    return answer({"mobai": __version__})


@health.get("/metrics", openapi_extra=needs("read"), summary="Counts for Prometheus", responses=PROBLEMS)
async def metrics(request: Request) -> Response:
    """Return counts and times in the text format of Prometheus, by route."""
    service = service_of(request)
    return Response(service.metrics.text(service.writer.waiting), media_type="text/plain; version=0.0.4")


@router.get("/storage/damage", openapi_extra=needs("read"), summary="What the database finds wrong with itself")
async def damage(request: Request) -> Response:
    """Return what the database's own check finds; nothing is a good answer."""
    return answer({"damage": await service_of(request).damage()})


def _webhooks(request: Request) -> Webhooks:
    """Return the webhooks, which speak of all experiments, to whom all experiments may be shown."""
    if caller_of(request).only != "*":
        raise ProblemError(403, "webhooks need a token that is not limited to some names")
    return service_of(request).webhooks


@router.get("/webhooks", openapi_extra=needs("admin"), summary="List webhooks")
async def list_webhooks(request: Request) -> Response:
    """Return where what happens is sent to, and how the last attempts went."""
    found: list[dict[str, Any]] = await to_thread.run_sync(_webhooks(request).list)
    return answer({"webhooks": found})


@router.post("/webhooks", openapi_extra=needs("admin"), status_code=201, summary="Add a webhook")
async def add_webhook(request: Request, body: NewWebhook) -> Response:
    """Send what happens to an address from now on. The secret that signs it is shown once."""
    webhooks = _webhooks(request)
    if body.private and not webhooks.allow_private:
        raise ProblemError(422, "private: this service sends nothing to private addresses (--private-webhooks)")
    secret = await service_of(request).write(lambda: webhooks.add(**body.model_dump()))
    return answer({"name": body.name, "secret": secret}, 201)


@router.delete("/webhooks/{webhook}", openapi_extra=needs("admin"), status_code=204, summary="Remove a webhook")
async def remove_webhook(request: Request, webhook: str) -> Response:
    """Send nothing more there."""
    webhooks = _webhooks(request)
    await service_of(request).write(lambda: webhooks.remove(webhook))
    return Response(None, 204)


@router.post("/webhooks/{webhook}/test", openapi_extra=needs("admin"), summary="Try a webhook")
async def try_webhook(request: Request, webhook: str) -> Response:
    """Send a message of the kind `test` now, and return how that went."""
    webhooks = _webhooks(request)
    return answer(await service_of(request).send(lambda: webhooks.try_out(webhook)))
