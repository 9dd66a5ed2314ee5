"""Webhooks: signed, at least once, with the same id after a restart, and only to where they may go."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.service.receiving import Receiver
from tests.service.serving import API, running

from mobai import ConflictError, Experiment, NotFoundError, backup, restore, views
from mobai.live.storage import open_journal
from mobai.service import webhooks
from mobai.service.experiments import OpenExperiments
from mobai.service.webhooks import Webhooks


def decide(test: Experiment) -> None:
    """Let one arm win everything."""
    while not test.verdict().stopped:
        test.tell_all([(one, {"click": float(one.arm == "B")}) for one in test.ask(4)])


def new(address: str, name: str = "spring") -> Experiment:
    return Experiment.create(address, name, ["A", "B"], ["click:bernoulli"])


def test_messages_are_signed_and_sent_until_they_are_taken(tmp_path: Path, receiver: Receiver) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = new(address)
    receiver.codes = [500, 302, 500, 204]
    with running(address, private_webhooks=True) as (client, _):
        made = client(
            "POST", "/api/v1/webhooks", {"name": "w", "url": receiver.url, "events": ["decided"], "private": True}
        )
        assert made.code == 201
        decide(test)
        receiver.wait_for(4)
    headers, body = receiver.taken[0]
    message = json.loads(body)
    decision = test.verdict().decisions[0]
    assert decision is not None
    assert (message["type"], message["data"]["experiment"]) == ("experiment.decided", "spring")
    assert message["data"]["arm"] == "B"
    assert message["data"]["text"] == f"spring: click: decided for B, at pull {decision.pull}"
    assert len({one[0]["webhook-id"] for one in receiver.taken}) == 1
    assert len(receiver.taken) == 4
    key = base64.b64decode(made.json["secret"].removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 60


def test_the_same_id_after_a_restart(tmp_path: Path, receiver: Receiver) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = new(address)
    hooks = Webhooks(OpenExperiments(address))
    hooks.add("w", receiver.url, private=True)
    decide(test)
    receiver.codes = [500] * 1000
    for _ in range(2):
        before = len(receiver.taken)
        with running(address, private_webhooks=True):
            receiver.wait_for(before + 2)
    receiver.codes = []
    before = len(receiver.taken)
    with running(address, private_webhooks=True):
        receiver.wait_for(before + 2)
        time.sleep(0.5)
    ids = [headers["webhook-id"] for headers, _ in receiver.taken]
    assert len(set(ids)) == 2  # decided, stopped
    assert len(receiver.taken) == before + 2
    with running(address, private_webhooks=True):
        time.sleep(0.6)
    assert len(receiver.taken) == before + 2


def test_the_same_id_after_a_restore(tmp_path: Path, receiver: Receiver) -> None:
    """Restored experiments have other numbers; nothing is sent again, under whatever id."""
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = new(address)
    Webhooks(OpenExperiments(address)).add("w", receiver.url, private=True)
    decide(test)
    with running(address, private_webhooks=True):
        receiver.wait_for(2)
    backup(address, tmp_path / "kept.db")
    restore(tmp_path / "kept.db", address, replace=True)
    with running(address, private_webhooks=True):
        time.sleep(1.5)
        Experiment.load(address, "spring").pause()
        receiver.wait_for(3)
    assert [json.loads(body)["type"] for _, body in receiver.taken] == [
        "experiment.decided",
        "experiment.stopped",
        "experiment.paused",
    ]


def test_what_an_earlier_version_has_sent_is_not_sent_again(tmp_path: Path, receiver: Receiver) -> None:
    """Version 0.2 told experiments apart by their numbers."""
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = new(address)
    hooks = Webhooks(OpenExperiments(address))
    hooks.add("w", receiver.url, private=True)
    decide(test)
    status, journal = test.status(), open_journal(address)
    about = f"{test.name}\n{test.number}\n{status.created_at!r}"
    marks = [one["mark"] for one in views.notifications_json(status)]
    ids = ["msg_" + hashlib.sha256(f"{about}\n{mark}".encode()).hexdigest()[:32] for mark in marks]
    for key in journal.records(webhooks.DELIVERED):
        journal.put_record(webhooks.DELIVERED, key, None)
    waiting = {"id": ids[1], "kind": "stopped", "text": "spring: stopped", "at": None, "experiment": "spring"}
    kept = {"ids": ids[:1], "waiting": [waiting]}
    journal.put_record(webhooks.DELIVERED, json.dumps(["w", "spring", test.number]), kept)
    with running(address, private_webhooks=True):
        receiver.wait_for(1)
        time.sleep(1.5)
    assert [headers["webhook-id"] for headers, _ in receiver.taken] == ids[1:]


def test_two_services_send_once(tmp_path: Path, receiver: Receiver) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = new(address)
    Webhooks(OpenExperiments(address)).add("w", receiver.url, events=["stopped"], private=True)
    with running(address, private_webhooks=True), running(address, private_webhooks=True):
        decide(test)
        receiver.wait_for(1)
        time.sleep(1.0)
    assert len(receiver.taken) == 1


def test_only_what_happens_from_now_on_and_to_some(tmp_path: Path, receiver: Receiver) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    before, other, later = new(address, "a before"), new(address, "b other"), new(address, "a later")
    decide(before)
    hooks = Webhooks(OpenExperiments(address))
    hooks.add("w", receiver.url, only="a*", format="slack", private=True)
    with running(address, private_webhooks=True):
        other.pause()
        later.pause()
        receiver.wait_for(1)
        time.sleep(0.5)
        later.resume()
        later.close()
        receiver.wait_for(2)
        time.sleep(0.5)
    assert [json.loads(body) for _, body in receiver.taken] == [
        {"text": "a later: it is paused"},
        {"text": "a later: it is closed"},
    ]


def test_every_pause_is_told(tmp_path: Path, receiver: Receiver) -> None:
    """However short it was, and also if nobody was there to notice."""
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = new(address)
    Webhooks(OpenExperiments(address)).add("w", receiver.url, events=["paused"], private=True)
    test.pause()
    test.resume()
    with running(address, private_webhooks=True):
        for _ in range(2):
            test.pause()
            test.resume()
        receiver.wait_for(3)
        time.sleep(0.5)
    assert len({headers["webhook-id"] for headers, _ in receiver.taken}) == len(receiver.taken) == 3


def test_adding_a_name_that_is_taken_changes_nothing(tmp_path: Path, receiver: Receiver) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test, hooks = new(address), Webhooks(OpenExperiments(address))
    hooks.add("w", receiver.url, events=["paused"], private=True)
    test.pause()
    with pytest.raises(ConflictError, match="there is a webhook 'w' already"):
        hooks.add("w", receiver.url, private=True)
    with running(address, private_webhooks=True):
        receiver.wait_for(1)
    assert json.loads(receiver.taken[0][1])["type"] == "experiment.paused"


def test_both_must_allow_private_addresses(tmp_path: Path, receiver: Receiver) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test = new(address)
    hooks = Webhooks(OpenExperiments(address))
    hooks.add("by name", receiver.url.replace("127.0.0.1", "localhost"))
    hooks.add("allowed", receiver.url, private=True)
    with running(address) as (client, _):
        test.pause()
        time.sleep(1.5)
        rows = client("GET", "/api/v1/webhooks").json["webhooks"]
        assert ["private address" in row["last"] for row in rows] == [True, True]
        made = client("POST", "/api/v1/webhooks", {"name": "v", "url": receiver.url, "private": True})
        assert (made.code, "--private-webhooks" in made.json["detail"]) == (422, True)
    assert receiver.taken == []


def test_slack_is_given_no_markup(tmp_path: Path, receiver: Receiver) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    Webhooks(OpenExperiments(address)).add("w", receiver.url, format="slack", private=True)
    new(address, "<!channel> & <http://x|y>").pause()
    with running(address, private_webhooks=True):
        receiver.wait_for(1)
    assert json.loads(receiver.taken[0][1]) == {"text": "&lt;!channel&gt; &amp; &lt;http://x|y&gt;: it is paused"}


def test_a_slow_address_keeps_nobody_waiting(tmp_path: Path, receiver: Receiver) -> None:
    """And what was noticed is sent, also if it is no longer so."""
    address = f"sqlite:///{tmp_path / 'x.db'}"
    test, silent = new(address), socket.create_server(("127.0.0.1", 0))
    hooks = Webhooks(OpenExperiments(address))
    hooks.add("a slow one", f"http://127.0.0.1:{silent.getsockname()[1]}/", private=True)
    hooks.add("b quick one", receiver.url, private=True)
    receiver.codes = [500]
    start = time.monotonic()
    with running(address, private_webhooks=True):
        test.pause()
        receiver.wait_for(1)
        test.resume()
        receiver.wait_for(2)
        test.close()
        receiver.wait_for(3)
    assert time.monotonic() - start < 9
    assert [json.loads(body)["type"] for _, body in receiver.taken] == ["experiment.paused"] * 2 + ["experiment.closed"]
    silent.close()


def test_what_looks_wrong_and_who_is_barred(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    guardrails = ["errors:bernoulli:at-most=0.2:eps=0.1"]
    test = Experiment.create(address, "x", ["A", "B"], ["click:bernoulli"], guardrails=guardrails, max_samples=200)
    while test.status().ending is None:
        for one in test.ask(5):
            test.tell(one, {"click": one.id % 2, "errors": float(one.arm == "B")})
    kinds = [one["kind"] for one in webhooks._notifications(test)]
    assert "barred" in kinds
    assert kinds[-1] == "ended" or "decided" in kinds
    ids = [one["id"] for one in webhooks._notifications(test)]
    assert ids == [one["id"] for one in webhooks._notifications(Experiment.load(address, "x"))]
    assert len(set(ids)) == len(ids)


def test_webhooks_are_managed(tmp_path: Path, receiver: Receiver) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}", private_webhooks=True) as (client, _):
        path = "/api/v1/webhooks"
        assert client("POST", path, {"name": "w", "url": receiver.url, "only": "a*"}).code == 422
        assert client("POST", path, {"name": "w", "url": receiver.url, "only": "a*", "private": True}).code == 201
        assert client("POST", path, {"name": "w", "url": receiver.url, "private": True}).code == 409
        for change in ({"url": "ftp://x"}, {"url": "http://u:p@x/"}, {"events": ["x"]}, {"format": "x"}, {"name": " "}):
            assert client("POST", path, {"name": "v", "url": receiver.url, "private": True, **change}).code == 422
        (row,) = client("GET", path).json["webhooks"]
        assert row == {
            "name": "w",
            "host": "127.0.0.1",
            "only": "a*",
            "events": [],
            "format": "standard",
            "last": "nothing was sent yet",
        }
        assert client("POST", f"{path}/w/test").json == {"delivered": True, "detail": "127.0.0.1 answered 204"}
        assert json.loads(receiver.taken[0][1])["type"] == "experiment.test"
        assert client("POST", f"{path}/v/test").code == 404
        assert client("DELETE", f"{path}/w").code == 204
        assert client("DELETE", f"{path}/w").code == 404
        assert client("GET", API).code == 200


@pytest.mark.parametrize(
    ("action", "error"),
    [
        (lambda hooks: hooks.remove("x"), NotFoundError),
        (lambda hooks: hooks.try_out("x"), NotFoundError),
        (lambda hooks: [hooks.add("x", "https://example.org") for _ in range(2)], ConflictError),
    ],
)
def test_mistakes(tmp_path: Path, action: Callable[[Webhooks], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        action(Webhooks(OpenExperiments(f"sqlite:///{tmp_path / 'x.db'}")))
