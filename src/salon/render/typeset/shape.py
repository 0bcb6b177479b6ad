"""From text to glyphs: one line of one face, reordered and shaped, with the exact ink of every word.

Shaping happens once per text in font units and is kept in ems (units of size); any size is then a multiplication, so
fitting a headline costs no second shaping. Coordinates have the baseline's left end at (0, 0) and y downwards.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import uharfbuzz

from salon.render.layout import Box, Face, Word
from salon.render.typeset.bidi import levels, visual_order
from salon.render.typeset.characters import cleaned, font_spans, script_of
from salon.render.typeset.fonts import Extents, LoadedFont, load_font

JOINED_SCRIPTS = frozenset({"ARABIC", "SYRIAC", "NKO", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI"})
"""Letters of a word hang together: no letter-spacing."""


class Placed(NamedTuple):
    """A glyph on its line, in ems."""

    font: LoadedFont
    glyph: int
    place: int
    """Of its first character in the line's text."""
    x: float
    y: float
    ink: Extents | None


class EmLine(NamedTuple):
    """A shaped line in ems: the glyphs from left to right."""

    text: str
    glyphs: tuple[Placed, ...]
    advance: float
    ink: Extents | None
    """Around all of it."""

    @property
    def inked(self) -> Extents:
        """The ink of a line that has some."""
        assert self.ink is not None
        return self.ink


class Cluster(NamedTuple):
    """What one character (or a ligature, at its first) adds to a line, in ems, in reading direction."""

    advance: float
    lead: float
    """Empty space before its ink."""
    trail: float
    """Empty space after it."""
    top: float
    """Ink above the baseline."""
    bottom: float
    """Ink below it."""


@dataclass(frozen=True, slots=True)
class Run:
    """Glyphs of one face, each at its own place."""

    face: str
    ids: tuple[int, ...]
    xs: tuple[float, ...]
    ys: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ShapedLine:
    """A line at a size and place, in pixels."""

    text: str
    size: float
    baseline: float
    runs: tuple[Run, ...]
    advance: float
    ink: Box
    words: tuple[Word, ...]
    """In reading order, each with its ink."""


def shape_line(
    text: str, face: Face, size: float, *, tracking: float = 0.0, shifts: Sequence[float] | None = None
) -> ShapedLine:
    """One line, reordered by the bidirectional algorithm; `shifts` moves glyphs sideways by pixels, left to right.

    `tracking` is added between letters in ems and turns ligatures off. Faces and scripts whose letters join ignore it.
    """
    text = cleaned(text).replace("\n", " ")
    return placed_line(em_line(text, face.key, 0, len(text), tracking=tracking), size, shifts=shifts)


def placed_line(
    line: EmLine, size: float, *, x: float = 0.0, baseline: float = 0.0, shifts: Sequence[float] | None = None
) -> ShapedLine:
    """An em line at a size with its origin at (x, baseline); an accent moves with the letter it belongs to."""
    moves = [x] * len(line.glyphs) if shifts is None else [x + move for move in _moves(line, shifts)]
    inks = [_scaled(glyph.ink, size, move, baseline) for glyph, move in zip(line.glyphs, moves)]
    return ShapedLine(
        line.text,
        size,
        baseline,
        _runs(line, size, moves, baseline),
        line.advance * size,
        _box([ink for ink in inks if ink]),
        _words(line, inks),
    )


@functools.lru_cache(maxsize=4096)
def em_line(text: str, key: str, start: int, end: int, *, tracking: float = 0.0, hyphen: bool = False) -> EmLine:
    """Characters `start` to `end` of a cleaned paragraph as a line of their own, perhaps with a hyphen added."""
    pieces = []
    for first, last, font, level in _pieces(text, key, start, end):
        part = text[first:last] + ("-" if hyphen and last == end else "")
        pieces.append((first - start, level, _shaped(part, font.key, level % 2 == 1, _space(part, font, tracking))))
    glyphs: list[Placed] = []
    pen = 0.0
    for index in visual_order([level for _, level, _ in pieces]):
        offset, _, shaped = pieces[index]
        for glyph in shaped:
            glyphs.append(_placed(glyph, offset, pen))
            pen += glyph.advance
    last_space = pieces[-1][2][-1].space if pieces and pieces[-1][2] else 0.0
    ink = around([glyph.ink for glyph in glyphs if glyph.ink])
    return EmLine(text[start:end] + ("-" if hyphen else ""), tuple(glyphs), pen - last_space, ink)


@functools.lru_cache(maxsize=1024)
def clusters(text: str, key: str, tracking: float = 0.0) -> tuple[Cluster, ...]:
    """What every character of a paragraph measures: enough to break and fit lines without shaping them."""
    empty = Cluster(0.0, 0.0, 0.0, 0.0, 0.0)
    found = [empty] * len(text)
    for first, last, font, level in _pieces(text, key, 0, len(text)):
        part = text[first:last]
        shaped = _shaped(part, font.key, level % 2 == 1, _space(part, font, tracking))
        for place, glyphs in itertools.groupby(shaped, key=lambda glyph: glyph.place):
            found[first + place] = _cluster(tuple(glyph[:5] for glyph in glyphs), level % 2 == 1)
    return tuple(found)


class _Glyph(NamedTuple):
    """A glyph as HarfBuzz gives it, in ems of its font."""

    font: LoadedFont
    glyph: int
    advance: float
    dx: float
    dy: float
    place: int
    space: float
    """The tracking inside `advance`."""


