"""The built-in generators: houses that draw posters offline, each good at some things and bad at others by design.

A house has a hand (styles and arrangements it likes) and tendencies: how often, and how strongly, each defect befalls
its work. So what it is worth under every criterion is known beforehand (`expected_quality`), houses rank differently
from criterion to criterion, and any way of judging them can be held against that.

A house heeds asks (`salon.render.brief_text`): a flaw that the prompt asks to avoid befalls its work `HEEDED` times as
often. What always befalls it, as in a variant, cannot be asked away.

Every poster may be the start of another (image-to-image): see `salon.generate.house_start`.

A variant is a house with defects planted in all its work: `proof+low-contrast@0.6` draws what `proof` draws, poster by
poster, with every ink faded by 0.6. So the two differ in nothing else.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from salon.engine.processes import over_processes
from salon.errors import BadValue, SalonError
from salon.generate.house_start import DECISIONS, STRENGTH, start_from
from salon.render.brief_text import asked_against, read_brief
from salon.render.chance import Seeds, chance
from salon.render.compose import Hand
from salon.render.draw import draw_poster
from salon.render.layout import DEFECTS, DefectKind, Layout
from salon.render.paint.raster import paint_png
from salon.render.paint.svg import write_svg
from salon.render.poster import layout_json
from salon.render.quality import true_quality
from salon.study import Abilities, Ask, Failed, Made, Signature

DRAWING = 1
"""Raised when the same brief, house and seed draw another picture than before, so that runs do not mix them."""
_FEW = 8
"""Posters that are drawn sooner than other processes start."""
HEEDED = 0.4
"""How often a flaw still befalls a house that is asked to avoid it, of the times it would have. A stipulation."""


@dataclass(frozen=True, slots=True)
class Tendency:
    """How often a defect befalls a house's work, and between which strengths it then lies."""

    often: float
    low: float
    high: float

    @property
    def mean(self) -> float:
        """Its mean strength, over posters with and without it."""
        return self.often * (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class House:
    """One generator: what it likes, and where it fails."""

    name: str
    about: str
    hand: Hand
    tendencies: Mapping[DefectKind, Tendency] = field(default_factory=dict)

    @property
    def parent(self) -> str:
        """The house of which this is a variant; its own name where it is none."""
        return self.name.partition("+")[0]

    def knobs(self, seed: int | Seeds, asked: Collection[DefectKind] = ()) -> dict[DefectKind, float]:
        """The strengths of the defects that befall the poster with this seed, where it is `asked` to avoid some."""
        found: dict[DefectKind, float] = {}
        for kind in DEFECTS:
            if tendency := self.tendencies.get(kind):
                happens, strength = chance(seed, "befalls", kind).random(2)
                if happens < tendency.often * (HEEDED if kind in asked and tendency.often < 1 else 1):
                    found[kind] = round(tendency.low + strength * (tendency.high - tendency.low), 3)
        return found


def _house(name: str, about: str, hand: Hand, **tendencies: tuple[float, float, float]) -> House:
    known = {kind.replace("-", "_"): kind for kind in DEFECTS}
    return House(name, about, hand, {known[kind]: Tendency(*how) for kind, how in tendencies.items()})


HOUSES: dict[str, House] = {
    house.name: house
    for house in (
        _house(
            "atelier",
            "sets type like a press of old, and goes its own way with color and place",
            Hand("atelier", ("Typographic Minimalism", "Minimalist", "Japanese", "Retro"), margin=0.08, air=1.1),
            wrong_color=(0.75, 0.3, 0.9),
            wrong_position=(0.6, 0.4, 1.0),
            off_mood_style=(0.3, 0.3, 0.7),
        ),
        _house(
            "carnival",
            "knows color and mood, and cannot set a line of type",
            Hand("carnival", ("Pop Art", "Memphis", "Flat Design", "Papercut", "Illustrative"), margin=0.06),
            bad_kerning=(0.7, 0.4, 1.0),
            wrong_font_pairing=(0.65, 0.3, 1.0),
            crowding=(0.5, 0.3, 0.9),
            misalignment=(0.4, 0.3, 0.8),
        ),
        _house(
            "ledger",
            "follows the brief to the letter, and has no eye for harmony or emphasis",
            Hand("ledger", ("Flat Design", "Minimalist", "Cinema 4D", "Pixel Art"), ("stack", "hero-top", "split")),
            clashing_colors=(0.65, 0.3, 0.9),
            broken_hierarchy=(0.65, 0.3, 0.9),
            low_contrast=(0.3, 0.2, 0.55),
            off_mood_style=(0.3, 0.3, 0.8),
        ),
        _house(
            "mirage",
            "paints mood and light, and makes up words and things",
            Hand("mirage", ("Diffuse Glow", "New Chinese Aesthetic", "Cyberpunk", "Vaporwave", "Acid Graphics")),
            misspelling=(0.75, 0.1, 0.5),
            missing_text=(0.5, 0.2, 0.8),
            extra_element=(0.6, 0.3, 1.0),
            low_contrast=(0.2, 0.2, 0.5),
        ),
        _house(
            "apprentice",
            "does a little of everything wrong",
            Hand("apprentice"),
            **{kind.replace("-", "_"): (0.35, 0.1, 0.7) for kind in DEFECTS},
        ),
        _house("proof", "draws the brief as it is, without a planted flaw", Hand("proof")),
    )
}


def house_named(text: str) -> House:
    """A house by its name, or a variant: HOUSE+DEFECT@STRENGTH, with as many defects as wanted."""
    name, *planted = text.split("+")
    if name not in HOUSES:
        raise BadValue("the name of a house is needed", found=repr(name), remedy=f"one of {', '.join(HOUSES)}")
    if not planted:
        return HOUSES[name]
    strengths: dict[DefectKind, float] = {}
    for part in planted:
        kind, strength = _planted(part, text)
        if kind in strengths:
            raise BadValue("a variant has each defect once", found=f"{kind} twice", where=text)
        strengths[kind] = strength
    parent = HOUSES[name]
    always = {kind: Tendency(1.0, strengths[kind], strengths[kind]) for kind in DEFECTS if kind in strengths}
    label = "+".join([name, *(f"{kind}@{how.low:g}" for kind, how in always.items())])
    about = f"{name}, with {', '.join(always)} in all its work"
    return House(label, about, replace(parent.hand, house=label), {**parent.tendencies, **always})


def _planted(text: str, where: str) -> tuple[DefectKind, float]:
    kind, _, strength = text.partition("@")
    known: dict[str, DefectKind] = {one: one for one in DEFECTS}
    if kind not in known:
        near = difflib.get_close_matches(kind, DEFECTS, n=1)
        start = f"did you mean {near[0]}? " if near else ""
        raise BadValue(
            "a variant is HOUSE+DEFECT@STRENGTH", found=repr(text), where=where,
            remedy=f"{start}Defects are {', '.join(DEFECTS)}",
        )  # fmt: skip
    try:
        value = round(float(strength), 3)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:  # also refuses NaN
        raise BadValue("a strength above 0, up to 1, is needed", found=repr(strength), where=where,
                       remedy=f"for instance {kind}@0.5")  # fmt: skip
    return known[kind], value


def expected_quality(house: House) -> dict[str, float]:
    """Mean true quality of a house's work by criterion, where briefs name colors and places.

    Defects befall posters independently, so the mean of the product is the product of the means.
    """
    return true_quality({kind: tendency.mean for kind, tendency in house.tendencies.items()})


class HouseGenerator:
    """A house as a generator: draws in as many processes as there are cores."""

    def __init__(self, house: House, processes: int | None = None) -> None:
        self.house, self.name, self.processes = house, house.name, processes
        self.abilities = Abilities(image_to_image=True, seeded=True, batch=256, offline=True)
        self.signature = Signature(method=f"house {house.name}", settings={"drawing": DRAWING})

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Made | Failed]]:
        """A poster with its layout JSON and SVG for each ask; a prompt that cannot be drawn is a `Failed`."""
        tasks = [(self.name, ask) for ask in asks]
        processes = self.processes or (1 if len(tasks) < _FEW else None)
        for index, result in over_processes(_drawn, tasks, processes=processes):
            if isinstance(result, SalonError):
                yield index, Failed(reason=str(result), kind="cannot-draw")
            elif isinstance(result, Exception):
                raise result
            else:
                yield index, result


