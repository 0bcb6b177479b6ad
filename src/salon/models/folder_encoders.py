"""Encoders from a folder in the hub's layout: CLIP, SigLIP and their kin, and Qwen-VL embedding models.

`ClipEncoder` takes any network to which transformers gives picture features and text features. Weights run in float32.
Pictures are prepared as the folder's own processor says: for CLIP that is the middle square, so a tall poster loses its
ends.

`VlmEncoder` gives the last hidden state at the last token of a chat with a picture or a text, as Qwen3-VL-Embedding was
trained: an instruction, what is to be embedded, and the beginning of an answer. Any Qwen2-VL, Qwen2.5-VL or Qwen3-VL
loads; those never trained to embed give weaker vectors. Weights run in the precision they were saved in.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from PIL import Image

from salon.errors import BadFile, BadValue, MissingExtra
from salon.models.encoders import EncoderPart, Vectors, text_rows
from salon.models.vlm import Messages, vlm_processor
from salon.models.weights import best_device, fingerprint, load_from_hub, load_network, stated_licence, weights_folder

try:
    import torch
    from torch.nn.functional import normalize
    from transformers import MODEL_MAPPING, AutoConfig, AutoImageProcessor, AutoModel, AutoTokenizer
    from transformers.utils import is_torchvision_available
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

_SIGLIP_TOKENS = 64
"""SigLIP was trained on texts padded to this length, and knows no mask."""


class ClipEncoder:
    """A network with a tower for pictures and one for texts; loaded when the first vector is asked for."""

    def __init__(self, name: str, folder: str, *, device: str | None = None, batch: int = 8) -> None:
        if batch < 1:
            raise BadValue("a batch holds one picture or more", found=batch)
        place = weights_folder(folder, what="a CLIP or SigLIP")
        self._config = load_from_hub(AutoConfig.from_pretrained, place, what="a CLIP or SigLIP")
        network = MODEL_MAPPING.get(type(self._config), None)
        if not hasattr(network, "get_image_features") or not hasattr(network, "get_text_features"):
            raise BadFile(
                "a network with features of pictures and of texts is needed",
                found=self._config.model_type,
                where=folder,
                remedy="name a CLIP or SigLIP, or a Qwen-VL as qwen-vl:FOLDER",
            )
        pixels = "torchvision" if is_torchvision_available() else "pillow"  # they differ by up to 0.015
        self.name, self._folder, self._device, self._batch = name, folder, device, batch
        self.signature = f"{self._config.model_type} {fingerprint(place)} float32, pixels by {pixels}"
        self._changed = False
        width = getattr(self._config, "projection_dim", None) or self._config.text_config.projection_size
        self.text_width = int(width)
        self.parts: tuple[EncoderPart, ...] = (EncoderPart("image", self.text_width, True),)
        self.licence = stated_licence(place)

    def __reduce__(self) -> Any:
        """As settings alone: another process loads the weights itself."""
        if self._changed:
            raise BadValue("an encoder as its folder has it is needed in other processes", found=self.name)
        return partial(type(self), device=self._device, batch=self._batch), (self.name, self._folder)

    @property
    def network(self) -> Any:
        """The network itself, for those who train it."""
        return self._network

    @property
    def device(self) -> torch.device:
        """Where it runs."""
        device: torch.device = next(self._network.parameters()).device
        return device

    def network_copy(self) -> Any:
        """A copy of the network whose weights may be changed."""
        return copy.deepcopy(self._network)

    def with_network(self, network: Any, how: str) -> ClipEncoder:
        """The same encoder around another network; `how` it came about is part of what its vectors depend on."""
        encoder = copy.copy(self)
        encoder.__dict__["_network"] = network
        encoder._changed = True
        encoder.name, encoder.signature = f"{self.name}, {how}", f"{self.signature}, {how}"
        return encoder

    def picture_features(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """(pictures, width), not brought to length 1; gradients flow."""
        inputs = self._processor(list(images), return_tensors="pt")
        features: torch.Tensor = self._network.get_image_features(**inputs.to(self.device)).pooler_output
        return features

    def text_features(self, texts: list[str]) -> torch.Tensor:
        """(texts, width), not brought to length 1; gradients flow."""
        features: torch.Tensor = self._network.get_text_features(**self._tokens(texts)).pooler_output
        return features

    @torch.inference_mode()
    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        """(pictures, width) float32: the one part there is, named image."""
        if part != "image":
            raise BadValue(f"a part of {self.name} is needed", found=repr(part), remedy="image")
        rows = [np.empty((0, self.text_width), np.float32)]
        for start in range(0, len(images), self._batch):
            features = self.picture_features(images[start : start + self._batch])
            rows.append(normalize(features, dim=-1).cpu().numpy())
        return np.concatenate(rows)

    def texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, width) float32; what is longer than the network can read is cut."""
        return text_rows(texts, self.text_width, self._encode)

    @torch.inference_mode()
    def _encode(self, texts: list[str]) -> Vectors:
        rows = []
        for start in range(0, len(texts), self._batch):
            features = self.text_features(texts[start : start + self._batch])
            rows.append(normalize(features, dim=-1).cpu().numpy())
        return np.concatenate(rows)

    def _tokens(self, texts: list[str]) -> dict[str, torch.Tensor]:
        """Padded to the full length, as the network was trained."""
        siglip = self._config.model_type.startswith("siglip")
        longest = self._config.text_config.max_position_embeddings
        tokens = self._tokenizer(
            texts,
            padding="max_length",
            truncation=True,
            max_length=min(longest, _SIGLIP_TOKENS) if siglip else longest,
            return_tensors="pt",
        )
        names = ("input_ids",) if siglip else ("input_ids", "attention_mask")
        return {name: tokens[name].to(self.device) for name in names}

    @cached_property
    def _network(self) -> Any:
        network = load_network(AutoModel.from_pretrained, self._folder, what="a CLIP or SigLIP", dtype=torch.float32)
        return network.to(self._device or best_device())

    @cached_property
    def _tokenizer(self) -> Any:
        return load_from_hub(AutoTokenizer.from_pretrained, self._folder, what="its tokenizer")

    @cached_property
    def _processor(self) -> Any:
        return load_from_hub(AutoImageProcessor.from_pretrained, self._folder, what="its picture processor")


