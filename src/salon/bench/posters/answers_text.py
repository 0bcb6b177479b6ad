"""What a response reads off a poster: one text, many texts, and the colors and effects it names.

Invisible characters (spaces, line ends, controls, joiners) never count, and equal looks of one character are one
(Unicode NFC). Case, accents and punctuation do count: a text is right when it says the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from salon.bench.posters.answers_choice import label_in
from salon.bench.posters.answers_said import (
    LONGEST_LINE,
    MARKS,
    SEVERAL,
    Read,
    Unread,
    bare,
    json_values,
    lines,
    said,
    unanswered,
    under,
)
from salon.bench.posters.vocabulary import COLORS, folded, meanings

UNIT = 5
"""Characters of a unit of word recall."""
_INVISIBLE = ("Z", "C")
_DEEPEST = 20
_TEXT_KEYS = ("text", "answer", "final_answer", "logo", "logo_text", "content", "ocr", "result", "transcription")
_QUOTED = re.compile(r"[\"“「]([^\"“”「」\n]{1,200})[\"”」]")
_STATED = re.compile(
    r"^(?:the )?(?:final )?(?:answer|text|logo|ocr|result|transcription)(?: text)?(?: is)? ?[:=] ?(.*)$", re.I
)
_LIST_MARK = re.compile(r"^(?:[-*•]|\d{1,3}[.)]) +")
_SPLIT = re.compile(r"[,;/\n]| and ")
_COLOR_KEYS = ("color", "colour", "main_color", "dominant_color", "text_color")
_EFFECT_KEYS = ("effects", "effect", "text_effects", "text_effect", "font_effect", "font_effects")
_NAMED = re.compile(r"^(?P<key>[a-z _]{0,20}colou?r|[a-z _]{0,20}effects?) ?(?:is|:|=|are) ?(?P<value>.{1,200})$", re.I)


def visible(text: str) -> str:
    """The text without what cannot be seen, in one Unicode form."""
    return "".join(c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c)[0] not in _INVISIBLE)


def units(texts: Iterable[str]) -> list[str]:
    """The consecutive five-character units of texts written one after the other; a shorter rest is left out.

    A rest of one or two characters would be found in any answer. A text shorter than one unit is a unit itself.
    """
    run = visible("".join(texts))
    return [run[i : i + UNIT] for i in range(0, len(run) - UNIT + 1, UNIT)] or ([run] if run else [])


def read_text(response: str | None) -> Read | Unread:
    """The one text that a response states: as JSON, after `Text:`, as its only quotation, or as all it says."""
    text = said(response)
    if isinstance(text, Unread):
        return text
    keyed = [found for value, _ in json_values(text) if isinstance(found := under(value, _TEXT_KEYS), str)]
    if keyed:
        return Read(keyed[-1])
    spoken = lines(text)
    stated = [found[1] for line in spoken if (found := _STATED.match(line[:LONGEST_LINE])) and found[1]]
    if stated:
        return Read(stated[-1].strip(MARKS))
    quoted = set(_QUOTED.findall(text))
    if len(quoted) == 1 and len(text.split()) <= 60:
        return Read(quoted.pop())
    silent = unanswered(text)
    return silent if silent.reason == "refusal" else Read("\n".join(spoken))


def read_texts(response: str | None) -> Read | Unread:
    """All the texts of a response, a tuple of lines: the strings of its JSON, or else its lines without list marks."""
    text = said(response)
    if isinstance(text, Unread):
        return text
    if any(line.lstrip()[:1] in ("[", "{") for line in text.splitlines() if line.strip()):
        held = tuple(line for value, _ in json_values(text) for one in _strings(value) for line in one.splitlines())
        if held:
            return Read(held)
    return Read(tuple(_LIST_MARK.sub("", line).strip(MARKS + ",") for line in lines(text)))


def _strings(value: Any, depth: int = 0) -> list[str]:
    """The strings inside a JSON value, keys of objects left out, and what lies deeper than any list of texts."""
    if isinstance(value, str) or depth == _DEEPEST:
        return [value] if isinstance(value, str) else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _strings(part, depth + 1)]


def found_texts(wanted: Iterable[str], answer: Iterable[str]) -> list[bool]:
    """Which of the wanted texts stand in the answer as whole words; each word of the answer serves once.

    The longest texts are looked for first. A text may be broken over lines differently, but is never part of a word.
    """
    words = [visible(word) for line in answer for word in line.split()]
    free = [True] * len(words)
    asked = [visible(text) for text in wanted]
    found = [False] * len(asked)
    for number in sorted(range(len(asked)), key=lambda i: -len(asked[i])):
        run = _run(asked[number], words, free)
        found[number] = run is not None
        for at in run or ():
            free[at] = False
    return found


def _run(text: str, words: list[str], free: list[bool]) -> range | None:
    """Where consecutive free words together say `text`."""
    for start in range(len(words)):
        rest, at = text, start
        while rest and at < len(words) and free[at] and words[at] and rest.startswith(words[at]):
            rest, at = rest[len(words[at]) :], at + 1
        if not rest:
            return range(start, at)
    return None


# -- colors and effects --------------------------------------------------------------------------------------------


def read_effects(response: str | None) -> Read | Unread:
    """(color, effects) named: the color one of the vocabulary or None where none or several are named, effects folded.

    Read from the last JSON list or object, from lines `Color: ...` and `Effects: ...`, or else from the last line.
    """
    text = said(response)
    if isinstance(text, Unread):
        return text
    for value, _ in reversed(json_values(text)):
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return _sorted_out(value)
        colors, effects = under(value, _COLOR_KEYS), under(value, _EFFECT_KEYS)
        if colors is not None or effects is not None:
            return _apart(_listed(colors), _listed(effects))
    named = [found for line in lines(text) if (found := _NAMED.match(_LIST_MARK.sub("", line)[:LONGEST_LINE]))]
    if named:
        colors = [one for found in named if "effect" not in found["key"].lower() for one in _listed(found["value"])]
        effects = [one for found in named if "effect" in found["key"].lower() for one in _listed(found["value"])]
        return _apart(colors, effects)
    spoken = lines(text)
    last = spoken[-1]
    if len(last) > LONGEST_LINE or any(len(part.split()) > 4 for part in _listed(last)):
        return unanswered(text)
    return _sorted_out(_listed(last) if len(spoken) == 1 or len(_listed(last)) > 1 else spoken)


def _listed(value: Any) -> list[str]:
    parts = value if isinstance(value, list) else [] if value is None else _SPLIT.split(str(value))
    return [word for part in parts if (word := bare(str(part)).strip(".,;:!()[]\"'"))]


def _sorted_out(labels: list[str]) -> Read:
    """A plain list: what is a color is the color, the rest are effects."""
    ways = meanings(COLORS)
    words = [folded(one) for one in _listed(labels)]
    return _apart([one for one in words if one in ways], [one for one in words if one not in ways])


def _apart(colors: list[str], effects: list[str]) -> Read:
    color = label_in(colors, meanings(COLORS)) if colors else SEVERAL
    return Read((color.value if isinstance(color, Read) else None, frozenset(folded(one) for one in effects)))
