"""Bars: observed distributions over their null, shares by bucket, and plain lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.svg import (
    LINE,
    LegendKey,
    LinearScale,
    Rows,
    canvas,
    element,
    group,
    legend,
    line,
    rect,
    redrawable,
    text,
    text_width,
    x_axis,
    y_grid,
    y_ticks_width,
)
from salon.report.values import NumberMarks, number_marks

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
    raw_counts: tuple[object, ...]
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
    values, counts, null = _check_histogram(support, observed_counts, null_probabilities)
    medians = medians or (_median(values, counts), _median(values, null))
    lines = [*((f"median, {name}", median) for name, median in zip(names, medians) if median is not None), *references]
    return [
        *(
            {"mark": "bar", "value": value, "count": count, "share": share, names[1]: expected}
            for value, count, share, expected in zip(values, counts, counts / counts.sum(), null)
        ),
        *({"mark": label, "value": median} for label, median in lines),
    ]


@redrawable(_histogram_data)
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
    values, counts, null = _check_histogram(support, observed_counts, null_probabilities)
    inside_range = _inside(values, counts, x_range)
    counts_inside = [count for count, inside in zip(observed_counts, inside_range) if inside]
    bins = _binned(
        values[inside_range],
        counts[inside_range],
        null[inside_range],
        counts_inside,
        most=int((width - 50) / LEAST_BAR),
    )
    outline_name = "null" if "null" in names[1] else names[1]
    shown_keys = [LegendKey(tone, names[0]), LegendKey("null-line", names[1], "line")] if keys else []
    top_block, used = legend(shown_keys, 0, 0, width)
    top, bottom = used + 22, height - (2 * LINE + 8 if x_label else LINE + 6)
    tallest = top_share or max(bins.observed.max(), bins.null.max())
    y = LinearScale(0, tallest * 1.04, bottom, top)
    left = y_ticks_width(y, room=TICK_ROOM, percent=True)
    x = LinearScale(bins.centers[0] - bins.width, bins.centers[-1] + bins.width, left, width - 6)
    medians = medians or (_median(values, counts), _median(values, null))
    return canvas(
        width,
        height,
        title,
        _histogram_words(counts, medians, unit, (names[0], outline_name), decimals),
        top_block,
        y_grid(y, left, width - 6, room=TICK_ROOM, percent=True),
        _stepped_null(bins, x, y, "null-area"),
        *_observed_bars(bins, x, y, unit, tone, outline_name),
        _stepped_null(bins, x, y, "halo", "null-line stroke"),
        x_axis(x, bottom, width, room=52, label=x_label),
        _median_marks(medians, x, top, bottom, tone, outline_name, decimals),
        _reference_marks(references, medians[0], x, top, bottom, decimals),
    )


def _pmax_data(levels: Sequence[str], observed: Sequence[float], null: Sequence[float], **_: object) -> Rows:
    total = float(sum(observed))
    return [
        {"level": level, "observed": count, "share": float(count) / total, "null": expected}
        for level, count, expected in zip(levels, observed, null)
    ]


@redrawable(_pmax_data)
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
    _, counts, expected = _check_histogram(range(len(levels)), observed, null)
    shares = counts / counts.sum()
    names = [LegendKey(tone, "observed"), LegendKey("null-line", "random raters (null)", "line")] if keys else []
    top_block, used = legend(names, 0, 0, width)
    top, bottom = used + 18, height - LINE - 6
    y = LinearScale(0, (top_share or max(shares.max(), expected.max())) * 1.04, bottom, top)
    left = y_ticks_width(y, room=TICK_ROOM, percent=True)
    slot = (width - 6 - left) / len(levels)
    bars = [
        _pmax_bar(
            left + slot * i, slot, y, str(levels[i]), shares[i], expected[i], unit, tone, number_marks(observed[i])
        )
        for i in range(len(levels))
    ]
    words = ", ".join(
        f"{level}: {numbers.percent(s)} against {numbers.percent(e)} under the null"
        for level, s, e in zip(levels, shares, expected)
    )
    grid = y_grid(y, left, width - 6, room=TICK_ROOM, percent=True)
    return canvas(width, height, title, words, top_block, grid, *bars, line(left, bottom, width - 6, bottom, "axis"))


def _pmax_bar(
    x: float, slot: float, y: LinearScale, level: str, share: float, expected: float, unit: str, tone: str,
    carried: NumberMarks,
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


def _check_histogram(
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


def _binned(values: np.ndarray, counts: np.ndarray, null: np.ndarray, raw_counts: Sequence[object], most: int) -> Bins:
    """Support points as they are where each has room for a bar, else in `most` equal bins."""
    step = float(np.diff(values).min()) if len(values) > 1 else 1.0
    slots = round((values[-1] - values[0]) / step) + 1
    merge = -(-slots // max(1, most))
    width = step * merge
    index = np.floor((values - values[0]) / width + 1e-9).astype(int)
    size = index[-1] + 1
    bin_counts, expected = np.bincount(index, counts, size), np.bincount(index, null, size)
    centers = values[0] + width * np.arange(size) + (merge - 1) * step / 2
    alone = np.bincount(index, minlength=size) == 1
    places = {int(k): i for i, k in enumerate(index)}
    single = tuple(raw_counts[places[k]] if alone[k] else None for k in range(size))
    return Bins(centers, width, bin_counts, bin_counts / bin_counts.sum(), expected, single)


def _observed_bars(bins: Bins, x: LinearScale, y: LinearScale, unit: str, tone: str, outline_name: str) -> list[Markup]:
    bar = (x(bins.width) - x(0)) * 0.78
    bars = []
    for center, count, share, null, raw_count in zip(
        bins.centers, bins.counts, bins.observed, bins.null, bins.raw_counts
    ):
        tip = (
            f"{numbers.fixed(center)}: {_count_words(count)} {unit} ({numbers.percent(share, 1)}); "
            f"{outline_name} {numbers.percent(null, 1)}"
        )
        column = rect(x(center) - bar / 2, y.stop, bar, y.start - y.stop, "hit")
        height = y(0) - y(share)
        filled = rect(x(center) - bar / 2, y(share), bar, height, tone)
        bars.append(group(column, filled, tip=tip, class_="mark", **number_marks(raw_count)))
    return bars


def _stepped_null(bins: Bins, x: LinearScale, y: LinearScale, *layers: str) -> Markup:
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
    x: LinearScale,
    top: float,
    bottom: float,
    tone: str,
    outline_name: str,
    decimals: int,
) -> Markup:
    """The observed median as a line with its number, the null's as a dashed line."""
    observed, null = medians
    dashed = None if null is None else line(x(null), top, x(null), bottom, "null-line dashed", **number_marks(null))
    if observed is None:
        return group(dashed)
    words = f"median {numbers.fixed(observed, decimals)}"
    half = text_width(words) / 2
    at = min(max(x(observed), x.start + half), x.stop - half)
    return group(
        dashed,
        line(x(observed), top - 2, x(observed), bottom, f"{tone} marker"),
        text(at, top - 8, words, "value", anchor="middle", **number_marks(observed)),
        tip=f"{words}; {outline_name} median {numbers.fixed(null, decimals)}",
    )


