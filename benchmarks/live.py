"""Durable ask and tell beside Optuna's storages, and whether a long journal makes them slower."""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from mobai import Experiment

ARMS = ["a", "b", "c", "d"]
OBJECTIVES = ["clicks", "cost:min"]


def timed(action: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Median and mean milliseconds of an action."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        action()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times), statistics.fmean(times)


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
    """Bring the journal to so many events, as a live run does, in batches that share transactions."""
    while len(test.history()) < events:
        for _ in range(500):
            (assignment,) = test.ask()
            test.tell(assignment, {"clicks": float(assignment.id % 7), "cost": float(assignment.id % 5)})


def beside_optuna(folder: Path, rounds: int) -> None:
    """Alternate between the three in short turns, so that a slow moment of the disk meets all of them."""
    import optuna
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    test = Experiment.create(f"sqlite:///{folder / 'mobai.db'}", "x", ARMS, OBJECTIVES)
    other = Experiment.create(f"sqlite:///{folder / 'joint.db'}", "x", ARMS, OBJECTIVES)
    actions = {
        "mobai, SQLite": one_round(test),
        "mobai, in one transaction": joint_round(other),
        "Optuna, journal file": optuna_round(JournalStorage(JournalFileBackend(str(folder / "optuna.log")))),
        "Optuna, SQLite": optuna_round(RDBStorage(f"sqlite:///{folder / 'optuna.db'}")),
    }
    times: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        action()
    for _ in range(rounds):
        for name, action in actions.items():
            for _ in range(10):
                start = time.perf_counter()
                action()
                times[name].append(1000 * (time.perf_counter() - start))
    own = statistics.median(times["mobai, SQLite"])
    print("durable ask + tell, one process, ms: median (mean), ratio of medians")
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"  {name:26} {middle:8.2f} ({statistics.fmean(values):.2f})   {middle / own:6.1f}")


def long_journals(folder: Path, rounds: int) -> None:
    """Compare a short journal with a long one."""
    print("ask + tell after so many events, ms: median (mean)")
    medians = []
    for events in (100, 100_000):
        test = Experiment.create(f"sqlite:///{folder / f'{events}.db'}", "x", ARMS, OBJECTIVES, expire_after=3600.0)
        with _fast(test):
            fill(test, events)
        start = time.perf_counter()
        loaded = Experiment.load(f"sqlite:///{folder / f'{events}.db'}", "x")
        load = time.perf_counter() - start
        one_round(loaded)()
        middle, mean = timed(one_round(loaded), rounds)
        medians.append(middle)
        print(f"  {events:8,} events {middle:8.2f} ({mean:.2f}); loading it takes {load:.2f} s")
    print(f"  ratio {medians[1] / medians[0]:.2f}")


class _fast:
    """Let a journal be written without waiting for the disk, while it is being filled."""

    def __init__(self, test: Experiment) -> None:
        self._engine = test._journal._engine  # type: ignore[attr-defined]

    def __enter__(self) -> None:
        with self._engine.connect() as connection:
            connection.connection.driver_connection.execute("PRAGMA synchronous = OFF")

    def __exit__(self, *error: object) -> None:
        self._engine.dispose()


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


def main(rounds: int = 30) -> None:
    """Print all of it."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        beside_optuna(folder, rounds)
        batches(folder)
        long_journals(folder, 300)


if __name__ == "__main__":
    main()
