"""A judge that measures: it answers points of checklists by their rules, under the same protocol as every other judge.

It reads no words of the question: a point's `rule` says what must be so. All points of a picture are answered by one
look at it, in several processes where there are many pictures. What was found out about a picture is kept by the
content of all files it rests on, so that a second run looks at none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from salon.engine.processes import cores, map_processes
from salon.errors import BadFile, BadValue, SalonError
from salon.judge.diagnosis import prompt_json, prompts_in_question
from salon.judge.measurements.pixels import PictureView, palette_match, text_contrast
from salon.judge.measurements.text import alignment, even_spacing, found_words, headline_place, hierarchy
from salon.judge.point_rules import (
    LETTERS,
    NEAR,
    RULES_VERSION,
    ColorRule,
    ContrastRule,
    LargestRule,
    MarginRule,
    OnlyRule,
    PlaceRule,
    Rule,
    RuleFinding,
    SizeRule,
    WordsRule,
    answer_from_pixels,
    contrast_finding,
    largest_finding,
    lines_of,
    margin_finding,
    place_finding,
    plain_words,
    read_rule,
    size_finding,
    words_finding,
)
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.models.cache import ResultCache
from salon.models.ocr import READER, remembered_reading
from salon.render.asks import with_asks
from salon.render.colors import contrast, difference, parse_color
from salon.render.layout import DefectKind, Element, Layout
from salon.store.pictures import read_bytes, read_picture
from salon.study import Prompt, Study
from salon.study.answers import Point
from salon.study.nouns import Signature

_PICTURES_EACH = 8
"""Pictures that are worth another process."""


class RuleTask(NamedTuple):
    """One picture, and the rules to answer about it."""

    place: Path
    """The file that is looked at."""
    rules: tuple[Rule, ...]
    kept: Path


class _PictureQuestions(NamedTuple):
    """The questions about one picture."""

    place: Path
    indices: tuple[int, ...]
    options: tuple[str, ...]
    rules: tuple[Rule, ...]
    keys: tuple[str, ...]


class MeasuringJudge:
    """`look` answers the rules of a picture; `place` says which file it looks at: the picture itself unless given."""

    def __init__(
        self,
        name: str,
        study: Study,
        points: Sequence[Point],
        *,
        method: Signature,
        look: Callable[[RuleTask], list[RuleFinding]],
        place: Callable[[Path], Path] | None = None,
        kept: ResultCache | None = None,
        processes: int | None = None,
    ) -> None:
        self.name = name
        self._rules = {(one.prompt, one.id): _point_rule(one, name) for one in points}
        told = sorted(json.dumps([*key, rule.record()], default=str) for key, rule in self._rules.items())
        data = hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self.signature = method.model_copy(update={"data": data})
        self._method, self._look, self._place = str(method), look, place or (lambda picture: picture)
        self._prompts = {item.id: item.prompt for item in study.nouns("items")}
        self._kept, self._processes = kept or ResultCache(), processes

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, answer): first what is known or cannot be looked at, then picture by picture."""
        fresh: list[_PictureQuestions] = []
        by_picture = groupby(enumerate(conversations), key=lambda one: one[1].sights[0] if one[1].sights else None)
        for _, group in by_picture:
            asked = self._asked(list(group))
            if isinstance(asked, _PictureQuestions):
                known = self._kept.many(set(asked.keys))
                if len(known) == len(set(asked.keys)):
                    yield from _replies(asked, [RuleFinding(*known[key]) for key in asked.keys], stored=True)
                else:
                    fresh.append(asked)
            else:
                yield from asked
        yield from self._fresh(fresh)

    def _fresh(self, fresh: Sequence[_PictureQuestions]) -> Iterator[tuple[int, Reply | NoReply]]:
        looks = [RuleTask(one.place, one.rules, self._kept.path) for one in fresh]
        processes = self._processes or min(cores(), -(-len(looks) // _PICTURES_EACH) or 1)
        for number, found in map_processes(self._look, looks, processes=processes):
            asked = fresh[number]
            if isinstance(found, BadFile):
                yield from _no_replies(asked.indices, found)
            elif isinstance(found, Exception):
                raise found
            else:
                self._kept.keep({key: list(one) for key, one in zip(asked.keys, found, strict=True)})
                yield from _replies(asked, found, stored=False)

    def _asked(self, group: Sequence[tuple[int, Conversation]]) -> _PictureQuestions | list[tuple[int, NoReply]]:
        indices = tuple(index for index, _ in group)
        rules = tuple(self._rule_of(one) for _, one in group)
        first = group[0][1]
        place = self._place(first.sights[0].path)
        try:
            content = hashlib.sha256(read_bytes(place)).hexdigest()
        except BadFile as error:
            return list(_no_replies(indices, error))
        keys = tuple(self._key(content, rule) for rule in rules)
        return _PictureQuestions(place, indices, first.options, rules, keys)

    def _rule_of(self, one: Conversation) -> Rule:
        prompt = self._prompts.get(one.sights[0].item) if len(one.sights) == 1 else None
        rule = self._rules.get((prompt, one.point or "")) or self._rules.get((None, one.point or ""))
        if rule is None:
            raise BadValue(
                f"{self.name} answers points of checklists",
                found="another question"
                if one.point is None
                else f"the point {one.point!r}, of which no rule is known",
                remedy="--protocol checklist, with --points FILE",
            )
        return rule

    def _key(self, content: str, rule: Rule) -> str:
        return f"{self._method}|{content}|{json.dumps(rule.record(), sort_keys=True, ensure_ascii=False)}"


def _point_rule(point: Point, judge: str) -> Rule:
    if point.rule is None:
        raise BadValue(
            f"a point that {judge} can answer has a rule",
            found="none",
            where=f"point {point.id!r}" + (f" of {point.prompt!r}" if point.prompt else ""),
            remedy='add one, such as rule = {kind = "contrast", least = 3}, or send it to another judge with --routes',
        )
    return read_rule(point.rule, where=f"rule of point {point.id!r}")


def _replies(asked: _PictureQuestions, found: Sequence[RuleFinding], *, stored: bool) -> Iterator[tuple[int, Reply]]:
    yes, no = asked.options
    for index, one in zip(asked.indices, found, strict=True):
        said: dict[str, Any] = {"why": one.why, "verdict": yes if one.holds else no}
        yield index, Reply(text=json.dumps(said, ensure_ascii=False), model="measured", stored=stored)


def _no_replies(indices: Sequence[int], error: BadFile) -> Iterator[tuple[int, NoReply]]:
    for index in indices:
        yield index, NoReply(kind="broken-image", reason=f"{error.needed}: {error.found}")


# --------------------------------------------------------------------------------------------------
# The judge that looks at pixels alone: it reads the text in a picture and measures colors, places and contrast.
# --------------------------------------------------------------------------------------------------


def pixel_judge(
    name: str, study: Study, points: Sequence[Point], *, kept: ResultCache | None = None, processes: int | None = None
) -> MeasuringJudge:
    """A judge that answers the rules of `points` from the pictures of `study`."""
    method = Signature(method="pixels", settings={"rules": RULES_VERSION, "reader": READER})
    return MeasuringJudge(name, study, points, method=method, look=look_at_pixels, kept=kept, processes=processes)


def look_at_pixels(look: RuleTask) -> list[RuleFinding]:
    """What the picture says to each rule; it is read once, if a rule is about its text."""
    picture = read_picture(look.place)
    seen = PictureView(
        picture.image, None, lambda: remembered_reading(picture.image, picture.sha256, _open_cache(look.kept))
    )
    return [answer_from_pixels(rule, seen) for rule in look.rules]


@cache
def _open_cache(path: Path) -> ResultCache:
    """One connection for each process and file."""
    return ResultCache(path)


# --------------------------------------------------------------------------------------------------
# A judge that knows how posters were made: it answers the rules of points from the layout JSON of a drawn poster.
#
# It is an oracle, exact where the record is: it sees what was set, not what can be seen. So it is what judges of pixels
# are held against, and it may stand beside a board, never on it. Only posters of the built-in houses have such a
# record,
# at layouts/NAME.json for images/NAME.png.
# --------------------------------------------------------------------------------------------------

LAYOUT_VERSION = 1
"""Of what the oracle answers; raised when the same record would be answered otherwise."""
_COLORS = ("ground", "surface", "primary", "secondary", "accent")


def layout_judge(name: str, study: Study, folder: Path, points: Sequence[Point]) -> MeasuringJudge:
    """A judge that answers the rules of `points` from the records beside the pictures of `study` in `folder`."""
    method = Signature(method="layout", settings={"rules": LAYOUT_VERSION})

    def place(picture: Path) -> Path:
        inside = picture.relative_to(folder).parts
        return folder / Path("layouts", *inside[1:]).with_suffix(".json")

    return MeasuringJudge(name, study, points, method=method, look=_look_at_layout, place=place, processes=1)


def _look_at_layout(look: RuleTask) -> list[RuleFinding]:
    try:
        record = json.loads(read_bytes(look.place))
    except ValueError as error:
        raise BadFile("the record of a poster, as JSON, is needed", found=error, where=str(look.place)) from None
    layout = Layout.parse(record, where=str(look.place))
    return [answer_from_layout(rule, layout) for rule in look.rules]


def answer_from_layout(rule: Rule, layout: Layout) -> RuleFinding:
    """What the record of a poster says to a rule."""
    match rule:
        case WordsRule():
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


def _text(rule: WordsRule, layout: Layout) -> RuleFinding:
    words = plain_words(rule.text)
    drawn = (e.lettering.text for e in _texts(layout) if e.lettering)
    return words_finding(words, found_words([words], (" ".join(plain_words(text)) for text in drawn))[0], "set")


def _only(rule: OnlyRule, layout: Layout) -> RuleFinding:
    asked = "".join(word for text in rule.texts for word in plain_words(text))
    drawn = [word for e in _texts(layout) if e.lettering for word in plain_words(e.lettering.text)]
    others = [word for word in drawn if len(word) >= LETTERS and word not in asked]
    return RuleFinding(not others, f"other words: {', '.join(others)}" if others else "no other words")


def _color(rule: ColorRule, layout: Layout) -> RuleFinding:
    parts = ("ground",) if rule.leads else _COLORS
    away = {part: difference(layout.palette[part], parse_color(rule.color)) for part in parts if part in layout.palette}
    part, apart = min(away.items(), key=lambda one: one[1])
    return RuleFinding(apart < NEAR, f"{part} is {apart:.3f} away from {rule.color}, {NEAR:g} allowed")


def _place(rule: PlaceRule, layout: Layout) -> RuleFinding:
    element = _element_of(rule.text, layout)
    if element is None:
        return RuleFinding(False, f"“{rule.text}” is not set")
    x, y = element.box.middle
    return place_finding(rule.at, x / layout.width, y / layout.height)


def _largest(rule: LargestRule, layout: Layout) -> RuleFinding:
    own = _element_of(rule.text, layout)
    others = [height for e in _texts(layout) if e is not own for height in _heights(e)]
    return largest_finding(_heights(own), others, rule.times)


def _size(rule: SizeRule, layout: Layout) -> RuleFinding:
    return size_finding(_heights(_element_of(rule.text, layout)), layout.height, rule.least)


def _contrast(rule: ContrastRule, layout: Layout) -> RuleFinding:
    """As pixels have it: what three quarters of the letters reach."""
    inked = [e for e in _texts(layout) if e.lettering and e.color and e.over]
    values = np.array([contrast(e.color, e.over) for e in inked if e.color and e.over] or [1.0])
    letters = np.array([max(1, len(e.lettering.text)) for e in inked if e.lettering] or [1], float)
    order = np.argsort(values)
    reached = np.cumsum(letters[order]) / letters.sum()
    return contrast_finding(float(values[order][np.searchsorted(reached, 0.25)]), rule.least)


def _margin(rule: MarginRule, layout: Layout) -> RuleFinding:
    boxes = [element.box for text in rule.texts if (element := _element_of(text, layout))]
    edges = [min(box.x, box.y, layout.width - box.right, layout.height - box.bottom) for box in boxes]
    return margin_finding(edges, min(layout.width, layout.height), rule.least)


# --------------------------------------------------------------------------------------------------
# Diagnosing without a model: flaws that rules find in pixels, or that the record of a drawn poster tells.
#
# Both answer the question of `diagnose` as a VLM would, with the picture and the prompts in it and nothing else, and
# both
# revise the prompt by asks (`salon.render.asks`): one sentence for each flaw found, which the built-in houses heed.
#
# By pixels eight of the thirteen flaws can be found. Each has a measurement (`salon.judge.measurements`) and a bound.
# The
# bounds were set once, on clean posters of `proof` and posters with one planted flaw (docs/methods/selection.md).
# The rest are not looked for: no rule here finds them. By layout all are known: an oracle, the most that looking gives.
# --------------------------------------------------------------------------------------------------

BOUNDS_VERSION = 1
"""Of the bounds; raised when the same picture would be diagnosed otherwise."""
PICTURES_PER_PROCESS = 8
"""Pictures that are worth another process."""


class Bound(NamedTuple):
    """A measurement and the least value that is no flaw."""

    about: str
    measure: Callable[[PictureView], float | None]
    least: float
    words: str
    """What to say, with {value} in it."""


BOUNDS: dict[DefectKind, Bound] = {
    "low-contrast": Bound("contrast", text_contrast, 4.5, "The letters stand out from the ground by {value:.1f} to 1."),
    "broken-hierarchy": Bound("hierarchy", hierarchy, 1.2, "The largest line is 2^{value:.1f} times the others."),
    "misalignment": Bound("layout", alignment, 0.65, "Few blocks of text share an edge ({value:.2f} of 1)."),
    "bad-kerning": Bound("typography", even_spacing, -0.075, "Gaps between the headline's letters vary: {value:.2f}."),
    "wrong-color": Bound("color", palette_match, 0.8, "The colors are {value:.2f} of 1 near to those named."),
    "wrong-position": Bound("layout", headline_place, 0.84, "The headline is not where it was asked for."),
}
"""Flaw to the measurement that finds it."""
ABOUT: dict[DefectKind, str] = {
    "misspelling": "text", "missing-text": "text", "clashing-colors": "color", "wrong-font-pairing": "typography",
    "off-mood-style": "style and mood", "extra-element": "content", "crowding": "layout",
    **{kind: bound.about for kind, bound in BOUNDS.items()},
}  # fmt: skip
Flaw = tuple[DefectKind, str]
"""A flaw, and the sentence that says how it shows."""


class MeasuredDiagnosis:
    """Answers as a VLM; `look` finds the flaws of one picture."""

    def __init__(
        self, name: str, look: Callable[[tuple[Path, Prompt]], list[Flaw]], method: str, processes: int | None = None
    ) -> None:
        self.name, self._look, self._processes = name, look, processes
        settings = (
            {"bounds": BOUNDS_VERSION, "reader": READER} if look is flaws_in_pixels else {"bounds": BOUNDS_VERSION}
        )
        self.signature = Signature(method=method, settings=settings)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, reply) as they are found; a picture that cannot be looked at gets none."""
        asked = list(conversations)
        tasks = [(one.sights[0].path, prompts_in_question(one)[0]) for one in asked]
        most = self._processes or cores()
        count = max(1, min(most, len(tasks) // PICTURES_PER_PROCESS))
        for index, found in map_processes(self._look, tasks, processes=count):
            if isinstance(found, SalonError):
                yield index, NoReply(kind="broken-image", reason=str(found))
            elif isinstance(found, Exception):
                raise found
            else:
                yield index, Reply(text=diagnosis_answer(prompts_in_question(asked[index])[-1], found))


def pixel_diagnosis(name: str, processes: int | None = None) -> MeasuredDiagnosis:
    """Looks at pixels."""
    return MeasuredDiagnosis(name, flaws_in_pixels, "diagnosis by pixels", processes)


def layout_diagnosis(name: str) -> MeasuredDiagnosis:
    """Reads the record of how the poster was drawn."""
    return MeasuredDiagnosis(name, flaws_in_layout, "diagnosis by layout", 1)


def diagnosis_answer(prompt: Prompt, found: Sequence[Flaw]) -> str:
    """The JSON object that `diagnose` reads: remarks, and the prompt with an ask for each flaw."""
    remarks = [{"about": ABOUT[kind], "finding": words} for kind, words in found]
    revised = with_asks(prompt, [kind for kind, _ in found])
    return json.dumps({"diagnosis": remarks, "prompt": json.loads(prompt_json(revised))}, ensure_ascii=False)


# -- looking ---------------------------------------------------------------------------------------------------------


def flaws_in_pixels(task: tuple[Path, Prompt]) -> list[Flaw]:
    """The flaws that a picture shows, by rule."""
    path, prompt = task
    picture = read_picture(path)
    seen = PictureView(
        picture.image, prompt, lambda: remembered_reading(picture.image, picture.sha256, _reading_cache())
    )
    return [*_measured_flaws(seen), *_text_flaws(seen)]


def _measured_flaws(seen: PictureView) -> Iterator[Flaw]:
    for kind, bound in BOUNDS.items():
        value = bound.measure(seen)
        if value is not None and value < bound.least:
            yield kind, bound.words.format(value=abs(value))


def _text_flaws(seen: PictureView) -> Iterator[Flaw]:
    """A text of which no line is found is missing; one of which lines are found, but not all words, is misspelled."""
    missing, wrong = [], []
    for text in seen.asked.values():
        words = plain_words(text)
        there = found_words([words], (" ".join(plain_words(line.text)) for line in seen.lines))[0]
        if all(there):
            continue
        if lines_of(text, seen.lines):
            wrong += [word for word, is_there in zip(words, there) if not is_there]
        else:
            missing.append(text)
    if wrong:
        yield "misspelling", f"Not read as given: {', '.join(wrong[:8])}."
    if missing:
        yield "missing-text", f"Not found: {'; '.join(missing[:4])}."


@cache
def _reading_cache() -> ResultCache:
    """One connection for each process."""
    return ResultCache()


def flaws_in_layout(task: tuple[Path, Prompt]) -> list[Flaw]:
    """The flaws that were planted, by the record at layouts/NAME.json beside images/NAME.png."""
    path, _ = task
    record = path.parent.parent.parent / "layouts" / path.parent.name / f"{path.stem}.json"
    try:
        layout = Layout.parse(json.loads(read_bytes(record)), where=str(record))
    except ValueError as error:
        raise BadFile("the record of a poster, as JSON, is needed", found=error, where=str(record)) from None
    return [(defect.kind, f"{defect.kind}: {defect.detail}") for defect in layout.defects]
