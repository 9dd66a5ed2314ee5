"""The errors a user can cause. Each message is one line that names the argument and what would be accepted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from typing import Self

_LONGEST_WORD, _LONGEST_MESSAGE = 120, 2_000
# A message that begins with one of these goes on with what it is about.
_VERBS = ("must ", "is ", "was ", "has ", "does ", "needs ")


def shortened(text: str, longest_word: int = _LONGEST_WORD) -> str:
    """Return a text whose words, and which itself, are cut where they are too long for one line.

    Examples
    --------
    >>> shortened("not " + 1000 * "x" + "!")[:10], len(shortened(1000 * "x"))
    ('not xxxxxx', 123)
    """
    if len(text) <= longest_word:
        return text
    short = re.sub(rf"\S{{{longest_word},}}", lambda word: word.group()[:longest_word] + "...", text)
    return short if len(short) <= _LONGEST_MESSAGE else short[:_LONGEST_MESSAGE] + "..."


class InputError(ValueError):
    """Something that mobai cannot accept. Nothing was changed.

    It is told as an argument and what is wrong with it, ``InputError("delta", "must be between 0 and 1")``, or as one
    sentence. Nobody has to read the sentence to know what it is about.

    Attributes
    ----------
    argument, message
        What was given, None if it is no single argument, and what is wrong with it.
    source, row, assignment, unit
        Where it was: in which file, in which row or report, counted from 1, of which assignment or unit.
    arm, metric
        Which arm and which metric it is about.
    hint
        What else to know or to try, in the words of the library; None for nothing.

    Examples
    --------
    >>> error = InputError("eps", "must be a number, not 'x'", metric="clicks").within(row=3)
    >>> str(error), error.argument, error.row
    ("row 3: metric 'clicks': eps must be a number, not 'x'", 'eps', 3)
    """

    def __init__(
        self,
        argument: str | None,
        message: str | None = None,
        *,
        source: str | None = None,
        row: int | None = None,
        assignment: int | None = None,
        unit: str | None = None,
        arm: str | None = None,
        metric: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(argument, message)  # what it is made of again in another process
        self.argument = None if message is None else argument
        self.message = (argument or "") if message is None else message
        self.source, self.row, self.assignment, self.unit = source, row, assignment, unit
        self.arm, self.metric, self.hint = arm, metric, hint

    def within(self, **place: str | int | None) -> Self:
        """Return the same error, found in a ``source``, a ``row`` or the like."""
        found = copy(self)
        vars(found).update(place)
        return found

    def __str__(self) -> str:
        """Say it in one line, from the outside in."""
        words = "row", "assignment", "unit", "metric"
        named = [f"{word} {found!r}" for word in words if (found := getattr(self, word)) is not None]
        places = [place for place in (self.source, *named, self.argument) if place is not None]
        joint = " " if self.message.startswith(_VERBS) else ": "
        hint = "" if self.hint is None else f"; {self.hint}"
        return shortened(": ".join(places) + (joint if places else "") + self.message + hint)


class TieError(InputError):
    """Two arms share the best mean of an objective, so no number of samples can tell them apart."""


class ConvergenceError(RuntimeError):
    """A solver could not certify its answer to the accuracy it promises. Please report the instance."""


class NotFoundError(InputError):
    """There is nothing of that name or number."""


class ConflictError(InputError):
    """What is asked for contradicts what is there: another report, a name that is taken, a closed experiment."""


class StorageError(Exception):
    """A storage that cannot be read or written as it should: full, read-only, damaged, foreign or too new."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(message, 500))


class HistoryChangedError(StorageError):
    """A journal that is no longer the one that was read. Whoever has read it must load the experiment again."""


class FileReplacedError(HistoryChangedError):
    """The file of a storage is another one than was opened. What is there now is read once it is opened anew."""


def visible(text: str) -> str:
    """Return a text with control characters escaped, new lines aside: a terminal would obey them.

    Examples
    --------
    >>> visible(chr(27) + "[2Jgone") == chr(92) + "x1b[2Jgone"
    True
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else one.encode("unicode_escape").decode() for one in text)


def refuse_unknown(function: str, given: Iterable[str], accepted: type) -> None:
    """Raise the TypeError of a keyword that a typed dictionary of options does not have, naming the nearest one."""
    known = list(accepted.__annotations__)
    for name in given:
        if name not in known:
            guess = did_you_mean(name, known)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{guess}")


def did_you_mean(word: str, accepted: Iterable[str], cutoff: float = 0.5) -> str:
    """Return a question that names the accepted word nearest to a mistyped one, or nothing.

    Examples
    --------
    >>> did_you_mean("creat", ["create", "status"])
    "; did you mean 'create'?"
    """
    from difflib import get_close_matches

    nearest = get_close_matches(word.lower().replace("_", "-"), list(accepted), n=1, cutoff=cutoff)
    return f"; did you mean {nearest[0]!r}?" if nearest and nearest[0] != word else ""
