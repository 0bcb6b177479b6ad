"""Boxes as the released scoring reads them: numbers with a point in fours, each box by the best of four readings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from salon.bench.posters import boxes
from salon.bench.posters.item import Box

Record = dict[str, Any]
Answered = Sequence[tuple[Record, str]]
"""Records with their responses."""
_LOST = re.compile(r"[^\[\], .\d]")
"""Deleted before numbers are read: what these characters kept apart is joined."""
_NUMBER = re.compile(r"\d+\.\d+")
_CAPS = {"top1": 1, "top3": 3, "mean": 30}


def text_localization(answered: Answered) -> dict[str, list[float]]:
    """Overlaps of all boxes in one pot for each cap, and the recall of each poster."""
    pots = {
        name: [max(_iou(truth, box) for box in readings) for truth, readings in _pairs(answered, cap)]
        for name, cap in _CAPS.items()
    }
    return _all_or_none(pots, answered)


def layout_generation(answered: Answered) -> dict[str, list[float]]:
    """Distances and ratios, each by its own best reading, and the recall of each poster."""
    pairs = list(_pairs(answered, None))
    pots = {
        "bias": [
            min(boxes.distance(boxes.center(truth), boxes.center(box)) for box in readings) for truth, readings in pairs
        ],
        "area": [_ratio(truth, readings) for truth, readings in pairs],
    }
    return _all_or_none(pots, answered)


def numbers(response: str) -> list[list[float]]:
    """The numbers that have a decimal point, four by four; a rest is left."""
    values = [float(number) for number in _NUMBER.findall(_LOST.sub("", response))]
    return [values[i : i + 4] for i in range(0, len(values) - 3, 4)]


def readings(raw: Sequence[float], size: Sequence[float]) -> list[Box]:
    """The four ways a box was read: pixels of the picture, shares, of 1024, of 1000."""
    x1, y1, x2, y2 = raw
    sides = [(size[0], size[1]), (1, 1), (1024, 1024), (1000, 1000)]
    return [(x1 / w, y1 / h, x2 / w, y2 / h) for w, h in sides]


def _pairs(answered: Answered, cap: int | None) -> Iterator[tuple[Box, list[Box]]]:
    """Box i of the truth with box i of the response, for as long as there are both."""
    for record, response in answered:
        size = record["size"]
        truth = [(x1 / size[0], y1 / size[1], x2 / size[0], y2 / size[1]) for x1, y1, x2, y2 in _truth(record)]
        for box, raw in list(zip(truth, numbers(response)))[:cap]:
            yield box, readings(raw, size)


def _truth(record: Record) -> list[list[float]]:
    result: list[list[float]] = record["text_bbox"] if "text_bbox" in record else record["gt"]
    return result


def _all_or_none(pots: dict[str, list[float]], answered: Answered) -> dict[str, list[float]]:
    """The pots with the recalls; one function computes them all, so that an empty pot leaves none of them."""
    recalls = [min(len(numbers(response)) / len(_truth(record)), 1.0) for record, response in answered]
    return {**pots, "recall": recalls if all(pots.values()) else []}


def _iou(truth: Box, box: Box) -> float:
    """Boxes may be empty here, and touching ones overlap by nothing; inverted ones are worth 0."""
    if any(low > high for side in (truth, box) for low, high in ((side[0], side[2]), (side[1], side[3]))):
        return 0.0
    width = min(truth[2], box[2]) - max(truth[0], box[0])
    height = min(truth[3], box[3]) - max(truth[1], box[1])
    if width < 0 or height < 0:
        return 0.0
    both = width * height
    return both / (boxes.area(truth) + boxes.area(box) - both)


def _ratio(truth: Box, readings: Sequence[Box]) -> float:
    """Of the ratios, true area over predicted, the one nearest to 1; its inverse where it is above."""
    ratios = [boxes.area(truth) / area if (area := boxes.area(box)) > 0 else 0.0 for box in readings]
    nearest = min(ratios, key=lambda ratio: abs(ratio - 1))
    return 1 / nearest if nearest > 1 else nearest
