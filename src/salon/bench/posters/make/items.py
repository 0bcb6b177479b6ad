"""What makers of items share: the item itself, balanced choices, texts to set, and faces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from salon.render import FAMILIES, Box, Face, Family, chance


@dataclass(frozen=True)
class MadeItem:
    """An item before it has a name: the fields of its record, and its pixels."""

    string: str
    """What `task` says."""
    subtask: str | int
    prompt: str
    truth: Mapping[str, Any]
    """Fields with the truth, and whatever else is known of the picture."""
    pixels: np.ndarray | None
    """(height, width, 3) bytes; None for a prompt, whose poster a generator is to make."""
    difficulty: Mapping[str, float] = field(default_factory=dict)

    def record(self, name: str, path: str) -> dict[str, Any]:
        """The record in the public layout."""
        fields = {"task": self.string, "subtask": self.subtask, "name": name, "path": path, "prompt": self.prompt}
        hard = {"difficulty": dict(self.difficulty)} if self.difficulty else {}
        return {**fields, **self.truth, **hard}


def pixel_box(box: Box, width: int, height: int) -> list[int]:
    """x1, y1, x2, y2 in whole pixels around the box, on the canvas."""
    left, top = max(0, int(box.x)), max(0, int(box.y))
    return [left, top, min(width, -int(-box.right // 1)), min(height, -int(-box.bottom // 1))]


# -- balanced choices --------------------------------------------------------------------------------------------------

T = TypeVar("T")


def balanced_choice(options: Sequence[T], number: int, seed: int, *labels: str) -> T:
    """The option of item `number`: of every len(options) items in a row each option has one, in shuffled order."""
    pack, place = divmod(number, len(options))
    return options[int(chance(seed, "deal", *labels, str(pack)).permutation(len(options))[place])]


def pick(options: Sequence[T], rng: np.random.Generator) -> T:
    """Any one of the options."""
    return options[int(rng.integers(len(options)))]


def pick_some(options: Sequence[T], count: int, rng: np.random.Generator) -> list[T]:
    """`count` different ones, in random order."""
    return [options[int(at)] for at in rng.permutation(len(options))[:count]]


def insert_at(right: T, options: Sequence[T], at: int) -> list[T]:
    """The others with the right one put in at place `at`."""
    return [*options[:at], right, *options[at:]]


# -- texts: everyday words, numbers and invented names -----------------------------------------------------------------

_EVERYDAY = """
    acorn album amber anchor apple april arrow atlas autumn bakery balcony bamboo basket beacon bicycle birch
    blanket bottle bridge bright bronze button cabin cactus camera candle canyon carbon carpet castle cedar chalk
    cherry circle citrus cloud clover cobalt coffee copper coral cotton cradle crane credit cricket crystal curtain
    dancer daring delta desert diamond dinner distant dragon dream eager earth echo eleven ember emerald engine
    evening fabric falcon feather festival fiddle finch flame flavor forest fortune fountain frozen galaxy garden
    garlic gentle ginger glacier golden grain granite gravel green guitar hammer harbor harvest hazel helmet hidden
    hollow honest honey horizon humble island ivory jacket jasmine journey jungle kettle kitchen kitten ladder
    lantern laurel lemon lilac linen little lively lobster lucky magnet mango maple marble market meadow melody
    mellow mirror modern morning mosaic motion mountain muffin museum nectar needle nimble north novel ocean olive
    onion opera orange orbit orchard oyster paddle painter palace paper parade pepper pilot planet plaster plenty
    pocket polar poppy prairie pretty pumpkin purple puzzle quartz quick quiet rabbit radio raven record ribbon
    ripple river rocket rustic saddle saffron salmon sandal satin school season secret shadow silent silver simple
    singer sketch slender smooth snow spark spice spiral spring square station stone story studio summer sunset
    swallow sweet tablet tailor temple thimble thunder tiger timber tomato topaz tower travel tulip tunnel twelve
    twilight umbrella useful valley vanilla velvet violet visit voyage walnut warm water weather willow window
    winter wonder woolen yellow young zebra
