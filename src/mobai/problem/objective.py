"""A metric: its name, which direction is better, what is known of its rewards, and which differences matter."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from mobai.errors import InputError, did_you_mean
from mobai.problem.families import (
    FAMILIES,
    LARGEST_BINS,
    Bounded,
    Family,
    Gaussian,
    Quantile,
    Ratio,
    check_family,
    is_number,
    level_of,
    parse_family,
    parts_of,
    quantile_of,
    short_forms,
)
from mobai.problem.window import check_window, seconds_of, window_words

Direction = Literal["max", "min"]
_OPTIONS = ("eps", "bins", "window", "otherwise")
_WORDS_OF_OTHERS = {
    "binary": "bernoulli",
    "boolean": "bernoulli",
    "binomial": "bernoulli",
    "conversion": "bernoulli",
    "normal": "unknown-variance",
    "continuous": "unknown-variance",
    "mean": "unknown-variance",
    "range": "bounded",
    "uniform": "bounded",
    "maximize": "max",
    "minimize": "min",
    "maximise": "max",
    "minimise": "min",
}


def is_name(value: object) -> bool:
    """Whether this can be a name in a file: printable, not empty, without space at its ends."""
    return isinstance(value, str) and value == value.strip() != "" and value.isprintable()


@dataclass(frozen=True)
class Objective:
    """A metric to be optimised.

    Parameters
    ----------
    name
        How the metric is called in files and reports. A quantile is called after what is reported and what it is,
        ``latency p95``, whichever of the two is given.
    direction
        ``"max"`` when more is better, ``"min"`` when less is.
    family
        What is known about its rewards: :class:`Gaussian`, :class:`SubGaussian`, :class:`UnknownVariance`,
        :class:`SharedVariance`, :class:`Bernoulli` or :class:`Bounded`.
    eps
        The indifference zone: any arm within eps of the best is a right answer.
    window, otherwise
        How many seconds a live experiment waits for it, and what it counts as when it has not come by then: both, or
        neither.

    Attributes
    ----------
    column
        What is reported for it: its name, but ``latency`` for a metric that is its quantile. Several may read one.
    """

    name: str
    direction: Direction = "max"
    family: Family = field(default_factory=Gaussian)
    eps: float = 0.0
    window: float | None = field(default=None, kw_only=True)
    otherwise: float | None = field(default=None, kw_only=True)
    column: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse what could not be written to a file and read back."""
        if is_name(self.name) and isinstance(self.family, Family):
            object.__setattr__(self, "column", column_of(self.name, self.family))
            object.__setattr__(self, "name", called(self.column, self.family))
        if not is_name(self.name) or (self.name.startswith("sd(") and self.name.endswith(")")):
            raise InputError(
                "objective",
                "the name must be a non-empty string of printable characters, no space at its ends, "
                f"not of the form sd(...), not {self.name!r}",
            )
        if self.direction not in ("max", "min"):
            raise InputError(f"the direction must be 'max' or 'min', not {self.direction!r}", metric=self.name)
        check_family(self.family, self.name)
        low, high = self.family.range
        if not is_number(self.eps) or not 0 <= self.eps < high - low:
            width = "" if high == math.inf else f", less than {high - low:g}"
            raise InputError("eps", f"must be a number, 0 or more{width}, not {self.eps!r}", metric=self.name)
        check_window(self.name, self.family, self.window, self.otherwise)

    @property
    def columns(self) -> tuple[str, ...]:
        """What is reported for it: one number, or the two of a ratio."""
        return parts_of(self.name) if isinstance(self.family, Ratio) else (self.column,)

    def reported(self, reward: float) -> dict[str, float]:
        """Return a reward by name, as it was reported: that of a ratio as its two numbers."""
        if not isinstance(self.family, Ratio):
            return {self.name: reward}
        pair = self.family.unpacked(reward) if math.isfinite(reward) else (reward, reward)
        return dict(zip(self.columns, pair, strict=True))

    @property
    def has_worst(self) -> bool:
        """Whether there is a worst that it could be: an end of its range, or the loss of a comparison."""
        return math.isfinite(self.family.range[0]) or self.family.counts_wins

    @property
    def sign(self) -> float:
        """+1 when more is better, -1 when less is: multiply rewards by it and always maximise."""
        return 1.0 if self.direction == "max" else -1.0

    @classmethod
    def parse(cls, text: str) -> Objective:
        r"""Read the short form used in files and on the command line: the name, then options after colons.

        Options are a direction (``max``, ``min``), a quantile (``p95``) in place of the mean, a family
        (``gaussian=20``, ``unknown-variance``, ``shared-variance``, ``bernoulli``, ``bounded=1..5``,
        ``subgaussian=2``), ``bins=100`` after ``bounded``, ``eps=0.1``, and ``window=1h`` with ``otherwise=0``, in any
        order. A colon that belongs to the name is written ``\:``.

        Examples
        --------
        >>> Objective.parse("latency:min:unknown-variance")
        Objective(name='latency', direction='min', family=UnknownVariance(), eps=0.0, window=None, otherwise=None)
        >>> Objective.parse("rating:bounded=1..5:eps=0.1").family
        Bounded(low=1.0, high=5.0, bins=None)
        >>> print(Objective.parse("latency:min:p95:bounded=0..30000").name)
        latency p95
        """
        name, *words = split_words(text)
        options: dict[str, Any] = {}
        for word in words:
            key, value = read_option(name, word)
            if key in options:
                raise InputError(f"its {key} is given twice, as {options[key]!s} and {value!s}", metric=name)
            options[key] = value
        join_family(name, options)
        return cls(name, **options)

    def __str__(self) -> str:
        """Return the short form that :meth:`parse` reads back."""
        parts = [escaped(self.column)]
        if self.direction == "min":
            parts.append(self.direction)
        if self.family != Gaussian():
            parts.append(str(self.family))
        if self.eps:
            parts.append(f"eps={float(self.eps)!r}")
        return ":".join([*parts, *window_words(self.window, self.otherwise)])


