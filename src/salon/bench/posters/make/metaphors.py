"""Posters that speak in pictures: one thing inside the outline of another, which together mean what neither says.

The words on such a poster name the sender and call on the reader; what for, only the picture says. Key points are the
two things, what each of them stands for, and what the poster wants.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from salon.bench.posters.make.composition import (
    FACES,
    HEIGHT,
    LOOKS,
    NOUNS,
    WIDTH,
    Scene,
    nested_marks,
)
from salon.bench.posters.make.deal import dealt, pick
from salon.bench.posters.make.lettering import line_in
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.words import invented_name
from salon.render.brief import Subject
from salon.render.chance import chance
from salon.render.colors import NAMES
from salon.render.layout import Box, Face

PROMPT = (
    "What does this poster want to tell? Describe its picture, explain what each thing in it stands for, and say what "
    "the poster wants its readers to believe or to do, and who is behind it. Answer in at most 150 words."
)


@dataclass(frozen=True)
class Metaphor:
    """A thing inside another one, what they stand for, and what is meant."""

    outer: Subject
    inner: Subject
    stands: tuple[str, str]
    """For what the outer and the inner thing stand."""
    wants: str
    """What the poster wants, after "to"."""
    headlines: tuple[str, str]
    """Words that call without giving away what for."""


METAPHORS: tuple[Metaphor, ...] = (
    Metaphor("heart", "music", ("feeling", "music"), "say that music comes from the heart",
             ("Listen inside", "Hear it beat")),
    Metaphor("house", "heart", ("home", "love"), "say that love makes a home, and win people who take someone in",
             ("Open the door", "Room for one more")),
    Metaphor("leaf", "house", ("nature", "living and building"), "say that houses should suit nature",
             ("Live lightly", "Build anew")),
    Metaphor("fruit", "heart", ("healthy food", "health of the heart"), "say that eating fruit keeps the heart healthy",
             ("Bite well", "Every day one")),
    Metaphor("heart", "bicycle", ("health", "cycling"), "say that cycling keeps the heart healthy",
             ("Keep it going", "Move more")),
    Metaphor("leaf", "bicycle", ("the environment", "cycling"), "say that cycling protects the environment",
             ("Leave it standing", "Take the other way")),
    Metaphor("heart", "fish", ("care", "life in the sea"), "ask people to care for life in the sea",
             ("Deep down", "Hold on to it")),
    Metaphor("house", "bird", ("shelter", "wild birds"), "ask people to give birds a place to nest",
             ("Make space", "Someone moves in")),
    Metaphor("cat", "heart", ("pets", "love"), "ask people to love and adopt a pet", ("Take me along", "Say yes")),
    Metaphor("balloon", "house", ("leaving and rising", "home"), "say that one can leave home behind and begin anew",
             ("Let go", "Up and away")),
    Metaphor("leaf", "rocket", ("nature", "technical progress"), "say that progress should learn from nature",
             ("Lift off clean", "The next stage")),
    Metaphor("house", "coffee", ("home", "hospitality"), "ask people to invite their neighbours in",
             ("Come in", "Next door")),
)  # fmt: skip


def metaphor_poster(number: int, seed: int) -> Made:
    """A poster whose message is a visual metaphor."""
    rng = chance(seed, "metaphor", str(number))
    meant = dealt(METAPHORS, number, seed, "metaphor")
    ground, main, accent = (NAMES[name] for name in pick(LOOKS, rng))
    sender = f"{invented_name(rng)} Society"
    face = pick(FACES, rng)
    headline = line_in(
        pick(meant.headlines, rng), face, Box(x=60, y=60, width=600, height=150), paint=main, size=84, align="center"
    )
    foot = line_in(
        sender, Face(family="Inter", weight=600), Box(x=60, y=HEIGHT - 70, width=WIDTH - 120, height=50), paint=main,
        size=30, align="center",
    )  # fmt: skip
    scene = Scene(meant.outer, ground, main, accent, rng, (*headline.glyphs, *foot.glyphs))
    inner = replace(scene, subject=meant.inner, ground=main, main=ground)
    pixels = scene.sheet(nested_marks(scene, inner))
    points = metaphor_points(meant, sender)
    truth = {"gt": points, "metaphor": [meant.outer, meant.inner]}
    hard = {"points": len(points), "metaphor": 1.0}
    return Made("intention understanding", "metaphor", PROMPT, truth, pixels, hard)


def metaphor_points(meant: Metaphor, sender: str) -> list[str]:
    """What a reader should have understood."""
    outer, inner = NOUNS[meant.outer], NOUNS[meant.inner]
    return [
        f"The picture shows a {inner} inside a {outer}.",
        f"The {outer} stands for {meant.stands[0]}.",
        f"The {inner} stands for {meant.stands[1]}.",
        f"The poster wants to {meant.wants}.",
        f"It comes from the {sender}.",
    ]
