"""Which model is most accurate, and which is fastest to train? scikit-learn models on handwritten digits.

python examples/models.py            (needs scikit-learn)

One sample is one random split of the data: the accuracy on the held-out part, and the milliseconds that training took.
Splits are drawn independently, so the mean is over all splits of this data set; nothing is claimed about other data.
"""

from __future__ import annotations

import time

from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from mobai import Experiment
from mobai.store.journal import MemoryJournal

MODELS = {
    "ridge": RidgeClassifier(),
    "naive Bayes": GaussianNB(),
    "5 neighbours": KNeighborsClassifier(),
    "tree": DecisionTreeClassifier(max_depth=8),
}
DATA, LABELS = load_digits(return_X_y=True)


def measure(arm: str, seed: int) -> dict[str, float]:
    """Train a model on a random third of the data, and test it on the rest."""
    train, test, labels, wanted = train_test_split(DATA, LABELS, train_size=1 / 3, random_state=seed)
    model, start = clone(MODELS[arm]), time.perf_counter()
    model.fit(train, labels)
    duration = 1000 * (time.perf_counter() - start)
    return {"accuracy": float(model.score(test, wanted)), "fit_ms": min(duration, 100.0)}  # a stall counts as 100


def main() -> Experiment:
    """Ask, measure and tell until both metrics are decided."""
    objectives = ["accuracy:bounded=0..1:eps=0.01", "fit_ms:min:bounded=0..100:eps=2"]
    test = Experiment.create(MemoryJournal(), "models", list(MODELS), objectives, delta=0.05, max_samples=2_000)
    while not test.verdict().stopped and test.status().ending is None:
        for one in test.ask(4):
            test.tell(one, measure(one.arm, one.id))
    print(test.status())  # noqa: T201
    return test


if __name__ == "__main__":
    main()
