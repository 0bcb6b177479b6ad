"""Setting a text in a frame: the largest size that fits, its lines in place, its glyphs ready to draw.

The ink stays inside the frame. Lines align by their ink, not by the invisible space beside letters, so that left edges
of large and small type are true. The first line hangs from its capitals, and `middle` centres from capitals to last
baseline, as the eye does.

A line may end where the essentials of Unicode line breaking (UAX #14) allow it, from properties Python already knows:
at spaces, after hyphens and dashes, and between ideographs or kana, but never before closing punctuation, small kana or
a mark, never after an opening bracket, and never beside a no-break space. Scripts that write no spaces between words
and need a dictionary (Thai, Khmer) break only at the spaces there are.
"""

from __future__ import annotations

import functools
import itertools
import math
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from salon.errors import BadValue, shorten
from salon.render.brief import Align
from salon.render.layout import Box, Face, TextLine
from salon.render.marks import Command, Glyphs, Paint, Path
from salon.render.typeset.characters import cleaned, script_of
from salon.render.typeset.fonts import load_font
from salon.render.typeset.shape import JOINED_SCRIPTS, Cluster, EmLine, clusters, em_line, placed_line

STEP = 0.25
"""Sizes are whole multiples of this many pixels, so that a fit is the same number everywhere."""
LONGEST = 20_000
"""Characters beyond which no frame of a poster is tried."""
CLEARANCE = 0.02
"""Least distance in ems between ink of one line and the next."""


class TooMuchText(BadValue):
    """A text does not fit its frame even at the smallest size allowed."""


@dataclass(frozen=True, slots=True)
class SetText:
    """A text with every line, word and glyph in place, in canvas pixels."""

    text: str
    face: Face
    size: float
    leading: float
    """In ems: as asked, or more where lines would have run into one another."""
    tracking: float
    align: Align
    lines: tuple[TextLine, ...]
    glyphs: tuple[Glyphs, ...]
    """In reading order, one or more per line."""
    box: Box
    """Around all ink."""


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines of a text in ems, before they have a size."""

    lines: tuple[EmLine, ...]
    leading: float
    cap: float
    """Capitals of the first line above its baseline."""
    top: float
    """From the block's top to the first baseline."""
    bottom: float
    """Ink below the last baseline."""
    width: float

    @property
    def height(self) -> float:
        return self.top + (len(self.lines) - 1) * self.leading + self.bottom


def set_text(
    text: str,
    face: Face,
    frame: Box,
    *,
    size: float,
    smallest: float,
    leading: float,
    align: Align = "left",
    valign: Literal["top", "middle", "bottom"] = "top",
    tracking: float = 0.0,
    paint: Paint,
    max_lines: int | None = None,
    balanced: bool = True,
    touching: bool = False,
    kerning: float = 0.0,
    shifts_rng: np.random.Generator | None = None,
    role: str = "text",
) -> SetText:
    """The text at the largest size up to `size` that fits the frame, or `TooMuchText` if `smallest` does not.

    `leading` and `tracking` are in ems. `balanced` makes lines equally long (headlines); otherwise lines are filled
    (running text). `touching` lets lines collide when the leading is that tight. `kerning` is the standard deviation,
    in ems, of random changes of the gaps between letters, drawn from `shifts_rng`; the ends of a line stay put.
    """
    if not 0 < smallest <= size or not leading > 0 or not math.isfinite(size + leading):
        raise BadValue(
            "sizes with 0 < smallest <= size and a leading above 0 are needed",
            found=f"size {size:g}, smallest {smallest:g}, leading {leading:g}",
            where=role,
        )
    if len(text) > LONGEST:
        raise TooMuchText(
            f"a {role} of at most {LONGEST:,} characters is needed",
            found=f"{len(text):,} characters",
            where=role,
            remedy=f"shorten the {role}",
        )
    plain = cleaned(text, where=role)
    measured = [paragraph(part.strip(), face.key, tracking) for part in plain.split("\n")]
    parts = [part for part in measured if any(cluster.top or cluster.bottom for cluster in part.clusters)]
    if not parts:
        raise BadValue(f"a {role} with something to read is needed", found=repr(text), where=role)
    fit = _Fit(parts, frame, leading, max_lines, balanced, touching, align)
    result = fit.largest(size, smallest)
    if result is None:
        raise _too_much(fit, plain, smallest, role)
    chosen, block = result
    placed = [
        placed_line(line, chosen, x=x, baseline=y, shifts=_shifts(line, kerning * chosen, shifts_rng))
        for line, x, y in _places(block, chosen, frame, align, valign)
    ]
    glyphs = tuple(Glyphs(run.face, chosen, run.ids, run.xs, run.ys, paint) for line in placed for run in line.runs)
    lines = tuple(TextLine(text=p.text, box=p.ink, baseline=round(p.baseline, 2), words=p.words) for p in placed)
    left, top = min(line.box.x for line in lines), min(line.box.y for line in lines)
    right, bottom = max(line.box.right for line in lines), max(line.box.bottom for line in lines)
    box = Box(x=left, y=top, width=round(right - left, 2), height=round(bottom - top, 2))
    return SetText(" ".join(plain.split()), face, chosen, round(block.leading, 4), tracking, align, lines, glyphs, box)


