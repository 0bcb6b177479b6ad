"""Faces told apart: nine options to match, and two samples of which one has an attribute.

Eight attributes are settled by the font file: serifs, slant, equal advances, capitals, thin strokes, width, joined
script, and faces made for headlines only. The other 29 are impressions, asked for by a sign that can be seen
(`impressions`). Everything else about the two samples is kept as alike as the catalogue allows, and the letter of the
right one is dealt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

import numpy as np

from salon.bench.posters import vocabulary
from salon.bench.posters.make.deal import dealt, in_place, pick, some
from salon.bench.posters.make.impressions import IMPRESSIONS
from salon.bench.posters.make.lettering import INKS, PAPERS, label, line_in, painted
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.typefaces import LATIN, PLAIN
from salon.bench.posters.make.words import title
from salon.render.chance import chance
from salon.render.layout import Box, Face
from salon.render.marks import Fill, Glyphs, Mark
from salon.render.shapes import rounded
from salon.render.typeset.families import Family

LETTERS = tuple(ascii_uppercase[:9])
ALIKE = (0, 2, 4, 6, 8)
"""Wrong options of the right one's kind; fewer where the catalogue has fewer."""
SIZES = (20, 28, 40, 56, 72)
_PANEL = "#e9ebee"
_FACES = Callable[[np.random.Generator], tuple[Face, Face]]


# -- matching ------------------------------------------------------------------------------------------------------


def font_matching(number: int, seed: int) -> Made:
    """A sample above nine options in other faces; in the second half the options show other words."""
    rng = chance(seed, "font_matching", str(number))
    letter = dealt(LETTERS, number, seed, "font_matching", "letter")
    half = dealt((1, 2), number, seed, "font_matching", "half")
    upper = bool(rng.random() < 0.5)
    families = [one for one in LATIN if upper or not one.caps]
    right = pick(families, rng)
    wrong, alike = _wrong(right, families, dealt(ALIKE, number, seed, "font_matching", "alike"), rng)
    shown, other = title(rng, 2), title(rng, 2)
    texts = [shown, shown if half == 1 else other]
    sample, options = (text.upper() if upper else text for text in texts)
    faces = [Face(family=one.name) for one in in_place(right, wrong, LETTERS.index(letter))]
    truth = {"gt": letter, "font": right.name, "options": [face.family for face in faces]}
    pixels = _options(sample, Face(family=right.name), options, faces)
    return Made(f"font matching {half}", "same words" if half == 1 else "other words", _matching_prompt(half), truth,
                pixels, {"alike": alike})  # fmt: skip


def _wrong(right: Family, families: list[Family], alike: int, rng: np.random.Generator) -> tuple[list[Family], int]:
    """Eight others in random order, `alike` of them of the same kind if there are as many; and how many there are."""
    kin = [one for one in families if one.kind == right.kind and one != right]
    rest = [one for one in families if one.kind != right.kind]
    near = some(kin, alike, rng)
    return some([*near, *some(rest, 8 - len(near), rng)], 8, rng), len(near)


def _options(sample: str, face: Face, text: str, faces: list[Face]) -> np.ndarray:
    width, height = 960, 700
    marks: list[Mark] = [Fill(rounded(20, 20, width - 40, 150, 12), _PANEL)]
    marks += line_in(sample, face, Box(x=60, y=20, width=width - 120, height=150), paint="#121214", size=64,
                     align="center").glyphs  # fmt: skip
    for at, option in enumerate(faces):
        x, y = 20 + at % 3 * 312, 200 + at // 3 * 165
        marks += label(LETTERS[at], x, y, 22, "#c02626")
        frame = Box(x=x + 10, y=y + 20, width=280, height=110)
        marks += line_in(text, option, frame, paint="#121214", size=40, align="center").glyphs
    return painted(marks, width, height, "#ffffff")


def _matching_prompt(half: int) -> str:
    words = "the same words" if half == 1 else "other words"
    return (
        f"In the gray panel at the top some words are set in one typeface. Below are nine options, A to I, all with "
        f"{words}. Which option is set in the typeface of the panel? Answer with one letter from A to I."
    )


# -- attributes ----------------------------------------------------------------------------------------------------


def font_attributes(number: int, seed: int) -> Made:
    """Two samples of the same words; one of them has the attribute."""
    rng = chance(seed, "font_attributes", str(number))
    attribute = dealt(vocabulary.ATTRIBUTES, number, seed, "font_attributes", "attribute")
    letter = dealt(("A", "B"), number, seed, "font_attributes", "letter")
    size = dealt(SIZES, number, seed, "font_attributes", "size")
    about, having, lacking = attribute_samples(attribute, title(rng, 2), rng)
    samples = in_place(having, [lacking], "AB".index(letter))
    truth = {"gt": letter, "font": [sample.face.key for sample in samples]}
    return Made("font attributes", attribute, _attribute_prompt(attribute, about), truth,
                _two(samples, size, pick(PAPERS, rng), pick(INKS, rng), rng), {"font size": size})  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """Words in a face; `unrest` moves their letters off the line."""

    text: str
    face: Face
    unrest: float = 0.0


