"""``mobai audit``: try to break the guarantee, and see that broken rules are caught."""

from __future__ import annotations

from pathlib import Path

import click

from mobai.cli import screen
from mobai.cli.progress import Bar
from mobai.errors import InputError
from mobai.research.audit import report
from mobai.research.audit.audit import AuditFinding, run_cases
from mobai.research.audit.cases import all_cases


@click.command("audit")
@click.option("--quick", is_flag=True, help="A twentieth of the trials: a minute instead of a quarter of an hour.")
@click.option("--only", metavar="TEXT", help="Only cases whose family, instance or stopping rule contain this.")
@click.option("-j", "--jobs", type=int, default=1, show_default=True, help="Worker processes, -1 for all cores.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Fixes every trial.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder for report.md and report.html.")
def command(quick: bool, only: str | None, jobs: int, seed: int, out: Path | None) -> None:
    """Simulate every family and threshold where errors are likeliest, and known-invalid rules as controls."""
    if jobs == 0:
        raise InputError("jobs", "must be a number of workers, or -1 for all cores, not 0")
    cases = all_cases(0.05 if quick else 1.0)
    if only is not None:
        cases = [case for case in cases if only.lower() in f"{case.family} {case.name} {case.stopping.name}".lower()]
        if not cases:
            raise InputError("only", f"no case contains {only!r}")
    findings: list[AuditFinding] = []
    interrupted = False
    try:
        with Bar() as bar:
            for finding in run_cases(cases, seed, jobs, bar):
                findings.append(finding)
                screen.say("  ".join(report.cells(finding)))
    except KeyboardInterrupt:
        interrupted = True
    if out is not None and findings:
        report.write(findings, seed, out)
    if interrupted:
        raise click.Abort
    wrong = sum(not finding.passed for finding in findings)
    screen.say(f"{len(findings) - wrong} of {len(findings)} lines are as claimed")
    if wrong:
        raise click.exceptions.Exit(1)
