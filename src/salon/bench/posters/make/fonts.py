"""Tasks about fonts: nine faces to match, two samples of which one has an attribute, and nine classic effects.

The font file settles eight attributes: serifs, slant, equal advances, capitals, thin strokes, width, joined script, and
faces made for headlines only. The other 29 attributes are impressions. No font file says what is charming, so the
question names a visible sign ("soft, that is, with rounded ends and no corners"). One of two samples plainly has the
sign and the other its opposite. The signs are stipulations about faces and their setting, not findings about what
people feel. Everything else about the two samples is as alike as the catalogue allows.

An effect is shown on a word next to the same word without it; two thirds of these stand on a textured ground.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

import numpy as np

from salon.bench.posters import tasks
from salon.bench.posters.make.items import (
    LATIN,
    PLAIN,
    WORDS,
    MadeItem,
    balanced_choice,
    insert_at,
    pick,
    pick_some,
    title,
)
from salon.bench.posters.make.lettering import (
    INKS,
    PAPERS,
    TEXTURES,
    label,
    line_in,
    paint_marks,
    paint_over,
    textured_ground,
)
from salon.bench.posters.tasks import CLASSIC_EFFECTS
from salon.render import (
    NAMES,
    Box,
    Face,
    Family,
    Fill,
    Glyphs,
    Group,
    Linear,
    Mark,
    SetText,
    chance,
    contrast,
    mix,
    rect,
    rounded,
)


@dataclass(frozen=True)
class Impression:
    """A sign in words, faces that have it and faces that do not; `unrest` of 0 to 1 moves letters off their line."""

    sign: str
    having: tuple[Face, ...]
    lacking: tuple[Face, ...]
    unrest: tuple[float, float] = (0.0, 0.0)
    """Of the sample that has it, and of the other."""
    same_face: bool = False
    """Whether both samples are in one face, so that only the unrest tells."""


def _faces(*names: str) -> tuple[Face, ...]:
    """Faces by "Family", "Family 700" or "Family 700 italic"."""
    return tuple(_face(name) for name in names)


def _face(name: str) -> Face:
    words = name.split()
    italic = words[-1] == "italic"
    words = words[:-1] if italic else words
    weight = int(words[-1]) if words[-1].isdigit() else 400
    family = " ".join(words[:-1] if words[-1].isdigit() else words)
    return Face(family=family, weight=weight, italic=italic)


_READING = _faces("Inter", "Noto Serif", "Work Sans", "Roboto Flex", "Lora")
_SANS = _faces("Inter", "Work Sans", "Roboto Flex", "Archivo", "DM Sans")
_HEAVY = _faces("Archivo Black", "Alfa Slab One", "Anton", "Russo One", "Archivo 900", "Noto Serif 900")
_LIGHT = _faces("Cormorant Garamond 300", "Josefin Sans 100", "Archivo 100", "Poppins 100", "Fraunces 100")
_ROUND = _faces("Fredoka 500", "Fredoka 600", "Pacifico")
_EDGED = _faces("Chakra Petch", "Orbitron", "Chakra Petch 600", "Orbitron 700")
_FLOWING = _faces("Great Vibes", "Dancing Script", "Yellowtail")
_CONTRASTED = _faces("Abril Fatface", "Bodoni Moda 900", "Playfair Display 900", "DM Serif Display")
_ORNATE = _faces("Great Vibes", "Bodoni Moda 900 italic", "Playfair Display 900 italic", "Fraunces 900 italic")
_CLASSIC = _faces("EB Garamond", "Noto Serif", "Bodoni Moda", "Playfair Display", "Lora")
_CASUAL = _faces("Fredoka 600", "Caveat 600", "Pacifico", "Lobster")
_MACHINE = _faces("Orbitron", "JetBrains Mono", "Space Mono", "Chakra Petch", "Press Start 2P")
_PEN = _faces("Caveat 600", "Dancing Script 600", "Lora", "Fraunces 500", "Pacifico")

IMPRESSIONS: dict[str, Impression] = {
    "angular": Impression("built from straight strokes and corners, almost without round curves", _EDGED, _ROUND),
    "artistic": Impression("drawn like a picture, with swings and flourishes", _faces("Great Vibes", "Lobster",
                           "Yellowtail", "Fraunces 900 italic"), _SANS),
    "attention-grabbing": Impression("so heavy that it is seen before the other one", _HEAVY, _LIGHT),
    "attractive": Impression("set with care: on one line, upright and evenly spaced", _READING, (), (0.0, 0.9), True),
    "bad": Impression("set without care: off the line and unevenly spaced", _READING, (), (0.9, 0.0), True),
    "boring": Impression("plain, with all strokes alike and nothing that stands out", _SANS,
                         (*_ORNATE, *_CASUAL, *_CONTRASTED)),
    "calm": Impression("still: upright, light and level, where the other one is heavy and restless",
                       _faces("EB Garamond", "DM Sans 300", "Lora", "Inter 300"), _HEAVY, (0.0, 0.6)),
    "charming": Impression("with curls and soft joins", _faces("Pacifico", "Lobster", "Dancing Script 600"),
                           _faces("Archivo Condensed", "JetBrains Mono", "Oswald", "Chakra Petch")),
    "clumsy": Impression("with letters that wobble and do not keep the line", _SANS, (), (1.0, 0.0), True),
    "complex": Impression("with much detail in each letter: thick and thin strokes, curls, fine ends", _ORNATE,
                          _faces("Josefin Sans", "Inter", "Poppins", "DM Sans")),
    "delicate": Impression("drawn in fine, thin strokes", _LIGHT, _HEAVY),
    "disorderly": Impression("with letters turned and scattered about the line", _READING, (), (1.0, 0.0), True),
    "dramatic": Impression("with a strong difference between thick and thin strokes", _CONTRASTED, _SANS),
    "formal": Impression("in upright, classical letters with serifs, as in a deed", _CLASSIC, _CASUAL),
    "fresh": Impression("round, open and light", _faces("Fredoka 300", "Poppins 300", "Josefin Sans 300"),
                        _faces("Abril Fatface", "Alfa Slab One", "Noto Serif 900", "Anton")),
    "friendly": Impression("with round ends and full curves", _ROUND,
                           _faces("Bodoni Moda", "Chakra Petch", "Oswald", "Archivo Condensed")),
    "gentle": Impression("light, with soft transitions and without weight",
                         _faces("Cormorant Garamond 300", "Dancing Script", "Fredoka 300"), _HEAVY),
    "graceful": Impression("flowing in long, fine curves",
                           (*_FLOWING, *_faces("Cormorant Garamond 300 italic")),
                           _faces("Russo One", "Press Start 2P", "Archivo Black", "Alfa Slab One")),
    "happy": Impression("bouncing: round letters that jump a little up and down", _ROUND,
                        _faces("Noto Serif", "Cormorant Garamond", "Oswald"), (0.5, 0.0)),
    "legible": Impression("easy to read at a glance", _READING, _FLOWING),
    "modern": Impression("geometric and without serifs", _faces("Poppins", "Space Grotesk", "Montserrat", "Unbounded"),
                         _faces("EB Garamond", "Cormorant Garamond", "Abril Fatface", "Great Vibes")),
    "playful": Impression("irregular and bouncing, as in a game", _faces("Fredoka 700", "Lobster", "Righteous"),
                          _READING, (0.6, 0.0)),
    "pretentious": Impression("with more ornament than the words need", _ORNATE, _READING),
    "sharp": Impression("with pointed ends and thin, cutting strokes",
                        _faces("Bodoni Moda", "Playfair Display", "DM Serif Display"), _ROUND),
    "sloppy": Impression("as if written in haste, with letters that do not keep the line",
                         _faces("Caveat", "Caveat 700"), _READING, (0.7, 0.0)),
    "soft": Impression("with rounded ends and no corners", _ROUND, (*_EDGED, *_faces("Oswald", "Bodoni Moda"))),
    "strong": Impression("in heavy, broad strokes", _HEAVY, _LIGHT),
    "technical": Impression("like the lettering of machines and screens", _MACHINE,
                            _faces("Dancing Script 600", "Lora", "Caveat 600", "Playfair Display")),
    "warm": Impression("round, with strokes like those of a pen or a brush", _PEN,
                       _faces("Orbitron", "JetBrains Mono", "Archivo Condensed", "Chakra Petch")),
}  # fmt: skip
"""Attribute to its sign."""


# -- faces to match and attributes -------------------------------------------------------------------------------------

LETTERS = tuple(ascii_uppercase[:9])
ALIKE = (0, 2, 4, 6, 8)
"""Wrong options of the right one's kind; fewer where the catalogue has fewer."""
SIZES = (20, 28, 40, 56, 72)
_PANEL = "#e9ebee"
_FACES = Callable[[np.random.Generator], tuple[Face, Face]]


