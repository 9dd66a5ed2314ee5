"""Simulation: built-in instances, environments, trials, results."""
