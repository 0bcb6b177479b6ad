"""The cache of vectors under attack, and pictures and texts encoded through it."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from inspect import getsource

import numpy as np
import pytest
from PIL import Image
from waiting import until

from salon.engine import EngineSettings
from salon.errors import BadFile, BadValue
from salon.models import EncoderPart, encode_pictures, encode_texts
from salon.models.embeddings import EmbeddingCache

WIDTH = 6


def key(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def vector(number):
    return np.random.default_rng(number).normal(size=WIDTH).astype(np.float32)


def fill(shelf, numbers):
    shelf.keep([key(n) for n in numbers], np.stack([vector(n) for n in numbers]))


def wrong(shelf, numbers):
    """Known vectors that are not the right ones: there must never be any."""
    rows, known = shelf.read([key(n) for n in numbers])
    return [n for n, row, there in zip(numbers, rows, known) if there and not np.array_equal(row, vector(n))]


def known(shelf, numbers):
    return shelf.read([key(n) for n in numbers])[1].tolist()


@pytest.fixture
def shelf(tmp_path):
    made = EmbeddingCache(tmp_path).shelf("encoder 1", WIDTH)
    fill(made, range(8))
    return made


# -- the cache --------------------------------------------------------------------------------------------------------


def test_what_is_kept_is_found_and_the_rest_is_not(shelf, tmp_path):
    again = EmbeddingCache(tmp_path).shelf("encoder 1", WIDTH)
    rows, there = again.read([key(3), key(99), key(0)])
    assert there.tolist() == [True, False, True]
    assert np.array_equal(rows, [vector(3), np.zeros(WIDTH), vector(0)])
    assert np.array_equal(np.fromfile(again.rows, "<f4").reshape(-1, WIDTH)[3], vector(3)), "a plain file of float32"
    assert again.read([])[0].shape == (0, WIDTH)


def test_another_signature_or_width_knows_nothing(shelf, tmp_path):
    for other in (EmbeddingCache(tmp_path).shelf("encoder 2", WIDTH), EmbeddingCache(tmp_path).shelf("encoder 1", 3)):
        assert not other.read([key(0)])[1].any()
        shutil.copytree(shelf.folder, other.folder)  # even when its files are put in the wrong place
        assert not other.read([key(n) for n in range(8)])[1].any()


@pytest.mark.parametrize("name", ["rows", "index"])
@pytest.mark.parametrize("keep", [0, 1, 0.5, 0.9])
def test_a_file_cut_off_costs_time_and_no_more(shelf, name, keep):
    path = getattr(shelf, name)
    size = int(keep) if keep in (0, 1) else int(path.stat().st_size * keep) - 1
    os.truncate(path, size)
    assert not wrong(shelf, range(8))
    there = known(shelf, range(8))
    assert there == sorted(there, reverse=True), "the first rows are whole"
    fill(shelf, [n for n in range(8) if not there[n]] + [8])
    assert all(known(shelf, range(9)))
    assert not wrong(shelf, range(9))


def test_no_byte_can_be_changed_unseen(shelf):
    rng = np.random.default_rng(0)
    for path in (shelf.rows, shelf.index):
        whole = path.read_bytes()
        for place in rng.choice(len(whole), 40, replace=False):
            broken = bytearray(whole)
            broken[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(broken)
            assert not wrong(shelf, range(8))
            assert known(shelf, range(8)).count(False) == 1
        path.write_bytes(whole)


def test_files_of_two_states_do_not_mix(shelf, tmp_path):
    """The list of one cache beside the rows of another: each row is checked against its own name."""
    other = EmbeddingCache(tmp_path / "other").shelf("encoder 1", WIDTH)
    fill(other, [5, 4, 3, 2, 1, 0, 7, 6])
    shutil.copy(other.rows, shelf.rows)
    assert not any(known(shelf, range(8)))


def test_the_last_of_two_counts(shelf):
    shelf.keep([key(0)], vector(50)[None])
    assert np.array_equal(shelf.read([key(0)])[0][0], vector(50))


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")
    shelf = EmbeddingCache(tmp_path / "file").shelf("encoder 1", WIDTH)
    fill(shelf, [1])
    assert known(shelf, [1]) == [False]


APPENDING = f"""
import hashlib, sys
from pathlib import Path
import numpy as np
from salon.models.embeddings import EmbeddingCache
WIDTH = {WIDTH}
{getsource(key)}{getsource(vector)}{getsource(fill)}
folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
shelf = EmbeddingCache(folder).shelf("encoder 1", WIDTH)
for n in range(first, last, 3):
    fill(shelf, range(n, min(n + 3, last)))
