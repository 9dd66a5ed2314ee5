from __future__ import annotations

import math
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mobai import ConflictError, Experiment, InputError
from mobai.live.sampler import SamplerError, Step, command_sampler, function_sampler, run_sampler
from mobai.store.journal import MemoryJournal


def new(*objectives: str) -> Experiment:
    return Experiment.create(MemoryJournal(), "x", ["fast", "slow"], objectives or ["time:min:gaussian=1"], delta=0.1)


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return f"{sys.executable} {path} {{arm}}"


def test_a_function_until_decided() -> None:
    luck = random.Random(1)
    steps: list[Step] = []
    test = new()
    outcome = run_sampler(test, lambda arm: {"time": luck.gauss(1 if arm == "fast" else 4, 1)}, watch=steps.append)
    assert outcome.ending == "decided"
    assert outcome.verdict.answers == ("fast",)
    assert len(steps) == outcome.verdict.pulls
    assert (outcome.failures, outcome.dropped) == (0, 0)


def test_failures_are_tried_again_and_counted() -> None:
    calls = iter([None, {"time": 1.0}, None, 7, {}, {"time": 2.0}, {"time": 2.5}])
    seen: list[str | None] = []

    def sampler(arm: str) -> Any:
        return next(calls)

    test = new()
    outcome = run_sampler(test, sampler, max_pulls=3, retries=1, watch=lambda step: seen.append(step.failure))
    assert (outcome.ending, outcome.failures, outcome.dropped) == ("max-pulls", 4, 1)
    assert test.status().dropped == 1
    assert test.status().rewards.sum() == 3
    assert seen[0] is not None
    assert "expected an object of metrics, not None" in seen[0]
    assert seen[1] is not None
    assert "expected an object of metrics, not 7" in seen[1]


def test_a_value_that_is_refused_ends_the_run() -> None:
    test = new()
    with pytest.raises(SamplerError, match=r"fast: metric 'time' must be a number, not 'quick'"):
        run_sampler(test, lambda _: {"time": "quick"})  # type: ignore[dict-item]
    assert (test.status().pending, test.status().dropped, test.status().rewards.sum()) == (1, 0, 0)
    assert test.status().state == "paused"


def test_refused_values_are_lost_pulls_if_so_wished() -> None:
    """They are measured once, not again until something else comes out."""
    test = Experiment.create(MemoryJournal(), "x", ["fast", "slow"], ["click:bernoulli"])
    calls = iter([0, 1, 2, 0, 1, 1])
    outcome = run_sampler(test, lambda _: {"click": next(calls)}, max_pulls=5, retries=3, on_refused="drop")
    assert (outcome.refused, outcome.dropped, outcome.failures, outcome.verdict.pulls) == (1, 1, 0, 5)


@pytest.mark.parametrize("jobs", [2, 4])
def test_several_at_once(jobs: int) -> None:
    import threading
    import time

    lock, now, most = threading.Lock(), 0, 0

    def sampler(arm: str) -> dict[str, float]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.03)  # longer than to ask for the next one, on a machine that is busy
        with lock:
            now -= 1
        return {"time": random.gauss(1 if arm == "fast" else 3, 1)}

    test = new()
    outcome = run_sampler(test, sampler, jobs=jobs, max_pulls=60)
    assert outcome.verdict.pulls <= 60
    assert 1 < most <= jobs
    assert test.status().pending == 0


def test_a_broken_sampler_ends_the_run() -> None:
    def sampler(arm: str) -> Any:
        raise SamplerError("no power")

    test = new()
    with pytest.raises(SamplerError, match=r"5 assignments failed one after the other, the last one: .*: no power"):
        run_sampler(test, sampler, retries=0)
    assert test.status().rewards.sum() == 0
    assert test.status().dropped == 5


def test_an_interruption_leaves_nothing_pending() -> None:
    calls = iter([{"time": 1.0}, {"time": 2.0}])

    def sampler(arm: str) -> Any:
        try:
            return next(calls)
        except StopIteration:
            raise KeyboardInterrupt from None

    test = new()
    outcome = run_sampler(test, sampler)
    assert (outcome.ending, outcome.verdict.pulls) == ("interrupted", 2)
    assert (test.status().pending, test.status().dropped) == (0, 1)


