"""A model of heads on disk: the same numbers after a round trip, and errors that say what is wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from salon.errors import BadFile, BadValue, UnknownReference
from salon.models import (
    EncoderPart,
    HeadShape,
    HeadsModel,
    ModelCard,
    ModelCriterion,
    PreferenceHeads,
    PreferenceModel,
    Vectors,
    load_model,
    save_heads,
)
from salon.study import Signature


class Colors:
    """An encoder that sees the mean color of a picture, and counts letters."""

    name = "colors"
    signature = "colors 1"
    text_width = 3
    licence = "CC0"
    parts = (EncoderPart("mean", 3, True), EncoderPart("size", 2, False))

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        if part == "size":
            return np.array([image.size for image in images], np.float32)
        return np.array([np.asarray(image, np.float32).mean(axis=(0, 1)) / 255 for image in images])

    def texts(self, texts: Sequence[str]) -> Vectors:
        return np.array([[len(text), text.count("e"), text.count(" ")] for text in texts], np.float32)


def saved(folder: Path, form: str = "antisymmetric", **more: object) -> PreferenceHeads:
    torch.manual_seed(0)
    given = {"parts": Colors.parts, "text_width": 3, "criteria": ("mood", "color"), "flag": "flag", "width": 4}
    network = PreferenceHeads(HeadShape(form=form, axes=2, **given, **more)).eval()
    network.fit_axes(torch.randn(9, 3), torch.randn(9, 5))
    if form != "scalar":
        network.keep_references(torch.randn(3, 4))
    card = ModelCard(
        kind="heads", name="test", criteria=tuple(ModelCriterion(id=id, name=id) for id in ("mood", "color")),
        flag="flag", backbone="colors 1", backbone_name="colors", form=form, is_logit=form == "scalar", study="s",
        data="0" * 64, signature=Signature(method="heads"),
    )  # fmt: skip
    save_heads(folder, network, card, readme="# A model\n", files={"extra.txt": b"x"})
    return network


def pictures() -> list[Image.Image]:
    return [Image.new("RGB", (8, 6), color) for color in ("red", "teal", "olive")]


TEXTS = ["a red poster", "teal", "an olive one"]


@pytest.mark.parametrize("form", ["scalar", "pairwise", "antisymmetric"])
def test_a_loaded_model_gives_what_the_trained_one_gave(tmp_path: Path, form: str) -> None:
    network = saved(tmp_path / "m", form)
    model = load_model(tmp_path / "m", encoder=Colors())
    assert isinstance(model, PreferenceModel)
    assert all(torch.equal(tensor, network.state_dict()[name]) for name, tensor in model.network.state_dict().items())
    encoder, shown = Colors(), pictures()
    t = network.reduce_texts(torch.from_numpy(encoder.texts(TEXTS)))
    parts = [encoder.pictures(shown, part.name) for part in encoder.parts]
    x = network.reduce_pictures(torch.from_numpy(np.concatenate(parts, axis=1)))
    expected = network.scores(t, x, 1).tolist()
    assert [one.value for one in model.scores(shown, TEXTS, "color")] == pytest.approx(expected)
    logits = model.pair_logits(shown, shown[::-1], TEXTS, "color")
    assert logits == pytest.approx(network.logits(t, x, x.flip(0), 1).detach().numpy())
    assert [one.value for one in model.scores(shown, TEXTS, "flag")] == pytest.approx(
        network.flag_logits(t, x).tolist()
    )
    assert (tmp_path / "m" / "extra.txt").read_bytes() == b"x"


def test_no_pictures_no_numbers(tmp_path: Path) -> None:
    saved(tmp_path / "m")
    model = load_model(tmp_path / "m", encoder=Colors())
    empty = {"mean": np.zeros((0, 3), np.float32), "size": np.zeros((0, 2), np.float32)}
    assert len(model.vector_scores(empty, np.zeros((0, 3), np.float32), "mood")) == 0


def test_the_words_of_a_conditioned_criterion_are_put_before_the_text(tmp_path: Path) -> None:
    saved(tmp_path / "m", prefixes={"mood": "mood: "})
    model = load_model(tmp_path / "m", encoder=Colors())
    assert isinstance(model, HeadsModel)
    assert model.encode_texts(["see"], "mood").tolist() == [[9, 2, 1]]
    assert model.encode_texts(["see"], "color").tolist() == [[3, 2, 0]]


def test_a_flag_head_does_not_compare(tmp_path: Path) -> None:
    saved(tmp_path / "m")
    model = load_model(tmp_path / "m", encoder=Colors())
    with pytest.raises(BadValue, match="mood, color"):
        model.pair_logits(pictures(), pictures(), TEXTS, "flag")
    with pytest.raises(UnknownReference, match="mood, color"):
        model.scores(pictures(), TEXTS, "typography")


def test_another_encoder_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "m")
    newer = Colors()
    newer.signature = "colors 2"
    with pytest.raises(BadFile, match="trained on colors 1") as error:
        load_model(tmp_path / "m", encoder=newer)
    assert error.value.found == "colors 2"


def test_another_format_a_broken_file_and_no_model_at_all(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="a model folder"):
        load_model(tmp_path / "none")
    saved(tmp_path / "m")
    card = tmp_path / "m" / "model.json"
    record = json.loads(card.read_text())
    (tmp_path / "m" / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(BadFile, match="weights of preference heads"):
        load_model(tmp_path / "m", encoder=Colors())
    card.write_text(json.dumps(record | {"format": "salon.model/0"}))
    with pytest.raises(BadFile, match=r"salon\.model/1") as error:
        load_model(tmp_path / "m", encoder=Colors())
    assert error.value.found == "'salon.model/0'"
    card.write_text("{")
    with pytest.raises(BadFile, match="is JSON"):
        load_model(tmp_path / "m")
