"""The style sheet that charts are made for. All of it is confined to what is inside of an element ``.mobai``."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from pathlib import Path


@lru_cache(maxsize=1)
def chart_style() -> str:
    """Return the style sheet."""
    return Path(__file__).with_name("charts.css").read_text(encoding="utf-8")


def wide(table: str, title: str) -> str:
    """Return a table that can be scrolled sideways, with the keyboard, too."""
    return f'<div class="wide" tabindex="0" role="group" aria-label="{escape(title)}">{table}</div>'


def framed(html: str) -> str:
    """Return a piece of HTML with its style sheet, for a page of somebody else's: a notebook."""
    return f'<div class="mobai framed"><style>{chart_style()}</style>{html}</div>'