# -- matching ------------------------------------------------------------------------------------------------------


def font_matching(number: int, seed: int) -> MadeItem:
    """A sample above nine options in other faces; in the second half the options show other words."""
    rng = chance(seed, "font_matching", str(number))
    letter = balanced_choice(LETTERS, number, seed, "font_matching", "letter")
    half = balanced_choice((1, 2), number, seed, "font_matching", "half")
    upper = bool(rng.random() < 0.5)
    families = [family for family in LATIN if upper or not family.caps]
    right = pick(families, rng)
    wrong, alike = _wrong(right, families, balanced_choice(ALIKE, number, seed, "font_matching", "alike"), rng)
    sample_words, option_words = title(rng, 2), title(rng, 2)
    texts = [sample_words, sample_words if half == 1 else option_words]
    sample, options = (text.upper() if upper else text for text in texts)
    faces = [Face(family=family.name) for family in insert_at(right, wrong, LETTERS.index(letter))]
    truth = {"gt": letter, "font": right.name, "options": [face.family for face in faces]}
    pixels = _options(sample, Face(family=right.name), options, faces)
    words = "the same words" if half == 1 else "other words"
    prompt = (
        f"In the gray panel at the top some words are set in one typeface. Below are nine options, A to I, all with "
        f"{words}. Which option is set in the typeface of the panel? Answer with one letter from A to I."
    )
    return MadeItem(
        f"font matching {half}", "same words" if half == 1 else "other words", prompt, truth, pixels, {"alike": alike}
    )


