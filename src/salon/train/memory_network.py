"""A VLM without its weights, and how many bytes it keeps between its forward and its backward pass.

The network is the real one of transformers on torch's meta device, from its config alone: parameters can be counted,
and adapters added, without reading a weight. A few well-known shapes are known by name.

Activations are counted by formula (docs/methods/memory.md): what autograd saves, each storage once, that is the inputs
of linear layers, norms, activation functions and attention. Attention is SDPA or flash: queries, keys, values, its
output and one log-sum for each head, never the (length x length) weights. Not counted are the words of an output layer
(no reward needs them), temporary results inside one operation, and what the allocator loses between its blocks.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from salon.errors import MissingExtra, UnknownReference
from salon.models import BACKBONE, HPSV3_WEIGHTS, REWARD, RewardNetwork, new_reward_head

try:
    import torch
    from torch import nn
    from transformers import AutoConfig, AutoModelForImageTextToText, AutoTokenizer
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

_QWEN2_VISION = {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "patch_size": 14}
_QWEN3_LARGE_VISION = {
    "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "patch_size": 16,
    "num_position_embeddings": 2304, "deepstack_visual_indexes": [8, 16, 24],
}  # fmt: skip


def _text(
    width: int, inner: int, layers: int, heads: int, kv_heads: int, vocabulary: int, **more: Any
) -> dict[str, Any]:
    return {
        "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "vocab_size": vocabulary, **more,
    }  # fmt: skip


SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen2-vl-7b": (
        "config.json of Qwen/Qwen2-VL-7B-Instruct on huggingface.co",
        {
            "model_type": "qwen2_vl",
            "text_config": _text(3584, 18944, 28, 28, 4, 152064, tie_word_embeddings=False),
            "vision_config": {**_QWEN2_VISION, "hidden_size": 3584},
            "tie_word_embeddings": False,
        },
    ),
    "qwen3-vl-8b": (
        "config.json of Qwen/Qwen3-VL-8B-Instruct on huggingface.co",
        {
            "model_type": "qwen3_vl",
            "text_config": _text(4096, 12288, 36, 32, 8, 151936, head_dim=128, tie_word_embeddings=False),
            "vision_config": {**_QWEN3_LARGE_VISION, "out_hidden_size": 4096},
            "tie_word_embeddings": False,
        },
    ),
}
"""Shapes by name: where their values are from, and the values. All are saved in bfloat16."""


@dataclass(frozen=True)
class Backbone:
    """What a training starts from, without its weights."""

    name: str
    config: Any
    dtype: torch.dtype
    """Of the saved weights, which those that are not trained keep."""
    vocabulary: int
    """Rows that the tokenizer needs, with the special token; 0 where there is no tokenizer to ask."""
    source: str
    """Where the shape is from."""

    def vlm(self, dtype: torch.dtype | None = None) -> Any:
        """The VLM on the meta device."""
        with torch.device("meta"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return AutoModelForImageTextToText.from_config(self.config, dtype=dtype or self.dtype)

    def reward_network(self, dtype: torch.dtype | None = None) -> RewardNetwork:
        """The VLM with HPSv3's head, as `open_parts` makes it."""
        vlm = self.vlm(dtype)
        table = vlm.get_input_embeddings().weight
        if self.vocabulary > table.shape[0]:
            with torch.device("meta"):
                vlm.resize_token_embeddings(self.vocabulary, mean_resizing=False)
        with torch.device("meta"):
            head = new_reward_head(table.shape[1], seed=0)
        return RewardNetwork(vlm, head, token=0)


def open_backbone(source: str | Path) -> Backbone:
    """The backbone in a folder or under a known name; UnknownReference where it is neither."""
    folder = Path(source)
    if (folder / BACKBONE).is_dir():
        folder = folder / BACKBONE
    if (folder / "config.json").is_file():
        config = AutoConfig.from_pretrained(folder)
        try:
            tokenizer = AutoTokenizer.from_pretrained(folder)
            vocabulary = len(tokenizer) + (REWARD not in tokenizer.get_vocab())
        except (OSError, ValueError, KeyError):  # a plan needs no tokenizer; real ones leave spare rows
            vocabulary = 0
        return Backbone(str(source), config, config.dtype or torch.float32, vocabulary, str(folder))
    if any((folder / name).is_file() for name in HPSV3_WEIGHTS):  # HPSv3, whose release has no config
        return _backbone_of_shape("qwen2-vl-7b", str(source))
    name = folder.name.lower().removesuffix("-instruct")
    if name in SHAPES and not folder.exists():
        return _backbone_of_shape(name, name)
    raise UnknownReference(
        "a backbone with its config.json is needed",
        found="no such file" if folder.is_dir() else "no such folder",
        where=str(source),
        remedy=f"give its folder, or one of these shapes: {', '.join(SHAPES)}",
    )


