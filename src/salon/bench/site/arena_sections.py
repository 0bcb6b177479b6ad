"""What raters say, from the newest arena snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from salon.bench.site.material import Material
from salon.report import Section


def arena_sections(material: Material) -> Iterator[Section]:
    """Boards, win matrix and routing table of the newest snapshot."""
    yield from ()
