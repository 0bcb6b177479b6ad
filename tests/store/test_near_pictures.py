"""Copies of a picture are near, other pictures are not, and comparing is exact."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageEnhance

from salon.store import PictureKey, near_groups, nearest, picture_hash, picture_key
from salon.store.near_pictures import RADIUS, as_words


def drawn(seed: int, size: tuple[int, int] = (180, 240)) -> Image.Image:
    """A picture of smooth blots, as unlike another seed's as can be."""
    blots = np.random.default_rng(seed).integers(0, 256, (12, 9, 3), np.uint8)
    return Image.fromarray(blots).resize(size, Image.Resampling.BICUBIC)


def bits(one: str, other: str) -> int:
    return (int(one, 16) ^ int(other, 16)).bit_count()


def saved_again(image: Image.Image) -> Image.Image:
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=40)
    return Image.open(stream)


@pytest.mark.parametrize(
    "change",
    [
        saved_again,
        lambda image: image.resize((70, 91)),
        lambda image: ImageEnhance.Brightness(image).enhance(0.8),
        lambda image: image.convert("L"),
        lambda image: image.crop((1, 1, 179, 239)),
    ],
    ids=["jpeg", "scaled", "darker", "gray", "cropped"],
)
def test_copies_are_near(change):
    for seed in range(5):
        image = drawn(seed)
        assert bits(picture_hash(image), picture_hash(change(image))) <= RADIUS


def test_other_pictures_are_not_near():
    hashes = [picture_hash(drawn(seed)) for seed in range(40)]
    apart = [bits(one, other) for number, one in enumerate(hashes) for other in hashes[:number]]
    assert min(apart) > 2 * RADIUS
    assert np.mean(apart) == pytest.approx(128, abs=2)


def test_nearest_and_groups_by_definition():
    rng = np.random.default_rng(3)
    words = [rng.bytes(32) for _ in range(30)]
    for number in range(10, 20):  # near copies of the first ten: a few bits turned, in any word
        turned = int.from_bytes(words[number - 10], "big")
        for bit in rng.choice(256, 3 * (number - 9), replace=False).tolist():
            turned ^= 1 << bit
        words[number] = turned.to_bytes(32, "big")
    hashes = [word.hex() for word in words]
    place, apart = nearest(hashes[10:], hashes[:10])
    for row, one in enumerate(hashes[10:]):
        each = [bits(one, other) for other in hashes[:10]]
        best = int(np.argmin(each)) if min(each) <= RADIUS else -1
        assert (place[row], apart[row]) == (best, min(each) if best >= 0 else -1)
    near = np.array([[bits(one, other) <= RADIUS for other in hashes] for one in hashes])
    groups = near_groups([PictureKey(str(number), one) for number, one in enumerate(hashes)])
    assert groups.tolist() == [int(np.flatnonzero(row)[0]) for row in near]


def test_groups_hold_together_through_others_and_through_bytes():
    ends, middle = ("f" * 15 + "0" * 49, "0" * 64), "f" * 7 + "3" + "0" * 56
    assert bits(*ends) == 60
    assert bits(ends[0], middle) == bits(ends[1], middle) == 30
    looks = [ends[0], ends[1], middle, "", "", ""]
    keys = [PictureKey(content, near) for content, near in zip("abcded", looks)]
    assert near_groups(keys).tolist() == [0, 0, 0, 3, 4, 3]


def test_plain_pictures_have_no_hash(tmp_path):
    path = tmp_path / "flat.png"
    Image.new("RGB", (50, 50), "teal").save(path)
    assert picture_key(path).near == ""
    assert nearest(["", ""], [""])[0].tolist() == [-1, -1]
    assert as_words(["", "0" * 63 + "1"])[1].tolist() == [1]
