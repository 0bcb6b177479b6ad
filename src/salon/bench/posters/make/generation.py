"""Prompts for generators, with key points: dense, font, style, composition, intention.

A record has no picture yet: `path` says where the poster will stand. Beside each key point of `gt` stands in `rules`
how it can be measured (`text`, `color`, `place`, ... as judges that measure know them), or null where only eyes can
tell. A prompt is plain words; every generator gets the same. The built-in houses read what it asks for out of these
words, and a prompt that they would read otherwise than it is meant is drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from salon.bench.posters.make.briefs import OCCASIONS, make_brief
from salon.bench.posters.make.deal import dealt
from salon.bench.posters.make.made import Made
from salon.bench.posters.vocabulary import OPERATIONS
from salon.errors import BadValue
from salon.render.brief import STYLES, Brief, Place, Style
from salon.render.brief_text import LABELS, named_colors, read_brief
from salon.render.chance import chance
from salon.study import Prompt

Rule = Mapping[str, Any]
Point = tuple[str, Rule | None]
"""What must be so, and how it can be measured."""
TEXTS = (3, 5, 7)
"""Texts of a dense poster."""
COLORS = (
    ("navy", "yellow"), ("cobalt", "apricot"), ("cream", "rust"), ("crimson", "blush"), ("ice", "navy"),
    ("indigo", "amber"), ("ivory", "petrol"), ("lemon", "cobalt"), ("mustard", "maroon"), ("petrol", "amber"),
    ("sand", "plum"), ("sky", "scarlet"), ("teal", "orange"), ("terracotta", "cream"), ("turquoise", "indigo"),
    ("white", "navy"), ("violet", "lime"), ("tangerine", "midnight"),
)  # fmt: skip
"""The color that leads and another one."""
KEEPING: tuple[Style, ...] = ("Flat Design", "Minimalist", "Papercut", "Illustrative", "Typographic Minimalism")
"""Styles that leave colors as they are named."""
PLACES: tuple[Place, ...] = ("top", "middle", "bottom")
CONTRAST = 3.0
"""WCAG's least contrast of large text."""
HOW: dict[str, tuple[str, str]] = {
    "misalignment": ("Shift parts of the lettering out of line with the rest, so that the order is visibly broken.",
                     "Parts of the lettering are shifted out of line with the rest on purpose."),
    "segmentation": ("Cut the main motif into strips or tiles with gaps between them.",
                     "The main motif is cut into separate strips or tiles."),
    "nesting": ("Put a second, smaller scene inside the outline of the main motif.",
                "A second scene lies inside the outline of the main motif."),
    "cutouts": ("Cut the main motif out of the ground, so that what lies behind shows through its outline.",
                "The main motif is a hole through which something behind it shows."),
    "repetition": ("Repeat the main motif in a regular pattern.", "The main motif is repeated in a regular pattern."),
    "extension": ("Let the main motif run over the edge of its frame.",
                  "The main motif runs over the edge of its frame."),
    "focus shifting": ("Set the main motif far off the middle and leave the rest empty.",
                       "The main motif stands far off the middle, beside a large empty area."),
    "mirroring": ("Show the main motif a second time as its mirror image.",
                  "The main motif and its mirror image are both there."),
}  # fmt: skip
"""What to do for an operation, and what is then to be seen."""
_PLAIN = tuple(one for one in OCCASIONS if not named_colors(one.purpose))
"""Occasions that can be told without the name of a color."""
_LONGEST_TRY = 60


def gen_dense(number: int, seed: int) -> Made:
    """A poster with three to seven texts, two colors and a place for the headline, all of it asked for."""
    texts = dealt(TEXTS, number, seed, "gen_dense")
    colors = dealt(COLORS, number, seed, "gen_dense", "colors")
    place = dealt(PLACES, number, seed, "gen_dense", "place")
    style = dealt(KEEPING, number, seed, "gen_dense", "style")

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        brief = make_brief("dense", rng, texts=texts, style=style)
        brief = brief.model_copy(update={"palette": colors, "headline_at": place})
        return brief, (
            f"Design a poster. Motif of the picture: {brief.subject}; mood: {brief.mood}; style: {style}. "
            f"Colors: {colors[0]} over large areas, and {colors[1]}. The headline stands at the {place} and is larger "
            f"than everything else. All text can be told clearly from its ground. The client wants to {brief.intent}. "
            f"Set these texts and no others, every word as written:\n{_listed(brief)}"
        )

    brief, prompt = _meant("gen_dense", number, seed, written)
    points = [*_text_points(brief), *_color_points(colors), _place_point(brief, place), _largest_point(brief, 1.0),
              ("All text can be told clearly from its ground.", {"kind": "contrast", "least": CONTRAST})]  # fmt: skip
    return _prompt("poster dense", f"{texts} texts", prompt, points, {"texts": float(texts)})


def gen_font(number: int, seed: int) -> Made:
    """A poster that lives by its lettering, with as many kinds of it as the generator can bring together."""
    texts = dealt((3, 4, 5), number, seed, "gen_font")

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        brief = make_brief("font", rng, texts=texts)
        return brief, (
            f"Design a poster that lives by its lettering. Motif of the picture, kept small: {brief.subject}; "
            f"mood: {brief.mood}. Give each text letters of another character, as different from each other as you "
            f"can. The client wants to {brief.intent}. Set these texts, every word as written:\n{_listed(brief)}"
        )

    brief, prompt = _meant("gen_font", number, seed, written)
    return Made("poster font", "lettering", prompt, {"theme": brief.intent, "texts": _texts(brief)}, None)


