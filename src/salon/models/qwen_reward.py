"""HPSv3: a Qwen2-VL whose head reads mu and sigma off the place of one special token."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from salon.errors import BadFile, MissingExtra
from salon.models.heads import reward_head
from salon.models.weights import MissingWeights, State, best_device, first_there, from_hub, read_state

try:
    import torch
    from transformers import (
        AutoImageProcessor,
        AutoTokenizer,
        Qwen2VLConfig,
        Qwen2VLForConditionalGeneration,
        Qwen2VLModel,
        Qwen2VLProcessor,
    )
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

WEIGHTS = ("HPSv3.safetensors", "HPSv3.pth")
REWARD = "<|Reward|>"
PROMPT = "{text_prompt}"
_PATCHES = 256
"""Merged patches that every picture is brought to, in its own proportions."""


class _ImageOnly(Qwen2VLProcessor):
    """Qwen2-VL's processor without videos, which would need torchvision."""

    def __init__(self, image_processor: Any = None, tokenizer: Any = None, chat_template: Any = None) -> None:
        super().__init__(image_processor, tokenizer, None, chat_template=chat_template)


class QwenReward:
    """HPSv3 from a folder: its weights, config, tokenizer and processor of Qwen2-VL-7B-Instruct, instruction.txt.

    The instruction is part of what the weights were trained on; the score means nothing under another wording.
    """

    def __init__(self, folder: Path, *, device: str | None = None, dtype: str | None = None) -> None:
        self.device = device or best_device()
        self.dtype = getattr(torch, dtype or ("float32" if self.device == "cpu" else "bfloat16"))
        self.instruction = _instruction(folder)
        self._processor, self._reward = _processor(folder)
        head, state, weights = _state(folder)
        self._head = head.to(self.device)
        self._network = _backbone(folder, state, self.dtype, weights).to(self.device)

    @torch.inference_mode()
    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> list[tuple[float, float]]:
        """(mu, sigma) per picture and its prompt."""
        batch = self._batch(images, texts)
        hidden = self._network(**batch).last_hidden_state
        there = hidden[batch["input_ids"] == self._reward].view(len(images), -1, hidden.shape[-1])
        mu, log_sigma = self._head(there.float()).mean(dim=1).unbind(-1)
        return list(zip(mu.tolist(), log_sigma.exp().tolist(), strict=True))

    def _batch(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Any:
        asked = [self.instruction.replace(PROMPT, text.replace(REWARD, "")) for text in texts]
        messages = [
            [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}] for text in asked
        ]
        written = self._processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        return self._processor(
            text=written, images=[[image] for image in images], padding=True, return_tensors="pt"
        ).to(self.device)


class ReleasedParts(NamedTuple):
    """HPSv3 as something to train on from."""

    network: Any
    """A whole Qwen2-VL, of transformers' own class."""
    head: torch.nn.Module
    processor: Any
    instruction: str


def released_parts(folder: Path, dtype: str = "auto") -> ReleasedParts:
    """HPSv3 from a folder as above, its network with the output layer that it was released with.

    A release without that layer, which no score needs, shares it with the layer that words come in by.
    """
    head, state, weights = _state(folder)
    whole = {name if name.startswith("lm_head.") else f"model.{name}": tensor for name, tensor in state.items()}
    config = _config(folder, state)
    config.tie_word_embeddings = "lm_head.weight" not in whole
    number = getattr(torch, "float32" if dtype == "auto" else dtype)
    network = _loaded(Qwen2VLForConditionalGeneration, config, whole, number, weights)
    return ReleasedParts(network, head, _processor(folder)[0], _instruction(folder))


def _state(folder: Path) -> tuple[torch.nn.Module, State, str]:
    """The head, the other weights by their names of today, and the file they were in."""
    weights = first_there(folder, WEIGHTS, of="HPSv3")
    state = {_current_name(name): tensor for name, tensor in read_state(weights).items()}
    head = {name.removeprefix("rm_head."): state.pop(name) for name in list(state) if name.startswith("rm_head.")}
    return reward_head(head, where=str(weights)), state, str(weights)


def check_instruction(text: str, *, where: str) -> str:
    """`text`, where it holds a place for the prompt and the special token once."""
    if PROMPT not in text or text.count(REWARD) != 1:
        raise BadFile(
            f"an instruction with {PROMPT} in it and one {REWARD} is needed", found=repr(text[-80:]), where=where
        )
    return text


def _instruction(folder: Path) -> str:
    path = first_there(folder, ["instruction.txt"], of="HPSv3")
    return check_instruction(path.read_text(encoding="utf-8"), where=str(path))


def _processor(folder: Path) -> tuple[_ImageOnly, int]:
    """The processor, every picture at one number of pixels, and the id of the special token."""
    tokenizer = from_hub(AutoTokenizer.from_pretrained, folder, what="Qwen2-VL's tokenizer", padding_side="right")
    tokenizer.add_special_tokens({"additional_special_tokens": [REWARD]}, replace_extra_special_tokens=False)
    pictures = from_hub(AutoImageProcessor.from_pretrained, folder, what="Qwen2-VL's picture processor")
    pixels = _PATCHES * (pictures.patch_size * pictures.merge_size) ** 2
    pictures.size = {"shortest_edge": pixels, "longest_edge": pixels}
    return _ImageOnly(pictures, tokenizer, tokenizer.chat_template), tokenizer.convert_tokens_to_ids(REWARD)


def _current_name(name: str) -> str:
    """Names of transformers before version 5 as they are now: language and vision below one model."""
    if re.match(r"model\.(language_model|visual)\.", name):
        return name.removeprefix("model.")
    return f"language_model.{name.removeprefix('model.')}" if name.startswith("model.") else name


def _backbone(folder: Path, state: State, dtype: torch.dtype, where: str) -> Qwen2VLModel:
    config = _config(folder, state)
    state = {name: tensor for name, tensor in state.items() if not name.startswith("lm_head.")}
    return _loaded(Qwen2VLModel, config, state, dtype, where)


def _config(folder: Path, state: State) -> Qwen2VLConfig:
    config = from_hub(Qwen2VLConfig.from_pretrained, folder, what="Qwen2-VL's config")
    config.text_config.vocab_size = state["language_model.embed_tokens.weight"].shape[0]
    return config


def _loaded(kind: Any, config: Qwen2VLConfig, state: State, dtype: torch.dtype, where: str) -> Any:
    network, told = kind.from_pretrained(None, config=config, state_dict=state, dtype=dtype, output_loading_info=True)
    wrong = [*told["missing_keys"], *told["unexpected_keys"], *told["mismatched_keys"]]
    if wrong:
        raise MissingWeights(
            "weights that fit Qwen2-VL are needed", found=f"{len(wrong)} that do not: {wrong[:3]}", where=where
        )
    return network.eval()
