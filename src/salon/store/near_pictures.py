"""Pictures that look the same though their bytes differ: copies saved again, scaled, lightened or slightly cropped.

Hash: luminance averaged to 64 x 64, its 2-d cosine transform, rows and columns 1 to 16 of it; a bit for each of these
256 coefficients says whether it lies above their median. Scaling, compression and light barely move low frequencies, so
copies differ in a few bits; two unrelated pictures differ in 128, give or take 8 (standard deviation). `RADIUS` bits or
fewer mean *near*.

A picture without structure (one flat colour) has no such bits worth comparing: it is `plain`, and near nothing but its
own bytes.

Comparing is exact: every hash against every other, given up after half of the bits where they differ too much. 100,000
pictures among themselves take about six seconds, and no arrangement of the data makes it much slower.

Source: Zauner, Implementation and Benchmarking of Perceptual Image Hash Functions, 2010, for the transform; the size of
the hash and its radius are those of PDQ (Meta, 2019), whose exact bits this does not give.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.fft import dctn

from salon.stats import compiled
from salon.store.pictures import read_bytes, read_picture

Hashes = NDArray[np.uint64]
"""(pictures, 4): 256 bits each."""
Ints = NDArray[np.int64]

METHOD = "dct-256/1"
"""Names the hash; hashes of different methods cannot be compared."""
RADIUS = 31
"""Bits in which near pictures may differ."""
_SIDE, _FREQUENCIES, _WORDS = 64, 16, 4
_LEAST_SPREAD = 1.0
"""Standard deviation of the 64 x 64 luminances (of 255) below which a picture is plain."""


class PictureKey(NamedTuple):
    """By what a picture is known again."""

    sha256: str
    """Of the file's bytes."""
    near: str
    """The hash as 64 hexadecimal digits; empty for a plain picture."""


def picture_hash(image: Image.Image) -> str:
    """The hash as 64 hexadecimal digits, empty where the picture is plain."""
    small = image.convert("L").resize((_SIDE, _SIDE), Image.Resampling.BOX)
    light = np.asarray(small, np.float64)
    if light.std() < _LEAST_SPREAD:
        return ""
    low = dctn(light, norm="ortho")[1 : _FREQUENCIES + 1, 1 : _FREQUENCIES + 1].ravel()
    return np.packbits(low > np.median(low)).tobytes().hex()


def picture_key(path: Path) -> PictureKey:
    """Hashes of the bytes and the looks of a picture file; BadFile where there is none."""
    picture = read_picture(path)
    return PictureKey(picture.sha256, picture_hash(picture.image))


def content_hash(path: Path) -> str:
    """The sha256 of a file's bytes, as `PictureKey` has it, without decoding them."""
    if not path.exists():  # in an object store, or nowhere, which it says
        return hashlib.sha256(read_bytes(path)).hexdigest()
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def as_words(near: Iterable[str]) -> tuple[Hashes, Ints]:
    """Hashes as words to compare, and the places in `near` they have; plain pictures are left out."""
    hashes = list(near)
    places = np.array([place for place, text in enumerate(hashes) if text], np.int64)
    raw = bytes.fromhex("".join(hashes))
    return np.frombuffer(raw, ">u8").astype(np.uint64).reshape(-1, _WORDS), places


def nearest(near: Sequence[str], among: Sequence[str], radius: int = RADIUS) -> tuple[Ints, Ints]:
    """For each hash the place in `among` of the nearest one and the bits between them; -1 where none is near."""
    (left, rows), (right, columns) = as_words(near), as_words(among)
    place, apart = np.full(len(near), -1, np.int64), np.full(len(near), -1, np.int64)
    if len(left) and len(right):
        matches, bits = _nearest(left, right, radius)
        hit = matches >= 0
        place[rows[hit]], apart[rows[hit]] = columns[matches[hit]], bits[hit]
    return place, apart


def near_groups(keys: Sequence[PictureKey]) -> Ints:
    """A number for each picture; those that are near, directly or through others, or equal in bytes, share one.

    The number is the place of the group's first picture.
    """
    words, places = as_words(key.near for key in keys)
    parent = np.arange(len(keys))
    first: dict[str, int] = {}
    for place, key in enumerate(keys):
        _unite(parent, place, first.setdefault(key.sha256, place))
    if len(words):
        _unite_near(words, places, parent, RADIUS)
    return np.array([_root(parent, place) for place in range(len(keys))], np.int64)


# -- kernels -----------------------------------------------------------------------------------------------------------


@compiled
def _ones(word):  # type: ignore[no-untyped-def]  # numba knows the types
    """Bits set in a 64-bit word (LLVM makes one instruction of this)."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _apart(left, i, right, j, most):  # type: ignore[no-untyped-def]  # numba knows the types
    """Bits in which two hashes differ, or any number above `most`.

    Half of the bits part unrelated pictures already: 64 are expected there, one word's 32 would be too near the radius.
    """
    half = _ones(left[i, 0] ^ right[j, 0]) + _ones(left[i, 1] ^ right[j, 1])
    if half > most:
        return half
    return half + _ones(left[i, 2] ^ right[j, 2]) + _ones(left[i, 3] ^ right[j, 3])


@compiled
def _nearest(left, right, radius):  # type: ignore[no-untyped-def]  # numba knows the types
    place = np.full(len(left), -1, np.int64)
    apart = np.full(len(left), radius + 1, np.int64)
    for i in range(len(left)):
        for j in range(len(right)):
            bits = _apart(left, i, right, j, apart[i] - 1)
            if bits < apart[i]:
                place[i], apart[i] = j, bits
    return place, apart


@compiled
def _root(parent, node):  # type: ignore[no-untyped-def]  # numba knows the types
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@compiled
def _unite(parent, first, second):  # type: ignore[no-untyped-def]  # numba knows the types
    """The smaller number becomes the root, so that a group is named after its first member."""
    first, second = _root(parent, first), _root(parent, second)
    parent[max(first, second)] = min(first, second)


@compiled
def _unite_near(words, places, parent, radius):  # type: ignore[no-untyped-def]  # numba knows the types
    for i in range(len(words)):
        for j in range(i):
            if _apart(words, i, words, j, radius) <= radius:
                _unite(parent, places[i], places[j])
