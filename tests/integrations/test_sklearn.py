"""scikit-learn: a search that races, in the ways that people use searches."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_regression
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import RepeatedKFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

import mobai
from mobai.integrations.sklearn import RacingSearchCV

TREE = DecisionTreeClassifier(random_state=0)


@pytest.fixture(scope="module")
def iris() -> tuple[Any, Any]:
    X, y = load_iris(return_X_y=True)
    return X, y


@pytest.mark.parametrize(
    "search",
    [
        RacingSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, splits=3, random_state=0),
        RacingSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, splits=3, random_state=0),
        RacingSearchCV({"a": LogisticRegression(C=0.1), "b": LogisticRegression()}, splits=3, random_state=0),
    ],
    ids=["classifier", "regressor", "estimators"],
)
def test_it_is_an_estimator_like_any_other(search: RacingSearchCV) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(search, on_fail=None)
    failed = {one["check_name"]: str(one["exception"]) for one in found if one["status"] == "failed"}
    assert failed == {}
    assert sum(one["status"] == "passed" for one in found) > 50


def test_a_clear_difference_takes_a_dozen_splits(iris: tuple[Any, Any]) -> None:
    search = RacingSearchCV(TREE, {"max_depth": [1, 3]}, random_state=0).fit(*iris)
    assert search.best_params_ == {"max_depth": 3}
    assert search.best_params_by_metric_ == {"score": {"max_depth": 3}}
    assert search.verdict_.stopped
    assert search.verdict_.certified
    assert search.n_fits_ <= 32
    assert search.best_estimator_.get_depth() == 3
    assert search.score(*iris) == search.best_estimator_.score(*iris) > 0.9
    assert search.predict(iris[0]).tolist() == search.best_estimator_.predict(iris[0]).tolist()
    assert search.summary_ == f"score: max_depth=3 is best; 1 of 2 are out after {search.n_fits_} fits"
    results = search.cv_results_
    assert results["rank_test_score"].tolist() == [2, 1]
    assert results["params"] == [{"max_depth": 1}, {"max_depth": 3}]
    assert results["n_splits"].sum() == search.n_fits_
    measured = [results[f"split{n}_test_score"][1] for n in range(100)]
    assert np.nanmean(measured) == pytest.approx(results["mean_test_score"][1]) == pytest.approx(search.best_score_)
    assert np.isfinite(measured).sum() == results["n_splits"][1]


def test_scores_are_those_of_cross_validation(iris: tuple[Any, Any]) -> None:
    splitter = ShuffleSplit(n_splits=5, test_size=0.2, random_state=3)
    search = RacingSearchCV(TREE, {"max_depth": [1, 2]}, splits=splitter, random_state=0).fit(*iris)
    expected = cross_val_score(DecisionTreeClassifier(max_depth=2, random_state=0), *iris, cv=splitter)
    assert [search.cv_results_[f"split{n}_test_score"][1] for n in range(5)] == expected.tolist()


def test_workers_change_nothing(iris: tuple[Any, Any]) -> None:
    def run(n_jobs: int) -> RacingSearchCV:
        grid = {"max_depth": [1, 2, 3, None]}
        return RacingSearchCV(TREE, grid, splits=20, random_state=1, n_jobs=n_jobs).fit(*iris)

    one, two = run(1).cv_results_, run(2).cv_results_
    for name in one:
        if "test" in name or name == "n_splits":
            assert np.array_equal(one[name], two[name], equal_nan=True), name


def test_several_metrics_and_their_winners() -> None:
    data = load_breast_cancer(return_X_y=True)
    candidates = {"constant": DummyClassifier(strategy="prior"), "tree": DecisionTreeClassifier(random_state=0)}
    scoring = ["accuracy", "neg_log_loss"]
    search = RacingSearchCV(candidates, scoring=scoring, refit="accuracy", random_state=0).fit(*data)
    # A deep tree is right more often, and sure where it is wrong.
    assert search.best_params_by_metric_ == {
        "accuracy": {"estimator": "tree"},
        "neg_log_loss": {"estimator": "constant"},
    }
    assert isinstance(search.best_estimator_, DecisionTreeClassifier)
    assert search.best_params_ == {"estimator": "tree"}
    assert set(search.cv_results_) >= {
        "mean_test_accuracy",
        "rank_test_neg_log_loss",
        "out_accuracy",
        "param_estimator",
    }


def test_means_have_ranges(iris: tuple[Any, Any]) -> None:
    grid = {"max_depth": [1, 3]}
    search = RacingSearchCV(TREE, grid, compare="mean", random_state=0).fit(*iris)
    assert search.best_params_by_metric_ == {"score": {"max_depth": 3}}
    assert "bounded=0.0..1.0" in str(search.verdict_.problem.objectives[0])
    X, y = make_regression(80, 3, noise=10.0, random_state=0)
    ridge = {"alpha": [0.1, 1e4]}
    with pytest.raises(mobai.InputError, match="ranges must say what score cannot leave"):
        RacingSearchCV(Ridge(), ridge, compare="mean").fit(X, y)
    search = RacingSearchCV(Ridge(), ridge, compare="mean", ranges={"score": (-1, 1)}, random_state=0).fit(X, y)
    assert search.best_params_ == {"alpha": 0.1}


def test_folds_are_all_there_are(iris: tuple[Any, Any]) -> None:
    folds = RepeatedKFold(n_splits=5, n_repeats=4, random_state=0)
    search = RacingSearchCV(TREE, {"max_depth": [1, 3]}, splits=folds, random_state=0).fit(*iris)
    assert search.verdict_.problem.design is not None
    assert search.verdict_.problem.design.size == 20
    assert search.best_params_ == {"max_depth": 3}
    assert search.n_fits_ <= 40


def test_in_a_pipeline_cloned_and_pickled(iris: tuple[Any, Any]) -> None:
    search = RacingSearchCV(
        make_pipeline(StandardScaler(), TREE), {"decisiontreeclassifier__max_depth": [1, 3]}, splits=20
    )
    search.set_params(random_state=0)
    outer = make_pipeline(StandardScaler(), clone(search)).fit(*iris)
    again = pickle.loads(pickle.dumps(outer))
    assert again.predict(iris[0]).tolist() == outer.predict(iris[0]).tolist()
    assert again[-1].verdict_.winners == outer[-1].verdict_.winners
    assert cross_val_score(search, *iris, cv=3).mean() > 0.8


class Fails(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that cannot be fitted if it is deep."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        if self.max_depth == 3:
            raise RuntimeError("too deep")
        return super().fit(X, y, sample_weight=sample_weight)


def test_fits_that_fail_count_as_the_worst(iris: tuple[Any, Any]) -> None:
    grid = {"max_depth": [1, 2, 3]}
    with pytest.warns(FitFailedWarning, match="too deep"):
        search = RacingSearchCV(Fails(), grid, splits=30, random_state=0).fit(*iris)
    assert search.cv_results_["n_splits"][2] == 0
    assert np.isnan(search.cv_results_["mean_test_score"][2])
    assert search.best_params_ != {"max_depth": 3}
    with pytest.raises(RuntimeError, match="too deep"):
        RacingSearchCV(Fails(), grid, error_score="raise").fit(*iris)
    with pytest.raises(RuntimeError, match="too deep"):
        RacingSearchCV(Fails(), {"max_depth": [3], "min_samples_leaf": [1, 2]}).fit(*iris)


def test_sample_weights_and_groups_go_where_they_belong(iris: tuple[Any, Any]) -> None:
    from sklearn.model_selection import GroupShuffleSplit

    groups = np.arange(len(iris[1])) % 10
    splitter = GroupShuffleSplit(n_splits=10, random_state=0)
    search = RacingSearchCV(TREE, {"max_depth": [1, 3]}, splits=splitter, random_state=0)
    search.fit(*iris, groups=groups, sample_weight=np.ones(len(groups)))
    assert search.best_params_ == {"max_depth": 3}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"splits": 0}, "splits must be 1 or more"),
        ({"splits": "many"}, "splits must be a whole number or a splitter"),
        ({"compare": "median"}, "compare must be wins or mean"),
        ({"scoring": ["accuracy", "f1_macro"]}, "refit must be one of accuracy, f1_macro"),
        ({"scoring": []}, "scoring must name one metric"),
        ({"scoring": 5}, "scoring must be a name, a function"),
        ({"scoring": {"a:b": "accuracy"}, "refit": False}, "scoring must name metrics without colons"),
        ({"ranges": {"f1": (0, 1)}}, "ranges must be by metric, of score"),
        ({"ranges": 5}, "ranges must be by metric"),
        ({"param_grid": {"max_depth": [3]}}, "param_grid must have two candidates at least, not 1"),
        ({"delta": 2.0}, "delta"),
    ],
)
def test_wrong_arguments_are_one_line(iris: tuple[Any, Any], options: dict[str, Any], said: str) -> None:
    stated = {"param_grid": {"max_depth": [1, 3]}, **options}
    with pytest.raises(mobai.InputError, match=said):
        RacingSearchCV(TREE, **stated).fit(*iris)


def test_scores_that_are_no_numbers_count_as_the_worst(iris: tuple[Any, Any]) -> None:
    def score(estimator: Any, X: Any, y: Any) -> float:
        return float("nan") if estimator.max_depth == 3 else float(estimator.score(X, y))

    with pytest.warns(FitFailedWarning, match="no finite score"):
        search = RacingSearchCV(TREE, {"max_depth": [1, 2, 3]}, scoring=score, splits=30, random_state=0).fit(*iris)
    assert search.best_params_ == {"max_depth": 2}


def test_functions_as_scoring_and_refit(iris: tuple[Any, Any]) -> None:
    def score(estimator: Any, X: Any, y: Any) -> dict[str, float]:
        return {"right": float(estimator.score(X, y)), "small": -float(estimator.tree_.node_count)}

    grid = {"max_depth": [1, 3]}
    search = RacingSearchCV(TREE, grid, scoring=score, refit="right", splits=30, random_state=0).fit(*iris)
    assert search.best_params_by_metric_ == {"right": {"max_depth": 3}, "small": {"max_depth": 1}}
    search = RacingSearchCV(TREE, grid, refit=lambda results: 0, splits=12, random_state=0).fit(*iris)
    assert (search.best_index_, search.best_estimator_.get_depth()) == (0, 1)
    with pytest.raises(IndexError, match="out of range"):
        RacingSearchCV(TREE, grid, refit=lambda results: 99, splits=3).fit(*iris)
