"""Figures of matplotlib that a notebook shows as they are."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from mobai.extras import need

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(**options: Any) -> Figure:
    """Return an empty figure, which no magic line is needed to show."""
    figure: type[Figure] = need("matplotlib.figure").Figure

    class ShownFigure(figure):  # type: ignore[valid-type, misc]
        """A figure that says what it looks like."""

        def _repr_png_(self) -> bytes:
            found = io.BytesIO()
            self.savefig(found, format="png", dpi=100)
            return found.getvalue()

    return ShownFigure(**options)
