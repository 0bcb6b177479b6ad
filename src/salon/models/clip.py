"""CLIP on current transformers, and the released scorers built on it: CLIP score, PickScore, HPSv2.1, LAION, MPS.

Weights come from a folder in the hub's layout, or from open_clip's weights beside such a folder. Pictures and texts are
prepared by the rules in `peers`, not by transformers' processors, which change with the installed backend.

open_clip's SimpleTokenizer (hpsv2 1.2.0, src/open_clip/tokenizer.py) has the vocabulary and pairs of transformers' CLIP
tokenizer, but repairs mojibake, unescapes HTML and knows other special tokens; `OpenClipTokenizer` does the same.

In MPS, CLIP's patches attend to those words of the prompt that a condition lets through. Its modules have the names of
the released weights. Layers are pairs of a cross-attention to the words and a self-attention with rotary positions,
both with one key and value for all heads and a gated feed-forward beside them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from PIL import Image

from salon.errors import BadFile, MissingExtra
from salon.models.cache import package_version
from salon.models.peers import PEERS, Peer
from salon.models.preprocessing import PreparedNetwork, folder_rule, prepare_pictures
from salon.models.reward_heads import linear_stack
from salon.models.weights import (
    MissingWeights,
    State,
    best_device,
    check_vocabulary,
    find_file,
    load_from_hub,
    load_network,
    load_weights,
    read_state,
)

try:
    import ftfy
    import regex
    import torch
    from torch import Tensor, nn
    from torch.nn.functional import layer_norm, normalize, silu
    from transformers import AutoConfig, AutoImageProcessor, AutoTokenizer, CLIPConfig, CLIPModel
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

BACKEND = f"transformers {package_version('transformers')}, pillow {package_version('pillow')}"


class Clip:
    """Pictures and texts in one space, each row of length 1."""

    def __init__(self, network: CLIPModel, folder: str | Path, peer: Peer, *, device: str | None = None) -> None:
        self.device = device or best_device()
        self.network = network.eval().requires_grad_(False).to(self.device)
        eyes, reader = network.vision_model.config, network.text_model.config
        self.rule, self.side = peer.pictures, int(eyes.image_size)
        if peer.name in _BY_FOLDER:
            processor = load_from_hub(AutoImageProcessor.from_pretrained, folder, what="CLIP's picture processor")
            self.rule, side = folder_rule(peer.pictures, processor, where=str(folder))
            if side != self.side:
                raise BadFile(
                    f"pictures of {self.side} x {self.side} pixels are needed by the network",
                    found=f"{side} x {side} in preprocessor_config.json",
                    where=str(folder),
                )
        self._tokenizer = load_from_hub(AutoTokenizer.from_pretrained, folder, what="CLIP's tokenizer")
        check_vocabulary(self._tokenizer, int(reader.vocab_size), where=str(folder))
        self._open_clip = None
        if peer.texts is not None and peer.texts.tokenizer == "open_clip":
            self._open_clip = OpenClipTokenizer(self._tokenizer, where=str(folder))

    @classmethod
    def load(cls, folder: str | Path, peer: Peer, **options: Any) -> Clip:
        """From a folder in the hub's layout, or a hub name."""
        config = load_from_hub(AutoConfig.from_pretrained, folder, what="a CLIP")
        if not isinstance(config, CLIPConfig):
            raise BadFile("a CLIP is needed", found=f"a model of type {config.model_type!r}", where=str(folder))
        network = load_network(CLIPModel.from_pretrained, folder, what="a CLIP", exact=True, dtype=torch.float32)
        return cls(network, folder, peer, **options)

    @classmethod
    def load_open_clip(cls, weights: Path, folder: Path, peer: Peer, **options: Any) -> Clip:
        """From open_clip's weights; `folder` holds config and tokenizer of the same network."""
        find_file(folder, ["config.json"], of="HPSv2.1")
        config = load_from_hub(CLIPConfig.from_pretrained, folder, what="CLIP's config")
        config.text_config.eos_token_id = 2  # transformers then reads a text at its largest id, as open_clip does
        network = CLIPModel(config)
        load_weights(network, from_open_clip(read_state(weights)), where=str(weights))
        return cls(network, folder, peer, **options)

    @property
    def scale(self) -> float:
        """What a cosine is multiplied with to be a logit."""
        return float(self.network.logit_scale.detach().exp())

    def embed_pixels(self, pixels: Tensor) -> Tensor:
        """Prepared pictures in the shared space."""
        return normalize(self.network.get_image_features(pixel_values=pixels).pooler_output, dim=-1)

    def embed_texts(self, texts: Sequence[str]) -> Tensor:
        """Texts in the shared space; what is longer than the network can read is cut."""
        return normalize(self.network.get_text_features(**self.tokens(texts)).pooler_output, dim=-1)

    def pixels(self, images: Sequence[Image.Image]) -> Tensor:
        """The pictures as the network takes them."""
        return prepare_pictures(images, self.rule, self.side).to(self.device)

    def tokens(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """The texts as the network takes them, padded to its full length as it was trained."""
        longest = self.network.config.text_config.max_position_embeddings
        if self._open_clip is not None:  # zeros after the end are never looked at: attention only looks back
            return {"input_ids": torch.tensor(self._open_clip.batch(texts, longest), device=self.device)}
        read = self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=longest, return_tensors="pt"
        )
        return {name: read[name].to(self.device) for name in ("input_ids", "attention_mask")}


