"""Connections of whoever shows no token: few, bounded and short. Those who do show one are not held up."""

from __future__ import annotations

import http.client
import json
import socket
import time
from pathlib import Path

import pytest
from tests.service.serving import API, Client, running

from mobai.service import connections
from mobai.service.tokens import create_token
from mobai.store.sql import SqlJournal


def connect(port: int, sent: bytes = b"") -> socket.socket:
    plain = socket.create_connection(("127.0.0.1", port), timeout=20)
    plain.sendall(sent)
    return plain


def is_closed(plain: socket.socket, within: float) -> bool:
    plain.settimeout(within)
    try:
        while plain.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def hangs_up(plain: socket.socket, sent: bytes) -> bool:
    """Whether the other side hangs up on somebody who goes on sending."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            plain.sendall(sent)
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_headers_are_bounded_while_they_come(client: Client) -> None:
    with connect(client.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n") as plain:
        sent = 0
        try:
            while sent < 64 * 2**20:
                plain.sendall(b"X-%d: %s\r\n" % (sent, b"x" * 60_000))
                sent += 60_000
        except OSError:
            pass  # it hangs up
    assert sent < 8 * 2**20
    with connect(client.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 100_000) as plain:
        assert plain.recv(200).split()[1] == b"431"
    with connect(client.port, b"GET /" + b"x" * 100_000) as plain:
        assert plain.recv(200).split()[1] == b"431"


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: local", b"\r\n"])
def test_silent_and_slow_ones_are_closed(client: Client, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 0.5)
    with connect(client.port, sent) as plain:
        assert is_closed(plain, 5)


def test_dripping_ones_are_closed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 0.5)
    for drop in (b"\r\n", b"x"):
        first = b"" if drop == b"\r\n" else b"GET /healthz HTTP/1.1\r\nX: "
        with connect(client.port, first) as plain:
            assert hangs_up(plain, drop)


def test_the_second_request_has_no_more_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 0.5)
    with connect(client.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") as plain:
        assert plain.recv(4000).split()[1] == b"200"
        plain.sendall(b"GET /healthz HTTP/1.1\r\nX")
        assert is_closed(plain, 5)


def test_an_answer_that_nobody_reads(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SECONDS_FOR_HEADERS", 0.5)
    asked = b"GET /static/x/uPlot.iife.min.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
    plain = socket.socket()
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    plain.connect(("127.0.0.1", client.port))
    with plain:
        assert hangs_up(plain, asked)


def test_strangers_make_room(tmp_path: Path, journal: SqlJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest that say nothing are closed where one address has too many; whoever has shown a token stays."""
    monkeypatch.setattr(connections, "MOST_UNKNOWN_PER_ADDRESS", 20)
    monkeypatch.setattr(connections, "_SECONDS_TO_SPEAK", 0.1)
    secret = create_token(journal, "ci", "admin")
    head = {"Authorization": f"Bearer {secret}"}
    with running(f"sqlite:///{tmp_path / 'test.db'}") as (client, _):
        client.token = secret
        client.create()
        kept = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
        kept.request("GET", API, headers=head)
        assert kept.getresponse().read()
        place = kept.sock
        strangers = [connect(client.port) for _ in range(60)]
        time.sleep(2.5)
        closed = [is_closed(one, 0.01) for one in strangers]
        assert sum(closed) >= 40
        assert not any(closed[-15:])
        kept.request("GET", API, headers=head)
        assert json.loads(kept.getresponse().read())["total"] == 1
        assert kept.sock is place
        assert client("POST", f"{API}/spring/assignments").code == 200
        kept.close()
        for one in strangers:
            one.close()


def test_full_of_strangers(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no descriptor left for more, the oldest stranger goes."""
    found = connections.Connections(3)
    monkeypatch.setattr(connections.Connections, "_sweep", lambda self: None)

    class Transport:
        closed = False

        def abort(self) -> None:
            self.closed = True

    class Fake:
        def __init__(self, known: bool, is_idle: bool = True) -> None:
            self.known, self.address, self.is_idle = False, "x", is_idle
            self.transport, self.loop = Transport(), self
            found.add(self)  # type: ignore[arg-type]
            if known:
                found.know(self)  # type: ignore[arg-type]

        def call_later(self, *_: object) -> None:
            pass

    known, stranger, busy = Fake(True), Fake(False), Fake(True, is_idle=False)
    more = Fake(True)
    assert [one.transport.closed for one in (known, stranger, busy, more)] == [False, True, False, False]
    last = Fake(True, is_idle=False)
    assert [one.transport.closed for one in (known, busy, more, last)] == [True, False, False, False]


def test_bodies_are_read_after_the_token(tmp_path: Path, journal: SqlJournal) -> None:
    secret = create_token(journal, "ci", "admin")
    with running(f"sqlite:///{tmp_path / 'test.db'}") as (client, _):
        head = (
            f"POST {API} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n"
        )
        with connect(client.port, f"{head}\r\n".encode()) as plain:
            assert plain.recv(200).split()[1] == b"401"  # although nothing of the body has come
        with connect(client.port, f"{head}Expect: 100-continue\r\n\r\n".encode()) as plain:
            assert plain.recv(200).split()[1] == b"401"
        good = f"{head}Authorization: Bearer {secret}\r\nExpect: 100-continue\r\n\r\n"
        with connect(client.port, good.encode()) as plain:
            assert plain.recv(200).split()[1] == b"100"
        form = {"Content_Type": "application/x-www-form-urlencoded"}
        assert client("POST", "/login", b"token=" + b"x" * 70_000, **form).code == 413


def test_heads(client: Client) -> None:
    """As the answer to GET without its body, on a connection that goes on."""
    client.create()
    kept = http.client.HTTPConnection("127.0.0.1", client.port, timeout=20)
    for path in ("/", API, f"{API}/spring", f"{API}/spring/assignments.csv", "/docs", "/healthz", f"{API}/nothing"):
        kept.request("GET", path)
        got = kept.getresponse()
        body = got.read()
        kept.request("HEAD", path)
        place, head = kept.sock, kept.getresponse()
        assert (head.status, head.read()) == (got.status, b""), path
        assert head.headers.get("content-length") in (None, str(len(body)))
        assert kept.sock is place, path
    kept.close()
    assert client("HEAD", f"{API}/spring").headers["etag"] == client("GET", f"{API}/spring").headers["etag"]


def test_requests_that_are_sent_ahead(client: Client) -> None:
    """Whoever sends thousands without waiting for an answer is hung up on, before they are all looked at."""
    asked = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(client.port, 5000 * asked) as plain:
        got = b""
        try:
            while part := plain.recv(65536):
                got += part
        except OSError:
            pass
        assert got.count(b"HTTP/1.1 200") <= 8
    with connect(client.port, 3 * asked) as plain:
        got = b""
        while got.count(b"HTTP/1.1 200") < 3:
            got += plain.recv(65536)
