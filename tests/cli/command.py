"""Runs the command line in this process."""

from __future__ import annotations

import pytest

from mobai.cli import main


def mobai(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ending:
        main(words)
    captured = capsys.readouterr()
    return int(ending.value.code or 0), captured.out, captured.err
