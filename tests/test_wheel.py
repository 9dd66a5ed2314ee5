"""The wheel has everything that is needed at run time, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

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


def build(folder: Path, **variables: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, **variables})
    (wheel,) = folder.glob("mobai-*.whl")
    return wheel


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def test_the_wheel_works_by_itself(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "there")
    assert not [name for name in names if name.startswith(("tests", "docs", "examples", "benchmarks"))]
    tracked = subprocess.run(["git", "ls-files", "src/mobai"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {name.removeprefix("src/") for name in tracked.stdout.split()} == {n for n in names if "dist-info" not in n}
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "there")}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "there")]
    subprocess.run(command, cwd=tmp_path, check=True, env=environment)
    assert metadata(wheel)["Requires-Python"] == ">=3.11"


def test_links_as_a_package_index_shows_them(tmp_path: Path) -> None:
    """Absolute, at the version's tag, and to files that are there; without an address, none at all."""
    home = "https://git.example.org/mobai"
    about = metadata(build(tmp_path / "with", MOBAI_HOME=home + "/"))
    tag = f"v{about['Version']}"
    named = dict(line.split(", ") for line in about.get_all("Project-URL", []))
    assert named == {
        "Homepage": home,
        "Documentation": f"{home}/blob/{tag}/docs/index.md",
        "Changelog": f"{home}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{home}/issues",
    }
    targets = re.findall(r"\]\(([^)]*)\)", str(about.get_payload()))
    assert len(targets) == len(re.findall(r"\]\(", (ROOT / "README.md").read_text(encoding="utf-8"))) > 15
    for target in targets:
        kind, path = target.removeprefix(f"{home}/").split(f"/{tag}/")
        assert kind == ("raw" if path.endswith(".png") else "blob")
        assert (ROOT / path).is_file()
    for bad in ("not a url", "https://e.org/a)b", "git@example.org:x/y.git", "https://a/b\nEvil: yes"):
        with pytest.raises(subprocess.CalledProcessError) as refused:
            build(tmp_path / "bad", MOBAI_HOME=bad)
        assert b"MOBAI_HOME must be the https address of the repository" in refused.value.stderr
    bare = metadata(build(tmp_path / "without", MOBAI_HOME=""))
    assert bare.get_all("Project-URL") is None
    assert "](" not in str(bare.get_payload())
    assert bare["Description-Content-Type"] == about["Description-Content-Type"] == "text/markdown"
