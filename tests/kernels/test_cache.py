"""The compiled cache: one directory per version of the kernels, and what happens where none can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import mobai

PROBE = """
from typing import NamedTuple
from mobai.kernels.jit.compiled import entry
from mobai.kernels.programs.dense import Vector, add_up

class Pair(NamedTuple):
    first: Vector
    second: Vector

@entry
def probe(pair):
    return add_up(pair.first) + add_up(pair.second)
"""
SCRIPT = """
import numpy
from mobai.kernels import probe
arguments = {name}(numpy.ones(3), numpy.ones(1))
print(probe.probe(arguments), *probe.probe.stats.cache_hits)
"""


def run(folder: Path, name: str = "probe.Pair", cache: str = "cache") -> tuple[float, bool, str]:
    """Call the probe in a fresh interpreter: its answer, whether it came from the cache, and what was said."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / cache)}
    script = SCRIPT.format(name=name)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    answer, *hits = done.stdout.split(maxsplit=1)
    return float(answer), bool(hits), done.stderr


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package with one more kernel."""
    shutil.copytree(Path(mobai.__file__).parent, tmp_path / "mobai", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "mobai" / "kernels" / "probe.py").write_text(PROBE)
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_change_in_another_file_is_noticed(package: Path) -> None:
    assert run(package) == (4.0, False, "")
    assert run(package) == (4.0, True, "")
    edit(package / "mobai" / "kernels" / "programs" / "dense.py", "result += vector[i]", "result += 2 * vector[i]")
    assert run(package) == (8.0, False, "")


def test_a_renamed_class_breaks_no_warm_cache(package: Path) -> None:
    assert run(package) == (4.0, False, "")
    edit(package / "mobai" / "kernels" / "probe.py", "class Pair", "class Couple")
    assert run(package, "probe.Couple") == (4.0, False, "")
    assert run(package, "probe.Couple") == (4.0, True, "")


def test_old_versions_are_forgotten(package: Path) -> None:
    for n in range(5):
        (package / "mobai" / "kernels" / "probe.py").write_text(f"{PROBE}\nVERSION = {n}\n")
        run(package)
    assert len(list((package / "cache").glob("mobai-*"))) == 4


def test_where_nothing_can_be_written(package: Path) -> None:
    """It runs without a cache, and says once what to set."""
    (package / "file").touch()
    answer, cached, said = run(package, cache="file/below")
    assert (answer, cached) == (4.0, False)
    assert said.count("cannot be written; set NUMBA_CACHE_DIR to a directory that can") == 1


COMMAND = """
import click, numpy
@click.command()
def command():
    from mobai.kernels import probe
    click.echo(probe.probe(probe.Pair(numpy.ones(3), numpy.ones(1))))
"""


def test_the_command_line_says_it_in_a_line(package: Path) -> None:
    (package / "file").touch()
    (package / "mobai" / "cli" / "warm.py").write_text(COMMAND)
    environment = {**os.environ, "PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(package / "file" / "below")}
    command = [sys.executable, "-c", "from mobai.cli import main; main()", "warm"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "4.0\n"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1
    assert lines[0].startswith("mobai: kernels are compiled again in every process: ")
