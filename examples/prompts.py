"""Which prompt is best, for quality and for speed? Every prompt answers the same questions, until that is known."""

from __future__ import annotations

import random

import mobai

PROMPTS = {
    "plain": "",
    "brief": "Answer in one sentence.",
    "careful": "Think step by step, then answer.",
    "expert": "You are an expert. Answer.",
}
QUESTIONS = [{"id": f"question {n}", "text": f"What is {n} times 7?", "difficulty": n % 10 / 12} for n in range(300)]
# How much each prompt adds to the score, and seconds per answer: what nobody knows.
GAINS = {"plain": (0.0, 1.0), "brief": (-0.05, 0.4), "careful": (0.12, 2.5), "expert": (0.02, 1.1)}


def answer(prompt: str, question: dict[str, object]) -> dict[str, float | None]:
    """Return the score and the seconds of one answer."""
    # Here goes your model's client, and whoever grades its answer.
    name = next(key for key, text in PROMPTS.items() if text == prompt)
    chance = random.Random(f"{name} {question['id']}")
    gain, seconds = GAINS[name]
    score = 0.85 - float(str(question["difficulty"])) + gain + chance.gauss(0, 0.05)
    return {"score": min(max(score, 0.0), 1.0), "seconds": seconds * chance.lognormvariate(0, 0.3)}


def main() -> None:
    """Race the prompts over the questions, four answers at a time."""
    found = mobai.race(PROMPTS, QUESTIONS, answer, ["score:bounded=0..1", "seconds:min:wins"], delta=0.05, n_jobs=4)
    print(found)  # noqa: T201
    print("read these next:", [row["item"] for row in found.hardest("score", 3)])  # noqa: T201


if __name__ == "__main__":
    main()
