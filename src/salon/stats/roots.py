"""The root of a function between two ends, without the sixth of a second that scipy.optimize takes to load."""

from __future__ import annotations

from collections.abc import Callable

from salon.errors import BadValue

_MOST_STEPS = 200


def bracketed_root(f: Callable[[float], float], low: float, high: float, *, tolerance: float = 1e-14) -> float:
    """x between `low` and `high` with f(x) = 0, to `tolerance` times max(1, |x|).

    Inverse quadratic interpolation where three points bend little, else the middle (Chandrupatla 1997): never more
    steps than three times those of halving, and about as few as Brent's. Edges: f of one sign at both ends: BadValue.
    """
    a, b = float(high), float(low)
    at_a, at_b = float(f(a)), float(f(b))
    if at_a == 0 or at_b == 0:
        return a if at_a == 0 else b
    if (at_a > 0) == (at_b > 0):
        raise BadValue("a root needs values of both signs at its ends", found=f"{at_b:g} and {at_a:g}")
    share = 0.5
    for _ in range(_MOST_STEPS):
        x = a + share * (b - a)
        at_x = float(f(x))
        if (at_x > 0) == (at_a > 0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = x, at_x
        best = a if abs(at_a) < abs(at_b) else b
        least = tolerance * max(1.0, abs(best)) / abs(b - a) if b != a else 1.0
        if least > 0.5 or at_a == 0:
            return best
        along, rise = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        if rise**2 < along and (1 - rise) ** 2 < 1 - along:
            share = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            share += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        else:
            share = 0.5
        share = min(max(share, least), 1 - least)
    return best
