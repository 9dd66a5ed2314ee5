"""Durable ask and tell: beside Optuna's storages, with many arms, with long journals, and from the command line."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mobai import Experiment
from mobai.live.storage import open_journal
from mobai.store import journal

ARMS = ["a", "b", "c", "d"]
OBJECTIVES = ["clicks:gaussian=1", "cost:min:gaussian=1"]
# Rounds that have gone before: in the first hundred, SQLite's log still grows.
AGES = (1, 500, 2_000, 10_000)


def one_round(test: Experiment) -> Callable[[], None]:
    """Ask for an arm and tell its rewards: two durable transactions."""

    def action() -> None:
        (assignment,) = test.ask()
        test.tell(assignment, {"clicks": float(assignment.id % 7), "cost": float(assignment.id % 5)})

    return action


def joint_round(test: Experiment) -> Callable[[], None]:
    """Tell rewards and ask for the next arm in one durable transaction."""
    waiting = test.ask()

    def action() -> None:
        reports = [(one, {"clicks": float(one.id % 7), "cost": float(one.id % 5)}) for one in waiting]
        waiting[:] = test.tell_all(reports, ask=1)

    return action


def optuna_round(storage: object) -> Callable[[], None]:
    """The same with Optuna: ask for a trial, suggest the arm, tell two values."""
    import optuna

    sampler = optuna.samplers.RandomSampler(seed=1)
    study = optuna.create_study(storage=storage, sampler=sampler, directions=["maximize", "minimize"])

    def action() -> None:
        trial = study.ask()
        trial.suggest_categorical("arm", ARMS)
        study.tell(trial, [float(trial.number % 7), float(trial.number % 5)])

    return action


def fill(test: Experiment, events: int) -> None:
    """Bring a new journal to so many events, or one less, as a live run does."""
    action = one_round(test)
    for _ in range((events - 1) // 2):
        action()


def beside_optuna(folder: Path, rounds: int) -> None:
    """Compare the storages at several ages; Optuna's SQLite storage, far behind, at the first one only."""
    import optuna
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    test = Experiment.create(f"sqlite:///{folder / 'mobai.db'}", "x", ARMS, OBJECTIVES)
    other = Experiment.create(f"sqlite:///{folder / 'joint.db'}", "x", ARMS, OBJECTIVES)
    actions = {
        "ask, tell": one_round(test),
        "tell_all with ask": joint_round(other),
        "Optuna, journal file": optuna_round(JournalStorage(JournalFileBackend(str(folder / "optuna.log")))),
        "Optuna, SQLite": optuna_round(RDBStorage(f"sqlite:///{folder / 'optuna.db'}")),
    }
    print("durable ask + tell, one process, median ms, and how many times faster than Optuna's journal file")
    print(f"  {'rounds before':13}" + "".join(f"{name:>22}" for name in actions))
    age = 0
    for before in AGES:
        for action in actions.values():
            for _ in range(before - age):
                action()
        medians = in_turns(actions, rounds)
        peer = medians["Optuna, journal file"]
        cells = [f"{middle:.2f} ({peer / middle:.1f})" for middle in medians.values()]
        print(f"  {before:13,}" + "".join(f"{cell:>22}" for cell in cells), flush=True)
        actions.pop("Optuna, SQLite", None)
        age = before + 10 * rounds


