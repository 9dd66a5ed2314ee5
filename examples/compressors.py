r"""Which compressor is best for size, for time and for memory, on the files you have?

Every compressor gets the same files, one after the other. Run it from the folder of the project::

    find src -name '*.py' -size +4k > files.txt
    mobai run --items files.txt --sampler examples.compressors:measure \
        --arm zlib-1,zlib-6,zlib-9,bz2-1,bz2-9,lzma-0,lzma-6 \
        --metric size:min:bounded=0..1:eps=0.01 --metric time:min:wins --metric memory:min:wins \
        --delta 0.05 --storage sqlite:///compressors.db --name compressors

Size is a share of the original. Time and memory (the peak of a fresh process, above where it stood before) are counted
in wins: which of two is better on more files. So one slow moment of the machine counts no more than any other file.
Memory is what Linux says in /proc.
"""

from __future__ import annotations

import bz2
import lzma
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path


def compressor(arm: str) -> Callable[[bytes], bytes]:
    """Return the function of an arm such as ``zlib-6``."""
    library, _, level = arm.partition("-")
    functions: dict[str, Callable[[bytes], bytes]] = {
        "zlib": lambda data: zlib.compress(data, int(level)),
        "bz2": lambda data: bz2.compress(data, int(level)),
        "lzma": lambda data: lzma.compress(data, preset=int(level)),
    }
    return functions[library]


def measure(arm: str, item: str) -> dict[str, float | None]:
    """Compress a file in a fresh process, and return size, seconds and megabytes."""
    done = subprocess.run([sys.executable, __file__, arm, item], capture_output=True, text=True, check=True)
    size, seconds, memory = map(float, done.stdout.split())
    return {"size": size, "time": seconds, "memory": memory}


def peak_memory() -> int:
    """Return the most memory this process has used so far, in kilobytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def main(arm: str, path: str) -> None:
    """Measure one compression and print it."""
    data, compress = Path(path).read_bytes(), compressor(arm)
    before = peak_memory()
    began = time.perf_counter()
    packed = compress(data)
    seconds = time.perf_counter() - began
    memory = (peak_memory() - before) / 1024
    sys.stdout.write(f"{min(len(packed) / len(data), 1.0)} {seconds} {memory}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