def gen_style(number: int, seed: int) -> Made:
    """A poster in one of the seventeen styles."""
    style = dealt(STYLES, number, seed, "gen_style")

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        brief = make_brief("style", rng, texts=3, style=style)
        return brief, (
            f"Design a poster. Motif of the picture: {brief.subject}; mood: {brief.mood}. The whole poster is in "
            f"the style {style}. The client wants to {brief.intent}. Set these texts, every word as written:\n"
            f"{_listed(brief)}"
        )

    brief, prompt = _meant("gen_style", number, seed, written)
    return Made("poster style", style, prompt, {"style": style, "theme": brief.intent}, None)


def gen_composition(number: int, seed: int) -> Made:
    """A poster whose parts are put together in a way that is asked for."""
    operation = dealt(OPERATIONS, number, seed, "gen_composition")
    place = dealt(PLACES, number, seed, "gen_composition", "place")
    todo, seen = HOW[operation]

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        brief = make_brief("composition", rng, texts=3).model_copy(update={"headline_at": place})
        return brief, (
            f"Design a poster. Motif of the picture: {brief.subject}; mood: {brief.mood}. {todo} The headline "
            f"stands at the {place} and is at least one and a half times as tall as any other line. All text keeps "
            f"clear of the edges. The client wants to {brief.intent}. Set these texts, every word as written:\n"
            f"{_listed(brief)}"
        )

    brief, prompt = _meant("gen_composition", number, seed, written)
    margin = {"kind": "margin", "texts": _texts(brief), "least": 0.02}
    points = [
        (seen, None),
        (f"The picture shows this motif: {brief.subject}.", {"kind": "picture", "of": brief.subject}),
        _place_point(brief, place),
        _largest_point(brief, 1.5),
        ("All text keeps clear of the edges.", margin),
    ]
    return _prompt("poster composition", operation, prompt, points, {})


def gen_intention(number: int, seed: int) -> Made:
    """A poster of which only is said what it is to bring about."""
    occasion = dealt(_PLAIN, number, seed, "gen_intention")
    texts = dealt((3, 4, 5), number, seed, "gen_intention", "texts")

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        always = ("cta", "when", "where", "brand")[: texts - 1]
        brief = make_brief("intention", rng, texts=texts, occasion=occasion, always=always)
        return brief, (
            f"Design a poster. Motif that stands for what it is about: {brief.subject}; mood: {brief.mood}. The client "
            f"wants to {brief.intent}: whoever passes by should understand that at a glance, and know what to do. "
            f"Set these texts, every word as written:\n{_listed(brief)}"
        )

    brief, prompt = _meant("gen_intention", number, seed, written)
    points = [(f"The poster wants to {brief.intent}.", None),
              (f"The picture ({brief.subject}) belongs to what the poster is about.",
               {"kind": "picture", "of": brief.subject}), *_text_points(brief)]  # fmt: skip
    return _prompt("poster intention", occasion.purpose, prompt, points, {})


PROMPTS: dict[str, Callable[[int, int], Made]] = {
    one.__name__: one for one in (gen_dense, gen_font, gen_style, gen_composition, gen_intention)
}
"""Task to what writes its prompt of a number under a seed."""


def _prompt(string: str, kind: str, prompt: str, points: Sequence[Point], hard: Mapping[str, float]) -> Made:
    truth = {"gt": [text for text, _ in points], "rules": [None if rule is None else dict(rule) for _, rule in points]}
    return Made(string, kind, prompt, truth, None, hard)


def _meant(
    task: str, number: int, seed: int, written: Callable[[np.random.Generator], tuple[Brief, str]]
) -> tuple[Brief, str]:
    """The first of a row of prompts that reads as it is meant."""
    for attempt in range(_LONGEST_TRY):
        brief, prompt = written(chance(seed, task, str(number), str(attempt)))
        if _is_read_so(brief, prompt):
            return brief, prompt
    raise BadValue("a prompt that reads as it is meant is needed", found=f"{_LONGEST_TRY} that do not",
                   where=f"{task} {number}")  # fmt: skip


def _is_read_so(brief: Brief, prompt: str) -> bool:
    """Whether a house would find in the prompt what the brief says, and the texts in their order."""
    if brief.subject == "abstract":  # nothing to show
        return False
    read = read_brief(Prompt(id=brief.id, text=prompt))
    fields = ("format", "subject", "mood", "style", "palette", "headline_at")
    return _texts(read) == _texts(brief) and all(getattr(read, one) == getattr(brief, one) for one in fields)


# -- words and points ------------------------------------------------------------------------------------------------


def _texts(brief: Brief) -> list[str]:
    return [text for role in LABELS if (text := getattr(brief, role)) is not None]


def _listed(brief: Brief) -> str:
    first, *others = _texts(brief)
    return "\n".join([f"- headline: “{first}”", *(f"- “{text}”" for text in others)])


def _text_points(brief: Brief) -> list[Point]:
    return [(f"“{text}” can be read, every word spelled right.", {"kind": "text", "text": text})
            for text in _texts(brief)]  # fmt: skip


def _color_points(colors: tuple[str, str]) -> list[Point]:
    lead, other = colors
    return [(f"Large areas are {lead}.", {"kind": "color", "color": lead, "leads": True}),
            (f"Something is {other}.", {"kind": "color", "color": other})]  # fmt: skip


def _place_point(brief: Brief, place: Place) -> Point:
    third = {"top": "upper", "middle": "middle", "bottom": "lower"}[place]
    rule = {"kind": "place", "text": brief.headline, "at": place}
    return f"The headline “{brief.headline}” stands in the {third} third.", rule


def _largest_point(brief: Brief, times: float) -> Point:
    told = "taller than" if times == 1 else f"at least {times:g} times as tall as"
    rule = {"kind": "largest", "text": brief.headline, "times": times}
    return f"The headline “{brief.headline}” is {told} any other line.", rule
