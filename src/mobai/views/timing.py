"""What was timed, and what that proves: text, and files with the columns that readers of hyperfine's know."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
from typing import TYPE_CHECKING

from mobai.document import Table
from mobai.views.words import listed, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mobai.timing import Timing

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_WORDS = {"seconds": "faster", "user": "faster in user time", "memory": "smaller"}


def timing_lines(timing: Timing) -> list[str]:
    """Return what is proven, and what is not, in a sentence each."""
    rounds = plural(timing.rounds, "round")
    if timing.baseline is not None:
        lines = [_slower_line(timing, name, state) for name, state in timing.slower().items()]
        return [*lines, f"{'Interrupted after' if timing.ending == 'interrupted' else 'After'} {rounds}."]
    least = f" by {100 * timing.at_least:g} % at least" if timing.at_least else ""
    found = []
    for metric in timing.metrics:
        winner = timing.fastest[metric]
        if winner is None:
            what = "faster" if metric == "seconds" else _WORDS[metric]
            found.append(f"Open after {rounds}: nobody is proven {what}{least} than all others in most rounds.")
            continue
        others = [name for name in timing.names if name != winner]
        nearest = min(others, key=lambda name: timing.ratio(name, winner, metric)[0])
        ratio, low, high = timing.ratio(nearest, winner, metric)
        times = f"{nearest} takes {_times(ratio)} as much ({_span(low, high, _times)})"
        found.append(
            f"{winner} is {_WORDS[metric]}{least} than {'all others' if len(others) > 1 else nearest}, in most of "
            f"{rounds}, with an error probability of {100 * timing.delta:g} %; {times}."
        )
    if timing.ending == "interrupted":
        found.append("Interrupted: this is what there is.")
    return found


def _slower_line(timing: Timing, name: str, state: bool | None) -> str:
    assert timing.baseline is not None
    ratio, low, high = timing.ratio(name, timing.baseline)
    limit = f"{100 * timing.slower_by:g} %"
    said = {True: f"slower by more than {limit}", False: f"not slower by more than {limit}", None: "open"}[state]
    return f"{name}: {said}; takes {_times(ratio)} what {timing.baseline} takes ({_span(low, high, _times)})"


def timing_table(timing: Timing) -> Table:
    """Return what everything took: medians with intervals, and multiples of the fastest, or of the baseline."""
    best = timing.baseline or timing.best_looking()
    header = [
        "",
        "median",
        "interval",
        *_further(timing),
        "relative",
        "interval",
        "rounds won",
    ]
    return Table(header, [_row(timing, name, best) for name in timing.names], left=1)


def _further(timing: Timing) -> list[str]:
    """Return what else was measured and is worth a column."""
    known = {key: [one for name in timing.names for one in _known(timing, name, key)] for key in _MEASURED}
    told = {"user": False, "memory": max(known["memory"], default=0.0) > _LEAST_TOLD}
    return [key for key, values in known.items() if values and (key in timing.metrics or told[key])]


def _known(timing: Timing, name: str, key: str) -> list[float]:
    return [one for _, made in timing.runs[name] if (one := getattr(made, key)) is not None]


def _row(timing: Timing, name: str, best: str) -> list[str]:
    further = _further(timing)
    if not timing.runs[name]:
        return [name, *["-"] * (5 + len(further))]
    median, (low, high) = timing.median(name), timing.interval(name)
    size, _ = _unit(median)
    ratio, least, most = timing.ratio(name, best)
    won, of = timing.won(name, best)
    more = [_MEASURED[key](statistics.median(_known(timing, name, key))) for key in further]
    relative = ["1", "", ""] if name == best else [_times(ratio), _span(least, most, _number), f"{won} of {of}"]
    return [name, _seconds(median), _span(low / size, high / size, _number), *more, *relative]


def _span(low: float, high: float, say: Callable[[float], str]) -> str:
    return f"{say(low)}–{say(high)}" if high < math.inf else "unknown"


def _times(ratio: float) -> str:
    if math.isnan(ratio):
        return "?"
    return "∞" if ratio == math.inf else f"{ratio:.3g}×" if ratio < 10 else f"{ratio:,.0f}×"


def _unit(value: float) -> tuple[float, str]:
    return next(((size, unit) for size, unit in _UNITS if value >= size), _UNITS[-1])


def _number(value: float) -> str:
    return f"{value:.4g}"


def _seconds(value: float) -> str:
    size, unit = _unit(value)
    return f"{value / size:.4g} {unit}"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:,.1f} MB"


_LEAST_TOLD = 12e6  # bytes; what starts them takes ten megabytes
_MEASURED: dict[str, Callable[[float], str]] = {"user": _seconds, "memory": _megabytes}


def timing_json(timing: Timing, parameters: Mapping[str, Mapping[str, str]]) -> str:
    """Return everything as JSON: ``results`` as hyperfine has them, and under ``mobai`` what is proven."""
    results = [
        {
            "command": name,
            **_summary(timing, name),
            "times": timing.values(name),
            "memory_usage_byte": [made.memory for _, made in timing.runs[name]],
            "exit_codes": [made.code for _, made in timing.runs[name]],
            "rounds": [place for place, _ in timing.runs[name]],
            "parameters": dict(parameters.get(name, {})),
        }
        for name in timing.names
    ]
    best = timing.baseline or timing.best_looking()
    proven = {
        "delta": timing.delta,
        "at_least": timing.at_least,
        "rounds": timing.rounds,
        "ending": timing.ending,
        "fastest": timing.fastest if timing.baseline is None else None,
        "baseline": timing.baseline,
        "slower_by": timing.slower_by if timing.baseline is not None else None,
        "slower": timing.slower(),
        "ratios": {name: _ends(timing.ratio(name, best)) for name in timing.names if timing.runs[name]},
        "ratios_to": best,
        "medians": {name: _ends((timing.median(name), *timing.interval(name))) for name in timing.names},
        "said": timing_lines(timing),
    }
    return json.dumps({"results": results, "mobai": proven}, indent=2, allow_nan=False) + "\n"


def _ends(ends: tuple[float, float, float]) -> dict[str, float | None]:
    keys = ("median", "lower", "upper")
    return {key: value if math.isfinite(value) else None for key, value in zip(keys, ends, strict=True)}


def timing_csv(timing: Timing, parameters: Mapping[str, Mapping[str, str]]) -> str:
    """Return a row per command, with hyperfine's columns."""
    names = list(dict.fromkeys(name for one in parameters.values() for name in one))
    out = io.StringIO()
    columns = ("mean", "stddev", "median", "user", "system", "min", "max")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["command", *columns, *(f"parameter_{name}" for name in names)])
    for name in timing.names:
        facts, filled = _summary(timing, name), parameters.get(name, {})
        writer.writerow([name, *(facts[one] for one in columns), *(filled.get(one, "") for one in names)])
    return out.getvalue()