_BY_FOLDER = ("clip", "pickscore", "mps")
"""Scorers whose code asks the folder's own processor for sizes, mean and sd; the others have them fixed."""


class ClipCosine(PreparedNetwork):
    """exp(logit scale) times the cosine of a picture and its text; or 100 times the cosine where that is positive."""

    def __init__(self, clip: Clip, *, as_clip_score: bool = False) -> None:
        self.clip, self.rule, self.side, self.device = clip, clip.rule, clip.side, clip.device
        self._as_clip_score = as_clip_score

    def numbers(self, pixels: Tensor, texts: Sequence[str]) -> Tensor:
        """(pictures,)."""
        cosines = (self.clip.embed_pixels(pixels) * self.clip.embed_texts(texts)).sum(-1)
        return 100 * cosines.clamp(min=0) if self._as_clip_score else self.clip.scale * cosines


class ClipHead(PreparedNetwork):
    """A head on the picture side of a CLIP; texts are not read."""

    def __init__(self, clip: Clip, head: nn.Module) -> None:
        self.clip, self.rule, self.side, self.device = clip, clip.rule, clip.side, clip.device
        self._head = head.to(clip.device)

    @classmethod
    def load(cls, folder: Path, weights: Path, *, device: str | None = None) -> ClipHead:
        """LAION's aesthetic predictor: a CLIP in the hub's layout, and its head beside it."""
        clip = Clip.load(folder, PEERS["laion"], device=device)
        head = linear_stack(read_state(weights), where=str(weights))
        width = clip.network.config.projection_dim
        if head[0].in_features != width or head[-1].out_features != 1:
            raise BadFile(
                f"a head from {width} features to one number is needed",
                found=f"{head[0].in_features} to {head[-1].out_features}",
                where=str(weights),
            )
        return cls(clip, head)

    def numbers(self, pixels: Tensor, texts: Sequence[str]) -> Tensor:
        """(pictures,)."""
        values: Tensor = self._head(self.clip.embed_pixels(pixels)).squeeze(-1)
        return values


# -- open_clip's names -----------------------------------------------------------------------------------------------

_NAMES = {
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "visual.conv1.weight": "vision_model.embeddings.patch_embedding.weight",
    "visual.ln_pre": "vision_model.pre_layrnorm",
    "visual.ln_post": "vision_model.post_layernorm",
    "visual.proj": "visual_projection.weight",
    "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
    "ln_final": "text_model.final_layer_norm",
    "text_projection": "text_projection.weight",
    "logit_scale": "logit_scale",
}
_TRANSPOSED = {"visual.proj", "text_projection"}
_INSIDE = {"ln_1": "layer_norm1", "ln_2": "layer_norm2", "mlp.c_fc": "mlp.fc1", "mlp.c_proj": "mlp.fc2",
           "attn.out_proj": "self_attn.out_proj"}  # fmt: skip
_BLOCK = re.compile(r"^(visual\.)?transformer\.resblocks\.(\d+)\.(.+)$")


def from_open_clip(state: State) -> State:
    """open_clip's tensors under the names that transformers gives them; queries, keys and values taken apart."""
    renamed: State = {}
    for name, tensor in state.items():
        if name == "attn_mask":
            continue
        if block := _BLOCK.match(name):
            tower = "vision_model" if block[1] else "text_model"
            renamed |= _block_tensors(f"{tower}.encoder.layers.{block[2]}", block[3], tensor)
        else:
            renamed[_renamed(name)] = tensor.T.contiguous() if name in _TRANSPOSED else tensor
    return renamed


