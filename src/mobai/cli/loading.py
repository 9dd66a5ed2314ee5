"""How commands that are over after a call or two take an experiment up: without compiling, where that is quicker."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from mobai.cli import screen
from mobai.kernels import interpret, interpreted
from mobai.live.journal import Journal
from mobai.live.storage import open_journal

if TYPE_CHECKING:
    from mobai.live.experiment import Experiment

# Loading compiled kernels takes about a second, compiling them ten. As plain Python, a choice of the other rules takes
# milliseconds at (K, M) = (20, 10), and a report half of one.
_SLOW_IN_PYTHON = ("frank-wolfe", "d-tracking")
MOST_REPORTS = 2000


def load_experiment(storage: str | Journal, name: str, *, reports: int = 0) -> Experiment:
    """Load an experiment to report on this many assignments, or for something else that is soon over."""
    if isinstance(storage, str) and storage.startswith(("http://", "https://")):
        interpret()  # nothing is computed here but what is shown
        from mobai.live.experiment import Experiment

        return Experiment.load(storage, name)
    journal = open_journal(storage)
    rules = [str(first.body) for first in journal.read(journal.find(name), most=1)]
    if reports <= MOST_REPORTS and not any(slow in rule for rule in rules for slow in _SLOW_IN_PYTHON):
        interpret()
    # Only now: importing it imports the kernels, one way or the other.
    with nullcontext() if interpreted() else screen.working("loading"):
        from mobai.live.experiment import Experiment

        return Experiment.load(journal, name)
