"""The plan beside the form of a new experiment."""

from __future__ import annotations

import math
from typing import Any

from anyio import CapacityLimiter, to_thread

from mobai import views
from mobai.errors import ConvergenceError, InputError
from mobai.lab.plan import Expectation, Plan, expected_instance, make_plan
from mobai.live.settings import new_settings
from mobai.problem import Problem
from mobai.service.pages.forms import Form
from mobai.service.pages.new_experiment_form import called, checked, count_of, label_of, problem_of
from mobai.service.pages.routing import sentence

# Pairs of arms and metrics that are planned for here; with an unknown spread each takes some 15 ms.
_MOST_TO_PLAN, _MOST_OF_UNKNOWN_SPREAD = 2_000, 100
_UNKNOWN_SPREAD = ("unknown-variance", "shared-variance", "quantile")
_MOST_PLANS_WAITING = 3
_planning = CapacityLimiter(1)


async def plan_of(form: Form) -> dict[str, Any]:
    """Return the plan as plain facts, or what is missing for it."""
    typed = Form({name: form.get(name) for name in form.names})  # its errors are said in the plan
    problem = problem_of(typed)
    if problem is None:
        return {"missing": _first_error(typed)}
    if problem.design is not None:
        return {
            "missing": "What is saved depends on how alike the variants do on the same things: a table of results "
            "that are there tells (`mobai plan results.csv --item-column`)."
        }
    unknown = sum(metric.family.word in _UNKNOWN_SPREAD for metric in problem.metrics)
    arms = problem.shape[0]
    if arms * len(problem.metrics) > _MOST_TO_PLAN or arms * unknown > _MOST_OF_UNKNOWN_SPREAD:
        return {"missing": "This is too large to be planned here; `mobai plan` plans it."}
    expected = _expected(typed, problem)
    if expected is None:
        return {"missing": _first_error(typed, "Say what you expect of every metric, and the plan appears here.")}
    settings = checked(typed, lambda: new_settings(problem, delta=typed.number("delta", 0.05) or 0.0))
    if settings is None:
        return {"missing": _first_error(typed)}
    if _planning.statistics().tasks_waiting >= _MOST_PLANS_WAITING:
        return {"missing": "Other plans are being made; type on, or try again in a moment."}
    try:
        made = await to_thread.run_sync(
            lambda: make_plan(expected_instance(problem, expected), settings.log_inv_delta), limiter=_planning
        )
    except (InputError, ConvergenceError) as error:
        return {"missing": sentence(str(error))}
    if not math.isfinite(made.expected + made.uniform):
        return {"missing": "That would take more than 1,000,000,000,000 samples: the difference is too small."}
    return _plan_facts(made, problem)


def _first_error(typed: Form, otherwise: str = "Name the variants and metrics, and the plan appears here.") -> str:
    """Return what is wrong with something that was typed; what is only missing so far is no error."""
    for name, text in typed.errors.items():
        if typed.get(name) and name != "arms":
            return f"{label_of(name)}: {text}"
    return otherwise


def _expected(form: Form, problem: Problem) -> list[Expectation] | None:
    """Return what is expected of every metric, in the order of the problem; None if something is missing."""
    found: dict[str, Expectation] = {}
    for n in range(count_of(form)):
        name, kind = form.get(f"metric-{n}-name"), form.get(f"metric-{n}-kind")
        usual, difference, spread = (form.number(f"metric-{n}-{one}") for one in ("usual", "difference", "spread"))
        is_limit = form.get(f"metric-{n}-role").startswith("at-")
        if name and (
            usual is None or (difference is None and not is_limit) or (spread is None and kind in _UNKNOWN_SPREAD)
        ):
            return None
        if name and usual is not None:
            own = spread if kind in (*_UNKNOWN_SPREAD, "bounded") else None
            found[called(form, n)] = Expectation(usual, difference or 0.0, own)
    return [found[name] for name in problem.metric_names]


def _plan_facts(made: Plan, problem: Problem) -> dict[str, Any]:
    weights = made.bound.weights.tolist()
    order = sorted(range(len(weights)), key=lambda i: -weights[i])[:8]
    most = max(weights)
    return {
        "missing": None,
        "expected": _rounded(made.expected),
        "uniform": _rounded(made.uniform),
        "lowest": _rounded(made.lowest),
        "exact": made.bound.exact,
        "shares": [
            (problem.arms[i], f"{weights[i]:.0%}", views.progress_bar(min(weights[i] / most, 0.999)))
            for i in sorted(order)
        ],
        "rest": len(weights) - len(order),
    }


def _rounded(samples: float) -> str:
    return f"{int(float(f'{max(samples, 1.0):.2g}')):,}"
