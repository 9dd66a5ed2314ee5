"""The API keeps to its own document: requests made from it, right and wrong ones, find nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import load_all_checks
from tests.service.serving import API, running

load_all_checks()


def test_requests_made_from_the_document(tmp_path: Path) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}") as (client, _):
        client.create()
        client("POST", f"{API}/spring/assignments", {"n": 20})
        schema: Any = schemathesis.openapi.from_url(f"{client.address}/openapi.json")
        tried = 0
        for result in schema.get_all_operations():
            operation = result.ok()
            if operation.path.endswith("/stream"):
                continue  # it does not end

            @settings(
                max_examples=15,
                deadline=None,
                database=None,
                derandomize=True,
                phases=[Phase.explicit, Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def requests(case: Any) -> None:
                nonlocal tried
                tried += 1
                case.call_and_validate(base_url=client.address, timeout=30)

            requests()
        assert tried > 200
        assert client("GET", "/healthz").code == 200


@pytest.mark.parametrize("path", ["/openapi.json", "/docs"])
def test_it_needs_no_token(tmp_path: Path, path: str) -> None:
    with running(f"sqlite:///{tmp_path / 'x.db'}", open_without_token=False) as (client, _):
        assert client("GET", path).code == 200
