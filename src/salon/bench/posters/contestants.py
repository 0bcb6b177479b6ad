"""Contestants that show what a number is worth: perfect, random and fixed answers, and OCR engines.

perfect          says the truth, in the plainest form
random           draws an answer of the right kind, seeded
always-a         gives every item the first option (or the whole picture, or the first patches)
list-everything  names every option there is
empty            says nothing

These need no pictures. `perfect` also fills in a judge's yes for every point; the others leave open what needs a judge.

OCR engines (RapidOCR and Tesseract, default settings) answer tasks about text and its place. An engine gives lines with
their boxes. Tasks that ask for text get the lines. A task that asks where given texts stand gets, for each text, the
lines that make it up, or else the most similar line, or no box.
"""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from salon.bench.posters.answers_numbers import SCALES
from salon.bench.posters.answers_text import visible_text
from salon.bench.posters.files import PosterFile
from salon.bench.posters.item import Box, PosterItem
from salon.bench.posters.settings import Convention
from salon.bench.posters.tasks import ATTRIBUTES, GRID, PosterTask, task_named
from salon.errors import SalonError
from salon.store import read_picture

Name = Literal["perfect", "random", "always-a", "list-everything", "empty"]
NAMES: tuple[Name, ...] = get_args(Name)
_LETTERS = list("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ")
_EFFECTS = task_named("font_effect_2").metric("effect").k or 0
_WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


def fill_responses(file: PosterFile, name: Name, *, seed: int = 0, boxes: Convention = "share") -> PosterFile:
    """The file with the contestant's responses (and, of a perfect one, the judge's) in it."""
    rng = np.random.default_rng([seed, zlib.crc32(file.task.name.encode())])
    effects = (
        sorted({effect for item in file.items for effect in item.truth[1:]}) if file.task.answer == "effects" else []
    )
    answers = {item.number: _fields(item, name, rng, boxes, effects) for item in file.items}
    if file.task.name == "gen_style" and name == "perfect":  # spelled as the record has it
        answers = {item.number: {"judge": file.records[item.number].get("style") or item.truth} for item in file.items}
    return file.edited({number: fields for number, fields in answers.items() if fields})


def _fields(
    item: PosterItem, name: Name, rng: np.random.Generator, boxes: Convention, effects: Sequence[str]
) -> Mapping[str, Any]:
    if name == "empty":
        return {}
    if item.task.side == "generation":
        return {"judge": _verdicts(item)} if name == "perfect" else {}
    if item.task.answer == "points":
        return {"response": "\n".join(item.truth), "judge": _verdicts(item)} if name == "perfect" else {}
    answer = _ANSWERS[name](item, rng, effects)
    return {"response": _write_answer(item, answer, boxes)}


def _verdicts(item: PosterItem) -> list[str] | str:
    """What a judge would write: a list of replies about points, or the text of one reply."""
    if item.task.answer == "points":
        return ["Yes"] * len(item.truth)
    return str(item.truth) if item.task.answer == "label" else json.dumps(ATTRIBUTES)


def _write_answer(item: PosterItem, answer: Any, boxes: Convention) -> str:
    """An answer as a model would write it."""
    match item.task.answer:
        case "boxes" | "layout":
            width, height = item.size if boxes == "pixel" and item.size else (SCALES.get(boxes, 1),) * 2
            return json.dumps([[x1 * width, y1 * height, x2 * width, y2 * height] for x1, y1, x2, y2 in answer])
        case "texts" | "lines":
            return "\n".join(answer)
        case "effects" | "patches":
            return json.dumps(sorted(answer) if item.task.answer == "patches" else list(answer), ensure_ascii=False)
    return str(answer)


def _perfect(item: PosterItem, rng: np.random.Generator, effects: Sequence[str]) -> Any:
    return item.truth


def _random(item: PosterItem, rng: np.random.Generator, effects: Sequence[str]) -> Any:
    task = item.task
    match task.answer:
        case "letter" | "label":
            return str(rng.choice(task.options))
        case "effects":
            return [
                str(rng.choice(task.options)),
                *[_all_effects(effects)[at] for at in rng.choice(_EFFECTS, len(item.truth) - 1, replace=False)],
            ]
        case "boxes" | "layout":
            corners = np.sort(rng.random((len(item.truth), 2, 2)), axis=1)
            return [(float(b[0, 0]), float(b[0, 1]), float(b[1, 0]), float(b[1, 1])) for b in corners]
        case "patches":
            return {int(patch) for patch in rng.choice(GRID**2, len(item.truth), replace=False)}
        case "rating":
            return round(float(rng.uniform(0, 10)), 1)
    return (
        ["".join(rng.choice(_LETTERS, 12)) for _ in range(5)]
        if task.answer != "text"
        else "".join(rng.choice(_LETTERS, 8))
    )


def _all_effects(effects: Sequence[str]) -> list[str]:
    return [*effects, *(f"another effect {i}" for i in range(_EFFECTS - len(effects)))]


