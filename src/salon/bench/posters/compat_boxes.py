"""Boxes as the released scoring reads them: numbers with a point in fours, each box by the best of four readings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from salon.bench.posters import boxes
from salon.bench.posters.item import Box

Record = dict[str, Any]
_NUMBER = re.compile(r"\d+\.\d+")
_MOST = 30


def text_localization(records: Sequence[Record]) -> dict[str, list[float]]:
    """Overlaps of all boxes in one pot for each cap, and the recall of each poster."""
    caps = {"top1": 1, "top3": 3, "mean": _MOST}
    found = {
        name: [max(boxes.iou(truth, one) for one in readings) for truth, readings in _pairs(records, cap)]
        for name, cap in caps.items()
    }
    return found | {"recall": _recalls(records)}


def layout_generation(records: Sequence[Record]) -> dict[str, list[float]]:
    """Distances and ratios, each by its own best reading, and the recall of each poster."""
    pairs = list(_pairs(records, _MOST))
    return {
        "bias": [min(boxes.distance(boxes.center(t), boxes.center(one)) for one in readings) for t, readings in pairs],
        "area": [max(_ratio(t, one) for one in readings) for t, readings in pairs],
        "recall": _recalls(records),
    }


def numbers(response: str) -> list[list[float]]:
    """The numbers that have a decimal point, four by four; a rest is left."""
    found = [float(one) for one in _NUMBER.findall(response)]
    return [found[i : i + 4] for i in range(0, len(found) - 3, 4)]


def readings(raw: Sequence[float], size: Sequence[float]) -> list[Box]:
    """The four ways a box was read: pixels of the picture, shares, of 1024, of 1000."""
    x1, y1, x2, y2 = raw
    sides = [(size[0], size[1]), (1, 1), (1024, 1024), (1000, 1000)]
    return [(x1 / w, y1 / h, x2 / w, y2 / h) for w, h in sides]


def _pairs(records: Sequence[Record], cap: int) -> Iterator[tuple[Box, list[Box]]]:
    """Box i of the truth with box i of the response, for as long as there are both."""
    for record in records:
        size = record["size"]
        truth = [(x1 / size[0], y1 / size[1], x2 / size[0], y2 / size[1]) for x1, y1, x2, y2 in _truth(record)]
        for one, raw in list(zip(truth, numbers(record.get("response") or "")))[:cap]:
            yield one, readings(raw, size)


def _truth(record: Record) -> list[list[float]]:
    return record.get("text_bbox") or record["gt"]


def _recalls(records: Sequence[Record]) -> list[float]:
    return [min(len(numbers(record.get("response") or "")) / len(_truth(record)), 1.0) for record in records]


def _ratio(one: Box, other: Box) -> float:
    """The smaller area over the larger; 0 for a box without one."""
    small, large = sorted((abs(boxes.area(one)), abs(boxes.area(other))))
    return small / large if large > 0 and math.isfinite(large) else 0.0
