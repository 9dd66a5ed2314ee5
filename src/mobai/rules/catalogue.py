"""The names of the rules, as used on the command line, in files and in results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from inspect import Parameter, signature
from typing import Any

from mobai.errors import InputError, did_you_mean
from mobai.extras import find_object
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.sampling.d_tracking import DTracking
from mobai.rules.sampling.frank_wolfe import FrankWolfeSampling
from mobai.rules.sampling.mo_bai import MOBAI
from mobai.rules.sampling.race import Race
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
# Those that need a design: an engine of its own chooses for them.
OF_DESIGNS: dict[str, Callable[..., SamplingRule]] = {Race.name: Race}


def sampling_rule(text: str) -> SamplingRule:
    """Build a rule from its name and options.

    Examples
    --------
    >>> sampling_rule("top-two")
    TopTwo()
    >>> sampling_rule("mo-bai:eta=0.5,refresh=every")
    MOBAI(eta=0.5, refresh='every')

    A rule of one's own is named by its module and class, with options after another colon:
    ``package.module:Class:key=value``.
    """
    if not isinstance(text, str):
        raise InputError("rule", f"must be a name such as 'top-two', not {text!r}")
    name, options = parse_spec(text)
    if ":" in name:
        return _build(name, _own_class(name), options)
    if name in OF_DESIGNS:
        return _build(name, OF_DESIGNS[name], options)
    if name not in SAMPLING:
        known = f"{', '.join(SAMPLING)} or package.module:Class"
        raise InputError("rule", f"must be one of {known}, not {name!r}{did_you_mean(name, SAMPLING)}")
    return _build(name, SAMPLING[name], options)


def _build(name: str, make: Callable[..., SamplingRule], options: dict[str, Any]) -> SamplingRule:
    """Make a rule, once its options are seen to fit."""
    known = _parameters(name, make)
    for key in options:
        if key not in known:
            guess = did_you_mean(key, known)
            raise InputError(
                f"rule {name!r} does not take the option {key}; it takes {', '.join(known) or 'none'}{guess}"
            )
    for key, parameter in known.items():
        if parameter.default is Parameter.empty and key not in options:
            raise InputError(f"rule {name!r} needs the option {key}, as in {name}:{key}=0.1")
    try:
        rule = make(**options)
    except InputError:
        raise
    except Exception as error:
        raise InputError("rule", f"{name} cannot be made: {str(error) or type(error).__name__}") from None
    if isinstance(rule, type) or not isinstance(rule, SamplingRule):
        raise InputError("rule", f"{name} must have name, stopping, init and choose, as mobai.SamplingRule says")
    return rule


def _own_class(path: str) -> Callable[..., SamplingRule]:
    """Return a class of somebody's own; nothing else is ever called, whatever a journal names."""
    found = find_object(path, "rule")
    if not isinstance(found, type) or not all(callable(getattr(found, method, None)) for method in ("init", "choose")):
        raise InputError(
            "rule", f"{path} must be a class with name, stopping, init and choose, as mobai.SamplingRule says"
        )
    made: Callable[..., SamplingRule] = found
    return made


def _parameters(name: str, make: Callable[..., SamplingRule]) -> Mapping[str, Parameter]:
    try:
        return signature(make).parameters
    except (TypeError, ValueError):
        raise InputError("rule", f"{name} must be a class of sampling rules, not {make!r}") from None


def parse_spec(text: str) -> tuple[str, dict[str, Any]]:
    """Split ``name:key=value,key=value`` into the name and its options, numbers as numbers; ``module:Class`` is a name.

    Examples
    --------
    >>> parse_spec("my.rules:Greedy:eta=0.5")
    ('my.rules:Greedy', {'eta': 0.5})
    """
    name, _, rest = text.partition(":")
    head, _, tail = rest.partition(":")
    if head.strip().isidentifier() and name.strip() not in SAMPLING:
        name, rest = f"{name.strip()}:{head.strip()}", tail
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


def rule_address(rule: SamplingRule) -> str:
    """Write a rule as text that :func:`sampling_rule` reads back in another process."""
    made = type(rule)
    if made in (SAMPLING.get(rule.name), OF_DESIGNS.get(rule.name)):
        return rule_spec(rule)
    address = f"{made.__module__}:{made.__qualname__}"
    _, _, options = rule_spec(rule).partition(":")
    written = f"{address}:{options}" if options else address
    if made.__module__ == "__main__" or "<" in address or not _same(sampling_rule(written), rule):
        raise InputError("rule", f"{address} cannot be found again; make it a dataclass at the top of a module")
    return written


def _same(one: SamplingRule, other: SamplingRule) -> bool:
    """Whether two rules choose alike: they are equal, or of one class with equal attributes."""
    return one == other or (type(one) is type(other) and getattr(one, "__dict__", 0) == getattr(other, "__dict__", 1))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
