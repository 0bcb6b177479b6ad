"""Which option a response chooses: a letter, or a label of a closed vocabulary.

In this order:

1. explicit statements: JSON with the key asked for, `Answer: B`, "the answer is B". The last one binds, also when it is
   not on the menu;
2. lines that are nothing but an option. If they name different options, that is a list and no answer;
3. a line that begins with a letter and explains it (`B) because ...`), and the last line if it names one label
   only, unless it denies it or the text begins with an excuse.

Naming several options is never an answer. Nothing else in prose counts: "Font A is bolder" chooses nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from salon.bench.posters.answers_said import (
    LONGEST_LINE,
    NO_OPTION,
    SEVERAL,
    Read,
    Unread,
    bare,
    explicit,
    is_refusal,
    json_values,
    lines,
    said,
    unanswered,
    under,
)
from salon.bench.posters.vocabulary import folded, meanings

Answer = Read | Unread
_KEYS = ("final_answer", "answer", "choice", "option", "letter", "style", "alignment", "rotation", "label", "result")
_HEAD = (
    r"(?:(?:the|my|so|thus|therefore|final|correct|best|better|right|matching|answer|option|choice|letter|image|font"
    r"|text|layout|design|poster|one|is|would|be|i|choose|pick|select)\b[ ,:]?[ ]?){0,8}"
)
_LETTER = re.compile(
    rf"{_HEAD}[\"'(\[{{*_`]{{0,4}}([A-Za-z])[\"')\]}}*_`]{{0,4}}(?:$|[.:,;)\-–—!]+(.*)$| (?:because|since|as) (.*)$)",
    re.IGNORECASE,
)
_DENIES = re.compile(r"\b(not|neither|nor|or|either|instead|rather|unlike|isn['’]?t|cannot|can['’]?t)\b")
_WRONG = re.compile(
    r"\W{0,3}(?:(?:it|this|that)\W{0,2}(?:is|s)? )?(?:is )?(?:not|isn['’]?t|wrong|incorrect|false|neither)\b", re.I
)
"""An explanation that begins like this takes its letter back."""
_SHORT = {"left", "right", "center", "centre", "no", "none", "cw", "ccw", "white", "black"}
"""Words that mean an option when they stand alone, but something else in a sentence."""


def read_letter(response: str | None, options: Sequence[str]) -> Answer:
    """The letter that a response chooses."""
    return _choice(response, lambda value: _letter(value, options), lambda text: _explained(text, options))


def read_label(response: str | None, options: Sequence[str]) -> Answer:
    """The label that a response chooses."""
    ways = meanings(tuple(options))
    return _choice(response, lambda value: label_in(value, ways), lambda text: _last_line(text, ways))


def _choice(response: str | None, menu: Callable[[Any], Answer], prose: Callable[[str], Answer | None]) -> Answer:
    text = said(response)
    if isinstance(text, Unread):
        return text
    stated = _explicit(text)
    if stated:
        return menu(max(stated, key=lambda one: one[1])[0])
    alone = {found.value for line in set(lines(text)) if isinstance(found := _alone(line, menu), Read)}
    if alone:
        return Read(alone.pop()) if len(alone) == 1 else SEVERAL
    return (None if is_refusal(text) else prose(text)) or unanswered(text)


def _explicit(text: str) -> list[tuple[Any, int]]:
    """Statements that say of themselves that they are the answer, with where they stand."""
    values = json_values(text)
    keyed = [(found, end) for value, end in values if (found := under(value, _KEYS)) is not None]
    listed = [(value, end) for value, end in values if isinstance(value, list) and _words(value)]
    spoken = [] if keyed or listed else list(explicit(text))
    return [*keyed, *listed, *spoken]


def _words(value: list[Any]) -> bool:
    return bool(value) and all(isinstance(one, str) for one in value)


def _alone(line: str, menu: Callable[[Any], Answer]) -> Answer:
    """A line that is an option and nothing else."""
    return menu(line) if len(line.split()) <= 4 and not _explains(line) else NO_OPTION


def _explains(line: str) -> bool:
    found = _LETTER.fullmatch(line)
    return found is not None and bool((found[2] or found[3] or "").strip())


# -- letters -------------------------------------------------------------------------------------------------------


def _letter(value: Any, options: Sequence[str]) -> Answer:
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else " and ".join(map(str, value))
    if not isinstance(value, str):
        return NO_OPTION
    line = bare(value)[:LONGEST_LINE]
    found = _LETTER.fullmatch(line)
    if found is None:
        return SEVERAL if _several(line, options) else NO_OPTION
    explained = found[2] or found[3] or ""
    if _several(explained, options, besides=found[1].upper()):
        return SEVERAL
    if _WRONG.match(explained):
        return NO_OPTION
    return Read(found[1].upper()) if found[1].upper() in options else NO_OPTION


def _several(line: str, options: Sequence[str], besides: str | None = None) -> bool:
    named = {letter for letter in re.findall(r"\b[A-Z]\b", line) if letter in options}
    return len(named | ({besides} if besides else set())) > 1


def _explained(text: str, options: Sequence[str]) -> Answer | None:
    """The option of the lines that begin with one and explain it, if they agree."""
    found = [_letter(line, options) for line in lines(text) if _explains(line[:LONGEST_LINE])]
    if any(one == SEVERAL for one in found):
        return SEVERAL
    named = {one.value for one in found if isinstance(one, Read)}
    if len(named) > 1:
        return SEVERAL
    return Read(named.pop()) if named else None


# -- labels --------------------------------------------------------------------------------------------------------


def label_in(value: Any, ways: dict[str, str]) -> Answer:
    """The one option that a value names: by itself, in a list, or in a sentence that does not deny it."""
    if isinstance(value, list):
        if any(isinstance(part, list) for part in value):
            return NO_OPTION
        found = {one.value for part in value if isinstance(one := label_in(part, ways), Read)}
        return Read(found.pop()) if len(found) == 1 else SEVERAL if found else NO_OPTION
    if not isinstance(value, str) or len(value) > LONGEST_LINE:
        return NO_OPTION
    words = folded(bare(value).strip(".,;:!()[]"))
    if words in ways:
        return Read(ways[words])
    named, rest = mentioned(words, ways)
    if len(named) != 1:
        return SEVERAL if named else NO_OPTION
    return NO_OPTION if _DENIES.search(rest) else Read(named.pop())


def mentioned(words: str, ways: dict[str, str]) -> tuple[set[str], str]:
    """The options named in folded words, the longest names first, and what is left of the words."""
    named: set[str] = set()
    for way in sorted(ways, key=len, reverse=True):
        if way in words and way not in _SHORT:
            words, times = re.subn(rf"(?<!\w){re.escape(way)}(?!\w)", "|", words)
            named |= {ways[way]} if times else set()
    return named, words


def _last_line(text: str, ways: dict[str, str]) -> Answer | None:
    found = lines(text)
    answer = label_in(found[-1], ways) if found else NO_OPTION
    return None if answer == NO_OPTION else answer
