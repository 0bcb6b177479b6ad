"""Tiny Qwen-VLs with random weights, built on the spot and saved as real checkpoints are.

A few rows of their last layer are planted so that the model says "A or "B and stops; which one depends on the pictures.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"]
SPECIAL += ["<|vision_pad|>", "<|image_pad|>", "<|video_pad|>"]
TEMPLATE = (
    "{%- for m in messages -%}<|im_start|>{{ m.role }}\n"
    "{%- if m.content is string -%}{{ m.content }}"
    "{%- else -%}{%- for c in m.content -%}"
    "{%- if c.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>"
    "{%- elif 'text' in c -%}{{ c.text }}{%- endif -%}{%- endfor -%}{%- endif -%}"
    "<|im_end|>\n{%- endfor -%}{%- if add_generation_prompt -%}<|im_start|>assistant\n{%- endif -%}"
)
_TEXT = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": None,
}
_VISION = {"depth": 2, "num_heads": 2, "patch_size": 8}
_FAMILIES: dict[str, tuple[str, dict[str, Any], dict[str, Any], list[int]]] = {
    "qwen2_vl": ("Qwen2VL", {}, {"embed_dim": 32, "hidden_size": 64, "mlp_ratio": 2}, [2, 3, 3]),
    "qwen2_5_vl": (
        "Qwen2_5_VL",
        {},
        {"hidden_size": 32, "intermediate_size": 64, "out_hidden_size": 64, "window_size": 32}
        | {"fullatt_block_indexes": [1]},
        [2, 3, 3],
    ),
    "qwen3_vl": (
        "Qwen3VL",
        {"head_dim": 16},
        {"hidden_size": 32, "intermediate_size": 64, "out_hidden_size": 64, "num_position_embeddings": 64}
        | {"deepstack_visual_indexes": [0]},
        [4, 2, 2],
    ),
}
FAMILIES = tuple(_FAMILIES)


def build_tiny_vlm(folder: Path, family: str = "qwen3_vl", *, planted: bool = True) -> Path:
    """Save a model of `family` with its tokenizer and picture processor to `folder`."""
    tokenizer = _tokenizer()
    model = _model(family, tokenizer)
    if planted:
        _plant(model, tokenizer)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    size = {"shortest_edge": 16 * 16, "longest_edge": 64 * 64}
    transformers.Qwen2VLImageProcessorPil(patch_size=8, merge_size=2, size=size).save_pretrained(folder)
    return folder


def _tokenizer() -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(["which image is better: A or B, or a TIE?"] * 8, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )


def _model(family: str, tokenizer: Any) -> Any:
    name, more, vision, sections = _FAMILIES[family]
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in SPECIAL}
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": sections}
    rope |= {"mrope_interleaved": True} if family == "qwen3_vl" else {}
    ends = {"eos_token_id": ids["<|im_end|>"], "pad_token_id": ids["<|endoftext|>"], "vocab_size": len(tokenizer)}
    config = getattr(transformers, f"{name}Config")(
        text_config=_TEXT | more | ends | {"rope_parameters": rope},
        vision_config=_VISION | vision,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    torch.manual_seed(0)
    return getattr(transformers, f"{name}ForConditionalGeneration")(config).eval()


def _plant(model: Any, tokenizer: Any) -> None:
    """Make a Qwen3-VL say a quotation mark, then A or B, then no more; the choice is left to everything else."""
    before = [f"<|im_start|>user\n{'which image is better? ' * n}<|im_end|>\n" for n in range(6)]
    said = ["", '"', '"A', '"B']
    states = torch.stack([_hidden(model, tokenizer, f"{b}<|im_start|>assistant\n{s}") for b in before for s in said])
    side = torch.randn(states.shape[1], generator=torch.Generator().manual_seed(1))
    side = side - torch.linalg.pinv(states) @ (states @ side)
    wanted = {'"': [9, -9, -9, -9], "A": [-9, 9, -9, -9], "B": [-9, 9, -9, -9], "<|im_end|>": [-9, -9, 9, 9]}
    inverse = torch.linalg.pinv(states, rtol=0.02)
    rows = {token: inverse @ torch.tensor(logits * len(before)).float() for token, logits in wanted.items()}
    rows["A"] += side / side.norm()
    rows["B"] -= side / side.norm()
    with torch.no_grad():
        for token, row in rows.items():
            model.lm_head.weight[tokenizer.convert_tokens_to_ids(token)] = row


def _hidden(model: Any, tokenizer: Any, text: str) -> torch.Tensor:
    with torch.no_grad():
        return model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states[-1][0, -1]
