"""A page that is open follows what happens, tells it to those who listen, and survives the service."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page
from tests.browser.axe import violations
from tests.browser.conftest import Visit
from tests.browser.site import tell_some
from tests.service.serving import Client, Process, running

from mobai import Experiment
from mobai.service.service import Service
from mobai.store.sql import SqlJournal


def begun(client: Client) -> Experiment:
    test = Experiment.create(client.address, "spring", ["A", "B", "C"], ["clicks:gaussian=1", "cost:min:gaussian=1"])
    tell_some(test, 20)
    return test


def until(page: Page, condition: Callable[[], bool], seconds: float = 10.0) -> float:
    """Wait until something is so; return how long that took, in seconds."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() < start + seconds
        page.wait_for_timeout(20)
    return time.monotonic() - start


def said(page: Page) -> str:
    return page.locator("#word").inner_text()


def test_a_decision_is_announced_within_a_second(visit: Visit, served: tuple[Client, Service]) -> None:
    client, _ = served
    test = begun(client)
    with visit(f"{client.address}/e/spring") as page:
        assert page.locator("#word").get_attribute("role") == "status"
        assert page.locator("#word").inner_text() == ""
        until(page, lambda: page.locator(".plot canvas").count() == 2)
        details = page.locator("[data-part=evidence] details")
        details.locator("summary").click()
        page.locator("[data-part=evidence] summary").focus()
        before = page.locator("[data-part=facts]").inner_text()
        time.sleep(0.6)  # an update is sent at most twice a second
        tell_some(test, 10)
        assert until(page, lambda: page.locator("[data-part=facts]").inner_text() != before) < 1.0
        tell_some(test, 200)
        assert test.verdict().stopped
        assert until(page, lambda: "every objective is decided" in said(page)) < 1.0
        assert "spring: clicks: decided for A" in page.locator("#word").inner_text()
        assert page.title() == "2 of 2 decided - spring"
        assert page.locator("#state").inner_text() == "decided"
        # What was unfolded stays so, and the focus is where it was.
        assert details.evaluate("one => one.open") is True
        assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
        assert page.locator(".plot canvas").count() == 2
        assert violations(page) == []


def test_hidden_tabs_cost_nothing(visit: Visit, served: tuple[Client, Service]) -> None:
    client, service = served
    begun(client)
    hide = """hidden => {
      Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    with visit(f"{client.address}/e/spring") as page:
        until(page, lambda: service.metrics.streams == 1)
        page.evaluate(hide, True)
        until(page, lambda: service.metrics.streams == 0)
        page.evaluate(hide, False)
        until(page, lambda: service.metrics.streams == 1)
    assert service.metrics.streams <= 1


def test_a_service_that_went_away_and_came_back(visit: Visit, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = Experiment.create(address, "spring", ["A", "B"], ["clicks:gaussian=1"])
    tell_some(test, 10)
    service = Process(address)
    try:
        away = ("Failed to load", "net::ERR")
        with visit(f"http://127.0.0.1:{service.port}/e/spring", expected=away) as page:
            service.end()
            until(page, lambda: "does not answer" in said(page))
            tell_some(test, 100)
            service.start()
            until(page, lambda: page.locator("#state").inner_text() == "decided", 20)
            assert "does not answer" not in said(page)
    finally:
        service.end()


def test_who_is_logged_out_is_told(visit: Visit, tmp_path: Path) -> None:
    from mobai.service.tokens import create_token, revoke_token

    address = f"sqlite:///{tmp_path / 'x.db'}"
    journal = SqlJournal(address, create=True)
    secret = create_token(journal, "reader", "read")
    Experiment.create(address, "spring", ["A", "B"], ["clicks:gaussian=1"])
    with running(address) as (client, _), visit(client.address) as page:
        page.get_by_label("Token").fill(secret)
        page.keyboard.press("Enter")
        page.get_by_role("link", name="spring").click()
        assert page.locator(".actions a").all_inner_texts() == [
            "Why?",
            "Journal",
            "Report",
        ]  # who reads changes nothing
        assert page.get_by_role("link", name="Settings").count() == 0
        revoke_token(journal, "reader")
        until(page, lambda: "the token is no longer valid" in said(page), 15)


def test_the_demonstration_moves_within_ten_seconds(visit: Visit, served: tuple[Client, Service]) -> None:
    client, _ = served
    with visit(client.address) as page:
        assert "There is no experiment yet" in page.locator("main").inner_text()
        start = time.monotonic()
        page.get_by_role("button", name="Start the demonstration").click()
        page.wait_for_url("**/e/demo")
        until(page, lambda: page.locator(".plot canvas").count() == 2)
        seen: set[str] = set()
        while len(seen) < 4 and time.monotonic() < start + 10:
            seen.add(page.locator("[data-part=facts]").inner_text())
            page.wait_for_timeout(200)
        assert len(seen) == 4
        page.goto(client.address)
        assert "demo" in page.locator(".experiments").inner_text()
    test = Experiment.load(client.address, "demo")
    test.close()
