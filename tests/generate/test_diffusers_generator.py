"""Real diffusers code on a tiny random Stable Diffusion that is made, saved and loaded here."""

from __future__ import annotations

import io
import json
from pathlib import Path

import diffusers
import numpy as np
import pytest
import torch
from PIL import Image
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

from salon.errors import BadFile, BadValue
from salon.generate.diffusers import DiffusersGenerator, fingerprint
from salon.study import Ask, FailedPicture, GeneratedPicture, Generator, Prompt

pytestmark = pytest.mark.slow  # importing torch, transformers and diffusers takes most of it


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline of about 60,000 random weights: CLIP text encoder, UNet and VAE, each with one small block."""
    torch.manual_seed(0)
    blocks = {"block_out_channels": (8, 8), "norm_num_groups": 4}
    unet = diffusers.UNet2DConditionModel(
        sample_size=8,
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=4,
        **blocks,
    )
    vae = diffusers.AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2, **blocks
    )
    tokenizer = letters(tmp_path_factory.mktemp("letters"))
    ends = {name: getattr(tokenizer, name) for name in ("bos_token_id", "eos_token_id", "pad_token_id")}
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 1}
    text = CLIPTextConfig(vocab_size=len(tokenizer), max_position_embeddings=16, **sizes, **ends)
    pipeline = diffusers.StableDiffusionPipeline(
        vae=vae,
        text_encoder=CLIPTextModel(text),
        tokenizer=tokenizer,
        unet=unet,
        scheduler=diffusers.DDIMScheduler(clip_sample=False, set_alpha_to_one=False, steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    folder = tmp_path_factory.mktemp("pipelines") / "tiny"
    pipeline.save_pretrained(folder)
    return folder


def letters(folder: Path) -> CLIPTokenizer:
    """A tokenizer that knows single letters."""
    signs = "abcdefghijklmnopqrstuvwxyz"
    words = [*signs, *(f"{sign}</w>" for sign in signs), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: number for number, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer.from_pretrained(folder, model_max_length=16)


def ask(text: str = "a cat", seed: int = 0, **more) -> Ask:
    return Ask(prompt=Prompt(id=text, text=text), seed=seed, **{"width": 32, "height": 32} | more)


def pixels(made: GeneratedPicture | FailedPicture) -> np.ndarray:
    assert isinstance(made, GeneratedPicture), made
    return np.asarray(Image.open(io.BytesIO(made.image)), int)


def test_a_seed_means_a_picture_alone_or_in_a_batch(tiny: Path) -> None:
    alone = DiffusersGenerator(tiny, steps=2)
    assert isinstance(alone, Generator)
    assert alone.abilities.offline
    asks = [ask(seed=1), ask("a dog", seed=1), ask(seed=2), ask(seed=1, width=48), ask(seed=1)]
    one = dict(alone.make(asks))
    many = dict(DiffusersGenerator(tiny, steps=2, batch=3).make(asks))
    assert sorted(one) == sorted(many) == list(range(5))
    for index in range(5):
        assert np.abs(pixels(one[index]) - pixels(many[index])).max() <= 1
    assert one[0].image == one[4].image
    assert pixels(one[3]).shape == (32, 48, 3)
    different = [np.abs(pixels(one[0]) - pixels(one[other])).max() for other in (1, 2)]
    assert min(different) > 1  # another prompt, another seed


def test_the_start_counts_for_less_with_more_strength(tiny: Path) -> None:
    starts = [png(Image.new("RGB", (48, 48), "red")), png(Image.linear_gradient("L").convert("RGB"))]
    asks = [ask(image=start, strength=strength) for strength in (0.2, 1.0) for start in starts]
    made = dict(DiffusersGenerator(tiny, steps=10, batch=4).make(asks))
    little, much = (np.abs(pixels(made[at]) - pixels(made[at + 1])).mean() for at in (0, 2))
    assert little > much
    assert pixels(made[0]).shape == (32, 32, 3)  # the start is brought to the size asked for


def png(image: Image.Image) -> bytes:
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def test_one_bad_ask_does_not_cost_its_batch(tiny: Path) -> None:
    generator = DiffusersGenerator(tiny, steps=4, batch=4)
    start = png(Image.new("RGB", (32, 32), "red"))
    asks = [ask(image=b"no picture" if number == 1 else start) for number in range(4)]
    made = dict(generator.make(asks))
    assert [isinstance(made[index], GeneratedPicture) for index in range(4)] == [True, False, True, True]
    odd = dict(generator.make([ask(width=33, height=33)]))[0]
    assert isinstance(odd, FailedPicture)
    assert "divisible by 8" in odd.reason


def test_half_precision_is_a_choice(tiny: Path) -> None:
    half = DiffusersGenerator(tiny, steps=1, dtype="bfloat16")
    assert isinstance(dict(half.make([ask()]))[0], GeneratedPicture)
    assert half.signature != DiffusersGenerator(tiny, steps=1).signature


def test_the_signature_knows_the_weights_and_not_the_place(tiny: Path, tmp_path: Path) -> None:
    copy = tmp_path / "tiny"
    copy.mkdir()
    for path in sorted(path for path in tiny.rglob("*") if path.is_file()):
        (copy / path.relative_to(tiny)).parent.mkdir(exist_ok=True)
        (copy / path.relative_to(tiny)).write_bytes(path.read_bytes())
    assert DiffusersGenerator(copy, batch=8).signature == DiffusersGenerator(tiny).signature
    weights = copy / "unet" / "diffusion_pytorch_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert fingerprint(copy) != fingerprint(tiny)


@pytest.mark.parametrize("bad", [{"dtype": "int4"}, {"batch": 0}, {"steps": 0}, {"device": "abacus"}])
def test_settings_that_cannot_work(tiny: Path, bad: dict) -> None:
    with pytest.raises(BadValue):
        DiffusersGenerator(tiny, **bad)
    with pytest.raises(BadValue, match="setting of its own"):
        DiffusersGenerator(tiny, options={"num_inference_steps": 3})


def test_sources_that_are_no_pipeline(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no pipeline")
    with pytest.raises(BadFile, match="pipeline"):
        DiffusersGenerator(tmp_path).make([ask()])
    with pytest.raises(BadFile, match="nobody/nothing"):
        DiffusersGenerator("nobody/nothing", offline=True).make([ask()])