# -- Qwen-VL -----------------------------------------------------------------------------------------------------------

INSTRUCTION = "Represent the user's input."
"""What Qwen3-VL-Embedding reads before everything that is not a search query."""
QWEN_FAMILIES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe")


class VlmEncoder:
    """A Qwen-VL without its last layer; loaded when the first vector is asked for."""

    def __init__(self, name: str, folder: str, *, device: str | None = None, batch: int = 8) -> None:
        if batch < 1:
            raise BadValue("a batch holds one picture or more", found=batch)
        place = weights_folder(folder, what="a Qwen-VL")
        self._config = load_from_hub(AutoConfig.from_pretrained, place, what="a Qwen-VL")
        if self._config.model_type not in QWEN_FAMILIES:
            family = self._config.model_type
            raise BadFile(f"one of {', '.join(QWEN_FAMILIES)} is needed", found=family, where=folder)
        pixels = "torchvision" if is_torchvision_available() else "pillow"
        self.name, self._folder, self._device, self._batch = name, folder, device, batch
        self.signature = (
            f"{self._config.model_type} {fingerprint(place)} last token of {INSTRUCTION!r}, pixels by {pixels}"
        )
        self.text_width = int(self._config.get_text_config().hidden_size)
        self.parts: tuple[EncoderPart, ...] = (EncoderPart("image", self.text_width, True),)
        self.licence = stated_licence(place)

    def __reduce__(self) -> Any:
        """As settings alone: another process loads the weights itself."""
        return partial(type(self), device=self._device, batch=self._batch), (self.name, self._folder)

    def pictures(self, images: Sequence[Image.Image], part: str) -> Vectors:
        """(pictures, width) float32: the one part there is, named image."""
        if part != "image":
            raise BadValue(f"a part of {self.name} is needed", found=repr(part), remedy="image")
        if not images:
            return np.empty((0, self.text_width), np.float32)
        return self._encode([_embedding_chat({"type": "image", "image": image}) for image in images])

    def texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, width) float32."""
        return text_rows(
            texts,
            self.text_width,
            lambda some: self._encode([_embedding_chat({"type": "text", "text": one}) for one in some]),
        )

    @torch.inference_mode()
    def _encode(self, chats: Sequence[Messages]) -> Vectors:
        rows = []
        for start in range(0, len(chats), self._batch):
            inputs = self._processor.apply_chat_template(
                list(chats[start : start + self._batch]),
                tokenize=True,
                add_generation_prompt=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs={"padding": True},
            )
            hidden = self._network(**inputs.to(self._network.device)).last_hidden_state
            rows.append(normalize(hidden[:, -1].float(), dim=-1).cpu().numpy())  # padding is on the left
        return np.concatenate(rows)

    @cached_property
    def _network(self) -> Any:
        network = load_network(
            AutoModel.from_pretrained, self._folder, what="a Qwen-VL", dtype="auto", use_safetensors=True
        )
        return network.to(self._device or best_device())

    @cached_property
    def _processor(self) -> Any:
        processor = vlm_processor(self._folder, self._config.model_type)
        processor.tokenizer.padding_side = "left"
        return processor


def _embedding_chat(content: dict[str, Any]) -> Messages:
    return [
        {"role": "system", "content": [{"type": "text", "text": INSTRUCTION}]},
        {"role": "user", "content": [content]},
    ]
