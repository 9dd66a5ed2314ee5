"""One experiment under way: what was observed, what is decided, and which arm comes next."""

from mobai.engine.engine import RARE, Engine
from mobai.engine.policy import Policy, pair_up
from mobai.engine.session import Session
from mobai.engine.verdict import Verdict

__all__ = ["RARE", "Engine", "Policy", "Session", "Verdict", "pair_up"]
