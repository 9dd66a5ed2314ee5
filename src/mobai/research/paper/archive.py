"""Where a reproduction keeps its raw results, measurements and pictures."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mobai.lab.results import Results
from mobai.lab.summary import SummaryRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Archive:
    """A folder with ``raw/`` (results as Parquet, measurements as JSON) and ``figures/`` (PNG and SVG)."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.raw, self.figures = folder, folder / "raw", folder / "figures"
        self.raw.mkdir(parents=True, exist_ok=True)
        self.figures.mkdir(exist_ok=True)
        self._loaded: dict[str, Results] = {}
        self._summaries: dict[str, dict[tuple[str, str, float], SummaryRow]] = {}

    def results(self, run: str) -> Results:
        """Return the results of a run, read once."""
        if run not in self._loaded:
            self._loaded[run] = Results.load(self.raw / f"{run}.parquet")
        return self._loaded[run]

    def summary(self, run: str) -> dict[tuple[str, str, float], SummaryRow]:
        """Return a run's summary by rule, stopping rule and log(1/delta)."""
        if run not in self._summaries:
            rows = self.results(run).summary()
            self._summaries[run] = {(row.rule, row.stopping, row.log_inv_delta): row for row in rows}
        return self._summaries[run]

    def find(self, rule: str, stopping: str, x: float, *runs: str) -> SummaryRow | None:
        """Return a row from the first of some runs that has it."""
        for run in runs:
            row = self.summary(run).get((rule, stopping, x))
            if row is not None:
                return row
        return None

    def save_figure(self, figure: Figure, name: str) -> None:
        """Write a picture as PNG and as SVG."""
        figure.savefig(self.figures / f"{name}.png", dpi=130)
        figure.savefig(self.figures / f"{name}.svg", metadata={"Date": None})

    @cached_property
    def notes(self) -> dict[str, Any]:
        """What else was measured: seconds a run took, times of single programs."""
        path = self.raw / "notes.json"
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"seconds": {}}
        return found

    def write_notes(self) -> None:
        """Keep the notes."""
        (self.raw / "notes.json").write_text(json.dumps(self.notes, indent=2) + "\n", encoding="utf-8")
