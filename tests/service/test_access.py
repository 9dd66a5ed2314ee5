"""Who may: every way in that must stay shut is tried."""

from __future__ import annotations

import http.client
import logging
import math
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.live.sqlite_files import change
from tests.service.serving import API, NEW, Client, running

from mobai import InputError
from mobai.service.server import serve
from mobai.service.tokens import create_token, list_tokens, revoke_token
from mobai.store.sql import SqlJournal


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


def test_an_admin_of_some_names_makes_no_others(guarded: dict[str, Client]) -> None:
    form = {"Content_Type": "application/x-www-form-urlencoded", "Sec_Fetch_Site": "same-origin"}
    only = guarded["only"]
    for name in ("summer", "Spring", "demo", "aspring"):
        assert only("POST", API, {**NEW, "name": name}).code == 403
    fields = "arms=A%0AB&metrics=1&metric-0-name=x&metric-0-role=max&metric-0-kind=bernoulli&delta=0.05&do=create"
    login = only("POST", "/login", f"token={only.token}".encode(), **form)
    cookie = login.headers["set-cookie"].partition(";")[0]
    refused = only("POST", "/new", f"name=summer&{fields}".encode(), **form, Cookie=cookie)
    assert (refused.code, b"for experiments named spring* only" in refused.data) == (422, True)
    assert only("POST", "/demo", b"", **form, Cookie=cookie).code == 403
    assert guarded["admin"]("GET", f"{API}?only=names").json["names"] == ["spring", "autumn"]
    assert only("POST", API, {**NEW, "name": "spring 2"}).code == 201


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


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE mobai_records SET body = replace(body, 'hash', 'hasj') WHERE kind = 'token'",
        "UPDATE mobai_records SET kind = 'tokem' WHERE kind = 'token'",
        "DELETE FROM mobai_records WHERE kind = 'token'",
        "UPDATE mobai_records SET body = replace(body, 'example', 'exampel') WHERE kind = 'webhook'",
        "DELETE FROM mobai_records WHERE kind = 'webhook'",
        "UPDATE mobai_schema SET records = '{}'",
    ],
)
def test_records_that_are_changed_or_lost_close_the_service(tmp_path: Path, journal: SqlJournal, harm: str) -> None:
    secret = create_token(journal, "ci", "admin")
    path = tmp_path / "test.db"
    with running(f"sqlite:///{path}") as (client, service):
        client.token = secret
        assert client("POST", "/api/v1/webhooks", {"name": "w", "url": "https://example.org/"}).code == 201
        assert client("GET", API).code == 200
        change(path, harm)
        service.tokens._read_at = -math.inf
        for token in (secret, None):
            client.token = token
            assert client("GET", API).code == 503
            assert client("POST", API, NEW).code == 503
            assert client("GET", "/").code in (303, 503)
    with running(f"sqlite:///{path}") as (client, _):
        assert client("GET", API).code == 503
