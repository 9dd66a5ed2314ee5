"""The conformance suite of journals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mobai.errors import InputError, StorageError
from mobai.store.journal import Event, Handle, Journal, Snapshot, sealed


def check_journal(make: Callable[[], Journal]) -> None:
    """Run a journal through what every journal must satisfy; raises AssertionError with the reason otherwise.

    ``make`` opens the same, at first empty, storage each time it is called. Events come back as they were appended, in
    order, each with its hash; a reader who knows another history is told so; what is appended in a block that raises
    is gone; numbers are never skipped or used twice; names are kept apart; snapshots are replaced; what is deleted is
    gone, and its handle reaches no other experiment.
    """
    journal = make()
    assert journal.names() == [], "a new storage must have no experiments"
    one = _keeps_events(journal, make)
    _compares_histories(journal, one)
    _undoes_what_fails(journal, one)
    _refuses_gaps(journal, one)
    two = _keeps_names_apart(journal, one)
    _keeps_snapshots(journal, make, one, two)
    _locks_several(journal, one, two)
    _keeps_records(journal, make)
    _forgets_what_is_deleted(journal, one)
    journal.close()


def _event(seq: int, **body: object) -> Event:
    return Event(seq, "told" if seq > 1 else "created", 1000.0 + seq / 7, dict(body))


def _raises(kind: type[Exception], action: Callable[[], object]) -> bool:
    try:
        action()
    except kind:
        return True
    return False


def _append(journal: Journal, handle: Handle, *events: Event) -> None:
    with journal.lock(handle) as log:
        for event in events:
            log.append(event)


def _keeps_events(journal: Journal, make: Callable[[], Journal]) -> Handle:
    first = sealed(_event(1, text="é \u2028 \x07", number=0.1 + 0.2, nothing=None), "")
    second = sealed(_event(2, list=[1, [2.5e-308, 3]]), first.hash)
    third = sealed(_event(3), second.hash)
    fourth = sealed(_event(4), third.hash)
    one, other = journal.create("one", first._replace(hash="")), make()
    assert journal.find("one") == one == other.find("one"), "find must give the handle that create gave"
    _append(journal, one, second._replace(hash=""), third)
    assert list(journal.read(one)) == [first, second, third], "events must come back as they were appended"
    assert list(journal.read(one, 2)) == [third], "read must leave out events up to the one named"
    assert list(journal.read(one, 1, 1)) == [second], "read must give at most as many events as asked for"
    with journal.lock(one) as log:
        assert list(log.after(1)) == [second, third], "a lock must see what was appended before"
        assert log.append(_event(4)) == fourth, "append must return the event with its hash"
        assert list(log.after(3)) == [fourth], "a lock must see what was appended in it"
    assert list(other.read(one, 3)) == [fourth], "another opening must see what was appended"
    return one


def _compares_histories(journal: Journal, one: Handle) -> None:
    """Four events are there."""
    head = journal.read(one)[2].hash
    assert len(journal.read(one, 3, head=head)) == 1, "a reader who knows the last event must be given the next"

    def lock(seq: int, head: str) -> None:
        with journal.lock(one) as log:
            log.after(seq, head)

    lock(3, head)
    for seq, known in ((3, "0" * 64), (2, head), (7, head)):
        read = partial(journal.read, one, seq, head=known)
        assert _raises(StorageError, read), "read must compare hashes"
        assert _raises(StorageError, partial(lock, seq, known)), "a lock must compare hashes"
    wrong = _event(5)._replace(hash=head)
    assert _raises(StorageError, lambda: _append(journal, one, wrong)), "an event of another history must be refused"


def _undoes_what_fails(journal: Journal, one: Handle) -> None:
    def fail() -> None:
        with journal.lock(one) as log:
            log.append(_event(5))
            raise LookupError

    assert _raises(LookupError, fail), "an exception must pass through a lock"
    assert len(journal.read(one)) == 4, "what was appended in a block that raised must be gone"
    _append(journal, one, _event(5))


def _refuses_gaps(journal: Journal, one: Handle) -> None:
    assert _raises(StorageError, lambda: _append(journal, one, _event(5))), "a number must not be used twice"
    assert _raises(StorageError, lambda: _append(journal, one, _event(9))), "a number must not be skipped"
    assert len(journal.read(one)) == 5, "a refused event must change nothing"


def _keeps_names_apart(journal: Journal, one: Handle) -> Handle:
    two = journal.create("two", _event(1, other=True))
    assert _raises(InputError, lambda: journal.create("one", _event(1))), "a name must not be used twice"
    assert journal.names() == ["one", "two"], "names must come in the order of creation"
    assert (len(journal.read(one)), len(journal.read(two))) == (5, 1), "experiments must not mix"
    for action in (lambda: journal.find("no"), lambda: journal.delete("no")):
        assert _raises(InputError, action), "a name that is not there must be refused"
    return two


def _keeps_snapshots(journal: Journal, make: Callable[[], Journal], one: Handle, two: Handle) -> None:
    assert journal.snapshot(one) is None, "there must be no snapshot at first"
    for snapshot in (Snapshot(3, b"\x00old"), Snapshot(5, b"new\xff")):
        journal.save_snapshot(one, snapshot)
    assert make().snapshot(one) == Snapshot(5, b"new\xff"), "the last snapshot must replace earlier ones"
    assert journal.snapshot(two) is None, "snapshots must not mix"


def _forgets_what_is_deleted(journal: Journal, one: Handle) -> None:
    uses: tuple[Callable[[], object], ...] = (
        lambda: journal.read(one),
        lambda: journal.snapshot(one),
        lambda: journal.save_snapshot(one, Snapshot(5, b"")),
        lambda: _append(journal, one, _event(6)),
    )
    journal.delete("one")
    assert journal.names() == ["two"], "a deleted experiment must be gone"
    assert all(_raises(InputError, use) for use in uses), "the handle of a deleted experiment must be refused"
    new = journal.create("one", _event(1))
    assert all(_raises(StorageError, use) for use in uses), "a handle must not reach another experiment of its name"
    assert journal.snapshot(new) is None, "a deleted experiment's snapshot must be gone"
    assert len(journal.read(new)) == 1, "a deleted experiment's events must be gone"


def _locks_several(journal: Journal, one: Handle, two: Handle) -> None:
    ends = [len(journal.read(handle)) for handle in (two, one)]

    def append(*, fail: bool) -> None:
        with journal.lock_several([two, one]) as logs:
            for log, end in zip(logs, ends, strict=True):
                log.append(_event(end + 1))
            if fail:
                raise LookupError

    assert _raises(LookupError, lambda: append(fail=True)), "an exception must pass through a lock"
    kept = [len(journal.read(handle)) for handle in (two, one)]
    assert kept == ends, "what was appended to several in a block that raised must be gone"
    append(fail=False)
    kept = [len(journal.read(handle)) for handle in (two, one)]
    assert kept == [end + 1 for end in ends], "what was appended to several must be there"


def _keeps_records(journal: Journal, make: Callable[[], Journal]) -> None:
    assert journal.records("token") == {}, "a new storage must have no records"
    assert journal.put_record("token", "b", {"n": 1}), "a record must be kept"
    assert journal.put_record("token", "a", {"n": 2}, was=None), "a record that was not there must be kept"
    assert not journal.put_record("token", "a", {"n": 3}, was={"n": 1}), "a record must be as it was said to be"
    assert make().records("token") == {"a": {"n": 2}, "b": {"n": 1}}, "another opening must see the records"
    assert journal.put_record("token", "a", {"n": 3}, was={"n": 2}), "a record must be replaced"
    assert journal.put_record("token", "b", None), "a record must be removed"
    assert journal.records("token") == {"a": {"n": 3}}, "a removed record must be gone"
    assert journal.records("webhook") == {}, "kinds of records must be kept apart"
