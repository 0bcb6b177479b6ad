"""From characters to fonts: what text may hold, and which font sets each part of it.

A word stays in one font. Where the face lacks a letter, the whole word goes to the first of its fallbacks that has all
of them; only if none has, each character finds its own. Emoji that exist as a plain symbol (★ ♥ ☀ ✓) are set as that
symbol in the text's own color; all others are refused by name, since no font here draws them. Nothing is ever drawn
as an empty box.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import unicodedata

from salon.errors import BadValue
from salon.render.layout import Face
from salon.render.typeset.families import FAMILIES
from salon.render.typeset.fonts import LoadedFont, load_font

BIDI_CONTROLS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
DROPPED = frozenset("\ufe0e\ufe0f\ufeff")
"""Choices between a symbol's text and emoji form (there is only the one form here), and byte order marks."""
INVISIBLE = frozenset("\u200b\u200c\u200d\u200e\u200f\u061c\u2060\u00ad")
"""Need no glyph: joiners, direction marks, break hints."""

FALLBACKS: dict[str, tuple[str, ...]] = {
    "serif": ("Noto Serif", "EB Garamond", "Amiri", "Inter", "Heebo"),
    "slab": ("Zilla Slab", "Noto Serif", "Amiri", "Inter", "Heebo"),
    "script": ("Lobster", "Noto Serif", "Amiri", "Inter", "Heebo"),
    "hand": ("Caveat", "Noto Sans Arabic", "Inter", "Heebo"),
    "mono": ("JetBrains Mono", "Noto Sans Arabic", "Inter", "Heebo"),
    "pixel": ("Press Start 2P", "JetBrains Mono", "Noto Sans Arabic", "Inter", "Heebo"),
    "sans": ("Inter", "Noto Sans Arabic", "Heebo"),
    "display": ("Inter", "Noto Sans Arabic", "Heebo"),
}
"""By kind of face, nearest in spirit first. Poppins (Devanagari), Chakra Petch (Thai) and the CJK fonts follow."""

Span = tuple[int, int, LoadedFont]
"""Start, end and font of a part of a text."""


def cleaned(text: str, *, where: str | None = None) -> str:
    """Text as it will be set: composed (NFC), plain spaces and line ends. BadValue for what no font can show."""
    if text.isascii() and text.isprintable():
        return text
    wrong = next(
        (
            character
            for character in text
            if (category := unicodedata.category(character)) in ("Cs", "Co")
            or (category == "Cc" and character not in "\n\r\t")
            or character in BIDI_CONTROLS
        ),
        None,
    )
    if wrong is not None:
        raise BadValue(
            "text may not hold control or private-use characters, lone surrogates or direction overrides",
            found=f"U+{ord(wrong):04X} at character {text.index(wrong) + 1:,} of {len(text):,}",
            where=where,
            remedy="remove it from the text",
        )
    plain = "".join(character for character in text if character not in DROPPED)
    plain = re.sub(r"\r\n?|[\u2028\u2029]", "\n", plain)
    plain = re.sub(r"[\t\u1680]", " ", plain)  # Ogham's space is a drawn line that fonts lack
    return unicodedata.normalize("NFC", plain)


@functools.lru_cache(maxsize=1024)
def font_spans(text: str, key: str) -> tuple[Span, ...]:
    """The fonts of a cleaned text as spans without gaps; BadValue names characters no font has."""
    own = load_font(key)
    if all(_has(own, character) for character in text):
        return ((0, len(text), own),) if text else ()
    chain = [own.face, *_chain(own, text)]
    # for every character the font that sets it, None where nothing has it; spaces wait for their neighbours
    fonts_by_place: list[LoadedFont | None] = [None] * len(text)
    for word in re.finditer(r"\S+", text):
        same_script = _same_script(text, word.start(), word.end())
        for start, end in same_script:
            whole = _first_with(text[start:end], chain)
            for place in range(start, end):
                fonts_by_place[place] = whole or _first_with(text[place], chain)
    fonts = list(fonts_by_place)
    missing = [c for c, font in zip(text, fonts) if font is None and not c.isspace()]
    if missing:
        names = [f"{c} ({unicodedata.name(c, f'U+{ord(c):04X}').lower()})" for c in dict.fromkeys(missing)]
        cjk = any(unicodedata.east_asian_width(c) in "WF" and unicodedata.category(c) == "Lo" for c in missing)
        remedy = "leave them out or say it in words; emoji are set only where a plain symbol exists, as for ★ ♥ ☀ ✓"
        if cjk and not importlib.util.find_spec("justmytype_intl_cjk"):
            remedy = "pip install 'salon[cjk]'"
        raise BadValue(
            "characters that an installed font can draw are needed",
            found=", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else ""),
            where=repr(text[:60]),
            remedy=remedy,
        )
    spans: list[Span] = []
    for place, font in enumerate(fonts):
        font = font or (spans[-1][2] if spans else own)  # spaces in the font of what comes before them
        if spans and spans[-1][2] is font:
            spans[-1] = (spans[-1][0], place + 1, font)
        else:
            spans.append((place, place + 1, font))
    return tuple(spans)


def _has(font: LoadedFont, character: str) -> bool:
    if character == "\u2011":  # HarfBuzz sets a no-break hyphen as a hyphen
        character = "\u2010"
    return ord(character) in font.characters or character in INVISIBLE


def _chain(own: LoadedFont, text: str) -> list[Face]:
    """The faces to try after the text's own, as heavy as it looks; scripts without an italic stay upright."""
    names = [*FALLBACKS[own.family.kind], "Poppins", "Chakra Petch"]
    if importlib.util.find_spec("justmytype_intl_cjk"):
        order = [name for name, family in FAMILIES.items() if "cjk" in family.scripts]
        scripts = {unicodedata.name(character, "").split(" ")[0] for character in text}
        if scripts & {"HIRAGANA", "KATAKANA"}:
            first = "Noto Sans JP"
        elif "HANGUL" in scripts:
            first = "Noto Sans KR"
        else:
            ideographs = "".join(character for character in text if unicodedata.name(character, "").startswith("CJK "))
            first = (
                "Noto Sans TC"
                if not _encodes(ideographs, "gb2312") and _encodes(ideographs, "big5")
                else "Noto Sans SC"
            )
        names += [first, *(name for name in order if name != first)]
    weight = own.family.looks or own.face.weight
    return [
        Face(family=name, weight=weight, italic=own.face.italic and FAMILIES[name].italic)
        for name in names
        if name != own.family.name
    ]


def _encodes(text: str, charset: str) -> bool:
    """Whether a national character set holds every character: simplified and traditional sets differ."""
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


def _first_with(text: str, chain: list[Face]) -> LoadedFont | None:
    for face in chain:
        font = load_font(face)
        if all(_has(font, character) for character in text):
            return font
    return None


def _same_script(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """A word cut where its script changes, so that 'Café東京' keeps its face for the first half."""
    cuts = [start]
    script = None
    for place in range(start, end):
        own = script_of(text[place])
        if own is not None and script not in (None, own):
            cuts.append(place)
        script = own or script
    return list(zip(cuts, [*cuts[1:], end]))


@functools.lru_cache(maxsize=16384)
def script_of(character: str) -> str | None:
    """The script of a letter by the first word of its name, 'CJK' for all that is wide, None for what fits any."""
    if unicodedata.east_asian_width(character) in "WF":
        return "CJK"
    if character.isalpha():
        return unicodedata.name(character, "?").split(" ")[0]
    return "SYMBOL" if unicodedata.category(character) == "So" else None
