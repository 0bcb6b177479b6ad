"""Qwen-VL embedding models as encoders: the last hidden state at the last token of a chat with a picture or a text.

That is how Qwen3-VL-Embedding was trained: an instruction, what is to be embedded, and the beginning of an answer.
Any Qwen2-VL, Qwen2.5-VL or Qwen3-VL loads; those that were never trained to embed give vectors that carry less.
Weights run in the precision they were saved in, on every device.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from PIL import Image

from salon.errors import BadFile, BadValue, MissingExtra
from salon.models.encoder import EncoderPart, Vectors, text_rows
from salon.models.vlm import Messages, vlm_processor
from salon.models.weights import best_device, fingerprint, from_hub, load_whole, stated_licence, weights_folder

try:
    import torch
    from torch.nn.functional import normalize
    from transformers import AutoConfig, AutoModel
    from transformers.utils import is_torchvision_available
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

INSTRUCTION = "Represent the user's input."
"""What Qwen3-VL-Embedding reads before everything that is not a search query."""
FAMILIES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe")


class VlmEncoder:
    """A Qwen-VL without its last layer; loaded when the first vector is asked for."""

    def __init__(self, name: str, folder: str, *, device: str | None = None, batch: int = 8) -> None:
        if batch < 1:
            raise BadValue("a batch holds one picture or more", found=batch)
        place = weights_folder(folder, what="a Qwen-VL")
        self._config = from_hub(AutoConfig.from_pretrained, place, what="a Qwen-VL")
        if self._config.model_type not in FAMILIES:
            found = self._config.model_type
            raise BadFile(f"one of {', '.join(FAMILIES)} is needed", found=found, where=folder)
        pixels = "torchvision" if is_torchvision_available() else "pillow"
        self.name, self._folder, self._device, self._batch = name, folder, device, batch
        self.signature = (
            f"{self._config.model_type} {fingerprint(place)} last token of {INSTRUCTION!r}, pixels by {pixels}"
        )
        self.text_width = int(self._config.get_text_config().hidden_size)
        self.parts = (EncoderPart("image", self.text_width, True),)
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
        return self._encoded([_chat({"type": "image", "image": image}) for image in images])

    def texts(self, texts: Sequence[str]) -> Vectors:
        """(texts, width) float32."""
        return text_rows(
            texts, self.text_width, lambda some: self._encoded([_chat({"type": "text", "text": one}) for one in some])
        )

    @torch.inference_mode()
    def _encoded(self, chats: Sequence[Messages]) -> Vectors:
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
        network = load_whole(
            AutoModel.from_pretrained, self._folder, what="a Qwen-VL", dtype="auto", use_safetensors=True
        )
        return network.to(self._device or best_device())

    @cached_property
    def _processor(self) -> Any:
        processor = vlm_processor(self._folder, self._config.model_type)
        processor.tokenizer.padding_side = "left"
        return processor


def _chat(content: dict[str, Any]) -> Messages:
    return [
        {"role": "system", "content": [{"type": "text", "text": INSTRUCTION}]},
        {"role": "user", "content": [content]},
    ]
