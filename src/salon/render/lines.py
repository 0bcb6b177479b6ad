"""Paragraphs into lines: the fewest lines that fit, made even for headlines or quietly ragged for running text."""

from __future__ import annotations

import functools
import math
import unicodedata
from dataclasses import dataclass

from salon.errors import BadValue
from salon.render.breaks import break_places
from salon.render.characters import cleaned, script_of
from salon.render.layout import Face
from salon.render.shape import JOINED_SCRIPTS, Cluster, EmLine, clusters, em_line

SHORT_WORD = 3
"""A line that ends in so short a word ('of', 'the') reads as if something were torn off."""
HYPHEN = 0.35
"""Width kept for an added hyphen, in ems."""


@dataclass(frozen=True)
class Paragraph:
    """A text without line ends, measured in one face; all lengths in ems."""

    text: str
    key: str
    tracking: float
    places: tuple[int, ...]
    """Where a line may end."""
    hyphenated: frozenset[int] = frozenset()
    """Those places that cut a word."""

    @functools.cached_property
    def clusters(self) -> tuple[Cluster, ...]:
        """Every character's measures."""
        return clusters(self.text, self.key, self.tracking)

    @functools.cached_property
    def pens(self) -> list[float]:
        """Where each character starts, were it all one line."""
        pens = [0.0]
        for cluster in self.clusters:
            pens.append(pens[-1] + cluster.advance)
        return pens

    def end(self, place: int) -> int:
        """A line's last place without its trailing spaces and soft hyphen."""
        while place and (self.text[place - 1].isspace() or self.text[place - 1] == "\u00ad"):
            place -= 1
        return place

    def hyphen(self, place: int) -> bool:
        """Whether a line that ends here shows a hyphen."""
        return place in self.hyphenated or (place < len(self.text) and self.text[place - 1] == "\u00ad")

    def width(self, start: int, place: int) -> float:
        """Ink from one end of a line to the other."""
        end = self.end(place)
        if end <= start:
            return 0.0
        bearings = self.clusters[start].lead + self.clusters[end - 1].trail
        return self.pens[end] - self.pens[start] - bearings + HYPHEN * self.hyphen(place)

    def line(self, start: int, place: int) -> EmLine:
        """The line as it will be set."""
        return em_line(
            self.text, self.key, start, self.end(place), tracking=self.tracking, hyphen=self.hyphen(place)
        )  # fmt: skip


@functools.lru_cache(maxsize=4096)
def paragraph(text: str, key: str, tracking: float = 0.0) -> Paragraph:
    """A cleaned text of one paragraph, measured."""
    return Paragraph(text, key, tracking, break_places(text))


def break_lines(
    text: str, face: Face, size: float, width: float, *, tracking: float = 0.0, balanced: bool = True
) -> list[str]:
    """The lines of a text within `width` pixels; a word longer than a line is cut with a hyphen as a last resort."""
    lines = []
    for part in cleaned(text).split("\n"):
        whole = paragraph(part.strip(), face.key, tracking)
        if fewest(whole, width / size) is None:
            whole = with_cut_words(whole, width / size)
        places = best(whole, width / size, balanced=balanced)
        if places is None:
            raise BadValue("a line wide enough for a letter is needed", found=f"{width:g} px at size {size:g}")
        lines += [whole.line(start, place).text for start, place in zip([0, *places], places)]
    return lines


def fewest(whole: Paragraph, width: float) -> list[int] | None:
    """Line ends when each line takes all it can; None where something does not fit on any line."""
    ends: list[int] = []
    start = reached = 0
    for place in whole.places:
        if whole.width(start, place) > width:
            if reached == start or whole.width(reached, place) > width:
                return None
            ends.append(reached)
            start = reached
        reached = place
    return [*ends, reached]


def best(whole: Paragraph, width: float, *, balanced: bool) -> list[int] | None:
    """Line ends for the fewest lines: of equal length if `balanced`, else full lines with a quiet edge."""
    ends = fewest(whole, width)
    if ends is None or len(ends) == 1:
        return ends
    if balanced:
        target = sum(whole.width(start, place) for start, place in zip([0, *ends], ends)) / len(ends)
        return _cheapest(whole, width, target, lines=len(ends), free_end=False)
    return _cheapest(whole, width, width, lines=len(ends), free_end=True)


def with_cut_words(whole: Paragraph, width: float) -> Paragraph:
    """The paragraph with places inside every word that is wider than a line."""
    cuts: set[int] = set()
    for start, place in zip([0, *whole.places], whole.places):
        if whole.width(start, place) > width:
            cuts |= {p for p in range(start + 2, whole.end(place) - 1) if _may_cut(whole.text, p)}
    places = tuple(sorted(cuts | set(whole.places)))
    return Paragraph(whole.text, whole.key, whole.tracking, places, frozenset(cuts))


def _may_cut(text: str, place: int) -> bool:
    """Between two letters that do not hang together."""
    before, after = text[place - 1], text[place]
    joined = {script_of(before), script_of(after)} & JOINED_SCRIPTS
    return before.isalnum() and after.isalnum() and not joined and unicodedata.category(after)[0] != "M"


def _cheapest(whole: Paragraph, width: float, target: float, *, lines: int, free_end: bool) -> list[int]:
    """The line ends of least cost, by dynamic programming over (lines used, place reached)."""
    nodes = [0, *whole.places]
    reached: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}
    for line in range(1, lines + 1):
        following: dict[int, tuple[float, tuple[int, ...]]] = {}
        for node, (cost, ends) in reached.items():
            for ahead in range(node + 1, len(nodes)):
                length = whole.width(nodes[node], nodes[ahead])
                if length > width:
                    break
                last = ahead == len(nodes) - 1
                if last != (line == lines):
                    continue
                total = cost + _cost(whole, nodes[node], nodes[ahead], length, target, free=last and free_end)
                if total < following.get(ahead, (math.inf, ()))[0]:
                    following[ahead] = (total, (*ends, nodes[ahead]))
        reached = following
    return list(reached[len(nodes) - 1][1])


def _cost(whole: Paragraph, start: int, place: int, length: float, target: float, *, free: bool) -> float:
    """How bad a line is: the square of what it lacks or exceeds, and something for an awkward end."""
    lack = max(0.0, target / 4 - length) if free else target - length
    last_word = whole.text[start:place].split()[-1:]
    torn = place < len(whole.text) and last_word and len(last_word[0]) <= SHORT_WORD and last_word[0].isalpha()
    awkward = 0.03 * torn + 0.5 * (place in whole.hyphenated)
    return lack * lack + awkward * target * target
