"""The progress bar of simulations, on stderr: trials, pulls per second, time left."""

from __future__ import annotations

import time
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mobai.cli import screen
from mobai.lab import simulate as lab


class Bar:
    """Draws how far a simulation is, or several one after the other; nothing unless stderr is a terminal."""

    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(),
            console=screen.err,
            transient=True,
            disable=not screen.err.is_terminal,
        )
        self._task = self._progress.add_task("trials", total=None, speed="(the first time, kernels are compiled)")
        self._what, self._start = "trials", time.monotonic()

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def __call__(self, progress: lab.Progress, what: str = "trials") -> None:
        """Move the bar; another ``what`` starts it again."""
        if what != self._what:
            self._what, self._start = what, time.monotonic()
            self._progress.reset(self._task, description=what)
        speed = f"{progress.pulls / max(time.monotonic() - self._start, 1e-9):,.0f} pulls/s"
        self._progress.update(self._task, completed=progress.done, total=progress.total, speed=speed)
