"""A simulation on a Dask cluster: the same results, to the last bit, as on one core.

python examples/cluster.py           (needs pip install 'mobai[cluster]')

Here the cluster is two processes on this machine; give ``Client`` the address of a scheduler for a real one.
"""

from __future__ import annotations

import joblib
from distributed import Client, LocalCluster

from mobai import Results, simulate
from mobai.lab.instances import synthetic


def main() -> Results:
    """Simulate on a cluster."""
    here = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **here) as cluster,
        Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        results = simulate(synthetic(seed=0, arms=6, objectives=3), ["top-two", "uniform"], deltas=[0.1], trials=20)
    print(results.summary())  # noqa: T201
    return results


if __name__ == "__main__":
    main()
