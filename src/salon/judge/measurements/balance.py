"""Is what draws the eye balanced between left and right?"""

from __future__ import annotations

import numpy as np

from salon.judge.measurements.seen import Seen


def balance(seen: Seen) -> float | None:
    """1 where the centre of the saliency map is on the middle axis, 0 where it is at the left or right edge.

    Only left against right: posters are heavy at the top or the bottom on purpose. None where nothing draws the eye:
    the map of a plain picture shows only where the network itself is uneven.
    """
    if seen.is_plain:
        return None
    pull = seen.pull.sum(axis=0)
    pull = pull - pull.min()
    if not pull.any():
        return None
    centre = np.average((np.arange(len(pull)) + 0.5) / len(pull), weights=pull)
    return float(1 - 2 * abs(centre - 0.5))