def in_turns(actions: dict[str, Callable[[], None]], rounds: int) -> dict[str, float]:
    """Alternate between actions in short turns, so that a slow moment of the disk meets all of them; median ms."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            for _ in range(10):
                start = time.perf_counter()
                action()
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def long_journals(folder: Path, rounds: int) -> None:
    """Compare a short journal with a long one, in turns."""
    actions = {}
    for events in (100, 100_000):
        url = f"sqlite:///{folder / f'{events}.db'}"
        test = Experiment.create(url, "x", ARMS, OBJECTIVES, expire_after=3600.0)
        with _fast(test):
            fill(test, events)
        start = time.perf_counter()
        loaded = Experiment.load(url, "x")
        print(f"loading {events:,} events: {time.perf_counter() - start:.2f} s")
        actions[f"{events:,} events"] = one_round(loaded)
    in_turns(actions, 10)
    short, long = in_turns(actions, rounds).values()
    print(f"ask + tell after 100 and 100,000 events, median ms: {short:.2f} and {long:.2f}, ratio {long / short:.2f}")


def write_rounds(folder: Path, url: str, events: int) -> None:
    """Write a journal of asks and reports, as a live run makes them, without a snapshot."""
    seed = Experiment.create(f"sqlite:///{folder / f'seed of {events}.db'}", "x", ARMS, OBJECTIVES)
    rng = np.random.default_rng(0)

    def rounds() -> Iterator[journal.Event]:
        for k in range(events // 2):
            arm, drawn = int(rng.integers(len(ARMS))), rng.normal(size=2).tolist()
            yield journal.Event(2 + 2 * k, "asked", float(k), {"arms": [arm]})
            report = [k + 1, {"clicks": drawn[0], "cost": drawn[1]}]
            yield journal.Event(3 + 2 * k, "told", k + 0.5, {"reports": [report]})

    open_journal(url, create=True).create("x", seed.history()[0], rounds())


def without_snapshot(folder: Path, events: int = 200_000) -> None:
    """Load a journal that has no snapshot, in a process of its own; time and memory."""
    url = f"sqlite:///{folder / 'bare.db'}"
    write_rounds(folder, url, events)
    done = subprocess.run([sys.executable, "-c", _LOAD, url], check=True, capture_output=True, text=True)
    seconds, megabytes = map(float, done.stdout.split())
    rate = 1e6 * seconds / events
    print(f"loading {events:,} events without a snapshot: {seconds:.1f} s, {rate:.1f} us per event, {megabytes:.0f} MB")


_LOAD = """
import resource, sys, time
import mobai
mobai.compile_kernels()
start = time.perf_counter()
mobai.Experiment.load(sys.argv[1], "x")
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def chain(folder: Path, rounds: int) -> None:
    """Compare what hashing takes with a round: it writes two events, and checks the last one twice."""
    test = Experiment.create(f"sqlite:///{folder / 'chain.db'}", "x", ARMS, OBJECTIVES)
    action = {"round": one_round(test)}
    in_turns(action, 20)
    middle = in_turns(action, 3 * rounds)["round"]
    last = test.history()[-1]
    text, start = journal.encode(last.body), time.perf_counter()
    for _ in range(4000):
        journal.link(last.hash, last.seq, last.kind, last.at, text)
    hashing = time.perf_counter() - start  # seconds for a thousand rounds: ms per round
    print(f"the chain of hashes: {hashing / middle:.1%} of a durable round ({hashing:.3f} of {middle:.3f} ms)")


class _fast:
    """Let a journal be written without waiting for the disk, while it is being filled."""

    def __init__(self, test: Experiment) -> None:
        self._journal: Any = test._ledger.journal

    def __enter__(self) -> None:
        # The connection that stays at hand is the one that is used all the time.
        with self._journal._database.driver("DEFERRED") as driver:
            pass
        driver.execute("PRAGMA synchronous = OFF")

    def __exit__(self, *error: object) -> None:
        self._journal.close()


def batches(folder: Path) -> None:
    """Tell a thousand rewards in one transaction."""
    test = Experiment.create(f"sqlite:///{folder / 'batch.db'}", "x", ARMS, OBJECTIVES)
    times = []
    for _ in range(5):
        assignments = test.ask(1000)
        reports = [(one, {"clicks": float(one.id % 7), "cost": float(one.id % 5)}) for one in assignments]
        start = time.perf_counter()
        test.tell_all(reports)
        times.append(1000 * (time.perf_counter() - start))
    print(f"a batch of 1,000 rewards in one transaction: {statistics.median(times):.0f} ms")


SIZES = ((3, 2), (100, 5), (1000, 5))


def unknown(folder: Path, arms: int, objectives: int) -> Experiment:
    """Begin an experiment of this size, all noise unknown, in which every arm has been told twice."""
    names = [f"metric {m}" for m in range(objectives)]
    test = Experiment.create(
        f"sqlite:///{folder / f'{arms}x{objectives}.db'}",
        "x",
        [f"arm {i}" for i in range(arms)],
        [f"{name}:unknown-variance" for name in names],
    )
    for _ in range(2):
        test.tell_all([(one, drawn(names)) for one in test.ask(arms)])
    return test


