"""The one place that writes numbers for people: pages, charts and terminal tables all read the same.

Rules: a true minus sign; an estimate is rounded by the width of its interval (two significant digits of the
width); a p value never rounds across .05, .01 or .001; None is a dash; NaN is refused, because a number that
does not exist must not look like one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

from salon.errors import BadValue
from salon.stats import Estimate

MINUS = "\u2212"
THIN = "\u202f"
"""Narrow no-break space: separates thousands, and a number from its unit, without a line break."""
MISSING = "–"
LEAST_P = 1e-10
P_LANDMARKS = (0.05, 0.01, 0.001)
MAX_DECIMALS = 8

Number = int | float | Fraction


def fixed(x: Number | None, decimals: int = 3) -> str:
    """`x` with exactly `decimals` digits after the point: 0.159, −0.067."""
    if x is None:
        return MISSING
    value = _require_number(x)
    if math.isinf(value):
        return "∞" if value > 0 else MINUS + "∞"
    text = f"{round_half_up(abs(value), decimals):,.{decimals}f}"
    negative = value < 0 and any(c in "123456789" for c in text)
    return (MINUS if negative else "") + text.replace(",", THIN)


def round_half_up(x: float, decimals: int) -> Decimal:
    """Half goes up, as people round: 62.5 is 63, and 0.0625 to three digits is 0.063."""
    return Decimal(repr(x)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def significant(x: Number | None, digits: int = 3) -> str:
    """`x` to `digits` significant digits, never in scientific notation inside 1e-6..1e15."""
    if x is None or x == 0 or math.isinf(_require_number(x)):
        return fixed(x, 0)
    size = _magnitude(x, digits)
    if not -7 <= size < 15:
        mantissa, exponent = f"{abs(float(x)):.{digits - 1}e}".split("e")
        return (MINUS if x < 0 else "") + f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    return fixed(x, max(0, digits - 1 - size))


def decimals_for(low: Number | None, high: Number | None, default: int = 3) -> int:
    """Digits after the point that show the width `high - low` to two significant digits."""
    if low is None or high is None or not math.isfinite(high - low) or high <= low:
        return default
    return min(MAX_DECIMALS, max(0, 1 - _magnitude(high - low, 2)))


def score_decimals(x: Number | None) -> int:
    """Digits after the point of a score on a scale that nobody knows: four that count, at most three of them here."""
    return 3 if not x or not math.isfinite(x) else min(3, max(0, 3 - _magnitude(x, 4)))


def common_decimals(intervals: Iterable[tuple[Number | None, Number | None]], default: int = 3) -> int:
    """One number of decimals for a whole column, that of its median width, so that its points line up."""
    decimals = [decimals_for(low, high, default) for low, high in intervals if low is not None and high is not None]
    return sorted(decimals)[len(decimals) // 2] if decimals else default


def interval(low: Number | None, high: Number | None, decimals: int | None = None) -> str:
    """[0.121, 0.198], or a dash where n allows none."""
    if low is None and high is None:
        return MISSING
    places = decimals_for(low, high) if decimals is None else decimals
    return f"[{fixed(low, places)}, {fixed(high, places)}]"


def estimate(
    value: Number | None, low: Number | None = None, high: Number | None = None, decimals: int | None = None
) -> str:
    """0.159 [0.121, 0.198]; the value alone where there is no interval."""
    places = decimals_for(low, high) if decimals is None else decimals
    if value is None or (low is None and high is None):
        return fixed(value, places)
    return f"{fixed(value, places)} {interval(low, high, places)}"


def with_interval(figure: Estimate | None, decimals: int | None = 3) -> str:
    """A figure with its interval; a dash where there is no figure."""
    return MISSING if figure is None else estimate(figure.value, figure.low, figure.high, decimals)


def cell_text(cell: str | Number | Estimate | None) -> str:
    """A cell of a terminal table: text as it is, a count with commas, an estimate with its interval."""
    if isinstance(cell, str):
        return cell
    return with_interval(cell) if cell is None or isinstance(cell, Estimate) else f"{cell:,}"


def range_with_interval(span: tuple[float, float] | None, figure: Estimate | None, decimals: int = 3) -> str:
    """0.700 to 0.810 [0.660, 0.850]: a range of values that fit, and the interval of the range."""
    if span is None or figure is None:
        return MISSING
    ends = f"{fixed(span[0], decimals)} to {fixed(span[1], decimals)}"
    return ends if figure.low is None else f"{ends} {interval(figure.low, figure.high, decimals)}"


def p_value(p: float | None) -> str:
    """0.038, 0.0015, 3.2e−6, < 1e−10. More digits are shown where two would cross .05, .01 or .001."""
    if p is None:
        return MISSING
    if not 0 <= _require_number(p) <= 1:
        raise BadValue("a p value between 0 and 1 is needed", found=p)
    if p < LEAST_P:
        return f"< 1e{MINUS}10"
    if p < 1e-4:
        mantissa, exponent = f"{p:.1e}".split("e")
        return f"{mantissa}e{MINUS}{abs(int(exponent))}"
    places = max(2, min(4, 1 - _magnitude(p, 2)))
    while places < MAX_DECIMALS and _crosses_landmark(p, places):
        places += 1
    return fixed(p, places)


def exact(x: Fraction | str | None) -> str:
    """An exact fraction as itself, with a true minus: 3875/18432."""
    return MISSING if x is None else str(x).replace("-", MINUS)


def count(n: Number | None) -> str:
    """1 000 000, with narrow no-break spaces."""
    return fixed(n, 0)


def share(k: int, n: int) -> str:
    """12 of 80 (15%). The count comes first: a percentage alone hides its n."""
    return f"{count(k)} of {count(n)}" + (f" ({percent(k / n)})" if n else "")


def percent(x: Number | None, decimals: int | None = None) -> str:
    """15%, 2.5%, 0.08%: as many digits as the size asks for unless told."""
    if x is None:
        return MISSING
    hundred = 100 * _require_number(x)
    if decimals is None:
        small = abs(hundred)
        decimals = 0 if small == 0 or small >= 9.95 else 1 if small >= 0.95 else 2
    return fixed(hundred, decimals) + "%"


def duration(seconds: float | None) -> str:
    """350 µs, 12 ms, 1.4 s, 2 min 05 s, 3 h 20 min, 4 d 3 h."""
    if seconds is None:
        return MISSING
    size = abs(_require_number(seconds))
    sign = MINUS if seconds < 0 else ""
    for unit, factor in (("µs", 1e6), ("ms", 1e3), ("s", 1.0)):
        scaled = size * factor
        if scaled < (59.95 if unit == "s" else 999.5):
            return f"{sign}{fixed(scaled, 1 if 0 < scaled < 9.95 else 0)}{THIN}{unit}"
    whole = round(size)
    if whole < 3600:
        return f"{sign}{whole // 60}{THIN}min {whole % 60:02d}{THIN}s"
    minutes = round(size / 60)
    if minutes < 24 * 60:
        return f"{sign}{minutes // 60}{THIN}h {minutes % 60:02d}{THIN}min"
    hours = round(size / 3600)
    return f"{sign}{count(hours // 24)}{THIN}d {hours % 24}{THIN}h"


def align(texts: Sequence[str]) -> list[str]:
    """Pad `texts` to one width with their decimal points (or last digits) in one column, for the terminal."""
    heads = [_before_point(t) for t in texts]
    left = max((len(h) for h in heads), default=0)
    padded = [" " * (left - len(h)) + t for h, t in zip(heads, texts)]
    full = max((len(t) for t in padded), default=0)
    return [t.ljust(full) for t in padded]


def plain(x: object) -> int | float | None:
    """A numpy scalar or a Python number as a Python number; None stays None; NaN is refused."""
    item = getattr(x, "item", None)
    value = item() if callable(item) else x
    if value is None or isinstance(value, int | float):
        if isinstance(value, float):
            _require_number(value)
        return value
    raise BadValue("a number is needed", found=repr(x))


def _before_point(text: str) -> str:
    """The part of a formatted number left of its own decimal point; the interval after it does not count."""
    value = text.split(" [")[0]
    return value.split(".")[0] if "." in value else value.rstrip("%")


def _require_number(x: Number) -> float:
    value = float(x)
    if math.isnan(value):
        raise BadValue("a number is needed", found="NaN", remedy="pass None where there is no value")
    return value


def _magnitude(x: Number, digits: int) -> int:
    """The power of ten of `x` after rounding to `digits`, so that 0.0999 counts as 0.1."""
    return int(f"{abs(float(x)):.{digits - 1}e}".split("e")[1])


def _crosses_landmark(p: float, places: int) -> bool:
    printed = float(round_half_up(p, places))
    return any((p < mark) != (printed < mark) for mark in P_LANDMARKS)
