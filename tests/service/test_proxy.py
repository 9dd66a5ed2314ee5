"""Whoever is behind a proxy, or reaches another name, is not somebody on this machine: a token is needed."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.service.serving import API, NEW, Client, Process, running

from mobai.errors import InputError
from mobai.service.server import serve
from mobai.service.tokens import create_token
from mobai.store.sql import SqlJournal


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"allowed_hosts": ["mobai.example.org"]}, "allowed-host: whoever reaches mobai.example.org"),
        ({"behind_proxy": True}, "behind-proxy: whoever reaches the proxy"),
        ({"host": "0.0.0.0"}, "host: 0.0.0.0 can be reached by others"),
    ],
)
def test_what_exposes_needs_a_token(tmp_path: Path, options: dict[str, object], named: str) -> None:
    with pytest.raises(InputError, match=named) as found:
        serve(f"sqlite:///{tmp_path / 'x.db'}", **options)  # type: ignore[arg-type]
    assert "`mobai token create NAME --scope admin` makes one" in str(found.value)
    assert not (tmp_path / "x.db").exists()


def test_the_documented_setup_is_closed(tmp_path: Path) -> None:
    words = ["serve", "--storage", f"sqlite:///{tmp_path / 'x.db'}", "--allowed-host", "mobai.example.org"]
    done = subprocess.run([sys.executable, "-m", "mobai", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there must be a token" in done.stderr


@pytest.mark.parametrize(
    "header",
    [
        "X_Forwarded_For",
        "X_Real_IP",
        "Forwarded",
        "Via",
        "X_Forwarded_Proto",
        "X_Forwarded_Port",
        "CF_Connecting_IP",
        "Cf_Ray",
        "True_Client_IP",
        "X_Envoy_External_Address",
        "X_Original_Forwarded_For",
        "Tailscale_User_Login",
        "X_Amzn_Trace_Id",
        "X_Client_IP",
    ],
)
def test_forwarded_requests_need_a_token(client: Client, header: str) -> None:
    assert client("GET", API, **{header: "1.2.3.4"}).code == 401
    assert client("POST", API, NEW, **{header: "1.2.3.4"}).code == 401
    assert client("GET", "/", **{header: "1.2.3.4"}).code in (303, 401)
    assert client("GET", API).code == 200


def test_a_proxy_that_adds_nothing_is_known_by_its_protocol(client: Client) -> None:
    """As nginx with nothing but ``proxy_pass``."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=20) as plain:
        plain.sendall(f"GET {API} HTTP/1.0\r\nHost: 127.0.0.1:{client.port}\r\nConnection: close\r\n\r\n".encode())
        assert plain.recv(200).split()[1] == b"401"


def test_cookies_are_secure_where_the_proxy_speaks_tls(tmp_path: Path, journal: SqlJournal) -> None:
    secret = create_token(journal, "ci", "admin")
    form = {"Content_Type": "application/x-www-form-urlencoded"}
    cases = [(True, "https", True), (True, "http", False), (True, "x", True), (False, "https", False)]
    for behind_proxy, scheme, secure in cases:
        with running(f"sqlite:///{tmp_path / 'test.db'}", behind_proxy=behind_proxy) as (client, _):
            found = client("POST", "/login", f"token={secret}".encode(), **form, X_Forwarded_Proto=scheme)
            assert ("Secure" in found.headers["set-cookie"]) is secure


def test_codes_are_not_for_logs(tmp_path: Path, journal: SqlJournal) -> None:
    """What logs in is shown to a terminal only; this process writes to a file, as under systemd."""
    create_token(journal, "ci", "admin")
    service = Process(f"sqlite:///{tmp_path / 'test.db'}", "--behind-proxy", "--allowed-host", "mobai.example.org")
    said = service.end()
    assert "code=" not in said
    assert "log in at https://mobai.example.org/login with a token" in said
