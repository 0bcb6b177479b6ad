"""Pictures in the space of sentences, without a network that knows both: ConSE (Norouzi et al. 2014).

A picture stands where the names of its likeliest ImageNet classes stand, weighed by their chances p and seen by MiniLM:

    seen = (sum of p_c name_c) / (sum of p_c) - middle,    c over the ten likeliest,    middle = mean of all name_c

Sentences are taken less the same middle; without that, all cosines are large and say little.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources

import numpy as np

from salon.models.embedding_cache import EmbeddingCache
from salon.models.minilm import MINILM, MINILM_HASH, WIDTH, embed_texts

MOST = 10
"""Classes that count, the likeliest."""


def seen_vectors(chances: np.ndarray) -> np.ndarray:
    """(pictures, 384) from (pictures, 1000) chances in ImageNet's order, of any length."""
    names, middle = _classes()
    likeliest = np.argsort(-chances, axis=1, kind="stable")[:, :MOST]
    weights = np.take_along_axis(chances, likeliest, axis=1)
    weights = weights / weights.sum(axis=1, keepdims=True)
    values: np.ndarray = (weights[:, :, None] * names[likeliest]).sum(
        axis=1
    ) - middle  # no BLAS: it sums by the number of rows
    return values


def sentence_vectors(texts: Sequence[str]) -> np.ndarray:
    """(texts, 384): MiniLM's vectors less the mean of all class names, of any length."""
    values: np.ndarray = embed_texts(texts) - _classes()[1]
    return values


@cache
def _classes() -> tuple[np.ndarray, np.ndarray]:
    """The MiniLM vectors of ImageNet's class names, and their mean; kept, for they cost seconds in every process."""
    shelf = EmbeddingCache().shelf(f"class names in {MINILM} sha256:{MINILM_HASH}", WIDTH)
    keys = [hashlib.sha256(name.encode()).hexdigest() for name in class_names()]
    names, known = shelf.read(keys)
    if not known.all():
        names = embed_texts(class_names())
        shelf.keep(keys, names)
    return names, names.mean(axis=0)


@cache
def class_names() -> tuple[str, ...]:
    """ImageNet's thousand classes in their order, in everyday words."""
    text = (resources.files("salon.models") / "imagenet_labels.txt").read_text(encoding="utf-8")
    return tuple(name for row in text.strip().split("\n") for name in row.split("; "))