def _reference_marks(
    references: Sequence[tuple[str, float]],
    observed: float | None,
    x: LinearScale,
    top: float,
    bottom: float,
    decimals: int,
) -> Markup:
    """Medians of other data as dashed lines, each named on the side away from the observed median."""
    lines = []
    low, high = sorted((x.start, x.stop))
    crossed = None if observed is None else x(observed)
    for row, (name, median) in enumerate(sorted(references, key=lambda reference: reference[1])):
        at, y = x(median), top + 10 + row * LINE
        if low <= at <= high:
            wide = text_width(name) + 4
            in_the_way = crossed is not None and at < crossed < at + wide
            side = "end" if at + wide > high or (in_the_way and at - wide > low) else "start"
            lines.append(
                group(
                    line(at, top, at, bottom, "reference dashed", **number_marks(median)),
                    text(at + (3 if side == "start" else -3), y, name, "reference-label haloed", anchor=side),
                    tip=f"{name}: median {numbers.fixed(median, decimals)}",
                )
            )
    return group(*lines)


def _count_words(count: float) -> str:
    """Counts averaged over tie-breaks need not be whole."""
    return numbers.fixed(count, 0 if float(count).is_integer() else 1)


def _histogram_words(
    counts: np.ndarray, medians: tuple[float | None, float | None], unit: str, names: tuple[str, str], decimals: int
) -> str:
    medians_words = [f"{name} median {numbers.fixed(m, decimals)}" for name, m in zip(names, medians) if m is not None]
    return (
        "; ".join([f"{_count_words(counts.sum())} {unit}", *([", ".join(medians_words)] if medians_words else [])])
        + "."
    )


# -- shares by bucket and plain lists -------------------------------------------------------------------------------

COMPACT = 520
PALEST = 0.2


def _bucket_data(
    rows: Sequence[tuple[str, Sequence[float]]],
    bucket_labels: Sequence[str],
    null: Sequence[float] | None = None,
    *,
    null_label: str = "random raters (null)",
    **_: object,
) -> Rows:
    return [
        {"row": label, "bucket": bucket, "value": part, "share": float(part) / float(sum(parts))}
        for label, parts in [*rows, *([(null_label, null)] if null is not None else [])]
        for bucket, part in zip(bucket_labels, parts)
    ]


