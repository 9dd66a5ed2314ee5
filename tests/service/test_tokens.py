"""Tokens as they are kept, and how long they last."""

from __future__ import annotations

from pathlib import Path

import pytest

from mobai import InputError
from mobai.service.tokens import create_token, list_tokens, revoke_token, seconds_in
from mobai.store.sql import SqlJournal


def test_tokens_are_kept_as_hashes(journal: SqlJournal, tmp_path: Path) -> None:
    secret = create_token(journal, "ci", "tell", only="a*", expires="90d")
    journal.close()
    for file in tmp_path.iterdir():
        assert secret.encode() not in file.read_bytes()
    (row,) = list_tokens(journal)
    assert "hash" not in row
    assert (row["scope"], row["only"]) == ("tell", "a*")
    assert row["expires_at"] - row["created_at"] == 90 * 86400
    with pytest.raises(InputError, match="there is a token 'ci' already"):
        create_token(journal, "ci", "read")
    with pytest.raises(InputError, match="scope must be one of read, tell, admin, not 'root'"):
        create_token(journal, "x", "root")
    with pytest.raises(InputError, match="there is no token 'x'"):
        revoke_token(journal, "x")


@pytest.mark.parametrize(("text", "seconds"), [("90d", 90 * 86400), ("12h", 43200), ("30m", 1800), ("2w", 14 * 86400)])
def test_times(text: str, seconds: float) -> None:
    assert seconds_in(text) == seconds


@pytest.mark.parametrize("text", ["", "0d", "-1d", "1y", "d", "1.5h", "99999999d"])
def test_times_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="expires must be a time such as 90d, 12h or 30m"):
        seconds_in(text)
