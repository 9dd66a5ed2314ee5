"""Every page, in every state and scheme, wide and narrow, with scripts and without."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page
from tests.browser.axe import overflow, violations
from tests.browser.conftest import Visit
from tests.browser.site import NAMES
from tests.service.serving import Client

from mobai import Experiment
from mobai.service.service import Service

EXPERIMENTS = [f"/e/{quote(name, safe='')}" for name in NAMES]
READING = ["/e/running/explain", "/e/nothing%20yet/explain", "/e/running/journal", "/e/running/journal?before=20"]
ACTIONS = [f"/e/running/do/{word}" for word in ("pause", "close", "add-arm", "retire-arm")]
OTHERS = ["/", "/new", "/settings", "/login", "/docs", "/e/no-such-name", "/segments/by%20age"]
PAGES = [*EXPERIMENTS, *READING, *ACTIONS, *OTHERS]


def wrong_labels(page: Page) -> list[str]:
    """Return the texts of charts that lie over each other."""
    found: list[str] = page.evaluate(
        """() => {
          const wrong = [];
          for (const svg of document.querySelectorAll("svg")) {
            const all = [...svg.querySelectorAll("text")];
            const texts = all.map((one) => [one.textContent, one.getBoundingClientRect()]);
            texts.forEach(([a, p], n) => texts.slice(n + 1).forEach(([b, q]) => {
              const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
              const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
              if (p.width > 0 && wide > 1 && high > 3) wrong.push(`${a} over ${b}`);
            }));
          }
          return wrong;
        }"""
    )
    return found


@pytest.mark.parametrize("path", PAGES)
def test_accessible(path: str, visit: Visit, filled: tuple[Client, Service]) -> None:
    client, _ = filled
    missing = ("404",) if "no-such" in path else ()
    with visit(client.address + path, expected=missing) as page:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            assert violations(page) == []
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 900})
            assert overflow(page) <= 0
            assert wrong_labels(page) == []


@pytest.mark.parametrize("path", PAGES)
def test_without_scripts(path: str, visit: Visit, filled: tuple[Client, Service]) -> None:
    client, _ = filled
    missing = ("404",) if "no-such" in path else ()
    with visit(client.address + path, scripts=False, expected=missing) as page:
        assert page.locator("h1").count() == 1
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 900})
            box = page.locator("main").bounding_box()
            assert box is not None
            assert box["width"] <= width
        if path in EXPERIMENTS:
            assert page.locator("[data-part=headline] p").inner_text() != ""
            assert page.locator("svg.lines").count() >= (0 if "nothing" in path else 2)
            # What a script would draw is there as a picture.
            assert page.locator(".plot").count() == 0


def test_charts_with_scripts_have_a_cursor_and_zoom(visit: Visit, filled: tuple[Client, Service]) -> None:
    client, _ = filled
    with visit(f"{client.address}/e/decided") as page:
        charts = page.locator(".plot canvas")
        assert charts.count() == 2
        page.locator("[data-part=evidence] .u-over").scroll_into_view_if_needed()
        box = page.locator("[data-part=evidence] .u-over").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        legend = page.locator("[data-part=evidence] .u-legend")
        legend.get_by_text("%").first.wait_for()
        assert legend.inner_text().startswith("samples")
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - 10, box["y"] + box["height"] / 2)
        page.mouse.up()
        assert page.locator(".axis-choice input").count() == 2
        page.get_by_label("time", exact=True).check()
        assert charts.count() == 2


def test_a_trade_off_can_be_chosen(visit: Visit, filled: tuple[Client, Service]) -> None:
    client, _ = filled
    with visit(f"{client.address}/e/decided") as page:
        assert page.locator(".tradeoff figcaption").inner_text() == "cost against clicks"
        page.get_by_label("up", exact=True).select_option("dwell")
        page.locator(".tradeoff figcaption", has_text="dwell against clicks").wait_for()
    with visit(f"{client.address}/e/decided", scripts=False) as page:
        page.get_by_label("across", exact=True).select_option("dwell")
        page.get_by_role("button", name="Show").click()
        assert page.locator(".tradeoff figcaption").inner_text() == "cost against dwell"


def test_report_opens_from_disk(visit: Visit, filled: tuple[Client, Service], tmp_path: Path) -> None:
    client, _ = filled
    for name in ("running", "nothing%20yet"):
        report = client("GET", f"/e/{name}/report.html")
        assert report.headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}.html"
        file = tmp_path / "report.html"
        file.write_bytes(report.data)
        for scheme in ("light", "dark"):
            with visit(file.as_uri(), scheme=scheme) as page:
                assert violations(page) == []
                page.set_viewport_size({"width": 360, "height": 900})
                assert overflow(page) <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("theme", ["true", "false"])
def test_readable_in_a_notebook_of_any_theme(
    visit: Visit, filled: tuple[Client, Service], tmp_path: Path, scheme: str, theme: str
) -> None:
    """The notebook's own rules for tables and pictures are there, and its theme need not be that of the system."""
    client, _ = filled
    shown = Experiment.load(client.address, "running")._repr_html_()
    paper, stripe = ("#fff", "#f5f5f5") if theme == "true" else ("#111", "#222")
    host = f"tbody tr:nth-child(odd) {{ background: {stripe} }} td {{ max-width: 20px }} svg {{ max-width: 100% }}"
    style = f"<style>body {{ background: {paper} }} .host {host}</style>"
    file = tmp_path / "notebook.html"
    file.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>x</title>{style}</head>'
        f'<body data-jp-theme-light="{theme}"><main class="host"><h1 hidden>x</h1>{shown}</main></body></html>',
        encoding="utf-8",
    )
    with visit(file.as_uri(), scheme=scheme) as page:
        assert [one for one in violations(page) if one.startswith("color-contrast")] == []
        dark = page.locator(".mobai").evaluate("one => getComputedStyle(one).backgroundColor") == "rgb(18, 22, 27)"
        assert dark == (theme == "false")
