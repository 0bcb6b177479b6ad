"""A curve from a latent scale to the scale of ratings, and the items that tie the two together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from scipy.special import expit

from salon.errors import BadValue
from salon.report import numbers
from salon.report.frame import LINE, diamond, x_axis, y_grid, y_ticks_width
from salon.report.located import marks
from salon.report.scale import Scale, domain
from salon.report.svg import Rows, canvas, drawn, element, group, line, text

STEPS = 80
LOW = 220
"""Pixels: in lower drawings the ticks of the y axis stand closer."""
TOLD = 30


@dataclass(frozen=True)
class AnchorMark:
    """An item with a latent score, the rating it should get, the spread of its ratings, and its place on the curve."""

    label: str
    latent: float
    target: float
    fitted: float
    spread: float | None = None


def _data(
    a: float,
    b: float,
    anchors: Sequence[AnchorMark],
    *,
    low: float,
    high: float,
    x_range: tuple[float, float] | None = None,
    **_: object,
) -> Rows:
    at = np.linspace(*_x_domain(anchors, x_range), STEPS + 1)
    heights = low + (high - low) * expit(a * at + b)
    return [
        *(
            {"mark": "anchor", "label": anchor.label, "latent": anchor.latent, "rating": anchor.target,
             "on the curve": anchor.fitted, "spread": anchor.spread}
            for anchor in anchors
        ),
        *({"mark": "curve", "latent": x, "on the curve": y} for x, y in zip(at.tolist(), heights.tolist())),
    ]  # fmt: skip


@drawn(_data)
def calibration_curve(
    a: float,
    b: float,
    anchors: Sequence[AnchorMark],
    *,
    low: float,
    high: float,
    title: str = "Calibration curve",
    x_label: str = "",
    y_label: str = "",
    x_range: tuple[float, float] | None = None,
    height: float = 320,
    width: int,
) -> Markup:
    """low + (high - low) / (1 + exp(-(a x + b))); diamonds are the rating anchors, bars the spread of their ratings."""
    x_domain = _x_domain(anchors, x_range)
    top, bottom = 26 if y_label else 10, height - (2 * LINE + 10 if x_label else LINE + 8)
    y = Scale(*domain((low, high), pad=0.03), bottom, top)
    room = 42 if height > LOW else 26
    left = y_ticks_width(y, room=room)
    x = Scale(*x_domain, left, width - 12)
    return canvas(
        width,
        height,
        title,
        _words(a, b, anchors),
        text(0, 12, y_label, "axis-label", room=width) if y_label else None,
        y_grid(y, left, width - 12, room=room),
        _path(np.linspace(x.low, x.high, STEPS + 1), (a, b, low, high), x, y),
        *(_anchor(anchor, x, y) for anchor in anchors),
        x_axis(x, bottom, width, label=x_label),
    )


def _x_domain(anchors: Sequence[AnchorMark], x_range: tuple[float, float] | None) -> tuple[float, float]:
    if x_range is None and not anchors:
        raise BadValue("rating anchors or a range are needed to draw a calibration curve", found="neither")
    return domain((anchor.latent for anchor in anchors), include=x_range or (), pad=0.06)


def _path(at: np.ndarray, curve: tuple[float, float, float, float], x: Scale, y: Scale) -> Markup:
    a, b, low, high = curve
    heights = low + (high - low) * expit(a * at + b)
    points = "L".join(f"{x(v):.1f} {y(h):.1f}" for v, h in zip(at.tolist(), heights.tolist()))
    return element("path", d="M" + points, class_="series-1 curve")


def _anchor(anchor: AnchorMark, x: Scale, y: Scale) -> Markup:
    """A diamond at its rating."""
    at = x(anchor.latent)
    spread = None
    if anchor.spread is not None:
        ends = [y(min(max(anchor.target + s * anchor.spread, y.low), y.high)) for s in (-1, 1)]
        spread = line(at, ends[0], at, ends[1], "cohort-2 marker", **marks(anchor.spread))
    return group(
        spread,
        element("path", d=diamond(at, y(anchor.target), 5.5), class_="cohort-2 dot", **marks(anchor.target)),
        tip=_tip(anchor),
        class_="mark",
        **marks(anchor.latent),
    )


def _tip(anchor: AnchorMark) -> str:
    parts = [f"rating {numbers.fixed(anchor.target, 2)}", f"on the curve {numbers.fixed(anchor.fitted, 2)}"]
    parts += [f"latent {numbers.significant(anchor.latent)}"]
    return f"{anchor.label}: " + ", ".join(parts)


def _words(a: float, b: float, anchors: Sequence[AnchorMark]) -> str:
    shape = f"Curve with a {numbers.significant(a)} and b {numbers.significant(b)}"
    rest = [f"and {len(anchors) - TOLD} more"] if len(anchors) > TOLD else []
    return "; ".join([shape, *map(_tip, anchors[:TOLD]), *rest]) + "."
