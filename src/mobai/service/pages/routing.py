"""Routes of pages: whoever is not logged in is led to where one can, and what is refused is said on a page."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.responses import RedirectResponse

from mobai.errors import FileReplacedError, InputError, NotFoundError, StorageError
from mobai.service.access import ScopedRoute
from mobai.service.pages.rendering import page
from mobai.service.problems import ProblemError, code_of


class PageRoute(ScopedRoute):
    """A page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that refuses in the way of pages."""
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handler(request)
            except ProblemError as error:
                if error.code == 401:
                    return _to_login(request)
                return page(request, "problem.html", error.code, detail=error.detail, retry=error.code == 503)
            except RequestValidationError:
                return page(request, "problem.html", 422, detail="The address has a value that is not accepted.")
            except NotFoundError:
                return page(request, "problem.html", 404, detail="There is no experiment of this name.")
            except InputError as error:
                return page(request, "problem.html", code_of(error), detail=sentence(str(error)))
            except StorageError as error:
                detail = request.app.state.service.without_address(str(error))
                lasting = isinstance(error, FileReplacedError)
                return page(request, "problem.html", 503, detail=sentence(detail), retry=not lasting)

        return shown


def _to_login(request: Request) -> Response:
    """Lead to the login, and from there back; a form that was sent is not thrown away."""
    if request.method == "GET":
        return RedirectResponse(f"/login?next={quote(request.url.path, safe='/%')}", 303)
    detail = (
        "You are no longer logged in. Log in in another tab, come back here with your browser's back button, and send "
        "the form again: what you typed is still there."
    )
    return page(request, "problem.html", 401, detail=detail)


def refuse_if_read_only(request: Request) -> None:
    """Refuse a form that could not be sent."""
    if request.app.state.service.read_only:
        raise ProblemError(403, "the service is read-only")


def page_router() -> APIRouter:
    """Return a router for pages."""
    return APIRouter(route_class=PageRoute, include_in_schema=False)


def sentence(text: str) -> str:
    """Return a message of the library as a sentence."""
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def path_of(name: str) -> str:
    """Return the path of an experiment's page."""
    return f"/e/{quote(name, safe='')}"


def see(path: str) -> Response:
    """Return an answer to a form: go and look at another page."""
    return RedirectResponse(path, 303)
