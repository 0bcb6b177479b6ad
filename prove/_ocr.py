"""Reading posters: an OCR engine on one thread, and which of the words that were set it found.

A word is what stands between spaces and holds a letter or a digit. Words are compared without case and without
anything but letters and digits; accents count. Engines put spaces wrong, so runs are compared: consecutive words of
one line as set, written together, with consecutive words of one line as read, written together. The longest runs are
struck out first, and every word read accounts for at most one run: a word set three times has to be read three times.
"""

from __future__ import annotations

import os
import subprocess
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

import cv2
import numpy as np
from rapidocr import RapidOCR

from salon.render.layout import Element, Layout
from salon.render.paint.png import encode_png

Lines = Sequence[Sequence[str]]
"""Words by line."""
Run = tuple[int, int, int]


def read(pixels: np.ndarray) -> list[str]:
    """The lines that RapidOCR finds in a whole picture, at its default settings and the picture's own size."""
    found = _engine()(np.ascontiguousarray(pixels[..., ::-1]))  # it takes blue first
    return list(found.txts or ())


@cache
def _engine() -> RapidOCR:
    cv2.setNumThreads(1)
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return RapidOCR(params={"Global.log_level": "critical", **threads})


def read_by_tesseract(pixels: np.ndarray) -> list[str]:
    """The lines that Tesseract finds, told to look for sparse text."""
    command = ["tesseract", "-", "-", "--psm", "11"]
    one_thread = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    done = subprocess.run(command, input=encode_png(pixels), capture_output=True, check=True, env=one_thread)
    return done.stdout.decode().splitlines()


def drawn_words(layout: Layout) -> list[tuple[Element, list[str]]]:
    """The lines of all texts as drawn, in words, each with its element."""
    texts = [element for element in layout.elements if element.lettering]
    return [(text, [word.text for word in line.words]) for text in texts for line in text.lettering.lines]


def asked_words(layout: Layout) -> list[list[str]]:
    """The words of every text as the brief has it, each text in one line."""
    return [(element.lettering.asked or "").split() for element in layout.elements if element.lettering]


def folded(words: Iterable[str]) -> list[str]:
    """Words as they are compared; those without a letter or digit are gone."""
    plain = (unicodedata.normalize("NFKC", word).casefold() for word in words)
    return [word for word in ("".join(filter(str.isalnum, word)) for word in plain) if word]


def found_words(wanted: Lines, read_lines: Iterable[str]) -> list[list[bool]]:
    """For every word of every line in `wanted` (as `folded` gives them), whether it was read."""
    left: list[list[str | None]] = [folded(line.split()) for line in read_lines]
    open_: list[list[str | None]] = [list(line) for line in wanted]
    places: dict[str, list[Run]] = {}
    for run, text in _runs(left):
        places.setdefault(text, []).append(run)
    for run, text in sorted(_runs(open_), key=lambda one: -len(one[1])):
        there = next((place for place in places.get(text, ()) if _whole(left, place)), None)
        if there and _whole(open_, run):
            _strike(left, there)
            _strike(open_, run)
    return [[word is None for word in line] for line in open_]


def _runs(lines: Sequence[Sequence[str | None]]) -> list[tuple[Run, str]]:
    """Every run of consecutive words of a line: (line, start, end), and the words written together."""
    return [
        ((row, start, stop), "".join(filter(None, line[start:stop])))
        for row, line in enumerate(lines)
        for start in range(len(line))
        for stop in range(start + 1, len(line) + 1)
    ]


def _whole(lines: Sequence[Sequence[str | None]], run: Run) -> bool:
    """Whether no word of it was struck."""
    row, start, stop = run
    return None not in lines[row][start:stop]


def _strike(lines: list[list[str | None]], run: Run) -> None:
    row, start, stop = run
    lines[row][start:stop] = [None] * (stop - start)