def test_commands(tmp_path: Path) -> None:
    script = "import json, os, sys; print('working'); print(json.dumps({'time': len(sys.argv[1])}))"
    assert command_sampler(write(tmp_path / "a.py", script))("a b; ls") == {"time": 7}
    echo = "import os, json; print(json.dumps({'time': len(os.environ['MOBAI_ARM'])}))"
    assert command_sampler(write(tmp_path / "b.py", echo))("four") == {"time": 4}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; sys.stderr.write('why\\nbecause\\n'); sys.exit(3)", r"exit code 3 \(because\)"),
        ("raise SystemExit(4)", "exit code 4"),
        ("print('fast')", r"expected a JSON object on standard output.*not 'fast'"),
        ("import time; time.sleep(30)", "took longer than 2 s"),
    ],
)
def test_failing_commands(tmp_path: Path, text: str, message: str) -> None:
    sampler = command_sampler(write(tmp_path / "x.py", text), timeout=2.0)
    with pytest.raises(SamplerError, match=message):
        sampler("fast")


def test_output_that_is_no_text(tmp_path: Path) -> None:
    for text in ("import sys; sys.stdout.buffer.write(b'\\377')", "print('[' * 100000)"):
        with pytest.raises(SamplerError, match="expected a JSON object"):
            command_sampler(write(tmp_path / "x.py", text))("fast")


def test_an_unexpected_error_leaves_nothing_pending() -> None:
    test = new()
    with pytest.raises(ZeroDivisionError):
        run_sampler(test, lambda arm: {"time": 1 / 0})
    assert test.status().pending == 0


def test_bad_samplers() -> None:
    with pytest.raises(SamplerError, match="No such file"):
        command_sampler("/no/such/program {arm}")("x")
    for text, message in (("", "must not be empty"), ("a 'b", "No closing quotation")):
        with pytest.raises(InputError, match=message):
            command_sampler(text)
    for path, message in (
        ("nothing", "sampler must be written package.module:name"),
        ("no.such.module:x", "cannot be imported: No module named 'no'"),
        ("math:nothing", "cannot be imported: module 'math' has no attribute 'nothing'"),
        ("math:pi", "sampler must name a function of an arm; math:pi is a float"),
    ):
        with pytest.raises(InputError, match=message):
            function_sampler(path)
    with pytest.raises(SamplerError, match="SystemExit"):
        function_sampler("sys:exit")("x")
    with pytest.raises(SamplerError, match="ValueError: "):
        function_sampler("builtins:int")("x")


def test_a_refused_pull_keeps_its_place_and_what_else_was_measured() -> None:
    """The experiment is paused; told or dropped by hand, the pull counts, and what comes then is certified."""
    objectives = ["click:bernoulli", "time:min:bounded=0..9"]
    test = Experiment.create(MemoryJournal(), "x", ["fast", "slow"], objectives, delta=0.2)
    calls = iter(range(10_000))

    def sampler(arm: str) -> dict[str, float]:
        return {"click": 2.0 if next(calls) == 3 else float(arm == "fast"), "time": 1.0 + 7 * (arm == "slow")}

    with pytest.raises(SamplerError, match="; assignment 4 keeps what else was measured"):
        run_sampler(test, sampler)
    assert test.status().state == "paused"
    assert "must be 0 or 1, not 2.0" in test.history()[-1].body["by"]
    assert test.records()[3] | {"arm": "", "asked_at": ""} == {
        "id": 4, "arm": "", "status": "answered", "asked_at": "", "click": None, "time": test.records()[3]["time"],
    }  # fmt: skip
    with pytest.raises(ConflictError, match="paused"):
        run_sampler(test, sampler)
    test.drop(4)
    test.resume()
    outcome = run_sampler(test, sampler)
    assert outcome.verdict.stopped
    assert outcome.verdict.certified
    assert test.status().worst == 1


