"""CLIP and SigLIP from folders, as encoders: against transformers itself, on tiny random networks."""

import pickle

import numpy as np
import pytest
import torch
from PIL import Image
from tiny_clip import DIM, SIDE, TEXTS, bpe, pictures, save_clip
from transformers import PreTrainedTokenizerFast, SiglipConfig, SiglipImageProcessorPil, SiglipModel

from salon.errors import BadFile, BadValue
from salon.models import PEERS, Clip, Encoder, open_encoder
from salon.models.weights import MissingWeights


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clip")
    save_clip(folder)
    return folder


@pytest.fixture(scope="module")
def siglip(tmp_path_factory):
    folder = tmp_path_factory.mktemp("siglip")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe(["<pad>", "</s>"]), pad_token="<pad>", eos_token="</s>")
    shared = {"hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = SiglipConfig(
        text_config={**shared, "vocab_size": len(tokenizer), "max_position_embeddings": 12, "projection_size": 24},
        vision_config={**shared, "image_size": SIDE, "patch_size": 8},
    )
    torch.manual_seed(0)
    SiglipModel(config).eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    (folder / "README.md").write_text("---\nlibrary_name: transformers\nlicense: apache-2.0\n---\n# Tiny\n")
    return folder


def test_clip_gives_the_vectors_of_the_network_itself(clip):
    encoder, plain = open_encoder(f"clip:{clip}", batch=2), Clip.load(clip, PEERS["clip"], device="cpu")
    assert isinstance(encoder, Encoder)
    assert encoder.text_width == DIM
    assert [(part.name, part.width, part.aligned) for part in encoder.parts] == [("image", DIM, True)]
    seen = plain.embed_pixels(plain.pixels(pictures())).numpy()
    assert encoder.pictures(pictures(), "image") == pytest.approx(seen, abs=1e-6)
    assert encoder.texts(TEXTS) == pytest.approx(plain.embed_texts(TEXTS).numpy(), abs=1e-6)
    assert encoder.pictures([], "image").shape == (0, DIM)


def test_siglip_reads_texts_padded_and_without_a_mask(siglip):
    encoder = open_encoder(f"siglip:{siglip}", device="cpu")
    network = SiglipModel.from_pretrained(siglip)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(siglip)
    ids = tokenizer(TEXTS, padding="max_length", max_length=12, truncation=True, return_tensors="pt").input_ids
    assert (ids == tokenizer.pad_token_id).any()
    pixels = SiglipImageProcessorPil.from_pretrained(siglip)(pictures(), return_tensors="pt").pixel_values
    with torch.inference_mode():
        out = network(input_ids=ids, pixel_values=pixels)
    assert encoder.texts(TEXTS) == pytest.approx(out.text_embeds.numpy(), abs=1e-6)
    assert encoder.pictures(pictures(), "image") == pytest.approx(out.image_embeds.numpy(), abs=1e-6)
    assert encoder.licence == "apache-2.0"


def test_an_encoder_travels_as_its_settings(clip):
    encoder = open_encoder(f"clip:{clip}", device="cpu")
    packed = pickle.dumps(encoder)
    assert len(packed) < 1000
    twin = pickle.loads(packed)
    assert (twin.name, twin.signature) == (encoder.name, encoder.signature)
    assert np.array_equal(twin.texts(["gold"]), encoder.texts(["gold"]))


def test_a_text_without_a_word_is_a_row_of_zeros(clip):
    rows = open_encoder(f"clip:{clip}", device="cpu").texts(["", "gold", " \n"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([0, 1, 0])


def test_other_weights_have_another_signature(clip, tmp_path):
    network = save_clip(tmp_path)
    with torch.no_grad():
        network.visual_projection.weight[0, 0] += 1e-3
    network.save_pretrained(tmp_path)
    assert open_encoder(f"clip:{tmp_path}").signature != open_encoder(f"clip:{clip}").signature


def test_names_and_folders_that_are_wrong_are_told(clip, tmp_path):
    with pytest.raises(BadValue, match="effnet-lite2"):
        open_encoder("clap:somewhere")
    with pytest.raises(BadValue, match="embedded"):
        open_encoder(f"clip:{clip}", ocr=True)
    with pytest.raises(MissingWeights, match="no such folder"):
        open_encoder(f"clip:{tmp_path / 'nowhere'}")
    with pytest.raises(BadValue, match="image"):
        open_encoder(f"clip:{clip}").pictures([Image.new("RGB", (9, 9))], "seen")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(BadFile, match="features of pictures"):
        open_encoder(f"siglip:{tmp_path}")


def test_weights_that_are_missing_are_never_random(clip, tmp_path):
    network = save_clip(tmp_path)
    state = {name: tensor for name, tensor in network.state_dict().items() if "visual_projection" not in name}
    network.save_pretrained(tmp_path, state_dict=state)
    with pytest.raises(MissingWeights, match="visual_projection"):
        open_encoder(f"clip:{tmp_path}").texts(["gold"])
