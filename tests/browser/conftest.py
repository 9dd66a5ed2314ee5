"""A browser, and pages in it that must load nothing from elsewhere and complain about nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from tests.browser.site import fill
from tests.service.serving import Client, running

from mobai.service.service import Service
from mobai.store.sql import SqlJournal

# As root there is no sandbox; the rest keeps Chromium from calling home.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

Visit = Callable[..., Any]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        assert "CI" not in os.environ, "install chromium"
        pytest.skip("there is no Chromium; install it with your package manager")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Service]]:
    """A service that nobody changes."""
    address = f"sqlite:///{tmp_path_factory.mktemp('site') / 'site.db'}"
    fill(SqlJournal(address, create=True))
    with running(address) as found:
        yield found


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Client, Service]]:
    """A service of one's own, which is empty."""
    with running(f"sqlite:///{tmp_path / 'own.db'}") as found:
        yield found


@pytest.fixture
def visit(browser: Browser) -> Visit:
    """Opens pages; when one is left, it must have loaded nothing from elsewhere, and complained about nothing."""

    @contextmanager
    def opened(
        address: str, *, scheme: str = "light", width: int = 1280, scripts: bool = True, expected: tuple[str, ...] = ()
    ) -> Iterator[Page]:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
            java_script_enabled=scripts,
            reduced_motion="reduce",
        )
        page, home, wrong = context.new_page(), urlsplit(address).netloc, []
        page.on("request", lambda one: wrong.append(one.url) if urlsplit(one.url).netloc not in (home, "") else None)
        page.on("console", lambda one: wrong.append(one.text) if one.type in ("error", "warning") else None)
        page.on("pageerror", lambda one: wrong.append(str(one)))
        try:
            page.goto(address)
            yield page
            assert [one for one in wrong if not any(words in one for words in expected)] == []
        finally:
            context.close()

    return opened
