"""What released networks share: numbers for pictures and their texts, from Pillow pictures or from tensors."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image

from salon.errors import MissingExtra
from salon.models.peers import PictureRule
from salon.models.prepare import Tensors, prepare_pictures, prepare_tensors, refusal

try:
    import torch
    from torch import Tensor
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None


class PreparedNetwork:
    """A frozen network that reads pictures of one size; what differs is in `numbers`."""

    rule: PictureRule
    side: int
    device: str
    dtype: torch.dtype = torch.float32

    def numbers(self, pixels: Tensor, texts: Sequence[str]) -> Tensor:
        """(pictures,) from prepared pictures, each with its text."""
        raise NotImplementedError

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> list[float]:
        """One number for each picture and its text, as the release computes it."""
        with torch.inference_mode():
            pixels = prepare_pictures(images, self.rule, self.side).to(self.device)
            return self.numbers(pixels, texts).float().tolist()

    def tensor_scores(self, images: Tensors, texts: Sequence[str]) -> Tensor:
        """(pictures,) with a gradient back to the pictures."""
        pixels = prepare_tensors(images, self.rule, self.side)
        return self.numbers(pixels.to(self.device, self.dtype), texts)

    def refusal(self, width: int, height: int, text: str) -> str | None:
        """Why a picture of this size with this text gets no number; None where it gets one."""
        return refusal(width, height, self.rule, self.side)
