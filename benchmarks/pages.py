"""The pages: what a first visit loads, what the length of an experiment does to its page, and what viewers cost."""

from __future__ import annotations

import gzip
import http.client
import re
import tempfile
import time
from pathlib import Path

from benchmarks.live import write_rounds
from benchmarks.service import served, viewers
from mobai import Experiment
from mobai.lab.environment import Environment
from mobai.lab.instances import guarded_ads


def get(client: http.client.HTTPConnection, path: str) -> bytes:
    """Return what is at a path, as it is sent to a browser."""
    client.request("GET", path, headers={"Accept-Encoding": "gzip"})
    answer = client.getresponse()
    assert answer.status == 200, path
    return answer.read()


def weight(folder: Path, port: int) -> None:
    """Load a page and everything that it names."""
    storage, instance = f"sqlite:///{folder / 'weight.db'}", guarded_ads()
    limits, sd = instance.problem.guardrails, instance.problem.sd
    test = Experiment.create(storage, "x", instance.arms, instance.objectives, sd=sd, guardrails=limits)
    world, names = Environment(instance), instance.problem.metric_names
    while not test.verdict().stopped:
        rows = [(one, world.pull(instance.arms.index(one.arm)).tolist()) for one in test.ask(50)]
        test.tell_all([(one, dict(zip(names, values, strict=True))) for one, values in rows])
    with served(storage, port) as client:
        page = get(client, "/e/x")
        files = sorted(set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.decode())))
        found = {file.rpartition("/")[2]: get(client, file) for file in files}
    sent = {"the page": len(page), **{name: len(data) for name, data in found.items()}}
    unpacked = len(page) + sum(len(gzip.decompress(data)) for data in found.values())
    listed = ", ".join(f"{name} {size / 1000:.1f}" for name, size in sent.items())
    print(f"a first visit loads {sum(sent.values()) / 1000:.0f} kB, unpacked {unpacked / 1000:.0f} kB ({listed})")


def lengths(folder: Path, port: int, visits: int = 15) -> None:
    """Load the page of a short experiment and of a long one, in turns; each time something was reported before."""
    times: dict[int, list[float]] = {500: [], 500_000: []}
    tests = {}
    for pulls in times:
        url = f"sqlite:///{folder / f'{pulls}.db'}"
        write_rounds(folder, url, 2 * pulls)
        tests[pulls] = (url, Experiment.load(url, "x"))
    for n, (pulls, (url, test)) in enumerate(tests.items()):
        with served(url, port + n) as client:
            get(client, "/e/x")
            for _ in range(visits):
                test.tell_all([(one, dict.fromkeys(test.problem.metric_names, 0.0)) for one in test.ask(1)])
                start = time.perf_counter()
                get(client, "/e/x")
                times[pulls].append(1000 * (time.perf_counter() - start))
    short, long = (sorted(values)[visits // 2] for values in times.values())
    print(f"page after 1,000,000 rewards {long:.1f} ms, after 1,000 {short:.1f} ms: ratio {long / short:.2f}")


def main() -> None:
    """Print all of it."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        weight(folder, 8481)
        lengths(folder, 8482)
        viewers(folder, 8484, "page", "/e/x/stream")


if __name__ == "__main__":
    main()
