"""Who may: every way in that must stay shut is tried."""

from __future__ import annotations

import http.client
import logging
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.service.serving import API, NEW, Client, running

from mobai import InputError
from mobai.live.sql import SqlJournal
from mobai.service.server import serve
from mobai.service.tokens import Tokens, create_token, list_tokens, revoke_token, seconds_in


@pytest.fixture
def journal(tmp_path: Path) -> SqlJournal:
    return SqlJournal(f"sqlite:///{tmp_path / 'test.db'}")


@pytest.fixture
def guarded(tmp_path: Path, journal: SqlJournal) -> Iterator[dict[str, Client]]:
    """A service with a token of each scope, and the client of each."""
    tokens = {scope: create_token(journal, scope, scope) for scope in ("read", "tell", "admin")}
    tokens["only"] = create_token(journal, "only", "admin", only="spring*")
    with running(f"sqlite:///{tmp_path / 'test.db'}") as (client, _):
        found = {name: Client(client.port, token) for name, token in tokens.items()}
        found["nobody"] = client
        found["admin"].create()
        found["admin"].create(name="autumn")
        yield found


def all_routes(client: Client) -> list[tuple[str, str]]:
    paths = client("GET", "/openapi.json").json["paths"]
    places = {"{name}": "spring", "{assignment}": "1", "{unit}": "u", "{arm}": "A", "{webhook}": "w"}
    found = []
    for path, calls in paths.items():
        for place, value in places.items():
            path = path.replace(place, value)
        found += [(method.upper(), path) for method in calls]
    return found


def test_every_call_needs_a_token(guarded: dict[str, Client]) -> None:
    routes = all_routes(guarded["nobody"])
    assert len(routes) > 25
    open_ones = []
    for method, path in routes:
        found = guarded["nobody"](method, path, {} if method in ("POST", "PUT") else None)
        if found.code != 401:
            open_ones.append(path)
        else:
            assert found.headers["www-authenticate"].startswith("Bearer")
    assert sorted(open_ones) == ["/healthz", "/readyz", "/version"]


def test_scopes(guarded: dict[str, Client]) -> None:
    levels = {"GET": "read", "PUT": "tell"}
    for method, path in all_routes(guarded["nobody"]):
        tells = any(word in path for word in ("/assignments", "/reports", "/observations", "/units"))
        needed = levels.get(method, "tell" if tells else "admin")
        if path.startswith("/api/v1/webhooks"):
            needed = "admin"
        if "stream" in path or not path.startswith("/api"):
            continue
        for scope in ("read", "tell"):
            enough = ("read", "tell", "admin").index(scope) >= ("read", "tell", "admin").index(needed)
            code = guarded[scope](method, path, {"x": 1} if method in ("POST", "PUT") else None).code
            assert (code == 403) == (not enough), (scope, method, path, code)


def test_only_some_names(guarded: dict[str, Client]) -> None:
    only = guarded["only"]
    assert only("GET", f"{API}/spring").code == 200
    assert only("GET", f"{API}/autumn").code == 403
    assert only("POST", f"{API}/autumn/assignments").code == 403
    assert [one["name"] for one in only("GET", API).json["experiments"]] == ["spring"]
    assert only("POST", API, {**NEW, "name": "winter"}).code == 403
    assert only("POST", API, {**NEW, "name": "spring 2"}).code == 201
    assert only("GET", f"{API}/spring%2F..%2Fautumn").code == 404


def test_webhooks_are_not_for_tokens_of_some_names(guarded: dict[str, Client]) -> None:
    """What is sent would tell of the others."""
    body = {"name": "h", "url": "https://example.org/"}
    assert guarded["admin"]("POST", "/api/v1/webhooks", body).code == 201
    for method, path in (("GET", ""), ("POST", ""), ("DELETE", "/h"), ("POST", "/h/test")):
        sent = body if (method, path) == ("POST", "") else None
        assert guarded["only"](method, f"/api/v1/webhooks{path}", sent).code == 403


def test_wrong_expired_and_revoked_tokens(guarded: dict[str, Client], journal: SqlJournal) -> None:
    port, secret = guarded["admin"].port, guarded["admin"].token
    assert secret is not None
    for wrong in ("", "mobai_", secret[:-1], secret + "x", "é" * 5, "x" * 5000):
        assert Client(port)("GET", API, Authorization=f"Bearer {wrong}".encode().decode("latin-1")).code == 401
    for form in (f"Basic {secret}", secret, f"bearer  {secret}x"):
        assert Client(port)("GET", API, Authorization=form).code == 401
    assert Client(port)("GET", API, Authorization=f"bearer {secret}").code == 200
    journal.put_record("token", "read", {**journal.records("token")["read"], "expires_at": time.time() - 1})
    revoke_token(journal, "tell")
    time.sleep(1.1)
    guarded["admin"]("GET", API)  # whoever comes first has the tokens read again
    assert guarded["read"]("GET", API).code == 401
    assert guarded["tell"]("GET", API).code == 401
    assert guarded["admin"]("GET", API).code == 200


