"""Charts as SVG strings, drawn without a library. Every function takes `title` (for screen readers) and
`width` in pixels, and returns a Drawing that a page can redraw for a phone.

Colours come from the page's CSS variables; `salon.report.page.standalone_svg` makes a file of its own.
"""

from salon.report.charts.curves import AnchorMark, Curve, ScatterMark, calibration_curve, line_curves, scatter
from salon.report.charts.distributions import bar_list, bucket_bar, histogram_over_null, pmax_bars
from salon.report.charts.intervals import ScoreMark, caterpillar, dot_intervals
from salon.report.charts.matrices import Spokes, heat_map, radar

__all__ = [
    "AnchorMark",
    "Curve",
    "ScatterMark",
    "ScoreMark",
    "Spokes",
    "bar_list",
    "bucket_bar",
    "calibration_curve",
    "caterpillar",
    "dot_intervals",
    "heat_map",
    "histogram_over_null",
    "line_curves",
    "pmax_bars",
    "radar",
    "scatter",
]
