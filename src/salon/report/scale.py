"""From numbers to pixels: linear scales, and ticks a person would have chosen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from salon.errors import BadValue
from salon.report import numbers
from salon.report.svg import text_width


@dataclass(frozen=True)
class Scale:
    """Maps [low, high] onto pixels [start, stop]."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, x: float) -> float:
        return self.start + (x - self.low) / (self.high - self.low) * (self.stop - self.start)

    def ticks(self, room: float) -> list[float]:
        """Round values inside the domain, about one per `room` pixels; two at least, for one tells no scale."""
        most = max(2, int(abs(self.stop - self.start) / room))
        return next(found for more in itertools.count(most) if len(found := ticks(self.low, self.high, more)) > 1)


def domain(
    values: Iterable[float | None],
    *,
    include: Iterable[float] = (),
    pad: float = 0.04,
    within: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """The range of known `values` and of `include`, a little wider but `within` its ends; never empty or reversed."""
    known = [float(v) for v in [*values, *include] if v is not None]
    if not known or not all(map(math.isfinite, known)):
        raise BadValue("at least one finite value is needed to draw an axis", found=known[:5])
    low, high = min(known), max(known)
    margin = pad * (high - low) if high > low else max(abs(high), 1.0) * 0.1
    least, most = within or (-math.inf, math.inf)
    return min(low, max(low - margin, least)), max(high, min(high + margin, most))


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most about `most` multiples of 1, 2, 2.5 or 5 times a power of ten in [low, high]."""
    raw = (high - low) / max(1, most)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = max(0, 4 - math.floor(math.log10(step)))
    return [round(i * step, places) for i in range(first, last + 1)]


def tick_labels(values: Sequence[float], *, percent: bool = False) -> list[str]:
    """All ticks with the same number of decimals, as few as tell them apart."""
    scaled = [100 * v if percent else v for v in values]
    step = min((abs(b - a) for a, b in itertools.pairwise(scaled)), default=1.0)
    places = next((d for d in range(15) if all(abs(round(v, d) - v) < 1e-3 * step for v in scaled)), 15)
    return [numbers.fixed(v, places) + ("%" if percent else "") for v in scaled]


def lanes(positions: Sequence[float], labels: Sequence[str]) -> list[int]:
    """For labels centred at `positions`: the lowest lane where each fits beside its neighbours."""
    ends: list[float] = []
    chosen = [0] * len(positions)
    for i in sorted(range(len(positions)), key=lambda i: positions[i]):
        half = text_width(labels[i]) / 2
        lane = next((k for k, end in enumerate(ends) if positions[i] - half >= end + 10), len(ends))
        ends[lane : lane + 1] = [positions[i] + half]
        chosen[i] = lane
    return chosen


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions moved as little as a greedy pass can, to stand at least `gap` apart within [low, high]."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    placed = [0.0] * len(positions)
    floor = low
    for i in order:
        placed[i] = max(positions[i], floor)
        floor = placed[i] + gap
    ceiling = high
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return placed
