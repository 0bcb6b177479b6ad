"""The posters that measurements are tried on, and how each measurement moves with each defect."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image
from scipy.stats import rankdata

from prove._read_posters import Case, drawn
from salon.judge import MEASUREMENTS
from salon.judge.measurements.pixels import PictureView
from salon.models import READER, Reading, ResultCache
from salon.models.ocr import read_text
from salon.render import DEFECTS, brief_prompt

STRENGTHS = (0.0, 1 / 3, 2 / 3, 1.0)


def _blurred(pixels: np.ndarray, strength: float) -> np.ndarray:
    return cv2.GaussianBlur(pixels, (0, 0), 4 * strength)


def _noisy(pixels: np.ndarray, strength: float) -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, 40 * strength, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def _one_sided(pixels: np.ndarray, strength: float) -> np.ndarray:
    """The left part painted over with the picture's most frequent color: what is left stands to the right."""
    colors, counts = np.unique(pixels[::8, ::8].reshape(-1, 3), axis=0, return_counts=True)
    changed = pixels.copy()
    changed[:, : round(strength * 0.6 * pixels.shape[1])] = colors[counts.argmax()]
    return changed


DAMAGES: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "blur": _blurred, "noise": _noisy, "emptied left side": _one_sided,
}  # fmt: skip
"""Done to the finished pixels, for measurements that no planted defect is about."""


@dataclass(frozen=True)
class Moves:
    """The values of every measurement on one poster while one defect grows."""

    poster: str
    defect: str
    values: dict[str, tuple[float | None, ...]]

    def falls(self, name: str) -> float | None:
        """Spearman of strength and value; 0 where the value never moves, None where it is not always there."""
        values = self.values.get(name, (None,))
        if None in values:
            return None
        ranks = rankdata(np.round(values, 6))
        return float(np.corrcoef(np.arange(len(values)), ranks)[0, 1]) if np.ptp(ranks) else 0.0


def moves(case: Case, kept: ResultCache) -> Iterator[Moves]:
    """One poster under every defect that it can have, and under damage."""
    clean = drawn(case)[1]
    first = measure(case, clean, kept)
    for kind in DEFECTS:
        knob = kind.replace("-", "_")
        steps = [drawn(case, **{knob: strength}) for strength in STRENGTHS[1:]]
        if all(poster.layout.defects for poster, _ in steps):
            yield _moves(case, kind, [first, *(measure(case, pixels, kept) for _, pixels in steps)])
    for kind, damage in DAMAGES.items():
        reading = _reading(clean, kept)
        steps = [measure(case, damage(clean, strength), kept, reading) for strength in STRENGTHS[1:]]
        yield _moves(case, kind, [first, *steps])


def own_moves(case: Case, defect: str, name: str, kept: ResultCache) -> Moves | None:
    """One measurement of one poster while one defect grows; None where the brief cannot have it."""
    knob = defect.replace("-", "_")
    steps = [drawn(case, **({knob: strength} if strength else {})) for strength in STRENGTHS]
    if not all(poster.layout.defects for poster, _ in steps[1:]):
        return None
    values = tuple(MEASUREMENTS[name].measure(_seen(case, pixels, kept)) for _, pixels in steps)
    return Moves(case[0].id, defect, {name: values})


def _moves(case: Case, kind: str, found: list[dict[str, float | None]]) -> Moves:
    return Moves(case[0].id, kind, {name: tuple(one[name] for one in found) for name in MEASUREMENTS})


def measure(
    case: Case, pixels: np.ndarray, kept: ResultCache, reading: Reading | None = None
) -> dict[str, float | None]:
    """Every measurement of one picture; `reading` in place of reading it, where damage is no matter of words."""
    seen = _seen(case, pixels, kept, reading)
    return {name: rule.measure(seen) for name, rule in MEASUREMENTS.items()}


def _seen(case: Case, pixels: np.ndarray, kept: ResultCache, reading: Reading | None = None) -> PictureView:
    return PictureView(Image.fromarray(pixels), brief_prompt(case[0]), lambda: reading or _reading(pixels, kept))


def _reading(pixels: np.ndarray, kept: ResultCache) -> Reading:
    key = f"{READER}|{hashlib.sha256(pixels.tobytes()).hexdigest()}"
    known = kept.many([key])
    if key not in known:
        kept.keep({key: read_text(pixels).record()})
        known = kept.many([key])
    return Reading.of_record(known[key])
