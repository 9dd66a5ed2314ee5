"""A new experiment: a form, with the plan beside it."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from mobai.errors import InputError
from mobai.live.experiment import Experiment
from mobai.problem import Problem
from mobai.service.access import needs
from mobai.service.api.common import caller_of, service_of, signed
from mobai.service.pages.forms import Form, read_form
from mobai.service.pages.new_experiment_form import (
    DESIGNS,
    KINDS,
    LABELS,
    MOST_METRICS,
    PARTS,
    ROLES,
    count_of,
    design_options,
    experiment_of,
    label_of,
    place,
)
from mobai.service.pages.planning import plan_of
from mobai.service.pages.rendering import page
from mobai.service.pages.routing import page_router, path_of, refuse_if_read_only, see
from mobai.service.problems import code_of

router = page_router()


def _begun() -> Form:
    """Return the form as it is first shown."""
    return Form({"delta": "0.05", "metrics": "1", "metric-0-role": "max", "metric-0-kind": "bernoulli"})


def _shown(request: Request, form: Form, code: int = 200, plan: Any = None) -> Response:
    count = count_of(form)
    order = ["name", "arms", *(f"metric-{n}-{part}" for n in range(count) for part in PARTS), *list(LABELS)[2:], ""]
    form.errors = {name: form.errors[name] for name in order if name in form.errors}
    labels = {name: label_of(name) for name in form.errors}
    choices = {"roles": ROLES, "kinds": KINDS, "designs": DESIGNS}
    facts = {"form": form, "count": count, "plan": plan, "planned": bool(plan)}
    return page(request, "new.html", code, labels=labels, **choices, **facts)


@router.get("/new", openapi_extra=needs("admin"))
async def new(request: Request) -> Response:
    """Show an empty form."""
    refuse_if_read_only(request)
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
        return _shown(request, form, plan=await plan_of(form))
    found = experiment_of(form)
    if found is None:
        return _shown(request, form, 422)
    try:
        await _create(request, form, *found)
    except InputError as error:
        place(form, error)
        return _shown(request, form, code_of(error))
    return see(path_of(form.get("name")))


@router.post("/new/plan", openapi_extra=needs("admin"))
async def plan(request: Request) -> Response:
    """Return the plan of what is typed so far, for the script of the page."""
    return page(request, "plan.html", plan=await plan_of(await read_form(request)))


async def _create(request: Request, form: Form, problem: Problem, options: dict[str, Any]) -> None:
    service, caller, name = service_of(request), caller_of(request), form.get("name")
    if not caller.may("admin", name):
        raise InputError("name", f"the token is for experiments named {caller.only} only")
    more: dict[str, Any] = {
        "guardrails": problem.guardrails,
        "baseline": problem.baseline,
        "by": signed(request, None),
        **design_options(form),
        **options,
    }

    def make() -> None:
        made = Experiment.create(service.experiments.journal, name, problem.arms, problem.objectives, **more)
        service.experiments.add(made)

    await service.write(make)


def _add_metric(form: Form) -> None:
    count = count_of(form)
    if count == MOST_METRICS:
        form.error("", f"There can be {MOST_METRICS} metrics here; the API takes more.")
        return
    form.set("metrics", str(count + 1))
    form.set(f"metric-{count}-role", "max")
    form.set(f"metric-{count}-kind", "bernoulli")


def _remove_metric(form: Form, which: int) -> None:
    count = count_of(form)
    for n in range(which, count - 1):
        for part in PARTS:
            form.set(f"metric-{n}-{part}", form.get(f"metric-{n + 1}-{part}"))
    form.set("metrics", str(max(count - 1, 1)))
    if count == 1:
        form.set("metric-0-name", "")
