"""Which model is most accurate, and which is fastest to train? scikit-learn models on handwritten digits.

python examples/models.py            (needs scikit-learn)

An item is one random split of the data, the same for every model: what makes a split easy or hard cancels in their
differences. Splits are drawn independently, so this is about all splits of this data set; nothing is claimed about
other data.
"""

from __future__ import annotations

import time

from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import mobai

MODELS = {
    "ridge": RidgeClassifier(),
    "naive Bayes": GaussianNB(),
    "5 neighbours": KNeighborsClassifier(),
    "tree": DecisionTreeClassifier(max_depth=8),
}
DATA, LABELS = load_digits(return_X_y=True)


def measure(model: ClassifierMixin, split: int) -> dict[str, float | None]:
    """Train a model on a random third of the data, and test it on the rest."""
    train, test, labels, wanted = train_test_split(DATA, LABELS, train_size=1 / 3, random_state=split)
    fresh, start = clone(model), time.perf_counter()
    fresh.fit(train, labels)
    return {"fit_ms": 1000 * (time.perf_counter() - start), "accuracy": float(fresh.score(test, wanted))}


def main() -> None:
    """Race the models over splits: by how accurate they are on average, and by which is usually faster to train."""
    metrics = ["accuracy:bounded=0..1:eps=0.01", "fit_ms:min:wins"]
    found = mobai.race(MODELS, "stream", measure, metrics, delta=0.05, budget=2_000)
    print(found)  # noqa: T201


if __name__ == "__main__":
    main()
