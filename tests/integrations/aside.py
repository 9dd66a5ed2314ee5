"""Runs a function that starts an event loop in a thread of its own: Playwright has one running in that of the tests."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def aside(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments, **options).result()
