"""Small heads that released scorers put on a large network's features."""

from __future__ import annotations

from salon.errors import BadFile, MissingExtra
from salon.models.weights import State, load_all

try:
    import torch
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None


def linear_stack(state: State, *, where: str) -> nn.Sequential:
    """Linear layers one after the other, without anything between: LAION's aesthetic head, and ImageReward's.

    Their dropout does nothing once trained, so `layers.0, 2, 4, 6, 7` are five layers in a row.
    """
    places = sorted({int(name.split(".")[1]) for name in state if name.startswith("layers.")})
    if not places:
        raise BadFile(
            "a head of layers.N.weight and layers.N.bias is needed", found=", ".join(state)[:200], where=where
        )
    shapes = [state[f"layers.{place}.weight"].shape for place in places]
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
    places = (0, 3, 5)
    missing = [place for place in places if f"{place}.weight" not in state]
    if missing:
        raise BadFile("a head of rm_head.0, .3 and .5 is needed", found=", ".join(state)[:200], where=where)
    first, second, last = (nn.Linear(*reversed(state[f"{place}.weight"].shape)) for place in places)
    head = nn.Sequential(first, nn.ReLU(), nn.Dropout(0.05), second, nn.ReLU(), last)
    load_all(head, {name: tensor.to(torch.float32) for name, tensor in state.items()}, where=where)
    return head.eval().requires_grad_(False)
