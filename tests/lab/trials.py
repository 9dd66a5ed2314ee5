"""A world of the tests, policies for it, and the rows of their results."""

from __future__ import annotations

from typing import Any

from mobai import GLR, Instance, Policy, Results, TopTwo, Uniform

WORLD = Instance([[1.0, 0.2], [0.3, 0.9], [0.6, 0.5], [0.1, 0.4]], objectives=["x", "y"])


POLICIES = [Policy(rule, GLR(name)) for rule in (TopTwo(), Uniform()) for name in ("mixture", "empirical")]


SETTINGS: dict[str, Any] = {"deltas": [0.1, 0.01], "trials": 12, "seed": 4}


def rows(results: Results) -> list[dict[str, Any]]:
    return list(results)
