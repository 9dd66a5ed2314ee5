"""The service under load: beside an empty endpoint of the same stack, one commit per request, and the library itself.

Clients and service share the machine. ``wrk`` makes the load, from a process of its own.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.live import write_rounds
from mobai import Experiment
from mobai.live import codec

ARMS = ["a", "b", "c", "d"]
OBJECTIVES = ["clicks:gaussian=1", "cost:min:gaussian=1"]
SECONDS = 6
CONNECTIONS = 64

# A service with an empty endpoint beside the others; commits can be slowed, and made one per request.
_SERVER = """
import sys, time
from fastapi import Request, Response
from mobai.store import database
from mobai.service import server, writer
from mobai.service.models import Reports
storage, port, slow, alone = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4] == "1"
if slow:
    driver = database.Database.driver
    from contextlib import contextmanager
    @contextmanager
    def slowed(self, mode):
        with driver(self, mode) as found:
            yield found
            if mode == "IMMEDIATE":
                time.sleep(slow)
    database.Database.driver = slowed
if alone:
    writer._MOST_AT_ONCE = 1
made = server.make_app
def with_empty(service, **more):
    guard = made(service, **more)
    @guard._app.post("/empty")
    async def empty(request: Request, body: Reports) -> Response:
        return Response(b'{"assignments":[],"stopped":false}', media_type="application/json")
    return guard
server.make_app = with_empty
server.serve(storage, port=port, say=lambda line: None)
"""

# Reports on one assignment after the other, each once.
_REPORTS = """
local n = {first}
request = function()
  n = n + 1
  local body = string.format('{{"reports":[{{"assignment":%d,"metrics":{{"clicks":%d,"cost":%d}}}}]}}', n, n % 7, n % 5)
  return wrk.format("POST", "{path}", {{["Content-Type"] = "application/json"}}, body)
