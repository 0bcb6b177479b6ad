"""Lying bars: stacked shares by bucket, and plain lists."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.frame import Key, legend
from salon.report.located import marks
from salon.report.scale import Scale
from salon.report.svg import Rows, canvas, drawn, group, rect, text, text_width

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


@drawn(_bucket_data)
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
    shown = [*rows, *([(null_label, null)] if null is not None else [])]
    _check_rows(shown, len(bucket_labels))
    keys = [Key("bucket", name, shade=_shade(i, len(bucket_labels))) for i, name in enumerate(bucket_labels)]
    top_block, used = legend(keys, 0, 0, width)
    compact = width < COMPACT
    labels = 0.0 if compact else min(max(text_width(label) for label, _ in shown) + 18, width * 0.3)
    pitch, x = (48 if compact else 30), Scale(0, 1, labels, width)
    bars = []
    for i, (label, parts) in enumerate(shown):
        top = used + 8 + pitch * i + (10 if null is not None and i == len(rows) else 0)
        words_y = top + 13 if compact else top + 18
        whole = float(sum(parts))
        shares = [float(p) / whole for p in parts]
        bars.append(text(0, words_y, label, "label", room=width if compact else labels - 14))
        bars.append(_stack(label, parts, shares, bucket_labels, x, top + (18 if compact else 2)))
    height = used + 8 + pitch * len(shown) + (12 if null is not None else 2)
    return canvas(width, height, title, _bucket_words(shown, bucket_labels), top_block, *bars)


def _bar_data(rows: Sequence[tuple[str, float]], **_: object) -> Rows:
    return [{"label": label, "value": value} for label, value in rows]


@drawn(_bar_data)
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
    told = [numbers.percent(v, 1) if percent else numbers.fixed(v, 3) for _, v in ordered]
    labels = min(max(text_width(label) for label, _ in rows) + 16, width * (0.42 if width < COMPACT else 0.3))
    room = max(map(text_width, told)) + 10
    low, high = min(0.0, *(v for _, v in rows)), max(0.0, *(v for _, v in rows))
    x = Scale(low, high if high > low else low + 1, labels + (room if low < 0 else 0), width - room)
    bars = []
    for i, ((label, value), words) in enumerate(zip(ordered, told)):
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
                **marks(value),
            )
        )
    words = "; ".join(f"{label}: {t}" for (label, _), t in zip(ordered, told)) + "."
    return canvas(width, 8 + 27 * len(rows), title, words, *bars)


def _stack(
    label: str, given: Sequence[float], shares: Sequence[float], names: Sequence[str], x: Scale, top: float
) -> Markup:
    """`given` are the row's own numbers (counts or shares), `shares` what is drawn of them."""
    parts, start = [], 0.0
    for i, (share, name) in enumerate(zip(shares, names)):
        left, size = x(start), x(start + share) - x(start)
        words = numbers.percent(share)
        tip = f"{label}, {name}: {numbers.percent(share, 1)}"
        box = rect(left, top, size - 1.5, 23, "bucket", fill_opacity=_shade(i, len(names)))
        fits = text_width(words) + 10 <= size
        inside = text(left + 8, top + 16, words, "on-bucket") if fits else None
        parts.append(group(box, inside, tip=tip, class_="mark", **marks(given[i])))
        start += share
    return group(*parts)


def _shade(index: int, total: int) -> float:
    """Bucket 0 is always the darkest and the last the palest; no two are alike, for a row may lack some."""
    return 1.0 - (1.0 - PALEST) * index / max(1, total - 1)


def _check_rows(rows: Sequence[tuple[str, Sequence[float]]], buckets: int) -> None:
    if not rows:
        raise BadValue("at least one row is needed to draw buckets", found="none")
    for label, parts in rows:
        if len(parts) != buckets or min(parts) < 0 or not sum(parts) > 0:
            raise BadValue(f"{buckets} shares, none negative, not all zero", found=list(parts), where=f"row {label!r}")


def _bucket_words(rows: Sequence[tuple[str, Sequence[float]]], names: Sequence[str]) -> str:
    told = []
    for label, parts in rows[:30]:
        shares = ", ".join(f"{n} {numbers.percent(float(p) / float(sum(parts)))}" for n, p in zip(names, parts))
        told.append(f"{label}: {shares}")
    return "; ".join(told) + "."
