"""The API: what each call does, and how it is refused."""

from __future__ import annotations

import csv
import io
import json
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet
import pytest
from tests.service.serving import API, NEW, Client, running

from mobai import Experiment, delete
from mobai.live import codec


def ask(client: Client, n: int = 1, **headers: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client("POST", f"{API}/spring/assignments", {"n": n}, **headers).json["assignments"]
    return found


def tell(client: Client, number: int, **metrics: float | None) -> int:
    return client("POST", f"{API}/spring/reports", {"reports": [{"assignment": number, "metrics": metrics}]}).code


def test_creating_the_same_experiment_again_after_its_end(client: Client) -> None:
    """A worker that creates what it needs whenever it starts is not turned away by a date that was right once."""
    soon = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    body = {"name": "brief", "arms": ["A", "B"], "objectives": ["m:bernoulli"], "until": soon}
    assert client("POST", API, body).code == 201
    time.sleep(1.2)
    assert client("POST", API, body).code == 200
    late = client("POST", API, {**body, "name": "other"})
    assert (late.code, "still to come" in late.json["detail"]) == (422, True)
    assert client("POST", API, {**body, "delta": 0.1}).code == 409


def test_creating_the_same_experiment_again(client: Client) -> None:
    assert client("POST", API, NEW).code == 201
    assert client("POST", API, NEW).code == 200
    assert client("POST", API, {**NEW, "delta": 0.05, "guardrails": []}).code == 200
    other = client("POST", API, {**NEW, "delta": 0.1})
    assert (other.code, other.json["detail"]) == (409, "name: there is an experiment 'spring' already")
    assert other.json["errors"][0]["pointer"] == "#/name"


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        ({"arms": ["A"]}, "arms: list should have at least 2 items after validation, not 1"),
        ({"arms": ["A", "A"]}, "arms: names must be distinct, found 'A' more than once"),
        ({"objectives": ["click"]}, "metric 'click' does not say what its rewards are; write click:bernoulli"),
        ({"delta": 2}, "delta must be "),
        ({"rule": "os:getcwd"}, "rule: only rules that come with mobai can be named over HTTP"),
        ({"rule": "top-tow"}, "rule"),
        ({"colour": "red"}, "colour: extra inputs are not permitted"),
        ({"seed": "1"}, "seed: input should be a valid integer"),
        ({"until": "tomorrow"}, "until must be a time such as"),
        ({"name": " "}, "name must be a non-empty string"),
    ],
)
def test_experiments_that_cannot_be(client: Client, change: dict[str, Any], detail: str) -> None:
    found = client("POST", API, {**NEW, **change})
    assert found.code == 422
    assert found.headers["content-type"] == "application/problem+json"
    assert found.json["detail"].startswith(detail), found.json
    assert client("GET", API).json["total"] == 0


def test_ask_and_tell(client: Client) -> None:
    client.create()
    (one,) = ask(client)
    assert one == {"assignment": 1, "arm": "A"}
    report = {"assignment": 1, "arm": "A", "metrics": {"click": 1, "seconds": 3.5}}
    found = client("POST", f"{API}/spring/reports", {"reports": [report], "ask": 2})
    assert [one["assignment"] for one in found.json["assignments"]] == [2, 3]
    assert found.json["stopped"] is False
    again = client("POST", f"{API}/spring/reports", {"reports": [report]})
    assert (again.code, again.json["assignments"]) == (200, [])
    status = client("GET", f"{API}/spring").json
    assert (status["pulls"], status["pending"], status["events"]) == (1, 2, 4)


