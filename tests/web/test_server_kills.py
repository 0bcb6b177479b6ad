"""`salon serve` killed while raters answer over HTTP: what was acknowledged is there exactly once, on both databases.

Twenty kills under fifty raters: `python -m benchmarks studio_load`.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from postgres import KINDS, empty_url

from benchmarks.studio_load import run


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_acknowledged_is_there_exactly_once(kind: str, tmp_path: Path) -> None:
    found = run(empty_url(kind, tmp_path), tmp_path / "study", raters=12, kills=2, seed=7)
    assert found.acknowledged >= 25
    assert found.once == found.acknowledged
    assert (found.lost, found.twice, found.wrong, found.half, found.refused) == (0, 0, 0, 0, {}), asdict(found)
