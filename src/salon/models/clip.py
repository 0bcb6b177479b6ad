"""CLIP on current transformers: from a folder in the hub's layout, or from open_clip's weights beside such a folder.

Without torchvision the picture processor works in Pillow; pixels then differ from torchvision's by up to 0.015, so the
backend is part of the signature of every score.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from salon.errors import MissingExtra
from salon.models.packages import package_version
from salon.models.weights import State, best_device, from_hub, load_all, read_state

try:
    import torch
    from torch.nn.functional import normalize
    from transformers import AutoImageProcessor, AutoTokenizer, CLIPConfig, CLIPModel
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

BACKEND = f"transformers {package_version('transformers')}, pillow {package_version('pillow')}"
Fit = Literal["crop", "pad"]
"""How a picture meets the network's square: its middle, or whole on black."""


class Clip:
    """Pictures and texts in one space, each row of length 1."""

    def __init__(self, network: CLIPModel, folder: str | Path, *, fit: Fit = "crop", device: str | None = None) -> None:
        self.device = device or best_device()
        self.network = network.eval().to(self.device)
        self.fit = fit
        self._tokenizer = from_hub(AutoTokenizer.from_pretrained, folder, what="CLIP's tokenizer")
        self._processor = from_hub(AutoImageProcessor.from_pretrained, folder, what="CLIP's picture processor")

    @classmethod
    def load(cls, folder: str | Path, **options: Any) -> Clip:
        """From a folder in the hub's layout, or a hub name."""
        network = from_hub(CLIPModel.from_pretrained, folder, what="a CLIP", dtype=torch.float32)
        return cls(network, folder, **options)

    @classmethod
    def load_open_clip(cls, weights: Path, folder: Path, **options: Any) -> Clip:
        """From open_clip's weights; `folder` holds config, tokenizer and processor of the same network."""
        config = from_hub(CLIPConfig.from_pretrained, folder, what="CLIP's config")
        network = CLIPModel(config)
        load_all(network, from_open_clip(read_state(weights)), where=str(weights))
        return cls(network, folder, **options)

    @property
    def scale(self) -> float:
        """What a cosine is multiplied with to be a logit."""
        return float(self.network.logit_scale.detach().exp())

    @torch.inference_mode()
    def images(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """Pictures."""
        found = self.network.get_image_features(pixel_values=self.pixels(images)).pooler_output
        return normalize(found, dim=-1).cpu()

    @torch.inference_mode()
    def texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Texts; what is longer than the network can read is cut."""
        found = self.network.get_text_features(**self.tokens(texts)).pooler_output
        return normalize(found, dim=-1).cpu()

    def cosines(self, images: Sequence[Image.Image], texts: Sequence[str]) -> list[float]:
        """How near each picture is to its own text."""
        return (self.images(images) * self.texts(texts)).sum(-1).tolist()

    def pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """The pictures as the network takes them."""
        side = self.network.config.vision_config.image_size
        if self.fit == "pad":
            images = [_padded(image, side) for image in images]
        batch = self._processor(list(images), return_tensors="pt")["pixel_values"]
        return batch.to(self.device)

    def tokens(self, texts: Sequence[str]) -> dict[str, torch.Tensor]:
        """The texts as the network takes them, padded to its full length as it was trained."""
        longest = self.network.config.text_config.max_position_embeddings
        found = self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=longest, return_tensors="pt"
        )
        return {name: found[name].to(self.device) for name in ("input_ids", "attention_mask")}


def _padded(image: Image.Image, side: int) -> Image.Image:
    """The whole picture in the middle of a black square."""
    scale = side / max(image.size)
    width, height = (max(1, round(one * scale)) for one in image.size)
    square = Image.new("RGB", (side, side))
    square.paste(image.resize((width, height), Image.Resampling.BICUBIC), ((side - width) // 2, (side - height) // 2))
    return square


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
    found: State = {}
    for name, tensor in state.items():
        if name == "attn_mask":
            continue
        if block := _BLOCK.match(name):
            tower = "vision_model" if block[1] else "text_model"
            found |= _block(f"{tower}.encoder.layers.{block[2]}", block[3], tensor)
        else:
            found[_outside(name)] = tensor.T.contiguous() if name in _TURNED else tensor
    return found


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
