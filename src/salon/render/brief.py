"""What a client asks for: the texts, the format, the subject, the look. Read from a prompt, or written as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from salon.study import Noun

Category = Literal[
    "presentations",
    "flyers",
    "instagram posts",
    "social media",
    "print products",
    "cards & invitations",
    "posters",
    "art & design",
    "logo",
]
Format = Literal["poster", "flyer", "card", "square", "slide", "logo"]
Mood = Literal[
    "calm", "joyful", "bold", "elegant", "playful", "serious", "nostalgic", "mysterious", "warm", "futuristic",
]  # fmt: skip
Style = Literal[
    "Acid Graphics",
    "Cinema 4D",
    "Cyberpunk",
    "Diffuse Glow",
    "Flat Design",
    "Glitch Art",
    "Illustrative",
    "Japanese",
    "Memphis",
    "Minimalist",
    "New Chinese Aesthetic",
    "Papercut",
    "Pixel Art",
    "Pop Art",
    "Retro",
    "Typographic Minimalism",
    "Vaporwave",
]
Place = Literal["top", "middle", "bottom"]
Align = Literal["left", "center", "right"]

CATEGORIES: tuple[Category, ...] = get_args(Category)
FORMATS: tuple[Format, ...] = get_args(Format)
MOODS: tuple[Mood, ...] = get_args(Mood)
STYLES: tuple[Style, ...] = get_args(Style)

MOTIF_FOLDER = Path(__file__).parent / "assets" / "motifs"
"""One SVG file for each subject: its drawings (`render.motifs.drawings`)."""
_FIRST_SUBJECTS = (
    "abstract", "mountain", "sea", "city", "forest", "sun", "moon", "stars", "flower", "leaf", "fruit", "coffee",
    "bread", "fish", "bird", "cat", "bicycle", "boat", "train", "balloon", "house", "lamp", "chair", "book", "music",
    "camera", "film", "mask", "ball", "gift", "candle", "umbrella", "rocket", "robot", "hands", "heart", "eye", "globe",
)  # fmt: skip
"""In this order, because chance picks a subject by its number; others follow."""


def subjects_in(folder: Path) -> tuple[str, ...]:
    """The subjects that have a file of drawings, the first ones in their order, others by name."""
    names = {file.stem for file in folder.glob("*.svg")}
    first = tuple(name for name in _FIRST_SUBJECTS if name in names)
    return (*first, *sorted(names - set(first)))


SUBJECTS: tuple[str, ...] = subjects_in(MOTIF_FOLDER)


def _check_subject(name: str) -> str:
    if name not in SUBJECTS:
        expected = f"{', '.join(map(repr, SUBJECTS[:-1]))} or {SUBJECTS[-1]!r}"
        raise PydanticCustomError("literal_error", "Input should be {expected}", {"expected": expected})
    return name


Subject = Annotated[
    str, AfterValidator(_check_subject), WithJsonSchema({"enum": list(SUBJECTS), "title": "Subject", "type": "string"})
]
"""The name of a file of drawings."""

SIZES: dict[Format, tuple[int, int]] = {
    "poster": (1024, 1448),
    "flyer": (1024, 1326),
    "card": (1434, 1024),
    "square": (1024, 1024),
    "slide": (1820, 1024),
    "logo": (1024, 1024),
}
"""Width and height by format; the shorter side is 1,024 pixels."""


class Brief(Noun):
    """One design as a client would order it. Only a headline is required."""

    id: str = Field(min_length=1)
    category: Category = "posters"
    format: Format = "poster"
    intent: str = ""
    """Who needs it and what for, in a sentence or two."""
    headline: str = Field(min_length=1, max_length=400)
    subhead: str | None = Field(default=None, max_length=400)
    body: str | None = Field(default=None, max_length=1200)
    cta: str | None = Field(default=None, max_length=120)
    """Call to action: what the reader should do."""
    when: str | None = Field(default=None, max_length=120)
    where: str | None = Field(default=None, max_length=160)
    brand: str | None = Field(default=None, max_length=80)
    subject: Subject = "abstract"
    style: Style | None = None
    mood: Mood = "bold"
    palette: tuple[str, ...] = Field(default=(), max_length=5)
    """Colors by name (`render.colors.NAMES`) or #rrggbb, the dominant one first; empty leaves them to the house."""
    headline_at: Place | None = None
    align: Align | None = None
    aesthetics: str = ""
    """Anything else about the look, in the client's words."""
