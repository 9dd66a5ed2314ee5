"""Pages, as the server makes them: what they say, and that nothing in them can run that should not."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from tests.service.serving import API, Client, running

from mobai import Experiment
from mobai.service.tokens import create_token
from mobai.store.sql import SqlJournal

NASTY = '<img src=x onerror="alert(1)"> & co'


def decided(address: str, name: str) -> Experiment:
    test = Experiment.create(address, name, ["A", NASTY], ["click:bernoulli", "seconds:min:unknown-variance"])
    while not test.verdict().stopped:
        for one in test.ask(4):
            test.tell(one, {"click": float(one.arm != "A"), "seconds": one.id % 3 + 50 * (one.arm == "A")})
    return test


def test_an_empty_storage_says_what_to_do(client: Client) -> None:
    page = client("GET", "/")
    assert page.code == 200
    assert "mobai create spring" in page.data.decode()


def test_the_list_and_an_experiment(client: Client, tmp_path: Path) -> None:
    test = decided(f"sqlite:///{tmp_path / 'test.db'}", NASTY)
    client.create()
    index, shown = client("GET", "/").data.decode(), client("GET", f"/e/{quote(NASTY, safe='')}").data.decode()
    assert index.index("spring") < index.index("onerror")  # the newest first
    for html in (index, shown):
        assert re.findall("<img[^>]*>", html) == re.findall('<img src="/static/[0-9a-f]{12}/icon.svg"[^>]*>', html)
        assert "Decided, but NOT certified: &lt;img src=x onerror=" in html
        bare = re.sub('"[^"]*"', '""', html)
        assert not re.search(r"<[^>]* (style|on\w+)=", bare)  # the policy of contents would refuse it
        assert not re.findall(r"<script(?![^>]* src=)", html)
        assert "http://" not in html.replace(client.address, "")
    assert shown.count('<circle class="decided"') == 2 + 1  # and in the legend
    assert shown.count("(decided)</th>") == 2
    journal = client("GET", f"/e/{quote(NASTY, safe='')}/journal").data.decode()
    assert test.status().head in journal
    assert "<img src=x" not in journal


def test_what_is_not_there(client: Client) -> None:
    page = client("GET", "/e/nothing")
    assert (page.code, "There is no experiment of this name." in page.data.decode()) == (404, True)


def test_pages_lead_to_the_login(tmp_path: Path) -> None:
    journal = SqlJournal(f"sqlite:///{tmp_path / 'x.db'}")
    secret = create_token(journal, "one", "read", only="a*")
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, service):
        Experiment.create(service.experiments.journal, "a", ["A", "B"], ["x:bernoulli"])
        Experiment.create(service.experiments.journal, "b", ["A", "B"], ["x:bernoulli"])
        for path in ("/", "/e/a"):
            assert (client("GET", path).code, client("GET", path).headers["location"]) == (303, f"/login?next={path}")
        known = Client(client.port, secret)
        index = known("GET", "/").data.decode()
        assert '<a href="/e/a">a</a>' in index
        assert "/e/b" not in index
        refused = known("GET", "/e/b")
        assert (refused.code, "only" in refused.data.decode()) == (403, True)
        assert known("GET", f"{API}/a").code == 200
