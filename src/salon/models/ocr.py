"""Text in pictures: the lines that RapidOCR reads, with their corners, on one thread."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from PIL import Image

from salon.errors import MissingExtra
from salon.models.cache import ResultCache, package_file, package_version

try:
    import cv2
    from rapidocr import RapidOCR
    from rapidocr.utils.output import RapidOCROutput
    from rapidocr.utils.process_img import ResizeImgError
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

Point = tuple[float, float]
READER = f"rapidocr {package_version('rapidocr')}"
"""Part of the signature of everything that rests on a reading."""
_NETWORKS = {
    "Det": ("PP-OCRv6_det_small.onnx", "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f"),
    "Cls": ("ch_ppocr_mobile_v2.0_cls_mobile.onnx", "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c"),
    "Rec": ("PP-OCRv6_rec_small.onnx", "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884"),
}
"""File and SHA-256 of each network; named one by one, so that the engine fetches nothing."""


@dataclass(frozen=True)
class ReadingLine:
    """One line of text as found."""

    text: str
    corners: tuple[Point, Point, Point, Point]
    """From the upper left clockwise, as the text runs."""
    confidence: float

    @property
    def left(self) -> float:
        """The least x."""
        return min(x for x, _ in self.corners)

    @property
    def right(self) -> float:
        """The greatest x."""
        return max(x for x, _ in self.corners)

    @property
    def top(self) -> float:
        """The least y."""
        return min(y for _, y in self.corners)

    @property
    def bottom(self) -> float:
        """The greatest y."""
        return max(y for _, y in self.corners)

    @property
    def height(self) -> float:
        """Of the letters, also where the line is turned: the mean length of the two short sides."""
        a, b, c, d = (np.array(corner) for corner in self.corners)
        return float((np.linalg.norm(d - a) + np.linalg.norm(c - b)) / 2)

    @property
    def slant(self) -> float:
        """Degrees by which the line is turned, clockwise."""
        (x0, y0), (x1, y1) = self.corners[:2]
        return float(np.degrees(np.arctan2(y1 - y0, x1 - x0)))


@dataclass(frozen=True)
class Reading:
    """All the text that was found in a picture."""

    width: int
    height: int
    lines: tuple[ReadingLine, ...]

    @property
    def text(self) -> str:
        """The lines as they were found, one below the other."""
        return "\n".join(line.text for line in self.lines)

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Self:
        """The inverse of `record`."""
        lines = tuple(
            ReadingLine(line["text"], _corners(line["corners"]), line["confidence"]) for line in record["lines"]
        )
        return cls(record["width"], record["height"], lines)


def _corners(points: Iterable[Iterable[float]]) -> tuple[Point, Point, Point, Point]:
    a, b, c, d = ((x, y) for x, y in points)
    return a, b, c, d


def read_text(pixels: np.ndarray) -> Reading:
    """The lines in a picture (height, width, RGB), at the engine's default settings and the picture's own size.

    None are found in a picture so thin that nothing of it is left when the engine makes it smaller.
    """
    try:
        output = _engine()(np.ascontiguousarray(pixels[..., ::-1]))  # it takes blue first
    except ResizeImgError:
        return Reading(pixels.shape[1], pixels.shape[0], ())
    assert isinstance(output, RapidOCROutput)  # what it gives where all three networks ran
    boxes = output.boxes if output.txts and output.boxes is not None else ()
    lines = tuple(
        ReadingLine(text, _corners((round(float(x), 1), round(float(y), 1)) for x, y in corners), round(float(sure), 4))
        for text, corners, sure in zip(output.txts or (), boxes, output.scores or ())
    )
    return Reading(pixels.shape[1], pixels.shape[0], lines)


def remembered_reading(image: Image.Image, sha256: str, cache: ResultCache) -> Reading:
    """The text in the picture whose bytes have that hash, read once."""
    key = f"{READER}|{sha256}"
    cached = cache.many([key])
    if key in cached:
        return Reading.of_record(cached[key])
    reading = read_text(np.asarray(image))
    cache.keep({key: reading.record()})
    return reading


@cache
def _engine() -> RapidOCR:
    cv2.setNumThreads(1)
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    networks = {
        f"{part}.model_path": str(package_file("rapidocr", f"models/{name}", sha256))
        for part, (name, sha256) in _NETWORKS.items()
    }
    return RapidOCR(params={"Global.log_level": "critical", **threads, **networks})
