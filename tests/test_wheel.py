"""The wheel has everything that is needed at run time, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

SCRIPT = """
import mobai, pathlib, sys
from mobai import views
from mobai.lab.instances import snw
from mobai.service.pages.rendering import STATIC, _environment, static_file
assert str(pathlib.Path(mobai.__file__)).startswith(sys.argv[1]), mobai.__file__
assert snw().shape == (206, 2)
assert "prefers-color-scheme" in views.chart_style()
assert all(static_file(name) for name in STATIC)
assert len([_environment().get_template(name) for name in _environment().list_templates()]) >= 10
"""


def test_the_wheel_works_by_itself(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("mobai-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "there")
    assert not [name for name in names if name.startswith(("tests", "docs", "examples", "benchmarks"))]
    tracked = subprocess.run(["git", "ls-files", "src/mobai"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {name.removeprefix("src/") for name in tracked.stdout.split()} == {n for n in names if "dist-info" not in n}
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "there")}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "there")]
    subprocess.run(command, cwd=tmp_path, check=True, env=environment)
    (about,) = (tmp_path / "there").glob("*.dist-info/METADATA")
    assert "Requires-Python: >=3.11" in about.read_text(encoding="utf-8")
