"""The closed vocabularies of the public files: every word an answer may be, and what else means the same."""

from __future__ import annotations

STYLES = (
    "Acid Graphics", "Cinema 4D Style", "Cyberpunk Style", "Diffuse Glow Style", "Flat Design", "Glitch Art",
    "Illustrative Style", "Japanese Style", "Memphis Style", "Minimalist Style", "New Chinese Aesthetic",
    "Papercut Style", "Pixel Art", "Pop Art", "Retro Style", "Typographic Minimalism", "Vaporwave Style",
)  # fmt: skip
"""As the public files spell them; the word Style may be left off or added (`meanings`)."""
ATTRIBUTES = (
    "angular", "artistic", "attention-grabbing", "attractive", "bad", "boring", "calm", "capitals", "charming",
    "clumsy", "complex", "cursive", "delicate", "disorderly", "display", "dramatic", "formal", "fresh", "friendly",
    "gentle", "graceful", "happy", "italic", "legible", "modern", "monospace", "playful", "pretentious", "serif",
    "sharp", "sloppy", "soft", "strong", "technical", "thin", "warm", "wide",
)  # fmt: skip
CLASSIC_EFFECTS = (
    "bold", "glow", "gradient_fill", "highlight", "italic", "outline", "reflection", "shadow", "underline",
)  # fmt: skip
COLORS = (
    "azure", "beige", "black", "blue", "colorful", "gray", "green", "indigo", "orange", "pink", "purple", "red",
    "reddish-brown", "silvery", "white", "yellow",
)  # fmt: skip
OPERATIONS = (
    "misalignment", "segmentation", "nesting", "cutouts", "repetition", "extension", "focus shifting", "mirroring",
)  # fmt: skip
ALIGNMENTS = ("left-aligned", "center-aligned", "right-aligned")
ROTATIONS = ("counterclockwise rotation", "clockwise rotation", "no rotation")
FONT_SIZES = tuple(range(15, 81, 5))
GRID = 7
"""Patches of an empty-space poster, a side; ids run from 0, row by row."""

SAME: dict[str, tuple[str, ...]] = {
    "left-aligned": ("left", "left aligned", "left alignment", "flush left", "align left"),
    "center-aligned": ("center", "centre", "centered", "centred", "center aligned", "centre aligned",
                       "center alignment", "align center"),
    "right-aligned": ("right", "right aligned", "right alignment", "flush right", "align right"),
    "counterclockwise rotation": ("counterclockwise", "counter clockwise", "anticlockwise", "anti clockwise", "ccw",
                                  "counter clockwise rotation", "anticlockwise rotation", "rotated counterclockwise",
                                  "rotated counter clockwise"),
    "clockwise rotation": ("clockwise", "cw", "rotated clockwise"),
    "no rotation": ("none", "not rotated", "unrotated", "no", "without rotation"),
    "gray": ("grey",),
    "silvery": ("silver",),
    "colorful": ("colourful", "multicolored", "multicolor", "multi colored"),
}  # fmt: skip
"""What else is said for a label, folded: lower case, hyphens and underscores as spaces."""


def folded(label: str) -> str:
    """A label as it is compared: lower case, hyphens and underscores as spaces, one space between words."""
    return " ".join(label.lower().replace("-", " ").replace("_", " ").split())


def meanings(options: tuple[str, ...]) -> dict[str, str]:
    """Every folded way to say one of these options, and the option it says."""
    ways = {word: option for option in options for word in (folded(option), *SAME.get(option, ()))}
    if options != STYLES:
        return ways
    bare = {way.removesuffix(" style"): option for way, option in ways.items()}
    return ways | bare | {f"{way} style": option for way, option in bare.items()}
