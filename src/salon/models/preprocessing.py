"""Pictures as a released network takes them, by the rules in `peers`: from Pillow, or from tensors with a gradient.

The tensor path does the same steps as tensor operations: resize, crop or pad, normalize. Rules that resize floats give
the same bits on both paths. Rules that resize bytes skip only Pillow's rounding to 8 bits after each direction; values
are clipped to 0..1 as Pillow's are. docs/methods/scorers.md says how far the scores are apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image

from salon.errors import BadValue, MissingExtra
from salon.models.peers import Interpolation, PictureRule

try:
    import torch
    from torch import Tensor
    from torch.nn.functional import interpolate, pad
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

Tensors = Tensor | Sequence[Tensor]
"""Pictures (n, 3, height, width) or n of (3, height, width), with values from 0 to 1."""
_FILTERS: dict[Interpolation, Image.Resampling] = {
    "nearest": Image.Resampling.NEAREST,
    "lanczos": Image.Resampling.LANCZOS,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "box": Image.Resampling.BOX,
    "hamming": Image.Resampling.HAMMING,
}
_MOST_RESIZED = 1 << 26
"""Pixels of a resized picture that are held at once. A strip one pixel wide becomes hundreds of times as large before
all but its middle is cut away; past this only the middle is computed."""
_MOST_RATIO = 200
"""HPSv3 refuses pictures whose sides differ by more."""
_NEAR = 0.01
"""How far values may lie outside 0..1: rounding, not another scale."""


@dataclass(frozen=True)
class PatchLayout:
    """How a Qwen-VL cuts a picture: pixels of a patch's side, patches merged along a side, frames in a patch."""

    patch: int
    merge: int
    frames: int

    @property
    def unit(self) -> int:
        """Both sides of a picture are multiples of this."""
        return self.patch * self.merge


# -- sizes -------------------------------------------------------------------------------------------------------------


def resized_size(width: int, height: int, rule: PictureRule, side: int) -> tuple[int, int]:
    """Width and height after the resize; `side` is the network's, or with patches the unit of both sides."""
    if rule.fit == "patches":
        return _patch_sizes(width, height, rule, side)[-1]
    if rule.fit == "stretch":
        return side, side
    if rule.fit == "pad":
        scale = side / max(width, height)
        return round(width * scale), round(height * scale)
    target, shorter, longer = rule.shorter or side, min(width, height), max(width, height)
    whole = int(target * longer / shorter) if rule.other_side == "cut" else round(target * longer / shorter)
    return (target, whole) if width <= height else (whole, target)


def size_refusal(width: int, height: int, rule: PictureRule, side: int) -> str | None:
    """Why a picture of this size cannot be prepared, as in the release; None where it can."""
    if rule.fit == "patches" and max(width, height) > _MOST_RATIO * min(width, height):
        return f"{width} x {height} pixels: the release takes no picture over {_MOST_RATIO} times as long as wide"
    if rule.fit == "pad" and min(resized_size(width, height, rule, side)) < 1:
        return f"{width} x {height} pixels: nothing is left of its shorter side when the longer one becomes {side}"
    return None


def _patch_sizes(width: int, height: int, rule: PictureRule, unit: int) -> list[tuple[int, int]]:
    """Width and height after each resize."""
    budget, first = rule.budget or 256, rule.first_unit
    if first is None:
        return [_in_patches(width, height, budget * unit**2, unit)]
    near = _in_patches(width, height, budget * first**2, first)
    return [near, (max(unit, round(near[0] / unit) * unit), max(unit, round(near[1] / unit) * unit))]


def _in_patches(width: int, height: int, pixels: int, unit: int) -> tuple[int, int]:
    """Multiples of `unit` near a number of pixels: floors when there are too many, ceilings when there are too few."""
    sides = [max(unit, round(length / unit) * unit) for length in (width, height)]
    if sides[0] * sides[1] > pixels:
        scale = math.sqrt(width * height / pixels)
        sides = [max(unit, math.floor(length / scale / unit) * unit) for length in (width, height)]
    elif sides[0] * sides[1] < pixels:
        scale = math.sqrt(pixels / (width * height))
        sides = [math.ceil(length * scale / unit) * unit for length in (width, height)]
    return sides[0], sides[1]


