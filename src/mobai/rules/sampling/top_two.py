"""TCI-IDS for several objectives: challenge the most doubtful leader, split by information.

The single-objective rule is TTTS's transportation-cost relative with improvement (TCI, Jourdan et al. 2022) and
information-directed selection (IDS, You et al. 2023). Here the most doubtful pair is sought over all objectives::

    (m, i) = argmin over m, i != leader[m] of  Z_mi + log N_i

and the leader b of m is pulled with probability ``(sd_b^2/N_b) / (sd_b^2/N_b + sd_i^2/N_i)``, else the challenger
i. That split is the fixed point of the optimality conditions of the lower bound. O(K M) a pull, no linear program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mobai.problem import Problem, Tally
from mobai.rules.sampling.base import opening
from mobai.theory.glr import pair_statistics


@dataclass(frozen=True)
class TopTwo:
    """Pull one of the two arms that are hardest to tell apart right now.

    Counts are those of arms *asked*, so that answers still outstanding spread later questions instead of piling
    them up.
    """

    name = "top-two"

    def init(self, problem: Problem) -> None:
        """Nothing needs remembering."""

    def choose(self, problem: Problem, memory: None, tally: Tally, rng: np.random.Generator) -> tuple[int, None]:
        """Find the most doubtful pair and toss the coin between its arms."""
        first = opening(tally)
        if first is not None:
            return first, memory
        asked = np.broadcast_to(tally.asked[:, None], problem.shape)
        statistic = pair_statistics(tally.means, asked, problem.sd)
        # log N_i keeps a rarely pulled arm from being starved by an unlucky first impression.
        cost = statistic.pairs + np.log(asked)
        challenger, m = divmod(int(cost.argmin()), problem.shape[1])
        leader = int(statistic.leaders[m])
        doubt = problem.sd[[leader, challenger], m] ** 2 / tally.asked[[leader, challenger]]
        return (leader if rng.random() * doubt.sum() < doubt[0] else challenger), memory
