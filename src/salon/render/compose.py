"""From a brief to a plan: which style, colors, faces and arrangement, by a house's hand and a seed."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from salon.errors import BadValue
from salon.render.arrangements import ARRANGEMENTS, Arrangement, suitable
from salon.render.brief import SIZES, STYLES, Align, Brief, Place
from salon.render.chance import Seeds, chance
from salon.render.colors import contrast, oklch
from salon.render.lay_out import lay_out
from salon.render.layout import TEXT_ROLES, Face
from salon.render.palettes import harmonise, rechecked
from salon.render.plan import Palette, Plan, TypeScale
from salon.render.style import Style
from salon.render.styles import style_named

__all__ = ["Hand", "lay_out", "plan_poster"]

SMALLEST, LARGEST, LONGEST_RATIO = 64, 8192, 3.0
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hand:
    """A house's way of working; what a brief asks for wins over it."""

    house: str = "plain"
    styles: tuple[str, ...] = ()
    """Styles it likes, best first; empty for any that suits the mood."""
    arrangements: tuple[str, ...] = ()
    """Arrangements it likes; empty for those of the style."""
    margin: float = 0.07
    air: float = 1.0
    loudness: float = 1.0
    """Factor on the size of headlines."""


def plan_poster(
    brief: Brief, hand: Hand, seed: int | Seeds, *, width: int | None = None, height: int | None = None
) -> Plan:
    """Every decision about a poster. The same brief, hand, seed and size give the same plan."""
    width, height = _size(brief, width, height)
    if (seed.own if isinstance(seed, Seeds) else seed) < 0:
        raise BadValue("a seed of 0 or more is needed", found=seed, where=f"brief {brief.id}")
    style = _style(brief, hand, chance(seed, "style"))
    palette = _palette(brief, style, seed)
    arrangement = _arrangement(brief, hand, style, width, height, chance(seed, "arrangement"))
    display, text = _faces(style, chance(seed, "faces"))
    return Plan(
        brief=brief,
        house=hand.house,
        seed=seed,
        width=width,
        height=height,
        texts=_texts(brief, style),
        style=style.name,
        palette=palette,
        display=display,
        text=text,
        arrangement=arrangement.name,
        headline_at=brief.headline_at or _place(brief, arrangement, chance(seed, "place")),
        align=brief.align or _align(brief, arrangement, chance(seed, "align")),
        scale=TypeScale(headline=_loudness(brief.headline) * style.scale * hand.loudness, subhead=1.6),
        margin=hand.margin,
        air=hand.air,
        tracking={"headline": style.tracking} if style.tracking else {},
        headline_ink=_headline_ink(palette, chance(seed, "headline ink")),
        cta=_pick(("pill", "box", "line", "outline"), chance(seed, "cta"), fall=0.6),
    )


def _size(brief: Brief, width: int | None, height: int | None) -> tuple[int, int]:
    usual = SIZES[brief.format]
    if width is None:
        width = usual[0] if height is None else round(height * usual[0] / usual[1])
    if height is None:
        height = round(width * usual[1] / usual[0])
    if not (min(width, height) >= SMALLEST and max(width, height) <= LARGEST):
        raise BadValue(
            f"width and height from {SMALLEST} to {LARGEST} px are needed",
            found=f"{width} x {height}",
            where=f"brief {brief.id}",
        )
    if max(width, height) > LONGEST_RATIO * min(width, height):
        raise BadValue(
            f"a canvas no longer than {LONGEST_RATIO:g} times its breadth is needed",
            found=f"{width} x {height}",
            where=f"brief {brief.id}",
            remedy="ask for a squarer canvas",
        )
    return width, height


def _style(brief: Brief, hand: Hand, rng: np.random.Generator) -> Style:
    if brief.style:
        return style_named(brief.style)
    names = [name for name in hand.styles or STYLES if brief.mood in style_named(name).moods]
    return style_named(_pick(names or hand.styles or STYLES, rng, fall=0.8 if hand.styles else 1.0))


