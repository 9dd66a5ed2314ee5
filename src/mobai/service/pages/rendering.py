"""Templates, and the few files that pages load."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from fastapi import Response

from mobai import views


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("mobai.service.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    made.filters["code"] = _with_code
    return made


def _with_code(text: str) -> Any:
    """Return a text as HTML, what stands between backticks as code."""
    from markupsafe import Markup, escape

    parts = [str(escape(part)) for part in text.split("`")]
    return Markup("".join(f"<code>{part}</code>" if n % 2 else part for n, part in enumerate(parts)))


def page(template: str, code: int = 200, **facts: Any) -> Response:
    """Return a page."""
    text = _environment().get_template(template).render(**facts)
    return Response(text, code, media_type="text/html; charset=utf-8")


@lru_cache(maxsize=16)
def static_file(name: str) -> bytes:
    """Return a file that pages load; the style sheet begins with that of the charts."""
    found = (files("mobai.service.pages") / "static" / name).read_bytes()
    return views.chart_style().encode() + found if name == "style.css" else found
