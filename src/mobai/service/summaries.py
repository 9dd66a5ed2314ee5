"""Experiments in a list: what is said of each, kept as long as its journal does not grow."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from mobai import views
from mobai.live import codec
from mobai.live.experiment import Experiment
from mobai.live.status import Status
from mobai.service.experiments import OpenExperiments
from mobai.store.journal import Last

# How long something is kept that may change without an event: assignments that expire, an end in time.
_SECONDS_KEPT = 10.0


class ExperimentSummary(NamedTuple):
    """What is said of an experiment in the list of the API, and on the first page, of which journal, and when."""

    last: Last
    at: float
    passes: bool
    facts: dict[str, Any]
    row: dict[str, Any]


class Summaries:
    """The last summary of every experiment. Calls block, and may come from any thread."""

    def __init__(self, experiments: OpenExperiments) -> None:
        self._experiments = experiments
        self._known: dict[tuple[str, str, int], ExperimentSummary] = {}

    def __call__(self, name: str) -> ExperimentSummary:
        """Return the summary of an experiment; it is not even loaded if its journal is as it was."""
        return self._experiments.retried(lambda: self._look(name), name)

    def _look(self, name: str) -> ExperimentSummary:
        journal = self._experiments.journal
        handle = journal.find(name)
        key, last = (journal.identity, name, handle.number), journal.last(handle)
        known = self._known.get(key)
        if known is not None and known.last == last and (not known.passes or time.time() < known.at + _SECONDS_KEPT):
            return known
        made = self._experiments.read(name, lambda experiment: _summary(experiment, last))
        self._known[key] = made
        return made

    def forget(self, name: str) -> None:
        """Forget an experiment that was deleted."""
        for key in [key for key in self._known if key[1] == name]:
            self._known.pop(key, None)


def _summary(experiment: Experiment, last: Last) -> ExperimentSummary:
    status, settings = experiment.status(), experiment.settings
    passes = status.closed_at is None and (settings.until is not None or settings.expire_after is not None)
    return ExperimentSummary(last, time.time(), passes, codec.status_summary(status), _row(status))


def _row(status: Status) -> dict[str, Any]:
    """Return what the first page says besides."""
    verdict = status.verdict
    open_ones = [m for m, decision in enumerate(verdict.decisions) if decision is None]
    slowest = min(open_ones, key=lambda m: float(verdict.evidence[m] / verdict.threshold[m]), default=None)
    share = 1.0 if slowest is None else max(float(verdict.evidence[slowest] / verdict.threshold[slowest]), 0.0)
    return {
        "headline": views.headline(status),
        "slowest": None if slowest is None else verdict.problem.objective_names[slowest],
        "share": f"{share:.0%}",
        "bar": views.progress_bar(share),
        "last": None if status.last_report_at is None else views.moment_text(status.last_report_at),
    }
