"""Paragraphs into lines: the fewest lines that fit, made even for headlines or quietly ragged for running text."""

from __future__ import annotations

import functools
import itertools
import math
import unicodedata
from dataclasses import dataclass

from salon.render.typeset.breaks import break_places, parts_phrase
from salon.render.typeset.characters import script_of
from salon.render.typeset.shape import JOINED_SCRIPTS, Cluster, EmLine, clusters, em_line

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
