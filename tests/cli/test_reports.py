"""``mobai reproduce`` and ``mobai audit``."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import mobai


def test_reproduce_lists_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = mobai(capsys, "reproduce", "--list")
    assert code == 0
    assert "Table 3: SNW at practical delta" in out


def test_reproduce_one_part_quickly(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = mobai(capsys, "reproduce", "readings", "--quick", "--out", str(tmp_path))
    assert (code, out.strip()) == (0, str(tmp_path / "quick" / "report.html"))


def test_audit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, out, _ = mobai(capsys, "audit", "--quick", "--only", "peeked", "--out", str(tmp_path))
    assert code == 0
    assert "peeked test (control)" in out
    assert "1 of 1 lines are as claimed" in out
    assert "Every claim holds" in (tmp_path / "report.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [(("--only", "nothing"), "only: no case contains 'nothing'"), (("-j", "0"), "--jobs must be a number of workers")],
)
def test_bad_audits(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str) -> None:
    code, _, err = mobai(capsys, "audit", *words)
    assert code == 2
    assert message in err


def test_audit_that_fails_has_an_exit_code(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A control that is claimed to be valid is reported as broken."""
    from mobai.cli import audit
    from mobai.research.audit.cases import all_cases

    cases = [case._replace(valid=True) for case in all_cases(0.05) if case.stopping.name == "peeked test"]
    monkeypatch.setattr(audit, "all_cases", lambda scale: cases)
    code, out, _ = mobai(capsys, "audit")
    assert code == 1
    assert "BROKEN" in out
    assert "0 of 1 lines are as claimed" in out
