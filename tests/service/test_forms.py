"""Forms over HTTP: wrong order, wrong input, the wrong person; what an attacker tried."""

from __future__ import annotations

import re
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.service.serving import API, Client, Reply, running

from mobai import Experiment
from mobai.service.tokens import create_token
from mobai.store.sql import SqlJournal

METRIC = {"metric-0-name": "m", "metric-0-role": "max", "metric-0-kind": "bernoulli"}
BASE = {"metrics": "1", "arms": "A\nB", "delta": "0.05", "do": "create", **METRIC}
SPREAD = {"metric-0-kind": "unknown-variance", "metric-0-spread": "500"}
RANGE = {"metric-0-kind": "bounded", "metric-0-low": "0", "metric-0-high": "1e5"}
PAGE = {"Accept": "text/html"}


def send(client: Client, path: str, fields: dict[str, str] | bytes, **headers: str) -> Reply:
    data = fields if isinstance(fields, bytes) else urlencode(fields).encode()
    return client("POST", path, data, Content_Type="application/x-www-form-urlencoded", **headers)


def errors(reply: Reply) -> dict[str, str]:
    return dict(re.findall(r'id="error-([\w-]+)">([^<]*)<', reply.data.decode()))


def test_a_metric_ends_in_a_tie_if_it_is_ticked(client: Client) -> None:
    fields = {**BASE, "name": "tied", "do": "create"}
    assert send(client, "/new", fields).code in (200, 303)
    client(
        "POST",
        f"{API}/tied/observations",
        {"observations": [{"arm": "AB"[n % 2], "metrics": {"m": n // 2 % 2}} for n in range(400)]},
    )
    form = client("GET", "/e/tied/do/close").data.decode()
    (history,) = re.findall(r'name="history" value="([^"]+)"', form)
    assert re.search(r'name="equal-0" value="m"> m: A and B differ by at most 0\.\d+', form)
    wrong = send(client, "/e/tied/do/close", {"history": history, "equal-0": "n"})
    assert (wrong.code, "must be objectives that are open" in wrong.data.decode()) == (422, True)
    assert client("GET", f"{API}/tied").json["state"] == "running"
    assert send(client, "/e/tied/do/close", {"history": history, "equal-0": "m"}).code in (200, 303)
    status = client("GET", f"{API}/tied").json
    assert (status["state"], status["equal"]["m"]["arms"]) == ("closed", ["A", "B"])


def test_a_window_is_stated_in_the_form(client: Client) -> None:
    fields = {**BASE, "name": "spring", "metric-0-window": "1h", "metric-0-otherwise": "0", "do": "create"}
    assert send(client, "/new", fields).code in (200, 303)
    assert client("GET", f"{API}/spring").json["problem"]["objectives"] == ["m:bernoulli:window=1h:otherwise=0.0"]


def test_a_percentile_is_stated_in_the_form(client: Client) -> None:
    fields = {**BASE, "name": "fast", "metric-0-kind": "quantile", "metric-0-level": "95", "metric-0-role": "min"}
    expected = {"metric-0-usual": "300", "metric-0-difference": "50", "metric-0-spread": "150"}
    assert "samples" in send(client, "/new/plan", {**fields, **expected}).data.decode()
    assert send(client, "/new", fields).code in (200, 303)
    assert client("GET", f"{API}/fast").json["problem"]["objectives"] == ["m:min:p95"]
    (given,) = client("POST", f"{API}/fast/assignments", {"n": 1}).json["assignments"]
    report = {"assignment": given["assignment"], "metrics": {"m": 120}}
    assert client("POST", f"{API}/fast/reports", {"reports": [report]}).code == 200
    page = client("GET", "/e/fast", **PAGE).data.decode()
    assert "p95 (interval)" in page


@pytest.mark.parametrize(
    ("fields", "design"),
    [
        ({"design": "items", "items": "500"}, {"items": 500}),
        ({"design": "items", "items": "first\nsecond"}, {"items": 2}),
        ({"design": "stream", "items": "left over"}, {"items": "stream"}),
        ({"design": "rounds", "metric-0-kind": "wins"}, {"rounds": True}),
    ],
)
def test_an_experiment_on_items_is_stated_in_the_form(
    client: Client, fields: dict[str, str], design: dict[str, object]
) -> None:
    fields = {**BASE, "name": "alike", **fields}
    assert "table of results" in send(client, "/new/plan", fields).data.decode()
    assert send(client, "/new", fields).code in (200, 303)
    problem = client("GET", f"{API}/alike").json["problem"]
    assert {key: problem.get(key) for key in design} == design


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"design": "items"}, "items", "one item at least"),
        ({"design": "items", "items": "a\na"}, "items", "there twice"),
        ({"design": "items", "items": "0"}, "items", "1 to 10,000,000"),
        ({"metric-0-kind": "wins"}, "design", "rounds"),
        ({"design": "rounds", "metric-0-kind": "unknown-variance"}, "design", "rounds may drift"),
        ({"until": "0001-01-01T00:00+14:00"}, "until", "a time such as"),
        ({"until": "-62135596801"}, "until", "a time such as"),
        ({"until": "2020-01-01T00:00"}, "until", "still to come"),
        ({"name": ".."}, "name", "neither . nor .."),
        ({"name": ""}, "name", "A name is needed."),
        ({"expire_hours": "-1"}, "expire_hours", "more than 0 hours"),
        ({"expire_hours": "1e308"}, "expire_hours", "more than 0 hours"),
        ({"max_samples": "1.5"}, "max_samples", "whole number"),
        ({"max_samples": "0"}, "max_samples", "whole number"),
        ({"rule": "os:system"}, "rule", "Only rules that come with mobai"),
        ({"rule": "a:b:c"}, "rule", ""),
        ({"rule": "top-two:beta"}, "rule", ""),
        ({"delta": "nan"}, "delta", "Must be a number"),
        ({"delta": "0,05"}, "delta", "with a point"),
        ({"delta": "٠.٥"}, "delta", "Must be a number"),
        ({"delta": "2"}, "delta", "Must be a number between 0 and 1"),
        ({"arms": "A, B, C"}, "arms", "without commas"),
        ({"arms": "A\nA"}, "arms", ""),
        ({"baseline": "C"}, "baseline", ""),
        ({"metric-0-eps": "-1"}, "metric-0-eps", "eps must be"),
        ({"metric-0-role": "at-most", "metric-0-limit": "2", "metric-0-eps": "0.1"}, "metric-0-limit", ""),
        ({"metric-0-role": "at-most", "metric-0-limit": "0.5"}, "metric-0-eps", "needs a tolerance"),
        ({"metric-0-window": "1h"}, "metric-0-otherwise", "go together"),
        ({"metric-0-otherwise": "0"}, "metric-0-window", "go together"),
        ({"metric-0-window": "soon", "metric-0-otherwise": "0"}, "metric-0-window", "Window must be a number"),
        ({"metric-0-window": "1h", "metric-0-otherwise": "7"}, "metric-0-otherwise", "otherwise must be"),
        ({"metric-0-kind": "bounded", "metric-0-low": "5", "metric-0-high": "1"}, "metric-0-low", ""),
        ({"metric-0-kind": "gaussian", "metric-0-sd": "-1"}, "metric-0-sd", ""),
        ({"metric-0-kind": "quantile"}, "metric-0-level", "A number is needed"),
        ({"metric-0-kind": "quantile", "metric-0-level": "100"}, "metric-0-level", "from p0.0001"),
    ],
)
def test_wrong_input_is_shown_at_its_field(client: Client, fields: dict[str, str], field: str, words: str) -> None:
    reply = send(client, "/new", {**BASE, "name": "spring", **fields})
    assert reply.code == 422
    found = errors(reply)
    assert list(found) == [field]
    assert words in found[field]
    assert "None" not in found[field]
    html = reply.data.decode()
    if field in ("until", "expire_hours", "max_samples", "rule", "baseline"):
        assert re.search(r"<details open><summary>More</summary>", html)
    assert 'name="metric-0-name" type="text" value="m"' in html
    assert client("GET", API).json["total"] == 0


