"""What is shown, in words: one line or one sentence each."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

_MOST_OPEN = 5  # metrics in one sentence
_LONG_AGO = 60.0  # seconds
_MANY = 20  # results that wait
_MOST_NAMED = 4  # arms in one sentence
_FAR_OFF = 10  # times what was spent
_MOST_LIFT = 20  # times the baseline; a wider interval of it says nothing
_BELIEVED = 50  # samples per arm, before a forecast of that is believed
# What is said of an assignment that holds a metric up, and what to do about it.
_HOLES = {
    "pending": ("", "report it, or drop it"),
    "answered": (", and reported without it", "report it, or null if it will not come, or drop the rest"),
    "dropped": (", and dropped", "drop it as lost, if that has nothing to do with any result"),
}

if TYPE_CHECKING:
    from mobai.engine import Verdict
    from mobai.engine.contention import Contention
    from mobai.engine.explain import Explanation
    from mobai.live.status import Status
    from mobai.theory.differences import Differences
    from mobai.theory.forecast import Remaining
    from mobai.theory.intervals import Intervals


def certification(threshold: str, certified: bool) -> str:
    """Return a line that says whether the error probability is proven to be at most delta."""
    if certified:
        proof = "the error probability is proven to be at most delta, if the rewards are as stated"
        return f"threshold {threshold}: certified, {proof}"
    return f"threshold {threshold}: not certified, its error probability can exceed delta"


def answer_text(verdict: Verdict, m: int) -> str:
    """Return the arm decided on, with what is proven of it; the one that leads; nothing without rewards or in a tie."""
    if verdict.decisions[m] is not None:
        return settled_answer(verdict, m)
    return f"{verdict.answers[m]} leads" if verdict.leading[m] else "-"


def settled_answer(verdict: Verdict, m: int) -> str:
    """Return the recommended arm, and how near to the best a decision has proven it to be if that is not the best."""
    only_near = verdict.decisions[m] is not None and not is_best(verdict, m)
    return verdict.answers[m] + (f", {_near_best(verdict, m)}" if only_near else "")


def is_best(verdict: Verdict, m: int) -> bool:
    """Whether a decision proves that an arm is best, and not only that it is within eps of that."""
    found = _contention(verdict, m)
    proven = found is not None and found.left == (verdict.answers[m],)
    return verdict.problem.objectives[m].eps == 0 or proven


def _contention(verdict: Verdict, m: int) -> Contention | None:
    """Return who may still be best in an objective, None if that is not known."""
    name = verdict.problem.objective_names[m]
    return next((one for one in verdict.contention if one.objective == name), None)


def _near_best(verdict: Verdict, m: int) -> str:
    return f"within {verdict.problem.objectives[m].eps:g} of the best"


def contention_text(verdict: Verdict, m: int) -> str:
    """Return who may still be best in an objective, by how much these can differ, and who is out; nothing if unknown.

    For example "a and b differ by at most 0.014; c is out", or "a is within 0.02 of the best, which may be b or c".
    """
    found = _contention(verdict, m)
    if found is None:
        return ""
    out = f"{_listed(_some(found.out))} {'is' if len(found.out) == 1 else 'are'} out" if found.out else ""
    return "; ".join(part for part in (_closeness(verdict, m), out) if part)


def _closeness(verdict: Verdict, m: int) -> str:
    """Return how close the arms that may still be best are; nothing if unknown, or if there is only one."""
    found = _contention(verdict, m)
    if found is not None and len(found.left) == 2 and found.apart is not None:
        return f"{_listed(list(found.left))} differ by at most {at_most_text(found.apart)}"
    if found is None or len(found.left) <= 2 or found.within is None or not verdict.leading[m]:
        return ""
    others = _listed(_some([name for name in found.left if name != verdict.answers[m]]), "or")
    return f"{verdict.answers[m]} is within {at_most_text(found.within)} of the best, which may be {others}"


def contention_lines(verdict: Verdict) -> list[str]:
    """Return, for objectives that are open, who may still be best: a line each."""
    names = verdict.problem.objective_names
    found = [(names[m], contention_text(verdict, m)) for m in range(len(names)) if verdict.decisions[m] is None]
    doubt = "" if verdict.certified else " (not certified)"
    return [f"{name}: {text}{doubt}" for name, text in found if text]


def _some(names: Sequence[str]) -> list[str]:
    """Return names, of many the first ones and how many more there are."""
    return list(names) if len(names) <= _MOST_NAMED else [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]


def is_far_off(samples: float, verdict: Verdict) -> bool:
    """Whether a forecast is of more than ten times what was spent, once that is enough to believe it."""
    return verdict.pulls >= _BELIEVED * len(verdict.problem.arms) and samples > _FAR_OFF * verdict.pulls


def number_text(value: float, width: float) -> str:
    """Return a number with as many digits as an interval of this width around it deserves: three of its width.

    Without a width, the number itself has three digits.

    Examples
    --------
    >>> number_text(0.123456, 0.05), number_text(1234.5, 3.2), number_text(3.8e-8, 0.15), number_text(21, math.inf)
    ('0.1235', '1,234.50', '0.000', '21.0')
    """
    if not math.isfinite(width) or width <= 0:
        width = abs(value)
    if not math.isfinite(value) or not 1e-9 <= width < 1e9 or abs(value) >= 1e12:
        return f"{value:.3g}"
    decimals = max(2 - math.floor(math.log10(width)), 0)
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def at_most_text(value: float) -> str:
    """Return a bound in three digits, rounded up: what is proven of the number holds for its text.

    Examples
    --------
    >>> at_most_text(0.032311), at_most_text(12.0), at_most_text(0.0)
    ('0.0324', '12.0', '0')
    """
    if value <= 0:
        return "0"
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return number_text(math.ceil(value / unit - 1e-9) * unit, math.inf)


def interval_text(value: float, low: float, high: float) -> str:
    """Return a number with its interval, in as many digits as they deserve."""
    if math.isnan(value):
        return "-"
    width = high - low
    if not math.isfinite(width):
        return f"{number_text(value, math.inf)} (unknown)"
    return f"{number_text(value, width)} ({number_text(low, width)} to {number_text(high, width)})"


def plural(count: int, word: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def verdict_line(verdict: Verdict) -> str:
    """Return one line: how many pulls, and how many objectives are decided."""
    decided = sum(decision is not None for decision in verdict.decisions)
    proof = "" if verdict.certified else ", NOT certified"
    count = f"{decided} of {plural(len(verdict.decisions), 'objective')}"
    return f"{plural(verdict.pulls, 'pull')}, {count} decided at delta = {verdict.delta:g}{proof}"


def samples_text(samples: float) -> str:
    """Return a forecast in words, to two digits."""
    if not math.isfinite(samples):
        return "no forecast: tied or nearly tied"
    rounded = int(float(f"{max(samples, 1.0):.1g}" if samples < 1000 else f"{samples:.2g}"))
    return f"roughly {plural(rounded, 'more sample')}"


def missing_text(
    verdict: Verdict, forecast: Remaining | None, m: int, ended: bool = False, equal: Collection[str] = ()
) -> str:
    """Return what an objective still lacks, in plain words; of one that has ended, what its evidence is enough for."""
    decision = verdict.decisions[m]
    if decision is not None:
        return f"decided at pull {decision.pull:,}{_when(decision.at)}"
    if verdict.problem.objective_names[m] in equal:
        return "closed as equal"
    if ended:
        reached = float(verdict.smallest_deltas[m])
        return f"open; enough for delta = {reached:.2g}" if reached < 1 else "open; not enough for any delta"
    if forecast is None:
        return "too early for a forecast"
    samples = float(forecast.per_objective[m])
    far = math.isfinite(samples) and is_far_off(samples, verdict)
    return "more than ten times the samples so far" if far else samples_text(samples)


def evidence_text(verdict: Verdict, m: int) -> str:
    """Return the evidence of an objective and what it takes; of a decided one, what there was then, and is now."""
    now, needed = f"{max(float(verdict.evidence[m]), 0.0):.2f}", f"{verdict.threshold[m]:.2f}"
    decision = verdict.decisions[m]
    if decision is None or decision.evidence is None:
        fell = decision is not None and verdict.evidence[m] <= verdict.threshold[m]
        return f"{now} of {needed}" + (" (now)" if fell else "")
    then = f"{decision.evidence:.2f} of {needed}"
    return then if f"{decision.evidence:.2f}" == now else f"{then} ({now} now)"


def _when(at: float | None) -> str:
    """Return the time of day, with the date unless it is today; nothing for None."""
    if at is None:
        return ""
    then, now = datetime.fromtimestamp(at, UTC), datetime.now(UTC)
    return f", {then:%H:%M} UTC" if then.date() == now.date() else f", {then:%d %b %Y %H:%M} UTC"


def explanation_text(explanation: Explanation) -> str:
    """Return an explanation in a few lines."""
    lines = [*explanation.sentences, explanation.reason]
    return "\n".join(lines)


def difference_text(differences: Differences, arm: int, metric: int) -> str:
    """Return how an arm compares with the baseline in a metric: the interval of the difference, and what it proves."""
    if arm == differences.baseline:
        return "-"
    low, high = float(differences.lower[arm, metric]), float(differences.upper[arm, metric])
    if not math.isfinite(high - low):
        return "unknown"
    shown = " to ".join(f"{'+' if end > 0 else ''}{number_text(end, high - low)}" for end in (low, high))
    return f"{shown} ({differences.words(arm, metric)}{_lift_text(differences, arm, metric)})"


def _lift_text(differences: Differences, arm: int, metric: int) -> str:
    """Return the difference in percent of the baseline, if that is known within a factor that says something."""
    low, high = float(differences.lift_lower[arm, metric]), float(differences.lift_upper[arm, metric])
    if not math.isfinite(high - low) or high - low > _MOST_LIFT:
        return ""
    ends = (f"{'+' if end > 0 else ''}{number_text(100 * end, 1000 * (high - low))}" for end in (low, high))
    return f"; {' to '.join(ends)} %"


def intervals_caption(verdict: Verdict, intervals: Intervals) -> str:
    """Return a sentence that says what the intervals promise."""
    promise = f"intervals: with probability {1 - verdict.delta:.6g} all of them contain the true means, at all times"
    if not intervals.certified:
        return f"{promise}, if the rewards were as stated, which they do not seem to be"
    if intervals.fitted:
        return promise
    rule = "another certified rule" if verdict.certified else "a rule that is not certified"
    return f"{promise} (proven for the intervals alone, apart from the decisions of {rule})"


def status_line(status: Status) -> str:
    """Return one line: where an experiment stands."""
    verdict = status.verdict
    lost = status.dropped + status.expired
    waiting = f"{status.pending:,} pending" + (f", {status.incomplete:,} incomplete" if status.incomplete else "")
    counts = f"{plural(verdict.pulls, 'pull')}, {waiting}" + (f", {lost:,} dropped or expired" if lost else "")
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


def _open_text(status: Status, m: int) -> str:
    name = status.verdict.problem.objective_names[m]
    return f"{name} is {'' if name in status.equal else 'open: '}{_outlook(status, m)}"


def _decided(status: Status, decided: list[int]) -> str:
    """Return the answers that there are, and that one may stop for them."""
    verdict, names = status.verdict, status.verdict.problem.objective_names
    if status.closed_at is None and len(decided) < len(names):
        word = "Stop for" if verdict.certified else "Decided, but NOT certified:"
        return f"{word} {_listed([f'{names[m]} ({answer_text(verdict, m)})' for m in decided])}"
    answers = "; ".join(_answer_for(verdict, m) for m in decided)
    answers = answers[:1].upper() + answers[1:]
    if not verdict.certified:
        return f"Decided, but NOT certified. {answers}"
    return answers if status.closed_at is not None else f"You may stop. {answers}"


def _answer_for(verdict: Verdict, m: int) -> str:
    """Return what is proven of the arm that an objective was decided for."""
    name, arm = verdict.problem.objective_names[m], verdict.answers[m]
    return f"best for {name}: {arm}" if is_best(verdict, m) else f"for {name}: {arm}, {_near_best(verdict, m)}"


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
        return f"closed as equal, {_listed(equal['arms'])} differ by at most {at_most_text(equal['apart'])}"
    if status.state in ("closed", "ended") or more is None:
        return leads + far
    samples = float(more.per_objective[m])
    if is_far_off(samples, verdict):
        return f"{leads}{far}, {_ending(verdict, m)}"
    words = samples_text(samples).replace("roughly", "about")
    return f"{leads}{far}, {words}"


def _ending(verdict: Verdict, m: int) -> str:
    """Return how to end an objective that would take more than ten times what was spent."""
    found = _contention(verdict, m)
    if found is None or not verdict.certified or not _closeness(verdict, m):
        return "and a decision would take more than ten times the samples so far"
    either = "either" if len(found.left) == 2 else verdict.answers[m]
    return (
        f"and a decision would take more than ten times the samples so far: {contention_text(verdict, m)}. If that is "
        f"close enough, stop here: {either} will do. Next time state eps"
    )


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


def moment_text(at: float) -> str:
    """Return a Unix time as people write it."""
    return f"{datetime.fromtimestamp(at, UTC):%d %b %Y %H:%M:%S} UTC"


def _listed(words: list[str], last: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


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
    for name, reported in zip(names, status.pulls.sum(axis=0).tolist(), strict=True):
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
