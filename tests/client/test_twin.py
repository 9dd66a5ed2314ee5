"""The remote twin beside the local experiment: random calls, and what a network can do to them."""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.service.serving import running

from mobai import ConflictError, Experiment, InputError, NotFoundError, StorageError, backup, delete, restore
from mobai.client import http as module
from mobai.errors import HistoryChangedError
from mobai.store.journal import MemoryJournal
from mobai.testing.experiment import _facts

ARMS, OBJECTIVES = ["A", "B", "C"], ["click:bernoulli", "seconds:min:unknown-variance"]
CLICKS = st.sampled_from([0, 1, 0.5, None, True, math.nan, "1", np.float64(1), 10**400])
SECONDS = st.sampled_from([1.5, 2.0, 1e300, math.inf, None, Decimal("1.5"), np.float32(2.5), [1], 3])
METRICS: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({}, optional={"click": CLICKS, "seconds": SECONDS, "nothing": CLICKS}),
    st.sampled_from([None, [], "x", {3: 1}]),
)
IDS = st.one_of(st.integers(-1, 12), st.sampled_from([True, 1.5, "1", None, 10**30]))
NAMES = st.sampled_from(["A", "B", "D", "", " x", 5, "ä/ %"])
BY = st.sampled_from([None, "me", "", 3, "x" * 201])


class Twins(RuleBasedStateMachine):
    """Whatever is called, both do the same: the same answer, or the same refusal with the same words."""

    @initialize()
    def begin(self) -> None:
        self.serving = running(MemoryJournal())
        self.address = self.serving.__enter__()[0].address
        places = (self.address, MemoryJournal())
        self.both = [Experiment.create(place, "x", ARMS, OBJECTIVES, max_samples=60) for place in places]

    def teardown(self) -> None:
        if hasattr(self, "serving"):
            self.serving.__exit__(None, None, None)

    def same(self, action: Callable[[Experiment], Any]) -> None:
        remote, local = (outcome(action, test) for test in self.both)
        assert remote == local

    @rule(n=st.sampled_from([0, 1, 2, 7, "2", True]), by=BY)
    def ask(self, n: Any, by: Any) -> None:
        self.same(lambda test: test.ask(n, by=by))

    @rule(
        unit=st.sampled_from(["u", "v/é", "", "x" * 201]), how=st.sampled_from(["go-on", "stop", "winner=click", "?"])
    )
    def ask_for(self, unit: str, how: str) -> None:
        self.same(lambda test: test.ask(unit=unit, if_decided=how))

    @rule(number=IDS)
    def tell_of(self, number: Any) -> None:
        self.same(lambda test: test.tell_all([(number, {"click": 1})]))

    @rule(place=st.integers(0, 100), metrics=METRICS)
    def tell(self, place: int, metrics: Any) -> None:
        count = len(self.both[1].records())
        if count:
            self.same(lambda test: test.tell_all([(1 + place % count, metrics)]))

    @rule(
        numbers=st.lists(st.integers(1, 12), max_size=4), click=st.sampled_from([0, 1]), ask=st.sampled_from([0, 1, 2])
    )
    def tell_many(self, numbers: list[int], click: int, ask: int) -> None:
        self.same(lambda test: test.tell_all([(n, {"click": click, "seconds": 1.0 + n % 3}) for n in numbers], ask=ask))

    @rule(arm=NAMES, metrics=METRICS)
    def record(self, arm: Any, metrics: Any) -> None:
        self.same(lambda test: test.record_all([(arm, metrics)]))

    @rule(number=IDS)
    def drop(self, number: Any) -> None:
        self.same(lambda test: test.drop(number))

    @rule(arm=st.sampled_from(["A", "B", "D", " x"]))
    def add_or_retire(self, arm: str) -> None:
        self.same(lambda test: test.add_arm(arm))
        self.same(lambda test: test.retire_arm("A"))

    @rule(what=st.sampled_from(["pause", "resume", "resume"]), by=BY)
    def administer(self, what: str, by: Any) -> None:
        self.same(lambda test: getattr(test, what)(by=by))

    @invariant()
    def agree(self) -> None:
        if hasattr(self, "both"):
            assert _facts(self.both[0]) == _facts(self.both[1])


def outcome(action: Callable[[Experiment], Any], test: Experiment) -> Any:
    try:
        return action(test)
    except InputError as error:
        return type(error).__name__, str(error)


Twins.TestCase.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
test_twins_do_the_same = Twins.TestCase


@contextmanager
def proxy(port: int, spoil: Callable[[int, bytes], bytes]) -> Iterator[str]:
    """Stand between client and service: pass one request per connection on, and spoil the n-th answer."""
    server, count = socket.create_server(("127.0.0.1", 0)), [0]

    def serve() -> None:
        while True:
            try:
                near, _ = server.accept()
            except OSError:
                return
            with near:
                request = receive(near)
                if not request:
                    continue
                with socket.create_connection(("127.0.0.1", port)) as far:
                    far.sendall(request)
                    answer = receive(far)
                count[0] += 1
                near.sendall(spoil(count[0], answer.replace(b"HTTP/1.1 ", b"HTTP/1.0 ", 1)))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}"
    server.close()