"""
WORDS = tuple(_EVERYDAY.split())
STARTS = ("Al", "Bra", "Ca", "Do", "El", "Fa", "Gri", "Ha", "Jo", "Ka", "Lu", "Ma", "No", "Or", "Pe", "Ra", "So", "Ta",
          "Ul", "Ve", "Wi", "Za")  # fmt: skip
MIDDLES = ("ber", "dan", "fen", "gra", "len", "mar", "nel", "par", "ran", "ser", "tan", "vel", "vin", "zon")
ENDS = ("a", "ado", "an", "ax", "el", "en", "era", "ia", "ika", "is", "o", "or", "um", "us", "yx")


def line_of_words(rng: np.random.Generator, least: int, most: int) -> str:
    """Words in a row, `least` to `most` characters long: not a sentence, so that nothing can be guessed."""
    while True:
        words = [_vary_case(pick(WORDS, rng), rng) for _ in range(2 + int(rng.integers(5)))]
        if rng.random() < 0.3:
            words[int(rng.integers(len(words)))] = str(rng.integers(10, 10_000))
        text = " ".join(words)
        if least <= len(text) <= most:
            return text


LETTERS = "abcdefghjkmnpqrstuvwxyz"
"""Without i, l and o, of which one case or the other looks like l, I, 1 or 0."""
_CASE_LETTERS = set("abdefghjmnqrty")
"""Letters whose capitals have another shape: one of them shows whether a group is in capitals."""


def line_of_letters(rng: np.random.Generator, least: int, most: int, *, upper: bool = True) -> str:
    """Groups of letters in no order, `least` to `most` characters long: nothing can be guessed from a word's sense.

    A group is small, in capitals (where `upper` allows it) or has one at its beginning; letters that look like another
    one (i, l, o) and groups whose case cannot be seen are not used.
    """
    while True:
        groups = [_group(rng, upper) for _ in range(2 + int(rng.integers(3)))]
        text = " ".join(groups)
        if least <= len(text) <= most:
            return text


def _group(rng: np.random.Generator, upper: bool) -> str:
    while True:
        letters = "".join(pick(LETTERS, rng) for _ in range(4 + int(rng.integers(4))))
        if letters[0] in _CASE_LETTERS and set(letters[1:]) & _CASE_LETTERS:
            break
    way = rng.random()
    if upper and way < 0.3:
        return letters.upper()
    return letters.capitalize() if way < 0.55 else letters


def invented_name(rng: np.random.Generator) -> str:
    """A name for a company, a street or a person."""
    return pick(STARTS, rng) + (pick(MIDDLES, rng) if rng.random() < 0.6 else "") + pick(ENDS, rng)


def title(rng: np.random.Generator, words: int) -> str:
    """A few words, each with a capital."""
    return " ".join(pick(WORDS, rng).capitalize() for _ in range(words))


def _vary_case(word: str, rng: np.random.Generator) -> str:
    way = rng.random()
    return word.capitalize() if way < 0.3 else word.upper() if way < 0.36 else word


# -- faces, from the catalogue of the renderer -------------------------------------------------------------------------

TWINS = ("Heebo",)
"""Families whose Latin letters are those of another one."""
LATIN: tuple[Family, ...] = tuple(
    family
    for family in FAMILIES.values()
    if "latin" in family.scripts and not {"cjk", "arabic"} & set(family.scripts) and family.name not in TWINS
)
PLAIN: tuple[Face, ...] = tuple(
    Face(family=name)
    for name in ("Inter", "Lora", "Noto Serif", "Archivo", "Work Sans", "Zilla Slab", "EB Garamond", "DM Sans",
                 "Roboto Flex", "Poppins")
)  # fmt: skip
"""Faces for reading, upright and of usual weight."""
FANCY: tuple[Face, ...] = tuple(
    Face(family=name, weight=weight)
    for name, weight in (
        ("Abril Fatface", 400), ("Playfair Display", 900), ("Bebas Neue", 400), ("Bungee", 400), ("Luckiest Guy", 400),
        ("Orbitron", 600), ("Righteous", 400), ("Russo One", 400), ("Syne", 700), ("Unbounded", 500),
        ("Alfa Slab One", 400), ("Dancing Script", 600), ("Lobster", 400), ("Pacifico", 400), ("Yellowtail", 400),
        ("Caveat", 600), ("Permanent Marker", 400), ("Space Mono", 700), ("Press Start 2P", 400), ("Anton", 400),
        ("Barlow Condensed", 300), ("Josefin Sans", 200), ("Cinzel", 500), ("Archivo Condensed", 800),
    )
)  # fmt: skip
"""Faces that are harder to read: display, script, hand, very thin and very narrow ones."""


def as_displayed(text: str, face: Face) -> str:
    """The text as a reader takes it from this face: capitals where its small letters look like them."""
    return text.upper() if FAMILIES[face.family].caps else text
