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


def test_nothing_is_compiled_while_an_experiment_is_locked() -> None:
    """Everything a round calls has been compiled, or loaded from the cache, when create returns."""
    script = (
        "import sys, numpy; from mobai import Experiment; from tests.lab.test_warm_up import entries; "
        "test = Experiment.create('memory:', 'x', ['a', 'b'], ['m:bernoulli', 'n:unknown-variance'], rule='uniform'); "
        "known = {name: len(entry.signatures) for name, entry in entries().items()}\n"
        "for _ in range(6):\n"
        "    (one,) = test.ask()\n"
        "    test.tell(one, {'m': 1, 'n': float(one.id)})\n"
        "test.status()\n"
        "assert {name: len(entry.signatures) for name, entry in entries().items()} == known\n"
        "assert sum(known.values()) >= 5"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
