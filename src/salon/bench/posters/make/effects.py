"""The nine classic effects on a word, each next to the word without it; two thirds of them on a textured ground."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from salon.bench.posters.make.deal import dealt, in_place, pick, some
from salon.bench.posters.make.lettering import line_in
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.photograph import TEXTURES, painted_over, textured
from salon.bench.posters.make.words import WORDS
from salon.bench.posters.vocabulary import CLASSIC_EFFECTS
from salon.render.chance import chance
from salon.render.colors import NAMES, contrast, mix
from salon.render.layout import Box, Face
from salon.render.marks import Fill, Glyphs, Group, Linear, Mark
from salon.render.shapes import rect
from salon.render.typeset.setting import SetText

WIDTH, HEIGHT = 800, 480
STRENGTHS = (0.4, 0.6, 0.8, 1.0)
FAMILIES = ("Archivo", "DM Sans", "Inter", "Montserrat", "Noto Serif", "Playfair Display", "Work Sans", "Poppins")
"""Families with drawn italics and all weights."""
LETTERS = ("A", "B", "C", "D")
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
class Word:
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


def font_effect(number: int, seed: int) -> Made:
    """A word plain and with an effect; four effects to choose from."""
    rng = chance(seed, "font_effect", str(number))
    effect = dealt(CLASSIC_EFFECTS, number, seed, "font_effect", "effect")
    letter = dealt(LETTERS, number, seed, "font_effect", "letter")
    strength = dealt(STRENGTHS, number, seed, "font_effect", "strength")
    others = some([one for one in CLASSIC_EFFECTS if one != effect], 3, rng)
    options = in_place(effect, others, LETTERS.index(letter))
    ground, ink = pick(LOOKS, rng)
    face = Face(family=pick(FAMILIES, rng))
    text = pick(WORDS, rng).capitalize()
    plain = Word(text, face, Box(x=60, y=30, width=WIDTH - 120, height=180), ink, ground, strength)
    changed = replace(plain, frame=Box(x=60, y=235, width=WIDTH - 120, height=180))
    marks = [*plain.set().glyphs, *DRAWN[effect](changed)]
    truth = {"gt": letter, "text": text, "options": options, "font": face.key}
    texture = dealt(TEXTURES, number, seed, "font_effect", "texture")
    pixels = painted_over(marks, textured(WIDTH, HEIGHT, ground, texture, rng))
    hard = {"texture": texture} if effect == "italic" else {"strength": strength, "texture": texture}
    return Made("font effect", effect, _prompt(options), truth, pixels, hard)


def _prompt(options: list[str]) -> str:
    listed = " ".join(f"{letter}) {ABOUT[effect]}" for letter, effect in zip(LETTERS, options))
    return (
        "The picture shows one word twice: above it is plain, below an effect has been applied to it. Which effect? "
        f"{listed}. Answer with one letter, A, B, C or D."
    )


# -- the effects ---------------------------------------------------------------------------------------------------


def _bold(word: Word) -> tuple[Mark, ...]:
    return word.set(word.face.model_copy(update={"weight": 500 + round(400 * word.strength)})).glyphs


def _italic(word: Word) -> tuple[Mark, ...]:
    return word.set(word.face.model_copy(update={"italic": True})).glyphs


def _glow(word: Word) -> tuple[Mark, ...]:
    halo = mix(word.ink, "#ffffff", 0.25)
    done = word.set()
    return (*blurred(done.glyphs, halo, 22 * word.strength, 0.9), *blurred(done.glyphs, halo, 8, 0.9), *done.glyphs)


def _gradient(word: Word) -> tuple[Mark, ...]:
    done = word.set()
    far = _far(word.ink, word.ground)
    end = mix(word.ink, far, 0.55 + 0.45 * word.strength)
    box = done.box
    paint = Linear(box.x, 0, box.right, 0, ((0.0, word.ink, 1.0), (1.0, end, 1.0)))
    return tuple(replace(run, paint=paint) for run in done.glyphs)


def _far(ink: str, ground: str) -> str:
    """A color of quite another hue that can still be read on the ground."""
    hues = [NAMES[name] for name in ("fuchsia", "azure", "lime", "tangerine", "turquoise")]
    return max(hues, key=lambda hue: min(contrast(hue, ground), 3) + 4 * _apart(hue, ink))


def _apart(one: str, other: str) -> float:
    return sum(abs(int(one[i : i + 2], 16) - int(other[i : i + 2], 16)) for i in (1, 3, 5)) / 765


def _highlight(word: Word) -> tuple[Mark, ...]:
    done = word.set()
    box = done.box
    bar = rect(box.x - 16, box.y - 8, box.width + 32, box.height + 16)
    return (Fill(bar, mix(word.ground, NAMES["fuchsia"], 0.35 + 0.45 * word.strength)), *done.glyphs)


def _outline(word: Word) -> tuple[Mark, ...]:
    done = word.set()
    edge = mix(word.ground, "#ffffff", 1.0) if contrast(word.ink, "#ffffff") > 2 else NAMES["scarlet"]
    return (*(replace(run, paint=edge, outline=3 + 7 * word.strength) for run in done.glyphs), *done.glyphs)


def _reflection(word: Word) -> tuple[Mark, ...]:
    done = word.set()
    foot = done.box.bottom + 3
    paint = Linear(
        0, done.box.bottom, 0, done.box.y, ((0.0, word.ink, 0.3 + 0.4 * word.strength), (1.0, word.ink, 0.0))
    )
    mirrored = tuple(replace(run, paint=paint) for run in done.glyphs)
    return (Group(mirrored, transform=(1.0, 0.0, 0.0, -1.0, 0.0, 2 * foot)), *done.glyphs)


def _shadow(word: Word) -> tuple[Mark, ...]:
    done = word.set()
    step = 3 + 7 * word.strength
    cast = moved(done.glyphs, step, step)
    return (*blurred(cast, "#000000", 2.0, 0.9), *done.glyphs)


def _underline(word: Word) -> tuple[Mark, ...]:
    done = word.set()
    thick = 3 + 5 * word.strength
    return (Fill(rect(done.box.x, done.lines[0].baseline + 12, done.box.width, thick), word.ink), *done.glyphs)


def blurred(glyphs: tuple[Glyphs, ...], color: str, blur: float, opacity: float) -> tuple[Glyphs, ...]:
    """The letters in one color, out of focus."""
    return tuple(replace(run, paint=color, blur=blur, opacity=opacity) for run in glyphs)


def moved(glyphs: tuple[Glyphs, ...], dx: float, dy: float) -> tuple[Glyphs, ...]:
    """The letters a little off their place."""
    return tuple(replace(run, xs=tuple(x + dx for x in run.xs), ys=tuple(y + dy for y in run.ys)) for run in glyphs)


DRAWN: dict[str, Callable[[Word], tuple[Mark, ...]]] = {
    "bold": _bold, "glow": _glow, "gradient_fill": _gradient, "highlight": _highlight, "italic": _italic,
    "outline": _outline, "reflection": _reflection, "shadow": _shadow, "underline": _underline,
}  # fmt: skip
"""Effect to its marks."""
