"""Rules of points that a measurement can answer, and what pixels say to them.

| kind | what must be so |
|---|---|
| `text` | the words of `text` can be read, each of them right |
| `only` | no words can be read but those of `texts` |
| `color` | `color` is there; with `leads`, on a good part of the picture |
| `place` | `text` is at the `top`, `middle` or `bottom`, or at the `left`, `center` or `right`, by thirds |
| `largest` | `text` is at least `times` as tall as any other line |
| `size` | the letters of `text` are at least `least` of the picture's height |
| `contrast` | three quarters of all text have a WCAG contrast of at least `least` |
| `margin` | all `texts` keep at least `least` of the shorter side away from the edges |

A rule says what a picture must be like, not how that is found out: `layout_judge` answers the same rules from the
record of how a poster was made. The tolerances below belong to the reading of pixels. They were set on the built-in
briefs (docs/evidence/pixel-points.md), never on a suite.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError, field_validator

from salon.errors import BadValue
from salon.judge.measurements.pixels import PictureView, text_contrast
from salon.judge.measurements.text import fold_words, found_words, ink_of
from salon.models import ReadingLine
from salon.render import oklab, parse_color
from salon.study import Noun, bad_value

RULES_VERSION = 1
"""Of the rules' formulas and tolerances; raised when the same pixels would be answered otherwise."""
NEAR = 0.08
"""OKLab distance within which a pixel has a color that was asked for."""
THERE, LEADING = 0.02, 0.15
"""Least share of the picture that a color has to cover to be there, and to lead."""
SURE = 0.8
"""Confidence from which a line counts as words that nobody asked for."""
LETTERS = 4
"""Letters that a word nobody asked for has at least: pictures look like shorter ones."""
ALIKE = 0.6
"""Share of a line's letters that are in a text, in its order, where the line belongs to it: slips do not part them."""
PADDING = 0.15
"""What the engine leaves around the ink on every side, in heights of the line as found."""

_INKED = 0.01
"""Share of a row that is ink where a letter reaches into it."""

At = Literal["top", "middle", "bottom", "left", "center", "right"]
_HYPHENS = re.compile(r"[-\u2010-\u2015/]")
_THIRDS = {"top": 0, "middle": 1, "bottom": 2, "left": 0, "center": 1, "right": 2}


class RuleFinding(NamedTuple):
    """Whether a rule holds, and what was found."""

    holds: bool
    why: str


class WordsRule(Noun):
    """The words of a text are there."""

    kind: Literal["text"]
    text: str = Field(min_length=1)


class OnlyRule(Noun):
    """No other words are there."""

    kind: Literal["only"]
    texts: tuple[str, ...]


class ColorRule(Noun):
    """A color is there."""

    kind: Literal["color"]
    color: str
    leads: bool = False

    @field_validator("color")
    @classmethod
    def _known(cls, color: str) -> str:
        try:
            parse_color(color)
        except BadValue as error:
            raise ValueError(str(error)) from None
        return color


class PlaceRule(Noun):
    """A text is in one third of the picture."""

    kind: Literal["place"]
    text: str = Field(min_length=1)
    at: At


class LargestRule(Noun):
    """A text is larger than all others."""

    kind: Literal["largest"]
    text: str = Field(min_length=1)
    times: float = Field(default=1.0, ge=1)


class SizeRule(Noun):
    """A text has a size."""

    kind: Literal["size"]
    text: str = Field(min_length=1)
    least: float = Field(gt=0, lt=1)


class ContrastRule(Noun):
    """Text can be told from its ground."""

    kind: Literal["contrast"]
    least: float = Field(ge=1, le=21)


class MarginRule(Noun):
    """Text keeps away from the edges."""

    kind: Literal["margin"]
    texts: tuple[str, ...] = Field(min_length=1)
    least: float = Field(gt=0, lt=0.5)


Rule = Annotated[
    WordsRule | OnlyRule | ColorRule | PlaceRule | LargestRule | SizeRule | ContrastRule | MarginRule,
    Field(discriminator="kind"),
]
_RULE_ADAPTER: TypeAdapter[Rule] = TypeAdapter(Rule)


def read_rule(record: dict[str, Any], *, where: str) -> Rule:
    """The rule that a point states; BadValue names what is wrong with it."""
    try:
        return _RULE_ADAPTER.validate_python(record)
    except ValidationError as error:
        raise bad_value(error, noun="Rule", where=where) from None


