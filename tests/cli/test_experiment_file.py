"""Experiments as code."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.cli.command import mobai

from mobai import Experiment, InputError
from mobai.live.experiment_file import EXAMPLE, FIELDS, experiment_toml, read_experiment
from mobai.service.models import NewExperiment
from mobai.store.journal import MemoryJournal


def test_the_fields_are_those_of_the_http_body() -> None:
    # Segments say themselves which part each of them is.
    assert set(FIELDS) | {"by", "part"} == set(NewExperiment.model_fields)


def test_the_example_is_created_and_written_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = mobai(capsys, "create", "--example")
    assert (code, out) == (0, EXAMPLE)
    file, storage = tmp_path / "landing.toml", ("--storage", f"sqlite:///{tmp_path / 'x.db'}")
    file.write_text(EXAMPLE)
    code, out, err = mobai(capsys, "create", str(file), "--check", *storage)
    assert code == 0
    assert "would create landing page: 3 arms, 2 objectives, delta = 0.05; nothing is made" in out + err
    assert not (tmp_path / "x.db").exists()
    code, *_ = mobai(capsys, "create", str(file), "--delta", "1%", *storage)
    assert code == 0
    code, out, _ = mobai(capsys, "show", "landing page", "--toml", *storage)
    again = tomllib.loads(out)
    assert again["delta"] == 0.01  # the command line comes before the file
    assert again["arms"] == ["plain", "bold", "story"]
    file.write_text(out)
    made = Experiment.load(f"sqlite:///{tmp_path / 'x.db'}", "landing page").settings
    stated = read_experiment(file)
    name = stated.pop("name")
    twin = Experiment.create(MemoryJournal(), name, stated.pop("arms"), stated.pop("objectives"), **stated)
    assert experiment_toml(name, twin.settings) == experiment_toml(name, made) == out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("arms = [", "is not a file in TOML"),
        ('name = "x"', "lacks the field 'arms'"),
        ('name = "x"\narms = 5\nobjectives = ["c:bernoulli"]', "arms must be a list of texts, not 5"),
        ('name = 5\narms = ["A"]\nobjectives = []', "name must be a text, not 5"),
        ('name = "x"\narms = ["A"]\nobjectives = []\nfocus = "no"', "focus must be true or false, not 'no'"),
        ('name = "x"\narms = ["A"]\nobjectives = []\nsd = true', "sd must be a number or a table"),
        ('name = "x"\ndelat = 0.1', "there is no field 'delat'; did you mean 'delta'"),
    ],
)
def test_a_file_that_cannot_be_one(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(InputError, match=said):
        read_experiment(tmp_path / "x.toml")


def test_help_is_in_groups(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = mobai(capsys, "--help")
    titles = [line.rstrip(":") for line in out.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles[-5:] == ["Start here", "Run an experiment", "Look after it", "Serve", "Research"]


def test_the_command_line_comes_before_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, storage = tmp_path / "x.toml", f"sqlite:///{tmp_path / 'x.db'}"
    file.write_text('name = "x"\narms = ["A", "B"]\nobjectives = ["c:bernoulli"]\nfocus = true\n')
    words = ("--arm", "X,Y,Z", "--metric", "q:gaussian=1", "--no-focus", "--storage", storage)
    assert mobai(capsys, "create", str(file), *words)[0] == 0
    settings = Experiment.load(storage, "x").settings
    assert (settings.problem.arms, settings.focus) == (("X", "Y", "Z"), False)
    assert settings.problem.objective_names == ("q",)


def test_a_log_is_read_with_the_noise_of_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, log, storage = tmp_path / "x.toml", tmp_path / "log.csv", f"sqlite:///{tmp_path / 'x.db'}"
    file.write_text('name = "x"\narms = ["A", "B"]\nobjectives = ["c"]\nsd = 2.0\n')
    log.write_text("arm,c\nA,1\nB,2\n")
    assert mobai(capsys, "create", str(file), "--from", str(log), "--storage", storage)[0] == 0
    assert Experiment.load(storage, "x").verdict().pulls == 2