def outlines(glyphs: Glyphs) -> Path:
    """The letters' outlines as one path on the canvas."""
    font = load_font(glyphs.face)
    unit = glyphs.size / font.upem
    commands: list[Command] = []
    for glyph, x, y in zip(glyphs.ids, glyphs.xs, glyphs.ys):
        for command in font.outline(glyph):
            points = (
                round(y - value * unit if index % 2 else x + value * unit, 3) for index, value in enumerate(command[1:])
            )
            commands.append((command[0], *points))
    return Path(tuple(commands))


@dataclass(frozen=True, slots=True)
class _Fit:
    """Tries sizes for one text in one frame."""

    parts: list[Paragraph]
    frame: Box
    leading: float
    max_lines: int | None
    balanced: bool
    touching: bool
    align: Align

    def largest(self, size: float, smallest: float) -> tuple[float, _Block] | None:
        """The largest size that fits and its block: with whole words if at all possible, else with cut ones."""
        whole = self._search(self.parts, size, smallest)
        if whole:
            return whole
        return self._search([with_cut_words(part, self.frame.width / smallest) for part in self.parts], size, smallest)

    def _search(self, parts: list[Paragraph], size: float, smallest: float) -> tuple[float, _Block] | None:
        """By measures of the characters first: usually lines are shaped for that size only."""
        high = max(1, math.floor(size / STEP))
        low = min(math.ceil(smallest / STEP), high)
        most = _last_true(lambda steps: self._seems_to_fit(parts, steps * STEP), low, high)
        if most is None:
            return None
        block = self._fitting(parts, most * STEP)
        if block is None:
            most = _last_true(lambda steps: self._fitting(parts, steps * STEP) is not None, low, most - 1)
            block = self._fitting(parts, most * STEP) if most else None
        return (most * STEP, block) if most and block else None

    def _fitting(self, parts: list[Paragraph], size: float) -> _Block | None:
        """The lines at this size, if they do fit the frame."""
        if not self._seems_to_fit(parts, size):
            return None
        block = self._block(parts, size)
        fits = block.width * size <= self.frame.width and block.height * size <= self.frame.height
        return block if fits else None

    def _seems_to_fit(self, parts: list[Paragraph], size: float) -> bool:
        """By measures of the characters alone, without shaping any line."""
        all_breaks: list[list[int]] = []
        for part in parts:
            breaks = fewest(part, self.frame.width / size)
            if breaks is None:
                return False
            all_breaks.append(breaks)
        count = sum(len(breaks) - 1 for breaks in all_breaks)
        if self.max_lines is not None and count > self.max_lines:
            return False
        first = parts[0].clusters[: parts[0].places[all_breaks[0][1]]]
        last = parts[-1].clusters[parts[-1].places[all_breaks[-1][-2]] :]
        ink = max(cluster.top for cluster in first) + max(cluster.bottom for cluster in last)
        return ((count - 1) * self.leading + ink) * size <= self.frame.height

    def _block(self, parts: list[Paragraph], size: float) -> _Block:
        lines = []
        for part in parts:
            breaks = best(part, self.frame.width / size, balanced=self.balanced)
            assert breaks is not None  # it seemed to fit
            shaped = (part.line(*pair) for pair in itertools.pairwise(breaks))
            lines += [line for line in shaped if line.ink]  # a line of joiners or blanks would be an empty row
        leading = self.leading
        if not self.touching:
            for pair in itertools.pairwise(lines):
                leading = _least_leading(*pair, self.align, leading)
        cap = next(glyph.font for glyph in lines[0].glyphs if glyph.ink).cap_height
        width = max(line.inked[2] - line.inked[0] for line in lines)
        top, bottom = max(cap, -lines[0].inked[1]), max(0.0, lines[-1].inked[3])
        return _Block(tuple(lines), leading, cap, top, bottom, width)


