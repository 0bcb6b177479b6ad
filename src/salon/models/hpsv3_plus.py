"""HPSv3++: a Qwen3-VL whose reward head reads a state that two conditions modulate.

    capability = sigmoid(out(proj(h)))                      of the generator, judged from the picture
    gamma, beta = film(encode([capability, step]))          step: progress of RL training, from 0 to 1
    mu, log sigma = head(h (1 + gamma) + beta)              h: the state at the special token

The release judges one capability for all pictures of a call together, so its numbers depend on their company. Here each
picture is judged alone, as the release does with one picture in a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from salon.errors import BadValue, MissingExtra
from salon.models.hpsv3 import QwenReward, ReleasedText
from salon.models.peers import PEERS
from salon.models.reward_heads import reward_head
from salon.models.weights import MissingWeights, State, load_weights

try:
    import torch
    from torch import Tensor, nn
    from transformers import Qwen3VLConfig, Qwen3VLModel
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

_TEXT = ReleasedText(
    "HPSv3++",
    "5e6fde2238a332ebdfdef60128d3ded626450a694897f2c963e6b44cd80fe3c8",
    "",
    (4096, 36),
    "take hpsv3/dataset/data_collator_qwen.py of the HPSv3-PlusPlus repository (it is read, never run)",
    in_package=False,
)


class ConditionedReward(QwenReward):
    """HPSv3++ from a folder: its weights; config, tokenizer and processor of Qwen3-VL-8B-Instruct; its instruction."""

    peer = PEERS["hpsv3++"]
    files = ("hpsv3++.safetensors", "hpsv3++.pth")
    backbone = "Qwen3-VL"
    head_prefixes = ("rm_head.", "cap_encoder.", "cond_encoder.", "film_gen.")
    config_class = Qwen3VLConfig
    network_class = Qwen3VLModel

    def __init__(self, folder: Path, *, step: float = 0.0, **options: Any) -> None:
        if not 0 <= step <= 1:
            raise BadValue("a step of RL training from 0 to 1 is needed", found=step)
        self.step = step
        super().__init__(folder, **options)
        self._picture_token = self._tokenizer.convert_tokens_to_ids("<|image_pad|>")

    def make_head(self, state: State, *, where: str) -> nn.Module:
        """The head with its conditions."""
        return ConditionedHead(state, self.step, where=where).eval().requires_grad_(False)

    def released_text(self) -> ReleasedText:
        """The instruction that the weights were trained with."""
        return _TEXT

    def inputs(self, pixels: Sequence[Tensor], texts: Sequence[str]) -> dict[str, Tensor]:
        """One batch, with the tokens that stand for a picture marked: their positions have rows and columns."""
        batch = super().inputs(pixels, texts)
        return batch | {"mm_token_type_ids": (batch["input_ids"] == self._picture_token).int()}


class ConditionedHead(nn.Module):
    """From hidden states (pictures, width) to (mu, log sigma)."""

    def __init__(self, state: State, step: float, *, where: str) -> None:
        super().__init__()
        self.step = step
        rest = {name: tensor.to(torch.float32) for name, tensor in state.items() if not name.startswith("rm_head.")}
        self.capability = _linear(rest, "cap_encoder.proj", where)
        self.attention = _linear(rest, "cap_encoder.pool_attn", where)  # weighs pictures judged together: not used here
        self.capability_out = _linear(rest, "cap_encoder.out_proj", where)
        self.encoder = nn.Sequential(
            _linear(rest, "cond_encoder.0", where), nn.GELU(), _linear(rest, "cond_encoder.2", where)
        )
        self.film = nn.Sequential(_linear(rest, "film_gen.0", where), nn.ReLU(), _linear(rest, "film_gen.2", where))
        if rest:
            raise MissingWeights(
                "weights that fit HPSv3++ are needed", found=f"left over: {', '.join(list(rest)[:3])}", where=where
            )
        parts = {name.removeprefix("rm_head."): part for name, part in state.items() if name.startswith("rm_head.")}
        self.head = reward_head(parts, where=where)

    def forward(self, states: Tensor) -> Tensor:
        """(pictures, 2): mu and log sigma."""
        capability = torch.sigmoid(self.capability_out(self.capability(states.detach())))
        conditions = torch.cat([capability, torch.full_like(capability, self.step)], dim=-1)
        gamma, beta = self.film(self.encoder(conditions)).chunk(2, dim=-1)
        quality: Tensor = self.head(states * (1.0 + gamma) + beta)
        return quality


def _linear(state: State, name: str, where: str) -> nn.Linear:
    """The layer of this name, whose weights are taken out of `state`."""
    try:
        weights = {kind: state.pop(f"{name}.{kind}") for kind in ("weight", "bias")}
    except KeyError as error:
        raise MissingWeights("weights that fit HPSv3++ are needed", found=f"no {error.args[0]}", where=where) from None
    outer, inner = weights["weight"].shape
    layer = nn.Linear(inner, outer)
    load_weights(layer, weights, where=where)
    return layer
