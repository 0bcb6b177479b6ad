"""Made-up design briefs for simulated studies: what a client might ask of a poster, a label or a logo."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

SUBJECTS: dict[str, tuple[tuple[str, str], ...]] = {
    "poster": (
        ("a jazz evening in a disused tram depot", "Late Tram"),
        ("a travelling exhibition of night photography", "After Nine"),
        ("the autumn season of a puppet theatre", "Strings Attached"),
        ("a public lecture on tides and moons", "The Long Pull"),
        ("a weekend of short documentaries", "Small Hours Film Days"),
        ("a city marathon along the canals", "Forty-Two Bridges"),
    ),
    "flyer": (
        ("a neighbourhood flea market", "Second Sunday"),
        ("the opening of a climbing hall", "Hold On"),
        ("a repair café in the town library", "Mend It Here"),
        ("free swimming lessons for adults", "Never Too Late"),
        ("a seed swap in spring", "Sow and Tell"),
        ("an open rehearsal of a brass band", "Come and Blow"),
    ),
    "logo": (
        ("a two-person bicycle workshop", "Spoke & Sons"),
        ("a bakery that only sells rye", "Rugbrood"),
        ("a studio for restoring globes", "Meridian"),
        ("a small press for travel poetry", "Fareway"),
        ("a ferry line between three islands", "Tern"),
        ("a school of sign painting", "Broad Brush"),
    ),
    "social post": (
        ("a plant shop's winter sale", "Leaf Through January"),
        ("a podcast about forgotten inventions", "Patent Pending"),
        ("a reminder to vote in a student council", "Two Minutes, One Cross"),
        ("a ceramics class with places left", "Four Wheels Free"),
        ("a new flavour of iced tea", "Quince, Since You Ask"),
        ("a museum's late opening", "Open Past Dark"),
    ),
    "book cover": (
        ("a crime novel set in a lighthouse", "The Keeper's Ledger"),
        ("a history of weather maps", "Isobars"),
        ("a cookbook of single-pot suppers", "One Lid"),
        ("an essay on walking at night", "Unlit"),
        ("a children's story about a lost whale", "Bel Takes the Wrong Turn"),
        ("a field guide to city birds", "Gutter and Ledge"),
    ),
    "menu": (
        ("a noodle bar with eight seats", "Eight Bowls"),
        ("a summer kiosk by a lake", "Jetty"),
        ("a wine bar in a former pharmacy", "Dosage"),
        ("a canteen on a film set", "Reel Lunch"),
        ("a vegetarian diner open all night", "Greens Till Dawn"),
        ("a tea house in a botanical garden", "Under Glass"),
    ),
    "packaging label": (
        ("a dark honey from mountain heather", "Ridge"),
        ("a line of plain kitchen soaps", "Saturday Soap"),
        ("a small-batch tonic water", "Bitter Half"),
        ("a coffee roasted on a canal boat", "Slow Lock"),
        ("a chilli sauce in three strengths", "Murmur, Shout, Scream"),
        ("a bar of chocolate with sea salt", "Low Water"),
    ),
    "invitation": (
        ("the thirtieth birthday of a lighthouse keeper", "Thirty Flashes"),
        ("a retirement party for a conductor", "Last Downbeat"),
        ("a wedding in an orchard", "Under the Russets"),
        ("the launch of a wooden boat", "Off the Slip"),
        ("a housewarming on a fifth floor", "No Lift, Come Up"),
        ("an evening for a theatre's patrons", "House Lights"),
    ),
    "banner": (
        ("a regional science fair", "Show Your Working"),
        ("a farmers' market under a viaduct", "Arches Market"),
        ("the centenary of a football club", "A Hundred Saturdays"),
        ("a festival of street music", "Kerbside"),
        ("a campaign for wider pavements", "Room to Stroll"),
        ("a job day of a shipyard", "Learn to Weld"),
    ),
    "business card": (
        ("a piano tuner", "A. Quill, Pianos"),
        ("a landscape gardener", "North Slope Gardens"),
        ("a translator of patents", "Word for Word"),
        ("a mobile dog groomer", "Shear Delight"),
        ("an interior photographer", "Daylight Only"),
        ("a maker of paper models", "Score & Fold"),
    ),
}
LAYOUTS = (
    'The words "{headline}" fill the upper third in large letters',
    '"{headline}" runs up the left edge, turned a quarter',
    '"{headline}" stands small in the exact centre with wide empty margins',
    'The words "{headline}" sit at the bottom right, in two lines',
    'A thin frame holds "{headline}" at the top and the details at the foot',
    '"{headline}" is split by the picture, the first word above it, the rest below',
    'A broad diagonal band carries "{headline}" from corner to corner',
    'A three-column grid keeps "{headline}" in the middle column',
)
PICTURES = (
    "one object is drawn from the side and nothing else",
    "a crowd of small figures walks towards the right",
    "a close photograph, cropped hard, covers the lower half",
    "two hands enter from opposite sides",
    "a row of five simple shapes grows from left to right",
    "a window frame shows a landscape behind the words",
    "a single line draws the subject without lifting the pen",
    "a pattern of repeated tools covers the ground",
)
COLORS = (
    "deep blue ground, cream letters, one orange accent",
    "black on raw brown paper",
    "pale green and pink in flat fields, no gradients",
    "white ground with a single red shape",
    "mustard, petrol and off-white in equal parts",
    "grey photograph under a transparent yellow layer",
    "dark violet fading to night black, silver letters",
    "terracotta and sand, letters left unprinted",
)
MOODS = (
    "calm and confident",
    "playful, a little clumsy on purpose",
    "nocturnal and warm",
    "dry, precise, almost scientific",
    "nostalgic without irony",
    "loud and generous",
    "tender and quiet",
    "brisk, with a wink",
)
STYLES = (
    "like a two-colour riso print with visible grain",
    "in the manner of mid-century travel posters",
    "as clean as a transit map",
    "with the roughness of linocut",
    "like a page from an old field guide",
    "as a collage of torn paper",
    "with the flat geometry of children's blocks",
    "like a still from a film shot at dusk",
)
TYPES = (
    "heavy condensed capitals",
    "a sharp high-contrast serif",
    "rounded letters with open counters",
    "a typewriter face in one size only",
    "hand-painted script with uneven strokes",
    "a neutral grotesque, set tight",
    "slab letters spaced wide",
    "an italic that leans into the picture",
)


def briefs(ids: list[str], *, rng: np.random.Generator) -> pa.Table:
    """A table of prompts, one for each id, with intent, description and aesthetics; kinds of work take turns."""
    rows = [_brief(kind, rng) for kind, _ in zip(_turns(len(ids)), ids)]
    columns = {name: [row[name] for row in rows] for name in ("intent", "description", "aesthetics", "category")}
    return pa.table({"id": ids, **columns})


def _turns(count: int) -> list[str]:
    kinds = list(SUBJECTS)
    return [kinds[number % len(kinds)] for number in range(count)]


def _brief(kind: str, rng: np.random.Generator) -> dict[str, str]:
    def one(options: tuple[str, ...]) -> str:
        return options[rng.integers(len(options))]

    subject, headline = SUBJECTS[kind][rng.integers(len(SUBJECTS[kind]))]
    return {
        "category": kind,
        "intent": f"{'An' if kind[0] in 'aeiou' else 'A'} {kind} for {subject}.",
        "description": f"{one(LAYOUTS).format(headline=headline)}; {one(PICTURES)}. Colours: {one(COLORS)}.",
        "aesthetics": f"The mood is {one(MOODS)}, {one(STYLES)}. Lettering: {one(TYPES)}.",
    }
