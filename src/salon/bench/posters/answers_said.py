"""What every parser starts from: the part of a response that answers, and the statements in it.

A response is read from its end, at most 100,000 characters of it, without the thoughts a model may put first. Every
pattern here runs over single lines of bounded length, so that no text, however long or odd, takes long to read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from salon.study.thoughts import spoken

LONGEST = 100_000
"""Characters that are read, from the end."""
LONGEST_LINE = 400
"""Characters of a line that can state an answer; longer ones are prose."""
MARKS = " \t\"'`*_“”‘’「」<>"
"""What may stand around an answer without being part of it."""
_MOST_VALUES = 200
"""JSON values looked for in a text."""
_MOST_LINES = 2000
"""Lines of a text that are read, from its end."""
_DECODER = json.JSONDecoder(strict=False)  # models break lines inside strings
_OPENING = re.compile(r"[\[{]")
_REFUSAL = re.compile(
    r"\W{0,3}(i['’]?m sorry|i am sorry|sorry|i can['’]?t|i cannot|i['’]?m unable|i am unable|i['’]?m not able|unable to"
    r"|as an ai)\b",
    re.IGNORECASE,
)
_EXPLICIT = re.compile(
    r"\b(?:final answer|answer|choice|style|alignment|rotation|result)\b[\"'*_` ]{0,4}(?:is|:|=)[ :]{0,3}",
    re.IGNORECASE,
)
_BOXED = re.compile(r"\\boxed\{([^{}]{1,200})\}")


@dataclass(frozen=True, slots=True)
class Read:
    """An answer that was read."""

    value: Any


@dataclass(frozen=True, slots=True)
class Unread:
    """No answer, and why: a word or two to count by."""

    reason: str


SEVERAL = Unread("several options")
REFUSAL = Unread("refusal")
NO_OPTION = Unread("not an option")


def said(response: str | None) -> str | Unread:
    """The part of a response that answers."""
    if response is None:
        return Unread("missing")
    text = spoken(response)
    if text is None:
        return Unread("thought without an answer")
    text = text[-LONGEST:]
    return text if lines(text) else Unread("empty")


def unanswered(text: str) -> Unread:
    """Why a text without a statement says nothing: it refuses, or it only talks."""
    return REFUSAL if is_refusal(text) else Unread("no answer")


def is_refusal(text: str) -> bool:
    """Whether a text begins with an excuse: then only what it states as its answer counts, and none of its prose."""
    return _REFUSAL.match(text) is not None


def json_values(text: str) -> list[tuple[Any, int]]:
    """The JSON lists and objects in a text, none inside another, with where each ends."""
    found: list[tuple[Any, int]] = []
    at = _OPENING.search(text)
    for _ in range(_MOST_VALUES):
        if at is None:
            break
        try:
            value, end = _DECODER.raw_decode(text, at.start())
        except RecursionError:  # brackets without end
            break
        except ValueError:
            end = at.start() + 1
        else:
            found.append((value, end))
        at = _OPENING.search(text, end)
    return found


def under(value: Any, keys: tuple[str, ...]) -> Any:
    """What an object holds under the first of these keys it has; None where it has none."""
    if not isinstance(value, dict):
        return None
    held = {str(key).strip().lower().replace(" ", "_"): one for key, one in value.items()}
    return next((held[key] for key in keys if held.get(key) is not None), None)


def bare(text: str) -> str:
    """A text without the marks and fences around it, on one line."""
    return " ".join(text.strip(MARKS + "\r\n#>").split())


def lines(text: str) -> list[str]:
    """The lines of a text that say something, bare."""
    found = (bare(line) for line in text.splitlines()[-_MOST_LINES:] if not line.lstrip().startswith("```"))
    return [line for line in found if line]


def explicit(text: str) -> Iterator[tuple[str, int]]:
    """What follows each "the answer is", to the end of its line, and where it begins; boxed answers likewise."""
    for found in _EXPLICIT.finditer(text):
        line, _, _ = text[found.end() : found.end() + LONGEST_LINE].partition("\n")
        if bare(line):
            yield bare(line), found.start()
    for found in _BOXED.finditer(text):
        yield bare(found[1]), found.start()
