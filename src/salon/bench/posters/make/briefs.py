"""What posters are for: occasions with their texts, briefs drawn from them, and prompts for generators.

The texts of an occasion belong together, so that the purpose of a poster can be told from what it shows. Dates, places
and names are drawn anew for every brief.

A prompt's record has no picture yet: `path` says where the poster will stand. For each key point of `gt`, `rules` says
how it can be measured (`text`, `color`, `place`, ... as measuring judges know them), or null if only eyes can tell.
Prompts are plain words, the same for every generator. The built-in generators read what is asked for out of these
words; a prompt that they would misread is drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salon.bench.posters.make.items import MadeItem, balanced_choice, invented_name, pick, pick_some
from salon.bench.posters.tasks import OPERATIONS
from salon.errors import BadValue
from salon.render import LABELS, STYLES, Brief, Mood, Place, Style, Subject, chance, named_colors, read_brief
from salon.study import Prompt


@dataclass(frozen=True)
class Occasion:
    """Something that somebody wants people to come to, buy or do."""

    purpose: str
    """Completes 'The poster wants to ...'."""
    headlines: tuple[str, ...]
    subheads: tuple[str, ...]
    bodies: tuple[str, ...]
    ctas: tuple[str, ...]
    subjects: tuple[Subject, ...]
    moods: tuple[Mood, ...]


OCCASIONS: tuple[Occasion, ...] = (
    Occasion("invite people to a jazz concert",
             ("Blue Hour Session", "Low Brass, Late Hour", "Seven Strings"),
             ("An evening of slow jazz", "The river quartet plays live"),
             ("Doors open at seven. Soup and bread in the break.", "Two sets, one stage, no microphones."),
             ("Reserve a table", "Buy tickets at the door"), ("music", "moon"), ("calm", "mysterious", "elegant")),
    Occasion("bring visitors to a street food market",
             ("Night Market", "Eat Your Way Home", "Steam and Smoke"),
             ("Forty stalls along the canal", "Street food from nine kitchens"),
             ("Dumplings, flat bread, grilled corn and mango ice.", "Bring cash, an appetite and a friend."),
             ("Come hungry", "See all the stalls"), ("lamp", "fish", "fruit"), ("joyful", "warm", "bold")),
    Occasion("get people to ride to work by bicycle",
             ("Leave the Car", "Two Wheels, Ten Minutes", "Ride to Work"),
             ("One week without engines", "The city rides together"),
             ("Free checks of brakes and lights at every bridge.", "Log your rides and win a new saddle."),
             ("Join the ride", "Sign up your team"), ("bicycle", "city"), ("joyful", "bold", "playful")),
    Occasion("invite people to an exhibition of photographs",
             ("Still Water", "Faces of the Coast", "What the Light Kept"),
             ("Photographs from three harbors", "Sixty prints in black and white"),
             ("A walk through the show every Sunday at noon.", "Entry is free for children and students."),
             ("Plan your visit", "Book a guided tour"), ("camera", "sea", "boat"), ("serious", "calm", "elegant")),
    Occasion("sell coffee from a small roaster",
             ("Roasted This Morning", "Slow Mornings", "Second Cup"),
             ("Small batches from the hill farms", "Beans that remember the sun"),
             ("Nutty, sweet and clean. Ground while you wait.", "Bring your own jar and pay ten percent less."),
             ("Taste it today", "Order a bag"), ("coffee", "sun"), ("warm", "calm", "nostalgic")),
    Occasion("call for volunteers to plant trees",
             ("Plant One Tree", "Roots Before Roads", "A Thousand Oaks"),
             ("A new forest for the north side", "Dig with your neighbors"),
             ("Spades, gloves and hot tea are there for all.", "Children can name the tree they plant."),
             ("Give one Saturday", "Register to plant"), ("leaf", "forest"), ("calm", "warm", "serious")),
    Occasion("promote an open-air film night",
             ("Cinema Under Stars", "Last Reel of Summer", "Rewind the Night"),
             ("Four films on the meadow", "Old films, soft grass"),
             ("Chairs are few, so bring a blanket.", "The film starts when it is dark."),
             ("Get your ticket", "Save a seat"), ("film", "stars"), ("nostalgic", "mysterious", "playful")),
    Occasion("invite families to a science fair",
             ("Build a Robot", "Ask the Machine", "Small Circuits"),
             ("A fair for curious hands", "Thirty machines to touch"),
             ("Solder a lamp, program a cart, launch a rocket.", "For children from eight years, with parents."),
             ("Bring the family", "Reserve a workbench"), ("robot", "rocket"), ("futuristic", "playful", "bold")),
    Occasion("advertise weekend trips by train",
             ("Slow Trains North", "Out of Town by Noon", "Window Seat"),
             ("Day trips for one small fare", "See the valley from the rails"),
             ("Trains every hour, bicycles ride for free.", "One ticket for all lines, all day long."),
             ("Choose your line", "Get the day ticket"), ("train", "mountain"), ("nostalgic", "calm", "warm")),
    Occasion("invite people to a book sale",
             ("Half the Library", "Read It Again", "Books by the Kilo"),
             ("The library clears its cellar", "Ten thousand books look for shelves"),
             ("Novels, maps and cook books for a coin each.", "Boxes and string are at the exit."),
             ("Come early", "Donate your books"), ("book",), ("nostalgic", "playful", "warm")),
    Occasion("recruit players for a football club",
             ("We Need a Keeper", "Sunday League", "Kick Off"),
             ("The harbor club wants you", "No talent needed, only boots"),
             ("Training on Tuesdays, games on Sundays.", "Women, men, beginners: all are welcome."),
             ("Try a free training", "Call the coach"), ("ball",), ("bold", "joyful", "playful")),
    Occasion("ask people to give blood",
             ("Give Half a Liter", "It Takes Ten Minutes", "Somebody Needs You"),
             ("Blood drive in the town hall", "One gift helps three people"),
             ("Eat well before you come and bring an identity card.", "Juice and cake for every donor."),
             ("Donate now", "Find a free slot"), ("heart", "hands"), ("serious", "warm", "bold")),
    Occasion("bring customers to a flower shop",
             ("Fresh Every Friday", "Wild Stems", "Say It With Tulips"),
             ("A flower shop opens its doors", "Flowers cut this morning"),
             ("Bring a vase and we will fill it.", "Every bunch comes with a card to write."),
             ("Send a bunch", "Visit the shop"), ("flower",), ("joyful", "elegant", "calm")),
    Occasion("invite guests to a masked ball",
             ("Midnight Masks", "Come as Somebody", "The Velvet Ball"),
             ("One night without names", "A ball in the old theater"),
             ("Masks stay on until the clock strikes twelve.", "Evening dress is asked for, gold is admired."),
             ("Request an invitation", "Reserve a box"), ("mask", "candle"), ("mysterious", "elegant", "bold")),
    Occasion("teach people how to bake bread",
             ("Bread in a Day", "Knead to Know", "Crust and Crumb"),
             ("A baking class for beginners", "Learn sourdough by hand"),
             ("You take home two loaves and a jar of starter.", "Eight places, one oven, plenty of butter."),
             ("Book a place", "Join the class"), ("bread",), ("warm", "nostalgic", "calm")),
    Occasion("sell holidays by the sea",
             ("Salt on Your Skin", "Off Season", "The Quiet Coast"),
             ("Seven days by the sea", "Small houses behind the dunes"),
             ("Sauna, bicycles and breakfast are part of it.", "Dogs are welcome on every beach."),
             ("Find a house", "Ask for dates"), ("sea", "boat", "sun"), ("calm", "warm", "joyful")),
    Occasion("raise money for street cats",
             ("Nine Lives, One Home", "Feed the Yard", "Open Your Window"),
             ("The cat shelter needs a roof", "Forty cats wait for a sofa"),
             ("Two coins feed one cat for a day.", "Visit us on any afternoon and bring a toy."),
             ("Adopt a cat", "Give what you can"), ("cat", "house"), ("playful", "warm", "joyful")),
    Occasion("announce a chess tournament",
             ("Your Move", "Sixty-Four Squares", "Check the City"),
             ("Open tournament for all ages", "Seven rounds in two days"),
             ("Boards and clocks are there. Silence is golden.", "Prizes for the best player under twelve."),
             ("Enter your name", "Register online"), ("abstract", "eye"), ("serious", "elegant", "bold")),
    Occasion("show a new play at a theater",
             ("The Last Umbrella", "A Chair for Two", "Rain in Act Three"),
             ("A comedy with bad weather", "World premiere on the small stage"),
             ("Ninety minutes, no break, one surprise.", "After the play you can meet the actors."),
             ("Book your seats", "Watch the trailer"), ("umbrella", "chair"), ("playful", "mysterious", "nostalgic")),
    Occasion("invite children to a kite festival",
             ("Up, Up, Away", "A Sky of Paper", "Hold the String"),
             ("The kite festival on the hill", "Build it, tie it, fly it"),
             ("Paper, sticks and glue for every child.", "If there is no wind, there will be pancakes."),
             ("Fly with us", "Reserve a kit"), ("balloon", "bird"), ("joyful", "playful", "warm")),
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_PLACES = ("Hall", "Park", "Gallery", "Theater", "Garden", "Street 12", "Yard", "Library", "Square", "Bridge")


def make_brief(
    name: str,
    rng: np.random.Generator,
    *,
    texts: int,
    occasion: Occasion | None = None,
    style: Style | None = None,
    roles: Sequence[str] = ("subhead", "body", "when", "where", "cta", "brand"),
    always: Sequence[str] = (),
) -> Brief:
    """A brief with a headline, the texts it must `always` have, and others up to `texts` in all."""
    what = occasion or pick(OCCASIONS, rng)
    hour = int(rng.integers(9, 22))
    date = f"{pick(_DAYS, rng)} {int(rng.integers(1, 29))} {pick(_MONTHS, rng)}, {hour}:{pick(('00', '15', '30'), rng)}"
    texts_by_role = {
        "subhead": pick(what.subheads, rng),
        "body": pick(what.bodies, rng),
        "cta": pick(what.ctas, rng),
        "when": date,
        "where": f"{invented_name(rng)} {pick(_PLACES, rng)}",
        "brand": f"{invented_name(rng)} {pick(('Club', 'House', 'Works', 'Society'), rng)}",
    }
    more = [role for role in pick_some(roles, len(roles), rng) if role not in always]
    chosen = [*always, *more][: texts - 1]
    return Brief(
        id=name,
        headline=pick(what.headlines, rng),
        **{role: texts_by_role[role] for role in chosen},
        subject=pick(what.subjects, rng),
        mood=pick(what.moods, rng),
        style=style,
        intent=what.purpose,
    )


# -- prompts for generators, with key points ---------------------------------------------------------------------------

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
_PLAIN = tuple(occasion for occasion in OCCASIONS if not named_colors(occasion.purpose))
"""Occasions that can be told without the name of a color."""
_LONGEST_TRY = 60


def gen_dense(number: int, seed: int) -> MadeItem:
    """A poster with three to seven texts, two colors and a place for the headline, all of it asked for."""
    texts = balanced_choice(TEXTS, number, seed, "gen_dense")
    colors = balanced_choice(COLORS, number, seed, "gen_dense", "colors")
    place = balanced_choice(PLACES, number, seed, "gen_dense", "place")
    style = balanced_choice(KEEPING, number, seed, "gen_dense", "style")

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        brief = make_brief("dense", rng, texts=texts, style=style)
        brief = brief.model_copy(update={"palette": colors, "headline_at": place})
        return brief, (
            f"Design a poster. Motif of the picture: {brief.subject}; mood: {brief.mood}; style: {style}. "
            f"Colors: {colors[0]} over large areas, and {colors[1]}. The headline stands at the {place} and is larger "
            f"than everything else. All text can be told clearly from its ground. The client wants to {brief.intent}. "
            f"Set these texts and no others, every word as written:\n{_text_list(brief)}"
        )

    brief, prompt = _first_readable("gen_dense", number, seed, written)
    lead, accent = colors
    color_points: list[Point] = [
        (f"Large areas are {lead}.", {"kind": "color", "color": lead, "leads": True}),
        (f"Something is {accent}.", {"kind": "color", "color": accent}),
    ]
    points = [*_text_points(brief), *color_points, _place_point(brief, place), _largest_point(brief, 1.0),
              ("All text can be told clearly from its ground.", {"kind": "contrast", "least": CONTRAST})]  # fmt: skip
    return _prompt("poster dense", f"{texts} texts", prompt, points, {"texts": float(texts)})


def gen_font(number: int, seed: int) -> MadeItem:
    """A poster that lives by its lettering, with as many kinds of it as the generator can bring together."""
    texts = balanced_choice((3, 4, 5), number, seed, "gen_font")

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        brief = make_brief("font", rng, texts=texts)
        return brief, (
            f"Design a poster that lives by its lettering. Motif of the picture, kept small: {brief.subject}; "
            f"mood: {brief.mood}. Give each text letters of another character, as different from each other as you "
            f"can. The client wants to {brief.intent}. Set these texts, every word as written:\n{_text_list(brief)}"
        )

    brief, prompt = _first_readable("gen_font", number, seed, written)
    return MadeItem("poster font", "lettering", prompt, {"theme": brief.intent, "texts": _texts(brief)}, None)


def gen_style(number: int, seed: int) -> MadeItem:
    """A poster in one of the seventeen styles."""
    style = balanced_choice(STYLES, number, seed, "gen_style")

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        brief = make_brief("style", rng, texts=3, style=style)
        return brief, (
            f"Design a poster. Motif of the picture: {brief.subject}; mood: {brief.mood}. The whole poster is in "
            f"the style {style}. The client wants to {brief.intent}. Set these texts, every word as written:\n"
            f"{_text_list(brief)}"
        )

    brief, prompt = _first_readable("gen_style", number, seed, written)
    return MadeItem("poster style", style, prompt, {"style": style, "theme": brief.intent}, None)


def gen_composition(number: int, seed: int) -> MadeItem:
    """A poster whose parts are put together in a way that is asked for."""
    operation = balanced_choice(OPERATIONS, number, seed, "gen_composition")
    place = balanced_choice(PLACES, number, seed, "gen_composition", "place")
    todo, visible_sign = HOW[operation]

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        brief = make_brief("composition", rng, texts=3).model_copy(update={"headline_at": place})
        return brief, (
            f"Design a poster. Motif of the picture: {brief.subject}; mood: {brief.mood}. {todo} The headline "
            f"stands at the {place} and is at least one and a half times as tall as any other line. All text keeps "
            f"clear of the edges. The client wants to {brief.intent}. Set these texts, every word as written:\n"
            f"{_text_list(brief)}"
        )

    brief, prompt = _first_readable("gen_composition", number, seed, written)
    margin = {"kind": "margin", "texts": _texts(brief), "least": 0.02}
    points = [
        (visible_sign, None),
        (f"The picture shows this motif: {brief.subject}.", {"kind": "picture", "of": brief.subject}),
        _place_point(brief, place),
        _largest_point(brief, 1.5),
        ("All text keeps clear of the edges.", margin),
    ]
    return _prompt("poster composition", operation, prompt, points, {})


def gen_intention(number: int, seed: int) -> MadeItem:
    """A poster with nothing given but what it is to achieve."""
    occasion = balanced_choice(_PLAIN, number, seed, "gen_intention")
    texts = balanced_choice((3, 4, 5), number, seed, "gen_intention", "texts")

    def written(rng: np.random.Generator) -> tuple[Brief, str]:
        always = ("cta", "when", "where", "brand")[: texts - 1]
        brief = make_brief("intention", rng, texts=texts, occasion=occasion, always=always)
        return brief, (
            f"Design a poster. Motif that stands for what it is about: {brief.subject}; mood: {brief.mood}. The client "
            f"wants to {brief.intent}: whoever passes by should understand that at a glance, and know what to do. "
            f"Set these texts, every word as written:\n{_text_list(brief)}"
        )

    brief, prompt = _first_readable("gen_intention", number, seed, written)
    points = [(f"The poster wants to {brief.intent}.", None),
              (f"The picture ({brief.subject}) belongs to what the poster is about.",
               {"kind": "picture", "of": brief.subject}), *_text_points(brief)]  # fmt: skip
    return _prompt("poster intention", occasion.purpose, prompt, points, {})


PROMPTS: dict[str, Callable[[int, int], MadeItem]] = {
    make.__name__: make for make in (gen_dense, gen_font, gen_style, gen_composition, gen_intention)
}
"""Task to what writes its prompt of a number under a seed."""


def _prompt(string: str, kind: str, prompt: str, points: Sequence[Point], hard: Mapping[str, float]) -> MadeItem:
    truth = {"gt": [text for text, _ in points], "rules": [None if rule is None else dict(rule) for _, rule in points]}
    return MadeItem(string, kind, prompt, truth, None, hard)


def _first_readable(
    task: str, number: int, seed: int, write: Callable[[np.random.Generator], tuple[Brief, str]]
) -> tuple[Brief, str]:
    """The first of a row of prompts that reads as it is meant."""
    for attempt in range(_LONGEST_TRY):
        brief, prompt = write(chance(seed, task, str(number), str(attempt)))
        # whether a built-in generator would find in the prompt what the brief says, and the texts in their order
        if brief.subject == "abstract":  # nothing to show
            read_so = False
        else:
            read = read_brief(Prompt(id=brief.id, text=prompt))
            fields = ("format", "subject", "mood", "style", "palette", "headline_at")
            read_so = _texts(read) == _texts(brief) and all(
                getattr(read, field) == getattr(brief, field) for field in fields
            )
        if read_so:
            return brief, prompt
    raise BadValue("a prompt that reads as it is meant is needed", found=f"{_LONGEST_TRY} that do not",
                   where=f"{task} {number}")  # fmt: skip


# -- words and points ------------------------------------------------------------------------------------------------


def _texts(brief: Brief) -> list[str]:
    return [text for role in LABELS if (text := getattr(brief, role)) is not None]


def _text_list(brief: Brief) -> str:
    first, *rest = _texts(brief)
    return "\n".join([f"- headline: “{first}”", *(f"- “{text}”" for text in rest)])


def _text_points(brief: Brief) -> list[Point]:
    return [(f"“{text}” can be read, every word spelled right.", {"kind": "text", "text": text})
            for text in _texts(brief)]  # fmt: skip


def _place_point(brief: Brief, place: Place) -> Point:
    third = {"top": "upper", "middle": "middle", "bottom": "lower"}[place]
    rule = {"kind": "place", "text": brief.headline, "at": place}
    return f"The headline “{brief.headline}” stands in the {third} third.", rule


def _largest_point(brief: Brief, times: float) -> Point:
    comparison = "taller than" if times == 1 else f"at least {times:g} times as tall as"
    rule = {"kind": "largest", "text": brief.headline, "times": times}
    return f"The headline “{brief.headline}” is {comparison} any other line.", rule
