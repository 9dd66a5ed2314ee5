"""Where an experiment stands, in sentences: what to do, what the open metrics still take, what a reader should know."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mobai.views.answers import (
    answer_text,
    closeness,
    contention_lines,
    contention_of,
    contention_text,
    is_best,
    near_best,
    open_limits_text,
)
from mobai.views.words import at_most_text, is_far_off, listed, moment_text, plural, samples_text

if TYPE_CHECKING:
    from mobai.engine import Verdict
    from mobai.live.status import Status

_MOST_OPEN = 5  # metrics in one sentence
_LONG_AGO = 60.0  # seconds
_MANY = 20  # results that wait
# What is said of an assignment that holds a metric up, and what to do about it.
_HOLES = {
    "pending": ("", "report it, or drop it"),
    "answered": (", and reported without it", "report it, or null if it will not come, or drop the rest"),
    "dropped": (", and dropped", "drop it as lost, if that has nothing to do with any result"),
}


def status_line(status: Status) -> str:
    """Return one line: where an experiment stands."""
    verdict = status.verdict
    lost = status.dropped + status.expired
    waiting = f"{status.pending:,} pending" + (f", {status.incomplete:,} incomplete" if status.incomplete else "")
    counts = f"{plural(verdict.pulls, 'pull')}, {waiting}" + (f", {lost:,} dropped or expired" if lost else "")
    counts += f", {status.spending.words}" if status.spending is not None else ""
    state = status.state if verdict.certified else f"{status.state}, NOT certified"
    return f"{status.name}: {state}, {counts}, {status.rule}, delta = {verdict.delta:g}"


def headline(status: Status) -> str:
    """Return one sentence that says what to do: for which metrics one may stop, and what the others still take."""
    verdict = status.verdict
    names = verdict.problem.objective_names
    decided = [m for m in range(len(names)) if verdict.decisions[m] is not None]
    waiting = [m for m in range(len(names)) if verdict.decisions[m] is None]
    parts = [_open_text(status, m) for m in waiting[:_MOST_OPEN]]
    if len(waiting) > _MOST_OPEN:
        parts.append(f"{plural(len(waiting) - _MOST_OPEN, 'other metric')} open, too")
    if decided:
        parts.insert(0, _decided(status, decided))
    if not verdict.pulls:
        parts = ["Nothing has been reported yet"]
    said = {"closed": "Closed. ", "ended": "Ended. "}.get(status.state, "Paused. " if status.paused_at else "")
    return f"{said}{'; '.join(parts)}."


def analysis_headline(verdict: Verdict) -> str:
    """Return one sentence that says what a log proves."""
    decided = [m for m, one in enumerate(verdict.decisions) if one is not None]
    parts = [_answer_for(verdict, m) for m in decided]
    waiting = [m for m, one in enumerate(verdict.decisions) if one is None]
    for m in waiting[:_MOST_OPEN]:
        who, text = verdict.problem.objective_names[m], contention_text(verdict, m)
        leads = f"{verdict.answers[m]} leads" if verdict.leading[m] else "nobody leads"
        parts.append(f"{who} is open: {leads}{f'; {text}' if text else ''}")
    if len(waiting) > _MOST_OPEN:
        parts.append(f"{plural(len(waiting) - _MOST_OPEN, 'other metric')} open, too")
    said = "; ".join(parts)
    return (
        f"{'' if verdict.certified else 'NOT certified: '}{said[:1].upper() + said[1:] if verdict.certified else said}."
    )


def _open_text(status: Status, m: int) -> str:
    name = status.verdict.problem.objective_names[m]
    return f"{name} is {'' if name in status.equal else 'open: '}{_outlook(status, m)}"


def _decided(status: Status, decided: list[int]) -> str:
    """Return the answers that there are, and that one may stop for them."""
    verdict, names = status.verdict, status.verdict.problem.objective_names
    if status.closed_at is None and len(decided) < len(names):
        if not verdict.certified:
            return f"Decided, but NOT certified: {listed([_answer_for(verdict, m) for m in decided])}"
        return f"Stop for {listed([f'{names[m]} ({answer_text(verdict, m)})' for m in decided])}"
    answers = "; ".join(_answer_for(verdict, m) for m in decided)
    answers = answers[:1].upper() + answers[1:]
    if not verdict.certified:
        return f"Decided, but NOT certified: {'; '.join(_answer_for(verdict, m) for m in decided)}"
    return answers if status.closed_at is not None else f"You may stop. {answers}"


def _answer_for(verdict: Verdict, m: int) -> str:
    """Return what is proven of the arm that an objective was decided for."""
    name, arm = verdict.problem.objective_names[m], verdict.answers[m]
    if not verdict.certified:
        return f"{arm} looks best for {name}"
    if verdict.problem.objectives[m].family.counts_wins and verdict.decisions[m] is not None:
        return f"best for {name}: {arm}, which beats every other {_most_often(verdict)}"
    return f"best for {name}: {arm}" if is_best(verdict, m) else f"for {name}: {arm}, {near_best(verdict, m)}"


def _most_often(verdict: Verdict) -> str:
    """Return where an arm wins, in words."""
    design = verdict.problem.design
    return "in more rounds than not" if design is not None and design.kind == "rounds" else "on more items than not"


def _outlook(status: Status, m: int) -> str:
    """Return how an open objective looks: who leads, how far the evidence is, how many more samples it takes."""
    verdict, more = status.verdict, status.forecast
    second = _second(status, m)
    leads = f"{verdict.answers[m]} leads{f' {second}' if second else ''}" if verdict.leading[m] else "nobody leads"
    share = max(float(verdict.evidence[m]) / float(verdict.threshold[m]), 0.0)
    far = f", {share:.0%} of the evidence is in" if share >= 0.005 else ""
    if any(verdict.held[m : m + 1]):
        far = f" with enough evidence, but fewer than the {verdict.least:,} rewards that would show rare extremes"
    waits = sum(one.results for one in status.waiting if one.metric == verdict.problem.objective_names[m])
    far += f", {plural(waits, 'result')} not counted yet" if waits else ""
    if verdict.problem.objective_names[m] in status.equal:
        equal = status.equal[verdict.problem.objective_names[m]]
        limits = open_limits_text(verdict, m)
        apart = f"{listed(equal['arms'])} {'are left' if equal['apart'] is None else how_far(equal['apart'])}"
        return f"closed as equal, {apart}{f', but {limits}' if limits else ''}"
    if status.state in ("closed", "ended") or more is None:
        return leads + far
    samples = float(more.per_objective[m])
    if is_far_off(samples, verdict):
        return f"{leads}{far}, {_ending(verdict, m)}"
    words = samples_text(samples).replace("roughly", "about")
    return f"{leads}{far}, {words}"


def _ending(verdict: Verdict, m: int) -> str:
    """Return how to end an objective that would take more than ten times what was spent."""
    found = contention_of(verdict, m)
    if found is None or not verdict.certified or not closeness(verdict, m):
        return "and a decision would take more than ten times the samples so far"
    limits = open_limits_text(verdict, m)
    if limits:
        return (
            f"and a decision would take more than ten times the samples so far: {contention_text(verdict, m)}, but "
            f"{limits}. A tolerance (eps) of the limit ends that sooner, next time"
        )
    either = "either" if len(found.left) == 2 else verdict.answers[m]
    return (
        f"and a decision would take more than ten times the samples so far: {contention_text(verdict, m)}. If that is "
        f"close enough, stop here: {either} will do (close it as equal). Next time state eps"
    )


def how_far(apart: float) -> str:
    """Return by how much arms can differ, in words."""
    return f"differ by at most {at_most_text(apart)}"


def _second(status: Status, m: int) -> str | None:
    """Return the arm whose mean comes next to the leader's, None if there is none."""
    sign, leader = status.verdict.problem.objectives[m].sign, status.verdict.recommended[m]
    best = sign * float(status.means[leader, m])
    means = [
        (sign * float(mean), arm)
        for i, (mean, arm) in enumerate(zip(status.means[:, m], status.verdict.problem.arms, strict=True))
        if i != leader and status.active[i] and not status.barred[i] and sign * float(mean) <= best
    ]
    return max(means, key=lambda one: one[0])[1] if means else None


