"""The application: routes, refusals, and what wraps them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp

from mobai.service.api import admin, experiments, export, segments, work
from mobai.service.guard import Guard
from mobai.service.pages import actions, documentation, login, new, reading, settings
from mobai.service.pages import experiments as experiments_pages
from mobai.service.pages import segments as segments_pages
from mobai.service.pages.rendering import page
from mobai.service.pages.routing import sentence
from mobai.service.problems import HANDLERS
from mobai.service.service import Service
from mobai.version import __version__

_ABOUT = """Which arm is the best of every objective, and when may one stop? Ask for assignments, tell what was
measured, and look at the status at any time: with probability 1 - delta no decision is ever wrong.

Names in paths are percent-encoded. Refusals are `application/problem+json`, with JSON pointers into the body."""


def make_app(service: Service, *, hosts: Collection[str] = (), behind_proxy: bool = False) -> ASGIApp:
    """Return the ASGI application of a service; it answers to loopback names and these hosts.

    ``behind_proxy`` says that a proxy names the scheme and the sender of every request.
    """

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="mobai",
        version=__version__,
        description=_ABOUT,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        exception_handlers={kind: _as_page(handler) for kind, handler in HANDLERS.items()},
    )
    app.state.service = service
    for part in (work.router, work.drops, experiments.router, segments.router, export.router, admin.router):
        app.include_router(part, prefix="/api/v1")
    app.include_router(admin.health)
    for pages in (login, documentation, experiments_pages, segments_pages, actions, reading, new, settings):
        app.include_router(pages.router)
    _add_security(app)
    return Guard(app, hosts, service.metrics, behind_proxy)


def _as_page(answer: Callable[[Request, Exception], Awaitable[Response]]) -> Callable[[Request, Exception], Any]:
    """Return a handler that says to a person on a page what it says to a program as JSON."""

    async def answered(request: Request, error: Exception) -> Response:
        response = await answer(request, error)
        wants_page = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api")
        if not wants_page:
            return response
        detail = sentence(json.loads(bytes(response.body))["detail"])
        return page(request, "problem.html", response.status_code, detail=detail)

    return answered


def _add_security(app: FastAPI) -> None:
    """Let the OpenAPI document say how tokens are shown."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        parts = document.setdefault("components", {})
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        return document

    app.openapi = openapi  # type: ignore[method-assign]
