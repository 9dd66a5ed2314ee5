"""Browsers log in by a link or a token, and stay logged in no longer than they may."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.service.serving import API, NEW, Client, running

from mobai.service.tokens import Tokens, create_token, list_tokens, revoke_token
from mobai.store.sql import SqlJournal


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
