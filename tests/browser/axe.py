"""Accessibility, as axe-core checks it."""

from __future__ import annotations

from importlib.resources import files

from playwright.sync_api import Page

_SOURCE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Page) -> list[str]:
    """Return what axe finds wrong with a page: the rule, and where."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_SOURCE)  # as a debugger does: the policy of contents allows no other script
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"][:3]]


def overflow(page: Page) -> float:
    """Return by how many pixels a page is wider than the window."""
    return float(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
