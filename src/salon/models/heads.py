"""Small heads that released scorers put on a large network's features."""

from __future__ import annotations

from itertools import pairwise

from salon.errors import BadFile, MissingExtra
from salon.models.weights import State, load_all

try:
    import torch
    from torch import nn
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
    load_all(stack, renumbered, where=where)
    return stack.eval().requires_grad_(False)


def reward_head(state: State, *, where: str) -> nn.Sequential:
    """HPSv3's head: three layers with ReLU between them, from the hidden state to (mu, log sigma)."""
    missing = [place for place in _PLACES if f"{place}.weight" not in state]
    if missing:
        raise BadFile("a head of rm_head.0, .3 and .5 is needed", found=", ".join(state)[:200], where=where)
    outward = [state[f"{place}.weight"].shape[0] for place in _PLACES]
    head = _reward_layers(state["0.weight"].shape[1], *outward, dropout=HPSV3_DROPOUT)
    load_all(head, {name: tensor.to(torch.float32) for name, tensor in state.items()}, where=where)
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