def held_up_texts(status: Status) -> list[str]:
    """Say what holds metrics up, and what to do about it; not what was asked for just now, and may be under way."""
    found = []
    for one in status.waiting:
        ago = time.time() - one.asked_at
        just_now = one.status == "pending" and ago <= _LONG_AGO and one.results < _MANY
        if status.closed_at is not None or just_now:
            continue
        wait, (why, what_to_do) = "waits" if one.results == 1 else "wait", _HOLES[one.status]
        if one.until is not None and one.status != "dropped":
            what_to_do = f"nothing is to be done, its window is over at {moment_text(one.until)} at the latest"
        which = f"assignment {one.assignment} ({one.arm}, asked {span_words(ago)} ago{why})"
        found.append(f"{plural(one.results, 'result')} of {one.metric} {wait} for {which}: {what_to_do}")
    return found


def span_words(seconds: float) -> str:
    """Return a time span as people say it."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{max(seconds, 0):.0f} seconds"


def status_remarks(status: Status) -> list[str]:
    """Return what else a reader should know: doubts, what is outstanding, earlier decisions, means that drifted."""
    names, answered = status.verdict.problem.metric_names, status.verdict.pulls
    remarks = [
        *contention_lines(status.verdict),
        *status.verdict.remarks,
        *status.verdict.reservations,
        *status.verdict.assumptions,
        *held_up_texts(status),
    ]
    held_up = {one.metric for one in status.waiting}
    for name, reported in zip(names, status.rewards.sum(axis=0).tolist(), strict=True):
        if reported < answered and name not in held_up:
            remarks.append(f"{name}: {reported:,} of {answered:,} reported")
    if status.worst:
        remarks.append(f"dropped, and counted as the worst there could be: {plural(status.worst, 'result')}")
    if status.late:
        remarks.append(f"came too late to be evidence, and kept aside: {plural(status.late, 'result')}")
    remarks += [
        f"earlier, among other arms: {objective} was decided for {arm} at pull {pull:,}"
        for objective, arm, pull in status.past
    ]
    if status.weighed_otherwise:
        remarks.append(
            "begun with an earlier version, which weighed evidence otherwise, and read as it is told: what was decided "
            "stands, and the two together are wrong with probability up to 2 delta"
        )
    if status.ending and status.closed_at is None:
        remarks.append(status.ending)
    barred = [arm for arm, out in zip(status.verdict.problem.arms, status.barred, strict=True) if out]
    if barred:
        remarks.append(f"no longer asked for, because of a broken limit: {', '.join(barred)}")
    remarks += [f"warning: {concern.text}" for concern in status.concerns]
    if status.intervals.contradicted.any():
        remarks.append("the current data contradict an earlier decision: have the means drifted?")
    return remarks
