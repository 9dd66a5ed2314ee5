"""What samples cost, over HTTP and on the page."""

from __future__ import annotations

from tests.service.serving import API, Client

COSTS = {"small": 0.5, "large": 10, "other": 2}
ARMS = list(COSTS)


def test_over_http(client: Client) -> None:
    body = {
        "name": "paid",
        "arms": ARMS,
        "objectives": ["click:bernoulli"],
        "costs": COSTS,
        "cost_unit": "USD",
        "max_cost": 40,
    }
    assert client("POST", API, body).code == 201
    assert client("POST", API, body).code == 200
    assert client("POST", API, {**body, "costs": {**COSTS, "small": 1}}).code == 409
    client("POST", f"{API}/paid/assignments", {"n": 3})
    spending = client("GET", f"{API}/paid").json["spending"]
    assert (spending["most"], spending["unit"]) == (40, "USD")
    assert spending["spent"] > 0
    page = client("GET", "/e/paid", Accept="text/html").data.decode()
    assert "of 40 USD" in page
    bad = client("POST", API, {**body, "name": "other", "costs": {"small": 0, "large": 1, "other": 1}})
    assert (bad.code, "above 0" in bad.data.decode()) == (422, True)
