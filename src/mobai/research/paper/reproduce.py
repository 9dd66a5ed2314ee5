"""Every table and figure of the paper, run again, and the report about it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from mobai.document import Block, Heading, Paragraph, Table, to_html, to_markdown
from mobai.errors import InputError
from mobai.extras import need
from mobai.lab.simulate import Progress
from mobai.research.paper import figures, slips, tables, timing
from mobai.research.paper.archive import Archive
from mobai.research.paper.runs import EPSILONS, RUNS
from mobai.version import __version__
from mobai.views import chart_style

Watch = Callable[[str, Progress], None]


@dataclass(frozen=True)
class Chapter:
    """A section of the report: the runs it needs, and how it is written."""

    title: str
    runs: tuple[str, ...]
    write: Callable[[Archive], list[Block]]
    measure: Callable[[Archive], None] | None = None


_ELIMINATION = tuple(f"{data}-elimination-{delta}" for data in ("synthetic", "snw") for delta in (0.1, 0.05))

PARTS = {
    "table-1": Chapter("Table 1: time of one optimisation", (), timing.table_1, timing.measure_programs),
    "table-2": Chapter(
        "Table 2: SNW at small delta", ("snw-mo-bai", "snw-baseline-20", "snw-baseline-100"), tables.table_2
    ),
    "table-3": Chapter(
        "Table 3: SNW at practical delta",
        ("snw-mo-bai", "snw-baseline", "snw-elimination-0.1", "snw-elimination-0.05"),
        tables.table_3,
    ),
    "figure-1": Chapter(
        "Figure 1: synthetic data", ("synthetic-eta", "synthetic-d-tracking", "synthetic-others"), figures.figure_1
    ),
    "figure-2": Chapter("Figure 2: eta", ("synthetic-eta",), figures.figure_2),
    "readings": Chapter("SNW: two readings of the paper", ("snw-mo-bai", "snw-as-written"), tables.readings),
    "slips": Chapter(
        "The printed slips",
        (
            "synthetic-eta",
            "synthetic-d-tracking",
            "synthetic-printed-sign",
            "snw-mo-bai",
            "snw-baseline",
            "snw-baseline-20",
            "snw-baseline-100",
            "snw-printed-sign",
            *_ELIMINATION,
        ),
        slips.slips,
    ),
    "beyond": Chapter("Beyond the paper", tuple(run for runs in tables.BEYOND.values() for run in runs), tables.beyond),
    "theory": Chapter(
        "Theory, checked",
        ("synthetic-eta", "synthetic-others", *(f"remark-2-{eps}" for eps in EPSILONS)),
        figures.theory,
    ),
}


def reproduce(
    folder: str | Path, parts: Sequence[str] = (), *, quick: bool = False, watch: Watch | None = None
) -> Path:
    """Run what is missing for some parts (all by default), and write the report; returns its page.

    Parameters
    ----------
    folder
        Where raw results, figures and the report go. Finished trials found there are not run again.
    parts
        Names of :data:`PARTS`.
    quick
        At most three trials of at most 3,000 pulls each, in a folder of their own, and marked as such.
    watch
        Called with the name of the run after every trial.
    """
    wanted = _wanted(parts)
    for library in ("pyarrow", "matplotlib"):
        need(library)
    archive = Archive(Path(folder) / "quick" if quick else Path(folder))
    needed = dict.fromkeys(name for part in wanted.values() for name in part.runs)
    for name in needed:
        _execute(archive, name, quick, watch)
    for key, part in wanted.items():
        if part.measure is not None and key not in archive.notes:
            part.measure(archive)
            archive.write_notes()
    return write_report(archive, wanted, quick)


def _wanted(parts: Sequence[str]) -> dict[str, Chapter]:
    for name in parts:
        if name not in PARTS:
            raise InputError("part", f"must be one of {', '.join(PARTS)}, not {name!r}")
    return {name: part for name, part in PARTS.items() if name in parts or not parts}


def _execute(archive: Archive, name: str, quick: bool, watch: Watch | None) -> None:
    """Do one run, and note how long it took; Ctrl-C and a lost worker end the reproduction."""
    run, start = (RUNS[name].quick() if quick else RUNS[name]), time.monotonic()
    results = run.execute(archive.raw, None if watch is None else lambda progress: watch(name, progress))
    archive.notes["seconds"][name] = archive.notes["seconds"].get(name, 0.0) + time.monotonic() - start
    archive.write_notes()
    if results.ending == "interrupted":
        raise KeyboardInterrupt
    if results.ending is not None:
        raise InputError(f"{name}: {results.ending}; the same command goes on from there")


def write_report(archive: Archive, parts: dict[str, Chapter], quick: bool = False) -> Path:
    """Write the report as one HTML page and as Markdown."""
    title = "The paper, reproduced" + (" (QUICK: few trials, for a first look only)" if quick else "")
    blocks: list[Block] = [Heading(title, 1), Paragraph(_INTRODUCTION)]
    for part in parts.values():
        blocks += [Heading(part.title), *part.write(archive)]
    blocks += [Heading("Configuration"), *_configuration(archive, parts)]
    (archive.folder / "report.md").write_text(to_markdown(blocks), encoding="utf-8")
    page = archive.folder / "report.html"
    page.write_text(to_html(blocks, archive.figures, title, chart_style()), encoding="utf-8")
    return page


_INTRODUCTION = (
    "Chen, Karthik, Chee and Tan, Optimal Multi-Objective Best Arm Identification with Fixed Confidence: every table "
    "and figure, simulated again with mobai. Means come with 95 % Student intervals, error rates with 95 % "
    "Clopper-Pearson intervals. Threshold empirical is the paper's own, log((1 + log t)/delta), which is not proven; "
    "mixture is certified."
)


def _configuration(archive: Archive, parts: dict[str, Chapter]) -> list[Block]:
    """Say what was run, with what, and how long it took."""
    rows, total = [], 0.0
    for name in dict.fromkeys(run for part in parts.values() for run in part.runs):
        config, seconds = archive.results(name).config, archive.notes["seconds"].get(name, 0.0)
        total += seconds
        levels = ", ".join(f"{x:.4g}" for x in config["log_inv_deltas"])
        thresholds = ", ".join(dict.fromkeys(s for names in config["policies"].values() for s in names))
        rules = ", ".join(config["policies"])
        counts = (str(config["trials"]), f"{config['max_pulls']:,}", f"{seconds:.0f}")
        rows.append([name, RUNS[name].instance, rules, thresholds, levels, *counts])
    header = ["run", "instance", "rules", "thresholds", "log(1/delta)", "trials", "max pulls", "seconds"]
    names = ("numpy", "scipy", "numba", "joblib")
    versions = ", ".join([f"mobai {__version__}", *(f"{name} {version(name)}" for name in names)])
    machine = f"Python {platform.python_version()}, {platform.system()} on {platform.machine()}"
    text = f"Seed 0 everywhere. {versions}; {machine}. All runs together took {total / 60:.1f} minutes."
    return [Paragraph(text), Table(header, rows, left=5)]
