"""Pictures and texts are prepared as each release's own code prepares them: pixels, sizes, token ids, the loss."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from peer_reference import GOLDEN, HERE, TEXTS, TWINS, golden
from PIL import Image
from transformers import AutoImageProcessor, AutoTokenizer

from salon.errors import BadValue
from salon.models import PEERS, preprocessing
from salon.models.clip import OpenClipTokenizer, clean_text
from salon.models.imagereward import load_tokenizer
from salon.models.preprocessing import (
    PatchLayout,
    folder_rule,
    patch_rows,
    prepare_picture,
    prepare_tensor,
    resized_size,
    size_refusal,
)
from salon.store import read_picture
from salon.train.losses import log_chances

SQUARE = ("hpsv2", "pickscore", "laion", "imagereward", "mps")
FRESH = golden("fresh")


@pytest.mark.parametrize("name", SQUARE)
def test_pixels_of_square_networks(name):
    """Also for pictures that are turned, transparent or CMYK: those have the pixels of their twin."""
    stated = {one["image"]: one for one in golden(name)["pixels"] if "shape" in one}
    checked = 0
    for picture in HERE:
        expected = stated.get(TWINS[picture])
        if expected is None or expected["shape"][0] != 3:  # HPSv2 fails on pictures with an alpha channel
            continue
        pixels = prepare_picture(read_picture(GOLDEN / "images" / picture).image, PEERS[name].pictures, 224)
        assert list(pixels.shape) == expected["shape"]
        told = [pixels.mean(), pixels.std(correction=0), pixels.min(), pixels.max()]
        assert told == pytest.approx([expected[key] for key in ("mean", "std", "min", "max")], abs=2e-6)
        for channel, row, column, value in expected["at"]:
            assert pixels[channel, row, column] == pytest.approx(value, abs=2e-6), (picture, channel, row, column)
        checked += 1
    assert checked >= 10


def test_pixels_of_hpsv3():
    stated = {one["image"]: one for one in golden("hpsv3")["pixels"]}
    for picture in HERE:
        expected = stated[TWINS[picture]]
        image = read_picture(GOLDEN / "images" / picture).image
        rows, grid = patch_rows(prepare_picture(image, PEERS["hpsv3"].pictures, 28), PatchLayout(14, 2, 2))
        assert list(grid) == expected["image_grid_thw"]
        assert list(rows.shape) == expected["shape"]
        assert rows.mean() == pytest.approx(expected["mean"], abs=2e-6)
        for row, column, value in expected["at"]:
            assert rows[row, column] == pytest.approx(value, abs=2e-6), (picture, row, column)


def test_sizes_of_many_pictures():
    """Odd margins, extreme proportions, sides of one pixel."""
    crop, whole, patches = (PEERS[name].pictures for name in ("laion", "hpsv2", "hpsv3"))
    for width, height, cropped, padded, patched in FRESH["sizes"]:
        sized = resized_size(width, height, crop, 224)
        begin = [preprocessing._start(side - 224, crop) for side in sized]
        assert [*sized, *begin] == cropped, (width, height)
        if padded is None:
            assert "nothing is left" in size_refusal(width, height, whole, 224)
        else:
            sized = resized_size(width, height, whole, 224)
            assert [*sized, *(preprocessing._start(224 - side, whole) for side in sized)] == padded, (width, height)
        if patched is None:
            assert "200 times" in size_refusal(width, height, patches, 28)
        else:
            assert [*resized_size(width, height, patches, 28)] == patched, (width, height)


@pytest.mark.parametrize("margin", [1, 2, 3, 5, 7, 9, 11])
def test_the_crop_begins_where_torchvision_begins(margin):
    """int(round(margin / 2)), half to even: 0, 1, 2, 2, 4, 4, 6. transformers cuts: 0, 1, 1, 2, 3, 4, 5."""
    ramp = np.broadcast_to(np.arange(224 + margin, dtype=np.uint8)[None, :, None], (224, 224 + margin, 3))
    image = Image.fromarray(np.ascontiguousarray(ramp))
    for name, begin in (("laion", {1: 0, 2: 1, 3: 2, 5: 2, 7: 4, 9: 4, 11: 6}[margin]), ("pickscore", margin // 2)):
        rule = PEERS[name].pictures
        first = prepare_picture(image, rule, 224)[0, 0, 0] * rule.sd[0] + rule.mean[0]
        assert round(float(first) * 255) == begin


def test_a_strip_of_one_pixel_needs_no_gigabytes():
    """224 x 1,792,000 pixels would be made to keep 224 x 224; only those are computed, to the same values."""
    rng = np.random.default_rng(0)
    short = Image.fromarray(rng.integers(0, 256, (900, 1, 3), dtype=np.uint8))
    rule = PEERS["laion"].pictures
    whole = prepare_picture(short, rule, 224)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preprocessing, "_MOST_RESIZED", 1)
        assert prepare_picture(short, rule, 224) == pytest.approx(whole, abs=0.016)  # one step of 8 bits
    assert prepare_picture(Image.new("RGB", (1, 8000), "red"), rule, 224).shape == (3, 224, 224)


def test_texts_by_open_clip():
    tokenizer = OpenClipTokenizer(AutoTokenizer.from_pretrained(GOLDEN / "clip"), where="here")
    for one in golden("hpsv2")["tokens"]:
        text = TEXTS[one["prompt"]]
        assert clean_text(text) == one["cleaned"]
        (row,) = tokenizer.batch([text], 77)
        assert row[: len(one["ids"])] == one["ids"]
        assert len(row) == 77
        assert not any(row[len(one["ids"]) :])
    for one in FRESH["texts"]:
        assert clean_text(one["text"]) == one["cleaned"]
        assert tokenizer.ids(one["text"], 77) == one["open_clip"], one["text"]


def test_texts_by_transformers():
    clip, qwen = (AutoTokenizer.from_pretrained(GOLDEN / name) for name in ("clip", "hpsv3"))
    bert = load_tokenizer(GOLDEN / "bert", 324)
    for name in ("pickscore", "mps", "imagereward"):
        for one in golden(name)["tokens"]:
            options = {"padding": "max_length", "truncation": True, "max_length": 35 if name == "imagereward" else 77}
            found = (bert if name == "imagereward" else clip)(TEXTS[one["prompt"]], **options)["input_ids"]
            expected = one.get("ids") or one["ids_without_padding"]
            assert found[: len(expected)] == expected, (name, one["prompt"])
    for one in FRESH["texts"]:
        assert clip(one["text"], truncation=True, max_length=77)["input_ids"] == one["clip"]
        assert qwen(one["text"])["input_ids"] == one["qwen"]
        found = bert(one["text"], padding="max_length", truncation=True, max_length=35)["input_ids"]
        assert found == one["bert"], one["text"]


def test_a_folders_own_sizes_count_for_clip():
    stated, rule = AutoImageProcessor.from_pretrained(GOLDEN / "clip"), PEERS["clip"].pictures
    assert folder_rule(rule, stated, where="here") == (replace(rule, shorter=224), 224)
    stated.size, stated.crop_size = {"shortest_edge": 40}, {"height": 32, "width": 32}
    stated.image_mean, stated.resample = (0.1, 0.2, 0.3), 2
    expected = replace(rule, shorter=40, mean=(0.1, 0.2, 0.3), interpolation="bilinear")
    assert folder_rule(rule, stated, where="here") == (expected, 32)
    stated.size = {"shortest_edge": 20}
    with pytest.raises(BadValue, match="CLIP's kind"):
        folder_rule(rule, stated, where="here")


def test_the_tensor_path_is_near_the_pillow_path():
    """Floats are resized the same way; bytes are rounded to 1/255 in each direction by Pillow only."""
    image = read_picture(GOLDEN / "images" / "tall-333x517.png").image
    tensor = torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255
    for name, side, far in (("hpsv2", 224, 0), ("laion", 224, 0.016), ("pickscore", 224, 0.016), ("hpsv3", 28, 0.016)):
        rule = PEERS[name].pictures
        apart = (prepare_tensor(tensor, rule, side) - prepare_picture(image, rule, side)).abs()
        assert apart.max() <= far, name
        assert apart.mean() <= far / 3


def test_the_released_loss():
    """E[-log s(z)] by quadrature, its gradient, and the mean of the release's own draws."""
    pairs = golden("hpsv3/loss")["pairs"]
    values = torch.tensor([[*one["a"], *one["b"]] for one in pairs], dtype=torch.float64, requires_grad=True)
    mu_a, log_a, mu_b, log_b = values.unbind(1)
    losses = -log_chances("released", mu_a, mu_b, log_a, log_b).first
    assert losses.tolist() == pytest.approx([one["expected_loss"] for one in pairs], rel=1e-5, abs=1e-6)
    for loss, one in zip(losses.tolist(), pairs):
        assert abs(loss - one["released_mean_of_40"]) < 5 * one["released_standard_error"] + 1e-6
    losses.sum().backward()
    names = ("grad_mu_a", "grad_log_sigma_a", "grad_mu_b", "grad_log_sigma_b")
    assert values.grad.tolist() == [pytest.approx([one[key] for key in names], abs=2e-4) for one in pairs]
