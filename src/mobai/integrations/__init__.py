"""mobai where people already work: one module per tool, which brings its own extra and is imported by name.

None of them has statistics of its own: they are races and experiments with another way in.
"""
