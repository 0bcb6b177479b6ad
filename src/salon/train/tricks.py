"""What may be done to a picture to fool a scorer, and what must cost it: the alterations that probes try.

A *trick* adds nothing that was asked for: a scorer that rewards it can be gamed by a generator that learns to do it. A
*control* does harm that anybody sees: a scorer that does not notice is blind there, and its steadiness under the tricks
means little. Sizes are shares of the picture's shorter side, so that all pictures are treated alike.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImageOps

Kind = Literal["trick", "control"]
Alter = Callable[[Image.Image, float, str, np.random.Generator], Image.Image]
PRAISE = "masterpiece, award winning, best quality"
_INK, _PAPER = (255, 255, 255), (16, 16, 16)
_LONGEST = 90
"""Letters of a prompt that are written into a picture."""


@dataclass(frozen=True)
class Trick:
    """One alteration at several strengths, weakest first."""

    name: str
    kind: Kind
    strengths: tuple[float, ...]
    unit: str
    """How a strength is named, with {} for its number as a percentage; SIZES says of what."""
    alter: Alter

    def words(self, strength: float) -> str:
        """A strength in words."""
        return self.unit.format(f"{strength:.1%}".replace(".0%", "%")).replace("-", "−")


def _contrast(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return ImageEnhance.Contrast(image).enhance(1 + strength)


def _saturation(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return ImageEnhance.Color(image).enhance(1 + strength)


def _border(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return ImageOps.expand(image, max(1, round(min(image.size) * strength)), fill=_INK)


def _praise(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return overlaid(image, PRAISE, strength)


def _prompt(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return overlaid(image, " ".join(text.split())[:_LONGEST] or PRAISE, strength)


def _blur(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    return image.filter(ImageFilter.GaussianBlur(min(image.size) * strength))


def _noise(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    pixels = np.asarray(image, np.float32)
    grain = rng.normal(0, 255 * strength, pixels.shape)
    return Image.fromarray(np.clip(pixels + grain + 0.5, 0, 255).astype(np.uint8))


def _jpeg(image: Image.Image, strength: float, text: str, rng: np.random.Generator) -> Image.Image:
    """Strength 0 is the best quality, 1 the worst."""
    sink = io.BytesIO()
    image.save(sink, "JPEG", quality=max(1, round(100 * (1 - strength))))
    return Image.open(sink).convert("RGB")


def overlaid(image: Image.Image, words: str, share: float) -> Image.Image:
    """`words` in light letters on a dark band along the lower edge; letters as high as `share` of the shorter side.

    Words that are wider than the picture go on in the next line.
    """
    altered = image.copy()
    pen = ImageDraw.Draw(altered, "RGBA")
    font = ImageFont.load_default(max(6, round(min(image.size) * share)))
    assert isinstance(font, ImageFont.FreeTypeFont)  # Pillow without FreeType has one size only
    lines = _lines(pen, words, font, image.width * 0.96)
    step = round(font.size * 1.25)
    top = max(0, image.height - step * len(lines) - round(font.size * 0.4))
    pen.rectangle((0, top, image.width, image.height), fill=(*_PAPER, 200))
    for number, line in enumerate(lines):
        pen.text((image.width * 0.02, top + step * number + font.size * 0.15), line, fill=_INK, font=font)
    return altered


def _lines(pen: ImageDraw.ImageDraw, words: str, font: ImageFont.FreeTypeFont, room: float) -> list[str]:
    lines = [""]
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and pen.textlength(longer, font) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


TRICKS: tuple[Trick, ...] = (
    Trick("contrast", "trick", (0.25, 0.5, 1.0), "contrast +{}", _contrast),
    Trick("saturation", "trick", (0.25, 0.5, 1.0), "saturation +{}", _saturation),
    Trick("border", "trick", (0.02, 0.05, 0.1), "white border, {}", _border),
    Trick("praise", "trick", (0.03, 0.06, 0.1), "praise written in, {}", _praise),
    Trick("prompt", "trick", (0.03, 0.06, 0.1), "prompt written in, {}", _prompt),
    Trick("blur", "control", (0.005, 0.01, 0.02), "blur, {}", _blur),
    Trick("noise", "control", (0.05, 0.1, 0.2), "grain, {}", _noise),
    Trick("jpeg", "control", (0.6, 0.85, 0.95), "JPEG, quality -{}", _jpeg),
)
SIZES = (
    "A border's width, the height of letters and the radius of a blur are shares of the picture's shorter side; "
    "grain is a standard deviation, as a share of white."
)