def _last_true(holds: Callable[[int], bool], low: int, high: int) -> int | None:
    """The last number from `low` to `high` for which something holds that holds up to some number; None for none."""
    if low > high or not holds(low):
        return None
    if holds(high):  # most texts have room for the size they ask
        return high
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _least_leading(upper: EmLine, lower: EmLine, align: Align, enough: float) -> float:
    """The distance of baselines, from `enough` up, at which no letter's box touches one of the line above."""
    if upper.inked[3] - lower.inked[1] + CLEARANCE <= enough:
        return enough
    to_left, to_right = upper.inked[0] - lower.inked[0], upper.inked[2] - lower.inked[2]
    shift = {"left": to_left, "right": to_right, "center": (to_left + to_right) / 2}[align]
    above = [glyph.ink for glyph in upper.glyphs if glyph.ink]
    least = enough
    for left, top, right, _ in (glyph.ink for glyph in lower.glyphs if glyph.ink):
        reach = max((ink[3] for ink in above if ink[0] < right + shift and left + shift < ink[2]), default=-math.inf)
        least = max(least, reach - top + CLEARANCE)
    return least


def _too_much(fit: _Fit, text: str, smallest: float, role: str) -> TooMuchText:
    """The error with an estimate of what would fit, from the mean width of this text's own characters."""
    whole = " ".join(text.split())
    mean = sum(part.pens[-1] for part in fit.parts) / max(1, sum(len(part.text) for part in fit.parts))
    lines = max(1, int(fit.frame.height / smallest / fit.leading))
    lines = min(lines, fit.max_lines or lines)
    room = int(fit.frame.width / smallest / mean) * lines
    return TooMuchText(
        f"a {role} that fits {fit.frame.width:.0f} x {fit.frame.height:.0f} px at size {smallest:g} is needed",
        found=f"{len(whole):,} characters: {shorten(whole, 60)!r}",
        where=role,
        remedy=f"shorten it to about {room:,} characters, or give it more room",
    )


def _shifts(line: EmLine, deviation: float, rng: np.random.Generator | None) -> list[float] | None:
    """Sideways shifts whose differences between neighbours have this deviation; the ends of the line stay."""
    if rng is None or deviation == 0 or len(line.glyphs) < 3:
        return None
    inner = rng.normal(0.0, deviation / math.sqrt(2), len(line.glyphs) - 2)
    return [0.0, *inner.tolist(), 0.0]


def _places(block: _Block, size: float, frame: Box, align: Align, valign: str) -> list[tuple[EmLine, float, float]]:
    """Every line with the x of its origin and the y of its baseline."""
    spread = (len(block.lines) - 1) * block.leading * size
    highest, lowest = frame.y + block.top * size, frame.bottom - block.bottom * size - spread
    baselines = {"top": highest, "middle": frame.y + (frame.height + block.cap * size - spread) / 2, "bottom": lowest}
    baseline = max(highest, min(lowest, baselines[valign]))
    places = []
    for number, line in enumerate(block.lines):
        left, _, right, _ = line.inked
        room = frame.width - (right - left) * size
        x = frame.x + {"left": 0.0, "center": room / 2, "right": room}[align] - left * size
        places.append((line, x, baseline + number * block.leading * size))
    return places


# Paragraphs into lines: the fewest lines that fit, made even for headlines or quietly ragged for running text


SHORT_WORD = 3
"""A line that ends in a word of so few letters ('a', 'of', 'the') reads as if something were torn off."""
VOWELS = frozenset("aeiouyæøœαεηιουωаеёиоуыэюяієї")
BLENDING = frozenset("hlrлр")
HYPHEN = 0.35
"""Width kept for an added hyphen, in ems."""


