"""Several operations in one transaction: one lock, one commit, an answer for each.

An operation that is refused fails alone. Where that cannot be, because it had begun to write or because one of several
experiments cannot be read, nothing of the transaction is kept, and they are carried out one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from mobai.errors import InputError
from mobai.live.ledger import Change, Ledger
from mobai.live.operations import Operation, settle_due

Request = tuple[Ledger, Operation[Any]]
Result = TypeVar("Result")


class _UndoneError(Exception):
    """Nothing of the transaction was kept."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def carry_out(ledger: Ledger, operation: Operation[Result]) -> Result:
    """Carry out one operation; raise what it raises."""
    (found,) = carry_out_all([(ledger, operation)])
    if isinstance(found, Exception):
        raise found
    result: Result = found
    return result


def carry_out_all(requests: Sequence[Request]) -> list[Any]:
    """Carry out operations on experiments of one journal, in order; return what each returns, or its exception.

    What cannot be done because of the storage is raised: nothing was written then, or, if that happened during the
    commit, all of it or nothing.
    """
    try:
        return _in_one_transaction(requests)
    except _UndoneError as undone:
        if len(requests) == 1:
            if isinstance(undone.error, InputError):
                return [undone.error]
            raise undone.error from undone.error.__cause__
    return [_alone(request) for request in requests]


def _alone(request: Request) -> Any:
    try:
        return carry_out_all([request])[0]
    except Exception as error:
        return error


def _in_one_transaction(requests: Sequence[Request]) -> list[Any]:
    ledgers = {id(ledger): ledger for ledger, _ in requests}
    results = []
    with _changing(list(ledgers.values())) as changes:
        change_of = dict(zip(ledgers, changes, strict=True))
        for ledger, operation in requests:
            results.append(_result_of(operation, change_of[id(ledger)]))
        return [
            found if isinstance(found, Exception) else operation.finish(change_of[id(ledger)], found)
            for (ledger, operation), found in zip(requests, results, strict=True)
        ]


def _result_of(operation: Operation[Any], change: Change) -> Any:
    written = change.written
    try:
        if not operation.even_closed:
            change.state.check_open()
        return operation.run(change)
    except InputError as error:
        if change.written > written:
            raise
        return error


@contextmanager
def _changing(ledgers: Sequence[Ledger]) -> Iterator[list[Change]]:
    """Lock experiments and catch up with others; what went wrong before the commit is an _UndoneError."""
    committing = False
    try:
        with ExitStack() as stack:
            # Always in the same order: two groups that wait for each other would wait for ever.
            for ledger in sorted(ledgers, key=lambda one: one.handle.number):
                stack.enter_context(ledger.writing(alone=len(ledgers) == 1))
            try:
                # While the journal is waited for, others may read.
                with ledgers[0].journal.lock_several([ledger.handle for ledger in ledgers]) as logs:
                    for ledger in sorted(ledgers, key=lambda one: one.handle.number):
                        stack.enter_context(ledger.in_turn(alone=len(ledgers) == 1))
                    states = [ledger.known() for ledger in ledgers]
                    for state, log in zip(states, logs, strict=True):
                        state.apply_all(log.after(state.seq, state.head))
                    changes = [Change(state, log) for state, log in zip(states, logs, strict=True)]
                    for change in changes:
                        settle_due(change)
                    yield changes
                    committing = True
            except BaseException:
                for ledger in ledgers:
                    ledger.forget()
                raise
            fresh = [ledger.due_snapshot(state) for ledger, state in zip(ledgers, states, strict=True)]
        for ledger, snapshot in zip(ledgers, fresh, strict=True):
            ledger.save(snapshot)
    except Exception as error:
        if committing:
            raise
        raise _UndoneError(error) from error
