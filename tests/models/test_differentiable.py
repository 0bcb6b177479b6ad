"""Scorers of tensors: the same numbers as of files, and a gradient that finite differences confirm."""

import copy
import re

import numpy as np
import pytest
import safetensors.torch
import torch
from PIL import Image
from test_released_layouts import mps_state
from tiny_clip import OpenClip, save_clip, save_head
from tiny_rewards import save_hpsv3, save_image_reward
from torch import nn

from salon.errors import BadValue
from salon.judge.scorers import released
from salon.study import Item, Prompt

TEXT = "a fair by the sea"
NAMES = ("clip_score", "pickscore", "hpsv2", "laion_aesthetic", "image_reward", "mps", "hpsv3")


@pytest.fixture(scope="module")
def scorers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("all")
    network = save_clip(folder / "clip")
    save_head(folder / "clip" / "sac+logos+ava1-l14-linearMSE.pth")
    for name in ("hpsv2", "mps"):
        save_clip(folder / name, weights=False)
    torch.manual_seed(3)
    oracle = OpenClip(network.config.text_config.vocab_size)
    torch.save({"state_dict": oracle.state_dict()}, folder / "hpsv2" / "HPS_v2.1_compressed.pt")
    small = {name: tensor / 4 for name, tensor in mps_state(network).items()}
    safetensors.torch.save_file(small, folder / "mps" / "MPS_overall.safetensors")
    (folder / "mps" / "condition.txt").write_text("light, color")
    for name in ("image_reward", "hpsv3"):
        (folder / name).mkdir()
    save_image_reward(folder / "image_reward")
    save_hpsv3(folder / "hpsv3")
    places = {"clip_score": "clip", "pickscore": "clip", "laion_aesthetic": "clip"}
    return {name: getattr(released, name)(folder / places.get(name, name), device="cpu") for name in NAMES}


def in_double(scorer):
    """A copy of a scorer whose network runs in float64, where differences are exact enough."""
    copied = copy.deepcopy(scorer)
    parts = vars(copied.network)
    for part in [*parts.values(), *vars(parts.get("clip") or parts.get("_clip") or copied).values()]:
        if isinstance(part, nn.Module):
            part.double()
    if "_condition" in parts:
        parts["_condition"] = parts["_condition"].double()
    copied.network.dtype = torch.float64
    return copied


def noise(height=45, width=39, *, seed=0):
    """A picture in bytes and the same as a tensor, off the ends of 0..1."""
    rows = np.random.default_rng(seed).integers(60, 200, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(rows), torch.from_numpy(rows).permute(2, 0, 1).float() / 255


@pytest.mark.parametrize("name", NAMES)
def test_numbers_are_those_of_the_same_pictures_in_files(scorers, tmp_path, name):
    """HPSv2 resizes floats and so is exact; the others skip Pillow's rounding to 8 bits."""
    scorer, pictures = scorers[name], [noise(), noise(33, 70, seed=1)]
    for number, (image, _) in enumerate(pictures):
        image.save(tmp_path / f"{number}.png")
    items = [Item(id=str(n), image=str(tmp_path / f"{n}.png")) for n in range(2)]
    expected = scorer.score(items, [Prompt(id="p", text=TEXT)] * 2)
    found = scorer.score([tensor for _, tensor in pictures], [TEXT, Prompt(id="p", text=TEXT)], differentiable=True)
    assert found.shape == (2,)
    assert found.tolist() == pytest.approx(expected, rel=1e-5 if name == "hpsv2" else 0.05, abs=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_that_of_finite_differences(scorers, name):
    """Along the gradient itself, and along another direction; HPSv3 keeps float32, as parts of its network do."""
    exact = name != "hpsv3"
    scorer = in_double(scorers[name]) if exact else scorers[name]
    texts, far, near = [TEXT], *((1e-4, 1e-5) if exact else (0.05, 0.01))
    x = noise()[1][None].to(torch.float64 if exact else torch.float32).requires_grad_()
    scorer.score(x, texts, differentiable=True).sum().backward()
    gradient = x.grad
    assert gradient.abs().sum() > 0
    chance = torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=x.dtype)
    for direction in (gradient, chance * gradient.abs().mean() + gradient / 2):
        step = direction / direction.norm()
        with torch.no_grad():
            ahead, behind = (scorer.score(x + sign * far * step, texts, differentiable=True) for sign in (1, -1))
        slope = (gradient * step).sum().item()
        assert (ahead - behind).item() / (2 * far) == pytest.approx(slope, rel=near)


def test_weights_are_frozen_and_sigma_has_a_gradient_too(scorers):
    scorer = scorers["hpsv3"]
    x = noise()[1][None].requires_grad_()
    mu, sigma = scorer.score_with_sigma(x, [TEXT])
    assert mu.item() == pytest.approx(scorer.score(x, [TEXT], differentiable=True).item(), abs=1e-6)
    sigma.sum().backward()
    assert x.grad.abs().sum() > 0
    assert not any(parameter.requires_grad for parameter in scorer.network._network.parameters())
    with pytest.raises(BadValue, match="own sigma"):
        scorers["pickscore"].score_with_sigma(x, [TEXT])


def test_half_precision_pictures_pass_their_gradient(scorers):
    x = noise()[1][None].bfloat16().requires_grad_()
    scorers["hpsv2"].score(x, [TEXT], differentiable=True).sum().backward()
    assert x.grad.dtype == torch.bfloat16
    assert x.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("images", "prompts", "match"),
    [
        (torch.zeros(1, 3, 8, 8, dtype=torch.uint8), [TEXT], "uint8"),
        (torch.full((1, 3, 8, 8), 2.0), [TEXT], "values from 2"),
        (torch.full((1, 3, 8, 8), -1.0), [TEXT], r"\(x \+ 1\) / 2"),
        (torch.full((1, 3, 8, 8), torch.nan), [TEXT], "nan"),
        (torch.zeros(1, 4, 8, 8), [TEXT], "shape"),
        (torch.zeros(3, 8, 8), [TEXT], "shape"),
        (torch.zeros(1, 3, 0, 8), [TEXT], "shape"),
        (torch.zeros(2, 3, 8, 8), [TEXT], "2 pictures and 1 prompts"),
        (torch.zeros(1, 3, 8, 8), [], "1 pictures and 0 prompts"),
        (torch.zeros(1, 3, 8, 8), [None], "a prompt is needed"),
        (["picture.png"], [TEXT], "str"),
        (torch.zeros(1, 3, 1, 500), [TEXT], "nothing is left"),
    ],
)
def test_what_cannot_be_scored_is_refused(scorers, images, prompts, match):
    with pytest.raises(BadValue) as error:
        scorers["hpsv2"].score(images, prompts, differentiable=True)
    assert re.search(match, str(error.value)), str(error.value)


def test_a_scorer_of_pictures_alone_needs_no_prompts(scorers):
    assert scorers["laion_aesthetic"].score(noise()[1][None], differentiable=True).shape == (1,)
