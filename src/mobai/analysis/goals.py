"""Other answers than the best arm of every objective, from tables of results on items."""

from __future__ import annotations

import numpy as np

from mobai.analysis.items import table_of
from mobai.analysis.logs import Log
from mobai.errors import InputError
from mobai.kernels.evidence.paired import LEFT_OUT, WORST
from mobai.problem import FloatArray
from mobai.rules.goals import Claims, Goal, GoalAnswer
from mobai.rules.stopping.comparison import Comparison

_ROUNDING = 1e-12


def answer_on_items(log: Log, goal: Goal, log_inv_delta: float) -> GoalAnswer:
    """Return what a table of results proves of a goal, with an error probability of its own."""
    problem = log.problem
    if log.items is None:
        raise InputError("goal", "needs items: all arms measured on the same things (item=, --items)")
    if problem.guardrails:
        raise InputError("goal", "must come without guardrails")
    for metric in problem.objectives:
        if metric.family.model == "student" and not metric.family.counts_wins:
            raise InputError("goal", f"needs a range, or wins: {metric.name} is of {metric.family.word}")
    goal.check(problem)
    table = table_of(log, log.items)
    seen = Comparison(problem, goal.level(problem, log_inv_delta))
    _tell(seen, table)
    claims = Claims(seen.bets.top[0].copy(), seen.bets.top[-1].copy())
    if problem.design is not None and problem.design.size is not None:
        _know_exactly(claims, seen, table)
    return goal.answer(problem, claims, log_inv_delta)


def _tell(seen: Comparison, table: FloatArray) -> None:
    """Enter a table, and weigh every claim up to its end."""
    stand_ins = [WORST if metric.has_worst else LEFT_OUT for metric in seen.problem.metrics]
    for index, row in enumerate(table):
        for arm, values in enumerate(row):
            seen.tell(index, arm, np.where(np.isnan(values), stand_ins, values * seen.problem.signs).tolist())
    seen.look(table[np.isfinite(table)].size)


def _know_exactly(claims: Claims, seen: Comparison, table: FloatArray) -> None:
    """Of means over items that are all there are, and all measured, put what is true in place of what bets say."""
    for m, objective in enumerate(seen.problem.objectives):
        values = table[:, :, m] * seen.problem.signs[m]
        if objective.family.counts_wins or np.isnan(values).any():
            continue
        lead = values.mean(axis=0)[:, None] - values.mean(axis=0)[None, :]
        close = _ROUNDING * max(1.0, float(np.abs(values).max()))
        claims.strict[m] = np.where(lead > close, np.inf, -np.inf)
        claims.near[m] = np.where(lead >= -close - float(seen.problem.eps[m]), np.inf, -np.inf)
