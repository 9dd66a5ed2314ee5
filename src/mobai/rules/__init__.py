"""Sampling rules, stopping rules, and the catalogue of their names."""