_RNG = np.random.default_rng(1)


def drawn(names: Sequence[str]) -> dict[str, float]:
    """Draw a reward for every metric."""
    return dict(zip(names, _RNG.normal(size=len(names)).tolist(), strict=True))


def many_arms(folder: Path, rounds: int) -> None:
    """Ask and tell at several sizes, in turns; then a batch of 3,000 rewards and the status at each."""
    tests = {size: unknown(folder, *size) for size in SIZES}

    def round_of(test: Experiment) -> Callable[[], None]:
        def action() -> None:
            (assignment,) = test.ask()
            test.tell(assignment, drawn(test.problem.objective_names))

        return action

    actions = {f"{arms} arms, {objectives} metrics": round_of(tests[arms, objectives]) for arms, objectives in SIZES}
    in_turns(actions, 3)
    medians = in_turns(actions, rounds)
    print("unknown variances, SQLite, median ms of ask + tell; a batch of 3,000 rewards; status")
    for (name, middle), test in zip(medians.items(), tests.values(), strict=True):
        reports = [(one, drawn(test.problem.objective_names)) for one in test.ask(3000)]
        start = time.perf_counter()
        test.tell_all(reports)
        batch, times = time.perf_counter() - start, []
        for _ in range(9):
            start = time.perf_counter()
            test.status()
            times.append(1000 * (time.perf_counter() - start))
        ratio = middle / next(iter(medians.values()))
        print(
            f"  {name:24} {middle:6.2f} ({ratio:.2f} times the first), batch {batch:.3f} s, "
            f"status {statistics.median(times):.1f} ms"
        )


def one_shot_commands(folder: Path, repeats: int = 7) -> None:
    """Compare commands with importing what they cannot do without, in turns, with an empty cache of kernels."""
    arms = [word for i in range(20) for word in ("--arm", f"arm{i}")]
    families = ("unknown-variance", "bernoulli", "bounded=1..5", "gaussian=2")
    metrics = [word for m in range(10) for word in ("--objective", f"m{m}:{families[m % 4]}")]
    storage = ["--storage", f"sqlite:///{folder / 'cli.db'}"]
    run = [sys.executable, "-c", "from mobai.cli import main; main()"]
    imports = [sys.executable, "-c", "import numpy, sqlalchemy"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}

    def seconds(command: list[str]) -> float:
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=environment)
        return time.perf_counter() - start

    times: dict[str, list[float]] = {name: [] for name in ("imports", "create", "ask", "tell", "status")}
    for n in range(repeats):
        times["imports"].append(seconds(imports))
        times["create"].append(seconds([*run, "create", f"x{n}", *arms, *metrics, *storage]))
        if n == 0:
            _fill(f"sqlite:///{folder / 'cli.db'}")
        times["ask"].append(seconds([*run, "ask", "x0", *storage]))
        values = [f"m{m}={(2.5, 1, 4, 0.5)[m % 4]}" for m in range(10)]
        times["tell"].append(seconds([*run, "tell", "x0", str(301 + n), *values, *storage]))
        times["status"].append(seconds([*run, "status", "x0", *storage]))
    base = statistics.median(times.pop("imports"))
    cells = [f"{name} {statistics.median(values) / base:.2f}" for name, values in times.items()]
    print(f"commands at 20 arms, 10 metrics, times importing numpy and sqlalchemy ({base:.2f} s): {', '.join(cells)}")


def _fill(storage: str) -> None:
    """Bring the experiment of the commands past its opening."""
    test, rng = Experiment.load(storage, "x0"), np.random.default_rng(0)
    for _ in range(150):
        for one in test.ask(2):
            values = (rng.normal(3), float(rng.random() < 0.5), rng.uniform(1, 5), rng.normal(0, 2))
            test.tell(one, {f"m{m}": float(values[m % 4]) for m in range(10)})


def main(rounds: int = 30) -> None:
    """Print all of it."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        many_arms(folder, rounds)
        one_shot_commands(folder)
        beside_optuna(folder, rounds)
        batches(folder)
        long_journals(folder, rounds)
        without_snapshot(folder)
        chain(folder, rounds)


if __name__ == "__main__":
    main()
