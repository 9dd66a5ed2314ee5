"""What is imported when it is needed: optional libraries, and objects of the user's own."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from mobai.errors import InputError

_EXTRAS = {
    "matplotlib": "plot",
    "pandas": "results",
    "pyarrow": "results",
    "psycopg": "postgresql",
    "fastapi": "service",
    "uvicorn": "service",
    "inspect_ai": "inspect",
    "sklearn": "sklearn",
    "mcp": "mcp",
}


def need(module: str) -> Any:
    """Import an optional library, or say how to get it."""
    library = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(f"this needs {library}: pip install 'mobai[{_EXTRAS[library]}]'") from None


def find_object(path: str, argument: str) -> Any:
    """Return what ``package.module:name`` names; modules of the current folder are found after installed ones."""
    module, colon, name = path.partition(":")
    if not colon or not module or not name:
        raise InputError(argument, f"must be written package.module:name, not {path!r}")
    if "" not in sys.path:
        sys.path.append("")
    try:
        return getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:
        raise InputError(argument, f"{path} cannot be imported: {str(error) or type(error).__name__}") from None
