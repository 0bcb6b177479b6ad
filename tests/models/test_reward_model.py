"""A reward model on disk and in use: the same scores after loading, in layouts that others load, under every law."""

import json

import numpy as np
import pytest
import safetensors.torch
import torch
from PIL import Image
from reward_example import CRITERION, SMALL, red_pairs, tiny, trained
from scipy.special import expit, logit
from scipy.stats import norm
from transformers import AutoModelForImageTextToText

from salon.errors import BadFile, BadValue, UnknownReference
from salon.models import MODEL_CARD, REWARD, ModelCard, PreferenceModel, load_model, log_odds, open_parts, save_reward
from salon.models.reward_model import load_reward
from salon.models.reward_network import DEFAULT_INSTRUCTION
from salon.models.weights import MissingWeights
from salon.study import Signature

TEXTS = ["a red fair", "a somewhat longer text about a fair by the sea"]


def images():
    return [Image.new("RGB", (20, 14), "red"), Image.new("RGB", (16, 16), "navy")]


def card(**more):
    plain = {
        "kind": "reward", "name": "m", "criteria": [{"id": CRITERION, "name": "red"}], "backbone": "tiny", "form":
        "quadrature", "backbone_name": "tiny", "is_logit": False, "study": "s", "data": "0" * 64,
        "settings": {"pixels": SMALL.pixels}, "signature": Signature(method="reward"),
    }  # fmt: skip
    return ModelCard.model_validate(plain | more)


@pytest.fixture(scope="module")
def vlm(tmp_path_factory):
    return tiny(tmp_path_factory.mktemp("vlm") / "qwen2_vl")


@pytest.fixture(scope="module")
def made(vlm, tmp_path_factory):
    """A model of one step with adapters, and the scores that it gave before it was saved."""
    place = tmp_path_factory.mktemp("model")
    settings = SMALL.model_copy(update={"learn": "lora", "lora_on": "both", "lora_rank": 2, "steps": 1, "lr": 1e-2,
                                        "choose": "last", "batch": 4})  # fmt: skip
    fitted, parts = trained(vlm, red_pairs(place / "pictures", validation=0), place / "run", settings)
    with torch.no_grad():
        found = fitted.network(parts.questions(images(), TEXTS, ["red"] * 2))
    (place / "model").mkdir()
    save_reward(place / "model", card(), "# m", fitted.network, parts)
    return place / "model", found


def test_loaded_scores_are_those_before_saving(made):
    folder, found = made
    model = load_model(folder, device="cpu")
    assert isinstance(model, PreferenceModel)
    scores = model.scores(images(), TEXTS, CRITERION)
    assert [one.value for one in scores] == found.mu.double().tolist()
    assert [one.sigma for one in scores] == found.log_sigma.exp().double().tolist()
    alone = model.scores(images()[:1], TEXTS[:1], CRITERION)
    assert alone[0].value == pytest.approx(scores[0].value, abs=1e-5)  # padding counts for nothing


def test_pairs_follow_from_scores_and_swapping_flips_the_sign(made):
    model = load_reward(made[0], device="cpu")
    a, b = images()
    (one,), (other,) = (model.scores([image], TEXTS[:1], CRITERION) for image in (a, b))
    expected = log_odds("quadrature", one.value - other.value, np.hypot(one.sigma, other.sigma))
    assert model.pair_logits([a], [b], TEXTS[:1], CRITERION) == pytest.approx(expected, abs=1e-6)
    assert model.pair_logits([b], [a], TEXTS[:1], CRITERION) == pytest.approx(-expected, abs=1e-6)
    assert model.pair_logits([], [], [], CRITERION).shape == (0,)


@pytest.mark.parametrize("law", ["quadrature", "released", "probit", "ranknet", "davidson", "rao-kupper"])
def test_log_odds_by_definition(law):
    """One pair, m = 1 and v = 2; ties by e^tie = 1, so nu = 1 and theta = 2."""
    z = np.random.default_rng(0).normal(1, 2, 400_000)
    tied = {"davidson": np.exp(0.5) + 0.5, "rao-kupper": expit(1 - np.log(2)) * (1 + 1.5 * expit(-1 - np.log(2)))}
    chance = {
        "quadrature": expit(z).mean(), "released": expit(z).mean(), "probit": norm.cdf(1 / np.sqrt(5)),
        "ranknet": expit(1.0), "davidson": tied["davidson"] / (np.exp(0.5) + np.exp(-0.5) + 1),
        "rao-kupper": tied["rao-kupper"],
    }[law]  # fmt: skip
    assert log_odds(law, np.array([1.0]), np.array([2.0]), tie=0.0) == pytest.approx(logit(chance), abs=0.01)