def _wrong(right: Family, families: list[Family], alike: int, rng: np.random.Generator) -> tuple[list[Family], int]:
    """Eight others in random order, `alike` of them of the same kind if there are as many; and how many there are."""
    kin = [family for family in families if family.kind == right.kind and family != right]
    rest = [family for family in families if family.kind != right.kind]
    near = pick_some(kin, alike, rng)
    return pick_some([*near, *pick_some(rest, 8 - len(near), rng)], 8, rng), len(near)


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
    return paint_marks(marks, width, height, "#ffffff")


# -- attributes ----------------------------------------------------------------------------------------------------


def font_attributes(number: int, seed: int) -> MadeItem:
    """Two samples of the same words; one of them has the attribute."""
    rng = chance(seed, "font_attributes", str(number))
    attribute = balanced_choice(tasks.ATTRIBUTES, number, seed, "font_attributes", "attribute")
    letter = balanced_choice(("A", "B"), number, seed, "font_attributes", "letter")
    size = balanced_choice(SIZES, number, seed, "font_attributes", "size")
    about, having, lacking = attribute_samples(attribute, title(rng, 2), rng)
    samples = insert_at(having, [lacking], "AB".index(letter))
    truth = {"gt": letter, "font": [sample.face.key for sample in samples]}
    prompt = (
        f"The picture shows the same words twice, as sample A and as sample B. Which sample is {attribute}, that is, "
        f"{about}? Answer with one letter, A or B."
    )
    pixels = _two(samples, size, pick(PAPERS, rng), pick(INKS, rng), rng)
    return MadeItem("font attributes", attribute, prompt, truth, pixels, {"font size": size})


