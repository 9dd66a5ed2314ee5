"""What is sent of each experiment, made anew only when its status is another one."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from mobai.live.experiment import Experiment
from mobai.service.experiments import OpenExperiments


class Rendered(NamedTuple):
    """Something as it is sent.

    ``stamp`` begins with the number of the last event, and is another one whenever the status is; ``last`` says that
    nothing will follow.
    """

    history: str
    stamp: str
    facts: dict[str, Any]
    data: bytes
    last: bool = False


class Renderings:
    """The last rendering of every experiment, of what ``make`` returns. Calls block, and may come from any thread."""

    def __init__(self, experiments: OpenExperiments, make: Callable[[Experiment], dict[str, Any]]) -> None:
        self._experiments, self._make = experiments, make
        self._known: dict[str, Rendered] = {}

    def __call__(self, name: str) -> Rendered:
        """Return an experiment as it is sent now."""
        return self._experiments.read(name, lambda experiment: self._look(name, experiment))

    def _look(self, name: str, experiment: Experiment) -> Rendered:
        history, stamp = experiment.history_id, experiment.stamp()[1]
        known = self._known.get(name)
        if known is None or (known.history, known.stamp) != (history, stamp):
            facts = {**self._make(experiment), "stamp": stamp}
            known = Rendered(history, stamp, facts, to_json(facts), facts["state"] == "closed")
            self._known[name] = known
        return known

    def forget(self, name: str) -> None:
        """Forget an experiment that was deleted."""
        self._known.pop(name, None)


def to_json(facts: Any) -> bytes:
    """Return plain data as JSON."""
    return json.dumps(facts, allow_nan=False, separators=(",", ":")).encode()