@dataclass(frozen=True)
class Paragraph:
    """A text without line ends, measured in one face; all lengths in ems."""

    text: str
    key: str
    tracking: float
    places: tuple[int, ...]
    """Where a line may start or end: 0, every chance to break, the end."""
    cuts: frozenset[int] = frozenset()
    """Those places that cut a word."""

    @functools.cached_property
    def clusters(self) -> tuple[Cluster, ...]:
        """Every character's measures."""
        return clusters(self.text, self.key, self.tracking)

    @functools.cached_property
    def pens(self) -> list[float]:
        """Where each character starts, were it all one line."""
        return list(itertools.accumulate((cluster.advance for cluster in self.clusters), initial=0.0))

    @functools.cached_property
    def ends(self) -> list[int]:
        """For every place, where the ink of a line that ends there stops: before spaces and a soft hyphen."""
        return [len(self.text[:place].rstrip(" \u3000\u00ad\u200b")) for place in self.places]

    @functools.cached_property
    def ink_starts(self) -> list[float]:
        """For every place but the last, the ink's start in a line that starts there."""
        return [self.pens[place] + self.clusters[place].lead for place in self.places[:-1]]

    @functools.cached_property
    def ink_ends(self) -> list[float]:
        """For every place, the ink's end in a line that ends there, with its hyphen if it shows one."""
        return [
            self.pens[end] - (self.clusters[end - 1].trail if end else 0.0) + HYPHEN * self.hyphen(place)
            for place, end in zip(self.places, self.ends)
        ]

    @functools.cached_property
    def awkwardness(self) -> list[float]:
        """For every place, how badly it ends a line, as a share of the line's square."""
        return [_awkwardness(self, place, end) for place, end in zip(self.places, self.ends)]

    def hyphen(self, place: int) -> bool:
        """Whether a line that ends here shows a hyphen."""
        return place in self.cuts or (0 < place < len(self.text) and self.text[place - 1] == "\u00ad")

    def width(self, first: int, last: int) -> float:
        """Ink from end to end of the line between two places, given by number."""
        return self.ink_ends[last] - self.ink_starts[first]

    def line(self, first: int, last: int) -> EmLine:
        """The line between two places, given by number, as it will be set."""
        hyphen = self.hyphen(self.places[last])
        return em_line(
            self.text, self.key, self.places[first], self.ends[last], tracking=self.tracking, hyphen=hyphen
        )  # fmt: skip


@functools.lru_cache(maxsize=1024)
def paragraph(text: str, key: str, tracking: float = 0.0) -> Paragraph:
    """A cleaned text of one paragraph, measured."""
    return Paragraph(text, key, tracking, (0, *break_places(text)))


def fewest(whole: Paragraph, width: float) -> list[int] | None:
    """Numbers of the places between lines, both ends included, when each line takes all it can; None if one cannot."""
    starts, ends = whole.ink_starts, whole.ink_ends
    breaks = [0]
    for last in range(1, len(ends)):
        if ends[last] - starts[breaks[-1]] > width:
            if breaks[-1] == last - 1 or ends[last] - starts[last - 1] > width:
                return None
            breaks.append(last - 1)
    return [*breaks, len(ends) - 1]


def best(whole: Paragraph, width: float, *, balanced: bool) -> list[int] | None:
    """As `fewest`, with lines of equal length if `balanced`, else full lines with a quiet edge."""
    breaks = fewest(whole, width)
    if breaks is None or len(breaks) < 3:
        return breaks
    lines = len(breaks) - 1
    target = sum(whole.width(*pair) for pair in itertools.pairwise(breaks)) / lines if balanced else width
    return _cheapest(whole, width, target, breaks, free_end=not balanced)


def with_cut_words(whole: Paragraph, width: float) -> Paragraph:
    """The paragraph with places inside every word wider than a line: before syllables, or anywhere if it must be."""
    cuts: list[int] = []
    for last in range(1, len(whole.places)):
        if whole.width(last - 1, last) > width:
            inside = range(whole.places[last - 1] + 2, whole.ends[last] - 1)
            cuts += [place for place in inside if _may_cut(whole.text, place)]
    by_syllable = _cut(whole, [place for place in cuts if _starts_syllable(whole.text, place)])
    return by_syllable if fewest(by_syllable, width) else _cut(whole, cuts)


def _cut(whole: Paragraph, cuts: list[int]) -> Paragraph:
    places = tuple(sorted({*whole.places, *cuts}))
    return Paragraph(whole.text, whole.key, whole.tracking, places, frozenset(cuts))


def _may_cut(text: str, place: int) -> bool:
    """Between two letters that do not hang together."""
    before, after = text[place - 1], text[place]
    joined = {script_of(before), script_of(after)} & JOINED_SCRIPTS
    return before.isalnum() and after.isalnum() and not joined and unicodedata.category(after)[0] != "M"


def _starts_syllable(text: str, place: int) -> bool:
    """A consonant before a vowel, but not the end of 'ch' or 'pr': near to where most languages divide a word."""
    blend = text[place].lower() in BLENDING and not _is_vowel(text[place - 1])
    return not blend and not _is_vowel(text[place]) and _is_vowel(text[place + 1])


def _is_vowel(letter: str) -> bool:
    return unicodedata.normalize("NFD", letter.lower())[0] in VOWELS


