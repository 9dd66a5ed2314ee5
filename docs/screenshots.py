"""Take pictures of every page, light and dark, into docs/images: ``make images``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from tests.browser.conftest import FLAGS
from tests.service.serving import running

from mobai import Experiment
from mobai.lab.environment import Environment
from mobai.lab.instances import guarded_ads
from mobai.store.journal import Journal

IMAGES = Path(__file__).with_name("images")
# The page, and how high a picture of it is.
PAGES = {
    "experiments": ("/", 760),
    "experiment": ("/e/adverts", 1480),
    "experiment-charts": ("/e/adverts#course", 1500),
    "explain": ("/e/adverts/explain", 900),
    "journal": ("/e/adverts/journal", 700),
    "new": ("/new", 1180),
    "settings": ("/settings", 1150),
    "login": ("/login", 420),
}
FORM = {
    "name": "landing page",
    "arms": "plain\nbold\nstory",
    "metric-0-name": "signup",
    "metric-0-usual": "0.10",
    "metric-0-difference": "0.03",
}


def run(test: Experiment, samples: int, seed: int) -> None:
    """Let simulated visitors answer."""
    instance = guarded_ads()
    world, names = Environment(instance, seed), test.problem.metric_names
    for _ in range(0, samples, 4):
        rows = [(one, world.pull(instance.arms.index(one.arm)).tolist()) for one in test.ask(4)]
        test.tell_all([(one, dict(zip(names, values, strict=False))) for one, values in rows])


def fill(journal: Journal) -> None:
    """Make some experiments to look at."""
    instance = guarded_ads()
    about = {"sd": instance.problem.sd, "guardrails": instance.problem.guardrails}
    done = Experiment.create(journal, "spring", instance.arms, instance.objectives, **about)  # type: ignore[arg-type]
    run(done, 6000, seed=1)
    waiting = Experiment.create(
        journal, "prompts", ["short", "long"], ["score:bounded=0..1", "seconds:min:unknown-variance"]
    )
    for one in waiting.ask(60):
        waiting.tell(one, {"score": 0.5 + 0.01 * (one.id % 9), "seconds": 2.0 + 0.1 * (one.id % 7)})
    waiting.pause()
    test = Experiment.create(journal, "adverts", instance.arms, instance.objectives, **about)  # type: ignore[arg-type]
    run(test, 1900, seed=2)


def main() -> None:
    """Take all pictures."""
    IMAGES.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        running(f"sqlite:///{Path(folder) / 'x.db'}") as (client, service),
        sync_playwright() as playwright,
    ):
        fill(service.experiments.journal)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for scheme in ("light", "dark"):
            for name, (path, height) in PAGES.items():
                size = {"width": 1280, "height": height}
                page = browser.new_page(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
                page.goto(client.address + path)
                if name == "new":
                    for field, text in FORM.items():
                        page.locator(f"[id='{field}']").fill(text)
                page.wait_for_timeout(1200)
                page.screenshot(path=IMAGES / f"{name}-{scheme}.png")
                page.close()
        browser.close()


if __name__ == "__main__":
    main()
