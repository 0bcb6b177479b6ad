"""Where the eye is drawn: is its pull balanced, and does the headline get it?"""

from __future__ import annotations

import numpy as np

from salon.judge.measurements.boxes import headline_lines
from salon.judge.measurements.seen import Seen


def balance(seen: Seen) -> float | None:
    """1 where the centre of the saliency map is on the middle axis, 0 where it is at the left or right edge.

    Only left against right: posters are heavy at the top or the bottom on purpose.
    """
    pull = seen.pull.sum(axis=0)
    pull = pull - pull.min()
    if not pull.any():
        return None
    centre = np.average((np.arange(len(pull)) + 0.5) / len(pull), weights=pull)
    return float(1 - 2 * abs(centre - 0.5))


def headline_focus(seen: Seen) -> float | None:
    """Log2 of the mean saliency in the headline over that of the picture."""
    lines = headline_lines(seen)
    if not lines:
        return None
    pull = seen.pull
    scale = pull.shape[1] / seen.image.width
    inside = np.zeros(pull.shape, bool)
    for line in lines:
        top, bottom, left, right = (int(edge * scale) for edge in (line.top, line.bottom, line.left, line.right))
        inside[max(0, top) : bottom + 1, max(0, left) : right + 1] = True
    return float(np.log2(max(pull[inside].mean(), 1e-3) / max(pull.mean(), 1e-3)))
