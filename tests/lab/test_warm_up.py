from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from typing import Any

import pytest

import mobai.kernels


def entries() -> dict[str, Any]:
    """Every function that Python calls: those with a cache on disk."""
    found: dict[str, Any] = {}
    for module in pkgutil.walk_packages(mobai.kernels.__path__, "mobai.kernels."):
        for value in vars(importlib.import_module(module.name)).values():
            if hasattr(value, "py_func") and hasattr(value._cache, "_cache_file"):
                found[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return found


@pytest.mark.parametrize("families", [False, True])
def test_every_entry_is_ready_afterwards_and_compiled_once(families: bool) -> None:
    """In a process of its own: how many versions of each entry there are, one for known noise and one for the rest."""
    script = (
        "import json, mobai; from tests.lab.test_warm_up import entries; "
        f"mobai.compile_kernels(families={families}); "
        "print(json.dumps({name: len(entry.signatures) for name, entry in entries().items()}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found: dict[str, int] = json.loads(done.stdout)
    assert len(found) >= 12
    seeing = [
        name
        for name in found
        if ".sampling." in name or name.endswith((".renew", ".fill_scores", ".take_in", ".weigh"))
    ]
    twice = {name: 2 for name in seeing if families and "elimination" not in name}
    assert found == dict.fromkeys(found, 1) | twice
