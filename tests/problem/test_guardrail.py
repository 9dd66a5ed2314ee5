"""Limits: how they are written, what is refused, and which arms keep them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobai import Bernoulli, Guardrail, InputError, Instance, Problem, UnknownVariance
from mobai.problem.guardrail import NOBODY

numbers = st.floats(0.01, 0.4)


@given(numbers, numbers, st.sampled_from(["at_most", "at_least", "within"]), st.booleans())
def test_short_forms_are_read_back(limit: float, eps: float, kind: str, less: bool) -> None:
    of = {"of": "a:b\\c", "direction": "min" if less else "max"} if kind == "within" else {}
    guardrail = Guardrail("x:y", UnknownVariance(), eps=eps, **{kind: limit}, **of)  # type: ignore[arg-type]
    assert Guardrail.parse(str(guardrail)) == guardrail


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("errors:bernoulli", "needs one number: at-most=NUMBER, at-least=NUMBER or within=NUMBER:of=ARM"),
        ("errors:bernoulli:at-most=0.1:at-least=0.01", "needs one number"),
        ("errors:bernoulli:at-most=much", "at-most must be a number, not 'much'"),
        ("errors:bernoulli:at-most=0.1:at-most=0.2", "its at-most is given twice"),
        ("errors:bernoulli:at-most=nan", "limit must be a finite number"),
        ("click:min:within=0.1:of=A", "its objective says 'max', not 'min'"),
        ("latency:gaussian:at-most=5", "'latency' does not say what its rewards are"),
        ("errors:bernoulli:at-most=1.5", "limit must lie between 0 and 1, both excluded"),
        ("errors:bernoulli:at-most=0.99:eps=0.5", "eps must be less than 0.01"),
        ("errors:bernoulli:at-most=0.1:eps=-1", "eps must be a number, 0 or more"),
        ("errors:bernoulli:max:at-most=0.1", "'max' goes with within="),
        ("errors:bernoulli:within=0.1", "goes with of=ARM"),
        ("errors:bernoulli:within=-0.1:of=A", "within=NUMBER, 0 or more"),
        ("errors:bernoulli:within=0.9:of=A:eps=0.2", "within and eps together must be less than 1"),
        ("errors:bernoulli:within=0.1:of=Z", "of must be one of A, B, not 'Z'"),
        ("errors:at-most=0.1", "it is no objective, and must say what its rewards are"),
        ("click:bernoulli:at-most=0.1", "the objective of that name says already what its rewards are"),
        ("click:at-most=1.5", "limit must lie between 0 and 1"),
        ("errors:bernoulli:atmost=0.1", "did you mean 'at-most'"),
        (":bernoulli:at-most=0.1", "the metric must be a name"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem(["A", "B"], ["click:bernoulli"], guardrails=[text])


def test_a_list_is_needed() -> None:
    with pytest.raises(InputError, match="guardrails must be a list of limits"):
        Problem(["A", "B"], ["click:bernoulli"], guardrails="errors:bernoulli:at-most=0.1")


def test_a_limit_in_an_objective_names_the_guardrail() -> None:
    with pytest.raises(InputError, match=r"--guardrail errors:at-most=0\.02"):
        Problem(["A", "B"], ["errors:min:at-most=0.02"])


def test_a_metric_has_one_limit_of_a_kind() -> None:
    for second in ("errors:at-most=0.2", "errors:bernoulli:at-least=0.01"):
        with pytest.raises(InputError, match=r"at most one limit of a kind|stated twice"):
            Problem(["A", "B"], ["click:bernoulli"], guardrails=["errors:bernoulli:at-most=0.1", second])
    both = Problem(
        ["A", "B"], ["click:bernoulli"], guardrails=["errors:bernoulli:at-most=0.1", "errors:at-least=0.01:eps=0.005"]
    )
    assert both.metric_names == ("click", "errors")


def test_metrics_and_claims() -> None:
    problem = Problem(
        ["control", "B", "C"],
        ["click:bernoulli", "latency:min:unknown-variance"],
        guardrails=["errors:bernoulli:at-most=0.02:eps=0.005", "latency:within=5:of=control"],
        baseline="control",
    )
    assert problem.metric_names == ("click", "latency", "errors")
    assert problem.signs.tolist() == [1, -1, -1]
    assert problem.guardrails[1].direction == "min"
    # M (K - 1) pairs; K limits, (K - 1) margins counted twice without a tolerance, (K - 1) differences of 3 metrics.
    assert problem.claims == (4, 3 + 2 * 2 + 2 * 3)
    assert Problem(["A", "B"], 3, 1.0).claims == (3, 0)
    assert problem.check_rewards({"errors": 1})[2] == 1
    with pytest.raises(InputError, match="rewards must be 3 numbers, one per metric"):
        problem.check_rewards([1, 2])
    with pytest.raises(InputError, match="baseline must be one of 'control', 'B', 'C', not 'A'"):
        Problem(["control", "B", "C"], ["click:bernoulli"], baseline="A")


def limited(*guarded: float, limit: float = 0.1, eps: float = 0.05) -> Instance:
    means = [[0.2 + 0.1 * i, mean] for i, mean in enumerate(guarded)]
    guardrail = Guardrail("errors", Bernoulli(), at_most=limit, eps=eps)
    return Instance(means, objectives=["click:bernoulli"], guardrails=[guardrail])


def test_right_answers() -> None:
    """The best of those that keep the limit; one beyond it by less than the tolerance may be said, if it is as good."""
    instance = limited(0.02, 0.1, 0.12, 0.3)
    assert instance.best_arms.tolist() == [1]
    assert instance.right_arms[:, 0].tolist() == [False, True, True, False]
    assert instance.gaps[:, 0] == pytest.approx([0.1, 0.0, -0.1, -0.2])
    assert not instance.is_right(NOBODY, 0)
    nobody = limited(0.12, 0.3)
    assert nobody.best_arms.tolist() == [NOBODY]
    assert nobody.is_right(NOBODY, 0)


def test_a_margin_spares_its_baseline() -> None:
    guardrail = Guardrail("latency", UnknownVariance(), within=5.0, of="A", direction="min", eps=1.0)
    instance = Instance(
        [[0.2, 80], [0.3, 84], [0.4, 90]],
        arms=["A", "B", "C"],
        objectives=["click:bernoulli"],
        guardrails=[guardrail],
    )
    assert instance.keeping_limits()[:, 0].tolist() == [True, True, False]
    assert instance.best_arms.tolist() == [1]


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_files(tmp_path: Path, suffix: str) -> None:
    instance = limited(0.02, 0.3)
    path = tmp_path / f"t{suffix}"
    instance.save(path)
    assert Instance.load(path) == instance


def test_what_a_table_cannot_hold(tmp_path: Path) -> None:
    instance = Instance([[0.2], [0.3]], objectives=["click:bernoulli"], guardrails=["click:at-least=0.1"])
    with pytest.raises(InputError, match=r"go into a \.json file"):
        instance.save(tmp_path / "t.csv")
    instance.save(tmp_path / "t.json")
    assert Instance.load(tmp_path / "t.json") == instance
    np.testing.assert_array_equal(instance.keeping_limits(), [[True], [True]])
