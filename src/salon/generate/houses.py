"""The built-in generators (`houses`): they draw posters offline, each good at some things and bad at others by design.

A house has a style of its own (`DrawingHabits`) and tendencies: how often, and how strongly, each defect befalls its
work. So its quality under every criterion is known beforehand (`expected_quality`), and any way of judging can be
tested against it. A flaw that the prompt asks to avoid (`salon.render.brief_text`) befalls its work `HEEDED` times as
often.

A variant is a house with defects planted in all its work, which no prompt can ask away: `proof+low-contrast@0.6` draws
what `proof` draws, poster by poster, with every ink faded by 0.6.

Image-to-image. A picture alone does not say how it was drawn, so a house starts from the *layout* beside a picture
(`Ask.layout`), which names the brief, the house and the seed of every decision. The layout is refused unless the house
draws it again byte for byte. A poster is a set of decisions (`DECISIONS`): style, colors, arrangement, faces, places,
drawing, and for each flaw whether it befalls the poster and how strongly. Each decision has a number u in [0, 1) from
the ask's seed; those with u < strength are made anew:

    strength near 0     the same decisions and the same flaws
    strength s          each decision is made anew with probability s; what is made anew at s is so at any larger one
    strength 1          what the same seed draws without a picture, byte for byte

The texts follow the prompt of the ask, and so do flaws that it asks to avoid.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from salon.engine import map_processes
from salon.errors import BadFile, BadValue, SalonError, shorten
from salon.render import (
    DEFECTS,
    DefectKind,
    DrawingHabits,
    Layout,
    Seeds,
    asked_against,
    chance,
    draw_poster,
    layout_json,
    read_brief,
    true_quality,
)
from salon.store import open_header
from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Signature

DECISIONS: tuple[str, ...] = (
    "style", "palette", "arrangement", "faces", "place", "align", "headline ink", "cta", "draw", *DEFECTS,
)  # fmt: skip
"""What a poster keeps of another one, or makes anew; `draw` is the picture and every ornament."""
STRENGTH = 0.8
"""How far a house leaves a picture when the ask does not say."""


def start_from(house: House, ask: Ask, fresh: int) -> tuple[Seeds, Layout]:
    """What each decision is drawn from when `ask` starts from a picture, and the layout of that picture.

    `fresh` is the seed of what is made anew. BadValue or BadFile where this house did not draw the picture.
    """
    where = f"prompt {ask.prompt.id!r}"
    if ask.layout is None:
        raise BadValue(
            "a built-in generator starts from a poster with its layout beside it", found="a picture alone", where=where,
            remedy=f"start from a picture that {house.name} drew, in its study; or ask a generator that reads pictures",
        )  # fmt: skip
    layout = _read_layout(house, ask.layout)
    header = open_header(ask.image or b"", where)
    if (header.width, header.height) != (layout.width, layout.height):
        raise BadValue("the picture and its layout have one size", found=f"{header.width} x {header.height} px and "
                       f"{layout.width} x {layout.height} px", where=where)  # fmt: skip
    before = layout
    strength = STRENGTH if ask.strength is None else ask.strength
    return seeds_from(before.seeds, fresh, strength), before


def seeds_from(before: Seeds, fresh: int, strength: float) -> Seeds:
    """What each decision is drawn from at `strength`, where the picture to start from was drawn from `before`."""
    unchanged = {name: before.of(name) for name in kept_decisions(fresh, strength)}
    return Seeds(fresh, {name: seed for name, seed in unchanged.items() if seed != fresh})


def kept_decisions(fresh: int, strength: float) -> list[str]:
    """The decisions that stay as they were at `strength`."""
    return [name for name in DECISIONS if chance(fresh, "leave", name).random() >= strength]


def _read_layout(house: House, text: str) -> Layout:
    """`text` as a layout that `house` draws, or BadFile with what is wrong with it."""
    try:
        record = json.loads(text)
        if not isinstance(record, dict):
            raise _layout_refused(house, "JSON that is no object")
        layout = Layout.parse(record)
    except BadValue as error:
        raise _layout_refused(house, error.needed) from None
    except (ValueError, RecursionError) as error:
        raise _layout_refused(house, f"no JSON: {shorten(str(error), 200)}") from None
    if layout.house != house.name:
        raise _layout_refused(house, f"one by {layout.house}")
    numbers = {layout.seed, *(layout.kept or {}).values()}
    if not set(layout.kept or {}) <= set(DECISIONS) or any(not 0 <= number < 2**32 for number in numbers):
        raise _layout_refused(house, "decisions or seeds that no poster has")
    if not _draws(house, layout, text):
        raise _layout_refused(
            house, "a record that it does not draw: changed by hand, or by another version of the generator"
        )
    return layout


def _layout_refused(house: House, found: str) -> BadFile:
    return BadFile(
        f"the layout of a poster that {house.name} drew is needed", found=found, where="layout",
        remedy="start from a picture by this generator, with the layout that was written beside it",
    )  # fmt: skip


def _draws(house: House, layout: Layout, text: str) -> bool:
    """Whether drawing again gives the same record. Flaws that a prompt asked away, or without room, may be absent."""
    befall = house.knobs(layout.seeds)
    planted: dict[DefectKind, float] = {defect.kind: defect.strength for defect in layout.defects}
    if any(befall.get(kind) != strength for kind, strength in planted.items()):
        return False
    try:
        poster = draw_poster(layout.brief, house.habits, seed=layout.seeds, knobs=planted, width=layout.width,
                             height=layout.height)  # fmt: skip
    except SalonError:
        return False
    return layout_json(poster.layout) == text


# -- the generators ----------------------------------------------------------------------------------------------------

DRAWING = 1
"""Raised when the same brief, house and seed draw another picture than before, so that runs do not mix them."""
_SINGLE_PROCESS_BELOW = 8
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
    habits: DrawingHabits
    tendencies: Mapping[DefectKind, Tendency] = field(default_factory=dict)

    @property
    def parent(self) -> str:
        """The house of which this is a variant; its own name where it is none."""
        return self.name.partition("+")[0]

    def knobs(self, seed: int | Seeds, avoid: Collection[DefectKind] = ()) -> dict[DefectKind, float]:
        """The strengths of the defects that befall the poster with this seed; the prompt may ask to `avoid` some."""
        strengths: dict[DefectKind, float] = {}
        for kind in DEFECTS:
            if tendency := self.tendencies.get(kind):
                happens, strength = chance(seed, "befalls", kind).random(2)
                if happens < tendency.often * (HEEDED if kind in avoid and tendency.often < 1 else 1):
                    strengths[kind] = round(tendency.low + strength * (tendency.high - tendency.low), 3)
        return strengths


def _house(name: str, about: str, habits: DrawingHabits, **tendencies: tuple[float, float, float]) -> House:
    defects = {kind.replace("-", "_"): kind for kind in DEFECTS}
    return House(name, about, habits, {defects[kind]: Tendency(*how) for kind, how in tendencies.items()})


HOUSES: dict[str, House] = {
    house.name: house
    for house in (
        _house(
            "atelier",
            "sets type well, but ignores the brief's colors and positions",
            DrawingHabits(
                "atelier", ("Typographic Minimalism", "Minimalist", "Japanese", "Retro"), margin=0.08, air=1.1
            ),
            wrong_color=(0.75, 0.3, 0.9),
            wrong_position=(0.6, 0.4, 1.0),
            off_mood_style=(0.3, 0.3, 0.7),
        ),
        _house(
            "carnival",
            "strong in color and mood, poor in type",
            DrawingHabits("carnival", ("Pop Art", "Memphis", "Flat Design", "Papercut", "Illustrative"), margin=0.06),
            bad_kerning=(0.7, 0.4, 1.0),
            wrong_font_pairing=(0.65, 0.3, 1.0),
            crowding=(0.5, 0.3, 0.9),
            misalignment=(0.4, 0.3, 0.8),
        ),
        _house(
            "ledger",
            "follows the brief exactly, but lacks harmony and emphasis",
            DrawingHabits(
                "ledger", ("Flat Design", "Minimalist", "Cinema 4D", "Pixel Art"), ("stack", "hero-top", "split")
            ),
            clashing_colors=(0.65, 0.3, 0.9),
            broken_hierarchy=(0.65, 0.3, 0.9),
            low_contrast=(0.3, 0.2, 0.55),
            off_mood_style=(0.3, 0.3, 0.8),
        ),
        _house(
            "mirage",
            "strong in mood and light, but makes up words and things",
            DrawingHabits(
                "mirage", ("Diffuse Glow", "New Chinese Aesthetic", "Cyberpunk", "Vaporwave", "Acid Graphics")
            ),
            misspelling=(0.75, 0.1, 0.5),
            missing_text=(0.5, 0.2, 0.8),
            extra_element=(0.6, 0.3, 1.0),
            low_contrast=(0.2, 0.2, 0.5),
        ),
        _house(
            "apprentice",
            "has a little of every defect",
            DrawingHabits("apprentice"),
            **{kind.replace("-", "_"): (0.35, 0.1, 0.7) for kind in DEFECTS},
        ),
        _house("proof", "draws the brief as it is, without a planted flaw", DrawingHabits("proof")),
    )
}


def find_house(text: str) -> House:
    """A house by its name, or a variant: HOUSE+DEFECT@STRENGTH, with as many defects as wanted."""
    name, *planted = text.split("+")
    if name not in HOUSES:
        raise BadValue(
            "the name of a built-in generator is needed", found=repr(name), remedy=f"one of {', '.join(HOUSES)}"
        )
    if not planted:
        return HOUSES[name]
    strengths: dict[DefectKind, float] = {}
    for part in planted:
        kind, strength = _read_defect(part, text)
        if kind in strengths:
            raise BadValue("a variant has each defect once", found=f"{kind} twice", where=text)
        strengths[kind] = strength
    parent = HOUSES[name]
    always = {kind: Tendency(1.0, strengths[kind], strengths[kind]) for kind in DEFECTS if kind in strengths}
    label = "+".join([name, *(f"{kind}@{how.low:g}" for kind, how in always.items())])
    about = f"{name}, with {', '.join(always)} in all its work"
    return House(label, about, replace(parent.habits, house=label), {**parent.tendencies, **always})


def _read_defect(text: str, where: str) -> tuple[DefectKind, float]:
    kind, _, strength = text.partition("@")
    kinds: dict[str, DefectKind] = {defect: defect for defect in DEFECTS}
    if kind not in kinds:
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
    return kinds[kind], value


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

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        """A poster with its layout JSON and SVG for each ask; a prompt that cannot be drawn is a `FailedPicture`."""
        tasks = [(self.name, ask) for ask in asks]
        processes = self.processes or (1 if len(tasks) < _SINGLE_PROCESS_BELOW else None)
        for index, result in map_processes(_draw, tasks, processes=processes):
            if isinstance(result, SalonError):
                yield index, FailedPicture(reason=str(result), kind="cannot-draw")
            elif isinstance(result, Exception):
                raise result
            else:
                yield index, result


def house_generator(name: str, processes: int | None = None) -> HouseGenerator:
    """The built-in generator called `name`, or a variant of it."""
    return HouseGenerator(find_house(name), processes)


def poster_seed(house: str, prompt: str, seed: int) -> int:
    """The seed a poster is drawn from: other prompts and houses get other chances under the same seed."""
    return int(chance(seed, house, prompt).integers(2**32))


def _draw(task: tuple[str, Ask]) -> GeneratedPicture:
    """One poster, in a process of its own."""
    name, ask = task
    house = find_house(name)
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
    from salon.render import paint_png, write_svg

    brief = read_brief(ask.prompt)
    avoided = asked_against(ask.prompt)
    poster = draw_poster(brief, house.habits, seed=seed, knobs=house.knobs(seed, avoided), **size)
    layout = poster.layout
    return GeneratedPicture(
        image=paint_png(poster.layers, layout.width, layout.height),
        layout=layout_json(layout),
        svg=write_svg(
            poster.layers,
            layout.width,
            layout.height,
            title=brief.headline,
            labels={element.id: element.lettering.text for element in layout.elements if element.lettering},
        ),
        facts={"style": layout.style, "arrangement": layout.arrangement, "defects": len(layout.defects)}
        | started
        | ({"asked": ", ".join(kind for kind in DEFECTS if kind in avoided)} if avoided else {}),
    )
