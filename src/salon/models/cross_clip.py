"""MPS: CLIP's patches look at those words of the prompt that a condition lets through.

The names of modules are those of the released weights. Layers are pairs of a cross-attention to the words and a
self-attention with rotary positions, both with one key and value for all heads and a gated feed-forward beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from salon.errors import BadFile, MissingExtra
from salon.models.clip import Clip
from salon.models.peers import PEERS
from salon.models.prepared_network import PreparedNetwork
from salon.models.weights import MissingWeights, State, first_there, from_hub, load_all, read_state

try:
    import torch
    from torch import nn
    from torch.nn.functional import layer_norm, normalize, silu
    from transformers import CLIPConfig, CLIPModel
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

WEIGHTS = ("MPS_overall.safetensors", "MPS_overall.pt")
LET_THROUGH = 0.3
"""Words less similar to the condition than this share of the most similar one are hidden."""


class CrossClip(PreparedNetwork):
    """MPS from a folder with its weights, CLIP's config, tokenizer and processor, and condition.txt."""

    def __init__(self, folder: Path, *, device: str | None = None) -> None:
        weights = first_there(folder, WEIGHTS, of="MPS")
        state = read_state(weights)
        condition = _condition(first_there(folder, ["condition.txt"], of="MPS"))
        _require_names(state, str(weights))
        first_there(folder, ["config.json"], of="MPS")
        network = CLIPModel(from_hub(CLIPConfig.from_pretrained, folder, what="CLIP's config"))
        load_all(network, _under(state, "model."), where=str(weights))
        self._clip = Clip(network, folder, PEERS["mps"], device=device)
        self.rule, self.side, self.device = self._clip.rule, self._clip.side, self._clip.device
        self._cross = cross_layers(_under(state, "cross_model."), where=str(weights)).to(self.device)
        with torch.no_grad():
            self._condition = self._words([condition])[0]

    def numbers(self, pixels: torch.Tensor, texts: Sequence[str]) -> torch.Tensor:
        """One logit for each picture and its prompt."""
        network = self._clip.network
        words, whole = self._words(texts)
        patches = network.visual_projection(network.vision_model(pixels).last_hidden_state)
        looked = self._cross(patches, words, self._hidden(words))[:, 0]
        return self._clip.scale * (normalize(looked, dim=-1) * normalize(whole, dim=-1)).sum(-1)

    def _words(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Every token of each text in the shared space, and each text as a whole."""
        network = self._clip.network
        read = network.text_model(input_ids=self._clip.tokens(texts)["input_ids"])
        return network.text_projection(read.last_hidden_state), network.text_projection(read.pooler_output)

    def _hidden(self, words: torch.Tensor) -> torch.Tensor:
        """0 for words let through and minus infinity for the others (texts, 1, words)."""
        alike = (words @ self._condition[0].T).amax(dim=2)
        through = alike / alike.amax(dim=1, keepdim=True) > LET_THROUGH
        return torch.where(through, 0.0, -torch.inf)[:, None]


def _condition(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError as error:
        raise BadFile("MPS's condition is needed, as text in UTF-8", found=str(error), where=str(path)) from None
    if not text:
        raise BadFile("MPS's condition is needed: the words it was trained with", found="no words", where=str(path))
    return text


def _require_names(state: State, where: str) -> None:
    needed = ("model.", "cross_model.layers.0.0.fn.to_q.", "cross_model.layers.0.0.fn.to_kv.")
    missing = [prefix for prefix in needed if not any(name.startswith(prefix) for name in state)]
    spare = [name for name in state if not name.startswith(("model.", "cross_model."))]
    if missing or spare:
        told = [f"none with {', '.join(missing)}"] if missing else []
        told += [f"{len(spare)} left over ({', '.join(spare[:3])})"] if spare else []
        raise MissingWeights(
            f"MPS's weights are needed, with names that begin with {', '.join(needed)}",
            found="; ".join(told),
            where=where,
        )


def _under(state: State, prefix: str) -> State:
    return {name.removeprefix(prefix): tensor.float() for name, tensor in state.items() if name.startswith(prefix)}


def cross_layers(state: State, *, where: str) -> CrossLayers:
    """The layers with the sizes of their weights."""
    depth = 1 + max((int(name.split(".")[1]) for name in state if name.startswith("layers.")), default=-1)
    first = "layers.0.0.fn."
    head = state[f"{first}to_kv.weight"].shape[0] // 2 if depth else 0
    heads = state[f"{first}to_q.weight"].shape[0] // head if depth else 0
    dim = state[f"{first}to_q.weight"].shape[1] if depth else 0
    layers = CrossLayers(dim, depth, head, heads)
    load_all(layers, {name: tensor for name, tensor in state.items() if "rotary_emb" not in name}, where=where)
    return layers.eval().requires_grad_(False)


class CrossLayers(nn.Module):
    """Pairs of looking at the words and at each other."""

    def __init__(self, dim: int, depth: int, head: int, heads: int) -> None:
        super().__init__()
        pairs = ((Added(Looking(dim, head, heads)), Added(Minding(dim, head, heads))) for _ in range(depth))
        self.layers = nn.ModuleList(nn.ModuleList(pair) for pair in pairs)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Patches (b, n, d) after looking at words (b, m, d)."""
        for layer in self.layers:
            assert isinstance(layer, nn.ModuleList)
            looking, minding = layer
            patches = minding(looking(patches, words, hidden))
        return patches


class Added(nn.Module):
    """A module whose output is added to its input."""

    def __init__(self, fn: nn.Module) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: torch.Tensor, *others: torch.Tensor) -> torch.Tensor:
        """x + fn(x, ...)."""
        values: torch.Tensor = x + self.fn(x, *others)
        return values


