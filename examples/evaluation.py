"""Which model is best on this dataset, in an evaluation of Inspect that stops itself? (pip install 'mobai[inspect]')

The models here are Inspect's own mock; put the names of yours in their place.
"""

from __future__ import annotations

import random
import tempfile
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

from mobai.integrations.inspect import Racing

RIGHT = {"large": 0.9, "medium": 0.7, "small": 0.4}


def mock(name: str) -> Model:
    """Return a model that is right on some questions, always the same ones."""

    def answer(messages: Any, *_: Any) -> ModelOutput:
        right = random.Random(f"{name} {messages[-1].text}").random() < RIGHT[name]
        found = ModelOutput.from_content(name, "4" if right else "5")
        found.usage = ModelUsage(input_tokens=8, output_tokens=1, total_tokens=9)
        return found

    made: Model = get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)
    return made


def main() -> None:
    """Race the models, and say who is best and how many samples that took."""
    dataset = MemoryDataset([Sample(id=n, input=f"Question {n}: 2 + 2?", target="4") for n in range(300)])
    models = [mock(name) for name in RIGHT]
    racing = Racing([str(model) for model in models], ["match:bernoulli"], delta=0.05)
    task = Task(dataset=dataset, solver=generate(), scorer=match(), early_stopping=racing)
    with tempfile.TemporaryDirectory() as logs:
        eval(task, model=models, sample_shuffle=1, log_dir=logs, display="none")
    print(racing.winners, f"after {racing.made} of {3 * len(dataset)} samples")  # noqa: T201


if __name__ == "__main__":
    main()
