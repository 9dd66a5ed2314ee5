"""mobai: the best arm of every objective, with a stated error probability, in as few samples as possible.

>>> import mobai
>>> ads = mobai.Instance([[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]], arms=["A", "B", "C"], objectives=["ctr", "margin"])
>>> round(mobai.lower_bound(ads).samples(delta=0.05))
193
"""

from __future__ import annotations

import importlib
import logging
import re
from pathlib import Path
from typing import Any

from mobai.version import __version__ as __version__

# Silent unless somebody listens.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Public names are listed once, in the stub beside this file, which type checkers read as well. Each is imported on
# first use, so that "import mobai" stays light.
_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES: dict[str, str] = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", _STUB, re.M)}
del _HOMES["__version__"]
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mobai' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
