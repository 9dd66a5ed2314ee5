"""Random instances for property tests."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from mobai import Instance


@st.composite
def instances(draw: st.DrawFn, most_arms: int = 7, most_objectives: int = 5, wide: bool = False) -> Instance:
    """Draw an instance with unique best arms; ``wide`` lets gaps and noise span many orders of magnitude."""
    arms = draw(st.integers(2, most_arms))
    objectives = draw(st.integers(1, most_objectives))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    means = rng.normal(size=(arms, objectives))
    sd = np.ones((arms, objectives))
    if wide:
        means = np.sign(means) * 10 ** rng.uniform(-6, 6, means.shape)
        sd = 10 ** rng.uniform(-2, 2, means.shape)
    return Instance(means, sd)