def _cheapest(whole: Paragraph, width: float, target: float, latest: list[int], *, free_end: bool) -> list[int]:
    """The breaks of least cost in as many lines, by dynamic programming over (lines used, place reached).

    `latest` is the greedy answer: no line can end later, which keeps the table narrow.
    """
    starts, ends, awkwardness = whole.ink_starts, whole.ink_ends, whole.awkwardness
    final = len(ends) - 1
    reached: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, (0,))}
    for line in range(1, len(latest)):
        following: dict[int, tuple[float, tuple[int, ...]]] = {}
        last_line = line == len(latest) - 1
        for first, (cost, breaks) in reached.items():
            for last in range(final if last_line else first + 1, latest[line] + 1):
                length = ends[last] - starts[first]
                if length > width:
                    break
                lack = max(0.0, target / 4 - length) if last_line and free_end else target - length
                total = cost + lack * lack + awkwardness[last] * target * target
                if last not in following or total < following[last][0]:
                    following[last] = (total, (*breaks, last))
        reached = following
    return list(reached.get(final, (math.inf, latest))[1])


def _awkwardness(whole: Paragraph, place: int, end: int) -> float:
    """Dislike of a break: inside a word, after a short word, inside a phrase of ideographs."""
    if end in (0, len(whole.text)):
        return 0.0
    if place in whole.cuts:
        return 0.5
    letters = len(whole.text[max(0, end - SHORT_WORD - 1) : end].split()[-1])
    if whole.text[end - 1].isalpha() and script_of(whole.text[end - 1]) != "CJK":
        return 0.15 * (letters <= SHORT_WORD)
    return 0.2 * parts_phrase(whole.text, place)


# Where a line may end


OPENING = frozenset("([{¡¿‘“«‹") | frozenset("「『【〔〖〘〚（［｛｟｢《〈")
CLOSING = frozenset(")]}’”»›!?,.:;…%‰°′″¢") | frozenset("、。，．：；！？」』】〕〗〙〛）］｝｠｣》〉・％")
NON_STARTERS = frozenset("ぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶーゝゞヽヾ々〻゛゜〜‼⁇⁈⁉")
AFTER = frozenset("-‐‒–—\u00ad\u200b/|")
"""A line may end after these, unless a digit follows ('1990-95' may break after an en dash only)."""
GLUE = frozenset("\u00a0\u202f\u2060\u2011\ufeff\u200d")
PREFIX = frozenset("$€£¥№#@+±￥＄")


@functools.lru_cache(maxsize=1024)
def break_places(text: str) -> tuple[int, ...]:
    """Every place before which a new line may start, the end of the text included."""
    return tuple(place for place in range(1, len(text)) if _may_break(text, place)) + (len(text),)


def parts_phrase(text: str, place: int) -> bool:
    """Whether a break here may part a phrase: after an ideograph or kana, but for hiragana that ends a word."""
    before, after = text[place - 1], text[place]
    if not (_is_ideographic(before) and before.isalpha()):
        return False
    return not _is_hiragana(before) or _is_hiragana(after)


def _may_break(text: str, place: int) -> bool:
    before, after = text[place - 1], text[place]
    if before.isalnum() and after.isalnum() and before.isascii() and after.isascii():
        return False
    if (
        after.isspace()
        or after == "\u200b"
        or after in GLUE
        or before in GLUE
        or unicodedata.category(after) in ("Mn", "Me", "Mc")
    ):
        return False
    if before.isspace():
        # French sets a space before ! ? : ; and »: such a mark never starts a line.
        lone = place + 1 == len(text) or text[place + 1].isspace()
        return not (after in CLOSING and _is_wide(after)) and not (after in "!?:;»" and lone)
    if after in CLOSING or after in NON_STARTERS or before in OPENING:
        return False
    if before in AFTER:
        return _after_dash(text, place)
    if after in AFTER or (after in OPENING and not _is_wide(after)):
        return _is_ideographic(before) and after in OPENING
    if before in PREFIX:
        return False
    return _is_ideographic(before) or _is_ideographic(after)


def _after_dash(text: str, place: int) -> bool:
    """After a dash between letters: not after one that opens a word ('-5', ' -er'), nor before digits."""
    before, after = text[place - 1], text[place]
    if before in "\u00ad\u200b—":
        return after not in AFTER
    opens = place < 2 or text[place - 2].isspace()
    return not opens and after not in AFTER and not (after.isdigit() and before in "-‐/|")


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"


def _is_ideographic(character: str) -> bool:
    """Text that breaks between any two characters: Han, kana, full-width forms; Hangul keeps its words whole."""
    return _is_wide(character) and not unicodedata.name(character, "").startswith("HANGUL")


def _is_hiragana(character: str) -> bool:
    return "\u3041" <= character <= "\u309f"
