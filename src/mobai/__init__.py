"""mobai: the best arm of every objective, with a stated error probability, in as few samples as possible.

>>> import mobai
>>> ads = mobai.Instance([[0.9, 0.1], [0.2, 0.8], [0.5, 0.4]], arms=["A", "B", "C"], objectives=["ctr", "margin"])
>>> round(mobai.lower_bound(ads).samples(delta=0.05))
193
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from mobai.version import __version__ as __version__

if TYPE_CHECKING:
    from mobai.engine import Policy, Session, Verdict
    from mobai.errors import ConvergenceError, InputError, StorageError, TieError
    from mobai.lab.results import Results
    from mobai.lab.simulate import simulate
    from mobai.lab.summary import Summary
    from mobai.lab.warm_up import compile_kernels
    from mobai.live.assignments import Assignment
    from mobai.live.experiment import Experiment
    from mobai.live.status import Status
    from mobai.live.storage import delete, experiment_names
    from mobai.problem import (
        Bernoulli,
        Bounded,
        Gaussian,
        Instance,
        Objective,
        Problem,
        SubGaussian,
        UnknownVariance,
    )
    from mobai.rules.sampling.d_tracking import DTracking
    from mobai.rules.sampling.frank_wolfe import FrankWolfeSampling
    from mobai.rules.sampling.mo_bai import MOBAI
    from mobai.rules.sampling.successive_elimination import SuccessiveElimination
    from mobai.rules.sampling.top_two import TopTwo
    from mobai.rules.sampling.track_and_stop import TrackAndStop
    from mobai.rules.sampling.uniform import Uniform
    from mobai.rules.stopping import GLR
    from mobai.theory.glr import glr_statistic
    from mobai.theory.intervals import Intervals
    from mobai.theory.lower_bound import LowerBound, lower_bound
    from mobai.theory.surrogate import Surrogate, surrogate_fallbacks, surrogate_proportions
    from mobai.theory.thresholds import threshold


# Silent unless somebody listens.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Each public name is imported on first use, so that "import mobai" stays light.
_HOMES = {
    "GLR": "mobai.rules.stopping",
    "MOBAI": "mobai.rules.sampling.mo_bai",
    "Assignment": "mobai.live.assignments",
    "Bernoulli": "mobai.problem",
    "Bounded": "mobai.problem",
    "ConvergenceError": "mobai.errors",
    "DTracking": "mobai.rules.sampling.d_tracking",
    "Experiment": "mobai.live.experiment",
    "FrankWolfeSampling": "mobai.rules.sampling.frank_wolfe",
    "Gaussian": "mobai.problem",
    "InputError": "mobai.errors",
    "Instance": "mobai.problem",
    "Intervals": "mobai.theory.intervals",
    "LowerBound": "mobai.theory.lower_bound",
    "Objective": "mobai.problem",
    "Policy": "mobai.engine",
    "Problem": "mobai.problem",
    "Results": "mobai.lab.results",
    "Session": "mobai.engine",
    "Status": "mobai.live.status",
    "StorageError": "mobai.errors",
    "SubGaussian": "mobai.problem",
    "SuccessiveElimination": "mobai.rules.sampling.successive_elimination",
    "Summary": "mobai.lab.summary",
    "Surrogate": "mobai.theory.surrogate",
    "TieError": "mobai.errors",
    "TopTwo": "mobai.rules.sampling.top_two",
    "TrackAndStop": "mobai.rules.sampling.track_and_stop",
    "Uniform": "mobai.rules.sampling.uniform",
    "UnknownVariance": "mobai.problem",
    "Verdict": "mobai.engine",
    "compile_kernels": "mobai.lab.warm_up",
    "delete": "mobai.live.storage",
    "experiment_names": "mobai.live.storage",
    "glr_statistic": "mobai.theory.glr",
    "lower_bound": "mobai.theory.lower_bound",
    "simulate": "mobai.lab.simulate",
    "surrogate_fallbacks": "mobai.theory.surrogate",
    "surrogate_proportions": "mobai.theory.surrogate",
    "threshold": "mobai.theory.thresholds",
}

__all__ = [
    "GLR",
    "MOBAI",
    "Assignment",
    "Bernoulli",
    "Bounded",
    "ConvergenceError",
    "DTracking",
    "Experiment",
    "FrankWolfeSampling",
    "Gaussian",
    "InputError",
    "Instance",
    "Intervals",
    "LowerBound",
    "Objective",
    "Policy",
    "Problem",
    "Results",
    "Session",
    "Status",
    "StorageError",
    "SubGaussian",
    "SuccessiveElimination",
    "Summary",
    "Surrogate",
    "TieError",
    "TopTwo",
    "TrackAndStop",
    "Uniform",
    "UnknownVariance",
    "Verdict",
    "compile_kernels",
    "delete",
    "experiment_names",
    "glr_statistic",
    "lower_bound",
    "simulate",
    "surrogate_fallbacks",
    "surrogate_proportions",
    "threshold",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'mobai' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
