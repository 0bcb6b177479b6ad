"""Boxes against boxes, all as shares of the picture: overlap, distance of centers, ratio of areas, assignment."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from salon.bench.posters.item import Box

FARTHEST = math.sqrt(2)
"""The largest distance of two centers: what a missing box counts as."""


def area(box: Box) -> float:
    """Of the picture's."""
    return (box[2] - box[0]) * (box[3] - box[1])


def center(box: Box) -> tuple[float, float]:
    """Half-way between its corners."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def iou(one: Box, other: Box) -> float:
    """Area of the intersection over that of the union."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / (area(one) + area(other) - both)


def distance(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Between two centers, in shares of the picture's sides."""
    return math.hypot(one[0] - other[0], one[1] - other[1])


def area_ratio(one: Box, other: Box) -> float:
    """The smaller area over the larger."""
    small, large = sorted((area(one), area(other)))
    return small / large


def assigned_iou(truth: Sequence[Box], given: Sequence[Box | None]) -> float:
    """Mean IoU of the true boxes under the one-to-one assignment of given boxes that makes it largest."""
    boxes = [box for box in given if box is not None]
    if not boxes:
        return 0.0
    table = np.array([[iou(one, other) for other in boxes] for one in truth])
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum()) / len(truth)
