"""Reading posters: OCR engines on one thread, and the words that were set."""

from __future__ import annotations

import os
import subprocess

import numpy as np

from salon.models.ocr import read_text
from salon.render import Element, Layout, encode_png


def read(pixels: np.ndarray) -> list[str]:
    """The lines that RapidOCR finds in a whole picture, at its default settings and the picture's own size."""
    return [line.text for line in read_text(pixels).lines]


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
