"""The process of the service: how it starts and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.service.serving import API, NEW, Client, Process, running


def test_ending_by_itself_says_nothing_bad(tmp_path: Path) -> None:
    service = Process(f"sqlite:///{tmp_path / 'x.db'}", "--access-log")
    client = Client(service.port)
    assert client("POST", API, NEW).code == 201
    said = service.end()
    assert service.child.returncode == 0
    assert "serving sqlite:///" in said
    assert "there is no token: whoever can run programs on this machine can do everything" in said
    assert "POST /api/v1/experiments 201" in said
    assert "Traceback" not in said


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        words = ["serve", "--storage", f"sqlite:///{tmp_path / 'x.db'}", "--port", str(client.port)]
        done = subprocess.run([sys.executable, "-m", "mobai", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "cannot be listened on: Address already in use" in done.stderr
