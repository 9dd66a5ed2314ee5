"""What a log proves in every segment of its visitors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mobai.analysis.analyse import Analysis, analyse
from mobai.analysis.logs import columns_of
from mobai.errors import InputError
from mobai.problem import Objective
from mobai.problem.problem import read_objectives
from mobai.theory.confidence import check_small


def analyse_segments(
    data: Any,
    objectives: Sequence[Objective | str],
    segment: str,
    *,
    other: bool = False,
    delta: float = 0.05,
    **options: Any,
) -> dict[str, Analysis]:
    """Say what observations that are there prove in every segment, all under one delta.

    Parameters
    ----------
    data, objectives, options
        As for :func:`mobai.analyse`. Every segment must have two arms at least.
    segment
        The column that says which group a row's visitor is of. The groups must have been known beforehand: to look for
        one in which something is significant is not what this proves.
    other
        Whether rows in which the column is empty are a segment of their own, ``other``; they are refused otherwise.
    delta
        The error probability of all segments together.

    Examples
    --------
    >>> ages = ["young", "young", "old"]
    >>> rows = [{"arm": "AB"[n % 2], "click": (n + 1) % 2, "age": ages[n % 3]} for n in range(600)]
    >>> {age: found.verdict.answers for age, found in analyse_segments(rows, ["click:bernoulli"], "age").items()}
    {'old': ('A',), 'young': ('A',)}
    """
    check_small(delta)
    columns = columns_of(data)
    if not isinstance(segment, str) or segment not in columns:
        raise InputError("segment", f"there is no column {segment!r}; there are {', '.join(map(str, columns))}")
    read = [column for one in read_objectives(objectives) for column in (one.name, *one.columns)]
    if segment in (options.get("arm", "arm"), *read):
        raise InputError("segment", f"must be another column than those of the arm and the metrics, not {segment!r}")
    cells = [str(cell) if cell not in (None, "") else ("other" if other else "") for cell in columns[segment]]
    if "" in cells:
        raise InputError(
            segment, "is empty; say other=True (--other) to make these a segment of their own", row=cells.index("") + 1
        )
    names = sorted(set(cells))
    if len(names) < 2:
        raise InputError("segment", f"the column {segment!r} must name two segments at least, not {names}")
    given, found = dict(options), {}
    arm = given.get("arm", "arm")
    if given.get("arms") is None and arm in columns:
        given["arms"] = list(dict.fromkeys(map(str, columns[arm])))
    for name in names:
        places = [n for n, cell in enumerate(cells) if cell == name]
        rows = [{key: column[n] for key, column in columns.items()} for n in places]
        found[name] = analyse(rows, objectives, delta=delta / len(names), **given)
    return found