@redrawable(_bucket_data)
def bucket_bar(
    rows: Sequence[tuple[str, Sequence[float]]],
    bucket_labels: Sequence[str],
    null: Sequence[float] | None = None,
    *,
    title: str = "Shares by bucket",
    null_label: str = "random raters (null)",
    width: int,
) -> Markup:
    """Each row's counts or shares stacked to 100%, the strongest bucket (first) darkest; the null last.

    Serves the splits of a panel (5–0, 4–1, 3–2) and the answers of raters (No, Minor, Major) alike.
    """
    all_rows = [*rows, *([(null_label, null)] if null is not None else [])]
    buckets = len(bucket_labels)
    if not all_rows:
        raise BadValue("at least one row is needed to draw buckets", found="none")
    for label, parts in all_rows:
        if len(parts) != buckets or min(parts) < 0 or not sum(parts) > 0:
            raise BadValue(f"{buckets} shares, none negative, not all zero", found=list(parts), where=f"row {label!r}")
    keys = [LegendKey("bucket", name, shade=_shade(i, len(bucket_labels))) for i, name in enumerate(bucket_labels)]
    top_block, used = legend(keys, 0, 0, width)
    compact = width < COMPACT
    labels = 0.0 if compact else min(max(text_width(label) for label, _ in all_rows) + 18, width * 0.3)
    pitch, x = (48 if compact else 30), LinearScale(0, 1, labels, width)
    bars = []
    for i, (label, parts) in enumerate(all_rows):
        top = used + 8 + pitch * i + (10 if null is not None and i == len(rows) else 0)
        words_y = top + 13 if compact else top + 18
        whole = float(sum(parts))
        shares = [float(p) / whole for p in parts]
        bars.append(text(0, words_y, label, "label", room=width if compact else labels - 14))
        bars.append(_stack(label, parts, shares, bucket_labels, x, top + (18 if compact else 2)))
    height = used + 8 + pitch * len(all_rows) + (12 if null is not None else 2)
    lines = []
    for label, parts in all_rows[:30]:
        listed = ", ".join(f"{n} {numbers.percent(float(p) / float(sum(parts)))}" for n, p in zip(bucket_labels, parts))
        lines.append(f"{label}: {listed}")
    return canvas(width, height, title, "; ".join(lines) + ".", top_block, *bars)


def _bar_data(rows: Sequence[tuple[str, float]], **_: object) -> Rows:
    return [{"label": label, "value": value} for label, value in rows]


@redrawable(_bar_data)
def bar_list(
    rows: Sequence[tuple[str, float]],
    *,
    title: str = "Values",
    percent: bool = False,
    width: int,
) -> Markup:
    """A label, a bar from zero and its number, one row each, the largest first."""
    if not rows:
        raise BadValue("at least one row is needed to draw bars", found="none")
    ordered = sorted(rows, key=lambda row: -row[1])
    value_words = [numbers.percent(v, 1) if percent else numbers.fixed(v, 3) for _, v in ordered]
    labels = min(max(text_width(label) for label, _ in rows) + 16, width * (0.42 if width < COMPACT else 0.3))
    room = max(map(text_width, value_words)) + 10
    low, high = min(0.0, *(v for _, v in rows)), max(0.0, *(v for _, v in rows))
    x = LinearScale(low, high if high > low else low + 1, labels + (room if low < 0 else 0), width - room)
    bars = []
    for i, ((label, value), words) in enumerate(zip(ordered, value_words)):
        y = 4 + 27 * i
        start, end = sorted((x(0), x(value)))
        at, anchor = (end + 7, "start") if value >= 0 else (start - 7, "end")
        bars.append(
            group(
                rect(start, y + 3, max(end - start, 1), 16, "cohort-1"),
                text(0, y + 15, label, "label", room=labels - 14),
                text(at, y + 15, words, "value", anchor=anchor),
                tip=f"{label}: {words}",
                class_="mark",
                **number_marks(value),
            )
        )
    words = "; ".join(f"{label}: {t}" for (label, _), t in zip(ordered, value_words)) + "."
    return canvas(width, 8 + 27 * len(rows), title, words, *bars)


def _stack(
    label: str, raw_parts: Sequence[float], shares: Sequence[float], names: Sequence[str], x: LinearScale, top: float
) -> Markup:
    """`raw_parts` are the row's own numbers (counts or shares), `shares` what is drawn of them."""
    parts, start = [], 0.0
    for i, (share, name) in enumerate(zip(shares, names)):
        left, size = x(start), x(start + share) - x(start)
        words = numbers.percent(share)
        tip = f"{label}, {name}: {numbers.percent(share, 1)}"
        box = rect(left, top, size - 1.5, 23, "bucket", fill_opacity=_shade(i, len(names)))
        fits = text_width(words) + 10 <= size
        inside = text(left + 8, top + 16, words, "on-bucket") if fits else None
        parts.append(group(box, inside, tip=tip, class_="mark", **number_marks(raw_parts[i])))
        start += share
    return group(*parts)


def _shade(index: int, total: int) -> float:
    """Bucket 0 is always the darkest and the last the palest; no two are alike, for a row may lack some."""
    return 1.0 - (1.0 - PALEST) * index / max(1, total - 1)
