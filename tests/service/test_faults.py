"""Faults, with a real process: what was acknowledged is in the journal, once; and the service comes back by itself."""

from __future__ import annotations

import resource
import signal
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.service.serving import API, NEW, Client, Process, running

from mobai import Experiment, backup, restore, verify
from mobai.service.api import admin

MANY = 4


class Workers:
    """Threads that report as fast as they can, and remember what was acknowledged."""

    def __init__(self, port: int) -> None:
        self.port, self.stops = port, False
        self.acknowledged: list[int] = []
        self.handed_out: list[int] = []
        self.failures: list[str] = []
        self.threads = [threading.Thread(target=self.work, args=(n,)) for n in range(MANY)]
        for thread in self.threads:
            thread.start()

    def work(self, n: int) -> None:
        client, step = Client(self.port), 0
        while not self.stops:
            step += 1
            try:
                found = client("PUT", f"{API}/spring/units/{n}-{step}")
                if found.code not in (200, 201):
                    self.failures.append(f"{found.code} {found.data.decode()}")
                    continue
                number = found.json["assignments"][0]["assignment"]
                self.handed_out.append(number)
                report = {"assignment": number, "metrics": {"click": number % 2, "seconds": float(number)}}
                told = client("POST", f"{API}/spring/reports", {"reports": [report]})
                if told.code == 200:
                    self.acknowledged.append(number)
                else:
                    self.failures.append(f"{told.code} {told.data.decode()}")
            except (OSError, ValueError) as error:
                self.failures.append(type(error).__name__)
                time.sleep(0.02)
            except Exception as error:  # a reply that was cut off
                self.failures.append(type(error).__name__)

    def wait_for(self, count: int) -> None:
        for _ in range(1200):
            if len(self.acknowledged) >= count:
                return
            time.sleep(0.05)
        raise AssertionError(f"{len(self.acknowledged)} instead of {count}; {self.failures[-3:]}")

    def end(self) -> None:
        self.stops = True
        for thread in self.threads:
            thread.join()


def check(storage: str, workers: Workers) -> None:
    """Everything acknowledged is there once, with its own rewards; no number was handed out twice."""
    test = Experiment.load(storage, "spring")
    told: list[int] = []
    for event in test.history():
        if event.kind == "told":
            for number, metrics in event.body["reports"]:
                told.append(number)
                assert metrics == {"click": number % 2, "seconds": float(number)}
    assert len(told) == len(set(told))
    assert set(workers.acknowledged) <= set(told)
    assert len(workers.handed_out) == len(set(workers.handed_out))
    assert test.verify().intact


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_ended_under_load(storage: str, how: signal.Signals) -> None:
    service = Process(storage)
    Client(service.port).create(delta=1e-9)
    workers = Workers(service.port)
    try:
        for _ in range(2 if how is signal.SIGKILL else 1):
            workers.wait_for(len(workers.acknowledged) + 30)
            service.end(how)
            if how is signal.SIGTERM:
                # What was taken was answered: with its result, or with a word.
                assert not [one for one in workers.failures if one.startswith("500")]
            service.start()
        workers.wait_for(len(workers.acknowledged) + 30)
    finally:
        workers.end()
        service.end()
    check(storage, workers)


def test_a_file_that_cannot_be_written_for_a_while(tmp_path: Path) -> None:
    """As with a full disk: refused, and the service goes on when it can."""
    service = Process(f"sqlite:///{tmp_path / 'x.db'}")
    client = Client(service.port)
    try:
        client.create()
        assert client("POST", f"{API}/spring/assignments").code == 200
        limit(service.child.pid, 0)
        full = client("POST", f"{API}/spring/assignments")
        assert (full.code, full.headers["retry-after"]) == (503, "1")
        assert "cannot be written" in full.json["detail"] or "full" in full.json["detail"]
        limit(service.child.pid, -1)
        found = client("POST", f"{API}/spring/assignments")
        assert found.json["assignments"][0]["assignment"] == 2
        assert client("GET", f"{API}/spring").json["events"] == 3
    finally:
        service.end()


def limit(pid: int, size: int) -> None:
    """Let a process write no file beyond a size; -1 for any."""
    most = resource.RLIM_INFINITY if size < 0 else size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))


def test_the_storage_is_restored_under_the_service(storage: str, tmp_path: Path) -> None:
    with running(storage) as (client, _):
        client.create()
        client("POST", f"{API}/spring/assignments", {"n": 3})
        backup(storage, tmp_path / "kept.db")
        client("POST", f"{API}/spring/assignments", {"n": 3})
        restore(tmp_path / "kept.db", storage, replace=True)
        found = client("POST", f"{API}/spring/assignments")
        if found.code != 200:
            assert (found.code, found.headers["retry-after"]) == (503, "1")
            found = client("POST", f"{API}/spring/assignments")
        assert found.json["assignments"][0]["assignment"] == 4
        assert client("GET", f"{API}/spring").json["events"] == 3
    assert Experiment.load(storage, "spring").verify().intact


