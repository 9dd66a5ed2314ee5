"""Rules by name and options."""

from __future__ import annotations

import pytest

from mobai import (
    InputError,
)
from mobai.rules.catalogue import parse_spec, sampling_rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "rule must be one of top-two, .*, uniform or package.module:Class, not 'nothing'"),
        ("mo-bai:eta=0", "eta must be positive"),
        ("mo-bai:eta=true", "eta must be a number from 0 to 1e\\+06, not True"),
        ("mo-bai:eta=x", "eta must be a number from 0 to 1e\\+06"),
        ("mo-bai:refresh=never", "refresh must be 'doubling' or 'every', not 'never'"),
        ("uniform:eta=1", "rule 'uniform' does not take the option eta; it takes none"),
        ("d-tracking:iterations=0", "iterations must be a whole number, 1 or more, not 0"),
        ("d-tracking:start=here", "start must be 'uniform' or 'previous', not 'here'"),
        ("d-tracking:as_printed=1", "as_printed must be true or false, not 1"),
        ("track-and-stop:growth=-1", "growth must be a number from 0 to 10, not -1"),
        ("successive-elimination", "needs the option delta, as in successive-elimination:delta=0.1"),
        ("successive-elimination:delta=2", "delta must be a number between 0 and 1"),
        ("successive-elimination:delta=0.1,as_printed=2", "as_printed must be true or false, not 2"),
        ("mo-bai:eta", "options are written key=value, not 'eta'"),
    ],
)
def test_bad_rules(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sampling_rule(text)


def test_values_of_options() -> None:
    assert parse_spec("a:b=1,c=0.5,d=true,e=x") == ("a", {"b": 1, "c": 0.5, "d": True, "e": "x"})