def receive(plain: socket.socket) -> bytes:
    """Read a request or an answer with a length."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = plain.recv(65536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    while lengths and len(body) < lengths[0]:
        part = plain.recv(65536)
        body += part
        data += part
        if not part:
            break
    return data


@pytest.mark.parametrize(
    "spoil",
    [
        lambda n, answer: b"" if n % 2 else answer,  # cut off
        lambda n, answer: answer[: len(answer) // 2] if n % 2 else answer,
        lambda n, answer: b"nonsense\r\n\r\n" if n % 2 else answer,
        lambda n, answer: b"HTTP/1.0 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno" if n % 3 else answer,
    ],
)
def test_replies_that_are_lost_double_nothing(tmp_path: Path, spoil: Callable[[int, bytes], bytes]) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _), proxy(client.port, spoil) as address:
        test = Experiment.create(address, "x", ARMS, OBJECTIVES)
        (one,) = test.ask()
        test.tell(one, {"click": 1, "seconds": 2.0})
        two, three = test.tell_all([], ask=2)
        test.record("B", {"click": 0})
        test.drop(two)
        test.add_arm("D")
        test.retire_arm("C")
        test.pause()
        test.close()
        kinds = [event.kind for event in test.history()]
        assert kinds == [
            "created",
            "asked",
            "told",
            "asked",
            "recorded",
            "dropped",
            "arm_added",
            "arm_retired",
            "paused",
            "closed",
        ]
        assert test.status().pending == 1
        assert three.id == 3
        delete(address, "x")
        with pytest.raises(NotFoundError):
            test.status()


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"assignments": [[]]}', b"null", b"<html>", b'{"assignments": 1}'])
def test_answers_of_something_else(tmp_path: Path, body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.5)
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        Experiment.create(client.address, "x", ARMS, OBJECTIVES)
        whole: Any = Experiment.load(client.address, "x")
        reply = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        with proxy(client.port, lambda _, __: reply) as address:
            with pytest.raises(StorageError, match="did not answer"):
                Experiment.load(address, "x").status()
            whole._client = module.HttpClient(address)
            calls: list[Callable[[], Any]] = [whole.ask, whole.status, whole.series, whole.explain, whole.verdict]
            for call in calls:
                with pytest.raises(StorageError, match="did not answer"):
                    call()


def test_an_experiment_that_was_deleted_and_created_anew(storage: str, tmp_path: Path) -> None:
    with running(storage) as (client, _):
        test = Experiment.create(client.address, "x", ARMS, OBJECTIVES)
        backup(storage, tmp_path / "kept.db")
        test.ask()
        delete(client.address, "x")
        again = Experiment.create(client.address, "x", ARMS, OBJECTIVES)
        again.ask(3)
        calls: list[Callable[[], Any]] = [test.ask, test.status, test.close, test.records]
        calls += [partial(test.tell, 1, {"click": 1}), test.history, test.verify, test.replay, test.events]
        for call in calls:
            with pytest.raises(HistoryChangedError, match="deleted and created anew"):
                call()
        assert again.status().rewards.sum() == 0
        restore(tmp_path / "kept.db", storage, replace=True)
        with pytest.raises(HistoryChangedError):
            again.ask()
        assert Experiment.load(client.address, "x").ask()[0].id == 1


def test_large_asks_are_split(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        test = Experiment.create(client.address, "x", ARMS, OBJECTIVES)
        first = test.ask(2500, key="k")
        assert [one.id for one in first] == list(range(1, 2501))
        assert test.ask(2500, key="k") == first
        assert test.record_all([]) == []


def test_who_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS_AT_FIRST", 0.3)
    with pytest.raises(StorageError, match=r"http://127\.0\.0\.1:9: .*[Rr]efused"):
        Experiment.load("http://127.0.0.1:9", "x")
    with running(f"sqlite:///{tmp_path / 'x.db'}", open_without_token=False) as (client, _):
        with pytest.raises(InputError, match="token: a token is needed; give token=, or MOBAI_TOKEN"):
            Experiment.load(client.address, "x")
        with pytest.raises(InputError, match="token: the token is not valid"):
            Experiment.load(client.address.replace("http", "HTTP"), "x", token="mobai_wrong")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://", "storage must be http://HOST:PORT"),
        ("http://u:p@127.0.0.1", "a token is given apart from it"),
        ("http://127.0.0.1:99999", "the port must be a number up to 65535"),
        ("http://127.0.0.1?x=1", "storage must be http://HOST:PORT"),
    ],
)
def test_addresses(address: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        Experiment.load(address, "x")


def test_tokens_are_for_services(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="token: only a service"):
        Experiment.load(f"sqlite:///{tmp_path / 'x.db'}", "x", token="t")
    with pytest.raises(InputError, match="token must be the text"):
        Experiment.load("http://127.0.0.1:1", "x", token="a b")


def test_names_that_are_none(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        for name in (5, None, ""):
            with pytest.raises(NotFoundError):
                Experiment.load(client.address, name)  # type: ignore[arg-type]
        Experiment.create(client.address, "x", ARMS, OBJECTIVES)
        with pytest.raises(ConflictError, match="there is an experiment 'x' already"):
            Experiment.create(client.address, "x", ARMS, OBJECTIVES)
