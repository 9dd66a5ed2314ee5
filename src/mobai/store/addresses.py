"""The address of a storage: what is accepted, and what of it may be shown."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, unquote

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from mobai.errors import InputError, did_you_mean

_ACCEPTED = "sqlite:///FILE, postgresql://USER@HOST/NAME, http://HOST:PORT or memory:"


class Address(NamedTuple):
    """Where a database is: its URL, and for SQLite the file, which may be said to be for reading only."""

    url: sa.URL
    path: Path | None
    read_only: bool

    @classmethod
    def parse(cls, text: str | sa.URL) -> Address:
        """Read an address; one whose reports would not be durable is refused.

        What was given is never shown: it may hold a password, wherever a slip of the pen has put it.
        """
        try:
            url = sa.make_url(text)
        except (SQLAlchemyError, ValueError):
            raise InputError("storage", f"must be {_ACCEPTED}") from None
        if url.get_backend_name() != "sqlite" and isinstance(text, str) and text.count("@") > 1:
            raise InputError("storage", "a password with @, / or ? in it must be percent-encoded (%40, %2F, %3F)")
        scheme = url.drivername.partition("+")[0]
        if scheme in ("postgres", "postgresql"):
            return cls(url.set(drivername="postgresql+psycopg"), None, False)
        if scheme != "sqlite" or url.host or not url.database:
            kind = f", not {scheme}:" if scheme.isalpha() and scheme != "sqlite" else ""
            raise InputError(
                "storage", f"must be {_ACCEPTED}{kind}{did_you_mean(scheme, ('sqlite', 'postgresql'), 0.7)}"
            )
        path, mode = _file(url)
        return cls(sa.URL.create("sqlite", database=str(path)), path, mode == "ro")

    @property
    def shown(self) -> str:
        """The address without its secrets: the password, and whatever comes after a question mark."""
        return shown(self.url)

    @property
    def secrets(self) -> list[str]:
        """The password, and what is given after a question mark under a name like it."""
        given = [str(value) for key, value in self.url.query.items() if "pass" in key.lower()]
        return [secret for secret in (self.url.password, *given) if secret]


def shown(url: sa.URL) -> str:
    """Return an address without its secrets, and without the name of a driver."""
    plain = url.set(drivername=url.get_backend_name(), query={})
    return plain.render_as_string(hide_password=True)


def shown_storage(storage: str) -> str:
    """Return the address of a storage without its secrets; what is none is shown as it is."""
    return storage if storage == "memory:" else Address.parse(storage).shown


def _file(url: sa.URL) -> tuple[Path, str]:
    """Return the file of a database of SQLite, which may be written as a URI, and the mode to open it in."""
    place, options = str(url.database), {key: str(value) for key, value in url.query.items()}
    if place.startswith("file:"):
        place, _, more = place.removeprefix("file:").partition("?")
        place, options = unquote(place), {**options, **dict(parse_qsl(more))}
        place = f"/{place.lstrip('/')}" if place.startswith("//") else place
    options.pop("uri", None)
    mode = options.pop("mode", "rwc")
    if "\0" in place:
        raise InputError("storage", "the path must not hold a null character")
    if place in ("", ":memory:") or mode not in ("ro", "rw", "rwc"):
        raise InputError("storage", f"must be {_ACCEPTED}: SQLite in memory keeps nothing")
    if options:
        raise InputError(
            "storage",
            f"the option {next(iter(options))!r} is not accepted, since nothing may make SQLite less durable; "
            "accepted is mode=ro",
        )
    return Path(place), mode
