"""ImageReward, HPSv3 and HPSv3++ with tiny random weights, in the layouts they were released in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from tiny_clip import bpe, save_head
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
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)

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


def save_image_reward(folder: Path) -> Path:
    """ImageReward with random weights."""
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


SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
           "<|video_pad|>"]  # fmt: skip
CHAT = (
    "{%- for m in messages -%}<|im_start|>{{ m.role }}\n{%- for c in m.content -%}"
    "{%- if c.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>{%- else -%}{{ c.text }}{%- endif -%}"
    "{%- endfor -%}<|im_end|>\n{%- endfor -%}{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
)
INSTRUCTION = "Rate it for: {text_prompt} <|Reward|> END"


def save_hpsv3(folder: Path) -> tuple[Qwen2VLForConditionalGeneration, nn.Module]:
    """HPSv3 with random weights: its network and head."""
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
    return network, head


def save_hpsv3_plus(folder: Path) -> Path:
    """HPSv3++ with made-up weights that are the same everywhere, in the layout of its release."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bpe(SPECIAL), eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=CHAT,
        additional_special_tokens=SPECIAL,
    )  # fmt: skip
    ids = {name: tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in ("image_pad", "video_pad", "vision_start",
                                                                             "vision_end")}  # fmt: skip
    width = 32
    config = Qwen3VLConfig(
        text_config={"vocab_size": len(tokenizer) + 1, "hidden_size": width, "intermediate_size": 48, "head_dim": 16,
                     "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
                     "max_position_embeddings": 4096, "bos_token_id": None, "eos_token_id": 2, "pad_token_id": 0,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2],
                                         "mrope_interleaved": True}},
        vision_config={"depth": 1, "hidden_size": 32, "intermediate_size": 48, "out_hidden_size": width, "num_heads": 2,
                       "patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0]},
        image_token_id=ids["image_pad"], video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"], vision_end_token_id=ids["vision_end"],
    )  # fmt: skip
    layers = {"rm_head.0": (1024, width), "rm_head.3": (16, 1024), "rm_head.5": (2, 16), "cond_encoder.0": (16, 2),
              "cond_encoder.2": (16, 16), "film_gen.0": (width, 16), "film_gen.2": (2 * width, width),
              "cap_encoder.proj": (16, width), "cap_encoder.pool_attn": (1, 16),
              "cap_encoder.out_proj": (1, 16)}  # fmt: skip
    shapes = {
        name: tuple(tensor.shape) for name, tensor in Qwen3VLForConditionalGeneration(config).state_dict().items()
    }
    for name, (outer, inner) in layers.items():
        shapes |= {f"{name}.weight": (outer, inner), f"{name}.bias": (outer,)}
    state = {name: made_up(name, shape) for name, shape in shapes.items()}
    torch.save({"model": state}, folder / "hpsv3++.pth")
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    Qwen2VLImageProcessorPil(
        patch_size=16, merge_size=2, image_mean=[0.5] * 3, image_std=[0.5] * 3,
        size={"shortest_edge": 65536, "longest_edge": 16777216},
    ).save_pretrained(folder)  # fmt: skip
    (folder / "instruction.txt").write_text(INSTRUCTION)
    return folder


def made_up(name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Random numbers that depend on the name alone; a norm's are near 1."""
    rng = np.random.default_rng([ord(letter) for letter in name])
    values = rng.standard_normal(shape, dtype=np.float32)
    if len(shape) == 1:
        return torch.from_numpy(1 + 0.1 * values if name.endswith("weight") else 0.3 * values)
    return torch.from_numpy(values * 1.5 / np.sqrt(np.prod(shape[1:], dtype=np.float32)))