class Norm(nn.Module):
    """Layer norm whose bias is kept but never learned."""

    bias: torch.Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.register_buffer("bias", torch.zeros(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalised over the last axis."""
        return layer_norm(x, x.shape[-1:], self.weight, self.bias)


class Gate(nn.Module):
    """One half of the input, let through by the other."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x1 silu(x2)."""
        value, gate = x.chunk(2, dim=-1)
        return silu(gate) * value


class Looking(nn.Module):
    """Attention of patches to words, a feed-forward beside it."""

    def __init__(self, dim: int, head: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head = heads, head
        self.norm = Norm(dim)
        self.to_q = nn.Linear(dim, head * heads, bias=False)
        self.to_kv = nn.Linear(dim, 2 * head, bias=False)
        self.to_out = nn.Linear(head * heads, dim, bias=False)
        self.ff = nn.Sequential(nn.Linear(dim, 8 * dim, bias=False), Gate(), nn.Linear(4 * dim, dim, bias=False))

    def forward(self, x: torch.Tensor, words: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """What the patches take from the words."""
        x = self.norm(x)
        q = _heads(self.to_q(x), self.heads)
        k, v = self.to_kv(words).chunk(2, dim=-1)
        values: torch.Tensor = self.to_out(_attend(q, k, v, hidden[:, None])) + self.ff(x)
        return values


class Minding(nn.Module):
    """Attention of patches to each other, with rotary positions, a feed-forward beside it."""

    def __init__(self, dim: int, head: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head = heads, head
        self.norm = Norm(dim)
        self.widths = (head * heads, head, head, 8 * dim)
        self.fused_attn_ff_proj = nn.Linear(dim, sum(self.widths), bias=False)
        self.attn_out = nn.Linear(head * heads, dim, bias=False)
        self.ff_out = nn.Sequential(Gate(), nn.Linear(4 * dim, dim, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the patches take from each other."""
        q, k, v, ff = self.fused_attn_ff_proj(self.norm(x)).split(self.widths, dim=-1)
        q, k = _turned(_heads(q, self.heads)), _turned(k)
        values: torch.Tensor = self.attn_out(_attend(q, k, v)) + self.ff_out(ff)
        return values


def _heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    values: torch.Tensor = x.unflatten(-1, (heads, -1)).transpose(1, 2)
    return values


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, hidden: torch.Tensor | None = None) -> torch.Tensor:
    """Heads share one key and value; (b, h, n, e) queries give (b, n, h e)."""
    alike = torch.einsum("bhie,bje->bhij", q * q.shape[-1] ** -0.5, k)
    weights = (alike if hidden is None else alike + hidden).softmax(dim=-1)
    return torch.einsum("bhij,bje->bhie", weights, v).transpose(1, 2).flatten(2)


def _turned(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions along the axis before the last."""
    places, width = x.shape[-2], x.shape[-1]
    speeds = 10_000 ** -(torch.arange(0, width, 2, device=x.device).float() / width)
    angles = torch.outer(torch.arange(places, device=x.device).float(), speeds).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()
