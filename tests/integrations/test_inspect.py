"""Inspect: models and solvers race on one dataset, with its own mock model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import anyio
import pytest
from inspect_ai import Task, eval, task_with
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from tests.integrations.aside import aside

import mobai
from mobai.analysis.results import find_results
from mobai.integrations.inspect import Racing

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # within inspect_ai

SAMPLES = 200
ACCURACY = {"good": 0.9, "fair": 0.6, "poor": 0.3}


def model(name: str, accuracy: float, tokens: int = 8, fails: frozenset[str] = frozenset()) -> Model:
    """Return a mock model that is right on so many samples, always the same ones, and fails on some."""

    async def answer(messages: Any, *_: Any) -> ModelOutput:
        await anyio.sleep(0)
        question = messages[-1].text
        if question in fails:
            raise RuntimeError("the service is down")
        right = random.Random(f"{name} {question}").random() < accuracy
        found = ModelOutput.from_content(f"mockllm/{name}", "yes" if right else "no")
        found.usage = ModelUsage(input_tokens=3, output_tokens=tokens - 3, total_tokens=tokens)
        return found

    made: Model = get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)
    return made


@scorer(metrics=[mean()])
def is_yes() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        return Score(value="C" if state.output.completion == target.text else "I")

    return score


@scorer(metrics={"right": [mean()], "brief": [mean()]})
def graded() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        right = state.output.completion == target.text
        return Score(value={"right": float(right), "brief": 1.0 if state.output.completion == "no" else 0.0})

    return score


def dataset() -> MemoryDataset:
    return MemoryDataset([Sample(id=f"q{n}", input=f"question {n}", target="yes") for n in range(SAMPLES)])


def run(task: Any, models: Any, folder: Path, **options: Any) -> list[EvalLog]:
    options = {"sample_shuffle": 1, "display": "none", "log_dir": str(folder), **options}
    found: list[EvalLog] = aside(eval, task, model=models, **options)
    return found


@pytest.fixture
def models() -> list[Model]:
    return [model(name, accuracy) for name, accuracy in ACCURACY.items()]


def names(models: list[Model]) -> list[str]:
    return [str(one) for one in models]


def test_models_race_and_the_verdict_is_in_every_log(tmp_path: Path, models: list[Model]) -> None:
    racing = Racing(names(models), ["is_yes:bernoulli"])
    task = Task(dataset=dataset(), solver=generate(), scorer=is_yes(), early_stopping=racing)
    logs = run(task, models, tmp_path)
    plain = run(Task(dataset=dataset(), solver=generate(), scorer=is_yes()), models, tmp_path / "plain")
    made, all_of_them = (sum(len(log.samples or []) for log in found) for found in (logs, plain))
    assert all_of_them == 3 * SAMPLES
    assert made == racing.made < all_of_them * 0.6
    assert racing.winners == {"is_yes": "mockllm/good"}
    for log in logs:
        assert log.status == "success"
        assert log.results is not None
        stopped = log.results.early_stopping
        assert stopped is not None
        assert stopped.manager == "mobai"
        assert len(stopped.early_stops) == stopped.metadata["skipped"] == SAMPLES - len(log.samples or [])
    final = [log.results.early_stopping.metadata for log in logs if log.results and log.results.early_stopping]
    assert sum(bool(one["final"]) for one in final) == 1
    assert next(one for one in final if one["final"])["winners"] == racing.winners
    assert racing.verdict.certified
    status = racing.experiment.status()
    assert (status.pending, status.verdict.lost) == (0, 0)


def test_evidence_is_that_of_a_race_over_the_same_table(tmp_path: Path, models: list[Model]) -> None:
    racing = Racing(names(models), ["is_yes:bernoulli"], delta=1e-30)
    task = Task(dataset=dataset(), solver=generate(), scorer=is_yes(), early_stopping=racing)
    logs = run(task, models, tmp_path)
    # Nothing is decided before the end, where everything is known exactly.
    assert racing.made >= 2 * SAMPLES
    table = racing.experiment.status()
    right = {log.eval.model: [sample.output.completion == "yes" for sample in log.samples or []] for log in logs}
    for arm, mean_of in zip(racing.arms, table.means[:, 0], strict=True):
        assert mean_of == pytest.approx(sum(right[arm]) / len(right[arm]))
    items = {row["item"] for row in racing.experiment.records()}
    assert items == {f"q{n}" for n in range(SAMPLES)}
    for row in racing.experiment.records():
        if row["status"] == "answered":
            name = row["arm"].partition("/")[2]
            answer = random.Random(f"{name} question {row['item'][1:]}").random() < ACCURACY[name]
            assert row["is_yes"] == answer


def test_solvers_race_by_name_one_after_the_other(tmp_path: Path) -> None:
    @solver
    def says(word: str, share: float) -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            right = random.Random(f"{word} {state.input_text}").random() < share
            state.output = ModelOutput.from_content("none", "yes" if right else "no")
            return state

        return solve

    racing = Racing(["plain", "careful"], ["graded/right:bernoulli", "graded/brief:bernoulli"])
    shares = {"plain": 0.3, "careful": 0.9}
    tasks = [
        task_with(
            Task(dataset=dataset(), scorer=graded()),
            name=name,
            solver=says(name, share),
            early_stopping=racing.arm(name),
        )
        for name, share in shares.items()
    ]
    logs = run(tasks, model("good", 0.9), tmp_path)
    assert [log.status for log in logs] == ["success", "success"]
    assert racing.winners == {"graded/right": "careful", "graded/brief": "plain"}
    # The first one ran alone, all of it; the second only as long as it took.
    assert len(logs[0].samples or []) == SAMPLES
    assert len(logs[1].samples or []) < SAMPLES / 2


def test_seconds_and_tokens_need_no_scorer(tmp_path: Path) -> None:
    models = [model("wordy", 0.8, tokens=90), model("terse", 0.8, tokens=20)]
    racing = Racing(names(models), ["tokens:min:bounded=0..100", "seconds:min:bounded=0..600"], delta=0.05)
    task = Task(dataset=dataset(), solver=generate(), scorer=is_yes(), early_stopping=racing)
    run(task, models, tmp_path, limit=40)
    assert racing.winners["tokens"] == "mockllm/terse"
    assert racing.experiment.status().means[:, 0].tolist() == [90.0, 20.0]
    assert racing.experiment.problem.design is not None
    assert racing.experiment.problem.design.size == 40


def test_samples_that_fail_count_as_the_worst_where_the_task_goes_on(tmp_path: Path) -> None:
    fails = frozenset(f"question {n}" for n in range(0, SAMPLES, 4))
    models = [model("shaky", 0.9, fails=fails), model("poor", 0.2)]
    racing = Racing(names(models), ["is_yes:bernoulli"])
    task = Task(dataset=dataset(), solver=generate(), scorer=is_yes(), early_stopping=racing)
    logs = run(task, models, tmp_path, fail_on_error=False)
    assert [log.status for log in logs] == ["success", "success"]
    assert racing.experiment.status().worst > 0
    assert racing.winners in ({"is_yes": "mockllm/shaky"}, {"is_yes": None})


def test_a_task_that_fails_leaves_the_race_as_it_is(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'race.db'}"
    fails = frozenset(f"question {n}" for n in range(0, SAMPLES, 20))
    task = Task(dataset=dataset(), solver=generate(), scorer=is_yes())
    models = [model("good", 0.9, fails=fails), model("poor", 0.2, fails=fails)]
    racing = Racing(names(models), ["is_yes:bernoulli"], delta=1e-9, storage=storage)
    logs = run(task_with(task, early_stopping=racing), models, tmp_path)
    assert "error" in [log.status for log in logs]
    assert racing.experiment.status().worst == 0
    before = racing.experiment.status().pulls
    # Begun again, it goes on with what was measured.
    models = [model("good", 0.9), model("poor", 0.2)]
    again = Racing(names(models), ["is_yes:bernoulli"], delta=1e-9, storage=storage)
    run(task_with(task, early_stopping=again), models, tmp_path)
    assert again.winners == {"is_yes": "mockllm/good"}
    assert again.experiment.status().pulls == before + again.made
    mobai.delete(storage, "race")


def message(logs: list[EvalLog]) -> str:
    return " | ".join(log.error.message for log in logs if log.error)


@pytest.mark.parametrize(
    ("options", "racing_options", "words"),
    [
        ({"sample_shuffle": None}, {}, "dataset must be in a random order"),
        ({"epochs": 2}, {}, "epochs must be 1 in a race, not 2"),
        ({}, {"metrics": ["accuracy:bernoulli"]}, "no scorer is called 'accuracy'; there are is_yes, seconds, tokens"),
        ({}, {"metrics": ["is_yes/share:bernoulli"]}, "no score is called 'is_yes/share'; there are is_yes, seconds"),
        ({}, {"arms": ["gpt", "claude"]}, "none of gpt, claude is the model mockllm/good"),
    ],
)
def test_what_does_not_fit_is_one_line(
    tmp_path: Path, models: list[Model], options: Any, racing_options: Any, words: str
) -> None:
    stated = {"arms": names(models), "metrics": ["is_yes:bernoulli"], **racing_options}
    racing = Racing(stated["arms"], stated["metrics"])
    task = Task(dataset=dataset(), solver=generate(), scorer=is_yes(), early_stopping=racing)
    assert words in message(run(task, models, tmp_path, **options))


@scorer(metrics=[mean()])
def sometimes() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score | None:
        n = int(state.input_text.rpartition(" ")[2])
        return None if n % 10 == 0 else Score(value=float(state.output.completion == target.text))

    return score


def test_a_score_that_is_missing_counts_as_the_worst(tmp_path: Path, models: list[Model]) -> None:
    racing = Racing(names(models), ["sometimes:bernoulli"])
    task = Task(dataset=dataset(), solver=generate(), scorer=sometimes(), early_stopping=racing)
    logs = run(task, models, tmp_path)
    assert [log.status for log in logs] == ["success"] * 3
    assert racing.winners == {"sometimes": "mockllm/good"}
    assert racing.experiment.status().worst > 0


def test_why_a_race_cannot_begin_is_in_every_log(tmp_path: Path, models: list[Model]) -> None:
    racing = Racing(names(models), ["is_yes:bernoulli"], storage=f"sqlite:///{tmp_path / 'no' / 'folder' / 'x.db'}")
    task = Task(dataset=dataset(), solver=generate(), scorer=is_yes(), early_stopping=racing)
    logs = run(task, models, tmp_path)
    causes = {log.error.message for log in logs if log.error}
    assert len(causes) == 1
    assert "folder" in causes.pop()


def test_other_samples_and_twice_the_same_arm_are_refused(tmp_path: Path) -> None:
    racing = Racing(["one", "two"], ["is_yes:bernoulli"], shuffled=True)
    shorter = MemoryDataset(list(dataset())[:50])
    tasks = [
        Task(name=name, dataset=data, solver=generate(), scorer=is_yes(), early_stopping=racing.arm(name))
        for name, data in (("one", dataset()), ("two", shorter))
    ]
    assert "two has other samples" in message(run(tasks, model("good", 0.9), tmp_path, sample_shuffle=None))
    racing = Racing(["one", "two"], ["is_yes:bernoulli"])
    again = [
        Task(name=name, dataset=dataset(), solver=generate(), scorer=is_yes(), early_stopping=racing.arm("one"))
        for name in ("one", "two")
    ]
    assert "two tasks are called 'one'" in message(run(again, model("good", 0.9), tmp_path))


def test_arguments_are_checked_at_once() -> None:
    with pytest.raises(mobai.InputError, match="arms must be a list"):
        Racing("openai/gpt", ["match:bernoulli"])
    with pytest.raises(mobai.InputError, match="ahead"):
        Racing(["a", "b"], ["match:bernoulli"], ahead=0)
    with pytest.raises(mobai.InputError, match="match"):
        Racing(["a", "b"], ["match:unknown-variance"])
    with pytest.raises(mobai.InputError, match="no task of this race has begun"):
        _ = Racing(["a", "b"], ["match:bernoulli"]).winners
    with pytest.raises(mobai.InputError, match="state bernoulli, bounded"):
        Racing(["a", "b"], ["match"])
    with pytest.raises(mobai.InputError, match="arm must be one of a, b"):
        Racing(["a", "b"], ["match:bernoulli"]).arm("c")


def test_logs_are_read_as_results(tmp_path: Path, models: list[Model]) -> None:
    run(
        Task(name="quiz", dataset=dataset(), solver=generate(), scorer=[is_yes(), graded()]), models, tmp_path, epochs=2
    )
    (found,) = mobai.analyse_results(tmp_path, ["is_yes:bounded=0..1", "graded/brief:wins"])
    assert found.analysis.verdict.winners == {"is_yes": "mockllm/good", "graded/brief": "mockllm/poor"}
    assert (found.task, found.made) == ("quiz", 3 * SAMPLES)
    assert found.enough < found.made / 2
    (all_of_it,) = find_results(tmp_path)
    kinds = {
        "is_yes:bounded=0..1",
        "graded/right:wins",
        "graded/brief:wins",
        "seconds:min:wins",
        "tokens:min:wins",
    }
    assert set(all_of_it.objectives) == kinds
    (tmp_path / "cut.eval").write_bytes(b"no zip")
    with pytest.raises(mobai.InputError, match=r"cut.eval.* is no log that Inspect can read"):
        find_results(tmp_path)


def test_who_is_beaten_goes_on_where_wins_count(tmp_path: Path) -> None:
    """The middle one beats the last one always and early; the winner beats each of them four times in five."""

    def spends(name: str) -> Model:
        def answer(messages: Any, *_: Any) -> ModelOutput:
            often = random.Random(f"{name} {messages[-1].text}").random() < 0.8
            tokens = {"last": 50, "middle": 49, "winner": 40 if often else 60}[name]
            found = ModelOutput.from_content(f"mockllm/{name}", "yes")
            found.usage = ModelUsage(input_tokens=1, output_tokens=tokens - 1, total_tokens=tokens)
            return found

        made: Model = get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)
        return made

    models = [spends(name) for name in ("last", "middle", "winner")]
    racing = Racing(names(models), ["tokens:min:wins"])
    run(Task(dataset=dataset(), solver=generate(), scorer=is_yes(), early_stopping=racing), models, tmp_path)
    assert racing.winners == {"tokens": "mockllm/winner"}
    assert racing.experiment.status().verdict.lost == 0