@pytest.mark.parametrize("metrics", ["-1", "0", "abc", "99999", "²", ""])
def test_odd_numbers_of_metrics(client: Client, metrics: str) -> None:
    assert send(client, "/new", {**BASE, "name": "spring", "metrics": metrics}).code == 303


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"metric-0-usual": "0,05", "metric-0-difference": "0.01"}, "Metric 1, typical value: Must be a number"),
        ({"metric-0-usual": "0.05", "metric-0-difference": ""}, "Say what you expect of every metric"),
        ({"metric-0-usual": "5%", "metric-0-difference": "1%"}, "about"),
        ({"metric-0-usual": "0.999", "metric-0-difference": "0.01"}, "below 1"),
        ({**SPREAD, "metric-0-usual": "20", "metric-0-difference": "1e-9"}, "more than 1,000,000,000,000 samples"),
        ({**RANGE, "metric-0-usual": "0.1", "metric-0-difference": "1e-7"}, "more than 1,000,000,000,000 samples"),
        ({**RANGE, "metric-0-low": "x"}, "Metric 1, lowest value: Must be a number"),
    ],
)
def test_plans_say_what_is_wrong(client: Client, fields: dict[str, str], words: str) -> None:
    reply = send(client, "/new/plan", {**BASE, **fields})
    assert reply.code == 200
    assert words in reply.data.decode()


