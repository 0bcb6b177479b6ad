"""Numbers a response states: a rating from 0 to 10, and ids of patches on a grid."""

from __future__ import annotations

import re
from typing import Any

from salon.bench.posters.answers_said import (
    LONGEST_LINE,
    REFUSAL,
    SEVERAL,
    Read,
    Unread,
    is_refusal,
    json_values,
    lines,
    said,
    unanswered,
    under,
)

MOST = 10.0
_RATING_KEYS = (
    "overall_rating",
    "overall_score",
    "overall",
    "final_score",
    "rating",
    "score",
    "final_answer",
    "answer",
)
_N = r"(?<![\d.\-–/,])(\d{1,4}(?:\.\d{1,6})?)"
_OF_TEN = re.compile(_N + r" ?(?:/|out of) ?10(?!\d|\.\d)", re.IGNORECASE)
_STATED = re.compile(
    r"\b(?:(?:overall|score|rating|answer)\b[^\d\n:=]{0,24}[:=]|(?:my|the|overall|final) (?:score|rating|answer) is)"
    r"[ *_`\"']{0,4}(-?\d{1,4}(?:\.\d{1,6})?)"
    r"(?![\d%]| ?[-–] ?\d|\.\d)(?: ?/ ?10(?!\d))?(?! ?/)",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(-?\d{1,4}(?:\.\d{1,6})?)(?: ?(?:/|out of) ?10)?[.!]?")
_ID_KEYS = ("final_answer", "answer", "patches", "patch_ids", "patch_id", "ids", "regions", "grid", "result")
_IDS = re.compile(r"\d{1,4}(?: ?, ?\d{1,4}){0,400}\.?")


def read_rating(response: str | None) -> Read | Unread:
    """A number from 0 to 10: under a key, after "Score:", as x/10, or alone on the last or first line; never cut."""
    text = said(response)
    if isinstance(text, Unread):
        return text
    keyed = [found for value, _ in json_values(text) if (found := under(value, _RATING_KEYS)) is not None]
    if keyed:
        return _rating(keyed[-1])
    spoken = [line[-LONGEST_LINE:] for line in lines(text)]
    stated = [found for line in spoken for found in _STATED.findall(line)]
    if stated:
        return _rating(stated[-1])
    if is_refusal(text):
        return REFUSAL
    of_ten = {float(found) for line in spoken for found in _OF_TEN.findall(line)}
    if of_ten:
        return _rating(of_ten.pop()) if len(of_ten) == 1 else SEVERAL
    alone = _ALONE.fullmatch(spoken[-1]) or _ALONE.fullmatch(spoken[0])
    return _rating(alone[1]) if alone else unanswered(text)


def _rating(value: Any) -> Read | Unread:
    if isinstance(value, str):
        found = _ALONE.fullmatch(value.strip())
        value = float(found[1]) if found else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return Unread("not a number")
    return Read(float(value)) if 0 <= value <= MOST else Unread("outside the scale")


def read_patches(response: str | None) -> Read | Unread:
    """The ids of the last list of a response, as a set: JSON, or a last line of numbers and commas.

    Ids beyond the grid are kept: they are named, and never right.
    """
    text = said(response)
    if isinstance(text, Unread):
        return text
    held = [value if isinstance(value, list) else under(value, _ID_KEYS) for value, _ in json_values(text)]
    listed = [value for value in held if isinstance(value, list)]
    if listed:
        return _ids(listed[-1])
    last = lines(text)[-1]
    last = last.rpartition(":")[2].strip()
    return _ids(last.rstrip(".").split(",")) if _IDS.fullmatch(last) else unanswered(text)


def _ids(value: list[Any]) -> Read | Unread:
    words = [str(one).strip() for one in value if not isinstance(one, bool | list | dict)]
    if len(words) != len(value) or not all(re.fullmatch(r"-?\d{1,9}", word) for word in words):
        return Unread("not a list of ids")
    return Read(frozenset(int(word) for word in words))
