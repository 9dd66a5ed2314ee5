"""Which command or function is fastest: timed in rounds, until it is known."""

from mobai.timing.commands import Command, CommandRunner, expand
from mobai.timing.measurement import Measurement
from mobai.timing.rounds import CommandError, Timing, time_rounds

__all__ = ["Command", "CommandError", "CommandRunner", "Measurement", "Timing", "expand", "time_rounds"]