@pytest.mark.parametrize("in_place", [True, False])
def test_the_file_is_replaced_under_the_service(tmp_path: Path, in_place: bool) -> None:
    """A healthy file that is put in place stays so, and is served once the service is started again."""
    path, kept = tmp_path / "x.db", tmp_path / "kept.db"
    with running(f"sqlite:///{path}") as (client, _):
        client.create()
        client.create(name="autumn")
        client("POST", f"{API}/spring/assignments", {"n": 3})
        backup(f"sqlite:///{path}", kept)
        for n in range(60):
            client("POST", f"{API}/{('spring', 'autumn')[n % 2]}/assignments", {"n": 3})
        if in_place:
            path.write_bytes(kept.read_bytes())
        else:
            kept.replace(path)
        for name in ("spring", "autumn", "spring"):
            found = client("POST", f"{API}/{name}/assignments")
            assert found.code == 503
            assert client("GET", f"{API}/{name}").code == 503
        assert "until the service is started again" in client("GET", f"{API}/spring").json["detail"]
        assert client("GET", "/readyz").code == 503
    with running(f"sqlite:///{path}") as (client, _):
        assert client("GET", f"{API}/spring").json["pending"] == 3
        assert client("POST", f"{API}/spring/assignments").json["assignments"][0]["assignment"] == 4
    assert all(one.intact for one in verify(f"sqlite:///{path}"))


def test_another_file_comes_while_the_first_is_away(tmp_path: Path) -> None:
    path, away, kept = tmp_path / "x.db", tmp_path / "away.db", tmp_path / "kept.db"
    with running(f"sqlite:///{path}") as (client, _):
        client.create()
        backup(f"sqlite:///{path}", kept)
        client("POST", f"{API}/spring/assignments", {"n": 3})
        path.rename(away)
        assert client("GET", f"{API}/spring").code == 503
        kept.replace(path)
        for _ in range(3):
            assert client("GET", f"{API}/spring").code == 503
    assert Experiment.load(f"sqlite:///{away}", "spring").status().pending == 3
    assert Experiment.load(f"sqlite:///{path}", "spring").status().pending == 0


def test_an_idle_service_notices(tmp_path: Path) -> None:
    """Nobody asks for anything between the mistake and the end."""
    path, kept = tmp_path / "x.db", tmp_path / "kept.db"
    for wait in (0.0, 1.5):
        for leftover in tmp_path.glob("*.db*"):
            leftover.unlink()
        service = Process(f"sqlite:///{path}")
        client = Client(service.port)
        client.create()
        backup(f"sqlite:///{path}", kept)
        for _ in range(60):
            client("POST", f"{API}/spring/assignments", {"n": 3})
        path.write_bytes(kept.read_bytes())
        time.sleep(wait)
        said = service.end()
        assert "was replaced" in said
        (found,) = verify(f"sqlite:///{path}")
        assert (found.intact, found.events) == (True, 1)


def test_a_file_that_is_gone_is_not_replaced_by_an_empty_one(tmp_path: Path) -> None:
    path, away = tmp_path / "x.db", tmp_path / "away.db"
    with running(f"sqlite:///{path}") as (client, _):
        client.create()
        client("POST", f"{API}/spring/assignments", {"n": 3})
        path.rename(away)
        for method, place in (("GET", f"{API}/spring"), ("GET", API), ("POST", f"{API}/spring/assignments")):
            found = client(method, place)
            assert found.code == 503
            assert str(tmp_path) not in found.json["detail"]
        assert client("GET", "/readyz").code == 503
        assert not path.exists()
        away.rename(path)
        codes = [client("GET", f"{API}/spring").code for _ in range(2)]
        assert codes[-1] == 200
        assert client("GET", "/readyz").code == 200
        assert client("GET", f"{API}/spring").json["pending"] == 3
    assert Experiment.load(f"sqlite:///{path}", "spring").verify().intact


def test_who_holds_the_lock_does_not_stop_readers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "_SECONDS_TO_BE_READY", 0.5)
    path = tmp_path / "x.db"
    with running(f"sqlite:///{path}") as (client, _):
        client.create()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        late: list[int] = []
        thread = threading.Thread(target=lambda: late.append(client("POST", f"{API}/spring/assignments").code))
        thread.start()
        time.sleep(0.2)
        start = time.monotonic()
        creating = [threading.Thread(target=client, args=("POST", API, {**NEW, "name": f"x{n}"})) for n in range(45)]
        for one in creating:
            one.start()
        time.sleep(0.3)
        assert client("GET", f"{API}/spring").code == client("GET", API).code == 200
        assert client("GET", "/readyz").code == 503
        assert time.monotonic() - start < 5
        assert late == []
        other.execute("ROLLBACK")
        for one in (thread, *creating):
            one.join()
        assert late == [200]
        assert client("GET", API).json["total"] == 46
        assert client("GET", "/readyz").code == 200
        other.close()


def test_a_backup_can_be_served(tmp_path: Path) -> None:
    first, kept, second = (tmp_path / name for name in ("a.db", "kept.db", "b.db"))
    with running(f"sqlite:///{first}") as (client, _):
        client.create()
        client("POST", f"{API}/spring/assignments", {"n": 3})
        backup(f"sqlite:///{first}", kept)
        head = client("GET", f"{API}/spring").json["head"]
    restore(kept, f"sqlite:///{second}")
    with running(f"sqlite:///{second}") as (client, _):
        assert client("GET", f"{API}/spring").json["head"] == head
        assert client("POST", f"{API}/spring/assignments").json["assignments"][0]["assignment"] == 4


def test_damage_in_one_experiment_does_not_stop_the_others(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with running(f"sqlite:///{path}") as (client, service):
        client.create()
        client.create(name="autumn")
        client("POST", f"{API}/spring/assignments")
        client("POST", f"{API}/autumn/assignments")
        journal: Any = service.experiments.journal
        with journal._database.driver("IMMEDIATE") as driver:
            driver.execute("UPDATE mobai_events SET body = '{}' WHERE experiment = 1 AND seq = 2")
        found: dict[str, int] = {}

        def ask(name: str) -> None:
            found[name] = client("POST", f"{API}/{name}/assignments").code

        threads = [threading.Thread(target=ask, args=(name,)) for name in ("spring", "autumn")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == {"spring": 503, "autumn": 200}
