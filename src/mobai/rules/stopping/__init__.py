"""When to stop: thresholds on the GLR statistic, the records that answer every delta, elimination."""

from mobai.rules.stopping.base import (
    ArmsMayChange,
    Decision,
    Laddered,
    Monitor,
    ScoresPairs,
    SharesDelta,
    StoppingRule,
)
from mobai.rules.stopping.elimination import Elimination
from mobai.rules.stopping.glr import GLR
from mobai.rules.stopping.paired import Paired
from mobai.rules.stopping.records import EvidenceRecords

__all__ = [
    "GLR",
    "ArmsMayChange",
    "Decision",
    "Elimination",
    "EvidenceRecords",
    "Laddered",
    "Monitor",
    "Paired",
    "ScoresPairs",
    "SharesDelta",
    "StoppingRule",
]
