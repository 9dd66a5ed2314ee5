"""The file of a storage, under a process that has it open: deleted, replaced, its log deleted; which are accepted."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.live.rounds import facts, new, run

import mobai
from mobai import Experiment, InputError, StorageError, backup
from mobai.errors import FileReplacedError
from mobai.store import sqlite_file
from mobai.store.sql import SqlJournal
from mobai.store.sqlite_file import SqliteFile


def _delete(path: Path) -> None:
    path.unlink()


def _move(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))


def _replace_by_a_copy(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


def _delete_the_log(path: Path) -> None:
    Path(f"{path}-wal").unlink()


def _delete_the_index(path: Path) -> None:
    Path(f"{path}-shm").unlink()


@pytest.mark.parametrize("fault", [_delete, _move, _replace_by_a_copy, _delete_the_log, _delete_the_index])
@pytest.mark.parametrize("action", ["ask", "tell", "status", "record", "snapshot"])
def test_noticed_at_the_next_call(path: Path, fault: Callable[[Path], None], action: str) -> None:
    test = new(path)
    run(test, 5)
    (assignment,) = test.ask()
    calls: dict[str, Callable[[], Any]] = {
        "ask": test.ask,
        "tell": lambda: test.tell(assignment, {"click": 1.0}),
        "status": test.status,
        "record": lambda: test.record("A", {"click": 1.0}),
        "snapshot": lambda: test._ledger.journal.snapshot(test._ledger.handle),
    }
    fault(path)
    with pytest.raises(
        StorageError, match=r"(was deleted, moved or|was) replaced under this process(, or its log was)?; nothing"
    ):
        calls[action]()


def test_replaced_by_its_own_copy_it_goes_on(path: Path) -> None:
    test = new(path)
    run(test, 5)
    known = facts(test)
    _replace_by_a_copy(path)
    with pytest.raises(StorageError, match="load the experiment again"):
        test.ask()
    again = Experiment.load(path, "test")
    assert facts(again) == known
    run(again, 3)
    assert again.verify().intact
    for action in (test.ask, test.status, test.history, test.replay, test.verify):
        with pytest.raises(StorageError, match="load the experiment again"):
            action()


def test_nothing_is_acknowledged_into_a_file_that_went_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted after the transaction began: the report is not acknowledged."""
    test = new(path)
    (assignment,) = test.ask()
    real = SqliteFile.still_has
    looks = []

    def deleted_in_between(self: SqliteFile, opened: Any) -> bool:
        looks.append(opened)
        if len(looks) == 2:
            path.unlink()
        return real(self, opened)

    monkeypatch.setattr(SqliteFile, "still_has", deleted_in_between)
    with pytest.raises(StorageError, match="what was told just now may be lost"):
        test.tell(assignment, {"click": 1.0})


def test_what_is_gone_is_not_made_again_by_accident(path: Path) -> None:
    test = new(path)
    path.unlink()
    for _ in range(2):
        with pytest.raises((StorageError, InputError)):
            test.ask()
    assert not path.exists()
    run(new(path), 2)


def test_new_files_are_for_their_owner(path: Path) -> None:
    before = os.umask(0o022)
    try:
        test = new(path)
    finally:
        os.umask(before)
    run(test, 1)
    modes = {one.name: one.stat().st_mode & 0o777 for one in path.parent.glob("test.db*")}
    assert modes == {"test.db": 0o600, "test.db-wal": 0o600, "test.db-shm": 0o600}


@pytest.mark.parametrize(
    "address",
    [
        "sqlite:///file:{path}?nolock=1&uri=true",
        "sqlite:///file:{path}?vfs=unix-none&uri=true",
        "sqlite:///file:{path}?immutable=1&uri=true",
        "sqlite:///file:{path}?cache=shared&uri=true",
        "sqlite:///file:{path}?mode=memory&uri=true",
        "sqlite:///file::memory:?uri=true",
        "sqlite:///file::memory:?cache=shared&uri=true",
        "sqlite:///:memory:",
        "sqlite://",
        "sqlite:///{path}?nolock=1",
    ],
)
def test_only_durable_addresses(path: Path, address: str) -> None:
    new(path)
    for create in (True, False):
        with pytest.raises(InputError, match="storage"):
            SqlJournal(address.format(path=path), create=create)


