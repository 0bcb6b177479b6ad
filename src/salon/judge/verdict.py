"""What a judge's text says, read strictly: the last verdict binds, it must be on the menu, and nothing is guessed.

A verdict is stated by

- a JSON object that holds the key asked for, anywhere in the text, fenced or not;
- a line that says nothing else: `Verdict: B`;
- a last line that is nothing but an answer: `B`.

Prose never counts ("Image A has the better type"), nor do thoughts. Of several statements the last one binds, also when
it is not on the menu: the judge is then unparsed, and no earlier statement is fallen back on. A text that breaks off
after its last statement, or in the middle of an object around it, might have said something else: unparsed as well. So
is one whose last statement stands inside an object that is broken, or in one of its strings: it may be a quotation. And
who says `{"verdict": "A"} or {"verdict": "B"}` has repeated the question, which ends so, and chosen nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from salon.study.criterion import Scale
from salon.study.thoughts import spoken

_DECODER = json.JSONDecoder(parse_constant=lambda _: None, strict=False)  # models break lines inside strings
_MARKS = " \t\"'`*_.“”"
"""What may stand around an answer without being part of it."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)
_LINE = re.compile(r"^[\s>#*_`]*+(?P<key>[A-Za-z][A-Za-z ]{0,29}?)[\s*_`]*+[:=][\s*_`]*+(?P<value>\S[^\n]{0,60})$")
_TAG = re.compile(r"</?answer>")
_BRACE = re.compile(r'\\.|["{}]', re.DOTALL)
_MOST_BRACES = 1000
_LONGEST = 100_000
"""Characters that are read, from the end: a verdict stands at the end of a text. No answer needs more braces."""
_DEEPEST = 20
"""Objects inside each other that are looked into."""


@dataclass(frozen=True, slots=True)
class Read:
    """A verdict that was read."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unread:
    """No verdict, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Statement:
    value: Any
    start: int
    end: int
    """Where it stands in the text."""


Menu = Callable[[Any], Read | Unread]


def read_verdict(text: str, key: str, menu: Menu, *, cut: bool = False) -> Read | Unread:
    """The last verdict in `text`, if `menu` has it. `cut` says that the token limit ended the text."""
    body = _answer_part(text)
    if isinstance(body, Unread):
        return body
    stated = [*_objects(body, lambda found: _under(found, key)), *_lines(body, key)]
    last_line = _last_line(body)
    if last_line is not None and isinstance(menu(last_line.value), Read):
        stated.append(last_line)
    if not stated:
        return Unread("breaks off" if cut or _is_open(body) else "no verdict")
    last = max(stated, key=lambda one: one.end)
    if any(_is_or(body[one.end : last.start]) and one.value != last.value for one in stated):
        return Unread("options, and none chosen")
    return _bind(body, last, menu, cut=cut)


def read_verdicts(
    text: str, menus: dict[str, Menu], titles: dict[str, str], *, cut: bool = False
) -> dict[str, Read | Unread]:
    """The last object in `text` that speaks of any of these criteria, read for each of them.

    `titles` are the criteria's names by id: a judge may answer under either, in any case, where that is unambiguous.
    """
    body = _answer_part(text)
    if isinstance(body, Unread):
        return dict.fromkeys(menus, body)
    keys = _keys(menus, titles)
    stated = list(_objects(body, lambda found: _by_criterion(found, keys)))
    if not stated:
        reason = "breaks off" if cut or _is_open(body) else "no verdict"
        return dict.fromkeys(menus, Unread(reason))
    last = stated[-1]
    if isinstance(last.value, Unread):
        return dict.fromkeys(menus, last.value)
    missing = Unread("criterion not answered")
    return {
        id: _bind(body, replace(last, value=last.value[id]), menu, cut=cut) if id in last.value else missing
        for id, menu in menus.items()
    }


def read_object(text: str, keys: Sequence[str], menu: Menu, *, cut: bool = False) -> Read | Unread:
    """The last object in `text` that has one of `keys`, if `menu` takes it."""
    body = _answer_part(text)
    if isinstance(body, Unread):
        return body
    stated = list(_objects(body, lambda found: found if set(keys) & found.keys() else None))
    if not stated:
        return Unread("breaks off" if cut or _is_open(body) else "no answer")
    return _bind(body, stated[-1], menu, cut=cut)


def _keys(menus: dict[str, Menu], titles: dict[str, str]) -> Callable[[str], str | None]:
    """From a key of an answer to the criterion it means: its id; else the one criterion it can mean."""
    folded: dict[str, set[str]] = {}
    for id in menus:
        for name in (id, titles.get(id, id)):
            folded.setdefault(_folded(name), set()).add(id)

    def criterion(key: str) -> str | None:
        if key in menus:
            return key
        meant = folded.get(_folded(key), set())
        return next(iter(meant)) if len(meant) == 1 else None

    return criterion


def _folded(name: str) -> str:
    return " ".join(name.lower().split())


