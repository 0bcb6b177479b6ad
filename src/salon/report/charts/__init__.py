"""Charts as SVG strings, drawn without a library. Every function takes `title` (for screen readers) and
`width` in pixels, and returns a Drawing that a page can redraw for a phone.

Colours come from the page's CSS variables; `salon.report.page.standalone_svg` makes a file of its own.
"""

from salon.report.charts.bars import bar_list, bucket_bar
from salon.report.charts.calibration import AnchorMark, calibration_curve
from salon.report.charts.caterpillar import ScoreMark, caterpillar
from salon.report.charts.curves import Curve, line_curves
from salon.report.charts.distributions import histogram_over_null, pmax_bars
from salon.report.charts.dots import dot_intervals
from salon.report.charts.heat import heat_map
from salon.report.charts.radar import Spokes, radar
from salon.report.charts.scatter import ScatterMark, scatter

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
