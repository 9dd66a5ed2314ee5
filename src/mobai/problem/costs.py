"""What a sample of each arm costs: stated, or read off a metric. Sampling saves money by it; no guarantee reads it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mobai.errors import InputError
from mobai.problem.families import is_number
from mobai.problem.objective import Objective, is_name

_LARGEST_RATIO = 1e9


@dataclass(frozen=True)
class Costs:
    """What a sample costs.

    Parameters
    ----------
    by_arm
        The cost of a sample of each arm, in the order of the arms; None where a metric says it.
    metric
        The metric that says what a sample cost.
    unit
        What costs are counted in, such as ``USD``; the name of the metric unless given.
    """

    by_arm: tuple[float, ...] | None = None
    metric: str | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be paid."""
        if (self.by_arm is None) == (self.metric is None):
            raise InputError("costs", "are stated by arm, or read off the metric cost_metric: one of the two")
        if not isinstance(self.unit, str) or (self.unit and not is_name(self.unit)):
            raise InputError("cost_unit", f"must be a short text such as USD, not {self.unit!r}")
        wrong = [one for one in self.by_arm or () if not (is_number(one) and one > 0)]
        if wrong:
            raise InputError("costs", f"must be numbers above 0, not {wrong[0]!r}")
        if self.by_arm and max(self.by_arm) > _LARGEST_RATIO * min(self.by_arm):
            raise InputError("costs", f"the largest may be at most {_LARGEST_RATIO:g} times the smallest")

    def check(self, metrics: Sequence[Objective]) -> None:
        """Refuse a metric that cannot say what a sample cost."""
        if self.metric is None:
            return
        found = next((one for one in metrics if one.name == self.metric), None)
        if found is None:
            names = ", ".join(one.name for one in metrics)
            raise InputError("cost_metric", f"must be a metric of the experiment, {names}, not {self.metric!r}")
        if found.family.functional or found.family.counts_wins:
            raise InputError("cost_metric", f"must be a metric whose mean counts, which {self.metric!r} is not")
        low = found.family.range[0]
        if math.isfinite(low) and low < 0:
            raise InputError("cost_metric", f"must not be negative, and {self.metric!r} may be")

    def among(self, before: Sequence[str], now: Sequence[str]) -> Costs:
        """Return the costs of some of these arms."""
        if self.by_arm is None or tuple(before) == tuple(now):
            return self
        known = dict(zip(before, self.by_arm, strict=True))
        new = [arm for arm in now if arm not in known]
        if new:
            raise InputError(
                "arm", f"what {new[0]!r} costs cannot be stated later: use cost_metric, or begin another experiment"
            )
        return Costs(tuple(known[arm] for arm in now), None, self.unit)

    @property
    def counted_in(self) -> str:
        """The unit, or what stands for it."""
        return self.unit or self.metric or ""

    def json(self) -> dict[str, Any]:
        """Return the costs as plain data, by the names that :func:`costs_of` reads."""
        return {
            **({"costs": list(self.by_arm)} if self.by_arm is not None else {}),
            **({"cost_metric": self.metric} if self.metric is not None else {}),
            **({"cost_unit": self.unit} if self.unit else {}),
        }


def costs_of(
    arms: Sequence[str],
    costs: Mapping[str, float] | Sequence[float] | None = None,
    cost_metric: str | None = None,
    cost_unit: str | None = None,
) -> Costs | None:
    """Return the costs that are stated, by arm, in the order of the arms, or by a metric; None if none are.

    Examples
    --------
    >>> costs_of(["small", "large"], {"large": 12, "small": 0.3})
    Costs(by_arm=(0.3, 12.0), metric=None, unit='')
    """
    if costs is None and cost_metric is None:
        if cost_unit:
            raise InputError("cost_unit", "goes with costs or cost_metric")
        return None
    if isinstance(costs, Mapping):
        odd = [*(arm for arm in costs if arm not in arms), *(arm for arm in arms if arm not in costs)]
        if odd:
            raise InputError("costs", f"must have one for each of {', '.join(arms)}; see {odd[0]!r}")
        costs = [costs[arm] for arm in arms]
    if costs is not None and (isinstance(costs, str) or not isinstance(costs, Sequence) or len(costs) != len(arms)):
        raise InputError("costs", f"must be {len(arms)} numbers, one for each arm, not {costs!r}")
    by_arm = None if costs is None else tuple(float(one) if is_number(one) else one for one in costs)
    return Costs(by_arm, cost_metric, cost_unit or "")


def amount(spent: float, of: float | None = None, unit: str = "") -> str:
    """Return an amount in words.

    Examples
    --------
    >>> amount(3.2, 10, "USD"), amount(1234.5)
    ('3.20 of 10 USD', '1,234')
    """
    return " ".join([_number(spent), *([] if of is None else [f"of {_number(of)}"]), *([unit] if unit else [])])


def _number(value: float) -> str:
    if value and abs(value) < 0.01:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:,.2f}"