"""


def start(folder, first, last):
    return subprocess.Popen([sys.executable, "-c", APPENDING, str(folder), str(first), str(last)])


def test_two_processes_append_and_a_third_is_killed(tmp_path):
    two = [start(tmp_path, 0, 300), start(tmp_path, 300, 600)]
    killed = start(tmp_path, 600, 10**9)
    shelf = EmbeddingCache(tmp_path).shelf("encoder 1", WIDTH)

    def written() -> bool:
        assert not wrong(shelf, range(0, 660, 11)), "also while they write"
        assert killed.poll() is None
        return all(one.poll() is not None for one in two) and any(known(shelf, range(600, 660)))

    try:
        until(written, "the end of two, and something from the third")
    finally:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
    assert [one.returncode for one in two] == [0, 0]
    fill(shelf, [10**9])
    assert all(known(shelf, [*range(600), 10**9]))
    assert not wrong(shelf, [*range(700), 10**9])


# -- encoding through it ----------------------------------------------------------------------------------------------


class Plain:
    """An encoder of mean colors that counts what it is asked."""

    name, signature, text_width, licence = "plain", "plain 1", 2, "none"
    parts = (EncoderPart("mean", 3, False), EncoderPart("size", 2, True))

    def __init__(self):
        self.seen = []

    def pictures(self, images, part):
        self.seen += [part] * len(images)
        if part == "mean":
            return np.array([np.asarray(image).mean(axis=(0, 1)) for image in images], np.float32).reshape(-1, 3)
        return np.array([image.size for image in images], np.float32).reshape(-1, 2)

    def texts(self, texts):
        self.seen += texts
        return np.array([[len(text), 1] for text in texts], np.float32)

    def __getstate__(self):
        return {"seen": []}


@pytest.fixture
def pictures(tmp_path):
    paths = [tmp_path / f"{color}.png" for color in ("red", "lime", "blue")]
    for width, path in enumerate(paths, 3):
        Image.new("RGB", (width, 2), path.stem).save(path)
    shutil.copy(paths[0], tmp_path / "again.png")
    return [*paths, tmp_path / "again.png", paths[1]]


MEANS = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 0, 0], [0, 255, 0]]


@pytest.mark.parametrize("engine", ["here", "pool"])
def test_equal_pictures_are_looked_at_once_and_rows_keep_their_order(pictures, tmp_path, engine):
    encoder, cache, heard = Plain(), EmbeddingCache(tmp_path / "cache"), []
    settings = EngineSettings(engine=engine, workers=2, batch=2) if engine == "pool" else EngineSettings(batch=2)
    for _ in range(2):
        found = encode_pictures(encoder, pictures, settings=settings, cache=cache, progress=heard.append)
        assert found["mean"].tolist() == MEANS
        assert found["size"].tolist() == [[3, 2], [4, 2], [5, 2], [3, 2], [4, 2]]
    assert heard[-1] == sum(heard[:-1]) == len(pictures), "all in the first run, and all at once in the second"
    assert len(encoder.seen) == (6 if engine == "here" else 0), "both parts of three, or in other processes"


def test_only_the_parts_that_are_missing_are_computed(pictures, tmp_path):
    encoder, cache = Plain(), EmbeddingCache(tmp_path / "cache")
    encode_pictures(encoder, pictures[:2], parts=["mean"], cache=cache)
    found = encode_pictures(encoder, pictures, cache=cache)
    assert encoder.seen.count("mean") == encoder.seen.count("size") == 3
    assert found["mean"].tolist() == MEANS
    with pytest.raises(BadValue, match="mean, size"):
        encode_pictures(encoder, pictures, parts=["hue"], cache=cache)
    assert encode_pictures(encoder, [], cache=cache)["mean"].shape == (0, 3)


def test_a_picture_that_changes_has_another_vector(pictures, tmp_path):
    cache = EmbeddingCache(tmp_path / "cache")
    encode_pictures(Plain(), pictures, cache=cache)
    Image.new("RGB", (3, 2), "white").save(pictures[0])
    assert encode_pictures(Plain(), pictures[:1], cache=cache)["mean"].tolist() == [[255, 255, 255]]


def test_pictures_that_cannot_be_read_are_one_error_and_the_others_are_kept(pictures, tmp_path):
    encoder, cache = Plain(), EmbeddingCache(tmp_path / "cache")
    bad = [tmp_path / f"{name}.png" for name in ("gone", "empty", "text", "cut")]
    bad[1].touch()
    bad[2].write_text("no picture")
    bad[3].write_bytes(pictures[2].read_bytes()[:60])
    with pytest.raises(BadFile) as error:
        encode_pictures(encoder, [*bad, *pictures], cache=cache)
    assert error.value.found.startswith("4 of 9 that cannot: gone.png (no such file), empty.png (an empty")
    assert error.value.found.endswith("), ...")
    assert error.value.where == str(tmp_path)
    asked = len(encoder.seen)
    assert encode_pictures(encoder, pictures, cache=cache)["mean"].tolist() == MEANS
    assert len(encoder.seen) == asked


def test_equal_texts_are_encoded_once(tmp_path):
    encoder, cache = Plain(), EmbeddingCache(tmp_path)
    for _ in range(2):
        assert encode_texts(encoder, ["one", "three", "one", ""], cache=cache)[:, 0].tolist() == [3, 5, 3, 0]
    assert encoder.seen == ["one", "three", ""]
    assert encode_texts(encoder, [], cache=cache).shape == (0, 2)
