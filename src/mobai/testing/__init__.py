"""Conformance suites: what every sampling rule, journal and experiment must do, those of anybody else included."""

from mobai.testing.experiment import check_experiment
from mobai.testing.journal import check_journal
from mobai.testing.sampling import check_sampling_rule

__all__ = ["check_experiment", "check_journal", "check_sampling_rule"]
