"""Experiments on items and races behind a service: the same as those in a storage of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.service.serving import API, Client

import mobai
from mobai import ConflictError, Experiment, InputError

LEVELS = np.random.default_rng(5).random(100) * 0.6 + 0.1
METRICS = ["score:bounded=0..1", "seconds:min:wins"]


def measure(arm: str, item: str) -> dict[str, float | None]:
    n = int(item.rpartition(" ")[2])
    return {"score": float(LEVELS[n]) + 0.2 * (arm == "b"), "seconds": 1.0 + (arm == "b") + n % 3}


def test_created_asked_told_and_shown(client: Client) -> None:
    body = {"name": "items", "arms": ["a", "b"], "objectives": METRICS, "items": [f"item {n}" for n in range(100)]}
    assert client("POST", f"{API}", body).code == 201
    assert client("POST", f"{API}", body).code == 200
    assert client("POST", f"{API}", {**body, "items": 100}).code == 409
    asked = client("POST", f"{API}/items/assignments", {"n": 2}).json["assignments"]
    assert {one["arm"] for one in asked} == {"a", "b"}
    assert asked[0]["item"] == asked[1]["item"]
    assert [one["index"] for one in asked] == [0, 0]
    reports = [{"assignment": one["assignment"], "metrics": measure(one["arm"], one["item"])} for one in asked]
    again = client("POST", f"{API}/items/reports", {"reports": reports, "ask": 2}).json["assignments"]
    assert [one["index"] for one in again] == [1, 1]
    status = client("GET", f"{API}/items").json
    assert status["problem"]["items"] == 100
    assert {(one["objective"], one["arm"]) for one in status["standings"]} == {
        (metric.partition(":")[0], arm) for metric in METRICS for arm in "ab"
    }
    assert b"Who is left" in client("GET", "/e/items").data


def test_a_race_on_a_service_is_that_in_memory(client: Client) -> None:
    items = [f"item {n}" for n in range(100)]
    here = mobai.race(["a", "b"], items, measure, METRICS, baseline="a")
    there = mobai.race(["a", "b"], items, measure, METRICS, baseline="a", storage=client.address)
    assert there.winners == here.winners == {"score": "b", "seconds": "a"}
    assert there.rows() == here.rows()
    assert there.status.standings == here.status.standings
    assert there.status.hardest == here.status.hardest
    assert there.experiment.verify().intact
    assert mobai.race(["a", "b"], items, measure, METRICS, baseline="a", storage=client.address).made == there.made
    with pytest.raises(InputError, match="other items"):
        mobai.race(["a", "b"], items[:50], measure, METRICS, baseline="a", storage=client.address)


@pytest.mark.parametrize(
    "wrong", [{"items": 0}, {"items": "many"}, {"items": 5, "rounds": True}, {"items": ["a", "a"]}]
)
def test_wrong_items_are_refused(client: Client, wrong: dict[str, object]) -> None:
    body = {"name": "wrong", "arms": ["a", "b"], "objectives": METRICS, **wrong}
    reply = client("POST", f"{API}", body)
    assert reply.code == 422
    assert "items" in reply.json["detail"] or "rounds" in reply.json["detail"]


def test_rounds_for_visitors(client: Client) -> None:
    test = Experiment.create(client.address, "visitors", ["a", "b"], ["click:bernoulli"], rounds=True)
    given = [test.ask(unit=f"visitor {n}")[0] for n in range(4)]
    assert [one.index for one in given] == [0, 0, 1, 1]
    assert test.ask(unit="visitor 1") == [given[1]]
    test.tell_all([(one, {"click": n % 2}) for n, one in enumerate(given)])
    with pytest.raises(ConflictError, match="none can be added"):
        test.add_arm("c")
    assert [one.measured for one in test.status().standings] == [2, 2]
