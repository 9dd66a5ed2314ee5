"""Conformance suites: what every sampling rule and every journal must do, those of anybody else included."""

from mobai.testing.journal import check_journal
from mobai.testing.sampling import check_sampling_rule

__all__ = ["check_journal", "check_sampling_rule"]
