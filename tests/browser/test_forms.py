"""Forms: they say what they do, show what is wrong where it is wrong, lose nothing, and need no mouse and no script."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.axe import overflow, violations
from tests.browser.conftest import Visit
from tests.service.serving import Client, running

from mobai import Experiment
from mobai.service.service import Service
from mobai.service.tokens import create_token, list_tokens
from mobai.store.sql import SqlJournal


def fill_in(page: Page, **fields: str) -> None:
    for name, text in fields.items():
        field = page.locator(f"[id='{name.replace('__', '-')}']")
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(text)
        else:
            field.fill(text)


@pytest.mark.parametrize("scripts", [True, False])
def test_a_new_experiment(visit: Visit, served: tuple[Client, Service], scripts: bool) -> None:
    client, _ = served
    refused = ("422", "409")
    with visit(f"{client.address}/new", scripts=scripts, expected=refused) as page:
        fill_in(page, arms="A\nB\n  C  \n\n", metric__0__name="signup", delta="x")
        page.get_by_role("button", name="Create", exact=True).click()
        # Wrong fields say so; what was typed is still there.
        assert page.get_by_role("alert").count() == 1
        assert page.locator("#error-name").inner_text() == "A name is needed."
        assert page.locator("#error-delta").inner_text().startswith("Must be a number, with a point")
        assert "Error probability: Must be a number" in page.get_by_role("alert").inner_text()
        assert page.locator("#delta").get_attribute("aria-describedby") == "error-delta hint-delta"
        assert page.locator("#arms").input_value().split() == ["A", "B", "C"]
        assert page.locator("#metric-0-name").input_value() == "signup"
        if scripts:
            assert violations(page) == []
        page.get_by_role("button", name="One more metric").click()
        fill_in(page, name="spring", delta="0.1", metric__1__name="rating", metric__1__kind="bounded")
        fill_in(page, metric__1__low="1", metric__1__high="5", metric__1__eps="9")
        page.get_by_role("button", name="Create", exact=True).click()
        assert "eps must be a number" in page.locator("#error-metric-1-eps").inner_text()
        page.get_by_role("button", name="One more metric").click()
        fill_in(page, metric__1__eps="0.1", metric__2__name="errors", metric__2__role="at-most")
        fill_in(page, metric__2__limit="0.02", metric__2__eps="0.01")
        page.get_by_role("button", name="Create", exact=True).click()
        page.wait_for_url("**/e/spring")
    test = Experiment.load(client.address, "spring")
    assert [str(one) for one in test.problem.objectives] == ["signup:bernoulli", "rating:bounded=1.0..5.0:eps=0.1"]
    assert [str(one) for one in test.problem.guardrails] == ["errors:bernoulli:at-most=0.02:eps=0.01"]
    assert test.problem.arms == ("A", "B", "C")
    assert test.verdict().delta == 0.1


def test_the_plan_follows_what_is_typed(visit: Visit, served: tuple[Client, Service]) -> None:
    client, _ = served
    with visit(f"{client.address}/new") as page:
        plan = page.locator("#plan")
        fill_in(page, arms="A\nB\nC", metric__0__name="signup")
        expect(plan).to_contain_text("Say what you expect of every metric")
        fill_in(page, metric__0__usual="0.1", metric__0__difference="0.05")
        expect(plan).to_contain_text("samples")
        first = _samples(plan.inner_text())
        fill_in(page, metric__0__difference="0.02")
        expect(plan).not_to_contain_text(f"about {first:,} samples")
        second = _samples(plan.inner_text())
        assert 4 < second / first < 8  # about as the square of the difference
        fill_in(page, metric__0__difference="0.95")
        expect(plan).to_contain_text("below 1")
        assert violations(page) == []
        # Nothing was sent that creates anything.
        assert client("GET", "/api/v1/experiments").json["total"] == 0
        page.once("dialog", lambda one: one.accept())  # something was typed
        page.goto(client.address)


def _samples(text: str) -> int:
    return int(text.partition("about ")[2].partition(" ")[0].replace(",", ""))


def test_a_name_that_is_taken(visit: Visit, served: tuple[Client, Service]) -> None:
    client, _ = served
    client.create()
    with visit(f"{client.address}/new", expected=("409",)) as page:
        fill_in(page, name="spring", arms="A\nB", metric__0__name="click")
        page.locator("#name").press("Enter")  # which presses Create
        assert "already" in page.locator("#error-name").inner_text()
        assert page.locator("#arms").input_value().split() == ["A", "B"]


@pytest.mark.parametrize("scripts", [True, False])
def test_actions(visit: Visit, served: tuple[Client, Service], scripts: bool) -> None:
    client, _ = served
    client.create(arms=["A", "B", "C"])

    def act(page: Page, link: str, button: str, **fields: str) -> None:
        page.locator(".actions").get_by_role("link", name=link).click()
        form = page.locator("dialog form" if scripts else "#action")
        form.wait_for()
        assert "guarantee" in form.inner_text() or "error probability" in form.inner_text()
        fill_in(page, **fields)
        form.get_by_role("button", name=button, exact=True).click()

    with visit(f"{client.address}/e/spring", scripts=scripts, expected=("409",)) as page:
        if scripts:
            page.get_by_role("link", name="Pause").click()
            page.locator("dialog[open]").wait_for()
            assert violations(page) == []
            page.keyboard.press("Escape")
            assert page.locator("dialog[open]").count() == 0
        act(page, "Pause", "Pause")
        expect(page.locator("#state")).to_have_text("paused")
        assert page.get_by_role("link", name="Pause").count() == 0
        act(page, "Resume", "Resume")
        expect(page.locator("#state")).to_have_text("running")
        act(page, "Add an arm", "Add", arm="A")
        assert "already" in page.locator("#error-arm").inner_text()
        assert page.locator("#arm").input_value() == "A"
        fill_in(page, arm="D")
        page.locator("#action").get_by_role("button", name="Add").click()
        act(page, "Retire an arm", "Retire", arm="B")
        expect(page.locator("[data-part=timeline]")).to_contain_text("B retired")
        act(page, "Close", "Close for good")
        expect(page.locator("#state")).to_have_text("closed")
        assert page.locator(".actions .button").filter(visible=True).count() == 0
    test = Experiment.load(client.address, "spring")
    assert [event.kind for event in test.history()] == [
        "created", "paused", "resumed", "arm_added", "arm_retired", "closed"
    ]  # fmt: skip


def test_the_first_token_keeps_who_makes_it_logged_in(visit: Visit, served: tuple[Client, Service]) -> None:
    client, service = served
    with visit(f"{client.address}/settings", expected=("422",)) as page:
        fill_in(page, name="ci", scope="tell", expires="soon")
        page.get_by_role("button", name="Create the token").click()
        assert "90d" in page.locator("#error-expires").inner_text()
        assert page.locator("#scope").input_value() == "tell"
        fill_in(page, expires="30d")
        page.get_by_role("button", name="Create the token").click()
        secret = page.locator("#secret").inner_text()
        assert violations(page) == []
        assert Client(client.port, secret)("GET", "/api/v1/experiments").code == 200
        assert client("GET", "/api/v1/experiments").code == 401
        page.goto(f"{client.address}/settings")
        assert page.get_by_role("heading", name="Tokens").count() == 1
        assert secret not in page.content()
        page.set_viewport_size({"width": 360, "height": 900})
        assert overflow(page) <= 0
        page.locator("summary", has_text="Revoke").first.click()
        page.get_by_role("button", name="Revoke ci").click()
        assert "revoked" in page.locator("main").inner_text()
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/login")
    found = [one["kind"] for one in list_tokens(service.experiments.journal)]
    assert found == ["revoked"]


def test_webhooks(visit: Visit, tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}", private_webhooks=True) as (client, service):
        with visit(f"{client.address}/settings", expected=("422", "409")) as page:
            fill_in(page, webhook__name="alerts", url="ftp://example.org")
            page.get_by_label("decided").check()
            page.get_by_role("button", name="Add the webhook").click()
            assert page.locator("#error-url").count() == 1
            assert page.get_by_label("decided").is_checked()
            fill_in(page, url=f"http://127.0.0.1:{client.port}/nowhere")
            page.get_by_label("private").check()
            page.get_by_role("button", name="Add the webhook").click()
            assert page.locator("#secret").inner_text().startswith("whsec_")
            page.get_by_role("button", name="Test alerts").click()
            assert page.get_by_role("status").inner_text().startswith("alerts: it did not arrive")
            assert violations(page) == []
            page.get_by_role("button", name="Remove alerts").click()
            assert page.get_by_role("button", name="Remove alerts").count() == 0
        assert service.webhooks.list() == []


def test_by_keyboard_from_login_to_close(visit: Visit, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    secret = create_token(SqlJournal(address, create=True), "root", "admin")
    with running(address) as (client, _), visit(client.address) as page:

        def reach(selector: str) -> None:
            for _ in range(80):
                page.keyboard.press("Tab")
                if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                    return
            raise AssertionError(f"{selector} cannot be reached")

        reach("#token")
        page.keyboard.type(secret)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{client.address}/")
        reach("a[href='/new']")
        page.keyboard.press("Enter")
        page.wait_for_url("**/new")
        reach("#name")
        page.keyboard.type("keys")
        reach("#arms")
        page.keyboard.type("A")
        page.keyboard.press("Enter")
        page.keyboard.type("B")
        reach("#metric-0-name")
        page.keyboard.type("click")
        page.keyboard.press("Enter")
        page.wait_for_url("**/e/keys")
        reach("a[href$='/do/close']")
        page.keyboard.press("Enter")
        page.locator("dialog[open]").wait_for()
        assert page.evaluate("document.activeElement.textContent") == "Close for good"
        page.keyboard.press("Enter")
        expect(page.locator("#state")).to_have_text("closed")
    last = Experiment.load(address, "keys").history()[-1]
    assert last.kind == "closed"
    assert last.body["by"].startswith("root (browser")
