"""How goals are written."""

from __future__ import annotations

import re

from mobai.errors import InputError
from mobai.rules.goals.base import Goal
from mobai.rules.goals.pareto import Pareto
from mobai.rules.goals.ranking import Ranking
from mobai.rules.goals.top import Top


def goal_of(text: str) -> Goal:
    """Read a goal.

    Examples
    --------
    >>> goal_of("pareto"), goal_of("top=3"), goal_of("ranking")
    (Pareto(), Top(k=3), Ranking())
    """
    if text == "pareto":
        return Pareto()
    if text == "ranking":
        return Ranking()
    found = re.fullmatch(r"top=(\d{1,9})", text) if isinstance(text, str) else None
    if found is None:
        raise InputError("goal", f"must be pareto, ranking or top=NUMBER, not {text!r}")
    return Top(int(found[1]))
