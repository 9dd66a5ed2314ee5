"""Where journals were before version 0.3: they are in :mod:`mobai.store.journal`."""

from __future__ import annotations

import warnings
from typing import Any

from mobai.store import journal


def __getattr__(name: str) -> Any:
    """Return what is there now, with a warning."""
    found = getattr(journal, {"Log": "EventLog"}.get(name, name))
    warnings.warn("mobai.live.journal is mobai.store.journal now", DeprecationWarning, stacklevel=2)
    return found
