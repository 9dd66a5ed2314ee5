"""Evidence about limits and differences, by definition; and the lower bound with limits, by another solver."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import erfcx
from scipy.stats import t as student_t

from mobai import Guardrail, InputError, Instance, Policy, Problem, lower_bound
from mobai.engine import Session
from mobai.errors import TieError
from mobai.kernels.evidence import betting, normal, student
from mobai.kernels.stats.observations import BROKEN, KEPT
from mobai.problem import FloatArray
from mobai.theory.limited_bound import Requirements, limit_rates


def told(family: str, limit: str, rewards: list[list[float]], seed: int = 0) -> Session:
    problem = Problem(len(rewards), ["y:gaussian=1"], guardrails=[f"x:{family}:{limit}"])
    session = Policy().start(problem, seed=seed)
    for arm, values in enumerate(rewards):
        for value in values:
            session.record(arm, [0.0, value])
    return session


def claims(session: Session) -> FloatArray:
    return session.observations.arrays.limits.evidence[:, 0]


def log_mean_exp(values: list[float], weights: list[float] | tuple[float, ...]) -> float:
    return float(mpmath.log(mpmath.fsum(w * mpmath.exp(v) for v, w in zip(values, weights, strict=True))))


def normal_twin(rewards: list[float], point: float, sd: float, above: bool) -> float:
    n, mean = len(rewards), float(np.mean(rewards))
    apart = (mean - point) / sd * (1 if above else -1)
    values = [
        float(np.log(erfcx(-n * apart / math.sqrt(n + c) / math.sqrt(2)))) - 0.5 * math.log1p(n / c)
        for c in normal.WIDTHS
    ]
    return log_mean_exp(values, normal.WEIGHTS)


def student_twin(rewards: list[float], point: float, above: bool) -> float:
    n, mean = len(rewards), float(np.mean(rewards))
    d, scatter = (mean - point) * (1 if above else -1), float(((np.array(rewards) - mean) ** 2).sum())
    values = []
    for c in student.WIDTHS:
        k = c / (n + c)
        t = d * n / math.sqrt(n + c) * math.sqrt(n / (scatter + k * n * d * d))
        side = math.log(2 * (1 - student.SIDE + (2 * student.SIDE - 1) * student_t.cdf(t, n)))
        values.append(0.5 * math.log(k) + n / 2 * math.log1p(t * t / n) + side)
    return log_mean_exp(values, student.WEIGHTS)


def betting_twin(rewards: list[float], point: float, above: bool) -> float:
    x = np.array(rewards) if above else 1 - np.array(rewards)
    m = point if above else 1 - point
    values = [float(np.log1p(u * (x / m - 1)).sum()) for u in betting.SHARES]
    weights = [math.exp(w) for w in betting.LOG_WEIGHTS]
    return log_mean_exp([*values, 0.0], [*weights, 0.03])


RNG = np.random.default_rng(3)
NORMAL = [RNG.normal(1.0, 2.0, 40).tolist(), RNG.normal(-0.5, 2.0, 25).tolist()]
COINS = [(RNG.random(60) < 0.5).astype(float).tolist(), (RNG.random(40) < 0.05).astype(float).tolist()]


@pytest.mark.parametrize("side", ["at-least", "at-most"])
def test_evidence_by_definition(side: str) -> None:
    for arm in range(2):
        for family, rewards, limit, eps, twin in (
            ("gaussian=2.0", NORMAL, 0.25, 0.3, lambda r, p, a: normal_twin(r, p, 2.0, a)),
            ("unknown-variance", NORMAL, 0.25, 0.3, student_twin),
            ("bernoulli", COINS, 0.2, 0.05, betting_twin),
        ):
            found = claims(told(family, f"{side}={limit}:eps={eps}", rewards))
            above = side == "at-least"
            tolerated = limit - eps if above else limit + eps
            mean = float(np.mean(rewards[arm]))
            for claim, point, bets_above in ((KEPT, tolerated, above), (BROKEN, limit, not above)):
                holds = mean > point if bets_above else mean < point
                # What was ever won counts; the largest is at least what there is now.
                if holds:
                    now = [twin(rewards[arm][:n], point, bets_above) for n in range(1, len(rewards[arm]) + 1)]
                    right = [
                        value
                        for n, value in enumerate(now, start=1)
                        if (np.mean(rewards[arm][:n]) > point) == bets_above
                    ]
                    assert found[claim, arm] == pytest.approx(max(right), abs=1e-6)


def test_a_batch_is_looked_at_once() -> None:
    """What was won in the middle of a batch does not count."""
    problem = Problem(2, ["y:gaussian=1"], guardrails=["x:gaussian=1:at-least=0:eps=0.1"])
    from mobai import Experiment
    from mobai.store.journal import MemoryJournal

    batch = [("arm 0", {"y": 0.0, "x": value}) for value in (5.0, 5.0, 5.0, -5.0, -5.0, -5.0)]
    found = []
    for order in (batch, batch[::-1]):
        test = Experiment.create(MemoryJournal(), "x", problem.arms, ["y:gaussian=1"], guardrails=problem.guardrails)
        test.record_all([*order, ("arm 1", {"y": 0.0, "x": 0.0})])
        with test._ledger.look() as state:
            found.append(state.engine.observations.arrays.limits.evidence[:, 0, 0].tolist())
    assert found[0] == found[1]
    assert found[0][KEPT] == pytest.approx(normal_twin([0.0] * 6, -0.1, 1.0, True))


def test_a_margin_is_a_pair() -> None:
    """Kept: better than the baseline minus the margin, by the evidence of an objective with the margin for its eps."""
    session = told("gaussian=2.0", "within=0.5:of=arm 1:eps=0.25", NORMAL)
    pair = Policy().start(Problem(2, ["x:gaussian=2.0:eps=0.75"]), seed=0)
    for arm, values in enumerate(NORMAL):
        for value in values:
            pair.record(arm, [value])
    assert claims(session)[KEPT, 0] >= pair.verdict(0.05).evidence[0] - 1e-9
    assert claims(session)[BROKEN, 0] == -math.inf
    assert claims(session)[:, 1].tolist() == [-math.inf] * 2


@pytest.mark.parametrize("family", ["gaussian=2.0", "unknown-variance", "shared-variance"])
def test_differences_by_definition(family: str) -> None:
    """The ends are where an indifference zone of that size makes the evidence of the pair reach the level."""
    problem = Problem(2, [f"x:min:{family}"], baseline="arm 1")
    session = Policy().start(problem, seed=0)
    for arm, values in enumerate(NORMAL):
        for value in values:
            session.record(arm, [-value])
    found = session.differences(0.1)
    level = session.verdict(0.1).threshold[0] + math.log(2)
    assert found.lower[0, 0] < -1.5 < found.upper[0, 0]
    assert (found.lower[1], found.upper[1]) == (0, 0)
    # Oriented, arm 0 leads: shifted by its smallest lead, the evidence is the level.
    lead = -found.upper[0, 0]
    shifted = Policy().start(Problem(2, [f"x:{family}"]), seed=0)
    for arm, values in enumerate(NORMAL):
        for value in values:
            shifted.record(arm, [value - (lead if arm == 0 else 0.0)])
    if family != "shared-variance":
        assert shifted.verdict(0.1).evidence[0] == pytest.approx(level, abs=1e-4)
    assert found.verdicts[0, 0] == (1 if lead > 0 else 0)


def test_differences_agree_with_the_verdict() -> None:
    rng, problem = np.random.default_rng(5), Problem(3, ["x:gaussian=1", "y:min:bernoulli"], baseline="arm 0")
    session = Policy().start(problem, seed=5)
    means = np.array([[0.0, 0.5], [0.6, 0.4], [0.1, 0.2]])
    for _ in range(4000):
        arm = session.ask()
        session.tell(arm, [rng.normal(means[arm, 0]), float(rng.random() < means[arm, 1])])
        verdict = session.verdict(0.1)
        if verdict.stopped:
            break
    found = session.differences(0.1)
    for m, decision in enumerate(verdict.decisions):
        assert decision is not None
        assert found.words(decision.arm, m) == "better"
        low, high = found.lower[decision.arm, m], found.upper[decision.arm, m]
        assert low >= 0 if m == 0 else high <= 0
    with pytest.raises(InputError, match="baseline: the problem has none"):
        Policy().start(Problem(2, 1, 1.0), seed=1).differences(0.1)


def random_instance(seed: int, arms: int, objectives: int, limits: int) -> Instance:
    rng = np.random.default_rng(seed)
    means, sd = rng.random((arms, objectives + limits)), rng.uniform(0.5, 2, objectives + limits)
    goals = [f"o{m}:gaussian={sd[m]}:eps={0.05 * (m % 2)}" for m in range(objectives)]
    guardrails = [f"g{c}:gaussian={sd[objectives + c]}:at-least=0.35:eps=0.1" for c in range(limits)]
    return Instance(means, objectives=goals, guardrails=guardrails)


@pytest.mark.filterwarnings("ignore:Values in x were outside bounds")  # said by the solver of older versions of SciPy
@pytest.mark.parametrize(("seed", "shape"), [(0, (4, 2, 1)), (1, (6, 3, 2)), (2, (3, 1, 1)), (7, (8, 2, 3))])
def test_the_lower_bound_by_another_solver(seed: int, shape: tuple[int, int, int]) -> None:
    instance = random_instance(seed, *shape)
    bound = lower_bound(instance)
    assert bound.gap <= 1e-9
    needs = Requirements(instance)
    assert 1 / bound.value == pytest.approx(needs.rates(bound.weights).min(), rel=1e-8)
    # Sequential quadratic programming on the definition, from several starts.
    arms = shape[0]

    def rates(w: FloatArray) -> FloatArray:
        keeps, found = limit_rates(instance), []
        for m, b in enumerate(instance.best_arms.tolist()):
            found += [w[b] * rate for rate in keeps[b] if rate > 0]
            for i in range(arms):
                if i != b:
                    gap = max(instance.gaps[i, m] + instance.problem.eps[m], 0.0)
                    spread = instance.sd[i, m] ** 2 / w[i] + instance.sd[b, m] ** 2 / w[b]
                    found.append(w[i] * -np.minimum(keeps[i], 0).sum() + gap**2 / 2 / spread)
        return np.array(found)

    scale, rng, best = 1 / bound.value, np.random.default_rng(seed), 0.0
    for _ in range(8):
        start = rng.dirichlet(np.ones(arms))
        done = minimize(
            lambda z: -z[-1],
            np.append(start, rates(start).min() / scale),
            bounds=[(1e-9, 1)] * arms + [(0, None)],
            constraints=[
                {"type": "eq", "fun": lambda z: z[:-1].sum() - 1},
                {"type": "ineq", "fun": lambda z: rates(z[:-1]) / scale - z[-1]},
            ],
            options={"maxiter": 500, "ftol": 1e-14},
        )
        weights = np.maximum(done.x[:-1], 1e-12)
        best = max(best, rates(weights / weights.sum()).min() / scale)
    assert best == pytest.approx(1.0, abs=2e-5)
    assert best <= 1 + 1e-9


def test_no_bound_on_the_limit() -> None:
    means = [[0.2, 0.1], [0.3, 0.05]]
    for guardrail, message in (
        (Guardrail.parse("errors:bernoulli:at-most=0.1"), "is on the limit"),
        (Guardrail.parse("errors:bernoulli:at-most=0.01:eps=0.005"), "no arm keeps every limit"),
    ):
        with pytest.raises(TieError, match=message):
            lower_bound(Instance(means, objectives=["click:bernoulli"], guardrails=[guardrail]))
    with pytest.raises(InputError, match="eta must be 0 with guardrails"):
        lower_bound(Instance(means, objectives=["click:bernoulli"], guardrails=["errors:bernoulli:at-most=0.2"]), 0.1)
