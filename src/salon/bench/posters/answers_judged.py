"""What a judge said of an answer or a poster: yes or no for a point, a style, a list of attributes."""

from __future__ import annotations

import re

from salon.bench.posters.answers_choice import read_label
from salon.bench.posters.answers_said import NO_OPTION, Read, Unread, bare, json_values, lines, said, under
from salon.bench.posters.answers_text import read_texts
from salon.bench.posters.vocabulary import ATTRIBUTES, STYLES, folded

_FIRST = re.compile(r"(yes|no)(?= ?[.,;:!)*\"'’”\-–—]|$)", re.IGNORECASE)  # not "no picture", "yes or no?"


def read_yes(text: str) -> Read | Unread:
    """True or False: a text that begins or ends with yes or no; another word, or an error's text, is unread."""
    body = said(text)
    if isinstance(body, Unread):
        return body
    keyed = [found for value, _ in json_values(body) if (found := under(value, ("answer", "verdict"))) is not None]
    spoken = [str(keyed[-1])] if keyed else lines(body)
    said_words = {found[1].lower() for line in (spoken[0], spoken[-1]) if (found := _FIRST.match(bare(line)))}
    return Read(said_words == {"yes"}) if len(said_words) == 1 else NO_OPTION


def read_style(text: str) -> Read | Unread:
    """The style a judge names."""
    return read_label(text, STYLES)


def read_attributes(text: str) -> Read | Unread:
    """The attributes of the vocabulary that a judge lists; words beyond it are left out."""
    body = read_texts(text)
    if isinstance(body, Unread):
        return body
    words = {folded(part.strip(" .")) for line in body.value for part in re.split(r"[,;:]", line)}
    named = frozenset(one for one in ATTRIBUTES if folded(one) in words)
    return Read(named) if named else NO_OPTION