def answer_from_pixels(rule: Rule, view: PictureView) -> RuleFinding:
    """What the pixels of a picture say to a rule."""
    width, height = view.image.size
    match rule:
        case WordsRule():
            return words_finding(rule.text, [line.text for line in view.lines], "read")
        case OnlyRule():
            return only_finding(rule.texts, [line.text for line in view.lines if line.confidence >= SURE])
        case ColorRule():
            color = np.array(oklab(parse_color(rule.color)))
            share = float((np.linalg.norm(view.colors - color, axis=1) < NEAR).mean())
            least = LEADING if rule.leads else THERE
            return RuleFinding(share >= least, f"{rule.color} on {share:.1%} of the picture, {least:.0%} needed")
        case PlaceRule():
            lines = lines_of(rule.text, view.lines)
            if not lines:
                return RuleFinding(False, f"“{rule.text}” is not found")
            across = min(line.left for line in lines) + max(line.right for line in lines)
            down = min(line.top for line in lines) + max(line.bottom for line in lines)
            return place_finding(rule.at, across / 2 / width, down / 2 / height)
        case LargestRule():
            lines = lines_of(rule.text, view.lines)
            other_lines = [line for line in view.lines if line not in lines and line.confidence >= SURE]
            own, rest = ([ink_height(line, view) for line in some] for some in (lines, other_lines))
            return largest_finding(own, rest, rule.times)
        case SizeRule():
            heights = [ink_height(line, view) for line in lines_of(rule.text, view.lines)]
            return size_finding(heights, height, rule.least)
        case ContrastRule():
            contrast = text_contrast(view) if view.lines else 1.0
            return contrast_finding(1.0 if contrast is None else contrast, rule.least)
        case MarginRule():
            lines = [line for text in rule.texts for line in lines_of(text, view.lines)]
            edges = [
                min(line.left, line.top, width - line.right, height - line.bottom) + PADDING * line.height
                for line in lines
            ]
            return margin_finding(edges, min(width, height), rule.least)


def plain_words(text: str) -> list[str]:
    """Words as they are compared: letters and digits without case and accents, parted at hyphens, 0 taken for o.

    An engine sees accents where strokes touch a letter, lines break at hyphens, and many faces draw 0 as O.
    """
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return [word.replace("0", "o") for word in fold_words(_HYPHENS.sub(" ", plain).split())]


def lines_of(text: str, lines: Sequence[ReadingLine]) -> list[ReadingLine]:
    """The lines that hold `text`, misspelled or not, without those much smaller than the tallest of them."""
    together = "".join(plain_words(text))
    matches = [line for line in lines if _likeness("".join(plain_words(line.text)), together) >= ALIKE]
    tallest = max((line.height for line in matches), default=0.0)
    return [line for line in matches if line.height > 0.6 * tallest]


def _likeness(letters: str, together: str) -> float:
    """Share of the letters that are in the text, in runs of two or more; 1 where the text holds them as they are."""
    if letters and letters in together:
        return 1.0
    blocks = SequenceMatcher(None, letters, together, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks if block.size > 1) / max(1, len(letters))


def ink_height(line: ReadingLine, view: PictureView) -> float:
    """Height of the ink in a line: the rows of its box that hold the color which its edges do not."""
    top, left = max(0, int(line.top)), max(0, int(line.left))
    ink = ink_of(view.pixels[top : int(line.bottom) + 1, left : int(line.right) + 1])
    rows = np.flatnonzero(ink.mean(axis=1) > _INKED)
    most = line.height * (1 - PADDING)
    return min(most, float(rows[-1] - rows[0] + 1)) if len(rows) else most


# -- findings, the same for pixels and for layouts ---------------------------------------------------------------------


def words_finding(text: str, texts: Sequence[str], verb: str) -> RuleFinding:
    """Whether all words of `text` are in the texts found, and which are not."""
    words = plain_words(text)
    is_found = found_words([words], (" ".join(plain_words(line)) for line in texts))[0]
    lost = [word for word, there in zip(words, is_found) if not there]
    count = f"{sum(is_found)} of {len(words)} words {verb}"
    return RuleFinding(not lost, f"{count}, not: {', '.join(lost)}" if lost else count)


def only_finding(allowed: Sequence[str], texts: Sequence[str]) -> RuleFinding:
    """Whether the texts found hold no words but those of `allowed`."""
    together = "".join(word for text in allowed for word in plain_words(text))
    words = [word for text in texts for word in plain_words(text)]
    extra = [word for word in words if len(word) >= LETTERS and word not in together]
    return RuleFinding(not extra, f"other words: {', '.join(extra)}" if extra else "no other words")


def place_finding(at: At, across: float, down: float) -> RuleFinding:
    """Whether a middle, in shares of width and height, is in a third."""
    share = down if at in ("top", "middle", "bottom") else across
    return RuleFinding(_THIRDS[at] == min(2, int(3 * share)), f"its middle is at {share:.0%}, {at} asked for")


def largest_finding(own: Sequence[float], other_heights: Sequence[float], times: float) -> RuleFinding:
    """Whether the tallest of `own` heights is `times` the tallest of the others."""
    if not own:
        return RuleFinding(False, "the text is not found")
    ratio = max(own) / max(other_heights) if other_heights else np.inf
    return RuleFinding(
        ratio >= times, f"{ratio:.2f} times as tall as the next, {times:g} needed" if other_heights else "alone"
    )


def size_finding(heights: Sequence[float], whole: float, least: float) -> RuleFinding:
    """Whether the tallest line has `least` of the whole height."""
    share = max(heights, default=0.0) / whole
    return RuleFinding(share >= least, f"{share:.1%} of the height, {least:.1%} needed")


def contrast_finding(contrast: float, least: float) -> RuleFinding:
    """Whether a contrast suffices."""
    return RuleFinding(contrast >= least, f"contrast {contrast:.1f}, {least:g} needed")


def margin_finding(edges: Sequence[float], short: float, least: float) -> RuleFinding:
    """Whether the nearest text is far enough from the edges."""
    if not edges:
        return RuleFinding(False, "no text is found")
    share = max(0.0, min(edges)) / short
    return RuleFinding(share >= least, f"{share:.1%} of the shorter side to the edge, {least:.1%} needed")
