"""What has happened to an experiment that somebody would want to be told of, in a sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mobai.live.status import Status

# The answer where it is decided that no arm keeps every limit.
NOBODY_QUALIFIES = "none qualifies"
# The kinds, in the order in which they usually come.
NOTIFICATIONS = ("decided", "stopped", "barred", "warning", "uncertified", "paused", "ended", "closed")


def notifications_json(status: Status) -> list[dict[str, Any]]:
    """Return what has happened, as plain data; ``mark`` tells each from all others of the experiment, for ever.

    ``at`` is None where it is not known when it happened. ``former_mark`` is what earlier versions told warnings apart
    by.
    """
    verdict = status.verdict
    names = verdict.problem.objective_names
    found = [_decision(*one) for one in status.past]
    for m, decision in enumerate(verdict.decisions):
        if decision is not None:
            found.append(_decision(names[m], verdict.answers[m], decision.pull, decision.at))
    if verdict.stopped:
        answers = dict(zip(verdict.problem.objective_names, verdict.answers, strict=True))
        words = ", ".join(f"{objective}: {arm}" for objective, arm in answers.items())
        last = max((decision.at or 0.0 for decision in verdict.decisions if decision), default=0.0) or None
        text = f"every objective is decided ({words})"
        found.append(_one("stopped", str(verdict.stopped_at), text, last, answers=answers))
    for arm, out in zip(verdict.problem.arms, status.barred, strict=True):
        if out:
            found.append(_one("barred", arm, f"{arm} breaks a limit, and is asked for no more", arm=arm))
    for concern in status.concerns:
        mark = f"{concern.kind}\n{concern.metric or ''}\n{concern.arm or ''}"
        one = _one("warning", mark, concern.text, warning=concern.kind, metric=concern.metric, arm=concern.arm)
        subject = concern.text.partition(":")[0] if ":" in concern.text else ""
        found.append({**one, "former_mark": f"warning\n{concern.kind}\n{subject}"})
    doubted = zip(verdict.problem.metric_names, verdict.doubts, strict=True)
    for what, why in [*doubted, ("losses", "; ".join(verdict.alarms)), ("refused", _refused(verdict.refused))]:
        if why:
            found.append(_one("uncertified", what, f"it is no longer certified: {what}: {why}"))
    if status.ending and not status.closed_at and not status.paused_at:
        found.append(_one("ended", status.ending, status.ending))
    for milestone in status.timeline:
        if milestone.kind in ("paused", "closed"):
            text = f"it is {milestone.kind}"
            found.append(_one(milestone.kind, str(milestone.seq), text, milestone.at))
    for one in found:
        one |= {"experiment": status.name, "text": f"{status.name}: {one['text']}"}
    return found


def _refused(count: int) -> str:
    return f"{count:,} because of their value" if count else ""


def _decision(objective: str, answer: str, pull: int, at: float | None = None) -> dict[str, Any]:
    nobody = answer == NOBODY_QUALIFIES
    words = "no arm keeps every limit" if nobody else f"decided for {answer}"
    about = {"objective": objective, "arm": None if nobody else answer, "pull": pull}
    return _one("decided", f"{objective}\n{answer}\n{pull}", f"{objective}: {words}, at pull {pull:,}", at, **about)


def _one(kind: str, mark: str, text: str, at: float | None = None, **about: Any) -> dict[str, Any]:
    return {"kind": kind, "mark": f"{kind}\n{mark}", "text": text, "at": at, **about}
