"""Problems and instances as plain data, and back: in journals, snapshots, files and requests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mobai.errors import InputError
from mobai.problem.costs import costs_of
from mobai.problem.design import Design, design_of
from mobai.problem.instance import Instance
from mobai.problem.objective import Objective, read_option
from mobai.problem.problem import Problem

# What :func:`mobai.problem.costs.costs_of` reads, and :func:`stated_problem`.
COST_FIELDS = ("costs", "cost_metric", "cost_unit")
STATED = ("arms", "objectives", "sd", "guardrails", "baseline", "items", "rounds", *COST_FIELDS)


def problem_json(problem: Problem, *, names_items: bool = True) -> dict[str, Any]:
    """Return a problem as plain data; None for noise that is not known. Items may be counted, in place of names."""
    return {
        "arms": list(problem.arms),
        "objectives": [str(objective) for objective in problem.objectives],
        **({"guardrails": [str(guardrail) for guardrail in problem.guardrails]} if problem.guardrails else {}),
        **({"baseline": problem.baseline} if problem.baseline is not None else {}),
        **_design_json(problem.design, names_items),
        **({} if problem.costs is None else problem.costs.json()),
        "sd": [[None if math.isnan(value) else value for value in row] for row in problem.sd.tolist()],
    }


def stated_problem(
    arms: Sequence[str],
    objectives: Sequence[Objective | str] | Mapping[str, str],
    sd: npt.ArrayLike | None = None,
    *,
    items: Any = None,
    rounds: bool = False,
    costs: Mapping[str, float] | Sequence[float] | None = None,
    cost_metric: str | None = None,
    cost_unit: str | None = None,
    **limits: Any,
) -> Problem:
    """Return the problem of an experiment as whoever begins it states it."""
    problem = Problem(arms, objectives, sd, **limits, design=design_of(items, rounds))
    paid = costs_of(problem.arms, costs, cost_metric, cost_unit)
    return problem if paid is None else problem.costing(paid)


def problem_of(facts: Mapping[str, Any]) -> Problem:
    """Return the problem that :func:`problem_json` made plain data of."""
    sd = np.array([[math.nan if value is None else value for value in row] for row in facts["sd"]])
    objectives = [_objective(text) for text in facts["objectives"]]
    limits = {"guardrails": facts.get("guardrails", ()), "baseline": facts.get("baseline")}
    design = design_of(facts.get("items"), facts.get("rounds", False))
    costs = costs_of(facts["arms"], *(facts.get(key) for key in COST_FIELDS))
    return Problem(facts["arms"], objectives, sd, **limits, design=design, costs=costs)


def _design_json(design: Design | None, named: bool) -> dict[str, Any]:
    """Return a design as :func:`design_of` reads it: items or how many there are, ``"stream"``, or rounds."""
    if design is None:
        return {}
    if design.kind == "rounds":
        return {"rounds": True}
    return {"items": list(design.names) if named and design.names is not None else design.size or "stream"}


def instance_json(instance: Instance) -> dict[str, Any]:
    """Return an instance as plain data: its problem, the means, and all the noise, which nobody need know."""
    return {**problem_json(instance.problem), "means": instance.means.tolist(), "sd": instance.sd.tolist()}


def instance_of(facts: Any) -> Instance:
    """Return the instance that somebody wrote down: everything but the means may be left out."""
    if not isinstance(facts, dict) or "means" not in facts:
        raise InputError("must be a JSON object with the key 'means'")
    known = ("means", "sd", "arms", "objectives", "guardrails", "baseline", *COST_FIELDS)
    unknown = sorted(set(facts) - set(known))
    if unknown:
        raise InputError(f"unknown key {unknown[0]!r}; known are {', '.join(known)}")
    for key in ("arms", "objectives", "guardrails"):
        if not _is_list_of_strings(facts.get(key, [])):
            raise InputError(key, "must be a list of names")
    limits = {"guardrails": facts.get("guardrails", ()), "baseline": facts.get("baseline")}
    costs: dict[str, Any] = {key: facts.get(key) for key in COST_FIELDS}
    return Instance(facts["means"], facts.get("sd"), facts.get("arms"), facts.get("objectives"), **limits, **costs)


def _is_list_of_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _objective(text: str) -> Objective:
    """Read an objective back; in journals of earlier versions, what is not an option belongs to the name."""
    try:
        return Objective.parse(text)
    except InputError:
        return _objective_of_earlier_versions(text)


def _objective_of_earlier_versions(name: str) -> Objective:
    """Take options off the end, each kind once, until there is none."""
    options: dict[str, Any] = {}
    while ":" in name:
        head, _, last = name.rpartition(":")
        try:
            key, value = read_option(name, last)
        except InputError:
            break
        if key in options or key == "bins":
            break
        options[key], name = value, head
    return Objective(name, **options)