@dataclass(frozen=True)
class Sample:
    """Words in a face; `unrest` moves their letters off the line."""

    text: str
    face: Face
    unrest: float = 0.0


def attribute_samples(attribute: str, words: str, rng: np.random.Generator) -> tuple[str, Sample, Sample]:
    """The sign asked for, a sample with it and a sample without it."""
    if attribute in ATTRIBUTES:
        about, faces = ATTRIBUTES[attribute]
        having, lacking = faces(rng)
        return about, Sample(words.upper() if attribute == "capitals" else words, having), Sample(words, lacking)
    impression = IMPRESSIONS[attribute]
    having = pick(impression.having, rng)
    lacking = having if impression.same_face else pick(impression.lacking, rng)
    return impression.sign, Sample(words, having, impression.unrest[0]), Sample(words, lacking, impression.unrest[1])


def _two(samples: list[Sample], size: int, paper: str, ink: str, rng: np.random.Generator) -> np.ndarray:
    width, height = 820, 420
    marks: list[Mark] = []
    for at, sample in enumerate(samples):
        y = 15 + at * 200
        marks.append(Fill(rounded(15, y, width - 30, 185, 12), paper))
        marks += label("AB"[at], 35, y + 18, 26, "#c02626")
        frame = Box(x=90, y=y + 10, width=width - 140, height=165)
        marks += _sample_marks(sample, frame, size, ink, rng)
    return paint_marks(marks, width, height, "#c3c8cf")


def _sample_marks(sample: Sample, frame: Box, size: int, ink: str, rng: np.random.Generator) -> Sequence[Mark]:
    line = line_in(sample.text, sample.face, frame, paint=ink, size=size, align="center")
    if not sample.unrest:
        return line.glyphs
    return [_shake_letters(run, sample.unrest * line.size, rng) for run in line.glyphs]


def _shake_letters(run: Glyphs, amount: float, rng: np.random.Generator) -> Glyphs:
    """Every letter a little off its place: up or down, and to the left or right."""
    xs = tuple(x + float(rng.uniform(-0.1, 0.1)) * amount for x in run.xs)
    signs = rng.permutation(np.resize((-1.0, 1.0), len(run.ys)))  # as many up as down, so that none stays in line
    ys = tuple(y + float(sign * rng.uniform(0.1, 0.22)) * amount for y, sign in zip(run.ys, signs))
    return replace(run, xs=xs, ys=ys)


def _of(*kinds: str, width: str | None = None) -> list[Family]:
    """Families with small letters of their own, by kind and width."""
    return [family for family in LATIN if family.kind in kinds and not family.caps and width in (None, family.width)]


def _serif(rng: np.random.Generator) -> tuple[Face, Face]:
    return Face(family=pick(_of("serif", "slab"), rng).name), Face(family=pick(_of("sans"), rng).name)


def _italic(rng: np.random.Generator) -> tuple[Face, Face]:
    family = pick([candidate for candidate in _of("serif", "sans", "slab", "mono") if candidate.italic], rng).name
    return Face(family=family, italic=True), Face(family=family)


def _monospace(rng: np.random.Generator) -> tuple[Face, Face]:
    return Face(family=pick(_of("mono"), rng).name), Face(family=pick(_of("sans", width="normal"), rng).name)


def _capitals(rng: np.random.Generator) -> tuple[Face, Face]:
    face = pick(PLAIN, rng)
    return face, face


def _thin(rng: np.random.Generator) -> tuple[Face, Face]:
    family = pick(
        [
            candidate
            for candidate in _of("serif", "sans")
            if candidate.weights[0] <= 200 and candidate.weights[-1] >= 700
        ],
        rng,
    )
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


