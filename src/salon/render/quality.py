"""What a poster is truly worth, by criterion: known because every flaw in it was planted.

The quality of a poster under a criterion is the product of (1 - weight x strength) over its defects: 1 without any,
and no flaw can be bought back by the absence of another. Weights say how much of a criterion a flaw at full strength
destroys. They are this project's stipulation, written down before any judgment is simulated: what judges are measured
against, not a finding about people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from salon.render.layout import Defect, DefectKind

WEIGHTS: dict[str, dict[DefectKind, float]] = {
    "taste/aesthetics-preference": {
        "low-contrast": 0.4, "clashing-colors": 0.45, "broken-hierarchy": 0.4, "misalignment": 0.35, "crowding": 0.4,
        "bad-kerning": 0.35, "wrong-font-pairing": 0.35, "misspelling": 0.2, "off-mood-style": 0.35,
        "extra-element": 0.2,
    },
    "taste/mood": {"off-mood-style": 0.75, "wrong-color": 0.3, "clashing-colors": 0.3, "wrong-font-pairing": 0.3},
    "taste/visual-hierarchy": {
        "broken-hierarchy": 0.8, "low-contrast": 0.4, "crowding": 0.45, "misalignment": 0.4, "extra-element": 0.15,
    },
    "taste/color-harmony": {"clashing-colors": 0.85, "low-contrast": 0.35, "wrong-color": 0.1},
    "taste/aesthetics-typography": {
        "bad-kerning": 0.65, "wrong-font-pairing": 0.7, "broken-hierarchy": 0.3, "low-contrast": 0.25, "crowding": 0.2,
        "misalignment": 0.2,
    },
    "taste/descriptions-preference": {
        "missing-text": 0.5, "misspelling": 0.45, "wrong-color": 0.45, "wrong-position": 0.4, "extra-element": 0.4,
        "low-contrast": 0.2,
    },
    "taste/color-accuracy": {"wrong-color": 0.9, "clashing-colors": 0.35},
    "taste/spatial-accuracy": {
        "wrong-position": 0.85, "misalignment": 0.35, "crowding": 0.2, "missing-text": 0.15, "extra-element": 0.15,
    },
    "taste/descriptions-typography": {
        "misspelling": 0.8, "missing-text": 0.6, "low-contrast": 0.3, "bad-kerning": 0.25, "wrong-font-pairing": 0.1,
    },
    "taste/hallucination": {"extra-element": 0.9, "misspelling": 0.3},
}  # fmt: skip
"""Criterion to flaw to weight. For the hallucination flag quality is freedom from it."""


def true_quality(defects: Iterable[Defect] | Mapping[DefectKind, float]) -> dict[str, float]:
    """Quality in [0, 1] by criterion of a poster with these defects (or these strengths by kind)."""
    if isinstance(defects, Mapping):
        strengths = list(defects.items())
    else:
        strengths = [(defect.kind, defect.strength) for defect in defects]
    quality = dict.fromkeys(WEIGHTS, 1.0)
    for criterion, weights in WEIGHTS.items():
        for kind, strength in strengths:
            quality[criterion] *= 1 - weights.get(kind, 0.0) * strength
    return {criterion: round(value, 4) for criterion, value in quality.items()}