def test_without_a_write_ahead_log_there_is_no_storage(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that has no shared memory: SQLite answers with another mode, and does not complain."""
    real = sqlite3.connect

    class Elsewhere(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            return super().execute("PRAGMA journal_mode" if "WAL" in statement else statement, *values)

    monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: real(*args, **kwargs, factory=Elsewhere))
    with pytest.raises(StorageError, match="cannot have a write-ahead log here"):
        new(path)


def test_a_read_only_medium_can_be_looked_at(path: Path) -> None:
    test = new(path)
    run(test, 5)
    known = facts(test)
    test._ledger.journal.close()
    del test
    looked_at = Experiment.load(f"sqlite:///file:{path}?mode=ro&uri=true", "test")
    assert facts(looked_at) == known
    with pytest.raises(StorageError, match="is read-only"):
        looked_at.ask()
    assert [one.name for one in path.parent.iterdir()] == ["test.db"]


def test_one_engine_per_address(path: Path, database: str) -> None:
    for address in (f"sqlite:///{path}", database):
        tests = [new(address, f"test {n}") for n in range(30)]
        for one in tests:
            run(one, 1)
        engines = {id(one._ledger.journal._database.engine) for one in tests}  # type: ignore[attr-defined]
        assert len(engines) == 1


def test_names_have_one_limit(storage: str) -> None:
    longest = "ä" * 200
    run(new(storage, longest), 1)
    with pytest.raises(InputError, match="at most 200"):
        new(storage, longest + "ä")
    assert Experiment.load(storage, longest).status().verdict.pulls == 1


def test_written_over_in_place(path: Path, tmp_path: Path) -> None:
    """``cp old.db ads.db`` keeps the inode: what was once in the file is no longer there."""
    test = new(path)
    run(test, 60)
    test._ledger.journal.close()
    old = tmp_path / "old.db"
    shutil.copy(path, old)
    run(test, 120)
    path.write_bytes(old.read_bytes())
    for _ in range(3):
        with pytest.raises(StorageError, match="load the experiment again"):
            test.ask()


@pytest.mark.parametrize("shared", [True, False])
def test_written_over_under_two_experiments(path: Path, tmp_path: Path, shared: bool) -> None:
    """Every handle notices by itself: with a journal of its own, or one for both."""
    storage = SqlJournal(f"sqlite:///{path}") if shared else path
    tests = [new(storage, name) for name in ("one", "two")]
    for test in tests:
        run(test, 30)
    backup(path, tmp_path / "old.db")
    for test in tests:
        run(test, 60)
    path.write_bytes((tmp_path / "old.db").read_bytes())
    for _ in range(2):
        for test in tests:
            for action in (test.ask, test.status):
                with pytest.raises(FileReplacedError, match="load the experiment again"):
                    action()
    # What was put in place is as it was: no log of before was moved into it.
    again = [Experiment.load(path, name) for name in ("one", "two")]
    assert [one.status().verdict.pulls for one in again] == [30, 30]
    for one in again:
        run(one, 3)
        assert one.verify().intact


def test_written_over_with_one_that_lacks_the_experiment(path: Path, tmp_path: Path) -> None:
    new(path, "one")
    backup(path, tmp_path / "old.db")
    test = new(path, "two")
    run(test, 80)
    path.write_bytes((tmp_path / "old.db").read_bytes())
    with pytest.raises(FileReplacedError):
        test.ask()
    assert mobai.experiment_names(path) == ["one"]


def test_written_over_with_another_storage(path: Path, tmp_path: Path) -> None:
    test, other = new(path), new(tmp_path / "other.db")
    run(test, 40)
    run(other, 200)
    backup(tmp_path / "other.db", tmp_path / "saved.db")
    path.write_bytes((tmp_path / "saved.db").read_bytes())
    with pytest.raises(FileReplacedError):
        test.ask()
    assert Experiment.load(path, "test").status().verdict.pulls == 200


def _put_in_place(path: Path, healthy: Path) -> None:
    shutil.copy(healthy, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def _move_away_and_put_in_place(path: Path, healthy: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    _put_in_place(path, healthy)


@pytest.mark.parametrize("put", [_put_in_place, _move_away_and_put_in_place])
def test_a_file_put_in_place_keeps_clear_of_the_log(
    path: Path, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    """The log belongs to the file before, which gets it if it is still somewhere."""
    test = new(path)
    run(test, 10)
    backup(path, tmp_path / "old.db")
    run(test, 20)
    history = test.history()
    put(path, tmp_path / "old.db")
    with pytest.raises(FileReplacedError):
        test.ask()
    again = Experiment.load(path, "test")
    assert again.history() == history[: len(again.history())]
    assert again.status().verdict.pulls == 10
    run(again, 5)
    assert again.verify().intact
    if path.with_suffix(".moved").exists():
        assert Experiment.load(path.with_suffix(".moved"), "test").history() == history


def test_a_file_that_comes_while_nothing_is_open_keeps_clear_of_the_log(path: Path, tmp_path: Path) -> None:
    test = new(path)
    run(test, 10)
    backup(path, tmp_path / "old.db")
    run(test, 20)
    path.rename(path.with_suffix(".moved"))
    with pytest.raises(StorageError):
        test.ask()
    _put_in_place(path, tmp_path / "old.db")
    again = Experiment.load(path, "test")
    assert again.status().verdict.pulls == 10
    run(again, 5)
    assert again.verify().intact
    # What was in the log went into the file that was moved.
    assert Experiment.load(path.with_suffix(".moved"), "test").status().verdict.pulls == 30


def test_a_log_that_is_cut(path: Path) -> None:
    test = new(path)
    run(test, 5)
    with Path(f"{path}-wal").open("r+b") as log:
        log.truncate(0)
    with pytest.raises(StorageError):
        test.ask()


def test_a_log_that_grew_while_another_thread_looked_was_not_cut(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one thread has seen of the log is older than what another one has: that is no alarm."""
    url, really, armed = f"sqlite:///{path}", sqlite_file._stat, [False]
    one = Experiment.create(url, "threads", ["a", "b"], ["c:bernoulli"])
    two = Experiment.load(url, "threads")

    def others_go_on(looked_at: str) -> os.stat_result | None:
        found = really(looked_at)
        if armed[0] and looked_at.endswith("-wal"):
            armed[0] = False
            other = threading.Thread(target=lambda: [two.ask() for _ in range(3)])
            other.start()
            other.join()
        return found

    monkeypatch.setattr(sqlite_file, "_stat", others_go_on)
    for _ in range(5):
        armed[0] = True
        one.ask()
    assert one.status().pending == 20
    assert not list(path.parent.glob("*of-replaced-file*"))


def test_a_log_that_is_moved_into_the_file_is_nothing(path: Path) -> None:
    test = new(path)
    run(test, 5)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    run(test, 5)
    assert test.verify().intact


def test_a_path_that_is_none() -> None:
    with pytest.raises(InputError, match="must not hold a null character"):
        new("sqlite:///a\0.db")


def _killed(path: Path, rounds: int) -> None:
    """Let a process write, and kill it while its log has something that the file has not."""
    script = (
        "import sys, time\n"
        "from tests.live.rounds import new, run\n"
        "from mobai import Experiment\n"
        "test = Experiment.load(sys.argv[1], 'test')\n"
        "run(test, int(sys.argv[2]))\n"
        "print('written', flush=True)\n"
        "time.sleep(60)\n"
    )
    words = [sys.executable, "-c", script, f"sqlite:///{path}", str(rounds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"written\n"
        child.kill()


def test_a_file_put_in_place_after_a_kill_keeps_clear_of_the_log(path: Path, tmp_path: Path) -> None:
    """Whose log it was is known to nobody any more; that it does not fit can be seen."""
    test = new(path)
    run(test, 10)
    backup(path, tmp_path / "old.db")
    test._ledger.journal.close()
    del test  # nobody here has it open
    _killed(path, 60)
    assert Path(f"{path}-wal").stat().st_size > 0
    path.write_bytes((tmp_path / "old.db").read_bytes())
    again = Experiment.load(path, "test")
    assert again.status().verdict.pulls == 10
    assert again.verify().intact
    assert len(list(path.parent.glob("test.db-wal.of-replaced-file-*"))) == 1


def test_the_log_of_a_killed_process_is_taken_over(path: Path) -> None:
    test = new(path)
    run(test, 10)
    test._ledger.journal.close()
    _killed(path, 60)
    os.utime(path)  # as if the log had just been moved into it
    again = Experiment.load(path, "test")
    assert again.status().verdict.pulls == 70
    assert again.verify().intact
    assert list(path.parent.glob("test.db-wal.of-replaced-file-*")) == []


def test_written_over_and_closed_without_a_call(path: Path, tmp_path: Path) -> None:
    """SQLite moves the log into the file when the last connection is closed; not into another one."""
    test = new(path)
    run(test, 10)
    backup(path, tmp_path / "old.db")
    run(test, 60)
    path.write_bytes((tmp_path / "old.db").read_bytes())
    test._ledger.journal.close()
    del test
    again = Experiment.load(path, "test")
    assert again.status().verdict.pulls == 10
    assert again.verify().intact


def test_second_names_are_refused(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log would be beside one of them: what another process has acknowledged would be missing."""
    test = new(path)
    run(test, 5)
    link = tmp_path / "hard.db"
    link.hardlink_to(path)
    for action in (
        lambda: backup(link, tmp_path / "saved.db"),
        lambda: Experiment.load(link, "test"),
        lambda: Experiment.load(f"sqlite:///{link}?mode=ro", "test"),
        lambda: mobai.restore(link, f"sqlite:///{tmp_path / 'x.db'}"),
    ):
        with pytest.raises(StorageError, match="is a hard link"):
            action()
    link.unlink()
    monkeypatch.setattr(sqlite_file, "_mounted_files", lambda: {str(path)})
    with pytest.raises(StorageError, match="mounted by itself"):
        Experiment.load(path, "test")


def test_a_circle_of_links(tmp_path: Path) -> None:
    (tmp_path / "a.db").symlink_to(tmp_path / "b.db")
    (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
    with pytest.raises(InputError, match="circle of links"):
        Experiment.load(tmp_path / "a.db", "test")
