"""What can be done to an experiment from its page. Each has a page of its own that says what it does to the guarantee.

With a script, that page is shown in a dialog.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fastapi import Request, Response

from mobai.errors import InputError, NotFoundError
from mobai.live import operations
from mobai.live.experiment import Experiment
from mobai.live.operations import Operation
from mobai.service.access import needs
from mobai.service.api.common import service_of, signed
from mobai.service.pages.forms import Form, read_form
from mobai.service.pages.rendering import page
from mobai.service.pages.routing import page_router, path_of, refuse_if_read_only, see, sentence
from mobai.service.problems import ProblemError, code_of
from mobai.views import ties_of

router = page_router()

Make = Callable[[Form, str | None], Operation[None]]


class Action(NamedTuple):
    """Something that can be done: its title, what is written on the button, what it does, and how."""

    title: str
    button: str
    about: str
    make: Make
    field: str | None = None  # what must be filled in


def _add(form: Form, by: str | None) -> Operation[None]:
    sd = form.number("sd")
    return operations.add_arm(form.get("arm"), sd, by=by)


def _close(form: Form, by: str | None) -> Operation[None]:
    ties = [form.get(name) for name in form.names if name.startswith("equal-")]
    return operations.close(as_equal=ties, by=by)


ACTIONS = {
    "pause": Action(
        "Pause",
        "Pause",
        "Nothing is handed out until it is resumed; answers are still taken. The guarantee stays as it is.",
        lambda _, by: operations.pause(by=by),
    ),
    "resume": Action(
        "Resume",
        "Resume",
        "Assignments are handed out again. The guarantee stays as it is.",
        lambda _, by: operations.resume(by=by),
    ),
    "close": Action(
        "Close",
        "Close for good",
        "The experiment ends: it can be read, not changed, and not opened again. What is decided stays decided, with "
        "the same error probability. What is not decided stays open, or ends in a tie if you tick it.",
        _close,
    ),
    "add-arm": Action(
        "Add an arm",
        "Add",
        "Every metric is open again until its leader has been told apart from the new arm. The error probability stays "
        "what it was: a part of it was set aside for arms that come and go.",
        _add,
        "arm",
    ),
    "retire-arm": Action(
        "Retire an arm",
        "Retire",
        "The arm is asked for no more, and the best of the others is sought. Metrics decided for another arm stay "
        "decided; those decided for this arm are open again. The error probability stays what it was, unless you "
        "retire the arm because of results that are only partly in.",
        lambda form, by: operations.retire_arm(form.get("arm"), by=by),
        "arm",
    ),
}


def _facts(experiment: Experiment, action: Action) -> dict[str, Any]:
    status = experiment.status()
    problem = status.verdict.problem
    compared = {guardrail.of for guardrail in problem.guardrails} | {problem.baseline}
    taking_part = [arm for arm, active in zip(problem.arms, status.active, strict=True) if active]
    return {
        "name": status.name,
        "path": path_of(status.name),
        "history": experiment.history_id,
        "arms": [arm for arm in taking_part if arm not in compared],
        "needs_sd": any(metric.family.known_noise for metric in problem.metrics),
        "ties": ties_of(status.verdict),
        "action": action,
    }


def _action(word: str) -> Action:
    if word not in ACTIONS:
        raise ProblemError(404, "there is nothing at this path")
    return ACTIONS[word]


@router.get("/e/{name}/do/{word}", openapi_extra=needs("admin"))
async def ask(request: Request, name: str, word: str) -> Response:
    """Show what an action does, and a button that does it."""
    refuse_if_read_only(request)
    action = _action(word)
    facts = await service_of(request).read(name, lambda experiment: _facts(experiment, action))
    return page(request, "action.html", word=word, form=Form(), **facts)


@router.post("/e/{name}/do/{word}", openapi_extra=needs("admin"))
async def do(request: Request, name: str, word: str) -> Response:
    """Do it, and go back to the experiment; what is wrong is shown at its field."""
    action, form = _action(word), await read_form(request)
    facts = await service_of(request).read(name, lambda experiment: _facts(experiment, action))
    if form.get("history") != facts["history"]:
        raise ProblemError(412, "the experiment was deleted and created anew, or restored; look at its page again")
    code = 422
    try:
        operation = action.make(form, signed(request, None))
        if not form.errors:
            await service_of(request).do(name, operation)
            return see(path_of(name))
    except NotFoundError:
        raise
    except InputError as error:
        code = code_of(error)
        field = error.argument if action.field and error.argument in ("arm", "sd") else ""
        form.error(field or "", sentence(error.message if field or error.argument == "name" else str(error)))
    return page(request, "action.html", code, word=word, form=form, **facts)
