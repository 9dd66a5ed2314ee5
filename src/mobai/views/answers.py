"""Answers in words: what is proven of the arm recommended, who may still be best, and by how much these can differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mobai.views.words import at_most_text, listed

if TYPE_CHECKING:
    from mobai.engine import Verdict
    from mobai.engine.contention import Contention

_MOST_NAMED = 4  # arms in one sentence


def answer_text(verdict: Verdict, m: int) -> str:
    """Return the arm decided on, with what is proven of it; the one that leads; nothing without rewards or in a tie."""
    if verdict.decisions[m] is not None:
        return settled_answer(verdict, m)
    return f"{verdict.answers[m]} leads" if verdict.leading[m] else "-"


def settled_answer(verdict: Verdict, m: int) -> str:
    """Return the recommended arm, and how near to the best a decision has proven it to be if that is not the best."""
    only_near = verdict.decisions[m] is not None and not is_best(verdict, m)
    return verdict.answers[m] + (f", {near_best(verdict, m)}" if only_near else "")


def is_best(verdict: Verdict, m: int) -> bool:
    """Whether a decision proves that an arm is best, and not only that it is within eps of that."""
    found = contention_of(verdict, m)
    proven = found is not None and found.left == (verdict.answers[m],)
    return proven or (verdict.problem.objectives[m].eps == 0 and not _equals(verdict, m))


def contention_of(verdict: Verdict, m: int) -> Contention | None:
    """Return who may still be best in an objective, None if that is not known."""
    name = verdict.problem.objective_names[m]
    return next((one for one in verdict.contention if one.objective == name), None)


def _equals(verdict: Verdict, m: int) -> list[str]:
    """Return the arms that a finite benchmark has found exactly equal to the one it was decided for."""
    found, objective = contention_of(verdict, m), verdict.problem.objectives[m]
    if verdict.problem.design is None or found is None or objective.eps > 0 or objective.family.counts_wins:
        return []
    return [arm for arm in found.left if arm != verdict.answers[m]] if verdict.decisions[m] is not None else []


def near_best(verdict: Verdict, m: int) -> str:
    """Return how near to the best a decision has proven an arm to be."""
    equals = _equals(verdict, m)
    if equals:
        return f"exactly equal to {listed(some_of(equals))} on these items"
    return f"within {verdict.problem.objectives[m].eps:g} of the best"


def contention_text(verdict: Verdict, m: int) -> str:
    """Return who may still be best in an objective, by how much these can differ, and who is out; nothing if unknown.

    For example "a and b differ by at most 0.014; c is out", or "a is within 0.02 of the best, which may be b or c".
    """
    found = contention_of(verdict, m)
    if found is None:
        return ""
    out = f"{listed(some_of(found.out))} {'is' if len(found.out) == 1 else 'are'} out" if found.out else ""
    return "; ".join(part for part in (closeness(verdict, m), out) if part)


def closeness(verdict: Verdict, m: int) -> str:
    """Return how close the arms that may still be best are; nothing if unknown, or if there is only one."""
    found = contention_of(verdict, m)
    if found is not None and len(found.left) == 2 and found.apart is not None:
        return f"{listed(list(found.left))} differ by at most {at_most_text(found.apart)}"
    if found is None or len(found.left) <= 2 or found.within is None or not verdict.leading[m]:
        return ""
    others = listed(some_of([name for name in found.left if name != verdict.answers[m]]), "or")
    return f"{verdict.answers[m]} is within {at_most_text(found.within)} of the best, which may be {others}"


def contention_lines(verdict: Verdict) -> list[str]:
    """Return, for objectives that are open, who may still be best: a line each."""
    names = verdict.problem.objective_names
    found = [(names[m], contention_text(verdict, m)) for m in range(len(names)) if verdict.decisions[m] is None]
    doubt = "" if verdict.certified else " (not certified)"
    return [f"{name}: {text}{doubt}" for name, text in found if text]


def ties_of(verdict: Verdict) -> list[tuple[str, str]]:
    """Return the open objectives that may end in a tie, each with who may still be best and how much they differ."""
    known = verdict.contention if verdict.pulls else ()
    found = {one.objective: one for one in known if len(one.left) > 1 and one.apart is not None}
    names = [
        name for name, made in zip(verdict.problem.objective_names, verdict.decisions, strict=True) if made is None
    ]
    return [
        (name, f"{listed(some_of(found[name].left))} differ by at most {at_most_text(found[name].apart or 0.0)}")
        for name in names
        if name in found
    ]


def some_of(names: Sequence[str]) -> list[str]:
    """Return names, of many the first ones and how many more there are."""
    return list(names) if len(names) <= _MOST_NAMED else [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]


def open_limits_text(verdict: Verdict, m: int) -> str:
    """Return of which arms that may still be best it is open whether they keep which limit; nothing if of none."""
    found, problem = contention_of(verdict, m), verdict.problem
    if found is None:
        return ""
    doubtful = [
        f"whether {arm} keeps {guardrail.metric} {guardrail.words}"
        for arm in found.left
        for c, guardrail in enumerate(problem.guardrails)
        if verdict.limit_status(c, problem.arms.index(arm)) == "open"
    ]
    return f"{listed(some_of(doubtful))} is open" if doubtful else ""