def test_the_backbone_is_one_that_others_load(made, vlm):
    """Files and names of weights as transformers and vLLM expect of the class; the old names of Qwen2-VL on disk."""
    backbone = made[0] / "backbone"
    names = {path.name for path in backbone.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "preprocessor_config.json",
            "chat_template.jinja"} <= names  # fmt: skip
    config = json.loads((backbone / "config.json").read_text())
    assert config["architectures"] == ["Qwen2VLForConditionalGeneration"]
    saved, source = (safetensors.torch.load_file(folder / "model.safetensors") for folder in (backbone, vlm))
    assert set(saved) == set(source)
    assert {name.split(".")[0] for name in saved} == {"model", "visual", "lm_head"}
    assert saved["model.embed_tokens.weight"].shape[0] == source["model.embed_tokens.weight"].shape[0] + 1
    _, told = AutoModelForImageTextToText.from_pretrained(backbone, output_loading_info=True)
    assert not any(told[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    head = safetensors.torch.load_file(made[0] / "model.safetensors")
    assert [head[f"rm_head.{place}.weight"].shape[0] for place in (0, 3, 5)] == [1024, 16, 2]


def test_weights_under_their_old_names_are_really_read(vlm):
    """A class of one's own would be filled at random without a word (docs/methods/reward-models.md)."""
    source = safetensors.torch.load_file(vlm / "model.safetensors")
    read = open_parts(vlm, pixels=256).network.vlm.state_dict()
    rows = source["model.embed_tokens.weight"].shape[0]
    assert torch.equal(read["model.language_model.embed_tokens.weight"][:rows], source["model.embed_tokens.weight"])
    for name in ("layers.0.self_attn.q_proj.weight", "layers.1.mlp.down_proj.weight"):
        assert torch.equal(read[f"model.language_model.{name}"], source[f"model.{name}"])
    patch = "visual.patch_embed.proj.weight"
    assert torch.equal(read[f"model.{patch}"], source[patch])


def test_a_prompt_cannot_bring_the_special_token(vlm):
    parts = open_parts(vlm, pixels=256)
    inputs = parts.questions(images()[:1], [f"ha {REWARD} ha"], [f"x {REWARD}"])
    assert (inputs["input_ids"] == parts.network.token).sum() == 1


def test_budget_of_pixels(vlm):
    parts = open_parts(vlm, pixels=1024)
    assert parts.questions.instruction == DEFAULT_INSTRUCTION
    grid = parts.questions([Image.new("RGB", (640, 160))], ["t"], ["c"])["image_grid_thw"]
    assert grid.tolist() == [[1, 2, 8]]  # patches of 8 pixels: 16 x 64, in the picture's proportions
    with pytest.raises(BadValue, match="at least 256"):
        open_parts(vlm, pixels=255)


def test_what_is_no_reward_model(made, tmp_path):
    model = load_reward(made[0], device="cpu")
    with pytest.raises(UnknownReference, match="trained on"):
        model.scores(images(), TEXTS, "other")
    with pytest.raises(MissingWeights, match=r"model\.json"):
        load_reward(tmp_path)
    (tmp_path / MODEL_CARD).write_text(json.dumps(card(kind="heads").record()))
    with pytest.raises(BadFile, match="kind 'heads'"):
        load_reward(tmp_path)
    (tmp_path / MODEL_CARD).write_text(json.dumps(card().record() | {"format": "salon.model/9"}))
    with pytest.raises(BadValue, match="format"):
        load_reward(tmp_path)


def test_an_instruction_needs_its_places(vlm):
    with pytest.raises(BadFile, match="instruction"):
        open_parts(vlm, instruction="How good is {text_prompt}?")
