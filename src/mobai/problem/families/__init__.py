"""What is known about the rewards of an objective: the family that their distribution belongs to.

A family says everything that depends on it: how it is written, which rewards are possible, how to draw them in a
simulation, and which *model* the kernels weigh its evidence with (one of :data:`MODELS`). A family of your own derives
from :class:`Family` and names a model whose assumption it satisfies.
"""

from mobai.problem.families.base import MODELS, Family, FloatArray, is_number, stated_fields
from mobai.problem.families.bounded import LARGEST_BINS, Bernoulli, Bounded
from mobai.problem.families.catalogue import (
    FAMILIES,
    check_family,
    choices_for,
    parse_family,
    short_forms,
)
from mobai.problem.families.gaussian import Gaussian, SharedVariance, SubGaussian, UnknownVariance
from mobai.problem.families.quantile import Quantile, level_of, quantile_of
from mobai.problem.families.ratio import Ratio, parts_of, ranges_of
from mobai.problem.families.wins import Wins

__all__ = [
    "FAMILIES", "LARGEST_BINS", "MODELS", "Bernoulli", "Bounded", "Family", "FloatArray", "Gaussian", "Quantile",
    "Ratio", "SharedVariance", "SubGaussian", "UnknownVariance", "Wins", "check_family", "choices_for", "is_number",
    "level_of", "parse_family", "parts_of", "quantile_of", "ranges_of", "short_forms", "stated_fields",
]  # fmt: skip
