"""The lower bound with guardrails, by cutting planes, with a certificate that does not trust the solver.

With b the best arm of objective m, d_ic what a sample of arm i says about its limit c (in nats), and V_i the limits
that arm i breaks, no policy that is right with probability 1 - delta can gain evidence faster than::

    1/T* = max over weights w of the smallest of, over m:
             w_b d_bc                                        for each limit c that b must be shown to keep,
             w_i sum over c in V_i of d_ic + pair_m(w_i, w_b)  for each rival i; no pair if it is better than b

where metrics are independent. Each of these is concave and homogeneous in w, so that it is nowhere above its tangents,
which go through zero. The smallest of tangents is a linear program; where its solution is, more tangents are drawn. Any
prices y >= 0 on tangents a_k bound the rate by ``max_i sum_k y_k a_ki / sum y``, whatever the solver did.
"""

from __future__ import annotations

import numpy as np

from mobai.errors import ConvergenceError
from mobai.problem import FloatArray, Instance
from mobai.theory.certificate import relative_gap
from mobai.theory.pairs import sd_per_cost

_TARGET_GAP = 1e-10
_PROMISED_GAP = 1e-9
_MOST_ROUNDS = 400


class Requirements:
    """What must be shown, as rates at given weights and their tangents.

    Each requirement is ``own w_i + (gap^2 / 2) / (v_i / w_i + v_b / w_b)``: of the arm i, beside b.
    """

    def __init__(self, instance: Instance) -> None:
        rows: list[tuple[int, int, float, float, float, float]] = []
        keeps, sd = limit_rates(instance), sd_per_cost(instance)
        for m, b in enumerate(instance.best_arms.tolist()):
            rows += [(b, b, float(rate), 0.0, 1.0, 1.0) for rate in keeps[b] if rate > 0]
            for i in range(instance.shape[0]):
                if i != b:
                    broken = float(-np.minimum(keeps[i], 0.0).sum())
                    gap = float(max(instance.gaps[i, m] + instance.problem.eps[m], 0.0))
                    rows.append((i, b, broken, gap, float(sd[i, m]) ** 2, float(sd[b, m]) ** 2))
        table = np.array(rows)
        self.arms, self.best = table[:, 0].astype(np.intp), table[:, 1].astype(np.intp)
        self.own, self.half = table[:, 2], table[:, 3] ** 2 / 2
        self.variance, self.variance_of_best = table[:, 4], table[:, 5]

    def rates(self, weights: FloatArray) -> FloatArray:
        """Return every rate at the weights."""
        w, w_best = weights[self.arms], weights[self.best]
        both = self.variance * w_best + self.variance_of_best * w
        pairs: FloatArray = np.divide(self.half * w * w_best, both, out=np.zeros_like(w), where=both > 0)
        return self.own * w + pairs

    def tangents(self, weights: FloatArray) -> FloatArray:
        """Return the coefficients of every tangent at positive weights. Shape (requirements, K)."""
        w, w_best = weights[self.arms], weights[self.best]
        root = 1 / (self.variance * w_best + self.variance_of_best * w)
        rows, found = np.arange(len(w)), np.zeros((len(w), len(weights)))
        np.add.at(found, (rows, self.arms), self.own + self.half * self.variance * (w_best * root) ** 2)
        np.add.at(found, (rows, self.best), self.half * self.variance_of_best * (w * root) ** 2)
        return found


def limit_rates(instance: Instance) -> FloatArray:
    """Return what a sample of each arm says about each limit: positive if it is kept, negative if broken, in nats.

    Gaussian rewards of the same mean and standard deviation; a margin counts as if the baseline were known.
    """
    found, sd = np.zeros((instance.shape[0], len(instance.problem.guardrails))), sd_per_cost(instance)
    for c, guardrail in enumerate(instance.problem.guardrails):
        m = instance.problem.metric_names.index(guardrail.metric)
        base = None if guardrail.of is None else instance.arms.index(guardrail.of)
        limit = float(guardrail.limit or 0.0)
        if base is not None:
            limit = float(instance.means[base, m]) - guardrail.sign * float(guardrail.within or 0.0)
        room = guardrail.sign * (instance.means[:, m] - limit)
        apart = np.where(room >= 0, room + guardrail.eps, room)
        found[:, c] = np.sign(apart) * (apart / sd[:, m]) ** 2 / 2
        if base is not None:
            found[base, c] = 0.0
    return found


def solve_limited(instance: Instance) -> tuple[FloatArray, float, float]:
    """Return the weights that gain evidence fastest, and bounds of the rate from below and from above."""
    needs, arms = Requirements(instance), instance.shape[0]
    weights = best = np.full(arms, 1 / arms)
    lower, upper, cuts = 0.0, np.inf, np.zeros((0, arms))
    for _ in range(_MOST_ROUNDS):
        # Half-way to the best weights so far as well: tangents there keep the next ones from going to and fro.
        for tried in (weights, 0.5 * (weights + best)):
            reached = float(needs.rates(tried).min())
            lower, best = (reached, tried) if reached > lower else (lower, best)
            # A little inside: there every rate has a tangent.
            cuts = np.vstack([cuts, needs.tangents(np.maximum(tried, 1e-12))])
        weights, prices = _solve(cuts, best, lower, relative_gap(lower, upper))
        upper = min(upper, float((prices @ cuts).max() / prices.sum()))
        if relative_gap(lower, upper) <= _TARGET_GAP:
            break
        cuts = cuts[np.argsort(cuts @ weights)[: 60 * arms]]
    gap = relative_gap(lower, upper)
    if not gap <= _PROMISED_GAP:
        raise ConvergenceError(f"the oracle weights were certified only to a relative gap of {gap:.2g}")
    return best, lower, upper


def _solve(cuts: FloatArray, best: FloatArray, lower: float, gap: float) -> tuple[FloatArray, FloatArray]:
    """Return the weights at which the smallest of linear functions is largest, and the price of each function.

    The program is about the step from the best weights so far, in units that shrink with the gap: so its solver's own
    tolerance does, too.
    """
    from scipy.optimize import linprog

    arms, unit = cuts.shape[1], max(lower, 1e-3 * float(cuts.max()) / cuts.shape[1])
    step = min(max(100 * gap, 1e-8), 1.0)
    found = linprog(
        np.r_[-1.0, np.zeros(arms)],
        A_ub=np.hstack([np.ones((len(cuts), 1)), -cuts / unit]),
        b_ub=(cuts @ best - lower) / unit / step,
        A_eq=[np.r_[0.0, np.ones(arms)]],
        b_eq=[0.0],
        bounds=[(None, None), *((-share / step, None) for share in best.tolist())],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status != 0:
        raise ConvergenceError(f"the linear program of the lower bound was not solved: {found.message}")
    weights = np.maximum(best + step * found.x[1:], 0.0)
    return weights / weights.sum(), np.maximum(-found.ineqlin.marginals, 0.0)