def _always_a(item: PosterItem, rng: np.random.Generator, effects: Sequence[str]) -> Any:
    return _first(item.task, len(item.truth) if isinstance(item.truth, tuple | frozenset) else 1, effects)


def _first(task: PosterTask, n: int, effects: Sequence[str]) -> Any:
    match task.answer:
        case "letter" | "label":
            return task.options[0]
        case "effects":
            return [task.options[0], *effects[:1]]
        case "boxes" | "layout":
            return [_WHOLE] * n
        case "patches":
            return set(range(n))
        case "rating":
            return 5
    return ["A"] if task.answer != "text" else "A"


def _everything(item: PosterItem, rng: np.random.Generator, effects: Sequence[str]) -> Any:
    task = item.task
    match task.answer:
        case "letter" | "label":
            return ", ".join(task.options)
        case "effects":
            return [*task.options, *_all_effects(effects)]
        case "patches":
            return set(range(GRID**2))
        case "rating":
            return ", ".join(map(str, range(11)))
    return _first(task, len(item.truth) if isinstance(item.truth, tuple) else 1, effects)


_ANSWERS: dict[str, Callable[[PosterItem, np.random.Generator, Sequence[str]], Any]] = {
    "perfect": _perfect, "random": _random, "always-a": _always_a, "list-everything": _everything,
}  # fmt: skip


# -- OCR engines -------------------------------------------------------------------------------------------------------

EngineName = Literal["rapidocr", "tesseract"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)
KINDS = ("text", "texts", "lines", "boxes")
"""Kinds of answer that an engine can give."""
COVERED = 0.6
"""Share of a text that lines must make up, or that a line must be like it, to be taken for it."""
_SECONDS = 120


@dataclass(frozen=True)
class OcrLine:
    """A line of text with its box, as shares of the picture."""

    text: str
    box: Box


def rapidocr(path: Path) -> list[OcrLine]:
    """The lines RapidOCR reads."""
    from salon.models import ocr  # its networks only for those who ask for them

    image = read_picture(path).image
    w, h = image.size
    reading = ocr.read_text(np.asarray(image))
    return [
        OcrLine(line.text, _inside(line.left / w, line.top / h, line.right / w, line.bottom / h))
        for line in reading.lines
    ]


def tesseract(path: Path) -> list[OcrLine]:
    """The lines Tesseract reads, its words put together."""
    program = _tesseract()
    picture = read_picture(path)
    data = io.BytesIO()
    picture.image.save(data, "PNG")
    process = subprocess.run(
        [program, "stdin", "stdout", "tsv"], input=data.getvalue(), capture_output=True, timeout=_SECONDS,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"}, check=False,
    )  # fmt: skip
    if process.returncode:
        raise SalonError("Tesseract reads the picture", found=process.stderr.decode(errors="replace"), where=str(path))
    return table_lines(process.stdout.decode("utf-8", "replace"), picture.width, picture.height)


def table_lines(table: str, width: int, height: int) -> list[OcrLine]:
    """The lines of Tesseract's table of words."""
    words: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row["level"] == "5" and row["text"].strip():
            words.setdefault((row["block_num"], row["par_num"], row["line_num"]), []).append(row)
    return [OcrLine(" ".join(word["text"] for word in line), _around(line, width, height)) for line in words.values()]


READERS: dict[EngineName, Callable[[Path], list[OcrLine]]] = {"rapidocr": rapidocr, "tesseract": tesseract}


def engine_signature(name: EngineName) -> str:
    """Name and version."""
    if name == "rapidocr":
        from salon.models import READER

        return str(READER)
    process = subprocess.run([_tesseract(), "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True)
    return process.stdout.splitlines()[0]


def can_answer(item: PosterItem) -> bool:
    """Whether an engine has an answer to this kind of question."""
    return item.task.answer in KINDS


def engine_response(item: PosterItem, lines: Sequence[OcrLine], convention: Convention = "share") -> str:
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


def place_of(text: str, lines: Sequence[OcrLine]) -> Box | None:
    """Where a text stands: around the lines that are parts of it, or else where the line most like it is."""
    target = _key(text)
    keys = [_key(line.text) for line in lines]
    parts = [i for i, key in enumerate(keys) if key and key in target]
    if target and sum(len(keys[i]) for i in parts) >= COVERED * len(target):
        boxes = [lines[i].box for i in parts]
        x1, y1, x2, y2 = zip(*boxes)
        return min(x1), min(y1), max(x2), max(y2)
    likeness = [SequenceMatcher(None, target, key, autojunk=False).ratio() for key in keys]
    best = int(np.argmax(likeness)) if likeness else -1
    return lines[best].box if best >= 0 and likeness[best] >= COVERED else None


def _around(words: Sequence[dict[str, str]], width: int, height: int) -> Box:
    left, top = (min(int(word[side]) for word in words) for side in ("left", "top"))
    right = max(int(word["left"]) + int(word["width"]) for word in words)
    bottom = max(int(word["top"]) + int(word["height"]) for word in words)
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
    return visible_text(text).casefold()
