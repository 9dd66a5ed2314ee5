"""The compiled cache must notice a change in any kernel, not only in the entry's own file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mobai

PROBE = """
from mobai.kernels.compiled import entry
from mobai.kernels.dense import add_up

@entry
def probe(vector):
    return add_up(vector)
"""
SCRIPT = "import numpy; from mobai.kernels.probe import probe; print(probe(numpy.ones(3)), *probe.stats.cache_hits)"


def run(folder: Path) -> tuple[float, bool]:
    """Call the probe in a fresh interpreter; gives its answer, and whether it came from the cache."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment)
    answer, *hits = done.stdout.split(maxsplit=1)
    return float(answer), bool(hits)


def test_a_change_in_another_file_is_noticed(tmp_path: Path) -> None:
    shutil.copytree(Path(mobai.__file__).parent, tmp_path / "mobai", ignore=shutil.ignore_patterns("__pycache__"))
    kernels = tmp_path / "mobai" / "kernels"
    (kernels / "probe.py").write_text(PROBE)
    assert run(tmp_path) == (3.0, False)
    assert run(tmp_path) == (3.0, True)
    dense = (kernels / "dense.py").read_text()
    assert "result += vector[i]" in dense
    (kernels / "dense.py").write_text(dense.replace("result += vector[i]", "result += 2 * vector[i]"))
    assert run(tmp_path) == (6.0, False)
