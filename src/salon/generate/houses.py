"""The built-in generators: houses that draw posters offline, each good at some things and bad at others by design.

A house has a hand (styles and arrangements it likes) and tendencies: how often, and how strongly, each defect befalls
its work. So what it is worth under every criterion is known beforehand (`expected_quality`), houses rank differently
from criterion to criterion, and any way of judging them can be held against that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from salon.engine.processes import over_processes
from salon.errors import BadValue, SalonError
from salon.render.brief_text import read_brief
from salon.render.chance import chance
from salon.render.compose import Hand
from salon.render.defects import DEFECTS
from salon.render.draw import draw_poster
from salon.render.layout import DefectKind, Layout
from salon.render.paint.raster import paint_png
from salon.render.paint.svg import write_svg
from salon.render.poster import layout_json
from salon.render.quality import true_quality
from salon.study import Abilities, Ask, Failed, Made, Signature

DRAWING = 1
"""Raised when the same brief, house and seed draw another picture than before, so that runs do not mix them."""


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

    def knobs(self, seed: int) -> dict[DefectKind, float]:
        """The strengths of the defects that befall the poster with this seed."""
        found: dict[DefectKind, float] = {}
        for kind in DEFECTS:
            if tendency := self.tendencies.get(kind):
                happens, strength = chance(seed, "befalls", kind).random(2)
                if happens < tendency.often:
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


def expected_quality(house: House) -> dict[str, float]:
    """Mean true quality of a house's work by criterion, where briefs name colors and places.

    Defects befall posters independently, so the mean of the product is the product of the means.
    """
    return true_quality({kind: tendency.mean for kind, tendency in house.tendencies.items()})


class HouseGenerator:
    """A house as a generator: draws in as many processes as there are cores."""

    def __init__(self, house: House, processes: int | None = None) -> None:
        self.house, self.name, self.processes = house, house.name, processes
        self.abilities = Abilities(seeded=True, batch=256, offline=True)
        self.signature = Signature(method=f"house {house.name}", settings={"drawing": DRAWING})

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Made | Failed]]:
        """A poster with its layout JSON and SVG for each ask; a prompt that cannot be drawn is a `Failed`."""
        tasks = [(self.name, ask) for ask in asks]
        for index, result in over_processes(_drawn, tasks, processes=self.processes):
            if isinstance(result, SalonError):
                yield index, Failed(reason=str(result), kind="cannot-draw")
            elif isinstance(result, Exception):
                raise result
            else:
                yield index, result


def house_generator(name: str, processes: int | None = None) -> HouseGenerator:
    """The built-in generator called `name`."""
    if name not in HOUSES:
        raise BadValue("the name of a house is needed", found=repr(name), remedy=f"one of {', '.join(HOUSES)}")
    return HouseGenerator(HOUSES[name], processes)


def poster_seed(house: str, prompt: str, seed: int) -> int:
    """The seed a poster is drawn from: other prompts and houses get other chances under the same seed."""
    return int(chance(seed, house, prompt).integers(2**32))


def _drawn(task: tuple[str, Ask]) -> Made:
    """One poster, in a process of its own."""
    name, ask = task
    house = HOUSES[name]
    seed = poster_seed(name, ask.prompt.id, ask.seed)
    brief = read_brief(ask.prompt)
    size = {"width": ask.width, "height": ask.height}
    poster = draw_poster(brief, house.hand, seed=seed, knobs=house.knobs(seed), **size)
    layout = poster.layout
    return Made(
        image=paint_png(poster.layers, layout.width, layout.height),
        layout=layout_json(layout),
        svg=write_svg(poster.layers, layout.width, layout.height, title=brief.headline, labels=_labels(layout)),
        facts={"style": layout.style, "arrangement": layout.arrangement, "defects": len(layout.defects)},
    )


def _labels(layout: Layout) -> dict[str, str]:
    return {element.id: element.lettering.text for element in layout.elements if element.lettering}
