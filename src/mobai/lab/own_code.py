"""What tells code of somebody's own from what it was: results of other code are other results."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterable
from types import FunctionType
from typing import Any


def own_code(things: Iterable[Any]) -> dict[str, str]:
    """Return a digest of the code of every class of these things that is not mobai's, by its name.

    It covers the class, the classes it derives from, and what it names of its own module.
    """
    classes = {one for thing in things for one in type(thing).__mro__ if _is_own(one)}
    return {
        f"{one.__module__}.{one.__qualname__}": _digest(one) for one in sorted(classes, key=lambda one: one.__name__)
    }


def _is_own(one: type) -> bool:
    root = one.__module__.partition(".")[0]
    return root not in ("mobai", "builtins") and root not in sys.stdlib_module_names


def _digest(one: type) -> str:
    seen: dict[str, str] = {}
    _collect(one, one.__module__, seen)
    return hashlib.blake2b("\n".join(f"{key}\n{seen[key]}" for key in sorted(seen)).encode(), digest_size=8).hexdigest()


def _collect(thing: Any, module: str, seen: dict[str, str]) -> None:
    """Add the source of a class or function, and of what it names in its module."""
    key = thing.__qualname__
    if key in seen:
        return
    seen[key] = _source(thing)
    there = vars(sys.modules.get(module, sys)) if module in sys.modules else {}
    for name in sorted(_names(thing)):
        found = there.get(name)
        found = getattr(found, "py_func", found)  # compiled by numba
        if isinstance(found, type | FunctionType):
            if found.__module__ == module:
                _collect(found, module, seen)
        elif isinstance(found, int | float | str | tuple):
            seen[name] = repr(found)


def _source(thing: Any) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):  # typed at a prompt
        codes = [thing.__code__] if isinstance(thing, FunctionType) else [one.__code__ for one in _functions(thing)]
        return repr([(code.co_code, code.co_consts, code.co_names) for code in codes])


def _functions(one: type) -> list[FunctionType]:
    found = (getattr(value, "fget", None) or getattr(value, "__func__", value) for value in vars(one).values())
    return [value for value in found if isinstance(value, FunctionType)]


def _names(thing: Any) -> set[str]:
    """Return the global names that code uses, that of functions within it as well."""
    codes = [one.__code__ for one in ([thing] if isinstance(thing, FunctionType) else _functions(thing))]
    found: set[str] = set()
    while codes:
        code = codes.pop()
        found |= set(code.co_names)
        codes += [one for one in code.co_consts if inspect.iscode(one)]
    return found