def _backbone_of_shape(shape: str, name: str) -> Backbone:
    source, values = SHAPES[shape]
    config = AutoConfig.for_model(**json.loads(json.dumps(values)))
    return Backbone(name, config, torch.bfloat16, 0, source)


def sharded_blocks(network: nn.Module) -> list[nn.Module]:
    """The layers of the language model and the blocks of the vision encoder: what is sharded as one unit."""
    names = set(getattr(network, "_no_split_modules", None) or ())
    return [module for module in network.modules() if type(module).__name__ in names]


def product_weights(network: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Weights of matrix products by name: those that autocast copies into bfloat16."""
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear | nn.Conv3d):
            yield f"{name}.weight", module.weight


# -- activations -------------------------------------------------------------------------------------------------------

Gradient = Literal["weights", "adapters", "through", "none"]
"""What a part of the network takes part in: its weights learn, its adapters learn, it only passes gradients on to a
part before it, or nothing of it is needed for any gradient."""

FAMILIES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")
"""Kinds of VLM, by transformers' model_type, whose layers are written down here."""
FLOAT = 4


@dataclass(frozen=True)
class NumberSizes:
    """Bytes of a number."""

    compute: int
    """In matrix products: 4, or 2 under bfloat16."""
    stream: int
    """Between the layers of the language model: 4, or 2 where its embeddings are bfloat16."""
    picture_stream: int
    """Between the layers of the vision encoder."""
    layer_norm: int
    """In a layer norm's input: on a GPU autocast computes it in float32, on a CPU as it comes."""
    autocast: bool = False
    """Whether weights are float32 and cast for each product, with what they are multiplied with."""


@dataclass(frozen=True)
class Decoder:
    """The language model."""

    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    head_width: int
    normed_heads: bool
    """Whether queries and keys pass a norm of their own, as in Qwen3."""

    @property
    def cache_per_token(self) -> int:
        """Numbers that generation keeps for one token: keys and values of all layers."""
        return 2 * self.layers * self.kv_heads * self.head_width

    def layer_bytes(self, gradient: Gradient, numbers: NumberSizes, rank: int) -> int:
        """Bytes that one layer keeps for each token."""
        if gradient == "none":
            return 0
        b, d, f, wide = numbers.compute, self.width, self.inner, self.heads * self.head_width
        learns, cast = gradient in ("weights", "adapters"), numbers.autocast
        norms = 2 * _rms_norm(d, 1, gradient, FLOAT)
        if self.normed_heads:
            norms += _rms_norm(wide, self.heads, gradient, b)
            norms += _rms_norm(self.kv_heads * self.head_width, self.kv_heads, gradient, b)
        attention = 4 * wide * b + FLOAT * self.heads  # queries, keys, values (keys and values once a head), output
        inner = 3 * f * b  # gate before and after its function, and what it is multiplied with
        linear = 0
        if learns:  # autocast casts the same input again for each of the layers that read it
            linear += (3 if cast else 1) * d * b + (2 if cast else 1) * d * b + f * b
        if gradient == "adapters":
            linear += 7 * rank * b + (wide * b if cast else 0)
        return norms + attention + inner + linear


@dataclass(frozen=True)
class Tower:
    """The vision encoder."""

    family: str
    layers: int
    width: int
    inner: int
    heads: int
    patch: int
    merge: int
    patch_numbers: int
    """Numbers of one patch on the way in: channels x frames x patch x patch."""
    mergers: int
    """Layers that merge patches into tokens: one, and Qwen3's deep ones."""

    def patches(self, pixels: int) -> int:
        """Patches of a picture that is brought to at most `pixels`."""
        side = self.patch * self.merge
        return max(1, pixels // side**2) * self.merge**2

    def tokens(self, pixels: int) -> int:
        """What the language model reads of such a picture."""
        return self.patches(pixels) // self.merge**2

    def block_bytes(self, gradient: Gradient, numbers: NumberSizes, rank: int) -> int:
        """Bytes that one block keeps for each patch."""
        if gradient == "none":
            return 0
        b, e, i = numbers.compute, self.width, self.inner
        learns = gradient in ("weights", "adapters")
        gated = self.family == "qwen2_5_vl"
        norms = 2 * (_rms_norm(e, 1, gradient, b) if gated else e * numbers.layer_norm + 2 * FLOAT)
        attention = 6 * e * b + FLOAT * self.heads  # q and k turned, all of q, k, v before (v is a view), the output
        inner = {"qwen2_vl": 2, "qwen2_5_vl": 3, "qwen3_vl": 1}[self.family] * i * b
        linear = 0
        if learns:
            linear += (3 + (gated and numbers.autocast)) * e * b + i * b
        if gradient == "adapters":
            linear += (5 if gated else 4) * rank * b
        return norms + attention + inner + linear


@dataclass(frozen=True)
class VlmShape:
    """The sizes that memory follows from."""

    decoder: Decoder
    tower: Tower

    @classmethod
    def of(cls, config: Any) -> VlmShape | None:
        """The shape that a transformers config describes; None for a VLM of another kind."""
        family = config.model_type
        if family not in FAMILIES:
            return None
        text, vision = config.get_text_config(), config.vision_config
        head = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
        decoder = Decoder(
            text.num_hidden_layers, text.hidden_size, text.intermediate_size, text.num_attention_heads,
            text.num_key_value_heads, head, normed_heads=family == "qwen3_vl",
        )  # fmt: skip
        width = vision.embed_dim if family == "qwen2_vl" else vision.hidden_size
        inner = int(width * vision.mlp_ratio) if family == "qwen2_vl" else vision.intermediate_size
        channels = getattr(vision, "in_channels", None) or 3
        tower = Tower(
            family, vision.depth, width, inner, vision.num_heads, vision.patch_size, vision.spatial_merge_size,
            channels * vision.temporal_patch_size * vision.patch_size**2,
            mergers=1 + len(getattr(vision, "deepstack_visual_indexes", None) or ()),
        )  # fmt: skip
        return cls(decoder, tower)


@dataclass(frozen=True)
class PassLoad:
    """What one process looks at in one pass."""

    pictures: int
    patches: int
    """Of each picture."""
    length: int
    """Tokens of each sequence, the picture's and the padding among them."""
    language: Gradient
    vision: Gradient
    rank: int = 0
    """Of adapters."""


@dataclass(frozen=True)
class Activations:
    """Bytes at the end of a forward pass, and at the height of the backward pass."""

    saved: int
    """Saved by autograd when the forward pass ends; with recomputing, the inputs of the layers and little more."""
    recomputed: int
    """On top of that while one layer is computed again; 0 without recomputing."""

    @property
    def peak(self) -> int:
        """Both."""
        return self.saved + self.recomputed


def activation_bytes(shape: VlmShape, load: PassLoad, numbers: NumberSizes, *, recompute: bool) -> Activations:
    """What one pass over `load` keeps for its backward pass; inputs included, the weights' bfloat16 copies not."""
    tower, decoder = shape.tower, shape.decoder
    patches, tokens = load.pictures * load.patches, load.pictures * load.length
    block = patches * tower.block_bytes(load.vision, numbers, load.rank)
    layer = tokens * decoder.layer_bytes(load.language, numbers, load.rank)
    shared = 0  # once for all layers: the turns of rotary positions, and the mask of a padded batch
    ends = _vision_ends(tower, load, numbers) + tokens  # and the places of the pictures
    if load.vision != "none":
        shared += 2 * patches * (tower.width // tower.heads) * FLOAT
    if load.language != "none":
        shared += 2 * tokens * decoder.head_width * numbers.stream
        shared += load.pictures * load.length**2 * numbers.compute
        ends += tokens * _rms_norm(decoder.width, 1, load.language, FLOAT)
    if not recompute:
        return Activations(ends + shared + tower.layers * block + decoder.layers * layer, 0)
    inputs = 0
    if load.vision != "none":
        inputs += tower.layers * patches * tower.width * numbers.picture_stream
    if load.language != "none":
        inputs += decoder.layers * tokens * decoder.width * numbers.stream
    return Activations(ends + inputs, shared + max(block, layer))


def _rms_norm(width: int, rows: int, gradient: Gradient, compute: int) -> int:
    """Its input in float32, one root for each row, and what its weights are multiplied with, where they learn."""
    return FLOAT * (width + rows) + (compute * width if gradient == "weights" else 0)


def _vision_ends(tower: Tower, load: PassLoad, numbers: NumberSizes) -> int:
    """The pixels, and what merges patches into tokens."""
    b, e, patches = numbers.compute, tower.width, load.pictures * load.patches
    pixels = tower.patch_numbers * FLOAT
    if load.vision == "none":
        return patches * pixels
    if load.vision == "weights" and b < FLOAT:  # cast, and kept for the first layer
        pixels += tower.patch_numbers * b
    learns = load.vision in ("weights", "adapters")
    norm = _rms_norm(e, 1, load.vision, b) if tower.family == "qwen2_5_vl" else e * numbers.layer_norm + 2 * FLOAT
    mergers = norm + tower.mergers * (3 if learns else 1) * e * b
    if numbers.layer_norm != numbers.picture_stream:  # else deep ones share their input with the next block
        mergers += (tower.mergers - 1) * e * numbers.layer_norm
    positions = 4 * (8 + FLOAT) if tower.family == "qwen3_vl" and load.vision == "weights" else 0
    return patches * (pixels + mergers + positions)
