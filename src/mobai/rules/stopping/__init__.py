"""When to stop: thresholds on the GLR statistic, and the ladder that answers every delta."""

from mobai.rules.stopping.glr import GLR
from mobai.rules.stopping.ladder import Decision, Ladder

__all__ = ["GLR", "Decision", "Ladder"]
