"""What is known beforehand: problems, instances, objectives, families."""

from mobai.problem.design import Design
from mobai.problem.families import (
    Bernoulli,
    Bounded,
    Family,
    Gaussian,
    Quantile,
    Ratio,
    SharedVariance,
    SubGaussian,
    UnknownVariance,
    Wins,
)
from mobai.problem.guardrail import Guardrail
from mobai.problem.instance import Instance
from mobai.problem.objective import Objective
from mobai.problem.problem import Arm, FloatArray, IntArray, Problem

__all__ = [
    "Arm",
    "Bernoulli",
    "Bounded",
    "Design",
    "Family",
    "FloatArray",
    "Gaussian",
    "Guardrail",
    "Instance",
    "IntArray",
    "Objective",
    "Problem",
    "Quantile",
    "Ratio",
    "SharedVariance",
    "SubGaussian",
    "UnknownVariance",
    "Wins",
]
