"""The names of the rules, as used on the command line, in files and in results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mobai.errors import InputError
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.sampling.d_tracking import DTracking
from mobai.rules.sampling.frank_wolfe import FrankWolfeSampling
from mobai.rules.sampling.mo_bai import MOBAI
from mobai.rules.sampling.successive_elimination import SuccessiveElimination
from mobai.rules.sampling.top_two import TopTwo
from mobai.rules.sampling.track_and_stop import TrackAndStop
from mobai.rules.sampling.uniform import Uniform

SAMPLING: dict[str, Callable[..., SamplingRule]] = {
    TopTwo.name: TopTwo,
    MOBAI.name: MOBAI,
    FrankWolfeSampling.name: FrankWolfeSampling,
    TrackAndStop.name: TrackAndStop,
    DTracking.name: DTracking,
    SuccessiveElimination.name: SuccessiveElimination,
    Uniform.name: Uniform,
}


def sampling_rule(text: str) -> SamplingRule:
    """Build a rule from its name and options.

    Examples
    --------
    >>> sampling_rule("top-two")
    TopTwo()
    >>> sampling_rule("mo-bai:eta=0.5,refresh=every")
    MOBAI(eta=0.5, refresh='every')
    """
    name, options = parse_spec(text)
    if name not in SAMPLING:
        raise InputError(f"rule must be one of {', '.join(SAMPLING)}, not {name!r}")
    try:
        return SAMPLING[name](**options)
    except TypeError:
        raise InputError(f"rule {name!r} does not take the options {', '.join(options)}") from None


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name:key=value,key=value`` into the name and its options, numbers as numbers."""
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{text!r}: options are written key=value, not {part!r}")
        options[key.strip()] = _value(value.strip())
    return name.strip(), options


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return text
