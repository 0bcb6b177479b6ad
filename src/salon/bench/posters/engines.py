"""OCR engines as contestants: RapidOCR and Tesseract, at their default settings, on tasks about text and its place.

An engine gives lines with their boxes. Tasks that ask for text get the lines; a task that asks where given texts stand
gets, for each, the lines that make it up, or else the line most like it, or no box.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from salon.bench.posters.answers_boxes import SCALES, Convention
from salon.bench.posters.answers_text import visible
from salon.bench.posters.item import Box, PosterItem
from salon.errors import SalonError
from salon.store.pictures import read_picture

EngineName = Literal["rapidocr", "tesseract"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
KINDS = ("text", "texts", "lines", "boxes")
"""Kinds of answer that an engine can give."""
COVERED = 0.6
"""Share of a text that lines must make up, or that a line must be like it, to be taken for it."""
_SECONDS = 120


@dataclass(frozen=True)
class SeenLine:
    """A line of text with its box, as shares of the picture."""

    text: str
    box: Box


def rapidocr(path: Path) -> list[SeenLine]:
    """The lines RapidOCR reads."""
    ocr = importlib.import_module("salon.models.ocr")  # its networks only for those who ask for them
    image = read_picture(path).image
    w, h = image.size
    reading = ocr.read_text(np.asarray(image))
    return [
        SeenLine(one.text, _inside(one.left / w, one.top / h, one.right / w, one.bottom / h)) for one in reading.lines
    ]


def tesseract(path: Path) -> list[SeenLine]:
    """The lines Tesseract reads, its words put together."""
    program = _tesseract()
    picture = read_picture(path)
    data = io.BytesIO()
    picture.image.save(data, "PNG")
    done = subprocess.run(
        [program, "stdin", "stdout", "tsv"], input=data.getvalue(), capture_output=True, timeout=_SECONDS,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"}, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SalonError("Tesseract reads the picture", found=done.stderr.decode(errors="replace"), where=str(path))
    return _lines(done.stdout.decode("utf-8", "replace"), picture.width, picture.height)


READERS: dict[EngineName, Callable[[Path], list[SeenLine]]] = {"rapidocr": rapidocr, "tesseract": tesseract}


def engine_signature(name: EngineName) -> str:
    """Name and version."""
    if name == "rapidocr":
        return str(importlib.import_module("salon.models.ocr").READER)
    done = subprocess.run([_tesseract(), "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True)
    return done.stdout.splitlines()[0]


def can_answer(item: PosterItem) -> bool:
    """Whether an engine has an answer to this kind of question."""
    return item.task.answer in KINDS


def engine_response(item: PosterItem, lines: Sequence[SeenLine], convention: Convention = "share") -> str:
    """What an engine that saw these lines says to the item's question."""
    if item.task.answer != "boxes":
        return "\n".join(line.text for line in lines)
    width, height = item.size if convention == "pixel" and item.size else (SCALES.get(convention, 1.0),) * 2
    placed = [(text, box) for text in item.texts if (box := place_of(text, lines)) is not None]
    return json.dumps(
        [
            {"text": text, "bbox": [round(n * side, 5) for n, side in zip(box, (width, height, width, height))]}
            for text, box in placed
        ],
        ensure_ascii=False,
    )


def place_of(text: str, lines: Sequence[SeenLine]) -> Box | None:
    """Where a text stands: around the lines that are parts of it, or else where the line most like it is."""
    wanted = _key(text)
    keys = [_key(line.text) for line in lines]
    parts = [i for i, key in enumerate(keys) if key and key in wanted]
    if wanted and sum(len(keys[i]) for i in parts) >= COVERED * len(wanted):
        boxes = [lines[i].box for i in parts]
        x1, y1, x2, y2 = zip(*boxes)
        return min(x1), min(y1), max(x2), max(y2)
    likeness = [SequenceMatcher(None, wanted, key, autojunk=False).ratio() for key in keys]
    best = int(np.argmax(likeness)) if likeness else -1
    return lines[best].box if best >= 0 and likeness[best] >= COVERED else None


def _lines(table: str, width: int, height: int) -> list[SeenLine]:
    """Words of Tesseract's table by block, paragraph and line."""
    words: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["level"] == "5" and row["text"].strip():
            words.setdefault((row["block_num"], row["par_num"], row["line_num"]), []).append(row)
    return [SeenLine(" ".join(one["text"] for one in line), _around(line, width, height)) for line in words.values()]


def _around(words: Sequence[dict[str, str]], width: int, height: int) -> Box:
    left, top = (min(int(one[side]) for one in words) for side in ("left", "top"))
    right = max(int(one["left"]) + int(one["width"]) for one in words)
    bottom = max(int(one["top"]) + int(one["height"]) for one in words)
    return _inside(left / width, top / height, right / width, bottom / height)


def _inside(x1: float, y1: float, x2: float, y2: float) -> Box:
    return max(0.0, x1), max(0.0, y1), min(1.0, x2), min(1.0, y2)


def _tesseract() -> str:
    program = shutil.which("tesseract")
    if program is None:
        raise SalonError(
            "the program tesseract is needed", found="not installed", remedy="install tesseract-ocr with your system"
        )
    return program


def _key(text: str) -> str:
    return visible(text).casefold()
