"""The posters of the evidence: which are drawn, what is read in them, and what contrast their pixels have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from prove._ocr import asked_words, drawn_words, read, read_by_tesseract
from prove._pixel_contrast import pixel_contrast
from salon.generate import builtin_briefs
from salon.generate.houses import HOUSES
from salon.judge.measurements.text import fold_words, found_words
from salon.render import CATEGORIES, STYLES, Brief, Poster, contrast, draw_poster
from salon.render.paint.raster import paint

FADED = (0.0, 0.25, 0.5, 0.75, 1.0)
Case = tuple[Brief, int]
"""A brief with its style, and the seed of its poster."""


@dataclass(frozen=True)
class WordRead:
    """One word as drawn."""

    text: str
    role: str
    family: str
    size: float
    found: bool


@dataclass(frozen=True)
class Reading:
    """One poster, read."""

    brief: Brief
    seed: int
    words: tuple[WordRead, ...]
    lines: tuple[str, ...]
    """As read."""
    asked: int
    """Words the brief asks for ..."""
    asked_found: int
    changed: int
    """... of which so many were misspelled ..."""
    corrected: int
    """... and so many of these read as asked all the same."""

    @property
    def found(self) -> int:
        """Words as drawn that were read."""
        return sum(word.found for word in self.words)


@dataclass(frozen=True)
class Faded:
    """The contrast of one text at every strength of FADED: on record, and in the pixels."""

    poster: str
    style: str
    role: str
    effects: tuple[str, ...]
    recorded: tuple[float, ...]
    seen: tuple[float, ...]

    @property
    def falls(self) -> bool:
        """Whether the pixels lose contrast at every step."""
        return bool(np.all(np.diff(self.seen) < 0))


def sample(posters: int) -> Iterator[Case]:
    """Briefs drawn from all categories in turn, given the styles in turn, whatever style a brief asks for."""
    rng = np.random.default_rng(4)
    briefs = builtin_briefs()
    shuffled = [rng.permutation([i for i, b in enumerate(briefs) if b.category == name]) for name in CATEGORIES]
    in_turn = [briefs[i] for turn in zip_longest(*shuffled) for i in turn if i is not None]
    for seed, brief in enumerate(in_turn[:posters]):
        yield brief.model_copy(update={"style": STYLES[seed % len(STYLES)]}), seed


def drawn(case: Case, **knobs: float) -> tuple[Poster, np.ndarray]:
    """The poster and its pixels at their own size."""
    named = {kind.replace("_", "-"): strength for kind, strength in knobs.items()}
    poster = draw_poster(case[0], HOUSES["proof"].habits, seed=case[1], knobs=named)
    return poster, paint(poster.layers, poster.layout.width, poster.layout.height)


# -- words -----------------------------------------------------------------------------------------------------------


def read_poster(task: tuple[Case, float]) -> Reading:
    """One poster with a share of its words misspelled, read."""
    case, share = task
    poster, pixels = drawn(case, misspelling=share)
    lines = read(pixels)
    asked = [fold_words(words) for words in asked_words(poster.layout)]
    found = [one for line in found_words(asked, lines) for one in line]
    changed = words_changed(poster)
    corrected = sum(one and other for one, other in zip(found, changed, strict=True))
    return Reading(*case, words_read(poster, lines), tuple(lines), len(found), sum(found), sum(changed), corrected)


def read_again(case: Case) -> tuple[WordRead, ...]:
    """The words of a clean poster by the second engine."""
    poster, pixels = drawn(case)
    return words_read(poster, read_by_tesseract(pixels))


def words_read(poster: Poster, lines: Sequence[str]) -> tuple[WordRead, ...]:
    """Every word as drawn, and whether it is in the lines read."""
    set_lines = [(element, fold_words(words)) for element, words in drawn_words(poster.layout)]
    found = found_words([words for _, words in set_lines], lines)
    return tuple(
        WordRead(word, element.role, element.lettering.face.family, element.lettering.size, one)
        for (element, words), marks in zip(set_lines, found)
        for word, one in zip(words, marks)
    )


def words_changed(poster: Poster) -> list[bool]:
    """For every word asked for, whether the record has another in its place."""
    texts = [element.lettering for element in poster.layout.elements if element.lettering]
    pairs = ((fold_words(text.asked.split()), fold_words(text.text.split())) for text in texts)
    return [one != other for asked, made in pairs for one, other in zip(asked, made, strict=True)]


# -- contrast --------------------------------------------------------------------------------------------------------


def fade(case: Case) -> list[Faded]:
    """The texts of one poster while their contrast is taken away."""
    steps = [drawn(case, low_contrast=strength) for strength in FADED]
    found = []
    for element in steps[0][0].layout.elements:
        if element.lettering:
            texts = [(poster.element(element.id), pixels) for poster, pixels in steps]
            recorded = tuple(contrast(text.color, text.over) for text, _ in texts)
            seen = tuple(pixel_contrast(pixels, text) for text, pixels in texts)
            found.append(Faded(case[0].id, case[0].style, element.role, element.lettering.effects, recorded, seen))
    return found
