"""What is shown, in words: numbers, samples and single facts."""

from __future__ import annotations

import math
from collections.abc import Collection
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

_FAR_OFF = 10  # times what was spent
_MOST_LIFT = 20  # times the baseline; a wider interval of it says nothing
_EXACT = 1e-9  # in parts of a number: what is narrower is known
_BELIEVED = 50  # samples per arm, before a forecast of that is believed

if TYPE_CHECKING:
    from mobai.engine import Verdict
    from mobai.engine.explain import Explanation
    from mobai.theory.differences import Differences
    from mobai.theory.forecast import Remaining
    from mobai.theory.intervals import Intervals


def certification(threshold: str, certified: bool) -> str:
    """Return a line that says whether the error probability is proven to be at most delta."""
    if certified:
        proof = "the error probability is proven to be at most delta, if the rewards are as stated"
        return f"threshold {threshold}: certified, {proof}"
    return f"threshold {threshold}: not certified, its error probability can exceed delta"


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
    decimals = _decimals(value, width)
    return f"{value:.3g}" if decimals is None else f"{round(value, decimals) + 0.0:,.{decimals}f}"


def _decimals(value: float, width: float) -> int | None:
    """Return how many decimals a number with an interval of this width deserves; None for an exponent instead."""
    if not math.isfinite(width) or width <= 0:
        width = abs(value)
    if not math.isfinite(value) or not 1e-9 <= width < 1e9 or abs(value) >= 1e12:
        return None
    return max(2 - math.floor(math.log10(width)), 0)


def ends_text(low: float, high: float, width: float | None = None, sign: bool = False) -> str:
    """Return the ends of an interval, rounded outwards: what is proven of the numbers holds for their text.

    Examples
    --------
    >>> ends_text(0.00206879, 0.0411), ends_text(-1.5, 3.4702), ends_text(0.035, 1.27, sign=True)
    ('0.0020 to 0.0411', '-1.50 to 3.48', '+0.03 to +1.27')
    """
    shown = []
    for end, towards in ((low, math.floor), (high, math.ceil)):
        decimals = _decimals(end, high - low if width is None else width)
        if decimals is not None:
            # To six digits more first, lest the last bit of a short number moves it.
            end = towards(round(end * 10.0**decimals, 6)) / 10.0**decimals + 0.0
        text = f"{end:.3g}" if decimals is None else f"{end:,.{decimals}f}"
        shown.append(f"{'+' if sign and end > 0 else ''}{text}")
    return " to ".join(shown)


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


def _one_end(low: float, high: float) -> str:
    """Return what is known where an interval has one end, or none."""
    if math.isfinite(low) and low != 0:
        return f"{ends_text(low, low, abs(low)).partition(' to ')[0]} or more"
    if math.isfinite(high) and high != 0:
        return f"{ends_text(high, high, abs(high)).partition(' to ')[2]} or less"
    return "unknown"


def interval_text(value: float, low: float, high: float) -> str:
    """Return a number with its interval, in as many digits as they deserve."""
    if math.isnan(value):
        return "-"
    width = high - low
    if not math.isfinite(width):
        return f"{number_text(value, math.inf)} ({_one_end(low, high)})"
    if width <= _EXACT * max(abs(low), abs(high)):
        return f"{value:.6g} (exactly)"
    return f"{number_text(value, width)} ({ends_text(low, high)})"


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
        known = _one_end(low, high)
        return known if known == "unknown" else f"{known} ({differences.words(arm, metric)})"
    if low == high == 0:
        return "equal"
    if high - low <= _EXACT * max(abs(low), abs(high)):
        shown = f"{'+' if low > 0 else ''}{low:.6g} exactly"
    else:
        shown = ends_text(low, high, sign=True)
    return f"{shown} ({differences.words(arm, metric)}{_lift_text(differences, arm, metric)})"


def _lift_text(differences: Differences, arm: int, metric: int) -> str:
    """Return the difference in percent of the baseline, if that is known within a factor that says something."""
    low, high = float(differences.lift_lower[arm, metric]), float(differences.lift_upper[arm, metric])
    if not math.isfinite(high - low) or high - low > _MOST_LIFT:
        return ""
    return f"; {ends_text(100 * low, 100 * high, 1000 * (high - low), sign=True)} %"


def intervals_caption(verdict: Verdict, intervals: Intervals) -> str:
    """Return a sentence that says what the intervals promise."""
    if not np.isfinite(intervals.upper - intervals.lower).any():
        return ""  # of wins, and before there is anything
    what = "numbers" if any(metric.family.functional for metric in verdict.problem.metrics) else "means"
    promise = f"intervals: with probability {1 - verdict.delta:.6g} all of them contain the true {what}, at all times"
    if not intervals.certified:
        return f"{promise}, if what was assumed holds, which is in doubt"
    if intervals.fitted:
        return promise
    rule = "another certified rule" if verdict.certified else "a rule that is not certified"
    return f"{promise} (proven for the intervals alone, apart from the decisions of {rule})"


def moment_text(at: float) -> str:
    """Return a Unix time as people write it."""
    return f"{datetime.fromtimestamp(at, UTC):%d %b %Y %H:%M:%S} UTC"


def listed(words: list[str], last: str = "and") -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
