"""What may be asked of a simulation: arguments in, checked settings out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mobai.engine import Policy
from mobai.errors import InputError
from mobai.problem import Instance
from mobai.problem.files import to_json
from mobai.rules.catalogue import rule_spec, sampling_rule
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.stopping import StoppingRule
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.version import __version__

AnyPolicy = Policy | SamplingRule | str


class PolicyGroup(NamedTuple):
    """One sampling rule and the stopping rules that read its trajectories."""

    rule: SamplingRule
    stoppings: tuple[StoppingRule, ...]


def group_policies(policies: AnyPolicy | Iterable[AnyPolicy]) -> dict[str, PolicyGroup]:
    """Group policies by their sampling rule."""
    given = list(policies) if isinstance(policies, Iterable) and not isinstance(policies, str) else [policies]
    if not given:
        raise InputError("policies: at least one is needed")
    lines: dict[str, PolicyGroup] = {}
    for one in given:
        policy = _policy(one)
        spec = rule_spec(policy.sampling)
        line = lines.get(spec, PolicyGroup(policy.sampling, ()))
        if line.rule != policy.sampling:
            raise InputError(f"policies: two rules are both called {spec}; make them dataclasses, so that options show")
        if policy.stopping.name in [stopping.name for stopping in line.stoppings]:
            raise InputError(f"policies: {spec} with {policy.stopping.name} is given twice")
        lines[spec] = PolicyGroup(line.rule, (*line.stoppings, policy.stopping))
    return lines


def _policy(one: AnyPolicy) -> Policy:
    if isinstance(one, Policy):
        return one
    return Policy(sampling_rule(one) if isinstance(one, str) else one)


def ascending_levels(
    deltas: Iterable[float] | float | None, log_inv_deltas: Iterable[float] | float | None
) -> list[float]:
    """Return the distinct log(1/delta), ascending."""
    if deltas is not None and log_inv_deltas is not None:
        raise InputError("only one of deltas and log_inv_deltas may be given")
    if log_inv_deltas is None:
        levels = [resolve_log_inv_delta(delta) for delta in _several(0.05 if deltas is None else deltas)]
    else:
        levels = [resolve_log_inv_delta(log_inv_delta=x) for x in _several(log_inv_deltas)]
    if not levels:
        raise InputError("deltas: at least one is needed")
    ascending = sorted(set(levels))
    # Two spellings of one delta are one level.
    return [x for n, x in enumerate(ascending) if n == 0 or not math.isclose(x, ascending[n - 1], rel_tol=1e-12)]


def _several(values: Iterable[float] | float) -> list[Any]:
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]


def whole_number(name: str, value: Any, least: int) -> int:
    """Return a plain int, or say which argument is none."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more, not {value!r}")
    return int(value)


def check_settings(
    instance: Instance,
    lines: dict[str, PolicyGroup],
    levels: Sequence[float],
    n_jobs: int | None,
    out: str | Path | None,
) -> None:
    """Refuse what cannot be simulated, before anything is run."""
    if not isinstance(instance, Instance):
        raise InputError(f"instance must be an Instance, not {instance!r}")
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
        raise InputError(f"n_jobs must be a whole number of workers, -1 for all cores, or None, not {n_jobs!r}")
    for spec, line in lines.items():
        if out is not None and not is_dataclass(line.rule):
            raise InputError(f"out: the rule {spec} must be a dataclass, so that its options are kept with its results")
        for stopping in line.stoppings:
            for x in levels:
                stopping.level(instance.problem, x)


def check_focus(lines: dict[str, PolicyGroup], levels: Sequence[float]) -> None:
    """Focused sampling depends on one delta and one stopping rule."""
    if len(levels) > 1 or any(len(line.stoppings) > 1 for line in lines.values()):
        raise InputError("focus: give one delta, and one stopping rule for each sampling rule")


def configuration(
    instance: Instance, lines: dict[str, PolicyGroup], levels: Sequence[float], trials: int, seed: int, max_pulls: int
) -> dict[str, Any]:
    """Return everything that determines the results, as plain data."""
    return {
        "mobai": __version__,
        "instance": to_json(instance),
        "policies": {spec: [stopping.name for stopping in line.stoppings] for spec, line in lines.items()},
        "certified": {spec: [s.name for s in line.stoppings if s.certified] for spec, line in lines.items()},
        "log_inv_deltas": list(levels),
        "trials": trials,
        "seed": seed,
        "max_pulls": max_pulls,
    }
