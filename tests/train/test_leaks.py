"""A model's guard knows again what it was trained on, and nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from salon.errors import BadFile
from salon.evaluate import LeakGuard, find_leaks, leaks, load_guard, picture_keys, save_guard, without_look_alikes
from salon.models import ResultCache


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> dict[str, Path]:
    """Three unlike pictures, and a smaller copy of the first."""
    folder = tmp_path_factory.mktemp("pictures")
    for seed, name in enumerate(("elk", "owl", "fox")):
        blots = np.random.default_rng(seed).integers(0, 256, (24, 24, 3), np.uint8)
        Image.fromarray(blots).resize((180, 180), Image.Resampling.BICUBIC).save(folder / f"{name}.png")
    Image.open(folder / "elk.png").resize((120, 120)).save(folder / "small.png")
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def keys(pictures, tmp_path_factory):
    kept = ResultCache(tmp_path_factory.mktemp("kept") / "kept.sqlite")
    return dict(zip(pictures, picture_keys(list(pictures.values()), cache=kept)))


def test_what_was_trained_on_is_found(keys):
    guard = LeakGuard.of([keys["elk"], keys["owl"]], ["A Poster,  for elk"])
    tested = {name: keys[name] for name in ("owl", "fox", "small")}
    found = find_leaks(guard, tested, {"p1": "a poster, for ELK\n", "p2": "a poster for owls", "p3": " "})
    assert (found.pictures, found.near, found.texts) == (("owl",), ("small",), ("p1",))
    assert found.words == "1 picture (owl); 1 near copy of a picture (small); 1 prompt text (p1)"
    both = find_leaks(guard, {name: keys[name] for name in ("elk", "owl")}, {})
    assert both.words == "2 pictures (elk, owl)"
    assert not find_leaks(guard, {"fox": keys["fox"]}, {"p2": "a poster for owls"})


def test_training_rows_that_look_like_test_rows_are_left_out(keys):
    """small is elk: the training pair goes, with both of its votes; a picture that is not there is like no other."""
    votes = pa.table({"a": ["elk", "elk", "owl", "small"], "b": ["owl", "owl", "gone", "fox"],
                      "split": ["train", "train", "train", "test"]})  # fmt: skip
    flags = pa.table({"item": ["small", "owl"], "split": ["train", "train"]})
    (kept, flagged), notes = without_look_alikes([votes, flags], ("a", "b", "item"), keys, ("train", "test"))
    assert (kept["a"].to_pylist(), flagged["item"].to_pylist()) == (["owl", "small"], ["owl"])
    assert notes == ["left out because their pictures look like others on a later side of the split: 1 pairs"]
    assert without_look_alikes([kept], ("a", "b"), keys, ("train", "test")) == ([kept], [])


def test_the_guard_is_kept_beside_the_model(keys, tmp_path):
    guard = LeakGuard.of(keys.values(), ["one", "two", ""])
    card = save_guard(guard, tmp_path)
    assert load_guard(tmp_path, card) == guard
    save_guard(LeakGuard.of([], ["three"]), tmp_path)
    with pytest.raises(BadFile, match="another file"):
        load_guard(tmp_path, card)
    with pytest.raises(BadFile, match="no guard"):
        load_guard(tmp_path, {})
    with pytest.raises(BadFile, match="of method 'old'"):
        load_guard(tmp_path, card | {"method": "old"})


def test_a_picture_is_decoded_once(pictures, tmp_path, monkeypatch):
    kept = ResultCache(tmp_path / "kept.sqlite")
    paths = [pictures["elk"], pictures["owl"], pictures["elk"]]
    first = picture_keys(paths, cache=kept)
    monkeypatch.setattr(leaks, "picture_key", lambda path: pytest.fail("decoded again"))
    assert picture_keys(paths, cache=kept) == first
    assert first[0] == first[2] != first[1]


def test_a_missing_picture_says_so(tmp_path):
    with pytest.raises(BadFile, match="no such file"):
        picture_keys([tmp_path / "none.png"])
