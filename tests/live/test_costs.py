"""Samples that cost money: bounds, sampling, budgets, statuses, the doors; and nothing changes without."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize

import mobai
from mobai import Experiment, InputError, Instance, lower_bound, simulate
from mobai.cli.main import group
from mobai.errors import ConflictError
from mobai.problem.codec import problem_json, problem_of, stated_problem
from mobai.store.journal import MemoryJournal

MEANS = [[0.0], [0.5], [0.2]]
COSTS = {"small": 0.5, "large": 10, "other": 2}
ARMS = list(COSTS)


@pytest.mark.parametrize("guarded", [False, True])
def test_the_bound_is_the_least_spend_of_any_shares(guarded: bool) -> None:
    """Against a general optimiser, over the spend of each arm."""
    costs, sd = np.array(list(COSTS.values()), float), np.array([1.0, 0.7, 1.5])
    limits = {"guardrails": ["errors:gaussian=1:at-most=1:eps=0.5"]} if guarded else {}
    means = np.hstack([MEANS, [[0.8], [0.2], [2.0]]]) if guarded else np.array(MEANS)
    noise = np.column_stack([sd, np.ones(3)]) if guarded else sd[:, None]
    objectives = ["score"]
    instance = Instance(means, noise, ARMS, objectives, costs=COSTS, **limits)  # type: ignore[arg-type]
    bound = lower_bound(instance)

    def rate(spend: np.ndarray) -> float:
        w = (np.abs(spend) + 1e-12) / (np.abs(spend) + 1e-12).sum() / costs
        rates = []
        for i in (0, 2):
            pair = (means[1, 0] - means[i, 0]) ** 2 / 2 / (sd[1] ** 2 / w[1] + sd[i] ** 2 / w[i])
            broken = w[i] * max(means[i, 1] - 1, 0.0) ** 2 / 2 if guarded else 0.0
            rates.append(pair + broken)
        if guarded:
            rates.append(w[1] * (1 + 0.5 - means[1, 1]) ** 2 / 2)
        return float(min(rates))

    starts = np.random.default_rng(0).dirichlet(np.ones(3), size=60)
    with np.errstate(divide="ignore"):
        best = max(
            -minimize(lambda v: -rate(v), x, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14}).fun
            for x in starts
        )
    assert 1 / bound.value == pytest.approx(best, rel=1e-4)
    assert bound.average_cost == pytest.approx(float(bound.weights @ costs))
    assert bound.spend(0.05) == pytest.approx(bound.samples(0.05) * bound.average_cost)
    assert bound.gap <= 1e-9


@pytest.mark.parametrize("rule", ["top-two", "mo-bai", "track-and-stop", "frank-wolfe", "d-tracking"])
def test_equal_costs_change_nothing_and_unequal_ones_save(rule: str) -> None:
    plain = {"arms": ["a", "b"], "objectives": ["x:gaussian=1"]}
    blind, even, dear = (
        simulate(Instance([[0.6], [0.0]], **plain, costs=costs), rule, trials=40, deltas=[0.05], seed=3)  # type: ignore[arg-type]
        for costs in (None, [7, 7], [50, 1])
    )
    pulls = [[trial.arm_pulls.tolist() for trial in found.trials] for found in (blind, even, dear)]
    assert pulls[0] == pulls[1]
    spend = [np.array(found)[:, 0, 0] @ [50, 1] for found in pulls]
    assert spend[2].mean() < 0.9 * spend[0].mean()
    (row,) = dear.summary().rows
    assert row.spend == pytest.approx(spend[2].mean())
    assert "mean spend" in str(dear.summary())
    assert "spend" not in str(blind.summary())


def paid(**options: object) -> Experiment:
    options = {"costs": COSTS, "cost_unit": "USD", "rule": "uniform", **options}
    return Experiment.create(MemoryJournal(), "x", ARMS, ["click:bernoulli"], **options)  # type: ignore[arg-type]


def test_a_budget_ends_the_asking_and_the_status_says_what_was_spent() -> None:
    test = paid(max_cost=40.0)
    while test.status().state == "running":
        test.tell_all([(one, {"click": int(one.arm == "large")}) for one in test.ask(5)])
    with pytest.raises(ConflictError, match=r"max_cost = 40 USD is reached"):
        test.ask(1)
    status = test.status()
    assert status.spending is not None
    assert 40.0 <= status.spending.spent < 40.0 + max(COSTS.values())
    assert status.spending.words.startswith(f"{status.spending.spent:,.2f}".removesuffix(".00"))
    assert "of 40 USD spent" in str(status)
    assert status.state == "ended"
    assert test.replay().spending == status.spending


def test_what_was_dropped_was_paid_and_what_is_pending_will_be() -> None:
    test = paid()
    given = test.ask(6)
    test.drop(given[0])
    spending = test.status().spending
    assert spending is not None
    assert spending.spent == pytest.approx(sum(COSTS[one.arm] for one in given))


def test_a_metric_says_what_a_sample_cost() -> None:
    metrics = ["right:bernoulli", "usd:min:bounded=0..5"]
    prices = {"small": 0.1, "large": 2.0}
    test = Experiment.create(
        MemoryJournal(), "x", list(prices), metrics, cost_metric="usd", max_cost=30, seed=4, focus=True
    )
    rng, right = np.random.default_rng(0), {"small": 0.5, "large": 0.55}
    spent, asked = 0.0, {"small": 0, "large": 0}
    while spent < 30:
        (one,) = test.ask(1)
        usd = prices[one.arm] * rng.uniform(0.8, 1.2)
        spent, asked[one.arm] = spent + usd, asked[one.arm] + 1
        test.tell(one, {"right": float(rng.random() < right[one.arm]), "usd": usd})
    with pytest.raises(ConflictError, match="max_cost = 30 usd is reached"):
        test.ask(1)
    spending = test.status().spending
    assert spending is not None
    assert spending.spent == pytest.approx(spent)
    assert 30 <= spent < 33
    assert asked["small"] > 2 * asked["large"]
    assert test.replay().spending == spending


def test_a_budget_binds_before_any_cost_is_known() -> None:
    """A pool of workers asks before anybody has told what a sample cost: each may cost as much as it can."""
    metrics = ["right:bernoulli", "usd:min:bounded=0..5"]
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], metrics, cost_metric="usd", max_cost=20)
    given = [*test.ask(1), *test.ask(1), *test.ask(1), *test.ask(1)]
    with pytest.raises(ConflictError, match="max_cost = 20 usd"):
        test.ask(1)
    test.tell_all([(one, {"right": 1, "usd": 1.0}) for one in given])
    status = test.status()
    assert status.spending is not None
    assert (status.spending.spent, status.spending.estimated) == (4.0, False)
    assert len(test.ask(1)) == 1
    spending = test.status().spending
    assert spending is not None
    assert spending.words.startswith("about 5 of 20 usd spent")


def test_sampling_by_a_metric_is_sampling_by_its_means() -> None:
    means = [[0.7, 0.2], [0.6, 4.0], [0.5, 1.0]]
    objectives = ["score:bounded=0..1", "usd:min:bounded=0..5"]
    found = simulate(
        Instance(means, 0.1, ["a", "b", "c"], objectives, cost_metric="usd"), "mo-bai", trials=10, deltas=[0.05]
    )
    assert found.summary().rows[0].spend is not None
    assert found.instance.costs is not None
    assert found.instance.costs.tolist() == [0.2, 4.0, 1.0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"costs": {"small": 1}}, "must have one for each of small, large, other; see 'large'"),
        ({"costs": {**COSTS, "huge": 3}}, "see 'huge'"),
        ({"costs": [1, 2]}, "must be 3 numbers, one for each arm"),
        ({"costs": 5}, "must be 3 numbers, one for each arm"),
        ({"costs": [1, 0, 2]}, "must be numbers above 0, not 0"),
        ({"costs": [1, float("nan"), 2]}, "must be numbers above 0"),
        ({"costs": [1e-6, 1e6, 2]}, "at most 1e+09 times"),
        ({"cost_metric": "clicks"}, "must be a metric of the experiment, click, not 'clicks'"),
        ({"costs": [1, 2, 3], "cost_metric": "click"}, "one of the two"),
        ({"cost_unit": "USD"}, "goes with costs or cost_metric"),
        ({"max_cost": 3}, "needs costs, or cost_metric"),
        ({"costs": [1, 2, 3], "max_cost": -1}, "must be a number above 0"),
        ({"costs": [1, 2, 3], "items": 30}, "are for samples of each arm"),
    ],
)
def test_what_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(InputError) as error:
        Experiment.create(MemoryJournal(), "x", ARMS, ["click:bernoulli"], **options)  # type: ignore[arg-type]
    assert words in str(error.value)


def test_arms_leave_and_none_comes_later() -> None:
    test = paid(rule="top-two")
    given = test.ask(30)
    test.tell_all([(one, {"click": int(one.arm == "large")}) for one in given])
    with pytest.raises(InputError, match="what 'new' costs cannot be stated later"):
        test.add_arm("new")
    test.retire_arm("other")
    given = test.ask(10)
    test.tell_all([(one, {"click": 1}) for one in given])
    assert {one.arm for one in given} <= {"small", "large"}


def test_problems_and_settings_are_read_back(tmp_path: Path) -> None:
    problem = stated_problem(ARMS, ["click:bernoulli"], costs=COSTS, cost_unit="USD")
    assert problem_of(problem_json(problem)) == problem
    file = tmp_path / "test.toml"
    file.write_text(
        'name = "paid"\narms = ["small", "large", "other"]\nobjectives = ["click:bernoulli"]\nmax_cost = 12.5\n'
        'cost_unit = "EUR"\n[costs]\nsmall = 0.5\nlarge = 10\nother = 2\n'
    )
    storage = ["--storage", f"sqlite:///{tmp_path / 'a.db'}"]
    made = CliRunner().invoke(group, ["create", str(file), *storage])
    assert made.exit_code == 0, made.output
    shown = CliRunner().invoke(group, ["status", "paid", *storage])
    assert "0 of 12.50 EUR spent" in shown.output
    toml = CliRunner().invoke(group, ["show", "paid", "--toml", *storage]).output
    assert "costs = [0.5, 10.0, 2.0]" in toml
    assert "max_cost = 12.5" in toml


def test_the_command_line_plans_and_simulates_what_is_spent(tmp_path: Path) -> None:
    file = tmp_path / "models.json"
    file.write_text(json.dumps({"arms": ARMS, "objectives": ["score:gaussian=1"], "means": MEANS}))
    costs = [word for arm, cost in COSTS.items() for word in ("--cost", f"{arm}={cost}")]
    plan = CliRunner().invoke(group, ["plan", str(file), *costs, "--cost-unit", "USD"])
    assert plan.exit_code == 0, plan.output
    assert "spend (USD)" in plan.output
    found = json.loads(CliRunner().invoke(group, ["plan", str(file), *costs, "--json"]).output)
    assert found["spend_lower_bound"] < found["spend_expected"] < found["spend_uniform"]
    wrong = CliRunner().invoke(group, ["plan", str(file), "--cost", "small"])
    assert wrong.exit_code == 2 or "must be an arm and a number" in str(wrong.exception)
    simulated = CliRunner().invoke(group, ["simulate", str(file), *costs, "--rule", "top-two", "--trials", "5"])
    assert "mean spend" in simulated.output


def test_nothing_is_said_of_spending_without_costs() -> None:
    test = Experiment.create(MemoryJournal(), "x", ["a", "b"], ["click:bernoulli"])
    assert test.status().spending is None
    assert "spent" not in str(test.status())
    assert "costs" not in test.history()[0].body
    assert mobai.Instance([[1.0], [0.0]]).costs is None
