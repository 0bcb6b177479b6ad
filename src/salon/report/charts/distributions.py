"""What was observed, over what random raters would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.frame import LINE, Key, legend, x_axis, y_grid, y_ticks_width
from salon.report.located import Marks, marks
from salon.report.scale import Scale
from salon.report.svg import Rows, canvas, drawn, element, group, line, rect, text, text_width

TICK_ROOM = 30
LEAST_BAR = 5.0
"""Pixels: with thinner bars adjacent support points are shown as one."""


@dataclass(frozen=True)
class Bins:
    """Shares observed and expected in bins of equal width around `centers`."""

    centers: np.ndarray
    width: float
    counts: np.ndarray
    observed: np.ndarray
    null: np.ndarray
    given: tuple[object, ...]
    """The one count behind each bin as the caller gave it; None for a bin of several."""


def _histogram_data(
    support: Sequence[float],
    observed_counts: Sequence[int],
    null_probabilities: Sequence[float],
    *,
    medians: tuple[float | None, float | None] | None = None,
    references: Sequence[tuple[str, float]] = (),
    names: tuple[str, str] = ("observed", "random raters (null)"),
    **_: object,
) -> Rows:
    values, counts, null = _checked(support, observed_counts, null_probabilities)
    medians = medians or (_median(values, counts), _median(values, null))
    lines = [*((f"median, {name}", median) for name, median in zip(names, medians) if median is not None), *references]
    return [
        *(
            {"mark": "bar", "value": value, "count": count, "share": share, names[1]: expected}
            for value, count, share, expected in zip(values, counts, counts / counts.sum(), null)
        ),
        *({"mark": label, "value": median} for label, median in lines),
    ]


@drawn(_histogram_data)
def histogram_over_null(
    support: Sequence[float],
    observed_counts: Sequence[int],
    null_probabilities: Sequence[float],
    *,
    title: str = "Observed distribution over its null",
    x_label: str = "",
    unit: str = "prompts",
    tone: str = "cohort-1",
    height: float = 190,
    top_share: float | None = None,
    x_range: tuple[float, float] | None = None,
    medians: tuple[float | None, float | None] | None = None,
    references: Sequence[tuple[str, float]] = (),
    keys: bool = False,
    names: tuple[str, str] = ("observed", "random raters (null)"),
    decimals: int = 3,
    width: int,
) -> Markup:
    """Bars of the observed share with the exact null as a stepped outline; both medians marked.

    `names` say what stands for the two where the outline is no null: an entry, and all entries.

    `top_share` and `x_range` fix the axes, for small multiples that are to be compared. The range may cut off
    a tail of the null but no observation; shares stay those of the whole. `medians` (observed, null) are taken
    from the histograms unless given; None leaves a mark out. `references` are medians of other data, named lines.
    """
    values, counts, null = _checked(support, observed_counts, null_probabilities)
    shown = _inside(values, counts, x_range)
    given = [count for count, inside in zip(observed_counts, shown) if inside]
    bins = _binned(values[shown], counts[shown], null[shown], given, most=int((width - 50) / LEAST_BAR))
    other = "null" if "null" in names[1] else names[1]
    shown_keys = [Key(tone, names[0]), Key("null-line", names[1], "line")] if keys else []
    top_block, used = legend(shown_keys, 0, 0, width)
    top, bottom = used + 22, height - (2 * LINE + 8 if x_label else LINE + 6)
    tallest = top_share or max(bins.observed.max(), bins.null.max())
    y = Scale(0, tallest * 1.04, bottom, top)
    left = y_ticks_width(y, room=TICK_ROOM, percent=True)
    x = Scale(bins.centers[0] - bins.width, bins.centers[-1] + bins.width, left, width - 6)
    medians = medians or (_median(values, counts), _median(values, null))
    return canvas(
        width,
        height,
        title,
        _histogram_words(counts, medians, unit, (names[0], other), decimals),
        top_block,
        y_grid(y, left, width - 6, room=TICK_ROOM, percent=True),
        _stepped_null(bins, x, y, "null-area"),
        *_observed_bars(bins, x, y, unit, tone, other),
        _stepped_null(bins, x, y, "halo", "null-line stroke"),
        x_axis(x, bottom, width, room=52, label=x_label),
        _reference_marks(references, x, top, bottom, decimals),
        _median_marks(medians, x, top, bottom, tone, other, decimals),
    )


def _pmax_data(levels: Sequence[str], observed: Sequence[float], null: Sequence[float], **_: object) -> Rows:
    total = float(sum(observed))
    return [
        {"level": level, "observed": seen, "share": float(seen) / total, "null": expected}
        for level, seen, expected in zip(levels, observed, null)
    ]


@drawn(_pmax_data)
def pmax_bars(
    levels: Sequence[str],
    observed: Sequence[float],
    null: Sequence[float],
    *,
    title: str = "Share of item pairs by split of the raters",
    unit: str = "item pairs",
    tone: str = "cohort-1",
    height: float = 190,
    top_share: float | None = None,
    keys: bool = False,
    width: int,
) -> Markup:
    """One bar per level of agreement (3–2, 4–1, 5–0) with the null's share as a line across it.

    `observed` are counts or shares; they are normalised to 1.
    """
    _, counts, expected = _checked(range(len(levels)), observed, null)
    shares = counts / counts.sum()
    names = [Key(tone, "observed"), Key("null-line", "random raters (null)", "line")] if keys else []
    top_block, used = legend(names, 0, 0, width)
    top, bottom = used + 18, height - LINE - 6
    y = Scale(0, (top_share or max(shares.max(), expected.max())) * 1.04, bottom, top)
    left = y_ticks_width(y, room=TICK_ROOM, percent=True)
    slot = (width - 6 - left) / len(levels)
    bars = [
        _pmax_bar(left + slot * i, slot, y, str(levels[i]), shares[i], expected[i], unit, tone, marks(observed[i]))
        for i in range(len(levels))
    ]
    words = ", ".join(
        f"{level}: {numbers.percent(s)} against {numbers.percent(e)} under the null"
        for level, s, e in zip(levels, shares, expected)
    )
    grid = y_grid(y, left, width - 6, room=TICK_ROOM, percent=True)
    return canvas(width, height, title, words, top_block, grid, *bars, line(left, bottom, width - 6, bottom, "axis"))


def _pmax_bar(
    x: float, slot: float, y: Scale, level: str, share: float, expected: float, unit: str, tone: str,
    carried: Marks,
) -> Markup:  # fmt: skip
    bar = min(slot * 0.56, 64)
    left, middle = x + (slot - bar) / 2, x + slot / 2
    tip = f"{level}: {numbers.percent(share, 1)} of {unit}; null {numbers.percent(expected, 1)}"
    at, style = _value_place(y(share), y(expected), y(0))
    reach = min(slot - 4, bar + 16)
    null = (middle - reach / 2, y(expected), middle + reach / 2, y(expected))
    return group(
        rect(left, y(share), bar, y(0) - y(share), tone),
        line(*null, "halo"),
        line(*null, "null-line stroke"),
        text(middle, at, numbers.percent(share), style, anchor="middle"),
        text(middle, y(0) + LINE, level, "tick", anchor="middle", room=slot),
        tip=tip,
        class_="mark",
        **carried,
    )


def _value_place(bar: float, null: float, floor: float) -> tuple[float, str]:
    """Height and style of a bar's number: above it, or inside where the null's line would strike it through."""
    if not 0 <= bar - null < 24:
        return bar - 6, "value"
    return (bar + 16, "on-bar") if floor - bar > 22 else (null - 6, "value")


def _checked(
    support: Sequence[float], counts: Sequence[float], null: Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arrays = [np.asarray([float(v) for v in part]) for part in (support, counts, null)]
    lengths = [len(a) for a in arrays]
    if len(set(lengths)) != 1 or not lengths[0]:
        raise BadValue("support, observed and null must have one equal length above 0", found=lengths)
    if not all(np.isfinite(a).all() for a in arrays) or arrays[1].min() < 0 or arrays[1].sum() <= 0:
        raise BadValue("finite values and at least one observation are needed", found=arrays[1][:8].tolist())
    if (np.diff(arrays[0]) <= 0).any():
        raise BadValue("a support in increasing order is needed", found=arrays[0][:8].tolist())
    return arrays[0], arrays[1], arrays[2]


def _inside(values: np.ndarray, counts: np.ndarray, x_range: tuple[float, float] | None) -> np.ndarray:
    """Which support points the axis covers; an observation outside is refused, never dropped."""
    low, high = x_range or (values[0], values[-1])
    inside = (values >= low - 1e-9) & (values <= high + 1e-9)
    if counts[~inside].any():
        raise BadValue("an x_range that holds every observation is needed", found=x_range)
    return inside


def _binned(values: np.ndarray, counts: np.ndarray, null: np.ndarray, given: Sequence[object], most: int) -> Bins:
    """Support points as they are where each has room for a bar, else in `most` equal bins."""
    step = float(np.diff(values).min()) if len(values) > 1 else 1.0
    slots = round((values[-1] - values[0]) / step) + 1
    merge = -(-slots // max(1, most))
    width = step * merge
    index = np.floor((values - values[0]) / width + 1e-9).astype(int)
    size = index[-1] + 1
    held, expected = np.bincount(index, counts, size), np.bincount(index, null, size)
    centers = values[0] + width * np.arange(size) + (merge - 1) * step / 2
    alone = np.bincount(index, minlength=size) == 1
    places = {int(k): i for i, k in enumerate(index)}
    single = tuple(given[places[k]] if alone[k] else None for k in range(size))
    return Bins(centers, width, held, held / held.sum(), expected, single)


def _observed_bars(bins: Bins, x: Scale, y: Scale, unit: str, tone: str, other: str) -> list[Markup]:
    bar = (x(bins.width) - x(0)) * 0.78
    bars = []
    for center, count, share, null, given in zip(bins.centers, bins.counts, bins.observed, bins.null, bins.given):
        tip = (
            f"{numbers.fixed(center)}: {_count_words(count)} {unit} ({numbers.percent(share, 1)}); "
            f"{other} {numbers.percent(null, 1)}"
        )
        column = rect(x(center) - bar / 2, y.stop, bar, y.start - y.stop, "hit")
        height = y(0) - y(share)
        filled = rect(x(center) - bar / 2, y(share), bar, height, tone)
        bars.append(group(column, filled, tip=tip, class_="mark", **marks(given)))
    return bars


def _stepped_null(bins: Bins, x: Scale, y: Scale, *layers: str) -> Markup:
    """One outline over all bins; a gap in the support is a step down to zero."""
    half = bins.width / 2
    steps = "".join(f"L{x(c - half):.2f} {y(p):.2f}H{x(c + half):.2f}" for c, p in zip(bins.centers, bins.null))
    start, end = x(bins.centers[0] - half), y(0)
    path = f"M{start:.2f} {end:.2f}{steps}V{end:.2f}"
    return group(*(element("path", d=path, class_=layer) for layer in layers))


def _median(values: np.ndarray, weights: np.ndarray) -> float:
    """The least value that holds half the weight."""
    running = list(accumulate(weights))
    return float(values[next(i for i, w in enumerate(running) if w >= running[-1] / 2 - 1e-12)])


def _median_marks(
    medians: tuple[float | None, float | None],
    x: Scale,
    top: float,
    bottom: float,
    tone: str,
    other: str,
    decimals: int,
) -> Markup:
    """The observed median as a line with its number, the null's as a dashed line."""
    seen, null = medians
    dashed = None if null is None else line(x(null), top, x(null), bottom, "null-line dashed", **marks(null))
    if seen is None:
        return group(dashed)
    words = f"median {numbers.fixed(seen, decimals)}"
    half = text_width(words) / 2
    at = min(max(x(seen), x.start + half), x.stop - half)
    return group(
        dashed,
        line(x(seen), top - 2, x(seen), bottom, f"{tone} marker"),
        text(at, top - 8, words, "value", anchor="middle", **marks(seen)),
        tip=f"{words}; {other} median {numbers.fixed(null, decimals)}",
    )


