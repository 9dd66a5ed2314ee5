"""The compiled code: arrays in, arrays out, nothing imported from above.

Every kernel is plain Python as well. ``NUMBA_DISABLE_JIT=1``, numba's own switch, runs them that way, for a debugger or
a coverage report; :func:`interpret` does so for a process that ends before compiling would pay off.
"""

from __future__ import annotations

import os
import sys

# Set once, before the first kernel is imported; its decorator reads it.
_interpreted = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def interpret() -> None:
    """Run the kernels of this process as plain Python, unless they have been imported already."""
    global _interpreted  # noqa: PLW0603 - the choice is the process's
    if "mobai.kernels.jit.compiled" not in sys.modules:
        _interpreted = True


def interpreted() -> bool:
    """Whether the kernels of this process run as plain Python."""
    return _interpreted
