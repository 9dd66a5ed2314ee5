"""Measurements until everything is decided: pooled, as a stream of items, as a finite benchmark, and all there are.

Real tables from things that are on any machine: compressors on the files of a Python installation, classifiers on
random splits of two data sets (accuracy, log-loss, seconds), and ways to compare texts. Every row is a mean over random
orders, with the errors.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import lzma
import sysconfig
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from mobai import Instance, Objective, TableInstance, simulate
from mobai.problem import Bounded, Design, FloatArray

DELTA = 0.05
ORDERS = 100
_MOST_POOLED = 1_000_000
_FILES = 400
_LONGEST = 0.05  # seconds, a few times what the slowest compressor takes


class Saving(NamedTuple):
    """What one table takes in each design: mean measurements, and how often it was wrong."""

    name: str
    arms: int
    items: int
    correlation: float
    pooled: float
    streamed: float
    finite: float
    whole: int
    errors: tuple[int, int, int]
    open: tuple[int, int, int]


def compressors() -> TableInstance:
    """Return how well and how fast compressors of the standard library do on files of the standard library."""
    ways: dict[str, Callable[[bytes], bytes]] = {
        "zlib-1": lambda data: zlib.compress(data, 1),
        "zlib-6": lambda data: zlib.compress(data, 6),
        "gzip-9": lambda data: gzip.compress(data, 9),
        "bz2": bz2.compress,
        "lzma": lzma.compress,
    }
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = [path for path in sorted(folder.glob("**/*.py")) if 2_000 < path.stat().st_size < 60_000][:_FILES]
    values = np.empty((len(files), len(ways), 2))
    for n, path in enumerate(files):
        data = path.read_bytes()
        for i, way in enumerate(ways.values()):
            start = time.perf_counter()
            packed = way(data)
            values[n, i] = min(len(packed) / len(data), 1.0), min(time.perf_counter() - start, _LONGEST)
    return TableInstance(values, list(ways), ["size:min:bounded=0..1", f"seconds:min:bounded=0..{_LONGEST}"])


def scorers() -> TableInstance:
    """Return how alike ways to compare texts find neighbouring lines of a file, and how long they take."""
    ways: dict[str, Callable[[str, str], float]] = {
        "difflib": lambda a, b: difflib.SequenceMatcher(None, a, b).ratio(),
        "difflib, no junk": lambda a, b: difflib.SequenceMatcher(None, a, b, autojunk=False).ratio(),
        "quick": lambda a, b: difflib.SequenceMatcher(None, a, b).quick_ratio(),
        "words": lambda a, b: len(set(a.split()) & set(b.split())) / max(len(set(a.split()) | set(b.split())), 1),
        "letters": lambda a, b: len(set(a) & set(b)) / max(len(set(a) | set(b)), 1),
    }
    lines = Path(difflib.__file__).read_text().splitlines()
    pairs = [(a, b) for a, b in pairwise(lines) if a.strip() and b.strip()][:1000]
    values = np.empty((len(pairs), len(ways), 2))
    for n, pair in enumerate(pairs):
        for i, way in enumerate(ways.values()):
            start = time.perf_counter()
            score = way(*pair)
            values[n, i] = score, min(1e3 * (time.perf_counter() - start), 2.0)
    return TableInstance(values, list(ways), ["score:bounded=0..1", "milliseconds:min:bounded=0..2"])


def classifiers(name: str, splits: int = 150) -> TableInstance | None:
    """Return how classifiers do on random splits of a data set; None where scikit-learn is not installed."""
    try:
        from sklearn.datasets import load_breast_cancer, load_wine
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression
        from sklearn.metrics import accuracy_score, log_loss
        from sklearn.model_selection import train_test_split
        from sklearn.naive_bayes import GaussianNB
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        return None
    models = {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
        "weak logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=200)),
        "bayes": GaussianNB(),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
        "raw neighbours": KNeighborsClassifier(),
        "tree": DecisionTreeClassifier(random_state=0),
        "stump": DecisionTreeClassifier(max_depth=1, random_state=0),
        "forest": RandomForestClassifier(20, random_state=0),
    }
    x, y = {"wine": load_wine, "cancer": load_breast_cancer}[name](return_X_y=True)
    values = np.empty((splits, len(models), 3))
    for n in range(splits):
        given, wanted, known, right = train_test_split(x, y, test_size=0.3, random_state=n, stratify=y)
        for i, model in enumerate(models.values()):
            start = time.perf_counter()
            chances = model.fit(given, known).predict_proba(wanted)
            seconds = min(time.perf_counter() - start, 0.5)
            values[n, i] = accuracy_score(right, chances.argmax(axis=1)), min(log_loss(right, chances), 5.0), seconds
    return TableInstance(
        values, list(models), ["accuracy:bounded=0..1", "log-loss:min:bounded=0..5", "seconds:min:bounded=0..0.5"]
    )


def drawn_from(objective: Objective, values: FloatArray) -> Objective:
    """Return an objective whose rewards are those of a table, items by arms, drawn at random."""
    low, high = objective.family.range
    means = values.mean(axis=0)

    class FromTable(Bounded):
        def draw(self, mean: float, sd: float, noise: FloatArray) -> FloatArray:  # noqa: ARG002
            places = np.minimum((ndtr(noise) * len(values)).astype(int), len(values) - 1)
            return np.asarray(values[places, np.abs(means - mean).argmin()])

    return replace(objective, family=FromTable(low, high))


def pooled(table: TableInstance) -> tuple[FloatArray, int, int]:
    """Return how many pulls samples of each arm alone take, on random items; how many were wrong; how many open."""
    problem = table.problem(Design("stream"))
    means, sd = table.values.mean(axis=0), table.values.std(axis=0)
    objectives = [drawn_from(one, table.values[:, :, m]) for m, one in enumerate(problem.objectives)]
    instance = Instance(means, sd, arms=list(table.arms), objectives=objectives)
    found = simulate(instance, "top-two", trials=ORDERS, deltas=[DELTA], focus=True, max_pulls=_MOST_POOLED, n_jobs=-1)
    right = table.right_arms()
    wrong = [[a >= 0 and a not in right[m] for m, a in enumerate(one.answers[0, 0].tolist())] for one in found.trials]
    left_open = [not one.stopped[0, 0] for one in found.trials]
    return np.array([one.pulls[0, 0] for one in found.trials]), sum(map(any, wrong)), sum(left_open)


def correlation(table: TableInstance) -> float:
    """Return the correlation of two arms over items, averaged over pairs and objectives."""
    found = []
    for m in range(table.values.shape[2]):
        varied = table.values[:, table.values[:, :, m].std(axis=0) > 0, m]
        pairs = np.atleast_2d(np.corrcoef(varied.T))
        found.append(pairs[np.triu_indices(len(pairs), 1)].mean())
    return float(np.mean(found))


def measure(name: str, table: TableInstance) -> Saving:
    """Return what a table takes in each design."""
    alone, alone_wrong, alone_open = pooled(table)
    streamed, finite = (table.race(design, delta=DELTA, trials=ORDERS) for design in ("stream", "items"))
    return Saving(
        name,
        table.values.shape[1],
        len(table.values),
        correlation(table),
        float(alone.mean()),
        float(streamed.measurements.mean()),
        float(finite.measurements.mean()),
        finite.whole,
        (alone_wrong, streamed.errors, finite.errors),
        (alone_open, streamed.undecided, finite.undecided),
    )


def main() -> None:
    """Print a Markdown table, one row per table of results."""
    print(
        f"delta = {DELTA}; {ORDERS} runs each; pooled: at most {_MOST_POOLED:,} pulls\n\n"
        "| table | arms x items | correlation | pooled | stream | ratio | finite | all there are | wrong | open |\n"
        "|---|---|---|---|---|---|---|---|---|---|"
    )
    tables = {
        "compressors on files": compressors(),
        "likeness of texts": scorers(),
        "classifiers on wine": classifiers("wine"),
        "classifiers on cancer": classifiers("cancer"),
    }
    for name, table in tables.items():
        if table is None:
            print(f"| {name} | scikit-learn is not installed | | | | | | | | |")
            continue
        one = measure(name, table)
        print(
            f"| {name} | {one.arms} x {one.items:,} | {one.correlation:.2f} | {one.pooled:,.0f} | {one.streamed:,.0f} "
            f"| {one.streamed / one.pooled:.2f} | {one.finite:,.0f} | {one.whole:,} "
            f"| {one.errors[0]}, {one.errors[1]}, {one.errors[2]} | {one.open[0]}, {one.open[1]}, {one.open[2]} |"
        )


if __name__ == "__main__":
    main()
