"""The JSON API: thin handlers. What they show comes from the views, what they do from ``Experiment``."""
