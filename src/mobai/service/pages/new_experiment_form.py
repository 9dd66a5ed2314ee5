"""The experiment that the form of a new one describes, and what is wrong with it, field by field."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from mobai.errors import ConflictError, InputError
from mobai.live.settings import check_beginning, is_own_rule, moment_of, new_settings
from mobai.problem import Guardrail, Objective, Problem
from mobai.problem.design import design_of
from mobai.problem.families import Quantile, parse_family
from mobai.problem.objective import Direction
from mobai.problem.window import seconds_of
from mobai.service.pages.forms import Form
from mobai.service.pages.routing import sentence
from mobai.service.problems import ProblemError

Result = TypeVar("Result")

ROLES = {
    "max": "more is better",
    "min": "less is better",
    "at-most": "must stay below a limit",
    "at-least": "must stay above a limit",
}
KINDS = {
    "bernoulli": "yes or no (0 or 1): clicks, signups, errors",
    "bounded": "a number in a range: ratings, scores, money or times with a cap",
    "unknown-variance": "a number without a range, bell-shaped, without rare extremes: averages",
    "shared-variance": "the same, with one spread for all variants",
    "quantile": "a percentile of any numbers from 0 up: the median, what 95 in 100 stay below",
    "gaussian": "bell-shaped, with a known standard deviation",
    "subgaussian": "no heavier tails than a bell of this standard deviation",
    "wins": "which variant is better, not by how much (on the same items or in rounds)",
}
DESIGNS = {
    "": "each sample is of one variant: visitors",
    "items": "the same items for all, and these are all there are: a benchmark",
    "stream": "the same items for all, drawn from many: requests, random splits",
    "rounds": "in rounds of one sample of each, so that no drift matters",
}
MOST_METRICS = 100
PARTS = (
    "name",
    "role",
    "kind",
    "low",
    "high",
    "sd",
    "level",
    "eps",
    "limit",
    "usual",
    "difference",
    "spread",
    "window",
    "otherwise",
)
LABELS = {
    "name": "Name",
    "arms": "Variants",
    "design": "Measured on",
    "items": "Items",
    "delta": "Error probability",
    "baseline": "Baseline",
    "max_samples": "Most samples",
    "until": "Until",
    "expire_hours": "Hours to wait for an answer",
    "rule": "Sampling rule",
}
_LABELS_OF_A_METRIC = {
    "name": "name",
    "low": "lowest value",
    "high": "highest value",
    "sd": "standard deviation",
    "level": "percentile",
    "limit": "limit",
    "eps": "tolerated difference",
    "window": "time to wait for it",
    "otherwise": "what it counts as then",
    "usual": "typical value",
    "difference": "difference to find",
    "spread": "spread",
}


def count_of(form: Form) -> int:
    """Return how many metrics the form has room for."""
    text = form.get("metrics", "1")
    return min(max(int(text), 1), MOST_METRICS) if text.isdecimal() and len(text) < 4 else 1


def label_of(field: str) -> str:
    """Return how a field is called on the page."""
    _, _, rest = field.partition("metric-")
    number, _, part = rest.partition("-")
    return f"Metric {int(number) + 1}, {_LABELS_OF_A_METRIC.get(part, part)}" if rest else LABELS.get(field, "")


def experiment_of(form: Form) -> tuple[Problem, dict[str, Any]] | None:
    """Return the problem and the options that the form describes; None, with errors in it, if it does not."""
    if not form.get("name"):
        form.error("name", "A name is needed.")
    problem, options = problem_of(form), _options(form)
    if form.errors or problem is None:
        return None
    settings = checked(form, lambda: new_settings(problem, **options))
    if settings is not None:
        checked(form, lambda: check_beginning(settings))
    return None if form.errors else (problem, options)


def _options(form: Form) -> dict[str, Any]:
    """Return what is set beside variants and metrics, with errors in the form where it cannot be."""
    options: dict[str, Any] = {"delta": form.number("delta", 0.05), "rule": form.get("rule") or "top-two"}
    most, hours = form.number("max_samples"), form.number("expire_hours")
    if most is not None:
        options["max_samples"] = int(most)
        if most < 1 or most != int(most):
            form.error("max_samples", "Must be a whole number, 1 or more.")
    if hours is not None:
        options["expire_after"] = 3600 * hours
        if not 0 < hours < 1e6:
            form.error("expire_hours", "Must be more than 0 hours.")
    if form.get("until"):
        options["until"] = form.get("until")
        end = checked(form, lambda: moment_of(form.get("until")), "until")
        if end is not None and end <= time.time():
            form.error("until", "Must be a time that is still to come.")
    if checked(form, lambda: is_own_rule(options["rule"]), "rule"):  # naming it would run its code
        form.error("rule", "Only rules that come with mobai can be named here.")
    return options


def design_options(form: Form) -> dict[str, Any]:
    """Return what the variants are measured on, as :meth:`mobai.Experiment.create` takes it."""
    chosen, named = form.get("design"), form.lines("items")
    if chosen not in DESIGNS:
        raise ProblemError(422, "the form has a choice that there is not")
    if chosen != "items":
        designs: dict[str, dict[str, Any]] = {"": {}, "stream": {"items": "stream"}, "rounds": {"rounds": True}}
        return designs[chosen]
    return {"items": int(named[0]) if len(named) == 1 and named[0].isdecimal() and len(named[0]) < 9 else named}


def problem_of(form: Form) -> Problem | None:
    """Return the problem that the form describes; None, with errors in it, if it does not."""
    objectives, guardrails = [], []
    arms = form.lines("arms")
    if len(arms) < 2:
        commas = " Write each on a line of its own, without commas." if arms and "," in arms[0] else ""
        form.error("arms", f"At least two variants are needed, one per line.{commas}")
    for n in range(count_of(form)):
        if form.get(f"metric-{n}-name"):
            made = checked(form, lambda n=n: _metric(form, n), _blamed(form, n))  # type: ignore[misc]
            if isinstance(made, Objective):
                objectives.append(made)
            elif isinstance(made, Guardrail):
                guardrails.append(made)
    if not objectives and not form.errors:
        form.error("metric-0-name", "At least one metric is needed of which more, or less, is better.")
    if form.errors:
        return None
    baseline, measured = form.get("baseline") or None, design_options(form)
    compared = bool(measured) or any(one.family.counts_wins for one in objectives)
    return checked(
        form,
        lambda: Problem(arms, objectives, guardrails=guardrails, baseline=baseline, design=design_of(**measured)),
        lambda error: error.argument if error.argument in LABELS else "design" if compared else "",
    )


def called(form: Form, n: int) -> str:
    """Return what the n-th metric is called, once it is one."""
    name, level = form.get(f"metric-{n}-name"), form.number(f"metric-{n}-level")
    if form.get(f"metric-{n}-kind") != "quantile" or level is None:
        return name
    return Objective(name, family=Quantile(level / 100)).name


def _blamed(form: Form, n: int) -> Callable[[InputError], str]:
    """Return what says which field of a metric an error of the library is about."""

    def field(error: InputError) -> str:
        parts = {
            "bounded": "low",
            "quantile": "level",
            "gaussian": "sd",
            "subgaussian": "sd",
            "otherwise": "otherwise",
            "eps": "eps",
        }
        otherwise = "limit" if form.get(f"metric-{n}-role").startswith("at-") else "name"
        return f"metric-{n}-{parts.get(error.argument or '', otherwise)}"

    return field


def _metric(form: Form, n: int) -> Objective | Guardrail | None:
    """Return the n-th metric, None if something is wrong with its fields."""

    def number(part: str, needed: bool = False) -> float:
        field = f"metric-{n}-{part}"
        found = form.number(field, None if needed else 0.0)
        if found is None:
            form.error(field, "A number is needed.")
        return 0.0 if found is None else found

    name, role, kind = (form.get(f"metric-{n}-{part}") for part in ("name", "role", "kind"))
    if role not in ROLES or kind not in KINDS:
        raise ProblemError(422, "the form has a choice that there is not")
    text = kind
    if kind == "bounded":
        text = f"bounded={number('low', True)!r}..{number('high', True)!r}"
    elif kind in ("gaussian", "subgaussian"):
        text = f"{kind}={number('sd', True)!r}"
    level = number("level", True) if kind == "quantile" else 50.0
    eps, limit = number("eps"), number("limit", True) if role.startswith("at-") else 0.0
    if role.startswith("at-") and eps == 0:
        form.error(
            f"metric-{n}-eps", "A limit needs a tolerance: of a variant on the limit nothing could ever be said."
        )
    window, otherwise = _window(form, n)
    if any(field.startswith(f"metric-{n}-") for field in form.errors):
        return None
    family = Quantile(level / 100) if kind == "quantile" else parse_family(text)
    assert family is not None
    if role.startswith("at-"):
        return Guardrail(
            name,
            family,
            limit if role == "at-most" else None,
            limit if role == "at-least" else None,
            eps=eps,
            window=window,
            otherwise=otherwise,
        )
    direction: Direction = "min" if role == "min" else "max"
    return Objective(name, direction, family, eps, window=window, otherwise=otherwise)


def _window(form: Form, n: int) -> tuple[float | None, float | None]:
    """Return how long the n-th metric is waited for, and what it counts as then; None for both if it has no window."""
    text, otherwise = form.get(f"metric-{n}-window"), form.number(f"metric-{n}-otherwise")
    if not text and otherwise is None:
        return None, None
    if not text or otherwise is None:
        field = "window" if not text else "otherwise"
        form.error(f"metric-{n}-{field}", "The time to wait and what it counts as then go together.")
        return None, None
    seconds = checked(form, lambda: seconds_of(text), f"metric-{n}-window")
    return seconds, otherwise


def checked(form: Form, make: Callable[[], Result], field: str | Callable[[InputError], str] = "") -> Result | None:
    """Return what is made, or None with what is wrong with it at a field."""
    try:
        return make()
    except InputError as error:
        place(form, error, field(error) if callable(field) else field)
        return None


def place(form: Form, error: InputError, field: str = "") -> None:
    """Say at which field a complaint of the library belongs."""
    found = "name" if isinstance(error, ConflictError) else error.argument if error.argument in LABELS else ""
    form.error(field or found or "", sentence(error.message if found else str(error)))
