"""One loop for all rules that plan with programs: compiled together, the solver is compiled once."""

from __future__ import annotations

import numpy as np

from mobai.kernels.jit.compiled import array_kernel, entry
from mobai.kernels.programs.dense import Matrix
from mobai.kernels.stats.observations import ObservationArrays
from mobai.kernels.trials.sampling import d_tracking, frank_wolfe, mo_bai, track_and_stop
from mobai.kernels.trials.sampling.planning import PlanArrays, has_estimates, relative_variance
from mobai.kernels.trials.trial import TrialArrays, begin, climb, draw

MO_BAI, D_TRACKING, FRANK_WOLFE, TRACK_AND_STOP = 0, 1, 2, 3
choose_mo_bai, choose_d_tracking = mo_bai.choose, d_tracking.choose
choose_frank_wolfe, choose_track_and_stop = frank_wolfe.choose, track_and_stop.choose


@entry
def play(trial: TrialArrays, rule: int, number: float, flag: bool, plan: PlanArrays) -> int:
    """Choose and pull, at most ``trial.pulls`` times; return the last arm, -1 if there was none.

    ``number`` and ``flag`` are the rule's options. Ends early when everything is decided or a block of rewards is used
    up. PlanArrays and trial are changed in place.
    """
    obs, arm, before = trial.obs, -1, begin(trial)
    variance, estimated = np.empty_like(plan.gaps), has_estimates(obs) or obs.costs_by[0] >= 0
    relative_variance(obs, plan.best, variance)
    for k in range(trial.pulls + 1):
        if climb(trial.ladder, obs, arm, before + k) or k == trial.pulls:
            break
        if estimated:
            relative_variance(obs, plan.best, variance)
        arm = choose(obs, variance, before + k, trial.coins[k], rule, number, flag, plan)
        if not draw(trial.blocks, obs, arm):
            break
    return arm


@array_kernel
def choose(
    obs: ObservationArrays,
    variance: Matrix,
    asked: int,
    coin: float,
    rule: int,
    number: float,
    flag: bool,
    plan: PlanArrays,
) -> int:
    """Let a rule choose, given how many pulls were asked for; its plan is changed in place."""
    if rule == MO_BAI:
        return choose_mo_bai(obs, variance, asked, number, flag, plan)
    if rule == D_TRACKING:
        return choose_d_tracking(obs, variance, asked, coin, number, flag, plan)
    if rule == FRANK_WOLFE:
        return choose_frank_wolfe(obs, variance, asked, plan)
    return choose_track_and_stop(obs, asked, number, plan)
