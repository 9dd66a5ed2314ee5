from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from typing import Any

import mobai.kernels


def entries() -> dict[str, Any]:
    """Every function that Python calls: those that are kept on disk."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(mobai.kernels.__path__, "mobai.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            if hasattr(value, "py_func") and value.stats.cache_path is not None:
                found[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return found


def test_every_entry_is_ready_afterwards_and_compiled_once() -> None:
    """In a process of its own: how many versions of each entry there are."""
    script = (
        "import json, mobai; from tests.lab.test_warm_up import entries; "
        "mobai.compile_kernels(); "
        "print(json.dumps({name: len(entry.signatures) for name, entry in entries().items()}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found: dict[str, int] = json.loads(done.stdout)
    assert len(found) >= 12
    assert found == dict.fromkeys(found, 1)
