"""A limit that an arm must keep, whatever it is best at: on the mean of a metric, or on its distance to a baseline."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from mobai.errors import InputError, did_you_mean
from mobai.problem.families import (
    FAMILIES,
    Bounded,
    Family,
    Quantile,
    Ratio,
    check_family,
    is_number,
    level_of,
    parts_of,
    short_forms,
)
from mobai.problem.objective import (
    Direction,
    Objective,
    called,
    column_of,
    escaped,
    is_name,
    join_family,
    read_option,
    split_words,
)
from mobai.problem.window import check_window, window_words

LIMITS = ("at-most", "at-least", "within")
# In place of an arm: the answer that no arm keeps every limit. (-1 stands for no answer yet.)
NOBODY = -2


@dataclass(frozen=True)
class Guardrail:
    """A limit on a metric. It is not optimised: the best arm of an objective is sought among arms that keep it.

    Parameters
    ----------
    metric
        The name of the metric, which may be an objective, too.
    family
        What is known about its rewards; None if the metric is an objective, which says it.
    at_most, at_least
        The limit of the mean: one of the two, or ``within``.
    within, of
        The margin by which the mean may be worse than that of the arm ``of``.
    direction
        Which direction is better, with ``within``: ``"max"`` or ``"min"``; that of the objective of the same name, or
        ``"max"``, unless given. A limit says it by itself.
    eps
        The tolerance: an arm said to keep the limit is beyond it by eps at most, and one said to break it is beyond it.
        Between the two, either may be said. Without it nothing can ever be said of an arm that is on the limit.
    window, otherwise
        As for :class:`Objective`; of a metric that is an objective, that says it.

    Examples
    --------
    >>> Guardrail.parse("errors:bernoulli:at-most=0.02:eps=0.005")
    Guardrail(metric='errors', family=Bernoulli(), at_most=0.02, at_least=None, within=None, of=None, ...)
    """

    metric: str
    family: Family | None = None
    at_most: float | None = None
    at_least: float | None = None
    within: float | None = None
    of: str | None = None
    direction: Direction | None = None
    eps: float = 0.0
    window: float | None = field(default=None, kw_only=True)
    otherwise: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what is no limit."""
        if not is_name(self.metric):
            raise InputError("guardrail", f"the metric must be a name of printable characters, not {self.metric!r}")
        if isinstance(self.family, Family):
            object.__setattr__(self, "metric", called(column_of(self.metric, self.family), self.family))
        stated = [value for value in (self.at_most, self.at_least, self.within) if value is not None]
        if len(stated) != 1:
            raise self._complaint(None, "needs one number: at-most=NUMBER, at-least=NUMBER or within=NUMBER:of=ARM")
        if not is_number(stated[0]):
            raise self._complaint("limit", f"must be a finite number, at most 1e100 in size, not {stated[0]!r}")
        if (self.within is None) != (self.of is None) or (self.within is not None and self.within < 0):
            raise self._complaint("within=NUMBER, 0 or more, goes with of=ARM, the arm it is measured from")
        if not is_number(self.eps) or not self.eps >= 0:
            raise self._complaint("eps", f"must be a number, 0 or more, not {self.eps!r}")
        if self.direction not in (None, "max", "min"):
            raise self._complaint(f"the direction must be 'max' or 'min', not {self.direction!r}")
        if self.within is None:
            own = "max" if self.at_most is None else "min"
            if self.direction not in (None, own):
                raise self._complaint(f"{self.direction!r} goes with within=; a limit says it by itself")
            object.__setattr__(self, "direction", own)
        elif self.direction is None and self.family is not None:
            object.__setattr__(self, "direction", "max")
        if self.family is not None:
            check_family(self.family, self.metric)
            self._check_range(self.family)
            check_window(self.metric, self.family, self.window, self.otherwise)

    def _check_range(self, family: Family) -> None:
        """Refuse a limit that every reward keeps, or none."""
        if isinstance(family, Ratio) and self.within is not None:
            raise self._complaint("a ratio has no margin; state a limit, at-least= or at-most=")
        low, high = family.range
        if self.limit is not None and not low < self.limit < high:
            raise self._complaint("limit", f"must lie between {low:g} and {high:g}, both excluded")
        if self.within is not None and not self.within + self.eps < high - low:
            raise self._complaint(f"within and eps together must be less than {high - low:g}")
        if self.limit is not None and not low < self.bound < high:
            raise self._complaint("eps", f"must be less than {min(high - self.limit, self.limit - low):g}")

    def _complaint(self, argument: str | None, message: str | None = None) -> InputError:
        return InputError(argument, message, metric=self.metric)

    @property
    def column(self) -> str:
        """What is reported for its metric."""
        return self.metric if self.family is None else column_of(self.metric, self.family)

    @property
    def columns(self) -> tuple[str, ...]:
        """What is reported for its metric: one number, or the two of a ratio."""
        return parts_of(self.metric) if isinstance(self.family, Ratio) else (self.column,)

    @property
    def limit(self) -> float | None:
        """The limit of the mean, None for a margin against a baseline."""
        return self.at_most if self.at_least is None else self.at_least

    @property
    def bound(self) -> float:
        """Where an arm said to keep the limit lies at the worst; that of a margin, which grows by eps."""
        if self.within is not None:
            return self.within + self.eps
        return self.at_most + self.eps if self.at_most is not None else float(self.at_least or 0.0) - self.eps

    @property
    def sign(self) -> float:
        """+1 when more is better, -1 when less is."""
        return -1.0 if self.direction == "min" else 1.0

    def keeps(self, mean: float, baseline: float = 0.0, tolerance: float = 0.0) -> bool:
        """Whether an arm with this mean keeps the limit, or is beyond it by no more than the tolerance."""
        limit = self.limit if self.within is None else baseline - self.sign * self.within
        return bool(self.sign * (mean - float(limit or 0.0)) >= -tolerance * (1 + 1e-9))

    def among(self, objectives: Iterable[Objective]) -> Guardrail:
        """Return the guardrail with what objectives that read the same column say of it, where it does not.

        A quantile without a range has theirs; one that is an objective itself needs no family.
        """
        if not isinstance(self.family, Quantile) or self.family.low is not None:
            return self
        for objective in objectives:
            if objective.name == self.metric:
                return replace(self, family=None)
            if objective.column == self.column and isinstance(objective.family, Bounded | Quantile):
                low, high, bins = objective.family.low, objective.family.high, objective.family.bins
                return replace(self, family=Quantile(self.family.level, low, high, bins))
        return self

    def of_objective(self, objective: Objective) -> Guardrail:
        """Return the guardrail of a metric that is an objective, too, and says what its rewards are."""
        if self.family is not None or self.window is not None:
            raise self._complaint("the objective of that name says already what its rewards are; leave it out here")
        self._check_range(objective.family)
        if self.within is None:
            return self
        if self.direction not in (None, objective.direction):
            raise self._complaint(f"its objective says {objective.direction!r}, not {self.direction!r}")
        return replace(self, direction=objective.direction)

    @property
    def claims(self) -> int:
        """How many claims about an arm can be false at once: without a tolerance, two of one that is on the limit."""
        return 1 if self.eps > 0 else 2

    @property
    def words(self) -> str:
        """The limit in words."""
        if self.within is not None:
            worse = "above" if self.direction == "min" else "below"
            return f"at most {self.within:g} {worse} {self.of}"
        return f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"

    @classmethod
    def parse(cls, text: str) -> Guardrail:
        """Read the short form: the metric, then options after colons.

        Options are a family, ``at-most=``, ``at-least=`` or ``within=`` with ``of=``, ``eps=``, and with ``within`` a
        direction.
        """
        if not isinstance(text, str):
            raise InputError("guardrails", f"must be short forms or Guardrail values, not {text!r}")
        name, *words = split_words(text)
        options: dict[str, Any] = {}
        for word in words:
            key, value = _read(name, word)
            if key in options:
                raise InputError(f"its {key.replace('_', '-')} is given twice", metric=name)
            options[key] = value
        join_family(name, options)
        return cls(name, **options)

    def __str__(self) -> str:
        """Return the short form that :meth:`parse` reads back."""
        parts = [escaped(self.column)]
        if self.within is not None and self.direction == "min":
            parts.append("min")
        if self.family is not None:
            parts.append(str(self.family))
        for key in LIMITS:
            value = getattr(self, key.replace("-", "_"))
            if value is not None:
                parts.append(f"{key}={float(value)!r}")
        if self.of is not None:
            parts.append("of=" + escaped(self.of))
        eps = [f"eps={float(self.eps)!r}"] if self.eps else []
        return ":".join([*parts, *eps, *window_words(self.window, self.otherwise)])


def is_guardrail(text: str) -> bool:
    """Whether a short form states a limit."""
    return any(word.partition("=")[0].strip() in LIMITS for word in split_words(text)[1:])


def _read(name: str, word: str) -> tuple[str, Any]:
    """Read one option of the short form."""
    key, equals, value = word.partition("=")
    if key == "of" and equals:
        return "of", value
    if key in LIMITS and equals:
        try:
            return key.replace("-", "_"), float(value)
        except ValueError:
            raise InputError(key, f"must be a number, not {value!r}", metric=name) from None
    known = ("max", "min", *FAMILIES, "eps", "bins", "window", "otherwise")
    if key in known or level_of(word) is not None:
        return read_option(name, word)
    accepted = (*known, *LIMITS, "of")
    forms = ", ".join((*(f"{limit}=NUMBER" for limit in LIMITS), "of=ARM", "eps=NUMBER", *short_forms()))
    raise InputError(f"{word!r} is not an option{did_you_mean(key, accepted) or ','} accepted are {forms}", metric=name)
