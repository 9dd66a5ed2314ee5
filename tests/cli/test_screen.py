from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from mobai import Policy, Session
from mobai.cli import screen
from mobai.lab.instances import ads
from mobai.lab.trial import run_trial


@pytest.mark.parametrize(("share", "picture"), [(0, ""), (1, "████"), (0.5, "██"), (0.3, "█▎"), (7, "████"), (-1, "")])
def test_bar(share: float, picture: str) -> None:
    assert screen.bar(share, width=4).plain == picture


def test_watch_draws_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = io.StringIO()
    monkeypatch.setattr(screen, "err", Console(file=paper, force_terminal=True, width=100))
    with screen.EvidenceScreen("top-two", 0.05) as watch:
        run_trial(ads(), Policy(), 0.05, max_pulls=400, watch=_always(watch))
    drawn = paper.getvalue()
    for word in ("top-two: pull 400", "clicks", "share of pulls", "quiz", "%"):
        assert word in drawn


def _always(watch: screen.EvidenceScreen) -> Callable[[Session], None]:
    """Draw after every pull, not ten times a second."""

    def draw(session: Session) -> None:
        watch._next = 0.0
        watch(session)

    return draw


def test_watch_is_silent_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = io.StringIO()
    monkeypatch.setattr(screen, "err", Console(file=paper))
    with screen.EvidenceScreen("top-two", 0.05) as watch:
        run_trial(ads(), Policy(), 0.05, max_pulls=50, watch=watch)
    assert "clicks" not in paper.getvalue()
