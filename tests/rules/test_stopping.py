from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from mobai import GLR, InputError, Policy, Problem
from mobai.rules.stopping import Decision, EvidenceRecords
from mobai.theory.thresholds import THRESHOLDS


def enter(records: EvidenceRecords, evidence: list[float], pull: int) -> None:
    """Enter what exceeds its bar, as a monitor does."""
    for line, value in enumerate(evidence):
        if value > records.to_beat[line]:
            records.add(line, value, np.array([pull % 2, 0, 1]), pull)


@given(st.lists(st.lists(st.floats(-5, 20), min_size=3, max_size=3), min_size=1, max_size=30), st.floats(0.01, 15))
def test_records_find_first_crossings(history: list[list[float]], level: float) -> None:
    separate, together = EvidenceRecords(3, sticky=True), EvidenceRecords(3, sticky=False)
    only = EvidenceRecords(3, sticky=True, level=level)
    for pull, row in enumerate(history, start=1):
        enter(separate, row, pull)
        enter(only, row, pull)
        enter(together, [min(row)], pull)
    for m in range(3):
        first = next((t for t, row in enumerate(history, start=1) if row[m] > level), None)
        expected = None if first is None else Decision([first % 2, 0, 1][m], first, None, history[first - 1][m])
        assert separate.decisions(level)[m] == only.decisions(level)[m] == expected
        first = next((t for t, row in enumerate(history, start=1) if min(row) > level), None)
        expected = None if first is None else Decision([first % 2, 0, 1][m], first, None, min(history[first - 1]))
        assert together.decisions(level)[m] == expected


@pytest.mark.parametrize("name", THRESHOLDS)
def test_flags(name: str) -> None:
    assert GLR(name).certified == (name != "empirical")
    assert GLR(name).sticky == (name in ("mixture", "kaufmann_koolen"))
    assert GLR(name).name == name


def test_evidence_of_a_session_by_its_definition() -> None:
    """From the rewards themselves, pair by pair, with noise that differs by arm and objective (docs/thresholds.md)."""
    problem = Problem(3, ["x", "y:min"], sd=[[1.0, 3.0], [2.0, 0.5], [0.7, 1.5]])
    session, rng = Policy().start(problem, seed=1), np.random.default_rng(1)
    rewards: list[list[list[float]]] = [[], [], []]
    weights = (0.18, 0.27, 0.22, 0.13, 0.09, 0.06, 0.05)
    for _ in range(60):
        arm = session.ask()
        rewards[arm].append((rng.normal(size=2) * problem.sd[arm] + [arm, -arm]).tolist())
        session.tell(arm, rewards[arm][-1])
    for m, sign in enumerate((1, -1)):
        means = [sign * np.mean([reward[m] for reward in arm]) for arm in rewards]
        b = int(np.argmax(means))
        evidence = []
        for i in set(range(3)) - {b}:
            s_b, s_i, n_b, n_i = problem.sd[b, m], problem.sd[i, m], len(rewards[b]), len(rewards[i])
            gap = float(means[b] - means[i]) / math.sqrt(s_b * s_i)
            n_b, n_i = n_b * s_i / s_b, n_i * s_b / s_i

            def wealth(mu: float, gap: float = gap, n_b: float = n_b, n_i: float = n_i) -> float:
                terms = []
                for c, weight in zip(2.0 ** np.arange(-2, 17, 3), weights, strict=True):
                    term = math.log(weight)
                    for n, d in ((n_b, gap - mu), (n_i, mu)):
                        t = n * d / math.sqrt(n + c)
                        term += t * t / 2 + math.log(2) + log_ndtr(t) - 0.5 * math.log1p(n / c)
                    terms.append(term)
                return float(np.logaddexp.reduce(terms))

            evidence.append(minimize_scalar(wealth, bracket=(0.0, gap + 0.1), tol=1e-12).fun)
        assert session.verdict(0.1).evidence[m] == pytest.approx(min(evidence), abs=1e-7)
        assert session.verdict(0.1).leaders[m] == b


def test_unknown_threshold() -> None:
    with pytest.raises(InputError, match="threshold must be one of"):
        GLR("bayes")
