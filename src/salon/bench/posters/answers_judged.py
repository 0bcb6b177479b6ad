"""What a judge said of an answer or a poster: yes or no for a point, a style, a list of attributes."""

from __future__ import annotations

import re
from typing import Any

from salon.bench.posters.answers_choice import read_label
from salon.bench.posters.answers_lists import read_attributes
from salon.bench.posters.answers_said import (
    NO_OPTION,
    Read,
    Unread,
    bare,
    explicit,
    json_values,
    lines,
    plainly_said,
    under,
)
from salon.bench.posters.vocabulary import STYLES

__all__ = ["read_attributes", "read_style", "read_yes"]

_FIRST = re.compile(
    r"[^\w]{0,6}(yes|no|是|否)(?= ?[.,;:!)\]*\"'\-]|$)", re.IGNORECASE
)  # not "no picture", "yes or no?"
_SENTENCE = re.compile(r"[.!?] (yes|no)(?=[.!]|$)", re.IGNORECASE)
_KEYS = ("answer", "verdict", "final_answer", "result", "response", "match", "matches", "contains", "judgment")
_MEANS = {"yes": True, "true": True, "是": True, "no": False, "false": False, "否": False}


def read_yes(text: str) -> Read | Unread:
    """True or False: a text that begins or ends with yes or no; another word, or an error's text, is unread."""
    body = plainly_said(text)
    if isinstance(body, Unread):
        return body
    values = json_values(body)
    keyed = [held for value, _ in values if (held := under(value, _KEYS)) is not None]
    if keyed:
        return _verdict(keyed[-1])
    if len(values) == 1 and isinstance(values[0][0], list) and len(values[0][0]) == 1:
        return _verdict(values[0][0][0])
    stated = sorted(explicit(body), key=lambda statement: statement[1])
    spoken = [stated[-1][0]] if stated else lines(body)
    words = {match[1].lower() for line in (spoken[0], spoken[-1]) if (match := _FIRST.match(bare(line)))}
    words |= {word.lower() for line in (spoken[0], spoken[-1]) for word in _SENTENCE.findall(line[-400:])}
    verdicts = {_MEANS[word] for word in words}
    return Read(verdicts.pop()) if len(verdicts) == 1 else NO_OPTION


def _verdict(value: Any) -> Read | Unread:
    if isinstance(value, bool):
        return Read(value)
    match = _FIRST.match(bare(value)) if isinstance(value, str) else None
    word = match[1].lower() if match else bare(value).lower() if isinstance(value, str) else ""
    return Read(_MEANS[word]) if word in _MEANS else NO_OPTION


def read_style(text: str) -> Read | Unread:
    """The style a judge names."""
    return read_label(text, STYLES)
