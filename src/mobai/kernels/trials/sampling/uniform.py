"""Uniform sampling as a compiled loop."""

from __future__ import annotations

from mobai.kernels.jit.compiled import entry
from mobai.kernels.trials.trial import TrialArrays, begin, climb, draw, least_asked


@entry
def play(trial: TrialArrays) -> int:
    """Pull the least asked arm, at most ``trial.pulls`` times; return the last arm, -1 if there was none.

    Ends early when everything is decided or a block of rewards is used up. The trial is changed in place.
    """
    obs, arm, before = trial.obs, -1, begin(trial)
    for k in range(trial.pulls + 1):
        if climb(trial.ladder, obs, arm, before + k) or k == trial.pulls:
            break
        arm = least_asked(obs.asked)
        if not draw(trial.blocks, obs, arm):
            break
    return arm
