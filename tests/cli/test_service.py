"""Tokens and webhooks from the shell, and the whole command line against a service."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.command import mobai
from tests.service.serving import running


def test_tokens(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    storage = ("--storage", f"sqlite:///{tmp_path / 'x.db'}")
    words = ("token", "create", "ci", "--scope", "tell", "--only", "a*", "--expires", "2h")
    code, out, err = mobai(capsys, *words, *storage)
    assert (code, out.startswith("mobai_")) == (0, True)
    assert err == f"mobai: a token for sqlite:///{tmp_path / 'x.db'}; it is not shown again\n"
    code, _, err = mobai(capsys, "token", "create", "ci", "--scope", "tell", *storage)
    assert (code, err) == (2, "mobai: name: there is a token 'ci' already\n")
    (row,) = json.loads(mobai(capsys, "token", "list", "--format", "json", *storage)[1])
    assert (row["name"], row["kind"], row["scope"], row["only"]) == ("ci", "token", "tell", "a*")
    assert mobai(capsys, "token", "revoke", "ci", *storage)[1] == "revoked ci\n"
    assert mobai(capsys, "token", "revoke", "ci", *storage)[0] == 2
    assert mobai(capsys, "token", "create", "x", "--scope", "all", *storage)[0] == 2


def test_webhooks(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    storage = ("--storage", f"sqlite:///{tmp_path / 'x.db'}")
    code, out, _ = mobai(capsys, "webhook", "add", "w", "https://example.org/x", "--event", "decided", *storage)
    assert (code, out.startswith("whsec_")) == (0, True)
    code, _, err = mobai(capsys, "webhook", "add", "v", "http://127.0.0.1/", *storage)
    assert code == 2
    assert "allow it here (--private) and where it is sent (mobai serve --private-webhooks)" in err
    (row,) = json.loads(mobai(capsys, "webhook", "list", "--format", "json", *storage)[1])
    assert (row["name"], row["host"], row["events"]) == ("w", "example.org", "decided")
    assert mobai(capsys, "webhook", "remove", "w", *storage)[1] == "removed w\n"
    assert mobai(capsys, "webhook", "remove", "w", *storage)[0] == 2


def test_serve_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = mobai(capsys, "serve", "--storage", "http://127.0.0.1:1")
    assert (code, err) == (2, "mobai: --storage: a service serves a database, not another service\n")
    code, _, err = mobai(capsys, "serve", "--storage", f"sqlite:///{tmp_path / 'x.db'}", "--host", "0.0.0.0")
    assert code == 2
    assert "there must be a token" in err
    code, _, err = mobai(capsys, "serve", "--storage", f"sqlite:///{tmp_path / 'x.db'}", "--read-only")
    assert code == 1
    assert "the storage is gone" in err


def test_every_live_command_against_a_service(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        monkeypatch.setenv("MOBAI_STORAGE", client.address)

        def done(*words: str, code: int = 0) -> str:
            found, out, err = mobai(capsys, *words)
            assert found == code, err
            return out

        arms = ("--arm", "A", "--arm", "B", "--arm", "C")
        out = done("create", "t", *arms, "--objective", "click:bernoulli", "--objective", "s:min:unknown-variance")
        assert "created t: 3 arms, 2 objectives" in out
        assert done("ask", "t", "--format", "csv") == "id,arm\n1,A\n"
        assert "told 1" in done("tell", "t", "1", "click=1", "s=2.5")
        assert "recorded B as assignment 2" in done("tell", "t", "--arm", "B", "click=0", "s=3")
        done("ask", "t", "-n", "2", "--unit", "u", code=2)
        done("ask", "t", "--unit", "u", "--by", "me")
        done("drop", "t", "3")
        done("add-arm", "t", "D")
        done("retire-arm", "t", "C")
        done("pause", "t")
        assert "is paused" in mobai(capsys, "ask", "t")[2]
        done("resume", "t")
        assert json.loads(done("status", "t", "--format", "json"))["pulls"] == 2
        assert "t: running, 2 pulls" in done("status", "t")
        assert "is next" in done("explain", "t")
        assert "t " in done("experiments")
        assert len(done("export", "t", "--format", "csv").splitlines()) == 4
        assert '"kind": "created"' in done("export", "t", "--events", "--format", "json")
        assert "t: intact" in done("verify", "t")
        assert "wrote 1 experiment" in done("backup", str(tmp_path / "kept.db"))
        done("copy", "t", "--to", f"sqlite:///{tmp_path / 'copy.db'}")
        done("plot", "t", "--out", str(tmp_path / "t.png"))
        done("close", "t")
        assert "is not restored into" in mobai(capsys, "restore", str(tmp_path / "kept.db"), "--replace")[2]
        assert (
            "takes no copies"
            in mobai(capsys, "copy", "t", "--to", client.address, "--storage", f"sqlite:///{tmp_path / 'copy.db'}")[2]
        )
        assert "keeps these to itself" in mobai(capsys, "token", "list")[2]
        done("delete", "t", "--yes", "t")