@functools.lru_cache(maxsize=4096)
def _shaped(text: str, key: str, backwards: bool, tracking: float) -> tuple[_Glyph, ...]:
    """A run of one font, script and direction, from left to right."""
    font = load_font(key)
    buffer = uharfbuzz.Buffer()
    buffer.add_codepoints([ord(character) for character in text])
    buffer.guess_segment_properties()
    buffer.direction = "rtl" if backwards else "ltr"
    features = {"liga": False, "clig": False, "dlig": False, "calt": False} if tracking else {}
    uharfbuzz.shape(font.hb, buffer, features)
    infos, positions, em = buffer.glyph_infos, buffer.glyph_positions, font.upem
    shaped = []
    for i, (info, at) in enumerate(zip(infos, positions)):
        ends_letter = i + 1 == len(infos) or infos[i + 1].cluster != info.cluster
        space = tracking if ends_letter else 0.0
        advance = at.x_advance / em + space
        shaped.append(
            _Glyph(font, info.codepoint, advance, at.x_offset / em, at.y_offset / em, info.cluster, space)
        )  # fmt: skip
    return tuple(shaped)


def _space(text: str, font: LoadedFont, tracking: float) -> float:
    """The letter-space this run can take."""
    if not tracking:
        return 0.0
    joined = font.family.joined or any(script_of(character) in JOINED_SCRIPTS for character in text)
    return 0.0 if joined else tracking


def _pieces(text: str, key: str, start: int, end: int) -> list[tuple[int, int, LoadedFont, int]]:
    """The span cut wherever font, direction or script changes: start, end, font, level."""
    deep = levels(text)
    pieces = []
    for first, last, font in font_spans(text, key):
        first, last = max(first, start), min(last, end)
        cut, script = first, None
        for place in range(first, last):
            found = script_of(text[place])
            if place > cut and (deep[place] != deep[place - 1] or (found and script not in (None, found))):
                pieces.append((cut, place, font, deep[cut]))
                cut, script = place, None
            script = found or script
        if cut < last:
            pieces.append((cut, last, font, deep[cut]))
    return pieces


def _placed(glyph: _Glyph, offset: int, pen: float) -> Placed:
    x, y = pen + glyph.dx, -glyph.dy
    return Placed(glyph.font, glyph.glyph, glyph.place + offset, x, y, _ink(glyph.font, glyph.glyph, x, y))


def _ink(font: LoadedFont, glyph: int, x: float, y: float) -> Extents | None:
    ink = font.extents(glyph)
    return ink and (x + ink[0], y + ink[1], x + ink[2], y + ink[3])


@functools.lru_cache(maxsize=16384)
def _cluster(glyphs: tuple[tuple[LoadedFont, int, float, float, float], ...], backwards: bool) -> Cluster:
    """The measures of one letter's glyphs: (font, glyph, advance, dx, dy) each."""
    pen, inks = 0.0, []
    for font, glyph, advance, dx, dy in glyphs:
        inks.append(_ink(font, glyph, pen + dx, -dy))
        pen += advance
    ink = around([ink for ink in inks if ink])
    if ink is None:
        return Cluster(pen, 0.0, 0.0, 0.0, 0.0)
    left, right = ink[0], pen - ink[2]
    lead, trail = (right, left) if backwards else (left, right)
    return Cluster(pen, lead, trail, -ink[1], ink[3])


def _moves(line: EmLine, shifts: Sequence[float]) -> list[float]:
    """The sideways shift of every glyph in pixels; missing ones are 0."""
    moves: list[float] = []
    for i, glyph in enumerate(line.glyphs):
        same = i > 0 and line.glyphs[i - 1].place == glyph.place
        moves.append(moves[-1] if same else shifts[i] if i < len(shifts) else 0.0)
    return moves


def _runs(line: EmLine, size: float, moves: list[float], baseline: float) -> tuple[Run, ...]:
    """Glyphs that leave a mark, gathered by face."""
    by_face: dict[str, tuple[list[int], list[float], list[float]]] = {}
    for glyph, move in zip(line.glyphs, moves):
        if glyph.ink:
            ids, xs, ys = by_face.setdefault(glyph.font.key, ([], [], []))
            ids.append(glyph.glyph)
            xs.append(round(glyph.x * size + move, 3))
            ys.append(round(glyph.y * size + baseline, 3))
    return tuple(Run(face, tuple(ids), tuple(xs), tuple(ys)) for face, (ids, xs, ys) in by_face.items())


def _words(line: EmLine, inks: list[Extents | None]) -> tuple[Word, ...]:
    """The words of a line with the ink of their glyphs; what has none is no word."""
    spans = list(re.finditer(r"\S+", line.text))
    word_at = [0] * (len(line.text) + 1)
    for number, span in enumerate(spans):
        word_at[span.start() : span.end()] = [number] * (span.end() - span.start())
    gathered: list[list[Extents]] = [[] for _ in spans]
    for glyph, ink in zip(line.glyphs, inks):
        if ink:
            gathered[word_at[glyph.place]].append(ink)
    return tuple(Word(text=span.group(), box=_box(inks)) for span, inks in zip(spans, gathered) if inks)


def _scaled(ink: Extents | None, size: float, x: float, y: float) -> Extents | None:
    return ink and (ink[0] * size + x, ink[1] * size + y, ink[2] * size + x, ink[3] * size + y)


def around(inks: Sequence[Extents]) -> Extents | None:
    """The extents around some ink, None for none."""
    if len(inks) < 2:
        return inks[0] if inks else None
    lefts, tops, rights, bottoms = zip(*inks)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _box(inks: list[Extents]) -> Box:
    """The box around some ink, in hundredths of a pixel; empty where there is none."""
    left, top, right, bottom = around(inks) or (0.0, 0.0, 0.0, 0.0)
    return Box(x=round(left, 2), y=round(top, 2), width=round(right - left, 2), height=round(bottom - top, 2))