# -- classic effects ---------------------------------------------------------------------------------------------------

WIDTH, HEIGHT = 800, 480
STRENGTHS = (0.4, 0.6, 0.8, 1.0)
FAMILIES = ("Archivo", "DM Sans", "Inter", "Montserrat", "Noto Serif", "Playfair Display", "Work Sans", "Poppins")
"""Families with drawn italics and all weights."""
EFFECT_LETTERS = ("A", "B", "C", "D")
LOOKS = tuple(
    (NAMES[ground], NAMES[ink])
    for ground, ink in (("midnight", "sky"), ("charcoal", "amber"), ("petrol", "cream"), ("plum", "peach"),
                        ("forest", "mint"), ("maroon", "apricot"))
)  # fmt: skip
"""Dark grounds and light inks: a glow can be seen on all of them, and so can everything else."""
ABOUT = {
    "bold": "bold", "glow": "glow", "gradient_fill": "gradient fill", "highlight": "highlight (a marker's bar behind)",
    "italic": "italic", "outline": "outline", "reflection": "reflection", "shadow": "shadow", "underline": "underline",
}  # fmt: skip


@dataclass(frozen=True)
class EffectWord:
    """A word to be given an effect."""

    text: str
    face: Face
    frame: Box
    ink: str
    ground: str
    strength: float

    def set(self, face: Face | None = None) -> SetText:
        """The word in its frame, in its own face or another."""
        return line_in(self.text, face or self.face, self.frame, paint=self.ink, size=96, align="center")


def font_effect(number: int, seed: int) -> MadeItem:
    """A word plain and with an effect; four effects to choose from."""
    rng = chance(seed, "font_effect", str(number))
    effect = balanced_choice(CLASSIC_EFFECTS, number, seed, "font_effect", "effect")
    letter = balanced_choice(EFFECT_LETTERS, number, seed, "font_effect", "letter")
    strength = balanced_choice(STRENGTHS, number, seed, "font_effect", "strength")
    wrong = pick_some([candidate for candidate in CLASSIC_EFFECTS if candidate != effect], 3, rng)
    options = insert_at(effect, wrong, EFFECT_LETTERS.index(letter))
    ground, ink = pick(LOOKS, rng)
    face = Face(family=pick(FAMILIES, rng))
    text = pick(WORDS, rng).capitalize()
    plain = EffectWord(text, face, Box(x=60, y=30, width=WIDTH - 120, height=180), ink, ground, strength)
    changed = replace(plain, frame=Box(x=60, y=235, width=WIDTH - 120, height=180))
    marks = [*plain.set().glyphs, *EFFECT_DRAWERS[effect](changed)]
    truth = {"gt": letter, "text": text, "options": options, "font": face.key}
    texture = balanced_choice(TEXTURES, number, seed, "font_effect", "texture")
    pixels = paint_over(marks, textured_ground(WIDTH, HEIGHT, ground, texture, rng))
    hard = {"texture": texture} if effect == "italic" else {"strength": strength, "texture": texture}
    listed = " ".join(f"{letter}) {ABOUT[effect]}" for letter, effect in zip(EFFECT_LETTERS, options))
    prompt = (
        "The picture shows one word twice: above it is plain, below an effect has been applied to it. Which effect? "
        f"{listed}. Answer with one letter, A, B, C or D."
    )
    return MadeItem("font effect", effect, prompt, truth, pixels, hard)


# -- the effects ---------------------------------------------------------------------------------------------------


def _bold(word: EffectWord) -> tuple[Mark, ...]:
    return word.set(word.face.model_copy(update={"weight": 500 + round(400 * word.strength)})).glyphs


def _italic_effect(word: EffectWord) -> tuple[Mark, ...]:
    return word.set(word.face.model_copy(update={"italic": True})).glyphs


