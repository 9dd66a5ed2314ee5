from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import mobai.kernels
from mobai import compile_kernels


def entries() -> dict[str, Any]:
    """Every function that Python calls: those with a cache on disk."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(mobai.kernels.__path__, "mobai.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            if hasattr(value, "py_func") and hasattr(value._cache, "_cache_file"):
                found[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return found


def test_every_entry_is_ready_afterwards_and_compiled_once() -> None:
    compile_kernels()
    found = entries()
    assert len(found) >= 12
    assert {name: len(entry.signatures) for name, entry in found.items()} == dict.fromkeys(found, 1)