def house_generator(name: str, processes: int | None = None) -> HouseGenerator:
    """The built-in generator called `name`, or a variant of it."""
    return HouseGenerator(house_named(name), processes)


def poster_seed(house: str, prompt: str, seed: int) -> int:
    """The seed a poster is drawn from: other prompts and houses get other chances under the same seed."""
    return int(chance(seed, house, prompt).integers(2**32))


def _drawn(task: tuple[str, Ask]) -> Made:
    """One poster, in a process of its own."""
    name, ask = task
    house = house_named(name)
    fresh = poster_seed(house.parent, ask.prompt.id, ask.seed)
    seed: int | Seeds = fresh
    size = {"width": ask.width, "height": ask.height}
    started: dict[str, float] = {}
    if ask.image is not None:
        seeds, before = start_from(house, ask, fresh)
        seed = seeds
        size = size if ask.width or ask.height else {"width": before.width, "height": before.height}
        started = {
            "kept": len(seeds.kept),
            "anew": len(DECISIONS) - len(seeds.kept),
            "strength": ask.strength or STRENGTH,
        }
    brief = read_brief(ask.prompt)
    asked = asked_against(ask.prompt)
    poster = draw_poster(brief, house.hand, seed=seed, knobs=house.knobs(seed, asked), **size)
    layout = poster.layout
    return Made(
        image=paint_png(poster.layers, layout.width, layout.height),
        layout=layout_json(layout),
        svg=write_svg(poster.layers, layout.width, layout.height, title=brief.headline, labels=_labels(layout)),
        facts={"style": layout.style, "arrangement": layout.arrangement, "defects": len(layout.defects)}
        | started
        | ({"asked": ", ".join(kind for kind in DEFECTS if kind in asked)} if asked else {}),
    )


def _labels(layout: Layout) -> dict[str, str]:
    return {element.id: element.lettering.text for element in layout.elements if element.lettering}
