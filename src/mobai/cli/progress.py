"""Progress bars, on stderr: of simulations (trials, pulls per second, time left) and of what is counted."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mobai.cli import screen

if TYPE_CHECKING:
    # Importing it imports the kernels; whether compiled, the command decides.
    from mobai.lab import simulate as lab


class ProgressLog:
    """Prints a line on stderr now and then: at first after ten seconds, then ever more rarely."""

    def __init__(self, seconds: float = 10.0) -> None:
        self._start = self._last = time.monotonic()
        self._seconds = seconds

    def __call__(self, text: str) -> None:
        """Print the line, if it is time for one."""
        now = time.monotonic()
        if now - self._last >= max(self._seconds, 0.1 * (now - self._start)):
            self._last = now
            screen.err.print(f"mobai: {text} after {now - self._start:,.0f} s", soft_wrap=True)


class _AnyBar:
    """A bar on a terminal, between two columns of its own; nothing where there is no terminal."""

    def __init__(self, right: TextColumn, description: str, **fields: Any) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            right,
            TimeRemainingColumn(),
            console=screen.err,
            transient=True,
            disable=not screen.err.is_terminal,
        )
        self._task = self._progress.add_task(description, total=None, **fields)
        self._log = ProgressLog()

    def __enter__(self) -> Self:
        if not self._progress.disable:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._progress.disable:
            self._progress.stop()


class Bar(_AnyBar):
    """Draws how far a simulation is, or several one after the other; a line now and then if there is no terminal."""

    def __init__(self) -> None:
        at_first = "(the first time, kernels are compiled)"
        super().__init__(TextColumn("{task.fields[speed]}"), "trials", speed=at_first)
        self._what = "trials"
        self._start = self._last = time.monotonic()

    def __call__(self, progress: lab.Progress, what: str = "trials") -> None:
        """Move the bar; another ``what`` starts it again, at the moment when the last one was heard of."""
        if what != self._what:
            self._what, self._start = what, self._last
            self._progress.reset(self._task, description=what)
        self._last = time.monotonic()
        speed = f"{progress.pulls / max(self._last - self._start, 1e-9):,.0f} pulls/s"
        if self._progress.disable:
            self._log(f"{progress.done:,} of {progress.total:,} {what}, {speed}")
        self._progress.update(self._task, completed=progress.done, total=progress.total, speed=speed)


class CountBar(_AnyBar):
    """Draws how much of something is done, under a name; a line now and then if there is no terminal."""

    def __init__(self, what: str) -> None:
        super().__init__(TextColumn(what), "")
        self._what = what

    def __call__(self, name: str, done: int, total: int) -> None:
        """Move the bar."""
        if self._progress.disable:
            self._log(f"{name}: {done:,} of {total:,} {self._what}")
        self._progress.update(self._task, description=name, completed=done, total=total)
