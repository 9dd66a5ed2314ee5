"""The examples run, as they stand."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.service.serving import running

from mobai import Experiment
from mobai.service.tokens import create_token

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(*words: str, token: str | None = None) -> str:
    # One thread per process: several tests run at once.
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = {**os.environ, **threads, **({} if token is None else {"MOBAI_TOKEN": token})}
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=environment, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_the_worker_in_python(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        said = run(sys.executable, str(EXAMPLES / "worker.py"), client.address)
        test = Experiment.load(client.address, "landing page")
        assert test.verdict().stopped
        assert test.status().pending == 0
    assert "landing page: decided" in said


def test_the_worker_in_shell(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        assert "CI" not in os.environ, "install curl"
        pytest.skip("curl is not installed (apt-get install curl)")
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, service):
        token = create_token(service.experiments.journal, "worker", "admin")
        said = run("sh", str(EXAMPLES / "worker.sh"), client.address, "sorting", token=token)
        assert "decided; see" in said
        test = Experiment.load(client.address, "sorting", token=token)
        assert test.verdict().answers == ("quick",)
        assert test.status().pending == 0
        refused = subprocess.run(
            ["sh", str(EXAMPLES / "worker.sh"), client.address, "sorting"], capture_output=True, text=True, check=False
        )
        assert refused.returncode != 0
        assert "a token is needed" in refused.stderr


def test_the_worker_in_javascript(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        assert "CI" not in os.environ, "install nodejs"
        pytest.skip("node is not installed (apt-get install nodejs)")
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        said = run(node, str(EXAMPLES / "worker.mjs"), client.address)
        assert said.splitlines() == ["click: orange", "signup: orange"]
        assert Experiment.load(client.address, "buttons").verdict().certified


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("models", "accuracy      5 neighbours, within 0.01 of the best  decided"),
        ("scores", "words: decided"),
        ("prompts", "You may stop. Best for score: careful; best for seconds: brief, which beats every other"),
        ("commands", "Best for seconds: formula"),
        ("evaluation", "{'match': 'mockllm/large'} after"),
        ("agent", "{'right': 'careful'} after"),
        ("search", "out {'C': 0.1, 'gamma': 0.0001}"),
        ("servers", "servers: 4 of 4 answers decided, delta = 0.05 for all of them"),
        ("landing_pages", "no longer asked for, because of a broken limit: video"),
        ("logged", "basket        pick-up        decided at pull"),
        ("own_rule", "epsilon-leaders  mixture"),
        ("own_family", "rating: Daybreak (decided"),
        ("cluster", "uniform      mixture"),
    ],
)
def test_scripts(script: str, said: str) -> None:
    assert said in run(sys.executable, str(EXAMPLES / f"{script}.py"))


def test_tests_of_speed() -> None:
    assert "2 passed" in run(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / "test_speed.py")
    )


def test_compressors(tmp_path: Path) -> None:
    files = tmp_path / "files.txt"
    files.write_text("\n".join(map(str, sorted(EXAMPLES.glob("*.py")))))
    metrics = ("size:min:bounded=0..1", "time:min:wins", "memory:min:wins")
    words = ("--arm", "zlib-1,lzma-6", *(word for metric in metrics for word in ("--metric", metric)))
    storage = ("--storage", f"sqlite:///{tmp_path / 'x.db'}", "--max-pulls", "8", "--json")
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    command = [sys.executable, "-m", "mobai", "run", "--items", str(files), "--sampler", "examples.compressors:measure"]
    done = subprocess.run(
        [*command, *words, *storage], capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert json.loads(done.stdout)["made"] == 8, done.stderr


def test_every_example_is_in_the_gallery() -> None:
    gallery = (EXAMPLES.parent / "docs" / "examples.md").read_text()
    for script in EXAMPLES.glob("*.*"):
        assert f"examples/{script.name}" in gallery
