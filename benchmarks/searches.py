"""Fits made, and how often the best candidate is thrown away: a race beside halving and a grid of scikit-learn.

``python -m benchmarks.searches [runs]``. The best candidate is the one of the highest mean over 400 random splits of
the same data set, which no search sees; it is thrown away if it did not reach the end of a search: ruled out by the
race, left behind by halving in an earlier iteration. A grid throws away nobody. ``found`` is how often the search
recommends it, or one that is within 0.005 of it.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    ParameterGrid,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from mobai.integrations.sklearn import RacingSearchCV

RUNS, SPLITS, NEAR = 20, 100, 0.005


class Case(NamedTuple):
    """A data set, and what is searched."""

    name: str
    data: Any
    estimator: Any
    grid: dict[str, list[Any]]


class Search(NamedTuple):
    """How a search went."""

    fits: int
    found: bool
    thrown_away: bool


CASES = [
    Case(
        "trees, breast cancer",
        load_breast_cancer,
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 2, 3, 4, 6, 9]},
    ),
    Case("neighbours, wine", load_wine, KNeighborsClassifier(), {"n_neighbors": [1, 3, 9, 27, 81]}),
    Case("SVM, digits", load_digits, SVC(), {"C": [0.1, 1.0, 10.0], "gamma": [1e-4, 1e-3, 1e-2]}),
]


def truth(case: Case) -> Any:
    """Return the mean score of every candidate over splits that no search sees."""
    X, y = case.data(return_X_y=True)
    splitter = StratifiedShuffleSplit(400, test_size=0.2, random_state=10_000)
    return np.array(
        [
            cross_val_score(case.estimator.set_params(**one), X, y, cv=splitter, n_jobs=-1).mean()
            for one in ParameterGrid(case.grid)
        ]
    )


def race(case: Case, means: Any, seed: int, compare: str) -> Search:
    """Race."""
    search = RacingSearchCV(case.estimator, case.grid, splits=SPLITS, compare=compare, random_state=seed, n_jobs=-1)
    search.fit(*case.data(return_X_y=True))
    best = int(means.argmax())
    near = means[search.best_index_] >= means[best] - NEAR
    return Search(search.n_fits_, bool(near), bool(search.cv_results_["out_score"][best]))


def halving(case: Case, means: Any, seed: int) -> Search:
    """Halve."""
    search = HalvingGridSearchCV(case.estimator, case.grid, random_state=seed, cv=5, n_jobs=-1)
    search.fit(*case.data(return_X_y=True))
    candidates = list(ParameterGrid(case.grid))
    best = candidates[int(means.argmax())]
    results, end = search.cv_results_, search.n_iterations_ - 1
    last = [one for one, place in zip(results["params"], results["iter"], strict=True) if place == end]
    near = means[candidates.index(search.best_params_)] >= means.max() - NEAR
    return Search(5 * sum(search.n_candidates_), bool(near), best not in last)


def grid(case: Case, means: Any, seed: int) -> Search:
    """Fit everything on twenty times five folds."""
    folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=SPLITS // 5, random_state=seed)
    search = GridSearchCV(case.estimator, case.grid, cv=folds, n_jobs=-1).fit(*case.data(return_X_y=True))
    near = means[search.best_index_] >= means.max() - NEAR
    return Search(SPLITS * len(means), bool(near), False)


def five_folds(case: Case, means: Any, seed: int) -> Search:
    """Fit everything on five folds, as people do."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    search = GridSearchCV(case.estimator, case.grid, cv=folds, n_jobs=-1).fit(*case.data(return_X_y=True))
    near = means[search.best_index_] >= means.max() - NEAR
    return Search(5 * len(means), bool(near), False)


def main(runs: int = RUNS) -> None:
    """Print a table."""
    print(f"Searches: {runs} runs each, at most {SPLITS} splits, delta = 0.05")
    print("search                 candidates  kind              fits  found  thrown away")
    for case in CASES:
        means = truth(case)
        kinds: dict[str, Any] = {
            "race, wins": lambda case, means, seed: race(case, means, seed, "wins"),
            "race, means": lambda case, means, seed: race(case, means, seed, "mean"),
            "halving": halving,
            "grid": grid,
            "grid, 5 folds": five_folds,
        }
        for kind, search in kinds.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [search(case, means, seed) for seed in range(runs if kind != "grid" else min(runs, 5))]
            fits = np.mean([one.fits for one in found])
            near, gone = (np.mean([getattr(one, what) for one in found]) for what in ("found", "thrown_away"))
            print(f"{case.name:22} {len(means):10}  {kind:13} {fits:8.0f}  {near:5.0%}  {gone:11.0%}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
