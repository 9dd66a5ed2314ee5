"""Experiments with very many arms: in pages, and beside others that do not wait for them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from tests.service.serving import API, Client, running

from mobai import Experiment
from mobai.live import status
from mobai.live.local import LocalExperiment
from mobai.store.sql import SqlJournal

ARMS, METRICS = 300, 6


@pytest.fixture
def wide(client: Client) -> Client:
    arms = [f"arm {n}" for n in range(ARMS)]
    client.create(name="wide", arms=arms, objectives=[f"m{m}:bernoulli" for m in range(METRICS)])
    metrics = [{f"m{m}": int((n + m) % 3 == 0) for m in range(METRICS)} for n in range(ARMS)]
    rows = [{"arm": arm, "metrics": told} for arm, told in zip(arms, metrics, strict=True)]
    for _ in range(2):
        assert client("POST", f"{API}/wide/observations", {"observations": rows}).code == 200
    return client


def test_pages_of_many_arms_are_paged(wide: Client) -> None:
    page = wide("GET", "/e/wide")
    assert (page.code, len(page.data) < 200_000) == (200, True)
    assert b"/e/wide/numbers" in page.data
    seen = []
    for skip in range(0, ARMS, 50):
        part = wide("GET", f"/e/wide/numbers?skip={skip}").data.decode()
        assert len(part) < 150_000
        seen += [n for n in range(ARMS) if f">arm {n}<" in part]
    assert seen == list(range(ARMS))
    assert wide("GET", "/e/wide/numbers?skip=1000000").code == wide("GET", "/e/wide/numbers?skip=-5").code == 200


def test_explanations_of_many_pairs_are_paged(wide: Client, tmp_path: Path) -> None:
    page = wide("GET", "/e/wide/explain")
    assert (page.code, len(page.data) < 200_000) == (200, True)
    assert b"more rivals of m0" in page.data
    one = wide("GET", "/e/wide/explain?of=m0&skip=200").data.decode()
    assert one.count("<tr>") - 1 == ARMS - 1 - 200
    local = Experiment.load(f"sqlite:///{tmp_path / 'test.db'}", "wide").explain()
    parts = [wide("GET", f"{API}/wide/explain?skip={skip}&limit=700").json for skip in (0, 700, 1400, 2100)]
    rows = [row for part in parts for row in part["pairs"]]
    assert {part["total"] for part in parts} == {len(local.pairs)} == {METRICS * (ARMS - 1)}
    assert [(row["objective"], row["rival"]) for row in rows] == [(pair.objective, pair.rival) for pair in local.pairs]
    twin = Experiment.load(wide.address, "wide").explain()
    assert twin.pairs == local.pairs


def test_reports_do_not_wait_for_a_slow_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes time is done beside the writer, also of the same experiment."""
    entered, release = threading.Event(), threading.Event()
    real = status._described

    def slow(*about: object) -> object:
        entered.set()
        release.wait(20)
        return real(*about)  # type: ignore[arg-type]

    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        client.create()
        monkeypatch.setattr(status, "_described", slow)
        found: list[int] = []
        thread = threading.Thread(target=lambda: found.append(client("GET", f"{API}/spring").code))
        thread.start()
        assert entered.wait(20)
        start = time.monotonic()
        assert client("POST", f"{API}/spring/assignments").code == 200
        assert time.monotonic() - start < 5
        assert found == []
        release.set()
        thread.join()
        assert found == [200]


def test_lists_are_kept_as_long_as_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        for n in range(5):
            client.create(name=f"spring {n}")
        first = client("GET", API).json
        made = []
        real = LocalExperiment.status
        monkeypatch.setattr(LocalExperiment, "status", lambda self: made.append(self.name) or real(self))  # type: ignore[func-returns-value]
        assert client("GET", f"{API}?limit=1000").json == first
        assert client("GET", "/").code == 200
        assert made == []
        client("POST", f"{API}/spring%203/assignments")
        assert client("GET", API).json["experiments"][3]["pending"] == 1
        assert set(made) == {"spring 3"}
        client("DELETE", f"{API}/spring%203")
        client.create(name="spring 3")
        assert client("GET", API).json["experiments"][4]["pending"] == 0


def test_checks_of_the_storage_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many ask for one at once, others are answered meanwhile."""
    release, begun = threading.Event(), []

    def slow(self: SqlJournal) -> list[str]:
        begun.append(1)
        release.wait(20)
        return []

    monkeypatch.setattr(SqlJournal, "damage", slow)
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        client.create()
        asking = [threading.Thread(target=client, args=("GET", "/api/v1/storage/damage")) for _ in range(60)]
        for one in asking:
            one.start()
        time.sleep(0.5)
        start = time.monotonic()
        assert client("GET", f"{API}/spring").code == client("GET", API).code == 200
        assert time.monotonic() - start < 5
        release.set()
        for one in asking:
            one.join()
    assert len(begun) == 1
