from __future__ import annotations

from mobai import compile_kernels
from mobai.kernels.oracle import solve_oracle
from mobai.kernels.surrogate import solve_surrogate


def test_every_entry_is_ready_afterwards() -> None:
    compile_kernels()
    for entry in (solve_oracle, solve_surrogate):
        assert len(entry.signatures) == 1  # type: ignore[attr-defined]
