"""Counts for Prometheus, as its text format has them. Routes are templates: no name of an experiment is in them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Histogram:
    """How many values were at most each of some bounds."""

    def __init__(self) -> None:
        self.counts, self.total, self.sum = [0] * len(_BOUNDS), 0, 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.total += 1
        self.sum += value
        for n, bound in enumerate(_BOUNDS):
            if value <= bound:
                self.counts[n] += 1

    def lines(self, name: str, labels: str = "") -> Iterator[str]:
        """Yield it as Prometheus reads it."""
        before = f"{labels}," if labels else ""
        for bound, count in zip(_BOUNDS, self.counts, strict=True):
            yield f'{name}_bucket{{{before}le="{bound:g}"}} {count}'
        yield f'{name}_bucket{{{before}le="+Inf"}} {self.total}'
        after = f"{{{labels}}}" if labels else ""
        yield f"{name}_sum{after} {self.sum:.6f}"
        yield f"{name}_count{after} {self.total}"


class Metrics:
    """What the service has done so far. The writer's thread counts commits, the event loop everything else."""

    def __init__(self) -> None:
        self.streams = 0
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._seconds: dict[tuple[str, str], Histogram] = {}
        self._commits, self._committed = Histogram(), 0
        self._lock = threading.Lock()

    def answered(self, method: str, route: str, code: int, seconds: float) -> None:
        """Count a request."""
        self._requests[method, route, code] += 1
        if (method, route) not in self._seconds:
            self._seconds[method, route] = Histogram()
        self._seconds[method, route].add(seconds)

    def committed(self, requests: int, seconds: float) -> None:
        """Count a transaction."""
        with self._lock:
            self._commits.add(seconds)
            self._committed += requests

    def text(self, waiting: int) -> str:
        """Return everything in the text format of Prometheus."""
        lines = ["# HELP mobai_requests_total Requests answered.", "# TYPE mobai_requests_total counter"]
        for (method, route, code), count in sorted(self._requests.items()):
            lines.append(f'mobai_requests_total{{method="{method}",route="{route}",code="{code}"}} {count}')
        lines += ["# HELP mobai_request_seconds Time to answer.", "# TYPE mobai_request_seconds histogram"]
        for (method, route), histogram in sorted(self._seconds.items()):
            lines += histogram.lines("mobai_request_seconds", f'method="{method}",route="{route}"')
        lines += ["# HELP mobai_commit_seconds Time per transaction.", "# TYPE mobai_commit_seconds histogram"]
        with self._lock:
            lines += self._commits.lines("mobai_commit_seconds")
            done = self._committed
        for name, kind, value, words in (
            ("mobai_committed_requests_total", "counter", done, "Requests written, several per transaction."),
            ("mobai_waiting_requests", "gauge", waiting, "Requests that wait for the storage."),
            ("mobai_open_streams", "gauge", self.streams, "Streams of updates that are open."),
        ):
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"