def _start(margin: int, rule: PictureRule) -> int:
    return round(margin / 2) if rule.margin == "half to even" else margin // 2


# -- from Pillow -------------------------------------------------------------------------------------------------------


def prepare_pictures(images: Sequence[Image.Image], rule: PictureRule, side: int) -> Tensor:
    """(pictures, 3, side, side) float32, as the release prepares them."""
    return torch.stack([prepare_picture(image, rule, side) for image in images])


def prepare_picture(image: Image.Image, rule: PictureRule, side: int) -> Tensor:
    """(3, height, width) float32: the side x side of the network, or with patches multiples of `side`."""
    image = image if image.mode == "RGB" else image.convert("RGB")
    _require(image.width, image.height, rule, side)
    if rule.resize_on == "floats":
        return prepare_tensor(_floats(image), rule, side)
    return _normalized(_floats(_resized_bytes(image, rule, side)), rule)


def _resized_bytes(image: Image.Image, rule: PictureRule, side: int) -> Image.Image:
    width, height = resized_size(image.width, image.height, rule, side)
    filter = _FILTERS[rule.interpolation]
    if rule.fit == "patches":
        for size in _patch_sizes(image.width, image.height, rule, side):
            image = image.resize(size, filter)
        return image
    if rule.fit != "crop":
        return image.resize((width, height), filter)
    left, top = _start(width - side, rule), _start(height - side, rule)
    if width * height <= _MOST_RESIZED:
        return image.resize((width, height), filter).crop((left, top, left + side, top + side))
    across, down = image.width / width, image.height / height
    box = (left * across, top * down, (left + side) * across, (top + side) * down)
    return image.resize((side, side), filter, box=box)


