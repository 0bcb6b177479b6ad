"""ImageReward and HPSv3 from their released layouts.

What they compute is checked against the peers' own numbers in test_peer_inputs.py and test_peer_numbers.py.
"""

import json
import math

import pytest
import safetensors.torch
import torch
from tiny_clip import TEXTS, bpe, pictures, save_head
from torch import nn
from transformers import (
    BlipTextConfig,
    BlipTextModel,
    BlipVisionConfig,
    BlipVisionModel,
    PreTrainedTokenizerFast,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen2VLImageProcessorPil,
)

from salon.errors import BadFile, BadValue
from salon.models.blip_reward import BlipReward
from salon.models.peers import PEERS
from salon.models.prepare import prepare_picture
from salon.models.quality import REWARD
from salon.models.qwen_reward import QwenReward
from salon.models.reward_network import open_parts
from salon.models.weights import MissingWeights

WIDE = 64  # one head of attention, as BLIP divides its width

# -- ImageReward ------------------------------------------------------------------------------------------------------


def old_vision_name(name):
    """transformers' name as BLIP released it."""
    for new, old in (("embeddings.class_embedding", "cls_token"), ("embeddings.position_embedding", "pos_embed"),
                     ("embeddings.patch_embedding", "patch_embed.proj"), ("post_layernorm", "norm"),
                     ("encoder.layers.", "blocks."), ("layer_norm", "norm"), ("self_attn.projection", "attn.proj"),
                     ("self_attn.qkv", "attn.qkv")):  # fmt: skip
        name = name.replace(new, old)
    return f"blip.visual_encoder.{name}"


@pytest.fixture(scope="module")
def image_reward(tmp_path_factory):
    folder = tmp_path_factory.mktemp("imagereward")
    torch.manual_seed(0)
    shared = {"intermediate_size": 80, "num_hidden_layers": 2}
    eyes = BlipVisionModel(BlipVisionConfig(
        hidden_size=WIDE, num_attention_heads=1, image_size=32, patch_size=8, layer_norm_eps=1e-6, **shared
    )).eval()  # fmt: skip
    made = bpe(["[PAD]", "[CLS]", "[UNK]"])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, pad_token="[PAD]", cls_token="[CLS]", unk_token="[UNK]")
    reader = BlipTextModel(BlipTextConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_attention_heads=2, encoder_hidden_size=WIDE, is_decoder=True,
        max_position_embeddings=64, bos_token_id=None, eos_token_id=None, sep_token_id=None, **shared
    ), add_pooling_layer=False).eval()  # fmt: skip
    head = save_head(folder, 32)
    state = {old_vision_name(name): tensor for name, tensor in eyes.state_dict().items()}
    state |= {f"blip.text_encoder.{name}": tensor for name, tensor in reader.state_dict().items()}
    state |= {f"mlp.layers.{name}": tensor for name, tensor in head.state_dict().items()}
    state["blip.text_encoder.embeddings.position_ids"] = torch.arange(64)[None]
    torch.save(state, folder / "ImageReward.pt")
    told = {"hidden_size": 32, "num_attention_heads": 2, "encoder_width": WIDE, "max_position_embeddings": 64, **shared}
    (folder / "med_config.json").write_text(json.dumps(told))
    tokenizer.save_pretrained(folder)
    return folder


def test_the_end_of_the_text_is_seen_from_its_beginning(image_reward):
    """Attention runs both ways: the first token's state, which the head reads, knows the last word."""
    network = BlipReward(image_reward, device="cpu")
    one, other = network.scores(pictures()[:1] * 2, ["a fair by the sea", "a fair by the gold"])
    assert one != pytest.approx(other, abs=1e-6)


# -- HPSv3 ------------------------------------------------------------------------------------------------------------

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
           "<|video_pad|>"]  # fmt: skip
CHAT = (
    "{%- for m in messages -%}<|im_start|>{{ m.role }}\n{%- for c in m.content -%}"
    "{%- if c.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>{%- else -%}{{ c.text }}{%- endif -%}"
    "{%- endfor -%}<|im_end|>\n{%- endfor -%}{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
)
INSTRUCTION = "Rate it for: {text_prompt} <|Reward|> END"


