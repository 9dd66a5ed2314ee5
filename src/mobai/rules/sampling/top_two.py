"""TCI-IDS for several objectives: challenge the most doubtful leader, split by information.

The single-objective rule is TTTS's transportation-cost relative with improvement (TCI, Jourdan et al. 2022) and
information-directed selection (IDS, You et al. 2023). Here the most doubtful pair is sought over all objectives::

    (m, i) = argmin over m, i != leader[m] of  Z_mi + log N_i

and the leader b of m is pulled with probability ``(sd_b^2/N_b) / (sd_b^2/N_b + sd_i^2/N_i)``, else the challenger
i. That split is the fixed point of the optimality conditions of the lower bound. O(K M) per pull, no linear program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mobai.kernels.trials.sampling import top_two as kernels
from mobai.kernels.trials.trial import TrialArrays
from mobai.problem import Problem
from mobai.rules.sampling.base import CompiledRule
from mobai.theory.observations import Observations


@dataclass(frozen=True)
class TopTwo(CompiledRule):
    """Pull one of the two arms that are hardest to tell apart right now.

    log N_i keeps a rarely pulled arm from being starved by an unlucky first impression.
    """

    name = "top-two"

    def init(self, problem: Problem) -> tuple[Any, ...]:  # noqa: ARG002
        """Return the memory to start with: an empty tuple, because nothing is remembered."""
        return ()

    def play(self, memory: tuple[Any, ...], trial: TrialArrays) -> int:  # noqa: ARG002
        """Find the most doubtful pair and toss a coin between its arms."""
        return kernels.play(trial)

    def reason(self, problem: Problem, observations: Observations) -> str:
        """Say what is most doubtful now."""
        found = np.empty(3, np.int64)
        kernels.find_doubt(observations.arrays, np.log(np.maximum(observations.asked, 1)), found)
        m, i, c = found.tolist()
        leader, rival = problem.arms[int(observations.leaders[m])], problem.arms[i]
        if c < 0:
            return (
                f"{leader} and {rival} are the hardest to tell apart, in {problem.objective_names[m]}, and one of them "
                "is drawn, more often the one that is known less well"
            )
        limit = f"{problem.guardrails[c].metric} {problem.guardrails[c].words}"
        what = "keeps" if rival == leader else "breaks"
        return f"whether {rival} {what} the limit ({limit}) is the most doubtful question"
