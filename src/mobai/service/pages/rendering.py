"""Templates, and the few files that pages load."""

from __future__ import annotations

import gzip
import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import Any

from fastapi import Request, Response

from mobai import views
from mobai.service.access import COOKIE
from mobai.service.tokens import Caller

STATIC = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "plots.js": "text/javascript; charset=utf-8",
    "forms.js": "text/javascript; charset=utf-8",
    "uPlot.iife.min.js": "text/javascript; charset=utf-8",
    "uPlot.min.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("mobai.service.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["code"] = _with_code
    made.globals["static"] = static_address
    return made


def _with_code(text: str) -> Any:
    """Return a text as HTML, what stands between backticks as code."""
    from markupsafe import Markup, escape

    parts = [str(escape(part)) for part in text.split("`")]
    return Markup("".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts)))


def page(request: Request, template: str, code: int = 200, **facts: Any) -> Response:
    """Return a page. Templates know who looks at it."""
    text = _environment().get_template(template).render(**facts, viewer=Viewer(request))
    return Response(text, code, media_type="text/html; charset=utf-8")


class Viewer:
    """Who looks at a page, and what they may do."""

    def __init__(self, request: Request) -> None:
        self._caller: Caller | None = request.scope.get("caller")
        self._read_only: bool = request.app.state.service.read_only
        self.logged_in = COOKIE in request.cookies and self._caller is not None
        self.path = request.url.path

    def may(self, scope: str, name: str | None = None) -> bool:
        """Whether they may do what needs a scope, with an experiment of this name."""
        changes = scope != "read" and self._read_only
        return self._caller is not None and not changes and self._caller.may(scope, name)

    @property
    def may_everything(self) -> bool:
        """Whether they administer the whole service."""
        return self.may("admin") and self._caller is not None and self._caller.only == "*"


@lru_cache(maxsize=16)
def static_file(name: str) -> bytes:
    """Return a file that pages load; the style sheet begins with that of the charts."""
    found = (files("mobai.service.pages") / "static" / name).read_bytes()
    return views.chart_style().encode() + found if name == "style.css" else found


@lru_cache(maxsize=16)
def compressed_file(name: str) -> bytes:
    """Return a file that pages load, compressed."""
    return gzip.compress(static_file(name), mtime=0)


@lru_cache(maxsize=1)
def _edition() -> str:
    return hashlib.sha256(b"".join(static_file(name) for name in STATIC)).hexdigest()[:12]


def static_address(name: str) -> str:
    """Return where a file is; the address changes with what is in all of them, so that browsers may keep them."""
    return f"/static/{_edition()}/{name}"
