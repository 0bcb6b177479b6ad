"""What a response reads off a poster: one text, or many.

Invisible characters (spaces, line ends, controls, joiners) never count, and equal looks of one character are one
(Unicode NFC). What else counts is what the prompt asked for. Where it wants the text exactly as it stands (`is_exact`),
case, accents and punctuation count. Where it wants plain words, as the public prompts do, letters and digits count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from salon.bench.posters.answers_said import (
    LONGEST_LINE,
    MARKS,
    Read,
    Unread,
    is_cut_off,
    json_spans,
    said,
    unanswered,
    under,
)

UNIT = 5
"""Characters of a unit of word recall."""
_INVISIBLE = ("Z", "C")
_DEEPEST = 20
_EXACT = re.compile(
    r"\b(?:exact(?:ly)?|verbatim|letter by letter|case[- ]sensitive"
    r"|as (?:written|drawn|printed|set|it stands|they stand)"
    r"|capitals? and (?:small letters|digits|lower)|(?:with|keep|including|preserve) (?:all )?(?:the )?punctuation)\b",
    re.IGNORECASE,
)
_NO_MARKS = re.compile(
    r"\b(?:without|no|omit\w*|ignor\w*|exclud\w*|leav\w*|skip\w*|remov\w*|drop\w*|strip\w*)\b[^.!?\n]{0,60}\b(?:punctuation|symbols?)\b",
    re.IGNORECASE,
)
_TEXT_KEYS = ("text", "answer", "final_answer", "logo", "logo_text", "content", "ocr", "result", "transcription",
              "extracted_text", "texts", "brand", "name")  # fmt: skip
_CARRIER = r"(?:answer|text|logo|ocr|result|transcription|extracted text|wordmark|brand|brand name|name|word|output)"
_STATED = re.compile(
    rf"^(?:the |this |my )?(?:final |extracted |visible |main |plain )?{_CARRIER}(?: (?:text|name))?"
    r"(?: (?:in|on|of|from|shown in|visible in) (?:the|this) (?:image|picture|logo|poster))?"
    r"(?: ?[:=] ?| (?:is|reads|says|would be)(?: ?:)? )(.*)$",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[\"“「]([^\"“”「」\n]{1,200})[\"”」]")
_ABOUT = re.compile(rf"\b(?:{_CARRIER}|reads|says|spells?|written|displays?)\b", re.IGNORECASE)
_HEADER = re.compile(
    r"^[*_#]{0,3}(?:sure|certainly|of course|here|okay|ok|the|this|extracted|text|below|transcription|ocr|final|answer"
    r"|i (?:see|can see|read))\b.{0,120}:[*_]{0,3}$",
    re.IGNORECASE,
)
_NOTE = re.compile(
    r"\n[ \t]{0,8}\n\s{0,8}[*_(]{0,3}(?:note|explanation|let me know|i hope|please note)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_HEADING = re.compile(
    r"[*_#\s]{0,4}(?:(?:sure|certainly|of course|okay|ok|here|below)\b.{0,120}"
    r"|(?:the |all )?(?:recogni[sz]ed |extracted |visible |final |read )?"
    r"(?:texts?|words|lines|answer|transcription|ocr|result|output|content)\b.{0,60}):[*_]{0,3}",
    re.IGNORECASE,
)
"""A first line that only announces what follows."""
_NUMBERED = re.compile(r"^\(?(\d{1,3})[.)] +")
_BULLET = re.compile(r"^([-*•+–·]) +")
_QUOTES = ('""', "''", "``", "“”", "‘’", "「」", "**", "__")
_ITEM = re.compile(r"(?<=[\[(,\s])(['\"])(.*?)\1(?=\s*[,\])])")


def is_exact(prompt: str) -> bool:
    """Whether a prompt asks for a text as it stands, with case and punctuation, and not for plain words."""
    return _EXACT.search(prompt) is not None and _NO_MARKS.search(prompt) is None


def visible(text: str) -> str:
    """The text without what cannot be seen, in one Unicode form."""
    return "".join(c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c)[0] not in _INVISIBLE)


def letters(text: str) -> str:
    """Only the letters and digits of a text, of any script, in one Unicode form; case is kept."""
    return "".join(c for c in unicodedata.normalize("NFKC", text) if c.isalnum() or unicodedata.category(c)[0] == "M")


def units(texts: Iterable[str], key: Callable[[str], str] = visible) -> list[str]:
    """The consecutive five-character units of texts written one after the other; a shorter rest is left out.

    A rest of one or two characters would be found in any answer. A text shorter than one unit is a unit itself.
    """
    run = key("".join(texts))
    return [run[i : i + UNIT] for i in range(0, len(run) - UNIT + 1, UNIT)] or ([run] if run else [])


def read_text(response: str | None) -> Read | Unread:
    """The one text that a response states: as JSON, after `Text:`, as its only quotation, or as all it says."""
    text = said(response)
    if isinstance(text, Unread):
        return text
    spans = json_spans(text)
    keyed = [held for value, *_ in spans if (held := under(value, _TEXT_KEYS)) is not None]
    if keyed:
        return Read("\n".join(_strings(keyed[-1])))
    if len(spans) == 1 and not _outside(text, spans):
        return Read("\n".join(_strings(spans[0][0])))
    text = _NOTE.sub("", text)
    spoken = _lines(text)
    if len(spoken) > 1 and _HEADER.match(spoken[0]):
        spoken = spoken[1:]
    stated = [
        match[1]
        for line in spoken
        if (match := _STATED.match(line[:LONGEST_LINE].replace("**", ""))) and match[1].strip()
    ]
    if stated:
        return Read(_unwrapped(stated[-1].strip().removesuffix(".") if len(spoken) == 1 else stated[-1]))
    quoted = set(_QUOTED.findall(text))
    if len(quoted) == 1 and len(text.split()) <= 60 and _ABOUT.search(_QUOTED.sub("", text)):
        return Read(quoted.pop())
    silent = unanswered(text)
    return silent if silent.reason == "refusal" else Read("\n".join(map(_unwrapped, spoken)))


def read_texts(response: str | None) -> Read | Unread:
    """All the texts of a response, a tuple of lines: the strings of its JSON, or else its lines.

    The marks of a list are taken off where every line has one. A poster's own marks stay.
    """
    text = said(response)
    if isinstance(text, Unread):
        return text
    spans = [] if is_cut_off(text) else json_spans(text)
    held = tuple(line for value, *_ in spans for part in _strings(value) for line in part.splitlines() or [""])
    if any(held) and not _outside(text, spans):
        return Read(held)
    spoken = _lines(text)
    if len(spoken) > 1 and _HEADING.fullmatch(spoken[0]):
        spoken = spoken[1:]
    listed = "\n".join(spoken).strip("`")
    if f"{listed[:1]}{listed[-1:]}" in ("[]", "()"):
        items = [match[2] for match in _ITEM.finditer(listed)]
        if items and len(letters("".join(items))) >= len(letters(listed)):
            return Read(tuple(items))
    return Read(tuple(_unquoted(_unmarked(spoken))))


def _lines(text: str) -> list[str]:
    """The lines that say something, without fences."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("```")]


def _outside(text: str, spans: Sequence[tuple[Any, int, int]]) -> bool:
    """Whether words stand beside the JSON of a text, other than a heading."""
    beside, at = [], 0
    for _, start, end in spans:
        beside.append(text[at:start])
        at = end
    beside.append(text[at:])
    said_beside = [
        line
        for part in beside
        for line in _lines(part)
        if letters(line) and not line.rstrip("*_ ").endswith((":", "="))
    ]
    return bool(said_beside)


def _unmarked(spoken: list[str]) -> list[str]:
    """Lines without the bullets or numbers of a list that all of them are in."""
    numbers = [match[1] for line in spoken if (match := _NUMBERED.match(line))]
    if len(spoken) > 1 and [int(number) for number in numbers] == list(range(1, len(spoken) + 1)):
        return [_NUMBERED.sub("", line) for line in spoken]
    bullets = {match[1] if (match := _BULLET.match(line)) else "" for line in spoken}
    if len(spoken) > 1 and len(bullets) == 1 and "" not in bullets:
        return [_BULLET.sub("", line) for line in spoken]
    return spoken


def _unquoted(spoken: list[str]) -> list[str]:
    """Lines without quotes or emphasis that stand around every one of them; around some, they are the poster's own."""
    for mark in ("**", "__", "*", "_", '""', "''", "``", "“”", "‘’", "«»", "「」"):
        first, last = (mark[0], mark[1]) if len(set(mark)) == 2 or mark in ('""', "''", "``") else (mark, mark)
        around = [line for line in spoken if line.startswith(first) and line.endswith(last)]
        if len(spoken) > 1 and len(around) == len(spoken) and all(len(line) > len(first + last) for line in spoken):
            return _unquoted([line[len(first) : -len(last)].strip() for line in spoken])
    return spoken


def _unwrapped(line: str) -> str:
    """A line without the quotes or the emphasis around it."""
    line = line.strip()
    for _ in range(4):
        if len(line) > 2 and f"{line[0]}{line[-1]}" in _QUOTES:
            line = line[1:-1].strip()
    return line


def _strings(value: Any, depth: int = 0) -> list[str]:
    """The words inside a JSON value, keys of objects left out, and what lies deeper than any list of texts."""
    if isinstance(value, str) or depth == _DEEPEST:
        return [value] if isinstance(value, str) else []
    if isinstance(value, int | float) and not isinstance(value, bool):
        return [str(value)]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _strings(part, depth + 1)]


# -- texts against texts ---------------------------------------------------------------------------------------------


def found_texts(wanted: Iterable[str], answer: Iterable[str], *, exact: bool = True) -> list[bool]:
    """Which of the wanted texts stand in the answer as whole words; each word of the answer serves once.

    The longest texts are looked for first, on lines of their own before anywhere else. A text may be broken over lines
    differently, but is never part of a word.
    """
    answer_lines = [_words(line, exact) for line in answer]
    words = [word for line in answer_lines for word in line]
    starts = list(accumulate(map(len, answer_lines), initial=0))
    ends = dict(pairwise(starts))
    free = [True] * len(words)
    asked = [visible(text) if exact else letters(text).casefold() for text in wanted]
    found = [False] * len(asked)
    for number in sorted(range(len(asked)), key=lambda i: -len(asked[i])):
        run = _run(asked[number], words, free, ends)
        found[number] = run is not None
        for at in run or ():
            free[at] = False
    return found


def _words(line: str, exact: bool) -> list[tuple[str, ...]]:
    """The words of a line, each with the ways it may be meant: with and without the marks of a list around it."""
    if exact:
        parts = [visible(word) for word in line.split()]
        return [tuple(dict.fromkeys((word, word.strip(MARKS + ",")))) for word in parts if word]
    spaced = "".join(c if letters(c) else " " for c in unicodedata.normalize("NFKC", line))
    return [(word.casefold(),) for word in spaced.split()]


def _run(text: str, words: Sequence[tuple[str, ...]], free: Sequence[bool], ends: Mapping[int, int]) -> range | None:
    """Where consecutive free words together say `text`: a line of its own, whole lines, or else the first place."""
    lines = set(ends.values())
    whole: range | None = None
    first: range | None = None
    for start, ways in enumerate(words):
        if not free[start] or not any(way and text.startswith(way) for way in ways):
            continue
        rest, at = text, start
        while rest and at < len(words) and free[at]:
            word = next((way for way in words[at] if way and rest.startswith(way)), None)
            if word is None:
                break
            rest, at = rest[len(word) :], at + 1
        if rest:
            continue
        if ends.get(start) == at:
            return range(start, at)
        if start in ends and at in lines:
            whole = whole or range(start, at)
        first = first or range(start, at)
    return whole or first
