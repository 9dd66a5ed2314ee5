"""Which kernel width and which penalty are best on this data set? (pip install 'mobai[sklearn]')."""

from __future__ import annotations

from sklearn.datasets import load_digits
from sklearn.svm import SVC

from mobai.integrations.sklearn import RacingSearchCV


def main() -> None:
    """Race nine candidates on random splits, and fit the best one on everything."""
    X, y = load_digits(return_X_y=True)
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [1e-4, 1e-3, 1e-2]}
    search = RacingSearchCV(SVC(), grid, n_jobs=-1, random_state=0).fit(X[:600], y[:600])
    best = search.best_params_by_metric_["score"]
    print("best:", best if best is not None else f"open, {search.best_params_} leads")  # noqa: T201
    print(search.n_fits_, "fits of", 9 * search.n_splits_)  # noqa: T201
    for params, out in zip(search.cv_results_["params"], search.cv_results_["out_score"], strict=True):
        print("out" if out else "in ", params)  # noqa: T201


if __name__ == "__main__":
    main()
