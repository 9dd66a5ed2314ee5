"""Which method of finding the word that was meant is best? Algorithms with scores in [0, 1].

python examples/scores.py

The same shape as comparing prompts: one sample is one task, drawn at random, and a score between 0 and 1. Here a task
is a misspelt word, and the score is 1 over the place of the right word in the method's list; a second metric is how
many letters of the first word in it are wrong. Replace ``METHODS`` with calls of your prompts and the score with that
of your grader.
"""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable
from itertools import zip_longest

from mobai import Experiment
from mobai.store.journal import MemoryJournal

WORDS = [
    "bandit",
    "certain",
    "variant",
    "metric",
    "sample",
    "evidence",
    "threshold",
    "decision",
    "objective",
    "guardrail",
    "interval",
    "allocation",
    "baseline",
    "experiment",
    "stopping",
    "confidence",
    "martingale",
    "likelihood",
    "posterior",
    "observation",
    "simulation",
    "reproduce",
    "journal",
    "snapshot",
    "measure",
    "horizon",
    "surrogate",
    "gradient",
    "simplex",
    "optimal",
    "dominated",
    "frontier",
    "trade",
    "reward",
    "pulling",
    "regret",
    "identify",
]


def by_difflib(word: str) -> list[str]:
    """Order the words by the ratio of the standard library."""
    return sorted(WORDS, key=lambda one: -difflib.SequenceMatcher(None, word, one).ratio())


def by_bigrams(word: str) -> list[str]:
    """Order the words by the bigrams that they share."""

    def bigrams(text: str) -> set[str]:
        return {text[n : n + 2] for n in range(len(text) - 1)}

    wanted = bigrams(word)
    return sorted(WORDS, key=lambda one: -len(wanted & bigrams(one)) / len(wanted | bigrams(one)))


def by_beginning(word: str) -> list[str]:
    """Order the words by the length of the beginning that they share."""

    def shared(one: str) -> int:
        return next((n for n, (a, b) in enumerate(zip(word, one, strict=False)) if a != b), min(len(word), len(one)))

    return sorted(WORDS, key=lambda one: (-shared(one), abs(len(one) - len(word))))


METHODS: dict[str, Callable[[str], list[str]]] = {
    "difflib": by_difflib,
    "bigrams": by_bigrams,
    "beginning": by_beginning,
}


def misspelt(word: str, luck: random.Random) -> str:
    """Swap, drop or replace letters: three slips."""
    letters = list(word)
    for _ in range(3):
        n = luck.randrange(len(letters) - 1)
        slip = luck.choice(("swap", "drop", "replace"))
        if slip == "swap":
            letters[n], letters[n + 1] = letters[n + 1], letters[n]
        elif slip == "drop" and len(letters) > 3:
            del letters[n]
        else:
            letters[n] = luck.choice("abcdefghijklmnopqrstuvwxyz")
    return "".join(letters)


def measure(arm: str, seed: int) -> dict[str, float]:
    """Set a method one task, and return how it did."""
    luck = random.Random(seed)
    word = luck.choice(WORDS)
    found = METHODS[arm](misspelt(word, luck))
    wrong = sum(a != b for a, b in zip_longest(word, found[0]))
    return {"score": 1 / (found.index(word) + 1), "wrong": float(min(wrong, 15))}


def main() -> Experiment:
    """Ask, measure and tell until both metrics are decided."""
    objectives = ["score:bounded=0..1:eps=0.02", "wrong:min:bounded=0..15:eps=0.2"]
    test = Experiment.create(MemoryJournal(), "words", list(METHODS), objectives, delta=0.05, max_samples=20_000)
    waiting = test.ask(10)
    while waiting and not test.verdict().stopped:
        waiting = test.tell_all([(one, measure(one.arm, one.id)) for one in waiting], ask=10, if_decided="stop")
    print(test.status())  # noqa: T201
    return test


if __name__ == "__main__":
    main()
