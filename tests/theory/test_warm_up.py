from __future__ import annotations

from typing import Any

from mobai import compile_kernels
from mobai.kernels.oracle import solve_oracle
from mobai.kernels.surrogate import solve_surrogate


def test_every_entry_is_ready_afterwards() -> None:
    compile_kernels()
    entries: list[Any] = [solve_oracle, solve_surrogate]
    for entry in entries:
        assert len(entry.signatures) == 1