def test_a_bad_report_fails_its_own_request_alone_and_whole(client: Client) -> None:
    client.create()
    ask(client, 3)
    rows = [{"assignment": 1, "metrics": {"click": 1}}, {"assignment": 2, "metrics": {"click": 0.5}}]
    found = client("POST", f"{API}/spring/reports", {"reports": rows})
    assert found.code == 422
    assert found.json["detail"] == "assignment 2: metric 'click' must be 0 or 1, not 0.5"
    assert found.json["errors"][0]["pointer"] == "#/reports/1"
    assert client("GET", f"{API}/spring").json["pulls"] == 0
    contradiction = [{"assignment": 1, "metrics": {"click": 1}}, {"assignment": 1, "metrics": {"click": 0}}]
    assert client("POST", f"{API}/spring/reports", {"reports": contradiction}).code == 409
    missing = [rows[0], {"assignment": 9, "metrics": {"click": 1}}]
    unknown = client("POST", f"{API}/spring/reports", {"reports": missing})
    assert (unknown.code, unknown.json["errors"][0]["pointer"]) == (404, "#/reports/1")
    assert client("POST", f"{API}/spring/reports", {"reports": [{"unit": "x", "metrics": {"click": 1}}]}).code == 404
    mismatch = [{"assignment": 1, "arm": "B", "metrics": {"click": 1}}]
    assert client("POST", f"{API}/spring/reports", {"reports": mismatch}).code == 422
    assert client("GET", f"{API}/spring").json["pulls"] == 0


def test_units_are_sticky(client: Client) -> None:
    client.create()
    path = f"{API}/spring/units/a%2Fb%20%C3%A9"
    first, second = client("PUT", path), client("PUT", path, {"if_decided": "stop"})
    assert (first.code, second.code) == (201, 200)
    assert first.json["assignments"] == second.json["assignments"]
    assert (
        client("POST", f"{API}/spring/reports", {"reports": [{"unit": "a/b é", "metrics": {"click": 1}}]}).code == 200
    )
    assert client("DELETE", f"{API}/spring/units/nobody").code == 404
    other = client("PUT", f"{API}/spring/units/other").json["assignments"][0]
    assert client("DELETE", f"{API}/spring/units/other").code == 204
    assert tell(client, other["assignment"], click=1) == 409


def test_keys_make_calls_safe_to_repeat(client: Client) -> None:
    client.create()
    first = ask(client, 2, Idempotency_Key="one")
    assert ask(client, 2, Idempotency_Key='"one"') == first
    assert client("POST", f"{API}/spring/assignments", {"n": 3}, Idempotency_Key="one").code == 409
    body = {"observations": [{"arm": "A", "metrics": {"click": 1}}]}
    for _ in range(2):
        assert client("POST", f"{API}/spring/observations", body, Idempotency_Key="two").code == 200
    other = {"observations": [{"arm": "B", "metrics": {"click": 0}}]}
    for key in ("one", "two"):
        assert client("POST", f"{API}/spring/observations", other, Idempotency_Key=key).code == 409
    report = {"reports": [{"assignment": 1, "metrics": {"click": 1}}], "ask": 2}
    for key in ("one", "two"):
        assert client("POST", f"{API}/spring/reports", report, Idempotency_Key=key).code == 409
    assert client("POST", f"{API}/spring/assignments", {"n": 1}, Idempotency_Key="two").code == 409
    assert client("POST", f"{API}/spring/reports", report, Idempotency_Key="three").code == 200
    assert client("POST", f"{API}/spring/reports", report, Idempotency_Key="three").code == 200
    other_report = {"reports": [{"assignment": 2, "metrics": {"click": 1}}], "ask": 2}
    assert client("POST", f"{API}/spring/reports", other_report, Idempotency_Key="three").code == 409
    assert client("GET", f"{API}/spring").json["pulls"] == 2
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(ask(client, 1, Idempotency_Key="many"))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert all(one == found[0] for one in found)
    assert client("GET", f"{API}/spring").json["pending"] == 1 + 2 + 1
    accents = [ask(client, 1, Idempotency_Key="é".encode().decode("latin-1")) for _ in range(2)]
    assert accents[0] == accents[1]
    assert client("GET", f"{API}/spring/events?after=1").json["events"][-1]["body"]["key"] == "é"


