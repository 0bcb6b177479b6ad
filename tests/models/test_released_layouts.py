"""Released scorers load from the layouts they were released in, weight by weight, and refuse what is not theirs.

What they compute is checked against the peers' own numbers in test_peer_inputs.py and test_peer_numbers.py.
"""

import json

import pytest
import safetensors.torch
import torch
from tiny_clip import DIM, TEXTS, OpenClip, pictures, save_clip, save_head
from torch import nn
from torch.nn.functional import normalize
from transformers import AutoTokenizer, CLIPImageProcessorPil

from salon.errors import BadFile
from salon.judge import PictureScore
from salon.judge.scorers import released
from salon.models import fingerprint
from salon.models.weights import MissingWeights, load_weights, read_state
from salon.study import Item, Prompt

PROMPTS = [Prompt(id=str(n), intent=text, description="with words") for n, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("clip")
    return place, save_clip(place)


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    place = tmp_path_factory.mktemp("pictures")
    for number, image in enumerate(pictures()):
        image.save(place / f"{number}.png")
    return [Item(id=str(n), prompt=str(n), image=str(place / f"{n}.png")) for n in range(3)]


@pytest.fixture(scope="module")
def cosines(folder):
    """By transformers' own processor, tokenizer and forward pass of pictures and texts together."""
    seen = CLIPImageProcessorPil.from_pretrained(folder[0])(pictures(), return_tensors="pt")
    read = AutoTokenizer.from_pretrained(folder[0])(
        [p.view() for p in PROMPTS], padding="max_length", truncation=True, max_length=20, return_tensors="pt"
    )
    with torch.no_grad():
        both = folder[1](**seen, input_ids=read.input_ids, attention_mask=read.attention_mask)
    return (both.image_embeds * both.text_embeds).sum(-1)


def test_clip_score_and_pickscore(folder, items, cosines):
    scale = float(folder[1].logit_scale.detach().exp())
    found = released.clip_score(folder[0], device="cpu", batch=2).score(items, PROMPTS)
    assert found == pytest.approx((100 * cosines.clamp(min=0)).tolist(), abs=1e-3)
    picked = released.pickscore(folder[0], device="cpu")
    assert picked.score(items, PROMPTS) == pytest.approx((scale * cosines).tolist(), abs=1e-4)
    assert picked.card.is_logit
    assert picked.signature.data == fingerprint(folder[0])


def test_the_intent_alone_is_another_score(folder, items):
    whole = released.pickscore(folder[0], device="cpu")
    intent = released.pickscore(folder[0], device="cpu", text="intent")
    assert intent.card.view == ("intent",)
    assert str(intent.signature) != str(whole.signature)
    assert intent.score(items, PROMPTS) != pytest.approx(whole.score(items, PROMPTS), abs=1e-4)


def test_hpsv2_reads_open_clips_weights(tmp_path, folder, items):
    save_clip(tmp_path, weights=False)
    torch.manual_seed(3)
    oracle = OpenClip(folder[1].config.text_config.vocab_size).eval()
    torch.save({"state_dict": oracle.state_dict()}, tmp_path / "HPS_v2.1_compressed.pt")
    scorer = released.hpsv2(tmp_path, device="cpu")
    network = scorer.network
    pixels = network.clip.pixels(pictures())
    with torch.no_grad():
        seen = normalize(oracle.visual(pixels), dim=-1)
        read = normalize(oracle.texts(network.clip.tokens([p.view() for p in PROMPTS])["input_ids"]), dim=-1)
        expected = oracle.logit_scale.exp() * (seen * read).sum(-1)
    assert scorer.score(items, PROMPTS) == pytest.approx(expected.tolist(), abs=1e-3)
    assert pixels[0, 0, 16, 0] == pixels[0, 0, 16, 1] < pixels[0, 0, 16, 16]  # 40 x 50: whole, with black beside it


def test_laions_head(tmp_path, items):
    network = save_clip(tmp_path)
    head = save_head(tmp_path / "sac+logos+ava1-l14-linearMSE.pth")
    pixels = CLIPImageProcessorPil.from_pretrained(tmp_path)(pictures(), return_tensors="pt").pixel_values
    with torch.no_grad():  # the margins of these pictures are even, so that the two ways to crop agree
        seen = network.get_image_features(pixel_values=pixels).pooler_output
        expected = head(normalize(seen, dim=-1)).squeeze(-1)
    scorer = released.laion_aesthetic(tmp_path, device="cpu")
    assert scorer.card.reads == "image"
    assert scorer.score(items, [None] * 3) == pytest.approx(expected.tolist(), abs=1e-5)


# -- MPS --------------------------------------------------------------------------------------------------------------


def mps_state(clip, dim=DIM, head=8, heads=2, depth=2):
    """Random weights under the released names."""
    torch.manual_seed(5)
    state = {f"model.{name}": tensor for name, tensor in clip.state_dict().items()}
    shapes = {"0.fn.norm.weight": (dim,), "0.fn.norm.bias": (dim,), "0.fn.to_q.weight": (head * heads, dim),
              "0.fn.to_kv.weight": (2 * head, dim), "0.fn.to_out.weight": (dim, head * heads),
              "0.fn.ff.0.weight": (8 * dim, dim), "0.fn.ff.2.weight": (dim, 4 * dim),
              "1.fn.norm.weight": (dim,), "1.fn.norm.bias": (dim,), "1.fn.rotary_emb.inv_freq": (head // 2,),
              "1.fn.fused_attn_ff_proj.weight": (head * heads + 2 * head + 8 * dim, dim),
              "1.fn.attn_out.weight": (dim, head * heads), "1.fn.ff_out.1.weight": (dim, 4 * dim)}  # fmt: skip
    for layer in range(depth):
        state |= {f"cross_model.layers.{layer}.{name}": torch.randn(shape) for name, shape in shapes.items()}
    return state


def test_mps_loads_and_looks_at_words_and_picture(tmp_path, folder, items):
    save_clip(tmp_path, weights=False)
    safetensors.torch.save_file(mps_state(folder[1]), tmp_path / "MPS_overall.safetensors")
    with pytest.raises(MissingWeights, match=r"condition\.txt"):
        released.mps(tmp_path, device="cpu")
    (tmp_path / "condition.txt").write_text("light, color\n")
    scorer = released.mps(tmp_path, device="cpu", batch=3)
    together = scorer.score(items, PROMPTS)
    alone = [scorer.score([item], [prompt])[0] for item, prompt in zip(items, PROMPTS)]
    assert together == pytest.approx(alone, abs=1e-4)  # the batch is no part of the score
    swapped = scorer.score([items[0], items[0], items[1]], [PROMPTS[0], PROMPTS[1], PROMPTS[0]])
    assert len({round(value, 4) for value in swapped}) == 3
    scale = float(folder[1].logit_scale.detach().exp())
    assert all(abs(value) <= scale for value in together)


def test_one_head_of_looking_by_hand(folder):
    """softmax(q k) v with a single word let through is that word's value, whatever the others are."""
    from salon.models.clip import cross_layers

    state = {name.removeprefix("cross_model."): t for name, t in mps_state(folder[1], depth=1).items()
             if name.startswith("cross_model.")}  # fmt: skip
    looking = cross_layers(state, where="here").layers[0][0].fn
    patches, words = torch.randn(1, 5, DIM), torch.randn(1, 4, DIM)
    hidden = torch.tensor([[[-torch.inf, 0.0, -torch.inf, -torch.inf]]])
    with torch.no_grad():
        found = looking(patches, words, hidden)
        value = looking.to_kv(words)[:, 1, 8:]
        normed = nn.functional.layer_norm(
            patches, (DIM,), state["layers.0.0.fn.norm.weight"], state["layers.0.0.fn.norm.bias"]
        )
        expected = looking.to_out(value.repeat(1, 2))[:, None] + looking.ff(normed)
    torch.testing.assert_close(found, expected)


# -- bad weights ------------------------------------------------------------------------------------------------------


def test_a_folder_without_weights_is_told_what_to_hold(tmp_path):
    save_clip(tmp_path, weights=False)
    with pytest.raises(MissingWeights, match=r"HPS_v2\.1_compressed\.pt"):
        released.hpsv2(tmp_path)
    with pytest.raises(MissingWeights, match="a CLIP is needed"):
        released.clip_score(tmp_path / "nowhere")


def test_weights_that_do_not_fit_are_refused(tmp_path):
    head = nn.Linear(3, 2)
    with pytest.raises(MissingWeights, match="1 missing"):
        load_weights(head, {"weight": torch.zeros(2, 3)}, where="here")
    with pytest.raises(MissingWeights, match="1 left over"):
        load_weights(head, {**head.state_dict(), "other": torch.zeros(1)}, where="here")
    with pytest.raises(BadFile, match="right shapes"):
        load_weights(head, {"weight": torch.zeros(5, 3), "bias": torch.zeros(2)}, where="here")


def _changed(place, **tensors):
    """A file of tensors with some of them replaced, or left out for None."""
    state = read_state(place) | tensors
    state = {name: tensor.contiguous() for name, tensor in state.items() if tensor is not None}
    if place.suffix == ".safetensors":
        safetensors.torch.save_file(state, place)
    else:
        torch.save(state, place)


def test_a_head_that_does_not_fit_is_refused(tmp_path):
    save_clip(tmp_path)
    file = tmp_path / "sac+logos+ava1-l14-linearMSE.pth"
    for change, match in (
        ({"layers.0.bias": None}, "1 missing"),
        ({"other": torch.zeros(1)}, "1 left over"),
        ({"layers.2.weight": torch.zeros(6, 7)}, "fit one another"),
        ({"layers.0.weight": torch.zeros(8, DIM + 1)}, f"from {DIM} features"),
    ):
        save_head(file)
        _changed(file, **change)
        with pytest.raises(BadFile, match=match):
            released.laion_aesthetic(tmp_path, device="cpu")


def test_a_clip_with_other_weights_is_refused(tmp_path):
    for change, match in (
        ({"logit_scale": None}, "1 missing"),
        ({"stranger": torch.zeros(1)}, "1 left over"),
        ({"visual_projection.weight": torch.zeros(3, 3)}, "another shape"),
    ):
        save_clip(tmp_path)
        _changed(tmp_path / "model.safetensors", **change)
        with pytest.raises(BadFile, match=match):
            released.pickscore(tmp_path, device="cpu")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(BadFile, match="a CLIP is needed"):
        released.pickscore(tmp_path, device="cpu")


def test_a_tokenizer_of_another_model_is_refused(tmp_path):
    """One without its vocabulary would read every text alike."""
    save_clip(tmp_path)
    file = tmp_path / "tokenizer.json"
    told = json.loads(file.read_text())
    told["model"]["vocab"] = {name: id for name, id in told["model"]["vocab"].items() if id < 20}
    told["model"]["merges"] = []
    file.write_text(json.dumps(told))
    with pytest.raises(MissingWeights, match="one of 20 tokens"):
        released.pickscore(tmp_path, device="cpu")


def test_mps_refuses_other_weights_and_no_condition(tmp_path, folder):
    save_clip(tmp_path, weights=False)
    file = tmp_path / "MPS_overall.safetensors"
    (tmp_path / "condition.txt").write_text("light")
    for change, match in (
        ({"stranger": torch.zeros(1)}, "1 left over"),
        ({"cross_model.layers.0.0.fn.to_q.weight": None}, "to_q"),
    ):
        safetensors.torch.save_file(mps_state(folder[1]), file)
        _changed(file, **change)
        with pytest.raises(MissingWeights, match=match):
            released.mps(tmp_path, device="cpu")
    safetensors.torch.save_file(mps_state(folder[1]), file)
    (tmp_path / "condition.txt").write_text(" \n")
    with pytest.raises(BadFile, match="no words"):
        released.mps(tmp_path, device="cpu")


def test_a_pickled_model_is_not_opened(tmp_path):
    torch.save(nn.Linear(2, 2), tmp_path / "model.pt")  # what MPS released
    with pytest.raises(BadFile, match="runs its code"):
        read_state(tmp_path / "model.pt")
    (tmp_path / "junk.safetensors").write_bytes(b"junk")
    with pytest.raises(BadFile):
        read_state(tmp_path / "junk.safetensors")
    torch.save({"model": {"module.w": torch.ones(1)}}, tmp_path / "wrapped.pt")
    assert read_state(tmp_path / "wrapped.pt").keys() == {"w"}


def test_a_number_that_is_none_is_a_gap(folder, items):
    class Odd:
        def scores(self, images, texts):
            return [float("nan"), 1.0, (2.0, float("inf"))]

        def refusal(self, width, height, text):
            return None

    scorer = released._scorer("nan", released._card("full", "clip"), folder[0], 8, Odd())
    found = scorer.results(items, PROMPTS)
    assert "finite" in found[0].reason
    assert found[1] == PictureScore(1.0)
    assert "finite" in found[2].reason


def test_cards_are_json(folder):
    card = released.pickscore(folder[0], device="cpu").card
    assert json.loads(json.dumps(card.record()))["is_logit"]
