"""Backups, restoring, and copies between storages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.live.rounds import facts, new, run
from tests.live.sqlite_files import change, keep, url_of

import mobai
from mobai import Experiment, InputError, StorageError
from mobai.live import copies
from mobai.live.copies import backup, copy, restore
from mobai.live.storage import open_journal
from mobai.service.tokens import Tokens, create_token
from mobai.store.sql import SqlJournal


def test_backup_while_others_write_and_restore(path: Path, tmp_path: Path) -> None:
    test = new(url_of(path))
    run(test, 5)
    saved = tmp_path / "saved.db"
    assert backup(path, saved) == 1
    assert saved.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in saved.parent.glob("saved.db*")] == ["saved.db"]
    before = facts(test)
    with pytest.raises(InputError, match="there is something at"):
        backup(path, saved)
    run(test, 5)
    with pytest.raises(InputError, match="it has 1 experiment already; replace=True"):
        restore(saved, url_of(path))
    assert restore(saved, url_of(path), replace=True) == 1
    with pytest.raises(StorageError, match=r"restored from a backup|not the one|replaced"):
        test.ask()
    again = Experiment.load(path, "test")
    assert facts(again) == before
    run(again, 3)
    assert again.verify().intact


def test_a_damaged_backup_is_not_restored(path: Path, tmp_path: Path) -> None:
    test, saved = new(url_of(path)), tmp_path / "saved.db"
    run(test, 5)
    backup(path, saved)
    change(saved, "UPDATE mobai_events SET at = 0.0 WHERE seq = 2")
    with pytest.raises(StorageError, match="is not intact, nothing was restored"):
        restore(saved, url_of(path), replace=True)
    run(test, 1)


def test_between_storages(storage: str, tmp_path: Path) -> None:
    """To a file and back, with the chain; a backup of any storage is a file."""
    test = new(storage)
    run(test, 5)
    copy(storage, "test", tmp_path / "copy.db")
    copied = Experiment.load(tmp_path / "copy.db", "test")
    assert copied.history() == test.history()
    assert facts(copied) == facts(test)
    with pytest.raises(InputError, match="there is an experiment 'test' already"):
        copy(storage, "test", tmp_path / "copy.db")
    assert backup(storage, tmp_path / "all.db") == 1
    mobai.delete(storage, "test")
    assert restore(tmp_path / "all.db", storage) == 1
    back = Experiment.load(storage, "test")
    assert back.history() == copied.history()
    with pytest.raises((StorageError, InputError)):
        test.ask()


def test_restoring_is_one_transaction(storage: str, tmp_path: Path) -> None:
    """Somebody who is in the middle of it sees all of before or all of after; one that fails changes nothing."""
    for name in ("x", "y"):
        run(new(storage, name), 3)
    backup(storage, tmp_path / "saved.db")
    held = Experiment.load(storage, "x")
    run(held, 3)
    before, events = facts(held), held.history()

    def failing() -> Any:
        yield "x", iter(events)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_journal(storage).replace_all(failing())
    assert facts(Experiment.load(storage, "x")) == before
    assert mobai.experiment_names(storage) == ["x", "y"]
    restore(tmp_path / "saved.db", storage, replace=True)
    for _ in range(2):
        with pytest.raises(StorageError, match="was restored from a backup"):
            held.ask()
    assert Experiment.load(storage, "x").status().verdict.pulls == 3


def test_a_damaged_storage_is_not_backed_up(path: Path, tmp_path: Path) -> None:
    run(new(url_of(path)), 5)
    change(path, "UPDATE mobai_events SET at = at + 1 WHERE seq = 3")
    with pytest.raises(StorageError, match="event 3 is damaged"):
        backup(path, tmp_path / "saved.db")
    assert not (tmp_path / "saved.db").exists()


@pytest.mark.parametrize("content", [b"", b"garbage" * 1000])
def test_what_is_no_backup_is_named(path: Path, tmp_path: Path, content: bytes) -> None:
    bad = tmp_path / "bad.db"
    bad.write_bytes(content)
    with pytest.raises((InputError, StorageError), match=r"bad\.db") as found:
        restore(bad, url_of(path))
    assert "\n" not in str(found.value)
    assert [one.name for one in tmp_path.glob("bad*")] == ["bad.db"]


def test_copying_nothing_makes_nothing(path: Path, tmp_path: Path) -> None:
    new(url_of(path))
    with pytest.raises(InputError, match="there is no experiment 'nope'"):
        copy(path, "nope", tmp_path / "other.db")
    assert not (tmp_path / "other.db").exists()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="there is something at"):
        backup(path, tmp_path / "link")


@pytest.mark.parametrize("mode", ["", "?mode=ro"])
def test_through_a_link(path: Path, tmp_path: Path, mode: str) -> None:
    """The log is beside the file, not beside a link to it: what is only there is copied, too."""
    test, link = new(url_of(path)), tmp_path / "elsewhere" / "link.db"
    link.parent.mkdir()
    link.symlink_to(path)
    run(test, 15)
    address = url_of(link) + mode
    assert facts(Experiment.load(address, "test")) == facts(test)
    backup(address, tmp_path / "saved.db")
    restore(tmp_path / "saved.db", url_of(tmp_path / "back.db"))
    assert Experiment.load(tmp_path / "back.db", "test").history() == test.history()
    (tmp_path / "saved-link.db").symlink_to(path)
    restore(tmp_path / "saved-link.db", url_of(tmp_path / "again.db"))
    assert Experiment.load(tmp_path / "again.db", "test").history() == test.history()


def test_a_copy_that_lacks_something_is_no_backup(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test = new(url_of(path))
    run(test, 5)
    keep(path, tmp_path / "old.db")
    run(test, 5)
    monkeypatch.setattr(copies, "_copy_file", lambda source, target: shutil.copy(tmp_path / "old.db", target))
    with pytest.raises(StorageError, match="not the one this process has read"):
        backup(path, tmp_path / "saved.db")
    assert not (tmp_path / "saved.db").exists()


def test_a_backup_holds_no_secrets(path: Path, tmp_path: Path) -> None:
    """Of tokens only that there were some: a copy that is served is closed, and no token of before opens it."""
    journal = SqlJournal(url_of(path))
    run(new(journal), 3)
    secret = create_token(journal, "ci", "admin")
    journal.put_record("webhook", "w", {"secret": "whsec_abc"})
    backup(path, tmp_path / "saved.db")
    saved = SqlJournal(url_of(tmp_path / "saved.db"))
    assert (saved.damage(), saved.records("webhook")) == ([], {})
    assert b"whsec" not in (tmp_path / "saved.db").read_bytes()
    tokens = Tokens(lambda: saved)
    tokens.refresh()
    assert (tokens.any, tokens.check(secret)) == (True, None)