def called(column: str, family: Family) -> str:
    """Return what a metric is called, given what is reported for it."""
    return f"{column} {family.functional}" if isinstance(family, Quantile) else column


def column_of(name: str, family: Family) -> str:
    """Return what is reported for a metric, given what it is called, or that itself."""
    return name.removesuffix(f" {family.functional}") if isinstance(family, Quantile) else name


def escaped(name: str) -> str:
    """Return a name as the short form has it."""
    return name.replace("\\", "\\\\").replace(":", "\\:")


def split_words(text: str) -> list[str]:
    """Return what is between colons; a backslash makes a colon, or another backslash, part of a word."""
    # No name holds a control character, so two of them can stand for what is escaped.
    marked = text.replace("\\\\", "\1").replace("\\:", "\2")
    return [word.replace("\1", "\\").replace("\2", ":").strip() for word in marked.split(":")]


def read_option(name: str, text: str) -> tuple[str, Any]:
    """Read one option of the short form."""
    if text in ("max", "min"):
        return "direction", text
    key, equals, value = text.partition("=")
    if key in FAMILIES:
        return "family", _family(name, text)
    level = level_of(text)
    if level is not None:
        return "level", level
    if equals and key == "eps":
        return "eps", _number(name, key, value)
    if equals and key == "otherwise":
        return "otherwise", _number(name, key, value)
    if equals and key == "window":
        try:
            return "window", seconds_of(value)
        except InputError as error:
            raise error.within(metric=name) from None
    if equals and key == "bins":
        if not value.isdecimal():
            raise InputError("bins", f"must be an integer from 1 to {LARGEST_BINS:,}, not {value!r}", metric=name)
        return "bins", int(value)
    if equals and key in ("at-most", "at-least", "within"):
        raise InputError(
            f"{key} is a limit, which an objective does not have; state it as a guardrail: "
            f"--guardrail {name}:{text}, or guardrails=[...]",
            metric=name,
        )
    meant = _WORDS_OF_OTHERS.get(key.lower())
    guess = f"; did you mean {meant!r}?" if meant else did_you_mean(key, ("max", "min", *FAMILIES, *_OPTIONS))
    options = ("eps=NUMBER", "bins=INTEGER", "window=TIME", "otherwise=NUMBER")
    forms = ", ".join(("max", "min", *short_forms(), *options))
    raise InputError(f"{text!r} is not an option{guess or ','} accepted are {forms}", metric=name)


def _number(name: str, key: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise InputError(key, f"must be a number, not {value!r}", metric=name) from None


def join_family(name: str, options: dict[str, Any]) -> None:
    """Make one family of the options that state it together: its bins, and the level of a quantile; in place."""
    if "bins" in options:
        options["family"] = with_bins(name, options.get("family"), options.pop("bins"))
    if "level" in options:
        options["family"] = quantile_of(name, options.pop("level"), options.get("family"))


def with_bins(name: str, family: object, bins: int) -> Family:
    """Return a bounded family with a number of bins stated."""
    if not isinstance(family, Bounded):
        raise InputError("bins belongs to the family bounded=LOW..HIGH", metric=name)
    return replace(family, bins=bins)


def _family(name: str, text: str) -> Family:
    try:
        family = parse_family(text)
    except InputError as error:
        raise error.within(metric=name) from None
    if family is None and text.partition("=")[0] == "bounded":
        raise InputError("bounded", f"needs two ends, bounded=LOW..HIGH such as 0..100, not {text!r}", metric=name)
    if family is None:
        raise InputError(f"{text!r} must be written as one of {', '.join(short_forms())}", metric=name)
    return family