def test_refused_pulls_are_not_forgotten() -> None:
    """Resumed, the run is still not certified."""
    on_refused = "drop"
    test = Experiment.create(MemoryJournal(), "x", ["fast", "slow"], ["click:bernoulli"], delta=0.2)
    calls = iter(range(10_000))

    def sampler(arm: str) -> dict[str, float]:
        return {"click": 2.0 if next(calls) == 3 else float(arm == "fast")}

    for _ in range(2):
        try:
            outcome = run_sampler(test, sampler, on_refused=on_refused)
        except SamplerError:
            continue
    assert outcome.verdict.stopped
    assert not outcome.verdict.certified
    assert not test.replay().verdict.certified
    assert "1 lost because of their value" in str(test.status())


@pytest.mark.parametrize("value", [None, math.nan])
def test_a_value_that_is_none_is_not_measured_again(value: float | None) -> None:
    test, calls = new(), []

    def sampler(arm: str) -> Any:
        calls.append(arm)
        return {"time": value}

    with pytest.raises(SamplerError):
        run_sampler(test, sampler, retries=5)
    assert len(calls) == 1


def test_a_command_that_prints_nan(tmp_path: Path) -> None:
    text = write(tmp_path / "nan.py", "print('{\"time\": NaN}')")
    with pytest.raises(SamplerError, match="'time' must be a number, not nan"):
        run_sampler(new(), command_sampler(text))


def test_several_at_once_are_told_in_the_order_of_asking() -> None:
    """Slow measurements are not told later, so that the run does not depend on how long they take."""
    import time

    runs = []
    for slow in ("fast", "slow", None):
        rng, test = random.Random(3), new("time:min:gaussian=1")
        values = {(arm, n): rng.gauss(arm == "slow", 1) for arm in ("fast", "slow") for n in range(80)}
        numbers = {"fast": iter(range(80)), "slow": iter(range(80))}

        def sampler(arm: str, slow: str | None = slow, values: Any = values, numbers: Any = numbers) -> Any:
            value = values[arm, next(numbers[arm])]
            time.sleep(0.003 if arm == slow else 0.0)
            return {"time": value}

        run_sampler(test, sampler, jobs=2, max_pulls=40)
        runs.append([row["arm"] for row in test.records()])
    assert runs[0] == runs[1] == runs[2]


def test_what_a_measurement_leaves_out_will_not_come() -> None:
    """Otherwise sampling would wait for it for ever."""
    test, calls = new("time:min:gaussian=1", "size:min:gaussian=1"), iter(range(1000))
    metrics = ({"time": 1.0, "size": 2.0}, {"time": 1.5})
    run_sampler(test, lambda _: metrics[next(calls) % 2], max_pulls=20)
    assert test.status().incomplete == 0
    assert test.status().rewards.sum(axis=0).tolist() == [20, 10]


def test_what_a_command_complains_cannot_steer_the_terminal(tmp_path: Path) -> None:
    script = tmp_path / "fail.py"
    script.write_text("import sys; sys.stderr.write('\x1b[2J\x1b]0;owned\x07gone \u202e'); sys.exit(3)")
    with pytest.raises(SamplerError) as found:
        command_sampler(f"{sys.executable} {script}")("A")
    assert str(found.value) == "exit code 3 (\\x1b[2J\\x1b]0;owned\\x07gone \\u202e)"


def test_modules_of_this_folder_do_not_hide_installed_ones(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('hidden')")
    (tmp_path / "own.py").write_text("def measure(arm):\n    return {'x': 1.0}\n")
    code = "from mobai.live.sampler import function_sampler; print(function_sampler('own:measure')('A'))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "{'x': 1.0}\n"


def test_a_command_finds_the_arm_in_its_environment() -> None:
    words = [sys.executable, "-c", "import json, os; print(json.dumps({'x': len(os.environ['MOBAI_ARM'])}))"]
    assert command_sampler(shlex.join(words))("a; rm -rf $HOME") == {"x": 15}