def _block_tensors(place: str, inner: str, tensor: torch.Tensor) -> State:
    if inner.startswith("attn.in_proj_"):
        kind = inner.removeprefix("attn.in_proj_")
        parts = zip("qkv", tensor.chunk(3), strict=True)
        return {f"{place}.self_attn.{letter}_proj.{kind}": part.contiguous() for letter, part in parts}
    module, _, kind = inner.rpartition(".")
    return {f"{place}.{_INSIDE.get(module, module)}.{kind}": tensor}


def _renamed(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    module, _, kind = name.rpartition(".")
    return f"{_NAMES[module]}.{kind}" if module in _NAMES else name


# -- texts as open_clip reads them -------------------------------------------------------------------------------------

_STARTS, _ENDS = "<start_of_text>", "<end_of_text>"
_WORDS = regex.compile(
    rf"{_STARTS}|{_ENDS}|'s|'t|'re|'ve|'m|'ll|'d|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+", regex.IGNORECASE
)


def clean_text(text: str) -> str:
    """Broken encodings mended, HTML unescaped twice, white space in single spaces, lower case."""
    mended = html.unescape(html.unescape(ftfy.fix_text(text))).strip()
    return str(regex.sub(r"\s+", " ", mended).strip().lower())


class OpenClipTokenizer:
    """Token ids by the vocabulary and the pairs of a CLIP tokenizer of transformers."""

    def __init__(self, tokenizer: Any, *, where: str) -> None:
        self._model = tokenizer.backend_tokenizer.model
        self._ends = {_STARTS: tokenizer.bos_token_id, _ENDS: tokenizer.eos_token_id}
        if None in self._ends.values() or not self._model.tokenize("a"):
            raise BadFile(
                "a CLIP tokenizer with a token for the start and one for the end is needed",
                found=type(tokenizer).__name__,
                where=where,
            )

    def ids(self, text: str, longest: int) -> list[int]:
        """At most `longest` ids, those of the start and the end included."""
        ids = [self._ends[_STARTS]]
        for word in _WORDS.findall(clean_text(text)):
            if word in self._ends:
                ids.append(self._ends[word])
            else:
                letters = _letters()
                as_letters = "".join(letters[byte] for byte in word.encode("utf-8", "replace"))
                ids += (token.id for token in self._model.tokenize(as_letters))
        return [*ids[: longest - 1], self._ends[_ENDS]]

    def batch(self, texts: Sequence[str], longest: int) -> list[list[int]]:
        """One row for each text, filled up with zeros after its end."""
        rows = [self.ids(text, longest) for text in texts]
        return [row + [0] * (longest - len(row)) for row in rows]


@cache
def _letters() -> list[str]:
    """A visible letter for each byte: itself where it is visible, else one past 255, in order."""
    visible = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    invisible = iter(range(256, 512))
    return [chr(byte) if byte in visible else chr(next(invisible)) for byte in range(256)]


# -- MPS ---------------------------------------------------------------------------------------------------------------

MPS_WEIGHTS = ("MPS_overall.safetensors", "MPS_overall.pt")
LET_THROUGH = 0.3
"""Words less similar to the condition than this share of the most similar one are hidden."""


class CrossClip(PreparedNetwork):
    """MPS from a folder with its weights, CLIP's config, tokenizer and processor, and condition.txt."""

    def __init__(self, folder: Path, *, device: str | None = None) -> None:
        weights = find_file(folder, MPS_WEIGHTS, of="MPS")
        state = read_state(weights)
        path = find_file(folder, ["condition.txt"], of="MPS")
        try:
            text = path.read_text(encoding="utf-8").strip()
        except UnicodeDecodeError as error:
            raise BadFile("MPS's condition is needed, as text in UTF-8", found=str(error), where=str(path)) from None
        if not text:
            raise BadFile("MPS's condition is needed: the words it was trained with", found="no words", where=str(path))
        condition = text
        where = str(weights)
        needed = ("model.", "cross_model.layers.0.0.fn.to_q.", "cross_model.layers.0.0.fn.to_kv.")
        missing = [prefix for prefix in needed if not any(name.startswith(prefix) for name in state)]
        spare = [name for name in state if not name.startswith(("model.", "cross_model."))]
        if missing or spare:
            problems = [f"none with {', '.join(missing)}"] if missing else []
            problems += [f"{len(spare)} left over ({', '.join(spare[:3])})"] if spare else []
            raise MissingWeights(
                f"MPS's weights are needed, with names that begin with {', '.join(needed)}",
                found="; ".join(problems),
                where=where,
            )
        find_file(folder, ["config.json"], of="MPS")
        network = CLIPModel(load_from_hub(CLIPConfig.from_pretrained, folder, what="CLIP's config"))
        load_weights(network, _under(state, "model."), where=str(weights))
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
    load_weights(layers, {name: tensor for name, tensor in state.items() if "rotary_emb" not in name}, where=where)
    return layers.eval().requires_grad_(False)


class CrossLayers(nn.Module):
    """Pairs of looking at the words and at each other."""

    def __init__(self, dim: int, depth: int, head: int, heads: int) -> None:
        super().__init__()
        pairs = (
            (Residual(CrossAttention(dim, head, heads)), Residual(SelfAttention(dim, head, heads)))
            for _ in range(depth)
        )
        self.layers = nn.ModuleList(nn.ModuleList(pair) for pair in pairs)

    def forward(self, patches: torch.Tensor, words: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """Patches (b, n, d) after looking at words (b, m, d)."""
        for layer in self.layers:
            assert isinstance(layer, nn.ModuleList)
            looking, minding = layer
            patches = minding(looking(patches, words, hidden))
        return patches


class Residual(nn.Module):
    """A module whose output is added to its input."""

    def __init__(self, fn: nn.Module) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: torch.Tensor, *context: torch.Tensor) -> torch.Tensor:
        """x + fn(x, ...)."""
        values: torch.Tensor = x + self.fn(x, *context)
        return values


class FixedBiasNorm(nn.Module):
    """Layer norm whose bias is kept but never learned."""

    bias: torch.Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.register_buffer("bias", torch.zeros(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalised over the last axis."""
        return layer_norm(x, x.shape[-1:], self.weight, self.bias)


class SwiGlu(nn.Module):
    """One half of the input, let through by the other."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x1 silu(x2)."""
        value, gate = x.chunk(2, dim=-1)
        return silu(gate) * value


class CrossAttention(nn.Module):
    """Attention of patches to words, a feed-forward beside it."""

    def __init__(self, dim: int, head: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head = heads, head
        self.norm = FixedBiasNorm(dim)
        self.to_q = nn.Linear(dim, head * heads, bias=False)
        self.to_kv = nn.Linear(dim, 2 * head, bias=False)
        self.to_out = nn.Linear(head * heads, dim, bias=False)
        self.ff = nn.Sequential(nn.Linear(dim, 8 * dim, bias=False), SwiGlu(), nn.Linear(4 * dim, dim, bias=False))

    def forward(self, x: torch.Tensor, words: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        """What the patches take from the words."""
        x = self.norm(x)
        q = _split_heads(self.to_q(x), self.heads)
        k, v = self.to_kv(words).chunk(2, dim=-1)
        values: torch.Tensor = self.to_out(_attend(q, k, v, hidden[:, None])) + self.ff(x)
        return values


class SelfAttention(nn.Module):
    """Attention of patches to each other, with rotary positions, a feed-forward beside it."""

    def __init__(self, dim: int, head: int, heads: int) -> None:
        super().__init__()
        self.heads, self.head = heads, head
        self.norm = FixedBiasNorm(dim)
        self.widths = (head * heads, head, head, 8 * dim)
        self.fused_attn_ff_proj = nn.Linear(dim, sum(self.widths), bias=False)
        self.attn_out = nn.Linear(head * heads, dim, bias=False)
        self.ff_out = nn.Sequential(SwiGlu(), nn.Linear(4 * dim, dim, bias=False))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What the patches take from each other."""
        q, k, v, ff = self.fused_attn_ff_proj(self.norm(x)).split(self.widths, dim=-1)
        q, k = _rotate(_split_heads(q, self.heads)), _rotate(k)
        values: torch.Tensor = self.attn_out(_attend(q, k, v)) + self.ff_out(ff)
        return values


def _split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    values: torch.Tensor = x.unflatten(-1, (heads, -1)).transpose(1, 2)
    return values


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, hidden: torch.Tensor | None = None) -> torch.Tensor:
    """Heads share one key and value; (b, h, n, e) queries give (b, n, h e)."""
    alike = torch.einsum("bhie,bje->bhij", q * q.shape[-1] ** -0.5, k)
    weights = (alike if hidden is None else alike + hidden).softmax(dim=-1)
    return torch.einsum("bhij,bje->bhie", weights, v).transpose(1, 2).flatten(2)


def _rotate(x: torch.Tensor) -> torch.Tensor:
    """Rotary positions along the axis before the last."""
    places, width = x.shape[-2], x.shape[-1]
    speeds = 10_000 ** -(torch.arange(0, width, 2, device=x.device).float() / width)
    angles = torch.outer(torch.arange(places, device=x.device).float(), speeds).repeat(1, 2)
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()
