"""One schema: what is stated in one place is in the JSON, in the API's documentation and in the twin."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any

from tests.live.rounds import new, run

from mobai.engine import Verdict
from mobai.live import codec
from mobai.live.status import Status
from mobai.service.answers import StatusOut, status_model
from mobai.views.facts import fact, facts_in, facts_json, facts_of


@dataclass(frozen=True, eq=False, kw_only=True)
class Longer(Status):
    weather: tuple[str, ...] = field(metadata=fact("Of every day.", list[str], write=list, read=tuple))


def test_a_field_is_added_in_one_place(monkeypatch: Any) -> None:
    test = new()
    run(test, 4)
    known = {one.name: getattr(test.status(), one.name) for one in fields(Status)}
    longer = Longer(**known, weather=("rain", "sun"))
    sent = json.loads(json.dumps(codec.status_json(longer), allow_nan=False))
    assert sent["weather"] == ["rain", "sun"]
    schema = status_model(Verdict, Longer).model_json_schema()["properties"]["weather"]
    assert (schema["description"], schema["type"]) == ("Of every day.", "array")
    monkeypatch.setattr(codec, "Status", Longer)
    back: Any = codec.status_of(sent, test.settings)
    assert back.weather == ("rain", "sun")


def test_there_and_back() -> None:
    test = new()
    run(test, 40)
    test.ask(2)
    test.pause()
    status = test.status()
    sent = json.loads(json.dumps(codec.status_json(status), allow_nan=False))
    again = codec.status_json(codec.status_of(sent, test.settings))
    assert json.loads(json.dumps(again)) == sent
    assert {*sent, "stamp"} == set(StatusOut.model_json_schema()["properties"])
    for kind, result in ((Status, status), (Verdict, status.verdict)):
        assert facts_of(kind, facts_json(result)).keys() == facts_in(kind).keys()
