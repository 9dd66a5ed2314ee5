r"""Which compressor is best for time, for size and for memory, on a given file?

Run it from the folder of the project; the file is this project's own text unless ``FILE`` names another::

    FILE=/usr/share/dict/words mobai run --sampler examples.compressors:measure \
        --arm zlib-1 --arm zlib-6 --arm zlib-9 --arm bz2-1 --arm bz2-9 --arm lzma-0 --arm lzma-6 \
        --objective time:min:bounded=0..200:eps=2 --objective size:min:bounded=0..1:eps=0.01 \
        --objective memory:min:bounded=0..50:eps=0.5 --delta 0.05 --storage sqlite:///compressors.db

Time is in milliseconds, size a share of the original, memory (the peak of a fresh process above where it stood before)
in megabytes. Times are not bell-shaped, so they state a range instead: what takes longer counts as its end.
Each measurement takes a random stretch of the file, so that sizes are measured with noise, too. Memory is what Linux
says in /proc.
"""

from __future__ import annotations

import bz2
import lzma
import os
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

STRETCH = 200_000
LONGEST, MOST_MEMORY = 200.0, 50.0  # milliseconds and megabytes


def compressor(arm: str) -> Callable[[bytes], bytes]:
    """Return the function of an arm such as ``zlib-6``."""
    library, _, level = arm.partition("-")
    functions: dict[str, Callable[[bytes], bytes]] = {
        "zlib": lambda data: zlib.compress(data, int(level)),
        "bz2": lambda data: bz2.compress(data, int(level)),
        "lzma": lambda data: lzma.compress(data, preset=int(level)),
    }
    return functions[library]


def material() -> bytes:
    """Return the bytes to compress: the file named by FILE, or the text of this project."""
    if os.environ.get("FILE"):
        return Path(os.environ["FILE"]).read_bytes()
    root = Path(__file__).parent.parent
    return b"".join(path.read_bytes() for path in sorted(root.glob("src/**/*.py")))


def measure(arm: str) -> dict[str, float]:
    """Compress a random stretch in a fresh process, and give time, size and memory."""
    done = subprocess.run([sys.executable, __file__, arm], capture_output=True, text=True, check=True)
    duration, size, memory = map(float, done.stdout.split())
    return {"time": duration, "size": size, "memory": memory}


def peak_memory() -> int:
    """Return the most memory this process has used so far, in kilobytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main(arm: str) -> None:
    """Measure one compression and print it."""
    data = material()
    start = random.randrange(max(len(data) - STRETCH, 1))
    stretch, compress = data[start : start + STRETCH], compressor(arm)
    before = peak_memory()
    began = time.perf_counter()
    size = min(len(compress(stretch)) / len(stretch), 1.0)
    duration = 1000 * (time.perf_counter() - began)
    memory = (peak_memory() - before) / 1024
    sys.stdout.write(f"{min(duration, LONGEST)} {size} {min(memory, MOST_MEMORY)}\n")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])
