"""Charts as HTML and SVG that need no script: for pages, reports and notebooks alike.

Nothing is styled here but by class names, and positions are percentages, so that a chart fits any width. What is drawn
is also there as text.
"""

from mobai.views.charts.drift import drift_charts
from mobai.views.charts.forest import Band, IntervalRow, forest, interval_chart
from mobai.views.charts.lines import LineChart, allocation_chart, evidence_chart, line_chart
from mobai.views.charts.progress import progress_bar, progress_chart
from mobai.views.charts.scale import Scale
from mobai.views.charts.style import chart_style, framed, wide
from mobai.views.charts.tradeoff import standings, tradeoff_chart

__all__ = [
    "Band",
    "IntervalRow",
    "LineChart",
    "Scale",
    "allocation_chart",
    "chart_style",
    "drift_charts",
    "evidence_chart",
    "forest",
    "framed",
    "interval_chart",
    "line_chart",
    "progress_bar",
    "progress_chart",
    "standings",
    "tradeoff_chart",
    "wide",
]
