"""Small heads that released scorers put on a large network's features, and what a reward head reads.

One rule holds for every reward network, released or trained here: the head's second output is log sigma as it is,
without bounds, as in HPSv3. Bounds against overflow are inside the laws of a vote (`train.losses`).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

from salon.errors import BadFile, MissingExtra
from salon.models.peers import Positions
from salon.models.weights import State, load_weights

try:
    import torch
    from torch import Tensor, nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

HPSV3_DROPOUT = 0.05
_PLACES = (0, 3, 5)
"""Of the linear layers among those of a reward head."""


def linear_stack(state: State, *, where: str) -> nn.Sequential:
    """Linear layers one after the other, without anything between: LAION's aesthetic head, and ImageReward's.

    Their dropout does nothing once trained, so `layers.0, 2, 4, 6, 7` are five layers in a row.
    """
    places = sorted({int(name.split(".")[1]) for name in state if name.startswith("layers.")})
    if not places:
        raise BadFile(
            "a head of layers.N.weight and layers.N.bias is needed", found=", ".join(state)[:200], where=where
        )
    needed = {f"layers.{place}.{kind}" for place in places for kind in ("weight", "bias")}
    if state.keys() != needed:
        missing, spare = sorted(needed - state.keys()), sorted(state.keys() - needed)
        parts = [f"{len(names)} {word} ({', '.join(names[:3])})" for word, names in
                 (("missing", missing), ("left over", spare)) if names]  # fmt: skip
        raise BadFile("a head of layers.N.weight and layers.N.bias is needed", found=", ".join(parts), where=where)
    shapes = [tuple(state[f"layers.{place}.weight"].shape) for place in places]
    if any(len(shape) != 2 for shape in shapes) or any(a[0] != b[1] for a, b in pairwise(shapes)):
        raise BadFile("a head whose layers fit one another is needed", found=str(shapes), where=where)
    stack = nn.Sequential(*(nn.Linear(inner, outer) for outer, inner in shapes))
    renumbered = {
        f"{number}.{kind}": state[f"layers.{place}.{kind}"]
        for number, place in enumerate(places)
        for kind in ("weight", "bias")
    }
    load_weights(stack, renumbered, where=where)
    return stack.eval().requires_grad_(False)


def reward_head(state: State, *, where: str) -> nn.Sequential:
    """HPSv3's head: three layers with ReLU between them, from the hidden state to (mu, log sigma)."""
    missing = [place for place in _PLACES if f"{place}.weight" not in state]
    if missing:
        raise BadFile("a head of rm_head.0, .3 and .5 is needed", found=", ".join(state)[:200], where=where)
    outward = [state[f"{place}.weight"].shape[0] for place in _PLACES]
    head = _reward_layers(state["0.weight"].shape[1], *outward, dropout=HPSV3_DROPOUT)
    load_weights(head, {name: tensor.to(torch.float32) for name, tensor in state.items()}, where=where)
    return head.eval().requires_grad_(False)


def new_reward_head(width: int, *, seed: int) -> nn.Sequential:
    """The same head, untrained, at HPSv3's widths: width-1024-16-2."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _reward_layers(width, 1024, 16, 2, dropout=HPSV3_DROPOUT)


def _reward_layers(width: int, first: int, second: int, last: int, *, dropout: float) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, first), nn.ReLU(), nn.Dropout(dropout),
        nn.Linear(first, second), nn.ReLU(),
        nn.Linear(second, last),
    )  # fmt: skip


# -- quality -----------------------------------------------------------------------------------------------------------

REWARD = "<|Reward|>"
"""The special token at whose place the head reads."""


class Quality(NamedTuple):
    """What a network says of each picture: normal, with this mean and log standard deviation."""

    mu: Tensor
    log_sigma: Tensor


def read_quality(vlm: Any, head: nn.Module, token: int, inputs: dict[str, Tensor], positions: Positions) -> Quality:
    """(pictures,) mu and log sigma; `vlm` is a network without its output layer, `token` the special token's id."""
    extra_inputs = {"position_ids": flat_positions(inputs["input_ids"])} if positions == "flat" else {}
    hidden = vlm(**inputs, **extra_inputs).last_hidden_state
    token_states = hidden[inputs["input_ids"] == token]  # one row for each picture
    with torch.autocast(token_states.device.type, enabled=False):  # 8 bits are too few for a score
        mu, log_sigma = head(token_states.to(next(head.parameters()).dtype)).unbind(-1)
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