def _palette(brief: Brief, style: Style, seed: int | Seeds) -> Palette:
    plain = harmonise(brief.palette, brief.mood, chance(seed, "palette"))
    return rechecked(style.tune(plain, chance(seed, "tune")))


def _arrangement(
    brief: Brief, hand: Hand, style: Style, width: int, height: int, rng: np.random.Generator
) -> Arrangement:
    """One that suits the format, the canvas and the place asked for; the house's and the style's favourites first."""
    fits = {a.name for a in suitable(brief.format, width, height, brief.headline_at)}
    if not fits:
        fits = {a.name for a in suitable(brief.format, width, height)}
    if brief.align:
        fits = {name for name in fits if brief.align in ARRANGEMENTS[name].aligns} or fits
    for wanted in (hand.arrangements, style.arrangements, tuple(ARRANGEMENTS)):
        names = [name for name in wanted if name in fits]
        if names:
            return ARRANGEMENTS[_pick(names, rng, fall=0.75)]
    raise BadValue(
        f"a canvas that suits a {brief.format} is needed", found=f"{width} x {height}", where=f"brief {brief.id}"
    )


def _faces(style: Style, rng: np.random.Generator) -> tuple[Face, Face]:
    family, weight = _pick(style.displays, rng, fall=0.6)
    text_family, text_weight = _pick(style.texts, rng, fall=0.6)
    return Face(family=family, weight=weight), Face(family=text_family, weight=text_weight)


def _texts(brief: Brief, style: Style) -> dict[str, str]:
    """What will be set: capitals where the style wants them and the headline is short enough to bear it."""
    texts: dict[str, str] = {role: text for role in TEXT_ROLES if (text := getattr(brief, role)) and not text.isspace()}
    upper = style.case == "upper" and len(brief.headline) <= 70
    return texts | {"headline": brief.headline.upper() if upper else brief.headline}


def _place(brief: Brief, arrangement: Arrangement, rng: np.random.Generator) -> Place:
    """A place the arrangement likes; low only where little else has to stand below the headline."""
    if brief.format == "logo":
        return arrangement.places[0]
    much = brief.body or sum(map(bool, (brief.subhead, brief.cta, brief.when or brief.where))) > 1
    places = [place for place in arrangement.places if place != "bottom" or not much]
    return _pick(places or arrangement.places, rng, fall=0.6)


def _align(brief: Brief, arrangement: Arrangement, rng: np.random.Generator) -> Align:
    """The arrangement's favourite, now and then its second; the side that reading starts from, never the other."""
    align = arrangement.aligns[0 if rng.random() < 0.75 else 1]
    if align == "center":
        return align
    return "right" if _right_to_left(brief.headline) else "left"


def _loudness(headline: str) -> float:
    """How many times the body size a headline may have: the fewer letters, the more."""
    return 10 * min(1.9, max(1.0, 8 / len(headline)))


def _right_to_left(text: str) -> bool:
    """Whether the first letter with a direction runs leftwards."""
    strong = (unicodedata.bidirectional(character) for character in text)
    return next((kind for kind in strong if kind in ("L", "R", "AL")), "L") != "L"


def _headline_ink(palette: Palette, rng: np.random.Generator) -> str:
    """Now and then a headline in color, where it is one and reads as well as ink must."""
    colors = {name: getattr(palette, name) for name in ("accent", "primary")}
    choices = [
        name for name, color in colors.items() if oklch(color)[1] > 0.08 and contrast(color, palette.ground) >= 5
    ]
    return choices[0] if choices and rng.random() < 0.4 else "ink"


def _pick(choices: Sequence[T], rng: np.random.Generator, *, fall: float) -> T:
    """One of `choices`, each `fall` times as likely as the one before it."""
    weights = fall ** np.arange(len(choices))
    return choices[int(np.searchsorted(np.cumsum(weights) / weights.sum(), rng.random(), side="right"))]
