"""Segments over HTTP, through the twin, and on their page."""

from __future__ import annotations

from tests.service.serving import API, Client

from mobai import Segments

BODY = {
    "name": "landing",
    "arms": ["A", "B"],
    "objectives": ["click:bernoulli", "seconds:min:bounded=0..60"],
    "segments": ["young", "old"],
    "shares": {"young": 0.25, "old": 0.75},
}


def test_segments_are_begun_and_looked_at_together(client: Client) -> None:
    made = client("POST", "/api/v1/segments", BODY)
    assert made.code == 201
    assert made.json["experiments"] == ["landing@young", "landing@old"]
    assert client("POST", "/api/v1/segments", BODY).code == 409
    given = client("POST", f"{API}/landing%40young/assignments", {"n": 4}).json["assignments"]
    reports = [{"assignment": one["assignment"], "metrics": {"click": 1, "seconds": 3}} for one in given]
    assert client("POST", f"{API}/landing%40young/reports", {"reports": reports}).code == 200
    found = client("GET", "/api/v1/segments/landing").json
    assert (found["pulls"], found["stopped"], found["delta"]) == (4, False, 0.05)
    assert found["segments"]["young"]["pulls"] == 4
    page = client("GET", "/segments/landing", Accept="text/html").data.decode()
    assert 'href="/e/landing%40young"' in page
    assert "0 of 4 answers decided" in page
    own = client("GET", "/e/landing%40young", Accept="text/html").data.decode()
    assert 'Segment young of <a href="/segments/landing">landing</a>' in own
    assert client("GET", "/api/v1/segments/nothing").code == 404
    assert client("GET", "/segments/nothing", Accept="text/html").code == 404


def test_what_cannot_be_is_refused(client: Client) -> None:
    for wrong in ({"segments": ["one"]}, {"segments": ["a", "a"]}, {"shares": {"young": 1}}, {"delta": 2}):
        assert client("POST", "/api/v1/segments", {**BODY, **wrong}).code == 422
    assert client("GET", API).json["total"] == 0


def test_the_twin_begins_and_reads_segments(client: Client) -> None:
    costs = {"A": 1.0, "B": 4.0}
    metrics = ["seconds:min:p90", "spent/visits:bounded=0..50/0..10"]
    made = Segments.create(
        client.address, "far", ["A", "B"], metrics, ["young", "old"], costs=costs, cost_unit="EUR", max_cost=100
    )
    (given,) = made.of("old").ask(1)
    made.of("old").tell(given, {"seconds": 2.5, "spent": 12.5, "visits": 2})
    found = Segments.load(client.address, "far").status()
    assert found.by_segment["old"].pulls == 1
    assert found.by_segment["old"].spending is not None
    assert found.by_segment["old"].spending.spent == costs[given.arm]
    assert found.delta == 0.05
    (record,) = [row for row in made["old"].records() if row["status"] == "answered"]
    page = client("GET", "/e/far%40old", Accept="text/html").data.decode()
    assert "{&#34;seconds&#34;: 1, &#34;spent&#34;: 1, &#34;visits&#34;: 1}" in page or '"visits": 1' in page
    assert (record["spent"], record["visits"], record["seconds p90"]) == (12.5, 2.0, 2.5)
