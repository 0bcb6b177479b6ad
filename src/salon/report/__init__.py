"""Charts and static pages: one look for every report.

    from salon.report import charts, Page, Section, Figure, Table, Column
    Page("Signal check", "80 prompts", [Section("Signal", [Figure(charts.dot_intervals(rows))])]).write("check.html")

Pages need no other file, no network and no JavaScript; everything in them is escaped.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
