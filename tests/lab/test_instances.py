from __future__ import annotations

import numpy as np
import pytest

from mobai import InputError, lower_bound
from mobai.lab.instances import BUILT_IN, find_instance, remark2, snw, synthetic


def test_synthetic_is_the_papers() -> None:
    instance = synthetic(seed=3)
    means = instance.means
    assert instance.shape == (20, 10)
    diagonal = means[np.arange(10), np.arange(10)]
    assert ((diagonal >= 1.2) & (diagonal <= 2)).all()
    off = means[~np.eye(20, 10, dtype=bool)]
    assert ((off >= 0) & (off <= 1)).all()
    assert (instance.gaps[instance.gaps > 0] > 0.2).all()
    assert synthetic(3) == instance != synthetic(4)
    with pytest.raises(InputError, match="objectives must be between 1 and the number of arms"):
        synthetic(arms=3, objectives=4)


def test_snw_readings() -> None:
    """Both readings of the paper's scaling, and the values of c* that tell them apart."""
    as_text, plain = snw(), snw(negate_area=False)
    assert as_text.shape == (206, 2)
    assert (as_text.means[:, 0] == -plain.means[:, 0]).all()
    assert lower_bound(as_text).value == pytest.approx(723.42, abs=0.01)
    assert lower_bound(plain).value == pytest.approx(51.508, abs=0.001)


def test_remark2() -> None:
    assert remark2(0.5).best_arms.tolist() == [0, 1, 1]
    assert remark2().pareto_arms.tolist() == [0, 1]


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_instances_are_complete(name: str) -> None:
    assert find_instance(name).best_arms.shape[0] >= 2


def test_finding() -> None:
    assert find_instance("synthetic:seed=2,arms=5,objectives=3").shape == (5, 3)
    with pytest.raises(InputError, match="does not take these options"):
        find_instance("snw:colour=red")
    with pytest.raises(InputError, match="neither an instance file"):
        find_instance("nowhere")
