"""Charts and static pages: one look for every report of the house.

    from salon.report import charts, Page, Section, Figure, Table, Column
    Page("Signal check", "80 prompts", [Section("Signal", [Figure(charts.dot_intervals(rows))])]).write("check.html")

Pages need no other file, no network and no JavaScript; everything in them is escaped.
"""

from salon.report.block import Badge, Block, Card, Details, Figure, Figures, Note, Prose, Verdict, Verdicts
from salon.report.located import located
from salon.report.page import Page, Section, standalone_svg
from salon.report.svg import SMALL, WIDE
from salon.report.table import Cell, Column, Table, columns_of
from salon.report.values import disagreements, estimate_value, value

__all__ = [
    "SMALL",
    "WIDE",
    "Badge",
    "Block",
    "Card",
    "Cell",
    "Column",
    "Details",
    "Figure",
    "Figures",
    "Note",
    "Page",
    "Prose",
    "Section",
    "Table",
    "Verdict",
    "Verdicts",
    "columns_of",
    "disagreements",
    "estimate_value",
    "located",
    "standalone_svg",
    "value",
]
