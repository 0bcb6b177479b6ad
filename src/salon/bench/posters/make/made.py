"""One made item: what its record says and the picture it asks about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from salon.render.layout import Box


@dataclass(frozen=True)
class Made:
    """An item before it has a name: the fields of its record, and its pixels."""

    string: str
    """What `task` says."""
    subtask: str | int
    prompt: str
    truth: Mapping[str, Any]
    """Fields with the truth, and whatever else is known of the picture."""
    pixels: np.ndarray | None
    """(height, width, 3) bytes; None for a prompt, whose poster a generator is to make."""
    difficulty: Mapping[str, float] = field(default_factory=dict)

    def record(self, name: str, path: str) -> dict[str, Any]:
        """The record in the public layout."""
        known = {"task": self.string, "subtask": self.subtask, "name": name, "path": path, "prompt": self.prompt}
        hard = {"difficulty": dict(self.difficulty)} if self.difficulty else {}
        return {**known, **self.truth, **hard}


def pixel_box(box: Box, width: int, height: int) -> list[int]:
    """x1, y1, x2, y2 in whole pixels around the box, on the canvas."""
    left, top = max(0, int(box.x)), max(0, int(box.y))
    return [left, top, min(width, -int(-box.right // 1)), min(height, -int(-box.bottom // 1))]
