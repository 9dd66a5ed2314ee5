"""Whole experiments as compiled loops, and the sampling rules in them."""