def test_plans_that_would_take_long_are_refused(client: Client) -> None:
    many = {"arms": "\n".join(f"arm {n}" for n in range(40)), "metrics": "10"}
    for n in range(10):
        for part, text in (("name", f"m{n}"), ("role", "max"), ("kind", "unknown-variance"), ("usual", "0.3")):
            many[f"metric-{n}-{part}"] = text
        many |= {f"metric-{n}-difference": "0.05", f"metric-{n}-spread": "1"}
    start = time.monotonic()
    assert "too large to be planned here" in send(client, "/new/plan", {**BASE, **many}).data.decode()
    assert time.monotonic() - start < 5


def test_an_old_page_does_not_touch_another_experiment(client: Client) -> None:
    client.create()
    form = client("GET", "/e/spring/do/close").data.decode()
    (history,) = re.findall(r'name="history" value="([^"]+)"', form)
    assert client("DELETE", f"{API}/spring").code == 204
    client.create(arms=["X", "Y"])
    refused = send(client, "/e/spring/do/close", {"history": history})
    assert refused.code == 412
    assert "created anew" in refused.data.decode()
    assert send(client, "/e/spring/do/close", {}).code == 412
    assert client("GET", f"{API}/spring").json["state"] == "running"


def test_decided_and_paused(client: Client) -> None:
    client.create(arms=["A", "B"], objectives=["m:bernoulli"])
    rows = [{"arm": "AB"[n % 2], "metrics": {"m": n % 2}} for n in range(100)]
    assert client("POST", f"{API}/spring/observations", {"observations": rows}).code == 200
    assert client("POST", f"{API}/spring/pause").code == 204
    html = client("GET", "/e/spring").data.decode()
    assert 'data-state="decided" data-paused="true"' in html
    assert "Paused. You may stop. Best for m: B." in html
    assert "it is paused" in html or "the experiment is paused" in html
    assert "nothing is handed out: the experiment is paused" in client("GET", "/e/spring/explain").data.decode()
    assert client("GET", f"{API}/spring/explain").json["next_arm"] is None


def test_names_of_arms_stay_as_they_are(client: Client) -> None:
    client.create(arms=["a", "A"], objectives=["m:bernoulli"])
    client("POST", f"{API}/spring/observations", {"observations": [{"arm": "A", "metrics": {"m": 1}}]})
    reason = client("GET", f"{API}/spring/explain").json["reason"]
    assert reason.startswith("a is next")
    assert f'<p class="headline">{reason}.</p>' in client("GET", "/e/spring/explain").data.decode()


