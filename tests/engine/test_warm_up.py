"""What is said while kernels are compiled."""

from __future__ import annotations

import sys

import pytest

from mobai.engine import warm_up


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("cold", [True, False])
def test_whoever_watches_or_reads_the_log_is_told_once(
    terminal: bool, cold: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    warm_up.announce_compiling.cache_clear()
    monkeypatch.setattr(warm_up, "kernels_are_cold", lambda: cold)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    warm_up.announce_compiling()
    warm_up.announce_compiling()
    said = capsys.readouterr().err
    warm_up.announce_compiling.cache_clear()
    assert said.count("mobai: compiling, once on this machine") == cold
