"""Kernels as plain Python: they choose and decide as the compiled ones do, and one-shot commands use them so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mobai import GLR, Instance, compile_kernels
from mobai.kernels import interpreted
from mobai.lab.trajectory import TrialSpec, run_trajectory
from mobai.rules.catalogue import SAMPLING, sampling_rule
from mobai.theory.lower_bound import lower_bound

MIXED = ["ctr:bernoulli", "latency:min:unknown-variance", "stars:bounded=1..5", "g:min:subgaussian=2:eps=0.05"]


def in_process(script: str, switch: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own, its kernels interpreted or not."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": switch}
    command = [sys.executable, "-c", script, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment)


def instances() -> list[Instance]:
    rng = np.random.default_rng(5)
    means = [[0.3, 80, 3.0, 1.0], [0.5, 70, 3.5, 0.2], [0.4, 95, 4.2, 1.5], [0.2, 76, 2.0, 0.7]]
    return [
        Instance([[0.4], [0.0]]),
        Instance([[0.5, 0.0], [0.0, 0.3], [0.2, 0.1]]),
        Instance(rng.normal(size=(4, 6))),
        Instance(means, sd=[np.nan, 10, 1, np.nan], objectives=MIXED),
    ]


def outcomes() -> list[object]:
    """What every rule does in its first pulls on the conformance instances, and the lower bounds."""
    found: list[object] = [round(lower_bound(instance).samples(0.05), 6) for instance in instances()[:3]]
    for name in SAMPLING:
        rule = sampling_rule(f"{name}:delta=0.1" if name == "successive-elimination" else name)
        for instance in instances()[: 3 if rule.stopping else 4]:
            spec = TrialSpec(instance, rule, [rule.stopping or GLR()], [np.log(10)], max_pulls=60)
            trajectory = run_trajectory(spec)
            found.append([name, trajectory.asked.tolist(), trajectory.decided.tolist(), trajectory.answers.tolist()])
    return found


def test_plain_python_chooses_and_decides_alike() -> None:
    """This process and one of the other kind."""
    script = "import json; from tests.kernels.test_plain import outcomes; print(json.dumps(outcomes()))"
    other = in_process(script, "0" if interpreted() else "1")
    assert json.loads(other.stdout) == outcomes()


ONE_SHOT = """
import sys
from mobai.cli import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(*sorted({module.partition(".")[0] for module in sys.modules}), file=sys.stderr)
"""


def one_shot(*words: str) -> set[str]:
    """Run a command in a process of its own; what it has imported."""
    done = in_process(ONE_SHOT, "0", *words)
    return set(done.stderr.splitlines()[-1].split())


def test_one_shot_commands_import_no_numba(tmp_path: Path) -> None:
    storage = ("--storage", f"sqlite:///{tmp_path / 'a.db'}")
    described = ("--arm", "A", "--arm", "B", "--objective", "x:bernoulli", "--objective", "y:min:unknown-variance")
    heavy = {"numba", "scipy", "pandas", "matplotlib", "joblib"}
    assert not one_shot("create", "t", *described, *storage) & heavy
    assert not one_shot("ask", "t", "-n", "4", *storage) & heavy
    reports = tmp_path / "reports.csv"
    reports.write_text("id,x,y\n" + "".join(f"{number},1,{number}.5\n" for number in range(1, 5)))
    assert not one_shot("tell", "t", "--file", str(reports), *storage) & heavy
    assert not one_shot("ask", "t", *storage) & heavy, "a choice after the opening"
    for command in ("status", "export"):
        assert not one_shot(command, "t", *storage) & heavy
    assert not one_shot("experiments", *storage) & heavy
    assert "numba" in one_shot("create", "slow", *described, "--rule", "frank-wolfe", *storage) | one_shot(
        "ask", "slow", *storage
    )


def test_large_experiments_use_kernels_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain Python takes seconds for the intervals of many arms; compiling takes longer."""
    storage = ("--storage", f"sqlite:///{tmp_path / 'a.db'}")
    arms = [word for n in range(30) for word in ("--arm", f"arm {n}")]
    one_shot("create", "large", *arms, "--objective", "x:bounded=0..1", "--objective", "y:unknown-variance", *storage)
    one_shot("create", "light", *arms, "--objective", "x:bernoulli", *storage)
    compile_kernels()
    assert "numba" in one_shot("status", "large", *storage)
    assert "numba" not in one_shot("status", "light", *storage)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cold"))
    assert "numba" not in one_shot("status", "large", *storage)


def test_the_switch_is_numbas_own() -> None:
    script = "import mobai.kernels.trials.trial, sys; print(mobai.kernels.interpreted(), 'numba' in sys.modules)"
    for switch, expected in (("1", "True False"), ("0", "False True")):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": switch}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        )
        assert done.stdout.strip() == expected
