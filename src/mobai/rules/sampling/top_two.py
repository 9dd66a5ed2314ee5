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

from mobai.kernels.trials.sampling import top_two as kernels
from mobai.kernels.trials.trial import TrialArrays
from mobai.problem import Problem
from mobai.rules.sampling.base import CompiledRule


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
