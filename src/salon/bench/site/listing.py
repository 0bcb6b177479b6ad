"""A long list to sort and search, whose order and search stand in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from markupsafe import Markup

from salon.bench.site.frame import SiteBlock
from salon.report import Column
from salon.report.table import cell_html, sort_key, written


@dataclass(frozen=True)
class ListRow:
    """One line: a link (words alone without an address), a smaller line under it, and numbers."""

    href: str
    label: str
    under: str
    words: str
    """What a search looks at, in lower case."""
    group: str
    cells: Mapping[str, object]


@dataclass(frozen=True)
class Listing(SiteBlock):
    """The first column is the link; the others are cells of the rows."""

    template: ClassVar[str] = "listing.html"

    columns: Sequence[Column]
    rows: Sequence[ListRow]
    name: str
    find: str = "words, tag, id"
    """What can be searched for."""
    every: str = "all groups"

    @property
    def groups(self) -> list[str]:
        """To choose from."""
        return list(dict.fromkeys(row.group for row in self.rows))

    def cell(self, row: ListRow, column: Column) -> Markup:
        """The inside of a cell."""
        return cell_html(row.cells[column.path], column.kind, None, column.decimals)

    def sort(self, row: ListRow, column: Column) -> str:
        """What its column is sorted by."""
        raw = row.cells[column.path]
        key = sort_key(raw, column.kind)
        return str(key if key is not None else written(raw, column.kind)).lower()
