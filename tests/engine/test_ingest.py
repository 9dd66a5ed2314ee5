"""Many pulls at once are read as they would be one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mobai import GLR, Problem, Uniform
from mobai.engine.asks import Resolution, left_out
from mobai.engine.engine import Engine


def new_engine(guarded: bool) -> Engine:
    limits = ["err:at-most=0.6:eps=0.1"] if guarded else []
    problem = Problem(["A", "B", "C"], ["x:unknown-variance", "err:min:bounded=0..1"], guardrails=limits)
    return Engine(problem, Uniform(), GLR(), log_inv_delta=1.0, rare=0.02, follows_health=True)


def facts(engine: Engine) -> list[Any]:
    verdict, found = engine.verdict(), engine.observations
    tables = (verdict.evidence, found.means, found.pulls, found.asked, engine.sampling.observations.means)
    numbers = [table.tobytes().hex() for table in tables]
    return [*numbers, verdict.decisions, verdict.doubts, verdict.held, engine.asks.answered, engine.asks.count]


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("groups", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_at_once_is_one_by_one(guarded: bool, groups: float, missing: float) -> None:
    rng = np.random.default_rng([int(guarded), int(10 * groups), int(10 * missing)])
    arms = rng.integers(0, 3, 300)
    rewards = np.column_stack([rng.normal(arms * 0.4, 1.0), np.clip(rng.normal(0.3 + 0.1 * arms, 0.2), 0, 1)])
    rewards[rng.random(rewards.shape) < missing] = np.nan
    together = (rng.random(300) < groups) & (np.arange(300) > 0)
    one, other = new_engine(guarded), new_engine(guarded)
    moments: list[list[Resolution]] = []
    for arm, row, more in zip(arms.tolist(), rewards.tolist(), together.tolist(), strict=True):
        outcome = Resolution(one.record(arm, more=more), left_out(row))
        if more:
            moments[-1].append(outcome)
        else:
            moments.append([outcome])
    for moment in moments:
        one.hear(moment)
    one.catch_up()
    other.ingest(arms, rewards, together)
    assert facts(one) == facts(other)
    # And both go on alike.
    for engine in (one, other):
        engine.tell(engine.ask(1), [0.3, 0.5])
    assert facts(one) == facts(other)
