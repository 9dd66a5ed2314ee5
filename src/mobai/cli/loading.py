"""How commands that are over after a call or two take an experiment up: without compiling, where that is quicker."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from mobai.cli import screen
from mobai.kernels import interpret, interpreted
from mobai.kernels.jit.cache import is_cached
from mobai.live.storage import open_journal
from mobai.store.journal import Journal

if TYPE_CHECKING:
    from mobai.live.experiment import Experiment

# Loading compiled kernels takes about a second, compiling them most of a minute. As plain Python, a choice of the other
# rules takes milliseconds at (K, M) = (20, 10), and a report half of one; but evidence and intervals of these families
# take some ten milliseconds per arm.
_SLOW_IN_PYTHON = ("frank-wolfe", "d-tracking")
_SLOW_FAMILIES = ("bounded", "unknown-variance", "shared-variance")
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
    must_compile = reports > MOST_REPORTS or any(slow in str(body) for body in begun for slow in _SLOW_IN_PYTHON)
    if not must_compile and not (_is_large(begun) and is_cached("betting.mean_bounds")):
        interpret()
    # Only now: importing it imports the kernels, one way or the other.
    with nullcontext() if interpreted() else screen.working("loading"):
        from mobai.live.experiment import Experiment

        return Experiment.load(journal, name)


def _is_large(begun: list[Any]) -> bool:
    """Whether an experiment is so large that loading compiled kernels, where there are some, pays for one call."""
    try:
        ((arms, objectives),) = [(body["arms"], body["objectives"]) for body in begun]
        slow = sum(any(family in str(objective) for family in _SLOW_FAMILIES) for objective in objectives)
        return len(arms) * slow >= _MOST_SLOW_PAIRS
    except (KeyError, TypeError, ValueError):
        return False  # damaged, which loading it will say
