"""Where numbers lie in a chart, and the few shapes that charts are drawn with."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

_ROOM = 0.04  # at the ends of a scale


class Scale:
    """Places numbers between the two ends of a chart, in percent."""

    def __init__(self, numbers: Iterable[float]) -> None:
        found = [number for number in numbers if math.isfinite(number)]
        low, high = (min(found), max(found)) if found else (0.0, 1.0)
        room = _ROOM * (high - low) or abs(high) or 1.0
        self.low, self.high = low - room, high + room

    def place(self, number: float) -> float:
        """Return where a number lies, from 0 to 100; what is beyond an end lies at it."""
        share = (number - self.low) / (self.high - self.low)
        return 100.0 * min(max(share, 0.0), 1.0) if not math.isnan(share) else 0.0

    @property
    def step(self) -> float:
        """The distance between two ticks: 1, 2 or 5 times a power of ten."""
        span = self.high - self.low
        step = 10.0 ** math.floor(math.log10(span / 3))
        return step * max(factor for factor in (1, 2, 5) if step * factor <= span / 3)

    def ticks(self) -> list[float]:
        """Return three to six round numbers between the ends."""
        step = self.step
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step) + 1)]

    def text(self, tick: float) -> str:
        """Return a tick as it is written at an axis: with as many digits as tell it from the next one."""
        decimals = max(-math.floor(math.log10(self.step) + 1e-9), 0)
        if decimals > 9 or abs(tick) >= 1e9:
            return f"{tick:.6g}"
        return f"{round(tick, decimals) + 0.0:,.{decimals}f}"


def svg(kind: str, content: str, space: str = "") -> str:
    """Return a picture that screen readers skip: what it shows is told in words, too."""
    return f'<svg class="{kind}" aria-hidden="true"{space}>{content}</svg>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a line between two places in percent."""
    return f'<line class="{kind}" x1="{x1:.4g}%" y1="{y1:.4g}%" x2="{x2:.4g}%" y2="{y2:.4g}%"/>'


def label(text: str, x: float, y: float, anchor: str = "middle", beside: tuple[int, int] = (0, 0)) -> str:
    """Return a text at a place in percent, or some pixels beside it."""
    away = f' dx="{beside[0]}" dy="{beside[1]}"' if any(beside) else ""
    return f'<text x="{x:.4g}%" y="{y:.4g}%"{away} text-anchor="{anchor}">{escape(text)}</text>'


def axis(scale: Scale) -> str:
    """Return the ticks of a horizontal axis with their numbers."""
    parts = []
    for tick in scale.ticks():
        place = scale.place(tick)
        anchor = "start" if place < 6 else "end" if place > 94 else "middle"
        parts.append(line("tick", place, 0, place, 30) + label(scale.text(tick), place, 95, anchor))
    return svg("row", "".join(parts))
