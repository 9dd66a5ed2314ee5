from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobai import GLR, InputError, Policy, Problem
from mobai.rules.stopping import Decision, EvidenceRecords
from mobai.theory.thresholds import THRESHOLDS


def enter(records: EvidenceRecords, evidence: list[float], pull: int) -> None:
    """Enter what exceeds its bar, as a monitor does."""
    for line, value in enumerate(evidence):
        if value > records.bars[line]:
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
        expected = None if first is None else Decision([first % 2, 0, 1][m], first)
        assert separate.decisions(level)[m] == only.decisions(level)[m] == expected
        first = next((t for t, row in enumerate(history, start=1) if min(row) > level), None)
        expected = None if first is None else Decision([first % 2, 0, 1][m], first)
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
            z = (means[b] - means[i]) ** 2 / (2 * (s_b**2 / n_b + s_i**2 / n_i))
            n_b, n_i = n_b * s_i / s_b, n_i * s_b / s_i
            u = (n_b**2 + n_i**2) / (n_b * n_i * (n_b + n_i))
            terms = [np.exp(z / (1 + c * u)) / np.sqrt((1 + n_b / c) * (1 + n_i / c)) for c in 8.0 ** np.arange(-1, 6)]
            evidence.append(np.log(np.mean(terms)))
        assert session.verdict(0.1).evidence[m] == pytest.approx(min(evidence), rel=1e-9)
        assert session.verdict(0.1).leaders[m] == b


def test_unknown_threshold() -> None:
    with pytest.raises(InputError, match="threshold must be one of"):
        GLR("bayes")
