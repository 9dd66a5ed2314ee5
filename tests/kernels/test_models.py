"""What models promise to whoever asks the dispatch: bounds that hold, parts that add up, claims that are monotone."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import mobai
from mobai import Problem
from mobai.kernels.evidence.costs import renew
from mobai.kernels.jit.compiled import entry
from mobai.kernels.models import dispatch
from mobai.kernels.stats.observations import MODELS, ObservationArrays
from mobai.problem.families import MODELS as NAMES
from mobai.theory.observations import Observations

Draw = Callable[[np.random.Generator, int], float]
FAMILIES: dict[str, Draw] = {
    "gaussian=1": lambda rng, arm: rng.normal(0.4 * arm),
    "unknown-variance": lambda rng, arm: rng.normal(0.4 * arm, 1 + arm),
    "shared-variance": lambda rng, arm: rng.normal(0.4 * arm, 2.0),
    "bernoulli": lambda rng, arm: float(rng.random() < 0.3 + 0.2 * arm),
    "bounded=0..4": lambda rng, arm: float(rng.integers(5) * (0.5 + 0.25 * arm)),
}


@entry
def score(obs: ObservationArrays, b: int, i: int, shift: float, rivals: float) -> float:
    noise = dispatch.noise_at(obs, 0, 3.0)
    return dispatch.pair_score(obs, 0, b, i, shift, noise, rivals, -math.inf, math.inf)


@entry
def bound(obs: ObservationArrays, i: int) -> float:
    return dispatch.largest_score(obs, 0, i)


@entry
def parts(obs: ObservationArrays, b: int, i: int, found: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    found[0], found[1] = dispatch.contributions(obs, 0, b, i)


@entry
def claim(obs: ObservationArrays, i: int, null: float, apart: float, above: bool) -> float:
    return dispatch.claim_score(obs, 0, i, null, apart, above, dispatch.noise_at(obs, 0, 3.0))


def observed(family: str, seed: int, pulls: int = 60) -> ObservationArrays:
    rng, observations = np.random.default_rng(seed), Observations(Problem(2, [f"x:{family}"]))
    for n in range(pulls):
        observations.tell(n % 2, [FAMILIES[family](rng, n % 2)])
    renew(observations.arrays)
    return observations.arrays


def test_models_have_the_names_that_families_use() -> None:
    assert MODELS == NAMES


def test_only_the_dispatch_compares_models() -> None:
    """A model that is added is added there."""
    source = Path(mobai.__file__).parent
    asking = [path for path in source.rglob("*.py") if "objectives.model" in path.read_text()]
    assert asking == [source / "kernels/models/dispatch.py"]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_score_exceeds_its_bound(family: str) -> None:
    """The quick no of every look rests on it."""
    for seed in range(30):
        arrays = observed(family, seed, 4 + 6 * seed)
        b = int(arrays.leaders[0])
        assert score(arrays, b, 1 - b, 0.0, 1.0) <= bound(arrays, 1 - b) + 1e-9


@pytest.mark.parametrize("family", FAMILIES)
def test_contributions_share_the_cost(family: str) -> None:
    """Up to a factor: both arms contribute, none less than nothing."""
    arrays, found = observed(family, 1), np.empty(2)
    b = int(arrays.leaders[0])
    parts(arrays, b, 1 - b, found)
    assert (found >= 0).all()
    assert found.sum() > 0
    if family.startswith("b"):
        assert found.sum() == pytest.approx(arrays.costs[0, 1 - b], rel=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
def test_evidence_rises_with_the_shift(family: str) -> None:
    arrays = observed(family, 2)
    b = int(arrays.leaders[0])
    found = [score(arrays, b, 1 - b, shift, 1.0) for shift in (0.0, 0.1, 0.3, 0.9)]
    assert found == sorted(found)
    assert found[0] < found[-1]


@pytest.mark.parametrize("family", FAMILIES)
def test_claims_about_one_arm_are_harder_the_nearer_the_null_mean(family: str) -> None:
    arrays = observed(family, 3)
    mean = float(arrays.means[0, 1])
    for above in (True, False):
        side = -1.0 if above else 1.0
        found = [claim(arrays, 1, mean + side * apart, apart, above) for apart in (0.02, 0.05, 0.1, 0.2)]
        assert found == sorted(found)
        assert found[-1] > found[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_leave_out_what_claims_of_either_side_refute(family: str) -> None:
    """An interval at a level ends about where claims of one side reach it."""
    arrays, level = observed(family, 4, 200), 4.0
    lower, upper = dispatch.interval(arrays, 0, np.full(2, level), level, np.full((4, 2), np.nan))
    for i in range(2):
        mean = float(arrays.means[0, i])
        assert lower[i] < mean < upper[i]
        # Two-sided bets have half their stake on either side: log 2 more refutes on one side alone.
        assert claim(arrays, i, float(lower[i]), mean - float(lower[i]), True) < level + math.log(2) + 1.0
        assert claim(arrays, i, float(upper[i]), float(upper[i]) - mean, False) < level + math.log(2) + 1.0
