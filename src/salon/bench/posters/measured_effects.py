"""Which of nine classic effects the lower of two words has: each measured against the upper word, which is plain.

Every effect leaves a trace: pixels darker than the ground (shadow), a filled bar (highlight), a word twice as high
(reflection), half-lit pixels (glow), a second color around the letters (outline) or in them (gradient fill), a row full
of ink (underline), slanted stems (italic), more ink (bold). The traces are looked for in this order, in which none can
be mistaken for a later one; the first that is there and among the options of the prompt is the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from salon.bench.posters.measured_ink import Bools, Floats, Pixels, distance, ground_of
from salon.bench.posters.vocabulary import CLASSIC_EFFECTS, folded

_OPTION = re.compile(r"\b([A-D])[).:] ?([A-Za-z][a-z_ ]*)")
_SLANTS = np.arange(-0.1, 0.46, 0.02)
_LIT = 12.0
"""Difference from the ground, of 255, from which a pixel is something."""
_OFF = 30.0
"""Difference from every mixture of ground and ink from which a pixel has a color of its own."""


def effect_seen(prompt: str, pixels: Pixels) -> str | None:
    """The letter of the effect that is seen; None where the prompt lists no options, or none of them is seen."""
    options = {effect: letter for letter, effect in _options(prompt)}
    if not options:
        return None
    ground = ground_of(pixels)
    upper, lower = np.array_split(pixels, 2, axis=0)
    if not (distance(upper, ground) > _LIT).any() or not (distance(lower, ground) > _LIT).any():
        return None
    return next((options[effect] for effect in _seen(upper, lower, ground) if effect in options), None)


def _options(prompt: str) -> Iterator[tuple[str, str]]:
    """Letter and effect of the options that a prompt lists."""
    for letter, words in _OPTION.findall(prompt):
        effect = next((one for one in CLASSIC_EFFECTS if folded(words).startswith(folded(one))), None)
        if effect is not None:
            yield letter, effect


def _seen(upper: Pixels, lower: Pixels, ground: Floats) -> Iterator[str]:
    """Effects whose trace is there, in their order."""
    apart = distance(upper, ground)
    ink: Floats = np.median(upper[apart >= 0.9 * apart.max()], axis=0)
    plain, done = _mixed(upper, ground, ink), _mixed(lower, ground, ink)
    before, after = plain > 0.5, done > 0.5
    area = max(1, int(before.sum()))
    high, wide = _size(apart > _LIT)
    lit = distance(lower, ground) > _LIT
    high_now, wide_now = _size(lit)
    own = _own_color(lower, ground, ink, done).sum() / area
    traces = {
        "shadow": (lower.sum(axis=2) < ground.sum() - _LIT).sum() / area > 0.3,
        "highlight": lit.sum() / (high_now * wide_now) > 0.95,
        "reflection": high_now / high > 1.6,
        "glow": (_half(done) - _half(plain)) / area > 1.8,
        "outline": own > 0.4 and high_now > 1.02 * high,
        "gradient_fill": own > 0.4,
        "underline": after.sum(axis=1).max() / wide_now - before.sum(axis=1).max() / wide > 0.33,
        "italic": _slant(after) - _slant(before) > 0.1,
        "bold": after.sum() / area > 1.2,
    }
    return (effect for effect, there in traces.items() if there)


def _mixed(half: Pixels, ground: Floats, ink: Floats) -> Floats:
    """How far each pixel is on the way from the ground (0) to the ink (1)."""
    way = ink - ground
    along: Floats = (half.astype(float) - ground) @ way / (way @ way)
    return along


def _own_color(half: Pixels, ground: Floats, ink: Floats, along: Floats) -> Bools:
    """Pixels that no mixture of ground and ink gives."""
    nearest = ground + np.clip(along, 0, 1)[..., None] * (ink - ground)
    off: Bools = np.abs(half.astype(float) - nearest).max(axis=2) > _OFF
    return off


def _half(along: Floats) -> int:
    """Pixels lit by halves."""
    return int(((along > 0.08) & (along < 0.6)).sum())


def _size(lit: Bools) -> tuple[int, int]:
    """Height and width of what is lit."""
    rows, columns = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
    return int(rows[-1] - rows[0] + 1), int(columns[-1] - columns[0] + 1)


def _slant(letters: Bools) -> float:
    """The shear that puts most ink above one another: 0 for upright stems, positive where they lean to the right."""
    y, x = np.nonzero(letters)
    if not len(y):
        return 0.0
    return float(max(_SLANTS, key=lambda shear: _stacked(x + shear * (y - y.mean()))))


def _stacked(columns: Floats) -> float:
    return float((np.bincount((columns - columns.min()).astype(int)).astype(float) ** 2).sum())
