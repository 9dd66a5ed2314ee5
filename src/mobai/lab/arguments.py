"""What may be asked of a simulation: arguments in, a checked specification out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, is_dataclass
from typing import Any, NamedTuple, TypedDict

import numpy as np

from mobai.engine import Policy
from mobai.errors import InputError, TieError
from mobai.lab.own_code import own_code
from mobai.problem import Instance
from mobai.problem.codec import instance_json
from mobai.rules.catalogue import rule_spec, sampling_rule
from mobai.rules.sampling.base import SamplingRule
from mobai.rules.stopping import StoppingRule
from mobai.theory.confidence import resolve_log_inv_delta
from mobai.version import __version__

MOST_PULLS = 10_000_000
AnyPolicy = Policy | SamplingRule | str


class PolicyGroup(NamedTuple):
    """One sampling rule and the stopping rules that read its trajectories."""

    rule: SamplingRule
    stoppings: tuple[StoppingRule, ...]


class SimulationOptions(TypedDict, total=False):
    """Keyword arguments of :func:`mobai.simulate`: the deltas, ``max_pulls`` and ``focus``."""

    deltas: Iterable[float] | float | None
    log_inv_deltas: Iterable[float] | float | None
    max_pulls: int | None
    focus: bool


@dataclass(frozen=True, eq=False)
class SimulationSpec:
    """Everything that determines the results of a simulation, checked.

    Attributes
    ----------
    instance
        The true means and noise.
    groups
        Sampling rules by their specification, each with its stopping rules.
    log_inv_deltas
        The log(1/delta) to stop at, ascending.
    trials, seed
        Trials 0, 1, ... of the seed.
    max_pulls
        A trial that is not decided by then is given up.
    focus
        Whether sampling ignores objectives that are already decided.
    """

    instance: Instance
    groups: dict[str, PolicyGroup]
    log_inv_deltas: tuple[float, ...]
    trials: int
    seed: int
    max_pulls: int
    focus: bool

    @property
    def config(self) -> dict[str, Any]:
        """The specification as plain data, to be kept with the results."""
        groups = self.groups.items()
        code = own_code(self._parts())
        return {
            **({"code": code} if code else {}),
            "mobai": __version__,
            "instance": instance_json(self.instance),
            "policies": {spec: [stopping.name for stopping in group.stoppings] for spec, group in groups},
            "certified": {spec: [s.name for s in group.stoppings if s.certified] for spec, group in groups},
            "log_inv_deltas": list(self.log_inv_deltas),
            "trials": self.trials,
            "seed": self.seed,
            "max_pulls": self.max_pulls,
            "focus": self.focus,
        }

    def _parts(self) -> Iterator[Any]:
        """Return what may be somebody's own: rules, and families of metrics."""
        for group in self.groups.values():
            yield from (group.rule, *group.stoppings)
        yield from (metric.family for metric in self.instance.problem.metrics)


def specify(
    instance: Instance,
    policies: AnyPolicy | Iterable[AnyPolicy],
    trials: int,
    seed: int,
    *,
    deltas: Iterable[float] | float | None = None,
    log_inv_deltas: Iterable[float] | float | None = None,
    max_pulls: int | None = None,
    focus: bool = False,
) -> SimulationSpec:
    """Check the arguments of a simulation and put its specification together."""
    if not isinstance(instance, Instance):
        raise InputError("instance", f"must be an Instance, not {instance!r}")
    if max_pulls is None:
        try:
            instance.check_unique_best()
        except TieError as error:
            raise error.within(hint="state max_pulls to simulate it all the same") from None
    spec = SimulationSpec(
        instance,
        group_policies(policies),
        tuple(ascending_log_inv_deltas(deltas, log_inv_deltas)),
        whole_number("trials", trials, 1),
        whole_number("seed", seed, 0),
        whole_number("max_pulls", MOST_PULLS if max_pulls is None else max_pulls, 1),
        bool(focus),
    )
    _check_stopping(spec)
    return spec


def group_policies(policies: AnyPolicy | Iterable[AnyPolicy]) -> dict[str, PolicyGroup]:
    """Group policies by their sampling rule."""
    given = list(policies) if isinstance(policies, Iterable) and not isinstance(policies, str) else [policies]
    if not given:
        raise InputError("policies", "at least one is needed")
    groups: dict[str, PolicyGroup] = {}
    for one in given:
        policy = _policy(one)
        spec = rule_spec(policy.sampling)
        group = groups.get(spec, PolicyGroup(policy.sampling, ()))
        if group.rule != policy.sampling:
            raise InputError(
                "policies", f"two rules are both called {spec}; make them dataclasses, so that options show"
            )
        if policy.stopping.name in [stopping.name for stopping in group.stoppings]:
            raise InputError("policies", f"{spec} with {policy.stopping.name} is given twice")
        groups[spec] = PolicyGroup(group.rule, (*group.stoppings, policy.stopping))
    return groups


def _policy(one: AnyPolicy) -> Policy:
    if isinstance(one, Policy):
        return one
    return Policy(sampling_rule(one) if isinstance(one, str) else one)


def ascending_log_inv_deltas(
    deltas: Iterable[float] | float | None, log_inv_deltas: Iterable[float] | float | None
) -> list[float]:
    """Return the distinct log(1/delta), ascending."""
    if deltas is not None and log_inv_deltas is not None:
        raise InputError("only one of deltas and log_inv_deltas may be given")
    if log_inv_deltas is None:
        given = [resolve_log_inv_delta(delta) for delta in _several(0.05 if deltas is None else deltas)]
    else:
        given = [resolve_log_inv_delta(log_inv_delta=x) for x in _several(log_inv_deltas)]
    if not given:
        raise InputError("deltas", "at least one is needed")
    ascending = sorted(set(given))
    # Two spellings of one delta are one.
    return [x for n, x in enumerate(ascending) if n == 0 or not math.isclose(x, ascending[n - 1], rel_tol=1e-12)]


def _several(values: Iterable[float] | float) -> list[Any]:
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str) else [values]


def whole_number(name: str, value: Any, least: int) -> int:
    """Return a plain int, or say which argument is none."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more, not {value!r}")
    return int(value)


def check_workers(n_jobs: int | None) -> None:
    """Raise InputError unless ``n_jobs`` is None or a whole number other than 0."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
        raise InputError("n_jobs", f"must be a whole number of workers, -1 for all cores, or None, not {n_jobs!r}")


def check_keepable(spec: SimulationSpec) -> None:
    """Refuse rules whose options could not be kept in a file."""
    for name, group in spec.groups.items():
        if not is_dataclass(group.rule):
            raise InputError(
                "out", f"the rule {name} must be a dataclass, so that its options are kept with its results"
            )


def _check_stopping(spec: SimulationSpec) -> None:
    """See that every stopping rule has a level for every delta, and that focused sampling depends on one of each."""
    for group in spec.groups.values():
        for stopping in group.stoppings:
            for x in spec.log_inv_deltas:
                stopping.level(spec.instance.problem, x)
        if spec.focus and (len(spec.log_inv_deltas) > 1 or len(group.stoppings) > 1):
            raise InputError("focus", "give one delta, and one stopping rule for each sampling rule")