def _floats(image: Image.Image) -> Tensor:
    """(3, height, width) in 0..1."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).to(torch.float32).div(255)


# -- from tensors ------------------------------------------------------------------------------------------------------


def prepare_tensors(images: Tensors, rule: PictureRule, side: int) -> Tensor:
    """The same from tensors, with a gradient back to them."""
    return torch.stack([prepare_tensor(image, rule, side) for image in images])


def prepare_tensor(image: Tensor, rule: PictureRule, side: int) -> Tensor:
    """The same of one picture (3, height, width)."""
    image = image if image.dtype in (torch.float32, torch.float64) else image.to(torch.float32)
    height, width = image.shape[1:]
    _require(width, height, rule, side)
    sizes = _patch_sizes(width, height, rule, side) if rule.fit == "patches" else []
    width, height = sizes[-1] if sizes else resized_size(width, height, rule, side)
    if rule.fit == "crop" and width * height > _MOST_RESIZED:
        raise BadValue(
            "a picture that is less long and narrow is needed for a gradient", found=f"{width} x {height} when resized"
        )
    if rule.resize_on == "bytes":  # as Pillow: across, then down, each clipped
        for across, down in sizes or [(width, height)]:
            image = _interpolated(image, (image.shape[1], across), rule).clamp(0, 1)
            image = _interpolated(image, (down, across), rule).clamp(0, 1)
    else:
        image = _interpolated(image, (height, width), rule)
    if rule.fit == "crop":
        left, top = _start(width - side, rule), _start(height - side, rule)
        image = image[:, top : top + side, left : left + side]
    if rule.fit == "pad":
        left, top = _start(side - width, rule), _start(side - height, rule)
        image = pad(image, (left, side - width - left, top, side - height - top))
    return _normalized(image, rule)


def check_tensors(images: Tensors) -> None:
    """Raise BadValue unless these are RGB pictures with values from 0 to 1."""
    needed = "tensors of RGB pictures with values from 0 to 1 are needed: (n, 3, height, width), or n of (3, h, w)"
    if isinstance(images, Tensor) and images.ndim != 4:
        raise BadValue(needed, found=f"a tensor of shape {tuple(images.shape)}")
    for image in images:
        if not isinstance(image, Tensor):
            raise BadValue(needed, found=type(image).__name__)
        if image.ndim != 3 or image.shape[0] != 3 or not image.numel() or not image.is_floating_point():
            raise BadValue(needed, found=f"{image.dtype} of shape {tuple(image.shape)}", remedy="x.float() / 255")
        low, high = (float(end) for end in image.detach().aminmax())
        if not (low >= -_NEAR and high <= 1 + _NEAR):
            remedy = "x.clamp(0, 1), or (x + 1) / 2 for values from -1 to 1"
            raise BadValue(needed, found=f"values from {low:g} to {high:g}", remedy=remedy)


def _interpolated(image: Tensor, size: tuple[int, int], rule: PictureRule) -> Tensor:
    if tuple(image.shape[1:]) == size:
        return image
    if rule.interpolation not in ("bicubic", "bilinear"):
        raise BadValue("a gradient needs pictures resized by bicubic or bilinear", found=rule.interpolation)
    antialias = rule.antialias or rule.resize_on == "bytes"
    return interpolate(image[None], size, mode=rule.interpolation, align_corners=False, antialias=antialias)[0]


def _normalized(image: Tensor, rule: PictureRule) -> Tensor:
    mean, sd = (image.new_tensor(values)[:, None, None] for values in (rule.mean, rule.sd))
    return (image - mean) / sd


def _require(width: int, height: int, rule: PictureRule, side: int) -> None:
    reason = size_refusal(width, height, rule, side)
    if reason is not None:
        raise BadValue("a picture that the release can prepare is needed", found=reason)


# -- patches -----------------------------------------------------------------------------------------------------------


def patch_rows(image: Tensor, layout: PatchLayout) -> tuple[Tensor, tuple[int, int, int]]:
    """(patches, 3 frames patch patch) of a prepared picture, and how many lie along time, height and width.

    A picture stands still: each patch holds it as often as there are frames. Patches that are merged are neighbors.
    """
    size, merge = layout.patch, layout.merge
    rows, columns = image.shape[1] // size, image.shape[2] // size
    cut = image.reshape(3, rows // merge, merge, size, columns // merge, merge, size)
    ordered = cut.permute(1, 4, 2, 5, 0, 3, 6)  # row, column, within a merged patch: row, column; color, pixels
    repeated = ordered.unsqueeze(5).expand(*ordered.shape[:5], layout.frames, size, size)
    return repeated.reshape(rows * columns, -1), (1, rows, columns)


# -- a folder's own rule -----------------------------------------------------------------------------------------------


def folder_rule(rule: PictureRule, processor: Any, *, where: str) -> tuple[PictureRule, int]:
    """`rule` with the sizes, mean and sd that a CLIP folder's picture processor states, and the side it leads to."""
    size = _plain_size(getattr(processor, "size", None))
    crop = _plain_size(getattr(processor, "crop_size", None)) if getattr(processor, "do_center_crop", False) else {}
    names = ("do_resize", "do_rescale", "do_normalize")
    off = [name for name in names if getattr(processor, name, True) is False]
    sides = {*crop.values()} if crop else {*size.values()}
    is_supported = (
        set(size) in ({"shortest_edge"}, {"height", "width"}) and len(sides) == 1 and (crop or "height" in size)
    )
    is_supported = is_supported and ("shortest_edge" not in size or size["shortest_edge"] >= min(sides))
    is_supported = is_supported and (not crop or "height" not in size or {*size.values()} == sides)
    if off or not is_supported:
        raise BadValue(
            "a picture processor of CLIP's kind is needed: a square cut from a resized picture",
            found=f"size {size}, crop {crop or 'none'}" + (f", {', '.join(off)} off" if off else ""),
            where=where,
        )
    filters = (name for name, filter_ in _FILTERS.items() if filter_ == getattr(processor, "resample", 3))
    fixed = replace(
        rule,
        fit="crop" if "shortest_edge" in size else "stretch",
        shorter=size.get("shortest_edge"),
        interpolation=next(filters, "bicubic"),
        mean=tuple(processor.image_mean),
        sd=tuple(processor.image_std),
    )
    return fixed, int(sides.pop())


def _plain_size(size: Any) -> dict[str, int]:
    """A size as transformers writes it, without the names that are not set."""
    if size is None:
        return {}
    names = ("height", "width", "shortest_edge", "longest_edge")
    sizes = {name: size[name] if isinstance(size, dict) else getattr(size, name, None) for name in names
             if not isinstance(size, dict) or name in size}  # fmt: skip
    return {name: int(value) for name, value in sizes.items() if value is not None}


# -- networks that read such pictures ----------------------------------------------------------------------------------


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
        return size_refusal(width, height, self.rule, self.side)
