"""Conformance suites: what every sampling rule must do, for rules of this project and of anybody else."""

from mobai.testing.journal import check_journal
from mobai.testing.sampling import check_sampling_rule

__all__ = ["check_journal", "check_sampling_rule"]
