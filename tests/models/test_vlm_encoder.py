"""Qwen-VLs as encoders: against the hidden states of the whole network, on tiny random ones."""

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_vlm import FAMILIES, build_tiny_vlm
from transformers import AutoModelForImageTextToText, AutoTokenizer

from salon.errors import BadFile, BadValue
from salon.models import Encoder, open_encoder

TEXTS = ["A or B", "which image is better, and why is the other one not?"]


@pytest.fixture(scope="module", params=FAMILIES)
def encoder(request, tmp_path_factory):
    folder = build_tiny_vlm(tmp_path_factory.mktemp(request.param), request.param, planted=False)
    return open_encoder(f"qwen-vl:{folder}", device="cpu")


def test_texts_are_the_last_hidden_state_of_the_last_token(encoder):
    assert isinstance(encoder, Encoder)
    folder = encoder.name.removeprefix("qwen-vl:")
    network = AutoModelForImageTextToText.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for text, row in zip(TEXTS, encoder.texts(TEXTS)):
        said = [{"role": "system", "content": "Represent the user's input."}, {"role": "user", "content": text}]
        written = tokenizer.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        with torch.inference_mode():
            out = network(**tokenizer(written, return_tensors="pt"), output_hidden_states=True)
        last = out.hidden_states[-1][0, -1].numpy()
        assert row == pytest.approx(last / np.linalg.norm(last), abs=1e-5)


def test_pictures_do_not_depend_on_their_company(encoder):
    images = [Image.new("RGB", size, color) for size, color in (((32, 48), "teal"), ((64, 64), "gold"))]
    together = encoder.pictures(images, "image")
    alone = np.concatenate([encoder.pictures([image], "image") for image in images])
    assert together == pytest.approx(alone, abs=1e-5)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1)
    assert np.abs(together[0] - together[1]).max() > 1e-3


def test_only_qwens_are_taken(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "llava"}')
    with pytest.raises(BadFile, match="qwen3_vl"):
        open_encoder(f"qwen-vl:{tmp_path}")
    with pytest.raises(BadValue, match="one picture or more"):
        open_encoder(f"qwen-vl:{tmp_path}", batch=0)
