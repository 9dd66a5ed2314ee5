"""When to stop: thresholds on the GLR statistic, the ladder that answers every delta, elimination."""

from mobai.rules.stopping.base import Decision, Reaching, StoppingRule, Watch
from mobai.rules.stopping.elimination import Elimination
from mobai.rules.stopping.glr import GLR
from mobai.rules.stopping.ladder import Ladder

__all__ = ["GLR", "Decision", "Elimination", "Ladder", "Reaching", "StoppingRule", "Watch"]