def attribute_samples(attribute: str, words: str, rng: np.random.Generator) -> tuple[str, Sample, Sample]:
    """The sign that is asked for, a sample that has it and one that has not."""
    if attribute in ATTRIBUTES:
        about, faces = ATTRIBUTES[attribute]
        having, lacking = faces(rng)
        return about, Sample(words.upper() if attribute == "capitals" else words, having), Sample(words, lacking)
    meant = IMPRESSIONS[attribute]
    having = pick(meant.having, rng)
    lacking = having if meant.same_face else pick(meant.lacking, rng)
    return meant.sign, Sample(words, having, meant.unrest[0]), Sample(words, lacking, meant.unrest[1])


def _two(samples: list[Sample], size: int, paper: str, ink: str, rng: np.random.Generator) -> np.ndarray:
    width, height = 820, 420
    marks: list[Mark] = []
    for at, sample in enumerate(samples):
        y = 15 + at * 200
        marks.append(Fill(rounded(15, y, width - 30, 185, 12), paper))
        marks += label("AB"[at], 35, y + 18, 26, "#c02626")
        frame = Box(x=90, y=y + 10, width=width - 140, height=165)
        marks += _sample_marks(sample, frame, size, ink, rng)
    return painted(marks, width, height, "#c3c8cf")


def _sample_marks(sample: Sample, frame: Box, size: int, ink: str, rng: np.random.Generator) -> Sequence[Mark]:
    done = line_in(sample.text, sample.face, frame, paint=ink, size=size, align="center")
    if not sample.unrest:
        return done.glyphs
    return [_restless(run, sample.unrest * done.size, rng) for run in done.glyphs]


def _restless(run: Glyphs, amount: float, rng: np.random.Generator) -> Glyphs:
    """Every letter a little off its place: up or down, and to the left or right."""
    xs = tuple(x + float(rng.uniform(-0.1, 0.1)) * amount for x in run.xs)
    signs = rng.permutation(np.resize((-1.0, 1.0), len(run.ys)))  # as many up as down, so that none stays in line
    ys = tuple(y + float(sign * rng.uniform(0.1, 0.22)) * amount for y, sign in zip(run.ys, signs))
    return replace(run, xs=xs, ys=ys)


def _attribute_prompt(attribute: str, about: str) -> str:
    return (
        f"The picture shows the same words twice, as sample A and as sample B. Which sample is {attribute}, that is, "
        f"{about}? Answer with one letter, A or B."
    )


def _of(*kinds: str, width: str | None = None) -> list[Family]:
    """Families with small letters of their own, by kind and width."""
    return [one for one in LATIN if one.kind in kinds and not one.caps and width in (None, one.width)]


def _serif(rng: np.random.Generator) -> tuple[Face, Face]:
    return Face(family=pick(_of("serif", "slab"), rng).name), Face(family=pick(_of("sans"), rng).name)


def _italic(rng: np.random.Generator) -> tuple[Face, Face]:
    family = pick([one for one in _of("serif", "sans", "slab", "mono") if one.italic], rng).name
    return Face(family=family, italic=True), Face(family=family)


def _monospace(rng: np.random.Generator) -> tuple[Face, Face]:
    return Face(family=pick(_of("mono"), rng).name), Face(family=pick(_of("sans", width="normal"), rng).name)


def _capitals(rng: np.random.Generator) -> tuple[Face, Face]:
    face = pick(PLAIN, rng)
    return face, face


def _thin(rng: np.random.Generator) -> tuple[Face, Face]:
    family = pick([one for one in _of("serif", "sans") if one.weights[0] <= 200 and one.weights[-1] >= 700], rng)
    return Face(family=family.name, weight=family.weights[0]), Face(family=family.name, weight=pick((500, 700), rng))


def _wide(rng: np.random.Generator) -> tuple[Face, Face]:
    wide, narrow = _of("sans", "display", width="wide"), _of("sans", "display", width="condensed")
    return Face(family=pick(wide, rng).name, weight=600), Face(family=pick(narrow, rng).name, weight=600)


def _cursive(rng: np.random.Generator) -> tuple[Face, Face]:
    return Face(family=pick(_of("script"), rng).name), Face(family=pick(_of("serif", "sans"), rng).name)


def _display(rng: np.random.Generator) -> tuple[Face, Face]:
    return Face(family=pick(_of("display"), rng).name, weight=700), pick(PLAIN, rng)


ATTRIBUTES: dict[str, tuple[str, _FACES]] = {
    "capitals": ("written in capital letters only", _capitals),
    "cursive": ("a script whose letters join like handwriting", _cursive),
    "display": ("a face drawn for headlines, too striking for running text", _display),
    "italic": ("slanted to the right", _italic),
    "monospace": ("with the same width for every letter", _monospace),
    "serif": ("with small feet or slabs at the ends of its strokes", _serif),
    "thin": ("drawn with hair-thin strokes", _thin),
    "wide": ("broader in its letters than the other one", _wide),
}
"""Of the attributes that a font file settles: what is asked, and two faces of which the first has it."""