def _glow(word: EffectWord) -> tuple[Mark, ...]:
    halo = mix(word.ink, "#ffffff", 0.25)
    line = word.set()
    return (
        *blur_glyphs(line.glyphs, halo, 22 * word.strength, 0.9),
        *blur_glyphs(line.glyphs, halo, 8, 0.9),
        *line.glyphs,
    )


def _gradient(word: EffectWord) -> tuple[Mark, ...]:
    line = word.set()
    hues = [NAMES[name] for name in ("fuchsia", "azure", "lime", "tangerine", "turquoise")]
    far = max(
        hues,
        key=lambda hue: (
            min(contrast(hue, word.ground), 3)
            + 4 * (sum(abs(int(hue[i : i + 2], 16) - int(word.ink[i : i + 2], 16)) for i in (1, 3, 5)) / 765)
        ),
    )
    end = mix(word.ink, far, 0.55 + 0.45 * word.strength)
    box = line.box
    paint = Linear(box.x, 0, box.right, 0, ((0.0, word.ink, 1.0), (1.0, end, 1.0)))
    return tuple(replace(run, paint=paint) for run in line.glyphs)


def _highlight(word: EffectWord) -> tuple[Mark, ...]:
    line = word.set()
    box = line.box
    bar = rect(box.x - 16, box.y - 8, box.width + 32, box.height + 16)
    return (Fill(bar, mix(word.ground, NAMES["fuchsia"], 0.35 + 0.45 * word.strength)), *line.glyphs)


def _outline(word: EffectWord) -> tuple[Mark, ...]:
    line = word.set()
    edge = mix(word.ground, "#ffffff", 1.0) if contrast(word.ink, "#ffffff") > 2 else NAMES["scarlet"]
    return (*(replace(run, paint=edge, outline=3 + 7 * word.strength) for run in line.glyphs), *line.glyphs)


def _reflection(word: EffectWord) -> tuple[Mark, ...]:
    line = word.set()
    foot = line.box.bottom + 3
    paint = Linear(
        0, line.box.bottom, 0, line.box.y, ((0.0, word.ink, 0.3 + 0.4 * word.strength), (1.0, word.ink, 0.0))
    )
    mirrored = tuple(replace(run, paint=paint) for run in line.glyphs)
    return (Group(mirrored, transform=(1.0, 0.0, 0.0, -1.0, 0.0, 2 * foot)), *line.glyphs)


def _shadow(word: EffectWord) -> tuple[Mark, ...]:
    line = word.set()
    step = 3 + 7 * word.strength
    cast = move_glyphs(line.glyphs, step, step)
    return (*blur_glyphs(cast, "#000000", 2.0, 0.9), *line.glyphs)


def _underline(word: EffectWord) -> tuple[Mark, ...]:
    line = word.set()
    thick = 3 + 5 * word.strength
    return (Fill(rect(line.box.x, line.lines[0].baseline + 12, line.box.width, thick), word.ink), *line.glyphs)


def blur_glyphs(glyphs: tuple[Glyphs, ...], color: str, blur: float, opacity: float) -> tuple[Glyphs, ...]:
    """The letters in one color, out of focus."""
    return tuple(replace(run, paint=color, blur=blur, opacity=opacity) for run in glyphs)


def move_glyphs(glyphs: tuple[Glyphs, ...], dx: float, dy: float) -> tuple[Glyphs, ...]:
    """The letters a little off their place."""
    return tuple(replace(run, xs=tuple(x + dx for x in run.xs), ys=tuple(y + dy for y in run.ys)) for run in glyphs)


EFFECT_DRAWERS: dict[str, Callable[[EffectWord], tuple[Mark, ...]]] = {
    "bold": _bold, "glow": _glow, "gradient_fill": _gradient, "highlight": _highlight, "italic": _italic_effect,
    "outline": _outline, "reflection": _reflection, "shadow": _shadow, "underline": _underline,
}  # fmt: skip
"""Effect to its marks."""
