"""Conformance suites: what every sampling rule must do, for rules of this project and of anybody else."""

from mobai.testing.sampling import check_sampling_rule

__all__ = ["check_sampling_rule"]
