"""The names of the rules, as used on the command line, in files and in results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, signature
from typing import Any

from mobai.errors import InputError, did_you_mean
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
    if not isinstance(text, str):
        raise InputError(f"rule must be a name such as 'top-two', not {text!r}")
    name, options = parse_spec(text)
    if name not in SAMPLING:
        raise InputError(f"rule must be one of {', '.join(SAMPLING)}, not {name!r}{did_you_mean(name, SAMPLING)}")
    known = signature(SAMPLING[name]).parameters
    for key in options:
        if key not in known:
            guess = did_you_mean(key, known)
            raise InputError(
                f"rule {name!r} does not take the option {key}; it takes {', '.join(known) or 'none'}{guess}"
            )
    for key, parameter in known.items():
        if parameter.default is Parameter.empty and key not in options:
            raise InputError(f"rule {name!r} needs the option {key}, as in {name}:{key}=0.1")
    return SAMPLING[name](**options)


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


def rule_spec(rule: SamplingRule) -> str:
    """Write a rule as text: its name, and the options that differ from their defaults.

    Examples
    --------
    >>> rule_spec(sampling_rule("mo-bai:eta=0.5")), rule_spec(sampling_rule("top-two"))
    ('mo-bai:eta=0.5', 'top-two')
    """
    if not is_dataclass(rule):
        return rule.name
    changed = [(f.name, getattr(rule, f.name)) for f in fields(rule) if getattr(rule, f.name) != f.default]
    options = ",".join(f"{name}={_text(value)}" for name, value in changed)
    return f"{rule.name}:{options}" if options else rule.name


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
