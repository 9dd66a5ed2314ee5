"""Ctrl-C and forks, which may come at any moment: neither finds a transaction half-way."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

# Ctrl-C once more after this long does not wait.
_SECONDS_OF_PATIENCE = 2.0
# CPython's own, which do not turn numbers into names and back: that takes longer than the rest.
_signals: Any = sys.modules.get("_signal", signal)
_handler_of, _handle = _signals.getsignal, _signals.signal


class ctrl_c_waits:
    """Lets Ctrl-C wait until the block is left, then raises KeyboardInterrupt in place of whatever it raises.

    ``cancel`` is called to make the block end soon. Pressed again two seconds later, it waits no longer. Does nothing
    in other threads than the first, and where somebody handles the signal already.
    """

    __slots__ = ("_cancel", "_pressed", "_waits")

    def __init__(self, cancel: Callable[[], None] | None = None) -> None:
        self._cancel, self._pressed, self._waits = cancel, 0.0, False

    def __enter__(self) -> None:
        first = threading.get_ident() == threading.main_thread().ident
        if first and _handler_of(signal.SIGINT) is signal.default_int_handler:
            self._waits = True
            _handle(signal.SIGINT, self._wait)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._waits:
            _handle(signal.SIGINT, signal.default_int_handler)
            if self._pressed:
                raise KeyboardInterrupt from None

    def _wait(self, number: int, frame: object) -> None:  # noqa: ARG002
        now = time.monotonic()
        if self._pressed and now > self._pressed + _SECONDS_OF_PATIENCE:
            raise KeyboardInterrupt
        if not self._pressed:
            self._pressed = now
            if self._cancel is not None:
                with suppress(Exception):
                    self._cancel()


class ForkGate:
    """Keeps forks out while threads are inside: a fork waits for those that are, and lets nobody in meanwhile.

    A context manager, which a thread may enter again while it is inside.
    """

    def __init__(self) -> None:
        self._before: list[Callable[[], None]] = []
        self._inside, self._shut = 0, False
        self._changed, self._own = threading.Condition(), threading.local()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.shut, after_in_parent=self.reopen, after_in_child=self.reopen_in_child)

    def before_fork(self, action: Callable[[], None]) -> None:
        """Have something done before every fork, when nobody is inside."""
        self._before.append(action)

    def __enter__(self) -> None:
        depth = getattr(self._own, "depth", 0)
        if depth == 0:
            with self._changed:
                while self._shut:
                    self._changed.wait()
                self._inside += 1
        self._own.depth = depth + 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._own.depth -= 1
        if self._own.depth == 0:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def shut(self) -> None:
        """Wait until no other thread is inside, and let nobody in."""
        own = 1 if getattr(self._own, "depth", 0) else 0
        with self._changed:
            while self._shut:
                self._changed.wait()
            self._shut = True
            while self._inside > own:
                self._changed.wait()
        for action in self._before:
            action()

    def reopen(self) -> None:
        """Let threads in again."""
        with self._changed:
            self._shut = False
            self._changed.notify_all()

    def reopen_in_child(self) -> None:
        """Begin anew in a process in which no other thread is left."""
        self._inside, self._shut = 0, False
        self._changed, self._own = threading.Condition(), threading.local()


FORKS = ForkGate()
