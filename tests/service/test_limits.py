"""What is too large, too slow, too deep or too many."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.service.serving import API, Client, running

from mobai.live.local import carry_out_together
from mobai.service import bodies, stream, writer


@pytest.fixture
def spring(client: Client) -> Client:
    client.create()
    client("POST", f"{API}/spring/assignments", {"n": 10})
    return client


def reports(metrics: str) -> bytes:
    return b'{"reports": [{"assignment": 1, "metrics": %s}]}' % metrics.encode()


@pytest.mark.parametrize(
    "body",
    [
        reports('{"click": NaN}'),
        reports('{"click": Infinity}'),
        reports('{"seconds": 1e999}'),
        reports('{"seconds": -1e999}'),
        reports('{"seconds": "1"}'),
        reports('{"seconds": true}'),
        reports('{"seconds": [1]}'),
        reports('{"seconds": 1' + "0" * 5000 + "}"),
        reports("[]"),
        reports("{}"),
        reports('{"nothing": 1}'),
        reports('{"\\ud800": 1}'),
        b'{"reports": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b"[" * 100_000,
        b'{"reports": [{"assignment": 1.5, "metrics": {"click": 1}}]}',
        b'{"reports": [{"assignment": true, "metrics": {"click": 1}}]}',
        b'{"reports": [{"assignment": ' + b"9" * 400 + b', "metrics": {"click": 1}}]}',
        b'{"reports": [{"metrics": {"click": 1}}]}',
        b'{"reports": [{"assignment": 1, "unit": "x", "metrics": {"click": 1}}]}',
        b'{"reports": {}}',
        b'{"reports": [], "ask": 1001}',
        b'{"reports": [], "by": "' + b"x" * 201 + b'"}',
        b'{"reports": [], "by": "\\u0007"}',
        b"{",
        b"\xff\xfe",
        b"null",
        b"",
    ],
)
def test_bodies_that_cannot_be(spring: Client, body: bytes) -> None:
    found = spring("POST", f"{API}/spring/reports", body)
    code = 404 if b"9999999999" in body else 422
    assert found.code == code, found.data
    assert found.json["status"] == code
    assert len(found.json["detail"]) < 1000
    assert spring("GET", f"{API}/spring").json["pulls"] == 0


def test_large_bodies(spring: Client) -> None:
    body = b'{"reports": []' + b" " * bodies.MOST_BYTES + b"}"
    assert spring("POST", f"{API}/spring/reports", body).code == 413
    with socket.create_connection(("127.0.0.1", spring.port), timeout=20) as plain:
        head = f"POST {API}/spring/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        plain.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        part = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        try:
            for _ in range(40):
                plain.sendall(part)
        except OSError:
            pass  # it hangs up
        assert b" 413 " in plain.recv(200)


def test_too_many_reports(spring: Client) -> None:
    rows = [{"assignment": 1, "metrics": {"click": 1}}] * 5001
    found = spring("POST", f"{API}/spring/reports", {"reports": rows})
    assert (found.code, found.json["errors"][0]["pointer"]) == (422, "#/reports")
    assert spring("POST", f"{API}/spring/assignments", {"n": 1001}).code == 422
    assert spring("PUT", f"{API}/spring/units/{'u' * 201}").code == 422
    assert spring("POST", f"{API}/spring/assignments", {"n": 1}, Idempotency_Key="k" * 201).code == 422
    assert spring("POST", f"{API}/spring/assignments", {"n": 1}, Idempotency_Key='"k').code == 422


def test_slow_bodies(spring: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "SECONDS_FOR_A_BODY", 0.5)
    with socket.create_connection(("127.0.0.1", spring.port), timeout=20) as plain:
        head = f"POST {API}/spring/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        plain.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert b" 408 " in plain.recv(200)
    assert spring("GET", "/healthz").code == 200


def test_two_lengths(spring: Client) -> None:
    """What could be read as two requests is refused or read as one."""
    with socket.create_connection(("127.0.0.1", spring.port), timeout=20) as plain:
        plain.sendall(
            f"POST {API}/spring/pause HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n".encode()
        )
        assert plain.recv(100).split()[1] == b"400"
    assert spring("GET", f"{API}/spring").json["state"] == "running"


def test_too_many_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "MOST_WAITING", 3)
    release = threading.Event()

    def slow(requests: Any) -> Any:
        release.wait(20)
        return carry_out_together(requests)

    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, service):
        client.create()
        monkeypatch.setattr(writer, "carry_out_together", slow)
        found: list[int] = []

        def ask() -> None:
            found.append(client("POST", f"{API}/spring/assignments").code)

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for thread in threads:
            thread.start()
        while len(found) < 5:
            time.sleep(0.01)
        assert set(found) == {503}
        refused = client("POST", f"{API}/spring/assignments")
        assert (refused.code, refused.headers["retry-after"]) == (503, "1")
        assert "mobai_waiting_requests 3" in client("GET", "/metrics").data.decode()
        assert client("GET", "/healthz").code == 200
        release.set()
        for thread in threads:
            thread.join()
        taken = found.count(200)
        assert taken + found.count(503) == 12
        assert taken >= 4
        assert client("GET", f"{API}/spring").json["pending"] == taken
        assert service.writer.waiting == 0


def test_too_many_streams(spring: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "MOST_STREAMS", 2)
    opened = []
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", spring.port, timeout=20)
        connection.request("GET", f"{API}/spring/stream")
        assert connection.getresponse().status == 200
        opened.append(connection)
    refused = spring("GET", f"{API}/spring/stream")
    assert (refused.code, refused.headers["retry-after"]) == (503, "1")
    for connection in opened:
        connection.close()
    for _ in range(100):
        if "mobai_open_streams 0" in spring("GET", "/metrics").data.decode():
            break
        time.sleep(0.1)
    else:
        raise AssertionError("streams that were hung up on must be let go")


def test_names_that_are_not_there_are_not_remembered(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, service):
        for n in range(20):
            assert client("GET", f"{API}/nothing-{n}").code == 404
            assert client("POST", f"{API}/nothing-{n}/assignments").code == 404
            assert client("GET", f"{API}/nothing-{n}/stream").code == 404
        kept = (service.experiments._loading, service.experiments._loaded, service.statuses._known)
        assert [len(one) for one in (*kept, service.streams._topics)] == [0, 0, 0, 0]


def test_long_words_are_cut_in_refusals(spring: Client) -> None:
    for body in ({"n": 1, "if_decided": "x" * 900}, {"n": 1, "by": "x" * 200_000}):
        found = spring("POST", f"{API}/spring/assignments", body)
        assert found.code == 422
        assert len(found.data) < 1000
    assert len(spring("POST", f"{API}/spring/reports", reports('{"%s": 1}' % ("x" * 100_000))).data) < 3000
    assert len(spring("GET", f"{API}/{'x' * 60_000}").data) < 1000


def test_methods_and_paths_that_are_not_there(spring: Client) -> None:
    for method in ("PATCH", "TRACE", "PROPFIND"):
        assert spring(method, f"{API}/spring").code in (400, 405)
    assert (spring("HEAD", "/healthz").code, spring("HEAD", "/healthz").data) == (200, b"")
    assert spring("HEAD", f"{API}/spring/stream").code == 405
    assert spring("GET", "/healthz", X="x" * 100_000).code == 431
    for path in ("/api", "/api/v1/", f"{API}/spring/", f"{API}//", "/%00", "/.git/config", "/static/x"):
        assert spring("GET", path).code == 404, path
    assert spring("GET", f"{API}/{'x' * 5000}").code == 404
    assert json.loads(spring("GET", "/nothing").data)["detail"] == "there is nothing at this path"


def test_a_body_may_have_two_mebibytes_and_not_one_byte_more(client: Client) -> None:
    client.create()
    body = b'{"n": 1' + b" " * (2 * 2**20 - 8) + b"}"
    assert len(body) == 2 * 2**20
    assert client("POST", f"{API}/spring/assignments", body).code == 200
    assert client("POST", f"{API}/spring/assignments", body + b" ").code == 413


def test_a_body_of_unknown_length_has_the_same_limit(client: Client) -> None:
    client.create()
    connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=30)
    parts = iter([b'{"n": 1', *[b" " * 2**18] * 8, b"}"])
    headers = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
    connection.request("POST", f"{API}/spring/assignments", parts, headers, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
