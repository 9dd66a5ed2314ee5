"""The numbers of the paper's tables: mean stopping times as printed, and how many trials are behind them."""

from __future__ import annotations

from typing import NamedTuple


class Published(NamedTuple):
    """A cell of a table: the printed mean and what stands behind its plus-minus sign."""

    mean: float
    spread: float
    trials: int


# Table 1: milliseconds for one optimisation, K=20, M=10, SciPy on an Apple M1; by programs solved.
TABLE_1 = {
    "MO-BAI": (1, 10.0, 7.2),
    "Baseline, iter=5": (5, 41.0, 10.0),
    "Baseline, iter=10": (10, 92.2, 19.8),
    "Baseline, iter=20": (20, 184.3, 41.0),
}

# Table 2: SNW, by rule and log(1/delta).
TABLE_2 = {
    "mo-bai": {
        10.0: Published(1686.67, 21.03, 3),
        50.0: Published(5097.33, 90.78, 3),
        100.0: Published(8435.0, 115.23, 3),
    },
    "d-tracking:iterations=100": {
        10.0: Published(7428.0, 139.69, 3),
        50.0: Published(18612.67, 214.59, 3),
        100.0: Published(30914.33, 622.61, 3),
    },
    "d-tracking": {
        10.0: Published(10584.67, 313.52, 3),
        50.0: Published(37316.33, 406.90, 3),
        100.0: Published(65395.0, 602.98, 3),
    },
}

# Table 3: SNW, by rule and delta.
TABLE_3 = {
    "mo-bai": {0.1: Published(968.82, 58.21, 100), 0.05: Published(1023.77, 67.42, 100)},
    "d-tracking": {0.1: Published(4485.98, 124.92, 100), 0.05: Published(6168.29, 132.01, 100)},
    "d-tracking:start=previous": {0.1: Published(3841.05, 136.44, 100), 0.05: Published(4320.55, 128.26, 100)},
    "successive-elimination": {0.1: Published(2322.39, 461.54, 100), 0.05: Published(2411.16, 421.88, 100)},
}

NAMES = {
    "mo-bai": "MO-BAI",
    "d-tracking": "Baseline, iter=20",
    "d-tracking:iterations=100": "Baseline, iter=100",
    "d-tracking:start=previous": "Baseline-Non-Unif, iter=20",
    "successive-elimination": "MO-SE",
}
