"""Simulation: environments, trials and seeds."""
