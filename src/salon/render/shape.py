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

from salon.render.bidi import levels, visual_order
from salon.render.characters import cleaned, font_spans, script_of
from salon.render.fonts import LoadedFont, load_font
from salon.render.layout import Box, Face, Word

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
    ink: tuple[float, float, float, float] | None
    """Left, top, right, bottom; None where there is nothing to see."""


class EmLine(NamedTuple):
    """A shaped line in ems: the glyphs from left to right."""

    text: str
    glyphs: tuple[Placed, ...]
    advance: float

    @property
    def ink(self) -> list[tuple[float, float, float, float]]:
        """The ink of every glyph that has any, from left to right."""
        return [glyph.ink for glyph in self.glyphs if glyph.ink]


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
    """A line at a size, in pixels."""

    text: str
    size: float
    runs: tuple[Run, ...]
    advance: float
    ink: Box
    words: tuple[Word, ...]
    """In reading order, each with its ink."""
    cap_height: float
    x_height: float


def shape_line(
    text: str, face: Face, size: float, *, tracking: float = 0.0, shifts: Sequence[float] | None = None
) -> ShapedLine:
    """One line, reordered by the bidirectional algorithm; `shifts` moves glyphs sideways by pixels, left to right.

    `tracking` is added between letters in ems and turns ligatures off. Faces and scripts whose letters join ignore it.
    """
    text = cleaned(text)
    return scaled(em_line(text, face.key, 0, len(text), tracking=tracking), face, size, shifts)


def scaled(line: EmLine, face: Face, size: float, shifts: Sequence[float] | None = None) -> ShapedLine:
    """An em line at a size; a glyph of the same letter as its left neighbour (an accent) moves with it."""
    moves = _moves(line, shifts or ())
    runs = _runs(line, size, moves)
    inks = [_moved(glyph.ink, size, move) for glyph, move in zip(line.glyphs, moves)]
    words = [(m.group(), _box([i for g, i in zip(line.glyphs, inks) if i and m.start() <= g.place < m.end()]))
             for m in re.finditer(r"\S+", line.text)]  # fmt: skip
    font = load_font(face)
    return ShapedLine(
        line.text,
        size,
        runs,
        line.advance * size,
        _box([ink for ink in inks if ink]),
        tuple(Word.model_construct(text=word, box=box) for word, box in words),
        font.cap_height / font.upem * size,
        font.x_height / font.upem * size,
    )


@functools.lru_cache(maxsize=16384)
def em_line(text: str, key: str, start: int, end: int, *, tracking: float = 0.0, hyphen: bool = False) -> EmLine:
    """Characters `start` to `end` of a cleaned paragraph as a line of their own, perhaps with a hyphen added."""
    pieces = []
    for first, last, font, level in _pieces(text, key, start, end):
        part = text[first:last] + ("-" if hyphen and last == end else "")
        pieces.append(
            (first - start, level, _shaped(part, font.face.key, level % 2 == 1, _space(part, font, tracking)))
        )
    glyphs: list[Placed] = []
    pen = 0.0
    for index in visual_order([level for _, level, _ in pieces]):
        offset, _, shaped = pieces[index]
        for glyph in shaped:
            glyphs.append(_placed(glyph, offset, pen))
            pen += glyph.advance
    last_space = pieces[-1][2][-1].space if pieces and pieces[-1][2] else 0.0
    return EmLine(text[start:end] + ("-" if hyphen else ""), tuple(glyphs), pen - last_space)


@functools.lru_cache(maxsize=4096)
def clusters(text: str, key: str, tracking: float = 0.0) -> tuple[Cluster, ...]:
    """What every character of a paragraph measures: enough to break and fit lines without shaping them."""
    empty = Cluster(0.0, 0.0, 0.0, 0.0, 0.0)
    found = [empty] * len(text)
    for first, last, font, level in _pieces(text, key, 0, len(text)):
        part = text[first:last]
        shaped = _shaped(part, font.face.key, level % 2 == 1, _space(part, font, tracking))
        for place, glyphs in itertools.groupby(shaped, key=lambda glyph: glyph.place):
            found[first + place] = _cluster(list(glyphs), backwards=level % 2 == 1)
    return tuple(found)


class _Glyph(NamedTuple):
    """A glyph as HarfBuzz gives it, in ems of its font."""

    font: LoadedFont
    glyph: int
    place: int
    advance: float
    dx: float
    dy: float
    space: float
    """The tracking inside `advance`."""


@functools.lru_cache(maxsize=16384)
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
        shaped.append(_Glyph(font, info.codepoint, info.cluster, at.x_advance / em + space,
                             at.x_offset / em, at.y_offset / em, space))  # fmt: skip
    return tuple(shaped)


def _space(text: str, font: LoadedFont, tracking: float) -> float:
    """The letter-space this run can take."""
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
    extents = glyph.font.extents(glyph.glyph)
    ink = None
    if extents:
        em = glyph.font.upem
        left, lowest, right, highest = extents
        ink = (x + left / em, y - highest / em, x + right / em, y - lowest / em)
    return Placed(glyph.font, glyph.glyph, glyph.place + offset, x, y, ink)


def _cluster(glyphs: list[_Glyph], *, backwards: bool) -> Cluster:
    pen, inks = 0.0, []
    for glyph in glyphs:
        inks.append(_placed(glyph, 0, pen).ink)
        pen += glyph.advance
    drawn = [ink for ink in inks if ink]
    if not drawn:
        return Cluster(pen, 0.0, 0.0, 0.0, 0.0)
    left, right = min(ink[0] for ink in drawn), pen - max(ink[2] for ink in drawn)
    lead, trail = (right, left) if backwards else (left, right)
    return Cluster(pen, lead, trail, -min(ink[1] for ink in drawn), max(ink[3] for ink in drawn))


def _moves(line: EmLine, shifts: Sequence[float]) -> list[float]:
    """The sideways shift of every glyph in pixels; missing ones are 0."""
    moves: list[float] = []
    for i, glyph in enumerate(line.glyphs):
        same = i > 0 and line.glyphs[i - 1].place == glyph.place
        moves.append(moves[-1] if same else shifts[i] if i < len(shifts) else 0.0)
    return moves


def _runs(line: EmLine, size: float, moves: list[float]) -> tuple[Run, ...]:
    """Glyphs that leave a mark, gathered by face."""
    by_face: dict[str, tuple[list[int], list[float], list[float]]] = {}
    for glyph, move in zip(line.glyphs, moves):
        if glyph.ink:
            ids, xs, ys = by_face.setdefault(glyph.font.face.key, ([], [], []))
            ids.append(glyph.glyph)
            xs.append(glyph.x * size + move)
            ys.append(glyph.y * size)
    return tuple(Run(face, tuple(ids), tuple(xs), tuple(ys)) for face, (ids, xs, ys) in by_face.items())


def _moved(ink: tuple[float, float, float, float] | None, size: float, move: float):
    return ink and (ink[0] * size + move, ink[1] * size, ink[2] * size + move, ink[3] * size)


def _box(inks: list[tuple[float, float, float, float]]) -> Box:
    """The box around some ink; empty at the origin where there is none."""
    if not inks:
        return Box.model_construct(x=0.0, y=0.0, width=0.0, height=0.0)
    left, top = min(ink[0] for ink in inks), min(ink[1] for ink in inks)
    right, bottom = max(ink[2] for ink in inks), max(ink[3] for ink in inks)
    return Box.model_construct(x=left, y=top, width=right - left, height=bottom - top)
