"""Search parameters or estimators of scikit-learn as a race: all candidates on the same splits, until it is known.

Needs ``scikit-learn`` (``pip install 'mobai[sklearn]'``).
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mobai.errors import InputError
from mobai.extras import need

need("sklearn")

import numpy as np  # noqa: E402
from sklearn.base import clone, is_classifier  # noqa: E402
from sklearn.exceptions import FitFailedWarning  # noqa: E402
from sklearn.metrics import check_scoring  # noqa: E402
from sklearn.model_selection import (  # noqa: E402
    BaseShuffleSplit,
    GridSearchCV,
    ParameterGrid,
    ShuffleSplit,
    StratifiedShuffleSplit,
    cross_validate,
)
from sklearn.utils import check_random_state, get_tags, indexable  # noqa: E402
from sklearn.utils.parallel import Parallel, delayed  # noqa: E402

from mobai.live.experiment import Experiment  # noqa: E402
from mobai.store.journal import MemoryJournal  # noqa: E402
from mobai.views import headline  # noqa: E402

if TYPE_CHECKING:
    from mobai.engine import Verdict

# What scores of these names cannot leave.
_SHARES = (
    "accuracy", "balanced_accuracy", "top_k_accuracy", "average_precision", "f1", "f1_micro", "f1_macro", "f1_weighted",
    "f1_samples", "precision", "precision_micro", "precision_macro", "precision_weighted", "precision_samples",
    "recall", "recall_micro", "recall_macro", "recall_weighted", "recall_samples", "jaccard", "jaccard_micro",
    "jaccard_macro", "jaccard_weighted", "jaccard_samples", "roc_auc", "roc_auc_ovr", "roc_auc_ovo",
    "roc_auc_ovr_weighted", "roc_auc_ovo_weighted", "rand_score", "homogeneity_score", "completeness_score",
    "v_measure_score", "normalized_mutual_info_score", "fowlkes_mallows_score",
)  # fmt: skip
_RANGES = {**dict.fromkeys(_SHARES, (0.0, 1.0)), "matthews_corrcoef": (-1.0, 1.0), "neg_brier_score": (-2.0, 0.0)}
# How many fits are begun before anybody looks: fixed, so that the answer does not depend on the number of workers.
_AT_ONCE = 8
_OFTEN = 2.0  # seconds between two lines of progress
_MOST_NAMED = 3  # candidates in a sentence
_LONGEST = 60  # characters of a candidate's name


class RacingSearchCV(GridSearchCV):  # type: ignore[misc]
    """Search over parameters, or over estimators, with a proven error probability.

    All candidates that may still be the best of some metric are fitted on the same random splits; one that is proven
    not to be is fitted no more. It ends when the best candidate of every metric is known, or after ``splits``. What is
    proven is about random splits of *this* data set, not about other data sets: that a candidate is better on more of
    them than it is worse, or that its mean score over all of them is highest.

    Parameters
    ----------
    estimator
        What is fitted; or a mapping from names to estimators, which are then the candidates.
    param_grid
        A grid of parameters, or a list of them, as for ``GridSearchCV``; None with a mapping of estimators.
    scoring
        As for ``GridSearchCV``: one metric, or several.
    splits
        How many random splits there are at most; or a splitter. Splits of a ``ShuffleSplit`` are a sample of all that
        it could draw; those of any other one are all there are, and the answer is about them.
    test_size
        The share of each split that is scored.
    delta
        The error probability, for all metrics together.
    compare
        ``"wins"``: the best candidate is the one that beats every other one on more splits than it loses; for any
        score, and a clear difference takes a dozen splits. ``"mean"``: the one of the highest mean score, whatever the
        distribution; a difference of 0.04 in accuracy takes some 150 splits, since rare splits could make up for it.
    tolerance
        How much better a score must be to win, or with means, by how much the candidate that is decided on may be
        worse than the best; a number, or one for each metric.
    ranges
        With means: what scores of each metric cannot leave, ``{"r2": (-1, 1)}``. Known for accuracy, AUC and the like.
    refit
        Whether to fit the best candidate on everything; the name of a metric if there are several.
    n_jobs
        How many fits are made at once; the answer does not depend on it.
    error_score
        ``"raise"``, or anything else: a fit that fails counts as the worst there could be.
    random_state
        Fixes the splits.
    verbose
        Whether to say how it goes.

    Attributes
    ----------
    verdict_
        What is proven, metric by metric, as a :class:`mobai.Verdict`.
    best_params_by_metric_
        The candidate that is proven best of every metric; None where that is open.
    best_params_, best_index_, best_score_, best_estimator_
        Of the metric that is refitted: the candidate that is proven best, or that leads.
    cv_results_
        As for ``GridSearchCV``; splits on which a candidate was not fitted are NaN, ``n_splits`` says on how many it
        was, and ``out_METRIC`` whether it is proven not to be the best.
    n_fits_
        How many fits were made.
    summary_
        The same in words, a sentence per metric: who is best, or between whom it is open, and how many are out.
    status_
        All that can be said of the race: standings, intervals, who is out and by whom.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> search = RacingSearchCV(DecisionTreeClassifier(), {"max_depth": [1, 3]}, random_state=0).fit(X, y)
    >>> search.best_params_, search.verdict_.stopped, search.n_fits_
    ({'max_depth': 3}, True, 24)
    """

    _parameter_constraints: dict[str, Any] = {}  # noqa: RUF012 - what is wrong is said by fit

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        scoring: Any = None,
        splits: Any = 100,
        test_size: float = 0.2,
        delta: float = 0.05,
        compare: str = "wins",
        tolerance: Any = 0.0,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        refit: Any = True,
        n_jobs: int | None = None,
        error_score: Any = math.nan,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator, self.param_grid, self.scoring = estimator, param_grid, scoring
        self.splits, self.test_size, self.delta = splits, test_size, delta
        self.compare, self.tolerance = compare, tolerance
        self.ranges, self.refit, self.n_jobs, self.error_score = ranges, refit, n_jobs, error_score
        self.random_state, self.verbose = random_state, verbose

    def __sklearn_tags__(self) -> Any:
        """Return what scikit-learn wants to know: that of the estimator, or of the first one."""
        if isinstance(self.estimator, Mapping):
            return RacingSearchCV(next(iter(self.estimator.values()))).__sklearn_tags__()
        tags = super().__sklearn_tags__()
        tags.target_tags = get_tags(self.estimator).target_tags
        return tags

    def fit(self, X: Any, y: Any = None, **params: Any) -> RacingSearchCV:
        """Race, and fit the best candidate on everything."""
        candidates = self._candidates()
        if y is None and get_tags(self).target_tags.required:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X, y = indexable(X, y)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        sampled, splits = self._splits(X, y, candidates[0], seed, params)
        metrics, self.scorer_ = self._metrics(candidates, X, y, splits[0])
        self.multimetric_ = metrics != ["score"]
        self._check(metrics)
        self.n_splits_ = len(splits)
        names = _names(candidates)
        experiment = Experiment.create(
            MemoryJournal(),
            "search",
            names,
            [self._objective(metric) for metric in metrics],
            items="stream" if sampled else len(splits),
            delta=self.delta,
            seed=seed,
            ahead=max(len(splits), _AT_ONCE),
            max_samples=len(candidates) * len(splits),
        )
        numbers = {name: number for number, name in enumerate(names)}
        scores, times = self._race(experiment, X, y, candidates, numbers, metrics, splits, params)
        self.status_ = experiment.status()
        self.verdict_: Verdict = self.status_.verdict
        self.n_fits_ = int(np.isfinite(times).sum())
        winners = self.verdict_.winners.values()
        self.best_params_by_metric_ = {
            metric: None if winner is None else candidates[numbers[winner]]
            for metric, winner in zip(metrics, winners, strict=True)
        }
        self.cv_results_ = self._results(candidates, numbers, metrics, scores, times)
        self.summary_ = self._summary(names)
        if callable(self.refit):
            self.best_index_ = self._select_best_index(self.refit, None, self.cv_results_)
        elif self.refit or not self.multimetric_:
            place = metrics.index(self.refit) if self.multimetric_ else 0
            self.best_index_ = numbers[self.verdict_.answers[place]]
            self.best_score_ = float(self.cv_results_[f"mean_test_{metrics[place]}"][self.best_index_])
        if self.refit or not self.multimetric_:
            self.best_params_ = candidates[self.best_index_]
        if self.refit:
            self._refit(X, y, params)
        return self

    def _candidates(self) -> list[dict[str, Any]]:
        """Return what is compared, two at least."""
        if isinstance(self.estimator, Mapping):
            if self.param_grid is not None:
                raise InputError("param_grid", "must be left out where estimators are the candidates")
            found = [{"estimator": name} for name in self.estimator]
        else:
            found = list(ParameterGrid({} if self.param_grid is None else self.param_grid))
        if len(found) < 2:
            raise InputError("param_grid", f"must have two candidates at least, not {len(found)}")
        return found

    def _estimator(self, candidate: Mapping[str, Any]) -> Any:
        if isinstance(self.estimator, Mapping):
            return clone(self.estimator[candidate["estimator"]])
        return clone(self.estimator).set_params(**clone(dict(candidate), safe=False))

    def _metrics(self, candidates: list[dict[str, Any]], X: Any, y: Any, split: Any) -> tuple[list[str], Any]:
        """Return what metrics are called, and their scorers; what a function returns is seen from a fit that works."""
        if callable(self.scoring):
            fits = (_scored(self._estimator(one), X, y, split, self.scoring, {}) for one in candidates)
            return next((list(one[0]) for one in fits if not isinstance(one, Exception)), ["score"]), self.scoring
        estimator = self._estimator(candidates[0])
        if self.scoring is None or isinstance(self.scoring, str):
            return ["score"], check_scoring(estimator, self.scoring)
        if not isinstance(self.scoring, Iterable):
            raise InputError("scoring", f"must be a name, a function, or several of them, not {self.scoring!r}")
        names = list(self.scoring)
        if not names:
            raise InputError("scoring", "must name one metric at least")
        scorers = self.scoring if isinstance(self.scoring, Mapping) else {name: name for name in names}
        return names, {name: check_scoring(estimator, scorer) for name, scorer in scorers.items()}

    def _check(self, metrics: list[str]) -> None:
        """Refuse arguments that speak of other metrics than these."""
        if self.refit and self.multimetric_ and not callable(self.refit) and self.refit not in metrics:
            raise InputError("refit", f"must be one of {', '.join(metrics)}, a function, or False, not {self.refit!r}")
        for argument, given in (("ranges", self.ranges), ("tolerance", self.tolerance)):
            if given is None or (argument == "tolerance" and not isinstance(given, Mapping)):
                continue
            if not isinstance(given, Mapping) or any(one not in metrics for one in given):
                raise InputError(argument, f"must be by metric, of {', '.join(metrics)}, not {given!r}")
        wrong = [name for name in metrics if not isinstance(name, str) or ":" in name]
        if wrong:
            raise InputError("scoring", f"must name metrics without colons, not {wrong[0]!r}")

    def _objective(self, metric: str) -> str:
        """Return how scores of a metric are compared."""
        tolerance = self.tolerance.get(metric, 0.0) if isinstance(self.tolerance, Mapping) else self.tolerance
        eps = f":eps={float(tolerance)!r}" if tolerance else ""
        if self.compare == "wins":
            return f"{metric}:wins{eps}"
        if self.compare != "mean":
            raise InputError("compare", f"must be wins or mean, not {self.compare!r}")
        known = (self.ranges or {}).get(metric) or _RANGES.get(self._scorer_name(metric))
        if known is None:
            raise InputError(
                "ranges", f"must say what {metric} cannot leave, {{{metric!r}: (LOW, HIGH)}}, or compare='wins'"
            )
        return f"{metric}:bounded={float(known[0])!r}..{float(known[1])!r}{eps}"

    def _scorer_name(self, metric: str) -> str:
        """Return scikit-learn's name of what scores a metric, if it has one."""
        if isinstance(self.scoring, Mapping):
            scorer = self.scoring[metric]
        else:
            scorer = self.scoring if metric == "score" else metric
        if scorer is None:
            one = next(iter(self.estimator.values())) if isinstance(self.estimator, Mapping) else self.estimator
            return "accuracy" if is_classifier(one) else "r2"
        return str(scorer)

    def _splits(self, X: Any, y: Any, candidate: Mapping[str, Any], seed: int, params: Mapping[str, Any]) -> Any:
        """Return whether splits are a sample of all there could be, and the splits."""
        if isinstance(self.splits, int | np.integer) and not isinstance(self.splits, bool):
            if self.splits < 1:
                raise InputError("splits", f"must be 1 or more, not {self.splits!r}")
            stratified = y is not None and is_classifier(self._estimator(candidate)) and _can_be_stratified(y)
            kind = StratifiedShuffleSplit if stratified else ShuffleSplit
            splitter = kind(n_splits=int(self.splits), test_size=self.test_size, random_state=seed)
        elif hasattr(self.splits, "get_n_splits"):
            splitter = self.splits
        else:
            raise InputError("splits", f"must be a whole number or a splitter, not {self.splits!r}")
        return isinstance(splitter, BaseShuffleSplit), list(splitter.split(X, y, params.get("groups")))

    def _race(
        self,
        experiment: Experiment,
        X: Any,
        y: Any,
        candidates: list[dict[str, Any]],
        numbers: Mapping[str, int],
        metrics: list[str],
        splits: list[Any],
        params: dict[str, Any],
    ) -> tuple[Any, Any]:
        """Fit and score until it is known; return scores by candidate, split and metric, and seconds of fits."""
        scores = np.full((len(candidates), len(splits), len(metrics)), np.nan)
        times = np.full((len(candidates), len(splits)), np.nan)
        fit_params = {name: value for name, value in params.items() if name != "groups"}
        said, made, reports = time.monotonic(), 0, list[Any]()
        with Parallel(n_jobs=self.n_jobs) as parallel:
            while True:
                given = experiment.tell_all(reports, ask=_AT_ONCE, if_decided="stop")
                given = [one for one in given if one.index is not None and one.index < len(splits)]
                if not given:
                    break
                places = [(numbers[one.arm], int(one.item if one.item is not None else 0)) for one in given]
                found = parallel(
                    delayed(_scored)(self._estimator(candidates[number]), X, y, splits[split], self.scorer_, fit_params)
                    for number, split in places
                )
                found = [_without_numbers(row) for row in found]
                self._check_failures([one for one in found if isinstance(one, Exception)], made, len(found))
                reports = []
                for one, (number, split), row in zip(given, places, found, strict=True):
                    if isinstance(row, Exception):
                        experiment.drop(one)  # it counts as the worst
                        continue
                    scores[number, split], times[number, split] = [row[0][metric] for metric in metrics], row[1]
                    known = {metric: value if math.isfinite(value) else None for metric, value in row[0].items()}
                    reports.append((one, known))
                made += len(reports)
                if self.verbose and time.monotonic() - said > _OFTEN:
                    said = time.monotonic()
                    print(f"{made} fits; {headline(experiment.status())}")  # noqa: T201
        return scores, times

    def _check_failures(self, failures: list[Exception], made: int, tried: int) -> None:
        """Raise what went wrong if that was asked for, or if nothing has ever gone well; else say it."""
        if failures and (self.error_score == "raise" or (made == 0 and len(failures) == tried)):
            raise failures[0]
        if failures:
            warnings.warn(f"{len(failures)} fits failed: {failures[0]!r}", FitFailedWarning, stacklevel=4)

    def _results(
        self,
        candidates: list[dict[str, Any]],
        numbers: Mapping[str, int],
        metrics: list[str],
        scores: Any,
        times: Any,
    ) -> dict[str, Any]:
        """Return ``cv_results_``: what was not fitted is NaN, and means are over what was."""
        found: dict[str, Any] = {"n_splits": np.isfinite(times).sum(axis=1), "mean_fit_time": _mean(times)}
        for name in dict.fromkeys(name for one in candidates for name in one):
            values = np.empty(len(candidates), object)
            values[:] = [one.get(name) for one in candidates]
            found[f"param_{name}"] = np.ma.MaskedArray(values, [name not in one for one in candidates])
        found["params"] = candidates
        left = {one.objective: one.left for one in self.verdict_.contention}
        for m, metric in enumerate(metrics):
            for split in range(scores.shape[1]):
                found[f"split{split}_test_{metric}"] = scores[:, split, m]
            still_in = left.get(metric, tuple(numbers))
            out = np.array([name not in still_in for name in numbers])
            mean = _mean(scores[:, :, m])
            found[f"mean_test_{metric}"] = mean
            found[f"std_test_{metric}"] = _mean((scores[:, :, m] - mean[:, None]) ** 2) ** 0.5
            found[f"out_{metric}"] = out
            best = np.arange(len(candidates)) == numbers[self.verdict_.answers[m]]
            order = np.lexsort((-np.nan_to_num(mean, nan=-np.inf), out, ~best))
            rank = np.empty(len(candidates), np.int32)
            rank[order] = np.arange(1, len(candidates) + 1)
            found[f"rank_test_{metric}"] = rank
        return found

    def _summary(self, names: list[str]) -> str:
        """Say what is proven, and what is not, a line per metric."""
        found = []
        for (metric, winner), one in zip(self.verdict_.winners.items(), self.verdict_.contention, strict=True):
            out = f"{len(one.out)} of {len(names)} are out after {self.n_fits_} fits"
            if winner is not None:
                found.append(f"{metric}: {winner} is best; {out}")
            else:
                more = len(one.left) - _MOST_NAMED
                between = [*one.left[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
                found.append(f"{metric}: open between {' and '.join(between)}; {out}")
        return "\n".join(found)

    def _refit(self, X: Any, y: Any, params: Mapping[str, Any]) -> None:
        begin = time.monotonic()
        self.best_estimator_ = self._estimator(self.best_params_)
        known = {name: value for name, value in params.items() if name != "groups"}
        self.best_estimator_.fit(*((X,) if y is None else (X, y)), **known)
        self.refit_time_ = time.monotonic() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_


def _scored(
    estimator: Any, X: Any, y: Any, split: Any, scorer: Any, params: Mapping[str, Any]
) -> tuple[dict[str, float], float] | Exception:
    """Fit on a split; return its scores by metric, and the seconds of the fit; or why that failed."""
    try:
        found = cross_validate(estimator, X, y, scoring=scorer, cv=[split], params=params or None, error_score="raise")
    except Exception as error:
        return error
    scores = {name: float(values[0]) for name, values in found.items() if name.startswith("test_")}
    return {name.removeprefix("test_"): score for name, score in scores.items()}, float(found["fit_time"][0])


def _without_numbers(row: Any) -> Any:
    """Return what a fit brought; a failure if that is no number at all."""
    if not isinstance(row, Exception) and not any(map(math.isfinite, row[0].values())):
        return ValueError(f"no finite score: {row[0]}")
    return row


def _names(candidates: list[dict[str, Any]]) -> list[str]:
    """Return what candidates are called: by their parameters, and by numbers too where these are long."""
    found = [", ".join(f"{key.rpartition('__')[2]}={value}" for key, value in one.items()) for one in candidates]
    found = [" ".join(name.split()) for name in found]
    alike = len(set(found)) < len(found) or any(not 0 < len(name) <= _LONGEST for name in found)
    return [f"{number}: {name[:_LONGEST]}".strip() for number, name in enumerate(found)] if alike else found


def _can_be_stratified(y: Any) -> bool:
    """Whether there are classes, and several samples of each."""
    from sklearn.utils.multiclass import type_of_target

    if type_of_target(y) not in ("binary", "multiclass"):
        return False
    return bool(np.unique(np.asarray(y), return_counts=True)[1].min() >= 2)


def _mean(values: Any) -> Any:
    """Return the mean over splits of what there is."""
    counts = np.isfinite(values).sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, np.nansum(values, axis=1) / counts, np.nan)
