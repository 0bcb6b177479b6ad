"""The 29 font attributes that are impressions, each by a sign that can be seen and that the question names.

No font file says what is charming. So the question says by which sign a word is meant ("soft, that is, with rounded
ends and no corners"), and of two samples one plainly has the sign and the other its opposite. The signs are
stipulations about faces and how they are set; they are no finding about what people feel.
"""

from __future__ import annotations

from dataclasses import dataclass

from salon.render.layout import Face


@dataclass(frozen=True)
class Impression:
    """A sign in words, faces that have it and faces that do not; `unrest` of 0 to 1 moves letters off their line."""

    sign: str
    having: tuple[Face, ...]
    lacking: tuple[Face, ...]
    unrest: tuple[float, float] = (0.0, 0.0)
    """Of the sample that has it, and of the other."""
    same_face: bool = False
    """Whether both samples are in one face, so that only the unrest tells."""


def _faces(*names: str) -> tuple[Face, ...]:
    """Faces by "Family", "Family 700" or "Family 700 italic"."""
    return tuple(_face(name) for name in names)


def _face(name: str) -> Face:
    words = name.split()
    italic = words[-1] == "italic"
    words = words[:-1] if italic else words
    weight = int(words[-1]) if words[-1].isdigit() else 400
    family = " ".join(words[:-1] if words[-1].isdigit() else words)
    return Face(family=family, weight=weight, italic=italic)


_READING = _faces("Inter", "Noto Serif", "Work Sans", "Roboto Flex", "Lora")
_SANS = _faces("Inter", "Work Sans", "Roboto Flex", "Archivo", "DM Sans")
_HEAVY = _faces("Archivo Black", "Alfa Slab One", "Anton", "Russo One", "Archivo 900", "Noto Serif 900")
_LIGHT = _faces("Cormorant Garamond 300", "Josefin Sans 100", "Archivo 100", "Poppins 100", "Fraunces 100")
_ROUND = _faces("Fredoka 500", "Fredoka 600", "Pacifico")
_EDGED = _faces("Chakra Petch", "Orbitron", "Chakra Petch 600", "Orbitron 700")
_FLOWING = _faces("Great Vibes", "Dancing Script", "Yellowtail")
_CONTRASTED = _faces("Abril Fatface", "Bodoni Moda 900", "Playfair Display 900", "DM Serif Display")
_ORNATE = _faces("Great Vibes", "Bodoni Moda 900 italic", "Playfair Display 900 italic", "Fraunces 900 italic")
_CLASSIC = _faces("EB Garamond", "Noto Serif", "Bodoni Moda", "Playfair Display", "Lora")
_CASUAL = _faces("Fredoka 600", "Caveat 600", "Pacifico", "Lobster")
_MACHINE = _faces("Orbitron", "JetBrains Mono", "Space Mono", "Chakra Petch", "Press Start 2P")
_PEN = _faces("Caveat 600", "Dancing Script 600", "Lora", "Fraunces 500", "Pacifico")

IMPRESSIONS: dict[str, Impression] = {
    "angular": Impression("built from straight strokes and corners, almost without round curves", _EDGED, _ROUND),
    "artistic": Impression("drawn like a picture, with swings and flourishes", _faces("Great Vibes", "Lobster",
                           "Yellowtail", "Fraunces 900 italic"), _SANS),
    "attention-grabbing": Impression("so heavy that it is seen before the other one", _HEAVY, _LIGHT),
    "attractive": Impression("set with care: on one line, upright and evenly spaced", _READING, (), (0.0, 0.9), True),
    "bad": Impression("set without care: off the line and unevenly spaced", _READING, (), (0.9, 0.0), True),
    "boring": Impression("plain, with all strokes alike and nothing that stands out", _SANS,
                         (*_ORNATE, *_CASUAL, *_CONTRASTED)),
    "calm": Impression("still: upright, light and level, where the other one is heavy and restless",
                       _faces("EB Garamond", "DM Sans 300", "Lora", "Inter 300"), _HEAVY, (0.0, 0.6)),
    "charming": Impression("with curls and soft joins", _faces("Pacifico", "Lobster", "Dancing Script 600"),
                           _faces("Archivo Condensed", "JetBrains Mono", "Oswald", "Chakra Petch")),
    "clumsy": Impression("with letters that wobble and do not keep the line", _SANS, (), (1.0, 0.0), True),
    "complex": Impression("with much detail in each letter: thick and thin strokes, curls, fine ends", _ORNATE,
                          _faces("Josefin Sans", "Inter", "Poppins", "DM Sans")),
    "delicate": Impression("drawn in fine, thin strokes", _LIGHT, _HEAVY),
    "disorderly": Impression("with letters turned and scattered about the line", _READING, (), (1.0, 0.0), True),
    "dramatic": Impression("with a strong difference between thick and thin strokes", _CONTRASTED, _SANS),
    "formal": Impression("in upright, classical letters with serifs, as in a deed", _CLASSIC, _CASUAL),
    "fresh": Impression("round, open and light", _faces("Fredoka 300", "Poppins 300", "Josefin Sans 300"),
                        _faces("Abril Fatface", "Alfa Slab One", "Noto Serif 900", "Anton")),
    "friendly": Impression("with round ends and full curves", _ROUND,
                           _faces("Bodoni Moda", "Chakra Petch", "Oswald", "Archivo Condensed")),
    "gentle": Impression("light, with soft transitions and without weight",
                         _faces("Cormorant Garamond 300", "Dancing Script", "Fredoka 300"), _HEAVY),
    "graceful": Impression("flowing in long, fine curves",
                           (*_FLOWING, *_faces("Cormorant Garamond 300 italic")),
                           _faces("Russo One", "Press Start 2P", "Archivo Black", "Alfa Slab One")),
    "happy": Impression("bouncing: round letters that jump a little up and down", _ROUND,
                        _faces("Noto Serif", "Cormorant Garamond", "Oswald"), (0.5, 0.0)),
    "legible": Impression("easy to read at a glance", _READING, _FLOWING),
    "modern": Impression("geometric and without serifs", _faces("Poppins", "Space Grotesk", "Montserrat", "Unbounded"),
                         _faces("EB Garamond", "Cormorant Garamond", "Abril Fatface", "Great Vibes")),
    "playful": Impression("irregular and bouncing, as in a game", _faces("Fredoka 700", "Lobster", "Righteous"),
                          _READING, (0.6, 0.0)),
    "pretentious": Impression("with more ornament than the words need", _ORNATE, _READING),
    "sharp": Impression("with pointed ends and thin, cutting strokes",
                        _faces("Bodoni Moda", "Playfair Display", "DM Serif Display"), _ROUND),
    "sloppy": Impression("as if written in haste, with letters that do not keep the line",
                         _faces("Caveat", "Caveat 700"), _READING, (0.7, 0.0)),
    "soft": Impression("with rounded ends and no corners", _ROUND, (*_EDGED, *_faces("Oswald", "Bodoni Moda"))),
    "strong": Impression("in heavy, broad strokes", _HEAVY, _LIGHT),
    "technical": Impression("like the lettering of machines and screens", _MACHINE,
                            _faces("Dancing Script 600", "Lora", "Caveat 600", "Playfair Display")),
    "warm": Impression("round, with strokes like those of a pen or a brush", _PEN,
                       _faces("Orbitron", "JetBrains Mono", "Archivo Condensed", "Chakra Petch")),
}  # fmt: skip
"""Attribute to its sign."""
