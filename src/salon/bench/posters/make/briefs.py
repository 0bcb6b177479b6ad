"""What posters are for: occasions with their texts, and the briefs that chance makes of them.

An occasion's texts belong together, so that what a poster wants can be told from what it shows. Dates, places and
names are drawn anew for every brief.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from salon.bench.posters.make.deal import pick, some
from salon.bench.posters.make.words import invented_name
from salon.render.brief import Brief, Mood, Style, Subject


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
    said = {
        "subhead": pick(what.subheads, rng),
        "body": pick(what.bodies, rng),
        "cta": pick(what.ctas, rng),
        "when": _date(rng),
        "where": f"{invented_name(rng)} {pick(_PLACES, rng)}",
        "brand": f"{invented_name(rng)} {pick(('Club', 'House', 'Works', 'Society'), rng)}",
    }
    more = [role for role in some(roles, len(roles), rng) if role not in always]
    chosen = [*always, *more][: texts - 1]
    return Brief(
        id=name,
        headline=pick(what.headlines, rng),
        **{role: said[role] for role in chosen},
        subject=pick(what.subjects, rng),
        mood=pick(what.moods, rng),
        style=style,
        intent=what.purpose,
    )


def _date(rng: np.random.Generator) -> str:
    hour = int(rng.integers(9, 22))
    return f"{pick(_DAYS, rng)} {int(rng.integers(1, 29))} {pick(_MONTHS, rng)}, {hour}:{pick(('00', '15', '30'), rng)}"
