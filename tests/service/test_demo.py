"""The demonstration: visitors come, whatever is done to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlencode

from tests.service.serving import API, Client


def start(client: Client) -> str:
    answer = client("POST", "/demo", urlencode({}).encode(), Content_Type="application/x-www-form-urlencoded")
    assert answer.code == 303
    return answer.headers["location"]


def pulls(client: Client, name: str = "demo") -> int:
    return int(client("GET", f"{API}/{name}").json["pulls"])


def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_visitors_come_again_after_everything_that_is_done_to_it(client: Client) -> None:
    assert start(client) == start(client) == "/e/demo"
    until(lambda: pulls(client) > 30)
    # A pause keeps them away for a while.
    assert client("POST", f"{API}/demo/pause").code == 204
    time.sleep(0.5)
    before = pulls(client)
    time.sleep(0.6)
    assert pulls(client) == before
    assert client("POST", f"{API}/demo/resume").code == 204
    until(lambda: pulls(client) > before + 30)
    # An arm that nobody knows gets visitors, too.
    assert client("POST", f"{API}/demo/arms", {"arm": "new"}).code == 204
    until(lambda: {arm["arm"]: arm["answered"] for arm in client("GET", f"{API}/demo").json["arms"]}["new"] > 0)
    # One that is gone or closed makes room for another.
    assert client("DELETE", f"{API}/demo").code == 204
    assert start(client) == "/e/demo"
    until(lambda: pulls(client) > 0)
    assert client("POST", f"{API}/demo/close").code == 204
    assert start(client) == "/e/demo%202"
    until(lambda: pulls(client, "demo%202") > 0)


def test_a_name_that_something_else_has(client: Client) -> None:
    client.create(name="demo")
    assert start(client) == "/e/demo%202"
