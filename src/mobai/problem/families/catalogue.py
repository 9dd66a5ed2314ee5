"""How families are written, and what can be one."""

from __future__ import annotations

import math
from dataclasses import fields

from mobai.errors import InputError
from mobai.problem.families.base import MODELS, Family, is_number, stated_fields
from mobai.problem.families.bounded import Bernoulli, Bounded
from mobai.problem.families.gaussian import Gaussian, SharedVariance, SubGaussian, UnknownVariance
from mobai.problem.families.quantile import Quantile
from mobai.problem.families.ratio import Ratio, parts_of
from mobai.problem.families.wins import Wins

FAMILIES: dict[str, type[Family]] = {
    family.word: family for family in (Gaussian, SubGaussian, UnknownVariance, SharedVariance, Bernoulli, Bounded, Wins)
}


def parse_family(text: str) -> Family | None:
    """Read the short form of a family; None if it is not one.

    Examples
    --------
    >>> parse_family("bounded=1..5"), parse_family("gaussian=20"), parse_family("clicks")
    (Bounded(low=1.0, high=5.0, bins=None), Gaussian(sd=20.0), None)
    """
    word, equals, value = text.partition("=")
    if word not in FAMILIES:
        return None
    family = FAMILIES[word]
    if not equals:
        if family is Bounded:
            raise InputError("bounded", "needs the range that no reward leaves: bounded=0..1, bounded=0..200")
        return family()
    if family is Bounded and "/" in value:
        return _ratio_of(value)
    try:
        numbers = [float(part) for part in value.split("..")] if "..." not in value else []
    except ValueError:
        return None
    return family(*numbers) if len(numbers) == len(stated_fields(family)) else None


def _ratio_of(value: str) -> Ratio | None:
    """Read the two ranges of a ratio, ``0..200/1..20``; None if they are not."""
    try:
        (low, high), (least, most) = (map(float, part.split("..")) for part in value.split("/"))
    except ValueError:
        return None
    return Ratio(low, high, least, most)


def short_forms() -> list[str]:
    """Return how each family is written.

    Examples
    --------
    >>> short_forms()
    ['gaussian=SD', 'subgaussian=SD', 'unknown-variance', 'shared-variance', 'bernoulli', 'bounded=LOW..HIGH', 'wins',
    'p95']
    """
    names = {
        word: "..".join(field.name.upper() for field in stated_fields(family)) for word, family in FAMILIES.items()
    }
    return [*(f"{word}={parameters}" if parameters else word for word, parameters in names.items()), "p95"]


def choices_for(name: str) -> str:
    """Return how an objective may say what its rewards are, in plain words."""
    return (
        f"{name}:bernoulli (0 or 1), {name}:bounded=LOW..HIGH (scores, ratings, times and money with a cap), "
        f"{name}:unknown-variance (nearly Gaussian: averages), {name}:shared-variance (the same, equally noisy "
        f"in all arms), {name}:gaussian=SD, or {name}:p95 (a quantile of any numbers)"
    )


def check_family(family: object, name: str) -> None:
    """Refuse what cannot be the family of an objective, and say what it lacks."""
    if not isinstance(family, Family):
        raise InputError(f"the family must be one such as Bernoulli(), not {family!r}", metric=name)
    if not family.word:
        raise InputError(f"the family {type(family).__name__} lacks a word, its name in files", metric=name)
    if family.model not in MODELS:
        raise InputError(
            f"the family {family.word!r} lacks a model, one of {', '.join(MODELS)}, to weigh its evidence with",
            metric=name,
        )
    if (family.model == "normal") != family.known_noise:
        fact = "must say known_noise = True" if family.model == "normal" else "must leave known_noise False"
        raise InputError(f"the family {family.word!r} {fact}, having the model {family.model!r}", metric=name)
    for model, kind in (("quantile", Quantile), ("ratio", Ratio)):
        if family.model == model and not isinstance(family, kind):
            raise InputError(
                f"the family {family.word!r} must derive from {kind.__name__} to have its model", metric=name
            )
    if isinstance(family, Ratio):
        parts_of(name)
    values = [getattr(family, field.name) for field in fields(family)]
    if not all(value is None or is_number(value) for value in values):
        raise InputError(f"the fields of the family {family.word!r} must be numbers, or None", metric=name)
    low, high = family.range
    if not low < high:
        raise InputError(f"the range of the family {family.word!r} must be two numbers, low < high", metric=name)
    if family.model == "unit" and not high - low < math.inf:
        raise InputError(f"the family {family.word!r} lacks a finite range, which 'unit' needs", metric=name)
