"""Charts and static pages: one look for every report.

    from salon.report import charts, Page, Section, Figure, Table, Column
    Page("Signal check", "80 prompts", [Section("Signal", [Figure(charts.dot_intervals(rows))])]).write("check.html")

Pages need no other file, no network and no JavaScript; everything in them is escaped.
"""

from salon.report.blocks import (
    Badge,
    Block,
    Card,
    Cell,
    Chart,
    ChartRow,
    Column,
    Details,
    Note,
    Prose,
    Table,
    VerdictLine,
    Verdicts,
    columns_of,
)
from salon.report.page import Page, Section, standalone_svg
from salon.report.svg import SMALL, WIDE
from salon.report.values import disagreements, estimate_value, located, value

__all__ = [
    "SMALL",
    "WIDE",
    "Badge",
    "Block",
    "Card",
    "Cell",
    "Chart",
    "ChartRow",
    "Column",
    "Details",
    "Note",
    "Page",
    "Prose",
    "Section",
    "Table",
    "VerdictLine",
    "Verdicts",
    "columns_of",
    "disagreements",
    "estimate_value",
    "located",
    "standalone_svg",
    "value",
]