def test_administration(client: Client) -> None:
    client.create()
    path = f"{API}/spring"
    assert client("POST", f"{path}/arms", {"arm": "C"}).code == 204
    assert client("POST", f"{path}/arms", {"arm": "C"}).code == 409
    assert client("DELETE", f"{path}/arms/B?by=me").code == 204
    assert (
        client("DELETE", f"{path}/arms/A").json["detail"] == "arm: two arms are left, and none of them can be retired"
    )
    assert client("POST", f"{path}/pause", {"by": "me"}).code == 204
    paused = client("POST", f"{path}/assignments")
    assert (paused.code, client("GET", path).json["state"]) == (409, "paused")
    assert client("POST", f"{path}/resume").code == 204
    number = ask(client)[0]["assignment"]
    assert client("DELETE", f"{path}/assignments/{number}").code == 204
    told = {"reports": [{"assignment": ask(client)[0]["assignment"], "metrics": {"click": 1}}]}
    assert client("POST", f"{path}/reports", told).code == 200
    assert client("POST", f"{path}/close").code == 204
    assert client("POST", f"{path}/reports", told).code == 200  # told before: changes nothing
    assert client("POST", f"{path}/assignments").json["detail"] == "name: the experiment is closed"
    events = client("GET", f"{path}/events?after=1").json["events"]
    kinds = ["arm_added", "arm_retired", "paused", "resumed", "asked", "dropped", "asked", "told", "closed"]
    assert [event["kind"] for event in events] == kinds
    assert events[1]["body"]["by"] == events[2]["body"]["by"] == "me"
    assert client("DELETE", path).code == 204
    assert client("GET", path).code == 404


def test_the_status_and_its_tag(client: Client, tmp_path: Path) -> None:
    client.create()
    path = f"{API}/spring"
    first = client("GET", path)
    local = Experiment.load(f"sqlite:///{tmp_path / 'test.db'}", "spring")
    facts = json.loads(json.dumps(codec.status_json(local.status())))
    assert {key: value for key, value in first.json.items() if key != "stamp"} == facts
    assert client("GET", path, If_None_Match=first.headers["etag"]).code == 304
    local.ask()  # by another process than the service
    second = client("GET", path, If_None_Match=first.headers["etag"])
    assert (second.code, second.json["pending"]) == (200, 1)


def test_looking(client: Client, tmp_path: Path) -> None:
    client.create()
    for one in ask(client, 8):
        tell(client, one["assignment"], click=one["assignment"] % 2, seconds=one["assignment"] / 2)
    local = Experiment.load(f"sqlite:///{tmp_path / 'test.db'}", "spring")
    path = f"{API}/spring"
    assert client("GET", f"{path}/series").json == json.loads(json.dumps(codec.series_json(local.series())))
    found = client("GET", f"{path}/explain").json
    assert found == {**codec.explanation_json(local.explain()), "total": len(found["pairs"])}
    assert client("GET", f"{path}/settings").json["settings"]["objectives"] == NEW["objectives"]
    events = client("GET", f"{path}/events").json["events"]
    assert [(one["seq"], one["hash"]) for one in events] == [(one.seq, one.hash) for one in local.history()]
    page = client("GET", f"{path}/events?after=2&limit=3").json["events"]
    assert [one["seq"] for one in page] == [3, 4, 5]
    assert client("GET", f"{path}/events?limit=0").code == 422
    assert client("GET", f"{path}/events?after=999999999999").json == {"events": []}


def test_exports_are_complete(client: Client, tmp_path: Path) -> None:
    client.create()
    ask(client, 5)
    client("PUT", f"{API}/spring/units/%3Dcmd")
    tell(client, 2, click=1, seconds=None)
    local = Experiment.load(f"sqlite:///{tmp_path / 'test.db'}", "spring")
    expected = local.records()
    assert expected[5]["unit"] == "=cmd"
    path = f"{API}/spring/assignments"
    lines = client("GET", f"{path}.jsonl").data.splitlines()
    assert [json.loads(line) for line in lines] == expected
    rows = list(csv.DictReader(io.StringIO(client("GET", f"{path}.csv?raw=true").data.decode())))
    assert [row["id"] for row in rows] == [str(n) for n in range(1, 7)]
    assert (rows[1]["click"], rows[1]["seconds"], rows[5]["unit"]) == ("1.0", "", "=cmd")
    assert "'=cmd" in client("GET", f"{path}.csv").data.decode()
    table = pyarrow.parquet.read_table(io.BytesIO(client("GET", f"{path}.parquet").data))
    assert table.to_pylist() == expected


