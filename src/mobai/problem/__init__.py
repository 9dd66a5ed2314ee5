"""What is known beforehand and what has been seen: problems, instances, objectives, tallies."""

from mobai.problem.family import Bernoulli, Bounded, Family, Gaussian, SubGaussian, UnknownVariance
from mobai.problem.instance import Instance
from mobai.problem.objective import Objective
from mobai.problem.problem import FloatArray, IntArray, Problem
from mobai.problem.tally import Tally

__all__ = [
    "Bernoulli",
    "Bounded",
    "Family",
    "FloatArray",
    "Gaussian",
    "Instance",
    "IntArray",
    "Objective",
    "Problem",
    "SubGaussian",
    "Tally",
    "UnknownVariance",
]
