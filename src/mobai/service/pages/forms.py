"""Forms: what a browser sent, as texts by field, and what is wrong with it, field by field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from urllib.parse import parse_qsl

from fastapi import Request

from mobai.service.problems import ProblemError

_MOST_FIELDS = 5_000


class Form:
    """The fields of a form, and what is wrong with them: nothing that was typed is lost.

    Attributes
    ----------
    errors
        What is wrong, in a sentence, by the name of the field; what belongs to none has an empty name.
    """

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self._fields = dict(fields or {})
        self.errors: dict[str, str] = {}

    def __contains__(self, name: str) -> bool:
        """Whether there is such a field."""
        return name in self._fields

    @property
    def names(self) -> list[str]:
        """The names of all fields."""
        return list(self._fields)

    def get(self, name: str, default: str = "") -> str:
        """Return what was typed, without space at its ends."""
        return self._fields.get(name, default).strip()

    def set(self, name: str, text: str) -> None:
        """Fill a field in."""
        self._fields[name] = text

    def lines(self, name: str) -> list[str]:
        """Return the lines of a field that have something in them."""
        return [line.strip() for line in self.get(name).splitlines() if line.strip()]

    def number(self, name: str, default: float | None = None) -> float | None:
        """Return the number in a field, the default if it is empty; None, and an error, if it is no number."""
        text = self.get(name).replace(" ", "").replace("\u00a0", "")
        if not text:
            return default
        try:
            found = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            found = math.nan
        if not math.isfinite(found) or not text.isascii():
            self.error(name, "Must be a number, with a point where it has decimals: 0.05, or 5%.")
            return None
        return found

    def error(self, name: str, text: str) -> None:
        """Say what is wrong with a field; the first word counts."""
        self.errors.setdefault(name, text)


async def read_form(request: Request) -> Form:
    """Return what a browser sent. Of a field that was sent twice, the last one counts."""
    data = await request.body()
    try:
        return Form(
            dict(parse_qsl(data.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"))
        )
    except (UnicodeDecodeError, ValueError):
        raise ProblemError(422, "the form is not UTF-8, or has too many fields") from None