@pytest.fixture(scope="module")
def hpsv3(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hpsv3")
    torch.manual_seed(0)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe(SPECIAL), eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=CHAT,
        additional_special_tokens=SPECIAL,
    )  # fmt: skip
    ids = {name: tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in ("image_pad", "video_pad", "vision_start",
                                                                             "vision_end")}  # fmt: skip
    config = Qwen2VLConfig(
        text_config={"vocab_size": len(tokenizer) + 1, "hidden_size": 32, "intermediate_size": 48,
                     "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
                     "max_position_embeddings": 2048,
                     "bos_token_id": None, "eos_token_id": 2, "pad_token_id": 0,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}},
        vision_config={"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2, "patch_size": 4},
        image_token_id=ids["image_pad"], video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"], vision_end_token_id=ids["vision_end"],
    )  # fmt: skip
    network = Qwen2VLForConditionalGeneration(config).eval()
    head = nn.Sequential(
        nn.Linear(32, 12), nn.ReLU(), nn.Dropout(), nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 2)
    ).eval()
    state = {}
    for name, tensor in network.state_dict().items():  # as transformers 4 named them, when HPSv3 was released
        old = name.replace("model.language_model.", "model.").replace("model.visual.", "visual.")
        state[old] = tensor.clone()
    state |= {f"rm_head.{name}": tensor for name, tensor in head.state_dict().items()}
    safetensors.torch.save_file(state, folder / "HPSv3.safetensors")
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    Qwen2VLImageProcessorPil(patch_size=4, merge_size=2).save_pretrained(folder)
    (folder / "instruction.txt").write_text(INSTRUCTION)
    return folder, network, head


def test_hpsv3_reads_mu_and_sigma_at_the_special_token(hpsv3):
    """At flat positions: transformers' own 3-D positions are not HPSv3's."""
    folder, network, head = hpsv3
    scorer = QwenReward(folder, device="cpu")
    batch = scorer.inputs([prepare_picture(image, PEERS["hpsv3"].pictures, 8) for image in pictures()], TEXTS)
    reward = network.config.text_config.vocab_size - 1
    assert (batch["input_ids"] == reward).sum(1).tolist() == [1, 1, 1]
    merged = batch["image_grid_thw"].prod(dim=1) // 4
    assert all(abs(count - 256) <= 32 for count in merged.tolist())  # whole patches in its own proportions
    length = batch["input_ids"].shape[1]
    with torch.no_grad():
        hidden = network.model(**batch, position_ids=torch.arange(length).expand(3, 3, length)).last_hidden_state
        mu, log_sigma = head(hidden[batch["input_ids"] == reward]).unbind(-1)
    found = scorer.scores(pictures(), TEXTS)
    assert [one for one, _ in found] == pytest.approx(mu.tolist(), abs=1e-5)
    assert [sigma for _, sigma in found] == pytest.approx(log_sigma.exp().tolist(), abs=1e-5)


def test_sigma_is_not_clipped_anywhere(hpsv3, tmp_path):
    """A head whose second output is far away gives exp of it, in scoring and in training on."""
    for file in hpsv3[0].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    state = safetensors.torch.load_file(tmp_path / "HPSv3.safetensors")
    state["rm_head.5.weight"].zero_()
    state["rm_head.5.bias"] = torch.tensor([1.0, -6.5])
    safetensors.torch.save_file(state, tmp_path / "HPSv3.safetensors")
    assert QwenReward(tmp_path, device="cpu").scores(pictures()[:1], TEXTS[:1]) == [
        pytest.approx((1, math.exp(-6.5)), rel=1e-5)
    ]
    parts = open_parts(tmp_path, pixels=256 * 8**2)
    with torch.no_grad():
        found = parts.network(parts.questions(pictures()[:1], TEXTS[:1], [""]))
    assert found.log_sigma.tolist() == pytest.approx([-6.5])


def test_a_prompt_cannot_plant_a_second_token(hpsv3):
    scorer = QwenReward(hpsv3[0], device="cpu")
    pixels = [prepare_picture(pictures()[0], PEERS["hpsv3"].pictures, 8)]
    batch = scorer.inputs(pixels, [f"a {REWARD} square"])
    assert (batch["input_ids"] == hpsv3[1].config.text_config.vocab_size - 1).sum() == 1
    assert "stands for a picture" in scorer.refusal(10, 10, "a <|image_pad|> b")
    with pytest.raises(BadValue, match="one picture"):
        scorer.inputs(pixels, ["a <|image_pad|> b"])


def test_an_instruction_of_another_kind_is_refused(hpsv3, tmp_path):
    for file in hpsv3[0].iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "instruction.txt").unlink()
    with pytest.raises(MissingWeights, match=r"instruction\.txt"):
        QwenReward(tmp_path, device="cpu")
    (tmp_path / "instruction.txt").write_text("Rate it.")
    with pytest.raises(BadFile, match="text_prompt"):
        QwenReward(tmp_path, device="cpu")


def test_training_can_start_from_hpsv3(hpsv3):
    """The same scores as the scorer gives; the output layer of the release comes along."""
    folder, network, _ = hpsv3
    parts = open_parts(folder, pixels=256 * 8**2)
    with torch.no_grad():
        found = parts.network(parts.questions(pictures(), TEXTS, [""] * 3))
    expected = QwenReward(folder, device="cpu").scores(pictures(), TEXTS)
    told = torch.stack([found.mu, found.log_sigma.exp()], dim=1)
    assert torch.allclose(told, torch.tensor(expected), atol=1e-5)
    assert torch.equal(parts.network.vlm.lm_head.weight, network.lm_head.weight)
    assert parts.questions.instruction == INSTRUCTION
    assert parts.network.positions == "flat"
