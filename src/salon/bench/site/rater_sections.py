"""What scorers and judges are worth, from the newest snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from salon.bench.site.material import Material
from salon.report import Section


def rater_sections(material: Material) -> Iterator[Section]:
    """Agreement, accuracy and order of generators."""
    yield from ()
