"""Experiments of a service, over HTTP: the same methods, nothing but the standard library."""
