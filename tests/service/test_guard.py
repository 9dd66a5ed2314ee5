"""What is turned away before any call is looked at: foreign hosts, other origins, bodies that say nothing."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.service.serving import API, NEW, Client, running


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "evil@127.0.0.1:1", "[::1", "127.0.0.1, evil"]
)
def test_foreign_hosts(client: Client, host: str) -> None:
    for path in (API, "/healthz", "/nothing"):
        found = client("GET", path, Host=host)
        assert found.code in (400, 421), (host, found.code)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:9", "LOCALHOST:8321", "[::1]:80"])
def test_loopback_hosts(client: Client, host: str) -> None:
    assert client("GET", API, Host=host).code == 200


def test_an_allowed_host(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}", hosts=["mobai.example.org"]) as (client, _):
        assert client("GET", API, Host="mobai.example.org").code == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Origin": "http://127.0.0.1:8321", "Host": "127.0.0.1:8321"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 204),
        ({"Origin": "http://127.0.0.1:8321", "Host": "127.0.0.1:8321"}, 204),
        ({"Origin": "http://127.0.0.1:9999", "Host": "127.0.0.1:8321"}, 403),
        ({}, 204),
    ],
)
def test_requests_of_other_origins(client: Client, headers: dict[str, str], code: int) -> None:
    client.create()
    assert client("POST", f"{API}/spring/pause", **headers).code == code
    assert client("GET", f"{API}/spring", **headers).code == (200 if code == 204 else 403)
    assert client("GET", "/docs", **headers).code == 200  # a link to a page may be followed


def test_a_body_must_say_that_it_is_json(client: Client) -> None:
    """A form of another site can send texts without asking first."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert client("POST", API, NEW, Content_Type=kind).code == 415
    assert client("GET", API).json["total"] == 0
    assert client("POST", API, NEW, Content_Type="application/json; charset=utf-8").code == 201


def test_no_cors(client: Client) -> None:
    found = client("OPTIONS", API, Origin="http://evil.example", Access_Control_Request_Method="POST")
    assert found.code == 403
    assert client("OPTIONS", API).code == 405
    assert not any(name.startswith("access-control") for name in found.headers)


def test_read_only(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    with running(address) as (client, _):
        client.create()
    with running(address, read_only=True) as (client, _):
        assert client("GET", f"{API}/spring").code == 200
        assert client("POST", f"{API}/spring/assignments").json["detail"] == "the service is read-only"
        assert client("POST", API, NEW).code == 403


def test_headers_with_new_lines(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\n b\r\nAuthorization: Bearer\r\n x\r\n\r\n")
        assert plain.recv(100).split()[1] in (b"400", b"200")
    found = client("PUT", f"{API}/x%0d%0aSet-Cookie:%20a=b/units/u")
    assert (found.code, "set-cookie" in found.headers) == (404, False)
