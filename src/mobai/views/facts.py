"""Fields of results in JSON: a field with a ``fact(...)`` is in the JSON, in its schema, and read back by the twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple


class Fact(NamedTuple):
    """What a field is in JSON: what it means there, its type, how it is written and how it is read back."""

    about: str
    type: Any
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


def _as_it_is(value: Any) -> Any:
    return value


def fact(
    about: str, type: Any, *, write: Callable[[Any], Any] = _as_it_is, read: Callable[[Any], Any] = _as_it_is
) -> dict[Any, Fact]:
    """Return what is said of a dataclass's field that is part of its JSON, under the same name.

    Examples
    --------
    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Shelf:
    ...     books: tuple[str, ...] = field(metadata=fact("Their titles.", list[str], write=list, read=tuple))
    >>> facts_json(Shelf(("Ulysses",)))
    {'books': ['Ulysses']}
    >>> Shelf(**facts_of(Shelf, {"books": ["Ulysses"], "dust": 3}))
    Shelf(books=('Ulysses',))
    """
    return {Fact: Fact(about, type, write, read)}


def facts_in(kind: type) -> dict[str, Fact]:
    """Return the facts that a dataclass declares, by name."""
    return {one.name: one.metadata[Fact] for one in fields(kind) if Fact in one.metadata}


def facts_json(result: Any) -> dict[str, Any]:
    """Return the facts of a result as plain data."""
    return {name: one.write(getattr(result, name)) for name, one in facts_in(type(result)).items()}


def facts_of(kind: type, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments for a dataclass, from what :func:`facts_json` made."""
    return {name: one.read(data[name]) for name, one in facts_in(kind).items() if name in data}