def test_a_revoked_token_ends_its_stream(guarded: dict[str, Client], journal: SqlJournal) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", guarded["read"].port, timeout=30)
    connection.request("GET", f"{API}/spring/stream", headers={"Authorization": f"Bearer {guarded['read'].token}"})
    stream = connection.getresponse()
    assert stream.status == 200
    assert b"event: status\n" in [stream.readline() for _ in range(4)]
    revoke_token(journal, "read")
    start = time.monotonic()
    assert b"event: bye\ndata: the token is no longer valid" in stream.read()
    assert time.monotonic() - start < 10
    connection.close()


def test_the_journal_names_the_token(guarded: dict[str, Client]) -> None:
    guarded["tell"]("POST", f"{API}/spring/assignments", {"by": "admin"})
    guarded["admin"]("POST", f"{API}/spring/pause")
    events = guarded["read"]("GET", f"{API}/spring/events?after=1").json["events"]
    assert [event["body"]["by"] for event in events] == ["tell: admin", "admin"]


def test_tokens_are_kept_as_hashes(journal: SqlJournal, tmp_path: Path) -> None:
    secret = create_token(journal, "ci", "tell", only="a*", expires="90d")
    journal.close()
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()
    (row,) = list_tokens(journal)
    assert "hash" not in row
    assert (row["scope"], row["only"]) == ("tell", "a*")
    assert row["expires_at"] - row["created_at"] == 90 * 86400
    with pytest.raises(InputError, match="there is a token 'ci' already"):
        create_token(journal, "ci", "read")
    with pytest.raises(InputError, match="scope must be one of read, tell, admin, not 'root'"):
        create_token(journal, "x", "root")
    with pytest.raises(InputError, match="there is no token 'x'"):
        revoke_token(journal, "x")


@pytest.mark.parametrize(("text", "seconds"), [("90d", 90 * 86400), ("12h", 43200), ("30m", 1800), ("2w", 14 * 86400)])
def test_times(text: str, seconds: float) -> None:
    assert seconds_in(text) == seconds