def option_menu(options: Sequence[str]) -> Menu:
    """Exactly these words, in any case; `Image A` is A. Letters that only look alike are not on the menu."""

    def read(value: Any) -> Read | Unread:
        if not isinstance(value, str):
            return Unread("not an option")
        word = " ".join(value.strip(_MARKS).split())
        if not word.isascii():
            return Unread("not an option")
        word = re.sub(r"^image (?=[a-z]$)", "", word.lower())
        found = [option for option in options if option.lower() == word]
        return Read(found[0]) if found else Unread("not an option")

    return read


def number_menu(scale: Scale) -> Menu:
    """A number of the scale: anywhere between its ends, on an ordinal scale one of its levels. Never cut to fit."""

    def read(value: Any) -> Read | Unread:
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip(_MARKS.replace(".", ""))):
            value = float(value.strip(_MARKS.replace(".", "")))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return Unread("not a number")
        if not scale.low <= value <= scale.high:
            return Unread("outside the scale")
        if scale.kind == "ordinal" and scale.levels and value not in scale.levels:
            return Unread("between levels")
        return Read(float(value))

    return read


# -- where verdicts stand --------------------------------------------------------------------------------------------


def _answer_part(text: str) -> str | Unread:
    """The text without its thoughts."""
    said = spoken(text)
    if said is None:
        return Unread("thought without an answer")
    text = said[-_LONGEST:]
    if text.count("{") > _MOST_BRACES:
        return Unread("too much JSON")
    return text if _bare(text) else Unread("empty")


def _objects(text: str, wanted: Callable[[dict[str, Any]], Any]) -> Iterator[_Statement]:
    """The JSON objects in `text` that hold what is `wanted`, none of them inside another."""
    for found, start, end in _whole_objects(text):
        value = wanted(found)
        if value is not None:
            yield _Statement(value, start, end)


def _whole_objects(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Every JSON object that is not inside another, with where it begins and ends."""
    at = text.find("{")
    while at >= 0:
        try:
            found, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield found, at, end
        at = text.find("{", end)


def _under(found: dict[str, Any], key: str, depth: int = 0) -> Any:
    """What stands under `key`: in the object itself, or else in those inside it, if they agree."""
    own = [value for name, value in found.items() if name.strip().lower() == key]
    if own:
        return Unread("empty") if own[-1] is None else own[-1]
    if depth == _DEEPEST:
        return None
    inner = [value for part in _inside(found) if (value := _under(part, key, depth + 1)) is not None]
    if not inner:
        return None
    return inner[0] if all(value == inner[0] for value in inner) else Unread("several verdicts in one answer")


def _inside(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for value in found.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield part


def _by_criterion(found: dict[str, Any], keys: Callable[[str], str | None], depth: int = 0) -> Any:
    """The values of an object by criterion; of the objects inside it when it has none itself."""
    own = {id: value for name, value in found.items() if (id := keys(name)) is not None}
    if own:
        return own
    if depth == _DEEPEST:
        return None
    inner = [value for part in _inside(found) if (value := _by_criterion(part, keys, depth + 1)) is not None]
    if len(inner) > 1:
        return Unread("several verdicts in one answer")
    return inner[0] if inner else None


def _lines(text: str, key: str) -> Iterator[_Statement]:
    """Lines that state a verdict and nothing else."""
    end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        found = _LINE.match(_bare(line))
        if found and found["key"].lower().strip() in (key, f"final {key}", f"my {key}"):
            yield _Statement(found["value"], end - len(line), end)


def _last_line(text: str) -> _Statement | None:
    lines = [bare for line in text.splitlines() if (bare := _bare(line))]
    return _Statement(lines[-1], text.rfind(lines[-1]), len(text)) if lines else None


def _bind(text: str, last: _Statement, menu: Menu, *, cut: bool) -> Read | Unread:
    if _is_open(text) or (cut and _bare(text[last.end :])):
        return Unread("breaks off")
    if _is_inside(text, last.start):
        return Unread("inside a broken object")
    return last.value if isinstance(last.value, Unread) else menu(last.value)


def _is_or(between: str) -> bool:
    """Whether two statements are offered side by side, as the question does (`messages`)."""
    return _bare(between).lower() == "or"


def _bare(text: str) -> str:
    """The text without tags and marks around it."""
    return _TAG.sub("", text).strip(_MARKS + "\n\r")


def _is_open(text: str) -> bool:
    """Whether an object begins and never ends: a brace outside all whole objects that no later one closes."""
    return _is_inside(text, len(text))


def _is_inside(text: str, place: int) -> bool:
    """Whether `place` stands in an object: a whole one, or one that begins before it and does not end there."""
    around, at = "", 0
    for _, start, end in _whole_objects(text):
        if start >= place:
            break
        if place < end:
            return True
        around, at = around + text[at:start], end
    around += text[at:place]
    return _left_open(around, quotes=False) or _left_open(around, quotes=True)


def _left_open(text: str, *, quotes: bool) -> bool:
    """Counts braces; with `quotes` those in strings of an object do not count."""
    depth, quoted = 0, False
    for mark in _BRACE.findall(text):
        if mark == '"':
            quoted = quotes and depth > 0 and not quoted
        elif not quoted and mark in "{}":
            depth = depth + 1 if mark == "{" else max(depth - 1, 0)
    return depth > 0 or quoted
