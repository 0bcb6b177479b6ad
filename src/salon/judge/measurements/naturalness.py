"""Is the picture's fine structure that of a clean one? A no-reference measure in the manner of NIQE and BRISQUE.

Brightness is normalised by its neighbourhood (Mittal et al. 2012); the shapes of the normalised values and of the
products of neighbours, at two scales, make 36 features. Their distance from clean pictures is the measure. The clean
pictures are drawn posters, not photographs: BRISQUE's own fit is about camera pictures and is not shipped here.
`fit` makes such a reference from any pictures.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from scipy.special import gamma

from salon.judge.measurements.pixels import PictureView

REFERENCE = Path(__file__).with_name("clean_posters.npz")
"""The fit to clean posters."""
SHORT_SIDE = 512
"""Pixels that the shorter side is brought down to."""
SMALLEST = 96
_FLAT = 1.0
"""Added to the spread of a neighbourhood, in bytes: flat areas stay flat."""
_SHAPES = np.arange(0.2, 10, 0.001)
_RATIOS = gamma(2 / _SHAPES) ** 2 / (gamma(1 / _SHAPES) * gamma(3 / _SHAPES))
_NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1))
_SHRINK = 0.1
"""Share of the features' own variances in the covariance: keeps it well-behaved with few pictures."""


def naturalness(view: PictureView) -> float | None:
    """Minus the distance of its features from those of clean pictures, in standard deviations.

    None for pictures that are too small, or plain: they have no fine structure.
    """
    if min(view.image.size) < SMALLEST or view.is_plain:
        return None
    centre, precision = _reference()
    off = structure_features(view.pixels) - centre
    return -float(np.sqrt(off @ precision @ off / len(off)))


def fit_reference(pictures: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Centre and inverse covariance of the features of clean pictures (height, width, RGB)."""
    rows = np.array([structure_features(picture) for picture in pictures])
    covariance = np.cov(rows.T)
    shrunk = (1 - _SHRINK) * covariance + _SHRINK * np.diag(np.diag(covariance))
    return rows.mean(axis=0), np.linalg.inv(shrunk + 1e-6 * np.eye(len(shrunk)))


def structure_features(pixels: np.ndarray) -> np.ndarray:
    """36 numbers: two for the normalised brightness and sixteen for products of neighbours, at each of two scales."""
    gray: np.ndarray = cv2.cvtColor(np.ascontiguousarray(pixels), cv2.COLOR_RGB2GRAY).astype(np.float64)
    scale = SHORT_SIDE / min(gray.shape)
    if scale < 1:
        gray = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    half = cv2.resize(gray, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
    return np.array([*_scale_features(gray), *_scale_features(half)])


def _scale_features(gray: np.ndarray) -> list[float]:
    normal = normalised(gray)
    variance = normal.var() + 1e-8
    symmetric = _shape(np.abs(normal).mean() ** 2 / variance), float(np.log(variance))
    features = list(symmetric)
    for down, across in _NEIGHBOURS:
        features += _lopsided(normal * np.roll(normal, (-down, -across), (0, 1)))
    return features


def normalised(gray: np.ndarray) -> np.ndarray:
    """Brightness less its neighbourhood's mean, over its spread."""
    mean = cv2.GaussianBlur(gray, (7, 7), 7 / 6)
    spread = np.sqrt(np.maximum(cv2.GaussianBlur(gray**2, (7, 7), 7 / 6) - mean**2, 0))
    values: np.ndarray = (gray - mean) / (spread + _FLAT)
    return values


def _lopsided(values: np.ndarray) -> list[float]:
    """Shape, mean and both log spreads of an asymmetric generalised Gaussian, by matching moments."""
    left = np.sqrt((values[values < 0] ** 2).mean() if (values < 0).any() else 0) + 1e-4
    right = np.sqrt((values[values >= 0] ** 2).mean() if (values >= 0).any() else 0) + 1e-4
    skew = left / right
    ratio = np.abs(values).mean() ** 2 / (np.mean(values**2) + 1e-8)
    ratio *= (skew**3 + 1) * (skew + 1) / (skew**2 + 1) ** 2
    return [_shape(ratio), float(values.mean()), float(np.log(left)), float(np.log(right))]


def _shape(ratio: float) -> float:
    """Log of the shape whose ratio of moments is nearest."""
    return float(np.log(_SHAPES[np.argmin(np.abs(_RATIOS - ratio))]))


@cache
def _reference() -> tuple[np.ndarray, np.ndarray]:
    with np.load(REFERENCE) as arrays:
        return arrays["centre"].astype(float), arrays["precision"].astype(float)
