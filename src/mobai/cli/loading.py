"""How commands that are over after a call or two take an experiment up: without compiling, where that is quicker."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mobai.cli import screen
from mobai.errors import InputError
from mobai.kernels import interpret, interpreted
from mobai.kernels.jit.cache import is_cached
from mobai.live.storage import open_journal
from mobai.problem.codec import problem_of
from mobai.store.journal import Journal

if TYPE_CHECKING:
    from mobai.live.experiment import Experiment

# Loading compiled kernels takes about a second, compiling them most of a minute. As plain Python, a choice of the other
# rules takes milliseconds at (K, M) = (20, 10), and a report half of one; but evidence and intervals of these families
# take some ten milliseconds per arm.
_SLOW_IN_PYTHON = ("frank-wolfe", "d-tracking")
_SLOW_FAMILIES = ("bounded", "unknown-variance", "shared-variance", "quantile", "ratio")
_MOST_SLOW_PAIRS = 60
MOST_REPORTS = 2000


def load_experiment(storage: str | Journal, name: str, *, reports: int = 0) -> Experiment:
    """Load an experiment to report on this many assignments, or for something else that is soon over."""
    if isinstance(storage, str) and storage.startswith(("http://", "https://")):
        interpret()  # nothing is computed here but what is shown
        from mobai.live.experiment import Experiment

        return Experiment.load(storage, name)
    journal = open_journal(storage)
    begun = [first.body for first in journal.read(journal.find(name), most=1)]
    if not pays_to_compile(begun, reports):
        interpret()
    # Only now: importing it imports the kernels, one way or the other.
    with nullcontext() if interpreted() else screen.working("loading"):
        from mobai.live.experiment import Experiment

        return Experiment.load(journal, name)


def pays_to_compile(begun: list[Any], reports: int = 0) -> bool:
    """Whether a call on an experiment that began so is quicker with compiled kernels: its rule, its size, the reports.

    Where it is only large, they are loaded if they are there, not compiled for one call.
    """
    try:
        ((rule, problem),) = [(str(body["rule"]).partition(":")[0], problem_of(body)) for body in begun]
    except (KeyError, TypeError, ValueError, InputError):
        return False  # damaged, which loading it will say
    if reports > MOST_REPORTS or rule in _SLOW_IN_PYTHON:
        return True
    slow = sum(metric.family.word in _SLOW_FAMILIES for metric in problem.metrics)
    return problem.shape[0] * slow >= _MOST_SLOW_PAIRS and is_cached("betting.mean_bounds")
