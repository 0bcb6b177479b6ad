"""A judge that knows how posters were made: it answers the rules of points from the layout JSON of a drawn poster.

It is an oracle, exact where the record is: it sees what was set, not what can be seen. So it is what judges of pixels
are held against, and it may stand beside a board, never on it. Only posters of the built-in houses have such a record,
at layouts/NAME.json for images/NAME.png.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from salon.errors import BadFile
from salon.judge.measurements.words import found_words
from salon.judge.measuring_judge import Look, MeasuringJudge
from salon.judge.pixel_rules import (
    LETTERS,
    NEAR,
    ColorRule,
    ContrastRule,
    Finding,
    LargestRule,
    MarginRule,
    OnlyRule,
    PlaceRule,
    Rule,
    SizeRule,
    TextRule,
    contrast_finding,
    largest_finding,
    margin_finding,
    place_finding,
    plain_words,
    size_finding,
    words_finding,
)
from salon.render.colors import contrast, difference, parse_color
from salon.render.layout import Element, Layout
from salon.store.pictures import read_bytes
from salon.study import Study
from salon.study.point import Point
from salon.study.signature import Signature

VERSION = 1
"""Of what the oracle answers; raised when the same record would be answered otherwise."""
_COLORS = ("ground", "surface", "primary", "secondary", "accent")


def layout_judge(name: str, study: Study, folder: Path, points: Sequence[Point]) -> MeasuringJudge:
    """A judge that answers the rules of `points` from the records beside the pictures of `study` in `folder`."""
    method = Signature(method="layout", settings={"rules": VERSION})

    def place(picture: Path) -> Path:
        inside = picture.relative_to(folder).parts
        return folder / Path("layouts", *inside[1:]).with_suffix(".json")

    return MeasuringJudge(name, study, points, method=method, look=_look, place=place, processes=1)


def _look(look: Look) -> list[Finding]:
    try:
        record = json.loads(read_bytes(look.place))
    except ValueError as error:
        raise BadFile("the record of a poster, as JSON, is needed", found=error, where=str(look.place)) from None
    layout = Layout.parse(record, where=str(look.place))
    return [by_layout(rule, layout) for rule in look.rules]


def by_layout(rule: Rule, layout: Layout) -> Finding:
    """What the record of a poster says to a rule."""
    match rule:
        case TextRule():
            return _text(rule, layout)
        case OnlyRule():
            return _only(rule, layout)
        case ColorRule():
            return _color(rule, layout)
        case PlaceRule():
            return _place(rule, layout)
        case LargestRule():
            return _largest(rule, layout)
        case SizeRule():
            return _size(rule, layout)
        case ContrastRule():
            return _contrast(rule, layout)
        case MarginRule():
            return _margin(rule, layout)


def _texts(layout: Layout) -> list[Element]:
    return [element for element in layout.elements if element.lettering is not None]


def _element_of(text: str, layout: Layout) -> Element | None:
    """The text element that was asked to say `text`, whatever it says."""
    wanted = plain_words(text)
    return next((e for e in _texts(layout) if e.lettering and plain_words(e.lettering.asked or "") == wanted), None)


def _heights(element: Element | None) -> list[float]:
    if element is None or element.lettering is None:
        return []
    return [line.box.height for line in element.lettering.lines]


def _text(rule: TextRule, layout: Layout) -> Finding:
    words = plain_words(rule.text)
    drawn = (e.lettering.text for e in _texts(layout) if e.lettering)
    return words_finding(words, found_words([words], (" ".join(plain_words(text)) for text in drawn))[0], "set")


def _only(rule: OnlyRule, layout: Layout) -> Finding:
    asked = "".join(word for text in rule.texts for word in plain_words(text))
    drawn = [word for e in _texts(layout) if e.lettering for word in plain_words(e.lettering.text)]
    others = [word for word in drawn if len(word) >= LETTERS and word not in asked]
    return Finding(not others, f"other words: {', '.join(others)}" if others else "no other words")


def _color(rule: ColorRule, layout: Layout) -> Finding:
    parts = ("ground",) if rule.leads else _COLORS
    away = {part: difference(layout.palette[part], parse_color(rule.color)) for part in parts if part in layout.palette}
    part, apart = min(away.items(), key=lambda one: one[1])
    return Finding(apart < NEAR, f"{part} is {apart:.3f} away from {rule.color}, {NEAR:g} allowed")


def _place(rule: PlaceRule, layout: Layout) -> Finding:
    element = _element_of(rule.text, layout)
    if element is None:
        return Finding(False, f"“{rule.text}” is not set")
    x, y = element.box.middle
    return place_finding(rule.at, x / layout.width, y / layout.height)


def _largest(rule: LargestRule, layout: Layout) -> Finding:
    own = _element_of(rule.text, layout)
    others = [height for e in _texts(layout) if e is not own for height in _heights(e)]
    return largest_finding(_heights(own), others, rule.times)


def _size(rule: SizeRule, layout: Layout) -> Finding:
    return size_finding(_heights(_element_of(rule.text, layout)), layout.height, rule.least)


def _contrast(rule: ContrastRule, layout: Layout) -> Finding:
    """As pixels have it: what three quarters of the letters reach."""
    inked = [e for e in _texts(layout) if e.lettering and e.color and e.over]
    values = np.array([contrast(e.color, e.over) for e in inked if e.color and e.over] or [1.0])
    letters = np.array([max(1, len(e.lettering.text)) for e in inked if e.lettering] or [1], float)
    order = np.argsort(values)
    reached = np.cumsum(letters[order]) / letters.sum()
    return contrast_finding(float(values[order][np.searchsorted(reached, 0.25)]), rule.least)


def _margin(rule: MarginRule, layout: Layout) -> Finding:
    boxes = [element.box for text in rule.texts if (element := _element_of(text, layout))]
    edges = [min(box.x, box.y, layout.width - box.right, layout.height - box.bottom) for box in boxes]
    return margin_finding(edges, min(layout.width, layout.height), rule.least)
