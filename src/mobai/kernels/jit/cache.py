"""Where compiled kernels are kept: one directory per version of their source, so that none is ever stale.

numba looks only at an entry's own file to see whether its cached code is stale; ours depends on the text of every
kernel. The directory is therefore named after all of it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import warnings
from functools import cache
from importlib.metadata import version
from pathlib import Path

# Directories of other versions that are kept beside the present one.
_KEPT = 4


@cache
def cache_directory() -> Path | None:
    """Return the directory for the entries of this version; None, with a warning, if it cannot be written."""
    base = Path(os.environ.get("NUMBA_CACHE_DIR") or _user_cache())
    path = base / f"mobai-{fingerprint()}"
    try:
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    except OSError:
        warnings.warn(
            f"kernels are compiled again in every process: {base} cannot be written; "
            "set NUMBA_CACHE_DIR to a directory that can",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    if is_new:
        _forget_old(base)
    return path


def is_cold() -> bool:
    """Whether nothing of this version has been compiled on this machine yet; folders appear before it."""
    path = cache_directory()
    return path is None or not any(path.rglob("*.nbi"))


def is_cached(entry: str) -> bool:
    """Whether an entry of this name, such as ``betting.mean_bounds``, has been compiled on this machine."""
    path = cache_directory()
    return path is not None and any(path.rglob(f"{entry}-*"))


@cache
def fingerprint() -> str:
    """Return a hash of the text of all kernels, and of what compiles them: two versions would overwrite each other."""
    digest = hashlib.sha256(f"{sys.version_info[:2]} {version('numba')}".encode())
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _user_cache() -> Path:
    """Return the directory in which this system keeps what can be made again."""
    home = Path.home() if "HOME" in os.environ or sys.platform == "win32" else Path(tempfile.gettempdir())
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home)) / "mobai"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "mobai"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "mobai"


def _forget_old(base: Path) -> None:
    """Remove the directories of all but the latest versions; whoever still needs one compiles again."""
    directories = sorted(base.glob("mobai-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in directories[_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)
