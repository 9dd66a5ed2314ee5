"""A new experiment: a form, with the plan beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi import Request, Response

from mobai import views
from mobai.errors import ConflictError, ConvergenceError, InputError
from mobai.lab.plan import Expectation, Plan, expected_instance, make_plan
from mobai.live.experiment import Experiment
from mobai.live.settings import is_own_rule, new_settings
from mobai.problem import Guardrail, Objective, Problem
from mobai.problem.family import parse_family
from mobai.service.access import needs
from mobai.service.api.common import caller_of, service_of, signed
from mobai.service.pages.forms import Form, read_form
from mobai.service.pages.rendering import page
from mobai.service.pages.routing import page_router, path_of, see, sentence
from mobai.service.problems import RefusedError, code_of

router = page_router()

Result = TypeVar("Result")

ROLES = {
    "max": "more is better",
    "min": "less is better",
    "at-most": "must stay below a limit",
    "at-least": "must stay above a limit",
}
KINDS = {
    "bernoulli": "yes or no (0 or 1): clicks, signups, errors",
    "bounded": "a number in a range: ratings, scores, money with a cap",
    "unknown-variance": "a number, roughly bell-shaped: times, averages",
    "shared-variance": "the same, with one spread for all arms",
    "gaussian": "bell-shaped with a known standard deviation",
    "subgaussian": "tails no heavier than a bell of this standard deviation",
}
_MOST_METRICS = 100
_MOST_TO_PLAN = 2_000  # pairs of arms and metrics
_planning = CapacityLimiter(1)


def _begun() -> Form:
    """Return the form as it is first shown."""
    return Form({"delta": "0.05", "metrics": "1", "metric-0-role": "max", "metric-0-kind": "bernoulli"})


def _shown(request: Request, form: Form, code: int = 200, plan: Any = None) -> Response:
    count = _count(form)
    facts = {"form": form, "count": count, "roles": ROLES, "kinds": KINDS, "plan": plan, "planned": bool(plan)}
    return page(request, "new.html", code, **facts)


def _count(form: Form) -> int:
    text = form.get("metrics", "1")
    return min(max(int(text), 1), _MOST_METRICS) if text.isdecimal() and len(text) < 4 else 1


@router.get("/new", openapi_extra=needs("admin"))
async def new(request: Request) -> Response:
    """Show an empty form."""
    return _shown(request, _begun())


@router.post("/new", openapi_extra=needs("admin"))
async def create(request: Request) -> Response:
    """Create the experiment, or do what another button of the form says: one more metric, one less, a plan."""
    form = await read_form(request)
    todo, _, which = form.get("do").partition(" ")
    if todo == "add":
        _add_metric(form)
        return _shown(request, form)
    if todo == "remove" and which.isdecimal():
        _remove_metric(form, int(which))
        return _shown(request, form)
    if todo == "plan":
        return _shown(request, form, plan=await _plan(form))
    wanted = _wanted(form)
    if wanted is None:
        return _shown(request, form, 422)
    try:
        await _create(request, form, *wanted)
    except InputError as error:
        _place(form, error)
        return _shown(request, form, code_of(error))
    return see(path_of(form.get("name")))


@router.post("/new/plan", openapi_extra=needs("admin"))
async def plan(request: Request) -> Response:
    """Return the plan of what is typed so far, for the script of the page."""
    return page(request, "plan.html", plan=await _plan(await read_form(request)))


async def _create(request: Request, form: Form, problem: Problem, options: dict[str, Any]) -> None:
    service, caller, name = service_of(request), caller_of(request), form.get("name")
    if not caller.may("admin", name):
        raise RefusedError(403, f"the token is for experiments named {caller.only} only")
    more: dict[str, Any] = {
        "guardrails": problem.guardrails,
        "baseline": problem.baseline,
        "by": signed(request, None),
        **options,
    }

    def make() -> None:
        made = Experiment.create(service.experiments.journal, name, problem.arms, problem.objectives, **more)
        service.experiments.add(made)

    await service.write(make)


def _add_metric(form: Form) -> None:
    count = _count(form)
    if count == _MOST_METRICS:
        form.error("", f"There can be {_MOST_METRICS} metrics here; the API takes more.")
        return
    form.set("metrics", str(count + 1))
    form.set(f"metric-{count}-role", "max")
    form.set(f"metric-{count}-kind", "bernoulli")


_PARTS = ("name", "role", "kind", "low", "high", "sd", "eps", "limit", "usual", "difference", "spread")


def _remove_metric(form: Form, which: int) -> None:
    count = _count(form)
    for n in range(which, count - 1):
        for part in _PARTS:
            form.set(f"metric-{n}-{part}", form.get(f"metric-{n + 1}-{part}"))
    form.set("metrics", str(max(count - 1, 1)))
    if count == 1:
        form.set("metric-0-name", "")


def _wanted(form: Form) -> tuple[Problem, dict[str, Any]] | None:
    """Return the problem and the options that the form describes; None, with errors in it, if it does not."""
    problem = _problem(form)
    options: dict[str, Any] = {"delta": form.number("delta", 0.05), "rule": form.get("rule") or "top-two"}
    most, hours = form.number("max_samples"), form.number("expire_hours")
    if most is not None:
        options["max_samples"] = int(most) if most == int(most) else most
    if hours is not None:
        options["expire_after"] = 3600 * hours
    if form.get("until"):
        options["until"] = form.get("until")
    if not form.get("name"):
        form.error("name", "A name is needed.")
    if form.errors or problem is None:
        return None
    if is_own_rule(options["rule"]):  # naming it would run its code
        form.error("rule", "Only rules that come with mobai can be named here.")
    else:
        _checked(form, lambda: new_settings(problem, **options))
    return None if form.errors else (problem, options)


def _problem(form: Form) -> Problem | None:
    """Return the problem that the form describes; None, with errors in it, if it does not."""
    objectives, guardrails = [], []
    arms = form.lines("arms")
    if len(arms) < 2:
        form.error("arms", "At least two variants are needed, one per line.")
    for n in range(_count(form)):
        if form.get(f"metric-{n}-name"):
            made = _checked(form, lambda n=n: _metric(form, n), f"metric-{n}-name")  # type: ignore[misc]
            if isinstance(made, Objective):
                objectives.append(made)
            elif isinstance(made, Guardrail):
                guardrails.append(made)
    if not objectives and not form.errors:
        form.error("metric-0-name", "At least one metric is needed of which more, or less, is better.")
    if form.errors:
        return None
    baseline = form.get("baseline") or None
    return _checked(form, lambda: Problem(arms, objectives, guardrails=guardrails, baseline=baseline))


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
        raise RefusedError(422, "the form has a choice that there is not")
    text = kind
    if kind == "bounded":
        text = f"bounded={number('low', True)!r}..{number('high', True)!r}"
    elif kind in ("gaussian", "subgaussian"):
        text = f"{kind}={number('sd', True)!r}"
    eps, limit = number("eps"), number("limit", True) if role.startswith("at-") else 0.0
    if any(field.startswith(f"metric-{n}-") for field in form.errors):
        return None
    family = parse_family(text)
    assert family is not None
    if role.startswith("at-"):
        return Guardrail(
            name, family, limit if role == "at-most" else None, limit if role == "at-least" else None, eps=eps
        )
    return Objective(name, "min" if role == "min" else "max", family, eps)


def _checked(form: Form, make: Callable[[], Result], field: str = "") -> Result | None:
    """Return what is made, or None with what is wrong with it at a field."""
    try:
        return make()
    except InputError as error:
        _place(form, error, field)
        return None


_PLACES = ("name", "arms", "delta", "rule", "baseline", "max_samples", "until")


def _place(form: Form, error: InputError, field: str = "") -> None:
    """Say at which field a complaint of the library belongs."""
    text = str(error)
    found = next((one for one in _PLACES if text.startswith((f"{one} ", f"{one}:"))), "")
    if isinstance(error, ConflictError):
        found = "name"
    form.error(field or found, sentence(text.removeprefix(f"{found}: ") if found else text))


async def _plan(form: Form) -> dict[str, Any]:
    """Return the plan as plain facts, or what is missing for it."""
    typed = Form({name: form.get(name) for name in form.names})  # its errors are not shown
    problem = _problem(typed)
    if problem is None:
        return {"missing": "Name the variants and metrics, and the plan appears here."}
    shape = problem.shape[0] * len(problem.metrics)
    if shape > _MOST_TO_PLAN:
        return {"missing": "This is too large to be planned here; `mobai plan` plans it."}
    expected = _expected(typed, problem)
    if expected is None:
        return {"missing": "Say what you expect of every metric, and the plan appears here."}
    log_inv_delta = _checked(typed, lambda: new_settings(problem, delta=typed.number("delta", 0.05) or 0.0))
    if log_inv_delta is None:
        return {"missing": "Delta must be a number between 0 and 1."}
    try:
        made = await to_thread.run_sync(
            lambda: make_plan(expected_instance(problem, expected), log_inv_delta.log_inv_delta), limiter=_planning
        )
    except (InputError, ConvergenceError) as error:
        return {"missing": sentence(str(error))}
    return _plan_facts(made, problem)


def _expected(form: Form, problem: Problem) -> list[Expectation] | None:
    """Return what is expected of every metric, in the order of the problem; None if something is missing."""
    found: dict[str, Expectation] = {}
    for n in range(_count(form)):
        name, kind = form.get(f"metric-{n}-name"), form.get(f"metric-{n}-kind")
        usual, difference, spread = (form.number(f"metric-{n}-{one}") for one in ("usual", "difference", "spread"))
        is_limit = form.get(f"metric-{n}-role").startswith("at-")
        free = kind in ("unknown-variance", "shared-variance")
        if name and (usual is None or (difference is None and not is_limit) or (spread is None and free)):
            return None
        if name and usual is not None:
            own = spread if kind in ("unknown-variance", "shared-variance", "bounded") else None
            found[name] = Expectation(usual, difference or 0.0, own)
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
