"""From what a VLM read to the quality of a picture: positions, the special token, mu and log sigma.

One rule for every reward network, released or trained here: the head's second output is log sigma as it is, without
bounds, as in HPSv3. What has to be bounded against overflow is bounded inside the laws of a vote (`train.losses`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from salon.errors import MissingExtra
from salon.models.peers import Positions

try:
    import torch
    from torch import Tensor, nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

REWARD = "<|Reward|>"
"""The special token at whose place the head reads."""


class Quality(NamedTuple):
    """What a network says of each picture: normal, with this mean and log standard deviation."""

    mu: Tensor
    log_sigma: Tensor


def read_quality(vlm: Any, head: nn.Module, token: int, inputs: dict[str, Tensor], positions: Positions) -> Quality:
    """(pictures,) mu and log sigma; `vlm` is a network without its output layer, `token` the special token's id."""
    told = {"position_ids": flat_positions(inputs["input_ids"])} if positions == "flat" else {}
    hidden = vlm(**inputs, **told).last_hidden_state
    there = hidden[inputs["input_ids"] == token]  # one row for each picture
    with torch.autocast(there.device.type, enabled=False):  # 8 bits are too few for a score
        mu, log_sigma = head(there.to(next(head.parameters()).dtype)).unbind(-1)
    return Quality(mu, log_sigma)


def flat_positions(tokens: Tensor) -> Tensor:
    """(3, rows, length): 0, 1, 2, ... on all three axes, through pictures and padding.

    transformers 4.45.2, which HPSv3 pins, counts like this where a forward passes no positions; HPSv3's passes none.
    """
    return torch.arange(tokens.shape[1], device=tokens.device).expand(3, *tokens.shape)


def vlm_positions(vlm: Any) -> Positions:
    """Which positions a VLM makes by itself."""
    config = vlm.config.get_text_config()
    stated = (getattr(config, "rope_parameters", None) or {}, getattr(config, "rope_scaling", None) or {})
    return "m-rope" if any("mrope_section" in rope for rope in stated) else "own"
