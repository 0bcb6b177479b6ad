"""CLIP on current transformers: from a folder in the hub's layout, or from open_clip's weights beside such a folder.

Pictures and texts are prepared by the rules in `peers`, not by transformers' processors: those change with the backend
that is installed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from salon.errors import BadFile, MissingExtra
from salon.models.heads import linear_stack
from salon.models.open_clip_text import OpenClipTokenizer
from salon.models.packages import package_version
from salon.models.peers import PEERS, Peer
from salon.models.prepare import folder_rule, prepare_pictures
from salon.models.prepared_network import PreparedNetwork
from salon.models.vocabulary import check_vocabulary
from salon.models.weights import State, best_device, first_there, from_hub, load_all, load_whole, read_state

try:
    import torch
    from torch import Tensor, nn
    from torch.nn.functional import normalize
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
            processor = from_hub(AutoImageProcessor.from_pretrained, folder, what="CLIP's picture processor")
            self.rule, side = folder_rule(peer.pictures, processor, where=str(folder))
            if side != self.side:
                raise BadFile(
                    f"pictures of {self.side} x {self.side} pixels are needed by the network",
                    found=f"{side} x {side} in preprocessor_config.json",
                    where=str(folder),
                )
        self._tokenizer = from_hub(AutoTokenizer.from_pretrained, folder, what="CLIP's tokenizer")
        check_vocabulary(self._tokenizer, int(reader.vocab_size), where=str(folder))
        self._open_clip = None
        if peer.texts is not None and peer.texts.tokenizer == "open_clip":
            self._open_clip = OpenClipTokenizer(self._tokenizer, where=str(folder))

    @classmethod
    def load(cls, folder: str | Path, peer: Peer, **options: Any) -> Clip:
        """From a folder in the hub's layout, or a hub name."""
        config = from_hub(AutoConfig.from_pretrained, folder, what="a CLIP")
        if not isinstance(config, CLIPConfig):
            raise BadFile("a CLIP is needed", found=f"a model of type {config.model_type!r}", where=str(folder))
        network = load_whole(CLIPModel.from_pretrained, folder, what="a CLIP", exact=True, dtype=torch.float32)
        return cls(network, folder, peer, **options)

    @classmethod
    def load_open_clip(cls, weights: Path, folder: Path, peer: Peer, **options: Any) -> Clip:
        """From open_clip's weights; `folder` holds config and tokenizer of the same network."""
        first_there(folder, ["config.json"], of="HPSv2.1")
        config = from_hub(CLIPConfig.from_pretrained, folder, what="CLIP's config")
        config.text_config.eos_token_id = 2  # transformers then reads a text at its largest id, as open_clip does
        network = CLIPModel(config)
        load_all(network, from_open_clip(read_state(weights)), where=str(weights))
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
_TURNED = {"visual.proj", "text_projection"}
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
            renamed |= _block(f"{tower}.encoder.layers.{block[2]}", block[3], tensor)
        else:
            renamed[_outside(name)] = tensor.T.contiguous() if name in _TURNED else tensor
    return renamed


def _block(place: str, inner: str, tensor: torch.Tensor) -> State:
    if inner.startswith("attn.in_proj_"):
        kind = inner.removeprefix("attn.in_proj_")
        parts = zip("qkv", tensor.chunk(3), strict=True)
        return {f"{place}.self_attn.{letter}_proj.{kind}": part.contiguous() for letter, part in parts}
    module, _, kind = inner.rpartition(".")
    return {f"{place}.{_INSIDE.get(module, module)}.{kind}": tensor}


def _outside(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    module, _, kind = name.rpartition(".")
    return f"{_NAMES[module]}.{kind}" if module in _NAMES else name
