"""Streams: what watchers are sent, and when."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.service.serving import API, Client, running

from mobai import Experiment, delete


@contextmanager
def watching(client: Client, **headers: str) -> Iterator[Iterator[dict[str, str]]]:
    """Open a stream, and read event by event."""
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    connection.request("GET", f"{API}/spring/stream", headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")

    def events() -> Iterator[dict[str, str]]:
        found: dict[str, str] = {}
        while line := answer.readline().decode():
            if line == "\n":
                if "data" in found:
                    yield found
                found = {}
            else:
                name, _, value = line.rstrip("\n").partition(": ")
                found[name] = value

    try:
        yield events()
    finally:
        connection.close()


def test_updates_come_soon_and_are_resumed(client: Client, tmp_path: Path) -> None:
    client.create()
    with watching(client) as events:
        first = next(events)
        assert (first["id"].split("-")[0], first["event"]) == ("1", "status")
        start = time.monotonic()
        client("POST", f"{API}/spring/assignments")
        second = next(events)
        assert time.monotonic() - start < 2.0
        assert (second["id"].split("-")[0], json.loads(second["data"])["pending"]) == ("2", 1)
        Experiment.load(f"sqlite:///{tmp_path / 'test.db'}", "spring").ask()  # another process
        third = next(events)
        assert json.loads(third["data"])["pending"] == 2
    with watching(client, Last_Event_ID=third["id"]) as events:
        client("POST", f"{API}/spring/assignments")
        assert next(events)["id"].startswith("4-")
    with watching(client, Last_Event_ID=second["id"]) as events:
        assert next(events)["id"].startswith("4-")


def test_at_most_two_a_second(client: Client) -> None:
    client.create()
    with watching(client) as events:
        start = time.monotonic()
        seen = 0
        while time.monotonic() - start < 2.5:
            client("POST", f"{API}/spring/assignments")
            update = next(events)
            seen += 1
        assert 3 <= seen <= 7
        assert int(update["id"].split("-")[0]) == client("GET", f"{API}/spring").json["events"]


def test_all_watchers_are_sent_the_same(client: Client) -> None:
    client.create()
    with watching(client) as one, watching(client) as two:
        assert next(one) == next(two)
        client("POST", f"{API}/spring/assignments")
        assert next(one) == next(two)
        assert "mobai_open_streams 2" in client("GET", "/metrics").data.decode()


def test_streams_end_with_a_word(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    with running(address) as (client, _):
        client.create()
        with watching(client) as events:
            next(events)
            delete(address, "spring")
            assert next(events) == {"event": "bye", "data": "the experiment was deleted"}
        client.create()
        with watching(client) as events:
            next(events)
            assert client("DELETE", f"{API}/spring").code == 204
            client.create()
            assert next(events)["data"].startswith("the experiment was deleted")
        with watching(client) as events:
            next(events)
            client("POST", f"{API}/spring/close")
            assert json.loads(next(events)["data"])["state"] == "closed"
            assert next(events) == {"event": "bye", "data": "the experiment is closed"}
        stamp = client("GET", f"{API}/spring").json["stamp"]
        with watching(client, Last_Event_ID=stamp) as events:
            assert next(events) == {"event": "bye", "data": "the experiment is closed"}
        client("DELETE", f"{API}/spring")
        client.create()
        ending: Any = watching(client)
        events = ending.__enter__()
        next(events)
    assert next(events) == {"event": "bye", "data": "the service is shutting down"}
    ending.__exit__(None, None, None)


def test_no_stream_of_what_is_not_there(client: Client) -> None:
    assert client("GET", f"{API}/nothing/stream").code == 404