def _reference_marks(
    references: Sequence[tuple[str, float]], x: Scale, top: float, bottom: float, decimals: int
) -> Markup:
    """Medians of other data as dashed lines, each with its name beside it, one below the other."""
    drawn = []
    low, high = sorted((x.start, x.stop))
    for row, (name, median) in enumerate(sorted(references, key=lambda one: one[1])):
        at, y = x(median), top + 10 + row * LINE
        if low <= at <= high:
            side = "end" if at + text_width(name) + 4 > high else "start"
            drawn.append(
                group(
                    line(at, top, at, bottom, "reference dashed", **marks(median)),
                    text(at + (3 if side == "start" else -3), y, name, "reference-label", anchor=side),
                    tip=f"{name}: median {numbers.fixed(median, decimals)}",
                )
            )
    return group(*drawn)


def _count_words(count: float) -> str:
    """Counts averaged over tie-breaks need not be whole."""
    return numbers.fixed(count, 0 if float(count).is_integer() else 1)


def _histogram_words(
    counts: np.ndarray, medians: tuple[float | None, float | None], unit: str, names: tuple[str, str], decimals: int
) -> str:
    told = [f"{name} median {numbers.fixed(m, decimals)}" for name, m in zip(names, medians) if m is not None]
    return "; ".join([f"{_count_words(counts.sum())} {unit}", *([", ".join(told)] if told else [])]) + "."