def test_one_experiment_that_cannot_be_read_does_not_hide_the_others(client: Client, tmp_path: Path) -> None:
    client.create()
    client.create(name="bad")
    import sqlite3

    with sqlite3.connect(tmp_path / "test.db") as connection:
        connection.execute("UPDATE mobai_events SET body = '{}' WHERE seq = 1 AND experiment = 2")
    connection.close()
    with running(f"sqlite:///{tmp_path / 'test.db'}") as (again, _):
        html = again("GET", "/").data.decode()
        assert "cannot be read" in html
        assert "Nothing has been reported yet." in html
        rows = {row["name"]: row["state"] for row in again("GET", API).json["experiments"]}
        assert rows == {"spring": "running", "bad": "unreadable"}


def test_pages_say_on_pages_what_is_wrong(client: Client) -> None:
    for method, path, code in (("GET", "/e/x/why", 404), ("GET", "/nothing", 404), ("DELETE", "/new", 405)):
        reply = client(method, path, **PAGE)
        assert (reply.code, reply.headers["content-type"]) == (code, "text/html; charset=utf-8")
        assert "<h1>That does not work</h1>" in reply.data.decode()
        assert client(method, path).headers["content-type"] == "application/problem+json"
    assert client("GET", "/api/v1/nothing", **PAGE).headers["content-type"] == "application/problem+json"
    assert send(client, "/new", b"name=%ff%fe").code == 422
    assert client("GET", "/?skip=99999999999999999999999").code == 200
    assert send(client, "/settings/webhooks/test", {"name": "none"}).code == 404
    bad = send(client, "/settings/webhooks", {"webhook-name": "x", "url": "https://[bad"})
    assert (bad.code, list(errors(bad))) == (422, ["url"])


def test_who_may_what(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    journal = SqlJournal(address, create=True)
    secrets = {
        "read": create_token(journal, "read", "read"),
        "tell": create_token(journal, "tell", "tell"),
        "some": create_token(journal, "some", "admin", only="spring*"),
    }
    Experiment.create(journal, "spring", ["A", "B"], ["m:bernoulli"])
    posts = ["/demo", "/new", "/new/plan", "/e/spring/do/pause", "/settings/tokens", "/settings/tokens/revoke"]
    posts += ["/settings/webhooks", "/settings/webhooks/remove", "/settings/webhooks/test"]
    with running(address) as (client, _):
        for who in ("read", "tell"):
            known = Client(client.port, secrets[who])
            assert {send(known, path, {}).code for path in posts} == {403}
            assert {known("GET", path).code for path in ("/new", "/settings", "/e/spring/do/pause")} == {403}
        some = Client(client.port, secrets["some"])
        assert {send(some, path, {}).code for path in posts if "settings" in path or path == "/demo"} == {403}
        outside = send(some, "/new", {**BASE, "name": "autumn"})
        assert (outside.code, errors(outside)["name"]) == (422, "The token is for experiments named spring* only.")
        assert 'action="/demo"' not in some("GET", "/").data.decode()
        # Nobody: pages lead to the login, forms are not thrown away.
        assert client("GET", "/new").headers["location"] == "/login?next=/new"
        lost = send(client, "/new", BASE)
        assert (lost.code, "what you typed is still there" in lost.data.decode()) == (401, True)
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
            assert send(some, "/e/spring/do/pause", {}, **headers).code == 403
        for then in ("//evil.example", "/\\evil.example", "https://evil.example", "/e/x?y=1", "javascript:alert(1)"):
            answer = send(client, "/login", {"token": secrets["some"], "next": then})
            assert (answer.code, answer.headers["location"]) == (303, "/")
        assert send(client, "/login", {"token": secrets["some"], "next": "/e/a%20b"}).headers["location"] == "/e/a%20b"


def test_read_only(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'x.db'}"
    Experiment.create(address, "spring", ["A", "B"], ["m:bernoulli"])
    with running(address, read_only=True) as (client, _):
        assert {client("GET", path).code for path in ("/new", "/settings", "/e/spring/do/pause")} == {403}
        assert {send(client, path, BASE).code for path in ("/new", "/demo", "/e/spring/do/pause")} == {403}
        html = client("GET", "/e/spring").data.decode()
        assert "do/pause" not in html
        assert 'href="/new"' not in html
