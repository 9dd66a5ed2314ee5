"""How long the kernels take to compile on a cold cache, and to load from a warm one: each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

SCRIPT = """
import time
start = time.perf_counter()
import mobai
mobai.compile_kernels()
print(time.perf_counter() - start)
"""


def seconds(cache: str) -> float:
    """Time importing mobai and calling every kernel once, in a fresh interpreter."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment)
    return float(done.stdout)


def main() -> None:
    """Print both times."""
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = seconds(cache), min(seconds(cache) for _ in range(3))
    print(f"import and first call of every kernel: {cold:.1f} s cold, {warm:.2f} s from the cache\n")


if __name__ == "__main__":
    main()
