"""A laboratory for the guarantee: simulations that try to break it, and controls that must be caught."""