end
local bad = 0
response = function(status) if status ~= 200 then bad = bad + 1 end end
"""


@contextmanager
def served(storage: str, port: int, *, slow: float = 0.0, alone: bool = False) -> Iterator[http.client.HTTPConnection]:
    """Start a service in a process of its own, and stop it."""
    words = [sys.executable, "-c", _SERVER, storage, str(port), str(slow), "1" if alone else "0"]
    process = subprocess.Popen(words)
    try:
        for _ in range(600):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                client.request("GET", "/readyz")
                if client.getresponse().read() == b'{"status":"ready"}':
                    break
            except OSError:
                time.sleep(0.05)
        yield client
    finally:
        process.terminate()
        process.wait(30)


def call(client: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
    """Make a call, and return its JSON."""
    data = body if body is None or isinstance(body, str) else json.dumps(body)
    client.request(method, path, data, {"Content-Type": "application/json"} if data else {})
    answer = client.getresponse()
    found = answer.read()
    assert answer.status < 300, found
    return json.loads(found) if found else None


def hand_out(storage: str, count: int) -> None:
    """Have so many assignments waiting for their reports."""
    test = Experiment.create(storage, "x", ARMS, OBJECTIVES, delta=1e-9)
    while count > 0:
        test.ask(min(count, 10_000))
        count -= 10_000


def load(port: int, path: str, first: int, folder: Path, connections: int = CONNECTIONS) -> tuple[float, float]:
    """Let wrk send reports; return requests per second, and the time that 99 of 100 took at most, in ms."""
    script = folder / "reports.lua"
    script.write_text(_REPORTS.format(first=first, path=path))
    words = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{SECONDS}s",
        "--latency",
        "-s",
        str(script),
        f"http://127.0.0.1:{port}",
    ]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in said, said
    rate = re.search(r"Requests/sec:\s+([\d.]+)", said)
    late = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    assert rate is not None
    assert late is not None
    return float(rate.group(1)), float(late.group(1)) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[late.group(2)]


def single_reports(folder: Path, port: int) -> None:
    """Send single durable reports over 64 connections, as the disk is and with slow commits."""
    path = "/api/v1/experiments/x/reports"
    print(f"single durable reports, {CONNECTIONS} connections: requests per second (99 % within)")
    for slow in (0.0, 0.005):
        storage = f"sqlite:///{folder / f'slow{slow}.db'}"
        hand_out(storage, 100_000)
        with served(storage, port, slow=slow):
            warm = load(port, path, 0, folder)  # the experiment is loaded at the first request
            empty = load(port, "/empty", 0, folder)
            group = load(port, path, int(2 * SECONDS * warm[0]), folder)
            again = load(port, "/empty", 0, folder)
        other = f"sqlite:///{folder / f'alone{slow}.db'}"
        hand_out(other, 60_000)
        with served(other, port, slow=slow, alone=True):
            one = load(port, path, 0, folder)
        peer = max(empty[0], again[0])
        words = "each commit 5 ms longer" if slow else "local disk"
        print(
            f"  {words:24} group commit {group[0]:,.0f} ({group[1]:.0f} ms), empty endpoint {peer:,.0f} "
            f"({again[1]:.0f} ms): ratio {group[0] / peer:.2f}; one commit per request {one[0]:,.0f} "
            f"({one[1]:.0f} ms): ratio {group[0] / one[0]:.1f}",
            flush=True,
        )


def batches(folder: Path, port: int) -> None:
    """Send a thousand reports per request, beside tell_all of the library."""
    storage, local = (f"sqlite:///{folder / name}" for name in ("batch.db", "local.db"))
    rounds, size = 30, 1000
    hand_out(storage, rounds * size)
    hand_out(local, rounds * size)
    test = Experiment.load(local, "x")
    bodies = [
        [(n, {"clicks": float(n % 7), "cost": float(n % 5)}) for n in range(k * size + 1, (k + 1) * size + 1)]
        for k in range(rounds)
    ]
    times: dict[str, list[float]] = {"service": [], "library": []}
    with served(storage, port) as client:
        for rows in bodies:
            body = json.dumps({"reports": [{"assignment": n, "metrics": metrics} for n, metrics in rows]})
            start = time.perf_counter()
            call(client, "POST", "/api/v1/experiments/x/reports", body)
            times["service"].append(time.perf_counter() - start)
            start = time.perf_counter()
            test.tell_all(rows)
            times["library"].append(time.perf_counter() - start)
    service, library = (sorted(values)[rounds // 2] for values in times.values())
    print(
        f"batches of {size:,} reports: {size / service:,.0f} per second, the library's tell_all {size / library:,.0f}, "
        f"ratio {library / service:.2f}"
    )


def one_client(folder: Path, port: int) -> None:
    """Report and ask in one durable call over one connection, beside Optuna's journal file without HTTP."""
    import warnings

    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    from benchmarks.live import optuna_round

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    peer = optuna_round(JournalStorage(JournalFileBackend(str(folder / "optuna.log"))))
    storage = f"sqlite:///{folder / 'one.db'}"
    Experiment.create(storage, "x", ARMS, OBJECTIVES, delta=1e-9)
    times: dict[str, list[float]] = {"service": [], "optuna": []}
    with served(storage, port) as client:
        (mine,) = call(client, "POST", "/api/v1/experiments/x/assignments", {"n": 1})["assignments"]
        for _ in range(600):
            start = time.perf_counter()
            number = mine["assignment"]
            report = {"assignment": number, "metrics": {"clicks": float(number % 7), "cost": float(number % 5)}}
            found = call(client, "POST", "/api/v1/experiments/x/reports", {"reports": [report], "ask": 1})
            (mine,) = found["assignments"]
            times["service"].append(time.perf_counter() - start)
            start = time.perf_counter()
            peer()
            times["optuna"].append(time.perf_counter() - start)
    service, other = (1000 * sorted(values[100:])[len(values[100:]) // 2] for values in times.values())
    peer_words = f"Optuna's journal file without HTTP {other:.2f} ms: ratio {other / service:.1f}"
    print(f"one client, report + ask in one call: {service:.2f} ms; {peer_words}")


def viewers(folder: Path, port: int, kind: str = "status", path: str = "/api/v1/experiments/x/stream") -> None:
    """Watch an experiment over 200 streams while it is told something ten times a second; what that takes of a core."""
    count = 200
    storage = f"sqlite:///{folder / f'{kind}.db'}"
    hand_out(storage, 1000)
    with served(storage, port) as client:
        for n in range(1, 101):
            call(
                client,
                "POST",
                "/api/v1/experiments/x/reports",
                {"reports": [{"assignment": n, "metrics": {"clicks": n % 7}}]},
            )
        seen, watching = [0], []
        for _ in range(count):
            stream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            stream.request("GET", path)
            watching.append(stream.getresponse())

        def drain() -> None:
            import selectors

            ready = selectors.DefaultSelector()
            for answer in watching:
                ready.register(answer.fp.raw._sock, selectors.EVENT_READ)  # type: ignore[attr-defined]
            end = time.monotonic() + SECONDS + 2
            while time.monotonic() < end:
                for key, _ in ready.select(0.5):
                    seen[0] += key.fileobj.recv(1 << 20).count(f"event: {kind}".encode())  # type: ignore[union-attr]

        reader = threading.Thread(target=drain)
        reader.start()
        pid = int(subprocess.run(["pgrep", "-n", "-f", storage], check=True, capture_output=True, text=True).stdout)
        time.sleep(1)
        before, start = _cpu(pid), time.monotonic()
        n = 101
        while time.monotonic() < start + SECONDS:
            report = {"assignment": n, "metrics": {"clicks": n % 7}}
            call(client, "POST", "/api/v1/experiments/x/reports", {"reports": [report]})
            n += 1
            time.sleep(0.1)
        used, passed = _cpu(pid) - before, time.monotonic() - start
        reader.join()
    rate = seen[0] / count / passed
    spent = f"{used / passed:.1%} of a core, {rate:.1f} updates per second each"
    print(f"{count} viewers of the {kind}, ten reports a second: {spent}")


def sizes(folder: Path, rounds: int = 15) -> None:
    """Make the status of a short and of a long experiment, in turns."""
    tests = {}
    for pulls in (1_000, 500_000):
        url = f"sqlite:///{folder / f'{pulls}.db'}"
        write_rounds(folder, url, 2 * pulls)
        tests[pulls] = Experiment.load(url, "x")
    times: dict[int, list[float]] = {pulls: [] for pulls in tests}
    for _ in range(rounds):
        for pulls, test in tests.items():
            start = time.perf_counter()
            codec.status_json(test.status())
            times[pulls].append(1000 * (time.perf_counter() - start))
    short, long = (sorted(values)[rounds // 2] for values in times.values())
    print(f"status after 500,000 pulls {long:.1f} ms, after 1,000 {short:.1f} ms: ratio {long / short:.2f}")


def wide(folder: Path, port: int, arms: int = 1_000, metrics: int = 20) -> None:
    """Look at an experiment with very many arms, while another one is reported to."""
    url = f"sqlite:///{folder / 'wide.db'}"
    rng = random.Random(0)
    test = Experiment.create(url, "w", [f"a{n}" for n in range(arms)], [f"m{m}:bernoulli" for m in range(metrics)])
    for _ in range(20):
        test.record_all([(arm, {f"m{m}": rng.random() < 0.3 for m in range(metrics)}) for arm in test.problem.arms])
    hand_out(url, 20_000)
    with served(url, port) as client:
        looking = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for what, path in {
            "status": "/api/v1/experiments/w",
            "page": "/e/w",
            "why": "/e/w/explain",
            "explain": "/api/v1/experiments/w/explain",
        }.items():
            taken = []
            for n in range(5):
                one = {"arm": f"a{n}", "metrics": {f"m{m}": 1 for m in range(metrics)}}
                call(client, "POST", "/api/v1/experiments/w/observations", {"observations": [one]})
                start = time.perf_counter()
                looking.request("GET", path)
                size = len(looking.getresponse().read())
                taken.append(1000 * (time.perf_counter() - start))
            middle = sorted(taken)[len(taken) // 2]
            print(f"{what} of {arms:,} arms x {metrics} metrics: {middle:.0f} ms, {size / 1000:,.0f} kB")
        slowest, n, done = 0.0, 0, threading.Event()

        def look() -> None:
            for k in range(10):
                one = {"arm": f"a{k}", "metrics": {"m0": 1}}
                other = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                call(other, "POST", "/api/v1/experiments/w/observations", {"observations": [one]})
                other.request("GET", "/api/v1/experiments/w")
                other.getresponse().read()
            done.set()

        threading.Thread(target=look).start()
        while not done.is_set():
            n += 1
            start = time.perf_counter()
            report = {"assignment": n, "metrics": {"clicks": 1, "cost": 1}}
            call(client, "POST", "/api/v1/experiments/x/reports", {"reports": [report]})
            slowest = max(slowest, 1000 * (time.perf_counter() - start))
        print(f"the slowest of {n:,} reports to another experiment, beside statuses of the wide one: {slowest:.0f} ms")


def _cpu(pid: int) -> float:
    """Return how many seconds of processor time a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Print all of it."""
    if shutil.which("wrk") is None:
        print("the service under load: wrk is not installed (apt-get install wrk)")
        return
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        one_client(folder, 8471)
        single_reports(folder, 8472)
        batches(folder, 8473)
        viewers(folder, 8474)
        sizes(folder)
        wide(folder, 8475)


if __name__ == "__main__":
    main()
