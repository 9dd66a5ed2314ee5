"""The simulations behind the reproduction: each a declared run, kept in a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from mobai.engine import Policy, pair_up
from mobai.lab.instances import find_instance
from mobai.lab.results import Results
from mobai.lab.simulate import Progress, simulate

SYNTHETIC = "synthetic:seed=0"
# The two readings of the paper's scaling of SNW: area as it is, and negated as the text says.
SNW, SNW_AS_WRITTEN = "snw:negate_area=false", "snw"
TENTH, TWENTIETH = 2.302585092994046, 2.995732273553991
LADDER = (1.0, TENTH, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0)
TABLES = (TENTH, TWENTIETH, 10.0, 50.0, 100.0)


@dataclass(frozen=True)
class Run:
    """One simulation: an instance, rules, thresholds, log(1/delta), how many trials.

    Rules that stop by themselves ignore the thresholds.
    """

    name: str
    instance: str
    rules: tuple[str, ...]
    thresholds: tuple[str, ...] = ("empirical",)
    log_inv_deltas: tuple[float, ...] = LADDER
    trials: int = 100
    max_pulls: int = 10_000_000

    def policies(self) -> list[Policy]:
        """Pair the rules with the thresholds."""
        return pair_up(self.rules, self.thresholds)

    def quick(self) -> Run:
        """Return a small version: three trials of at most 3,000 pulls."""
        return replace(self, trials=min(self.trials, 3), max_pulls=min(self.max_pulls, 3000))

    def execute(self, folder: Path, watch: Callable[[Progress], None] | None = None) -> Results:
        """Run what is missing in ``folder``, on all cores."""
        return simulate(
            find_instance(self.instance),
            self.policies(),
            log_inv_deltas=self.log_inv_deltas,
            trials=self.trials,
            seed=0,
            n_jobs=-1,
            max_pulls=self.max_pulls,
            out=folder / f"{self.name}.parquet",
            watch=watch,
        )


BOTH = ("empirical", "mixture")
EPSILONS = (1.0, 0.5, 0.2, 0.1, 0.05)

RUNS = {
    run.name: run
    for run in (
        Run("synthetic-eta", SYNTHETIC, ("mo-bai", "mo-bai:eta=0.5", "mo-bai:eta=1.0", "mo-bai:eta=2.0"), BOTH),
        Run(
            "synthetic-d-tracking",
            SYNTHETIC,
            ("d-tracking:iterations=5", "d-tracking:iterations=10", "d-tracking"),
        ),
        Run(
            "synthetic-printed-sign",
            SYNTHETIC,
            ("d-tracking:as_printed=true",),
            log_inv_deltas=(1.0, TENTH, 5.0),
            trials=10,
            max_pulls=50_000,
        ),
        Run("synthetic-others", SYNTHETIC, ("top-two", "mo-bai:refresh=every", "track-and-stop", "uniform"), BOTH),
        Run("synthetic-frank-wolfe", SYNTHETIC, ("frank-wolfe",), BOTH),
        Run("synthetic-theory", SYNTHETIC, ("top-two",), ("theory",), (TENTH,), trials=20),
        *(
            Run(
                f"synthetic-elimination-{delta}",
                SYNTHETIC,
                tuple(f"successive-elimination:delta={delta}{printed}" for printed in ("", ",as_printed=true")),
                log_inv_deltas=(x,),
                max_pulls=1_000_000,
            )
            for delta, x in ((0.1, TENTH), (0.05, TWENTIETH))
        ),
        Run("snw-mo-bai", SNW, ("mo-bai",), BOTH, TABLES),
        Run("snw-baseline", SNW, ("d-tracking", "d-tracking:start=previous"), log_inv_deltas=(TENTH, TWENTIETH)),
        Run("snw-baseline-20", SNW, ("d-tracking",), log_inv_deltas=(10.0, 50.0, 100.0), trials=50),
        Run("snw-baseline-100", SNW, ("d-tracking:iterations=100",), log_inv_deltas=(10.0, 50.0, 100.0), trials=20),
        Run(
            "snw-printed-sign",
            SNW,
            ("d-tracking:as_printed=true", "d-tracking:start=previous,as_printed=true"),
            log_inv_deltas=(TENTH, TWENTIETH),
            trials=10,
            max_pulls=20_000,
        ),
        *(
            Run(
                f"snw-elimination-{delta}",
                SNW,
                tuple(f"successive-elimination:delta={delta}{printed}" for printed in ("", ",as_printed=true")),
                log_inv_deltas=(x,),
                max_pulls=1_000_000,
            )
            for delta, x in ((0.1, TENTH), (0.05, TWENTIETH))
        ),
        Run(
            "snw-others",
            SNW,
            ("top-two", "mo-bai:refresh=every", "frank-wolfe", "track-and-stop", "uniform"),
            BOTH,
            TABLES,
        ),
        Run("snw-theory", SNW, ("top-two",), ("theory",), (TENTH,), trials=20),
        Run("snw-as-written", SNW_AS_WRITTEN, ("mo-bai", "top-two"), log_inv_deltas=TABLES),
        *(
            Run(f"remark-2-{eps}", f"remark2:eps={eps}", ("mo-bai", "top-two"), log_inv_deltas=(TENTH,))
            for eps in EPSILONS
        ),
    )
}