def test_lists_are_paged(client: Client) -> None:
    for number in range(5):
        client.create(name=f"test {number}")
    page = client("GET", f"{API}?skip=1&limit=2").json
    assert [one["name"] for one in page["experiments"]] == ["test 1", "test 2"]
    assert (page["total"], page["more"]) == (5, True)
    assert client("GET", f"{API}?only=names&skip=4").json == {"names": ["test 4"], "total": 5, "more": False}
    assert client("GET", f"{API}?limit=9999").code == 422


def test_names_are_percent_encoded(client: Client) -> None:
    for name in ("a/b", "...", "%41", "ä ö", "a?b#c", "x" * 200):
        client.create(name=name)
        found = client("GET", f"{API}/{quote(name, safe='')}")
        assert (found.code, found.json["name"]) == (200, name)
    assert client("GET", f"{API}/a/b").code == 404
    assert client("GET", f"{API}/%ff").code == 404
    assert client("GET", f"{API}/%252e%252e").code == 404


def test_an_experiment_of_another_process_is_found(client: Client, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'test.db'}"
    assert client("GET", f"{API}/other").code == 404
    Experiment.create(address, "other", ["A", "B"], ["x:bernoulli"])
    assert client("GET", f"{API}/other").code == 200


def test_two_services_share_a_storage(storage: str) -> None:
    with running(storage) as (one, _), running(storage) as (two, _):
        one.create()
        numbers = [ask(client)[0]["assignment"] for client in (one, two, one, two)]
        assert numbers == [1, 2, 3, 4]
        assert tell(two, 1, click=1) == tell(one, 1, click=1) == 200
        assert tell(one, 1, click=0) == 409
        assert one("GET", f"{API}/spring").headers["etag"] == two("GET", f"{API}/spring").headers["etag"]


def test_deleted_and_created_anew_under_a_service(client: Client, tmp_path: Path) -> None:
    client.create()
    ask(client, 4)
    delete(f"sqlite:///{tmp_path / 'test.db'}", "spring")
    assert client("POST", f"{API}/spring/assignments").code == 404
    Experiment.create(f"sqlite:///{tmp_path / 'test.db'}", "spring", ["C", "D"], ["click:bernoulli"])
    assert [one["arm"] for one in ask(client, 2)] == ["C", "D"]


def test_health(client: Client) -> None:
    assert client("GET", "/healthz").json == {"status": "alive"}
    assert client("GET", "/readyz").json == {"status": "ready"}
    assert "mobai" in client("GET", "/version").json
    assert client("GET", "/api/v1/storage/damage").json == {"damage": []}


def test_counts_name_routes_and_no_experiment(client: Client) -> None:
    client.create(name="secret-name")
    client("GET", f"{API}/secret-name")
    client("GET", f"{API}/secret-name/nothing/here")
    found = client("GET", "/metrics")
    text = found.data.decode()
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'mobai_requests_total{method="GET",route="/api/v1/experiments/{name}",code="200"} 1' in text
    assert 'route="(none)",code="404"} 1' in text
    assert "mobai_waiting_requests 0" in text
    assert "secret-name" not in text


def test_the_document_and_its_page(client: Client) -> None:
    document = client("GET", "/openapi.json").json
    assert document["openapi"].startswith("3.1")
    page = client("GET", "/docs")
    html = page.data.decode()
    for path in document["paths"]:
        assert f" {path}</code>" in html
    assert "http://" not in html.replace("http://127.0.0.1", "")
    assert "https://" not in html
    assert "unsafe" not in page.headers["content-security-policy"]
    assert client("GET", "/static/any/style.css").code == 200
    assert client("GET", "/static/any/..%2frendering.py").code == 404