def timing_markdown(timing: Timing) -> str:
    """Return a table for a page, and what is proven."""
    best = timing.baseline or timing.best_looking()
    lines = ["| Command | Median | Min | Max | Relative |", "|:---|---:|---:|---:|---:|"]
    for name in timing.names:
        values = timing.values(name)
        if not values:
            continue
        low, high = timing.interval(name)
        ends = f" ({_span(low, high, _seconds)})" if high < math.inf else ""
        ratio, least, most = timing.ratio(name, best)
        relative = "1" if name == best else f"{_times(ratio)} ({_span(least, most, _times)})"
        shown = " ".join(name.replace("|", "\\|").split())
        cells = f"{_seconds(timing.median(name))}{ends} | {_seconds(min(values))} | {_seconds(max(values))}"
        lines.append(f"| `{shown}` | {cells} | {relative} |")
    return "\n".join([*lines, "", *(f"{line}  " for line in timing_lines(timing))]) + "\n"


def _summary(timing: Timing, name: str) -> dict[str, float | None]:
    """Return what hyperfine says of a command."""
    values = timing.values(name)
    if not values:
        return dict.fromkeys(("mean", "stddev", "median", "user", "system", "min", "max"))
    used = {
        key: [one for _, made in timing.runs[name] if (one := getattr(made, key)) is not None]
        for key in ("user", "system")
    }
    return {
        "mean": statistics.fmean(values),
        "stddev": statistics.stdev(values) if len(values) > 1 else None,
        "median": statistics.median(values),
        **{key: statistics.fmean(found) if found else None for key, found in used.items()},
        "min": min(values),
        "max": max(values),
    }


def slower_names(timing: Timing) -> str:
    """Return who is proven slower than the baseline, as a list."""
    return listed([name for name, state in timing.slower().items() if state])