@pytest.mark.parametrize("text", ["", "0d", "-1d", "1y", "d", "1.5h", "99999999d"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="expires must be a time such as 90d, 12h or 30m"):
        seconds_in(text)


def test_other_hosts_need_a_token(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"host: 0\.0\.0\.0 can be reached by others, so there must be a token"):
        serve(f"sqlite:///{tmp_path / 'x.db'}", host="0.0.0.0")
    assert list(tmp_path.iterdir()) == []


def test_a_service_whose_last_token_was_revoked_stays_closed(tmp_path: Path, journal: SqlJournal) -> None:
    create_token(journal, "ci", "admin")
    revoke_token(journal, "ci")
    assert [(row["name"], row["kind"]) for row in list_tokens(journal)] == [("ci", "revoked")]
    with running(f"sqlite:///{tmp_path / 'test.db'}") as (client, _):
        assert client("GET", API).code == 401
        secret = create_token(journal, "ci", "read")
        time.sleep(1.1)
        client("GET", API)
        assert Client(client.port, secret)("GET", API).code == 200


def test_names_of_others_are_not_told(guarded: dict[str, Client]) -> None:
    found = guarded["only"]("GET", f"{API}/spring-none")
    assert (found.code, found.json["detail"]) == (404, "name: there is no experiment 'spring-none'")


def test_all_tokens_gone_on_another_address(tmp_path: Path) -> None:
    """Then nobody may do anything: it does not become open."""
    with running(f"sqlite:///{tmp_path / 'x.db'}", open_without_token=False) as (client, _):
        assert client("GET", API).code == 401


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


class TestBrowsers:
    def cookie(self, client: Client, code: str) -> Any:
        return client("GET", f"/login?code={code}")

    def test_a_link_logs_in_once(self, tmp_path: Path, journal: SqlJournal) -> None:
        create_token(journal, "ci", "read")
        with running(f"sqlite:///{tmp_path / 'test.db'}") as (client, service):
            code = service.tokens.new_code()
            assert client("GET", API).code == 401
            found = self.cookie(client, code)
            assert (found.code, found.headers["location"]) == (303, "/")
            cookie = found.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=strict" in cookie
            assert "Path=/" in cookie
            value = cookie.partition(";")[0]
            assert client("GET", API, Cookie=value).code == 200
            assert client("POST", API, NEW, Cookie=value, Sec_Fetch_Site="same-origin").code == 201
            assert client("POST", API, NEW, Cookie=value, Origin="http://evil.example").code == 403
            assert self.cookie(client, code).code == 401
            assert self.cookie(client, "x").code == 401
            assert client("POST", "/logout", Cookie=value).code == 303
            assert client("GET", API, Cookie=value).code == 401

    def test_a_token_logs_in(self, tmp_path: Path, journal: SqlJournal) -> None:
        secret = create_token(journal, "ci", "read", only="spring*")
        with running(f"sqlite:///{tmp_path / 'test.db'}") as (client, _):
            form = {"Content_Type": "application/x-www-form-urlencoded"}
            assert client("POST", "/login", b"token=nothing", **form).code == 401
            found = client("POST", "/login", f"token={secret}".encode(), **form)
            value = found.headers["set-cookie"].partition(";")[0]
            assert client("GET", API, Cookie=value).code == 200
            assert client("POST", API, NEW, Cookie=value).code == 403
            assert client("GET", f"{API}/autumn", Cookie=value).code == 403
            assert secret not in value
            assert b"<form" in client("GET", "/login").data

    def test_a_session_ends_with_its_token(self, tmp_path: Path, journal: SqlJournal) -> None:
        revoked, expired = create_token(journal, "one", "admin"), create_token(journal, "two", "admin")
        with running(f"sqlite:///{tmp_path / 'test.db'}") as (client, _):
            form = {"Content_Type": "application/x-www-form-urlencoded"}
            cookies = []
            for secret in (revoked, expired):
                found = client("POST", "/login", f"token={secret}".encode(), **form)
                cookies.append(found.headers["set-cookie"].partition(";")[0])
            assert client("POST", API, NEW, Cookie=cookies[0]).code == 201
            by = client("GET", f"{API}/spring/events", Cookie=cookies[0]).json["events"][0]["body"]["by"]
            assert by.startswith("one (browser ")
            sessions = [row for row in list_tokens(journal) if row["kind"] == "session"]
            assert sorted(row["token"] for row in sessions) == ["one", "two"]
            revoke_token(journal, "one")
            journal.put_record("token", "two", {**journal.records("token")["two"], "expires_at": time.time() - 1})
            time.sleep(1.1)
            client("GET", API)
            assert [client("GET", API, Cookie=cookie).code for cookie in cookies] == [401, 401]
            create_token(journal, "one", "admin")  # another one of that name
            time.sleep(1.1)
            client("GET", API)
            assert client("GET", API, Cookie=cookies[0]).code == 401

    def test_codes_end(self, journal: SqlJournal, monkeypatch: pytest.MonkeyPatch) -> None:
        tokens = Tokens(lambda: journal)
        code, now = tokens.new_code(), time.monotonic()
        monkeypatch.setattr(time, "monotonic", lambda: now + 601)
        assert not tokens.use_code(code)


def test_no_secret_is_logged(tmp_path: Path, journal: SqlJournal, caplog: pytest.LogCaptureFixture) -> None:
    secret = create_token(journal, "ci", "admin")
    caplog.set_level(logging.DEBUG, logger="mobai")
    with running(f"sqlite:///{tmp_path / 'test.db'}") as (client, service):
        logging.getLogger("mobai.service.access").setLevel(logging.INFO)
        code = service.tokens.new_code()
        cookie = client("GET", f"/login?code={code}").headers["set-cookie"].partition("=")[2].partition(";")[0]
        wrong = client("GET", API, Authorization="Bearer wrong-secret")
        client("GET", API, Authorization=f"Bearer {secret}")
        client("GET", f"{API}/x?token={secret}", Cookie=f"mobai_session={cookie}")
    logging.getLogger("mobai.service.access").setLevel(logging.NOTSET)
    assert "GET /login" in caplog.text
    for one in (secret, code, cookie, "wrong-secret"):
        assert one not in caplog.text
    assert b"wrong-secret" not in wrong.data


def test_headers_with_new_lines(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as plain:
        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\n b\r\nAuthorization: Bearer\r\n x\r\n\r\n")
        assert plain.recv(100).split()[1] in (b"400", b"200")
    found = client("PUT", f"{API}/x%0d%0aSet-Cookie:%20a=b/units/u")
    assert (found.code, "set-cookie" in found.headers) == (404, False)
