"""The service over PostgreSQL, whose server cuts connections and hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from tests.service.serving import API, running

from mobai import Experiment
from mobai.service.api import admin


class Cluster:
    """The PostgreSQL server of the tests, which can be paused."""

    def __init__(self, url: str) -> None:
        port = url.rpartition(":")[2].partition("/")[0]
        found = subprocess.run(["pgrep", "-f", f"postgres .*-p {port}"], check=True, capture_output=True, text=True)
        self.pid = int(found.stdout.split()[0])

    def children(self) -> list[int]:
        found = subprocess.run(["pgrep", "-P", str(self.pid)], check=False, capture_output=True, text=True)
        return [int(pid) for pid in found.stdout.split()]


@pytest.fixture
def cluster(postgresql: str) -> Iterator[Cluster]:
    found = Cluster(postgresql)
    yield found
    for pid in [found.pid, *found.children()]:
        os.kill(pid, signal.SIGCONT)


def test_connections_are_cut_and_the_server_hangs(
    database: str, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "_SECONDS_TO_BE_READY", 1.0)
    with running(database) as (client, _):
        client.create()
        assert client("POST", f"{API}/spring/assignments").code == 200
        engine = sa.create_engine(database.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
        with engine.connect() as connection:
            others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
            connection.execute(sa.text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"))
        codes = [client("POST", f"{API}/spring/assignments").code for _ in range(3)]
        assert codes[-1] == 200
        assert set(codes) <= {200, 503}
        stopped = cluster.children()
        for pid in [cluster.pid, *stopped]:
            os.kill(pid, signal.SIGSTOP)
        assert client("GET", "/readyz").code == 503
        assert client("GET", "/healthz").code == 200
        late: list[int] = []
        thread = threading.Thread(target=lambda: late.append(client("POST", f"{API}/spring/assignments").code))
        thread.start()
        time.sleep(0.3)
        for pid in [cluster.pid, *stopped]:
            os.kill(pid, signal.SIGCONT)
        thread.join(30)
        assert late == [200]
        assert client("GET", "/readyz").code == 200
        pending = client("GET", f"{API}/spring").json["pending"]
    assert pending == len(Experiment.load(database, "spring").records())
