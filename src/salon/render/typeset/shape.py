"""From text to glyphs: one line of one face, reordered and shaped, with the exact ink of every word.

Shaping happens once per text in font units and is kept in ems (units of size); any size is then a multiplication, so
fitting a headline costs no second shaping. Coordinates have the baseline's left end at (0, 0) and y downwards.

The order of characters is that of the Unicode bidirectional algorithm (UAX #9) for one paragraph. Everything plain text
needs is there: the paragraph's direction (P2, P3), weak types (W1-W7), paired brackets (N0), neutrals (N1, N2),
implicit levels (I1, I2), line ends (L1) and reordering (L2). Explicit embeddings, overrides and isolates (X1-X8) are
not: their control characters are refused before text gets here (`typeset.characters`); the marks LRM, RLM and ALM are
ordinary strong characters and work. Mirroring (L4) is HarfBuzz's.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import uharfbuzz

from salon.render.layout import Box, Face, TextWord
from salon.render.typeset.characters import cleaned, font_spans, script_of
from salon.render.typeset.fonts import Extents, LoadedFont, load_font

JOINED_SCRIPTS = frozenset({"ARABIC", "SYRIAC", "NKO", "MONGOLIAN", "DEVANAGARI", "BENGALI", "GURMUKHI"})
"""Letters of a word hang together: no letter-spacing."""


class PlacedGlyph(NamedTuple):
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
    glyphs: tuple[PlacedGlyph, ...]
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
class GlyphRun:
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
    runs: tuple[GlyphRun, ...]
    advance: float
    ink: Box
    words: tuple[TextWord, ...]
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
    inks = [
        ink and (ink[0] * size + move, ink[1] * size + baseline, ink[2] * size + move, ink[3] * size + baseline)
        for ink, move in zip((glyph.ink for glyph in line.glyphs), moves)
    ]
    # glyphs that leave a mark, gathered by face
    by_face: dict[str, tuple[list[int], list[float], list[float]]] = {}
    for glyph, move in zip(line.glyphs, moves):
        if glyph.ink:
            ids, xs, ys = by_face.setdefault(glyph.font.key, ([], [], []))
            ids.append(glyph.glyph)
            xs.append(round(glyph.x * size + move, 3))
            ys.append(round(glyph.y * size + baseline, 3))
    return ShapedLine(
        line.text,
        size,
        baseline,
        tuple(GlyphRun(face, tuple(ids), tuple(xs), tuple(ys)) for face, (ids, xs, ys) in by_face.items()),
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
    glyphs: list[PlacedGlyph] = []
    pen = 0.0
    for index in visual_order([level for _, level, _ in pieces]):
        offset, _, shaped = pieces[index]
        for glyph in shaped:
            x, y = pen + glyph.dx, -glyph.dy
            ink = _ink(glyph.font, glyph.glyph, x, y)
            glyphs.append(PlacedGlyph(glyph.font, glyph.glyph, glyph.place + offset, x, y, ink))
            pen += glyph.advance
    last_space = pieces[-1][2][-1].space if pieces and pieces[-1][2] else 0.0
    all_ink = around([glyph.ink for glyph in glyphs if glyph.ink])
    return EmLine(text[start:end] + ("-" if hyphen else ""), tuple(glyphs), pen - last_space, all_ink)


@functools.lru_cache(maxsize=1024)
def clusters(text: str, key: str, tracking: float = 0.0) -> tuple[Cluster, ...]:
    """What every character of a paragraph measures: enough to break and fit lines without shaping them."""
    empty = Cluster(0.0, 0.0, 0.0, 0.0, 0.0)
    measures = [empty] * len(text)
    for first, last, font, level in _pieces(text, key, 0, len(text)):
        part = text[first:last]
        shaped = _shaped(part, font.key, level % 2 == 1, _space(part, font, tracking))
        for place, glyphs in itertools.groupby(shaped, key=lambda glyph: glyph.place):
            measures[first + place] = _cluster(tuple(glyph[:5] for glyph in glyphs), level % 2 == 1)
    return tuple(measures)


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
            own = script_of(text[place])
            if place > cut and (deep[place] != deep[place - 1] or (own and script not in (None, own))):
                pieces.append((cut, place, font, deep[cut]))
                cut, script = place, None
            script = own or script
        if cut < last:
            pieces.append((cut, last, font, deep[cut]))
    return pieces


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


def _words(line: EmLine, inks: list[Extents | None]) -> tuple[TextWord, ...]:
    """The words of a line with the ink of their glyphs; what has none is no word."""
    spans = list(re.finditer(r"\S+", line.text))
    word_at = [0] * (len(line.text) + 1)
    for number, span in enumerate(spans):
        word_at[span.start() : span.end()] = [number] * (span.end() - span.start())
    gathered: list[list[Extents]] = [[] for _ in spans]
    for glyph, ink in zip(line.glyphs, inks):
        if ink:
            gathered[word_at[glyph.place]].append(ink)
    return tuple(TextWord(text=span.group(), box=_box(inks)) for span, inks in zip(spans, gathered) if inks)


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


# Direction


BRACKETS = dict(zip("([{⁅⁽₍〈⟦⟨⟪⟬⟮⦃⦅「『【〔〖〘〚（［｛｟｢", ")]}⁆⁾₎〉⟧⟩⟫⟭⟯⦄⦆」』】〕〗〙〛）］｝｠｣", strict=True))
CLOSING = {closing: opening for opening, closing in BRACKETS.items()}
NEUTRAL = ("B", "S", "WS", "ON")


def base_level(text: str) -> int:
    """0 for a paragraph read from the left, 1 from the right: the direction of its first letter (P2, P3)."""
    for character in text:
        kind = unicodedata.bidirectional(character)
        if kind in ("L", "R", "AL"):
            return int(kind != "L")
    return 0


@functools.lru_cache(maxsize=1024)
def levels(text: str, base: int | None = None) -> tuple[int, ...]:
    """The embedding level of every character: even runs to the right, odd to the left."""
    base = base_level(text) if base is None else base
    kinds = [unicodedata.bidirectional(character) or "L" for character in text]
    if base == 0 and not any(kind in ("R", "AL", "AN") for kind in kinds):
        return (0,) * len(text)
    direction = "R" if base else "L"
    original = list(kinds)
    _weak(kinds, direction)
    _brackets(text, original, kinds, direction)
    for start, end in _spans_of(kinds, NEUTRAL):
        before = _strong(kinds[start - 1]) if start else direction
        after = _strong(kinds[end]) if end < len(kinds) else direction
        kinds[start:end] = [before if before is not None and before == after else direction] * (end - start)
    implicit = {"R": 1} if base else {"L": 0, "R": 1}
    deep = [implicit.get(kind, 2) for kind in kinds]  # I1, I2
    for i in reversed(range(len(deep))):  # trailing white space keeps to the paragraph's end (L1)
        if original[i] not in ("WS", "BN"):
            break
        deep[i] = base
    return tuple(deep)


def visual_order(levels: Sequence[int]) -> list[int]:
    """Positions from left to right for the levels of one line (L2): reverse every run at least so deep."""
    order = list(range(len(levels)))
    for depth in range(max(levels, default=0), 0, -1):
        start = 0
        while start < len(order):
            end = start
            while end < len(order) and levels[order[end]] >= depth:
                end += 1
            order[start:end] = order[start:end][::-1]
            start = max(end, start + 1)
    return order


def _weak(kinds: list[str], direction: str) -> None:
    """Marks, numbers and their separators (W1-W7)."""
    strong = previous = direction
    for i, kind in enumerate(kinds):  # W1-W3
        if kind in ("NSM", "BN"):
            kind = previous
        previous = kind
        if kind in ("L", "R", "AL"):
            strong = kind
        if kind == "EN" and strong == "AL":
            kind = "AN"
        kinds[i] = kind
    for i in range(1, len(kinds) - 1):  # W4
        before, kind, after = kinds[i - 1 : i + 2]
        if before == after and ((kind == "ES" and before == "EN") or (kind == "CS" and before in ("EN", "AN"))):
            kinds[i] = before
    for start, end in _spans_of(kinds, ("ET",)):  # W5
        if "EN" in (kinds[start - 1] if start else None, kinds[end] if end < len(kinds) else None):
            kinds[start:end] = ["EN"] * (end - start)
    strong = direction
    for i, kind in enumerate(kinds):  # W3, W6, W7
        if kind in ("L", "R", "AL"):
            strong = kind
        if kind == "AL":
            kinds[i] = "R"
        elif kind in ("ES", "ET", "CS"):
            kinds[i] = "ON"
        elif kind == "EN" and strong == "L":
            kinds[i] = "L"


def _brackets(text: str, original: list[str], kinds: list[str], direction: str) -> None:
    """Paired brackets take one direction together (N0)."""
    for opening, closing in _pairs(text, kinds):
        inside = {_strong(kind) for kind in kinds[opening + 1 : closing]} - {None}
        if direction in inside:
            chosen = direction
        elif inside:
            before = (_strong(kind) for kind in reversed(kinds[:opening]))
            context = next((kind for kind in before if kind), direction)
            chosen = context if context in inside else direction
        else:
            continue
        for place in (opening, closing):
            kinds[place] = chosen
            after = place + 1
            while after < len(kinds) and original[after] == "NSM":
                kinds[after] = chosen
                after += 1


def _pairs(text: str, kinds: list[str]) -> list[tuple[int, int]]:
    """The places of matching brackets, in the order of the opening ones (BD16)."""
    stack: list[int] = []
    pairs = []
    for i, character in enumerate(text):
        if kinds[i] != "ON":
            continue
        if character in BRACKETS:
            stack.append(i)
        elif character in CLOSING:
            match = next((n for n in reversed(range(len(stack))) if text[stack[n]] == CLOSING[character]), None)
            if match is not None:
                pairs.append((stack[match], i))
                del stack[match:]
    return sorted(pairs)


def _strong(kind: str) -> str | None:
    """The direction a resolved type counts as among neutrals: numbers run with right-to-left text."""
    return {"L": "L", "R": "R", "EN": "R", "AN": "R"}.get(kind)


def _spans_of(kinds: list[str], types: tuple[str, ...]) -> list[tuple[int, int]]:
    """Maximal spans whose types are all among `types`."""
    spans = []
    start = 0
    while start < len(kinds):
        end = start
        while end < len(kinds) and kinds[end] in types:
            end += 1
        if end > start:
            spans.append((start, end))
        start = max(end, start + 1)
    return spans
