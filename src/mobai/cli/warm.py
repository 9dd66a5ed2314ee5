"""``mobai warm``: compile all kernels ahead of time."""

from __future__ import annotations

import time

import click

from mobai.cli import screen
from mobai.kernels.jit.cache import cache_directory
from mobai.lab.warm_up import compile_kernels


@click.command("warm")
def command() -> None:
    """Compile every kernel, so that no later process on this machine has to."""
    start = time.perf_counter()
    with screen.working("compiling"):
        compile_kernels()
    where = cache_directory()
    kept = f"in {where}" if where is not None else "nowhere: the cache cannot be written"
    screen.say(f"compiled in {time.perf_counter() - start:.1f} s, kept {kept}")
