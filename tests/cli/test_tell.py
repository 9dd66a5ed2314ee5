"""`mobai tell`: files of reports, and what is given twice."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner
from tests.live.rounds import new

from mobai import Experiment
from mobai.cli.main import group


def test_reports_in_a_json_array(tmp_path: Path) -> None:
    storage = ["--storage", f"sqlite:///{tmp_path / 'a.db'}"]
    new(tmp_path / "a.db").ask(2)
    file = tmp_path / "reports.json"
    file.write_text('[{"id": 1, "click": 1}, {"id": 2, "click": 0}]')
    result = CliRunner().invoke(group, ["tell", "test", "--file", str(file), *storage])
    assert result.exit_code == 0
    assert Experiment.load(tmp_path / "a.db", "test").status().pending == 0
    for text in ("[]", "", "id,click\n"):
        file.write_text(text)
        result = CliRunner().invoke(group, ["tell", "test", "--file", str(file), *storage])
        assert str(result.exception).endswith((" has no rows", ": the table is empty"))
    file.write_text('[{"id": 1, "latency": NaN}]')
    result = CliRunner().invoke(group, ["tell", "test", "--file", str(file), *storage])
    assert "NaN is not valid JSON; null says that a value will not come" in str(result.exception)
    result = CliRunner().invoke(group, ["tell", "test", "1", "latency=1_000", *storage])
    assert str(result.exception) == "latency must be a number, not '1_000'"
    result = CliRunner().invoke(group, ["tell", "test", "1", "click=1", "click=0", *storage])
    assert str(result.exception) == "click is given twice"
