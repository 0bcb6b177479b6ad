"""Judges without a model: they answer points of checklists by rule, or say what is wrong with a picture.

A point's `rule` says what must be so; the words of the question are not read. All points of a picture are answered
together, in several processes where there are many pictures. Findings are kept by the content of the files they depend
on, so a second run looks at nothing again.

`pixel_judge` reads the text in a picture and measures colors, places and contrast. `layout_judge` reads the layout that
was written when a built-in generator drew the poster (layouts/NAME.json for images/NAME.png). It is an oracle: exact,
and about what was set, not about what can be seen. It may stand beside a board, never on it.

Diagnoses answer the question of `salon.judge.diagnosis` as a VLM would, and revise the prompt by one ask for each flaw
(`salon.render.brief_text`). By pixels eight of the thirteen flaws can be found; each has a measurement and a
bound, set once
on clean posters of `proof` and posters with one planted flaw (docs/methods/loop.md). By layout all are known.
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

from salon.engine import cores, map_processes
from salon.errors import BadFile, BadValue, SalonError
from salon.judge.diagnosis import prompt_json, prompts_in_question
from salon.judge.measurements.pixels import PictureView, palette_match, text_contrast
from salon.judge.measurements.text import alignment, even_spacing, found_words, headline_place, hierarchy
from salon.judge.point_rules import (
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
    only_finding,
    place_finding,
    plain_words,
    read_rule,
    size_finding,
    words_finding,
)
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.models import READER, ResultCache, remembered_reading
from salon.render import DefectKind, Element, Layout, contrast, difference, parse_color, with_asks
from salon.store import read_bytes, read_picture
from salon.study import Point, Prompt, Signature, Study

PICTURES_PER_PROCESS = 8
"""Pictures that are worth another process."""


class RuleTask(NamedTuple):
    """One picture, and the rules to answer about it."""

    place: Path
    """The file that is looked at."""
    rules: tuple[Rule, ...]
    cache: Path


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
        cache: ResultCache | None = None,
        processes: int | None = None,
    ) -> None:
        self.name = name
        self._rules = {(point.prompt, point.id): _point_rule(point, name) for point in points}
        records = sorted(json.dumps([*key, rule.record()], default=str) for key, rule in self._rules.items())
        data = hashlib.sha256("\n".join(records).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self.signature = method.model_copy(update={"data": data})
        self._method, self._look, self._place = str(method), look, place or (lambda picture: picture)
        self._prompts = {item.id: item.prompt for item in study.nouns("items")}
        self._cache, self._processes = cache or ResultCache(), processes

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, answer): first what is known or cannot be looked at, then picture by picture."""
        fresh: list[_PictureQuestions] = []
        by_picture = groupby(
            enumerate(conversations), key=lambda numbered: numbered[1].sights[0] if numbered[1].sights else None
        )
        for _, group in by_picture:
            questions = self._asked(list(group))
            if isinstance(questions, _PictureQuestions):
                findings = self._cache.many(set(questions.keys))
                if len(findings) == len(set(questions.keys)):
                    yield from _replies(questions, [RuleFinding(*findings[key]) for key in questions.keys], stored=True)
                else:
                    fresh.append(questions)
            else:
                yield from questions
        yield from self._fresh(fresh)

    def _fresh(self, fresh: Sequence[_PictureQuestions]) -> Iterator[tuple[int, Reply | NoReply]]:
        looks = [RuleTask(item.place, item.rules, self._cache.path) for item in fresh]
        processes = self._processes or min(cores(), -(-len(looks) // PICTURES_PER_PROCESS) or 1)
        for number, findings in map_processes(self._look, looks, processes=processes):
            questions = fresh[number]
            if isinstance(findings, BadFile):
                yield from _no_replies(questions.indices, findings)
            elif isinstance(findings, Exception):
                raise findings
            else:
                self._cache.keep({key: list(item) for key, item in zip(questions.keys, findings, strict=True)})
                yield from _replies(questions, findings, stored=False)

    def _asked(self, group: Sequence[tuple[int, Conversation]]) -> _PictureQuestions | list[tuple[int, NoReply]]:
        indices = tuple(index for index, _ in group)
        rules = tuple(self._rule_of(conversation) for _, conversation in group)
        first = group[0][1]
        place = self._place(first.sights[0].path)
        try:
            content = hashlib.sha256(read_bytes(place)).hexdigest()
        except BadFile as error:
            return list(_no_replies(indices, error))
        keys = tuple(self._key(content, rule) for rule in rules)
        return _PictureQuestions(place, indices, first.options, rules, keys)

    def _rule_of(self, conversation: Conversation) -> Rule:
        prompt = self._prompts.get(conversation.sights[0].item) if len(conversation.sights) == 1 else None
        rule = self._rules.get((prompt, conversation.point or "")) or self._rules.get((None, conversation.point or ""))
        if rule is None:
            raise BadValue(
                f"{self.name} answers points of checklists",
                found="another question"
                if conversation.point is None
                else f"the point {conversation.point!r}, of which no rule is known",
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


def _replies(
    questions: _PictureQuestions, findings: Sequence[RuleFinding], *, stored: bool
) -> Iterator[tuple[int, Reply]]:
    yes, no = questions.options
    for index, finding in zip(questions.indices, findings, strict=True):
        record: dict[str, Any] = {"why": finding.why, "verdict": yes if finding.holds else no}
        yield index, Reply(text=json.dumps(record, ensure_ascii=False), model="measured", stored=stored)


def _no_replies(indices: Sequence[int], error: BadFile) -> Iterator[tuple[int, NoReply]]:
    for index in indices:
        yield index, NoReply(kind="broken-image", reason=f"{error.needed}: {error.found}")


# -- by pixels ---------------------------------------------------------------------------------------------------------


def pixel_judge(
    name: str, study: Study, points: Sequence[Point], *, cache: ResultCache | None = None, processes: int | None = None
) -> MeasuringJudge:
    """A judge that answers the rules of `points` from the pictures of `study`."""
    method = Signature(method="pixels", settings={"rules": RULES_VERSION, "reader": READER})
    return MeasuringJudge(name, study, points, method=method, look=look_at_pixels, cache=cache, processes=processes)


def look_at_pixels(look: RuleTask) -> list[RuleFinding]:
    """What the picture says to each rule; it is read once, if a rule is about its text."""
    picture = read_picture(look.place)
    view = PictureView(
        picture.image, None, lambda: remembered_reading(picture.image, picture.sha256, _open_cache(look.cache))
    )
    return [answer_from_pixels(rule, view) for rule in look.rules]


@cache
def _open_cache(path: Path | None = None) -> ResultCache:
    """One connection for each process and file."""
    return ResultCache(path)


# -- by the layout of a drawn poster -----------------------------------------------------------------------------------

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
    texts = [element for element in layout.elements if element.lettering is not None]
    drawn_texts = [element.lettering.text for element in texts if element.lettering]
    match rule:
        case WordsRule():
            return words_finding(rule.text, drawn_texts, "set")
        case OnlyRule():
            return only_finding(rule.texts, drawn_texts)
        case ColorRule():
            color, parts = parse_color(rule.color), ("ground",) if rule.leads else _COLORS
            away = {part: difference(layout.palette[part], color) for part in parts if part in layout.palette}
            part, apart = min(away.items(), key=lambda distance: distance[1])
            return RuleFinding(apart < NEAR, f"{part} is {apart:.3f} away from {rule.color}, {NEAR:g} allowed")
        case PlaceRule():
            element = _element_of(rule.text, texts)
            if element is None:
                return RuleFinding(False, f"“{rule.text}” is not set")
            x, y = element.box.middle
            return place_finding(rule.at, x / layout.width, y / layout.height)
        case LargestRule():
            element = _element_of(rule.text, texts)
            other_heights = [height for other in texts if other is not element for height in _heights(other)]
            return largest_finding(_heights(element), other_heights, rule.times)
        case SizeRule():
            return size_finding(_heights(_element_of(rule.text, texts)), layout.height, rule.least)
        case ContrastRule():  # as pixels have it: what three quarters of the letters reach
            inked = [e for e in texts if e.lettering and e.color and e.over]
            values = np.array([contrast(e.color, e.over) for e in inked if e.color and e.over] or [1.0])
            letters = np.array([max(1, len(e.lettering.text)) for e in inked if e.lettering] or [1], float)
            order = np.argsort(values)
            reached = np.cumsum(letters[order]) / letters.sum()
            return contrast_finding(float(values[order][np.searchsorted(reached, 0.25)]), rule.least)
        case MarginRule():
            boxes = [element.box for text in rule.texts if (element := _element_of(text, texts))]
            edges = [min(box.x, box.y, layout.width - box.right, layout.height - box.bottom) for box in boxes]
            return margin_finding(edges, min(layout.width, layout.height), rule.least)


def _element_of(text: str, texts: Sequence[Element]) -> Element | None:
    """The text element that was asked to say `text`, whatever it says."""
    words = plain_words(text)
    return next((e for e in texts if e.lettering and plain_words(e.lettering.asked or "") == words), None)


def _heights(element: Element | None) -> list[float]:
    if element is None or element.lettering is None:
        return []
    return [line.box.height for line in element.lettering.lines]


# -- diagnoses ---------------------------------------------------------------------------------------------------------

BOUNDS_VERSION = 1
"""Of the bounds; raised when the same picture would be diagnosed otherwise."""


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
        questions = list(conversations)
        tasks = [(question.sights[0].path, prompts_in_question(question)[0]) for question in questions]
        most = self._processes or cores()
        count = max(1, min(most, len(tasks) // PICTURES_PER_PROCESS))
        for index, flaws in map_processes(self._look, tasks, processes=count):
            if isinstance(flaws, SalonError):
                yield index, NoReply(kind="broken-image", reason=str(flaws))
            elif isinstance(flaws, Exception):
                raise flaws
            else:
                yield index, Reply(text=diagnosis_answer(prompts_in_question(questions[index])[-1], flaws))


def pixel_diagnosis(name: str, processes: int | None = None) -> MeasuredDiagnosis:
    """Looks at pixels."""
    return MeasuredDiagnosis(name, flaws_in_pixels, "diagnosis by pixels", processes)


def layout_diagnosis(name: str) -> MeasuredDiagnosis:
    """Reads the record of how the poster was drawn."""
    return MeasuredDiagnosis(name, flaws_in_layout, "diagnosis by layout", 1)


def diagnosis_answer(prompt: Prompt, flaws: Sequence[Flaw]) -> str:
    """The JSON object that `read_diagnosis` reads: remarks, and the prompt with an ask for each flaw."""
    remarks = [{"about": ABOUT[kind], "finding": words} for kind, words in flaws]
    revised = with_asks(prompt, [kind for kind, _ in flaws])
    return json.dumps({"diagnosis": remarks, "prompt": json.loads(prompt_json(revised))}, ensure_ascii=False)


# -- looking ---------------------------------------------------------------------------------------------------------


def flaws_in_pixels(task: tuple[Path, Prompt]) -> list[Flaw]:
    """The flaws that a picture shows, by rule."""
    path, prompt = task
    picture = read_picture(path)
    view = PictureView(picture.image, prompt, lambda: remembered_reading(picture.image, picture.sha256, _open_cache()))
    values = [(kind, bound, bound.measure(view)) for kind, bound in BOUNDS.items()]
    measured = [
        (kind, bound.words.format(value=abs(value)))
        for kind, bound, value in values
        if value is not None and value < bound.least
    ]
    return [*measured, *_text_flaws(view)]


def _text_flaws(view: PictureView) -> Iterator[Flaw]:
    """A text of which no line is found is missing; one of which lines are found, but not all words, is misspelled."""
    missing, wrong = [], []
    for text in view.asked.values():
        words = plain_words(text)
        there = found_words([words], (" ".join(plain_words(line.text)) for line in view.lines))[0]
        if all(there):
            continue
        if lines_of(text, view.lines):
            wrong += [word for word, is_there in zip(words, there) if not is_there]
        else:
            missing.append(text)
    if wrong:
        yield "misspelling", f"Not read as given: {', '.join(wrong[:8])}."
    if missing:
        yield "missing-text", f"Not found: {'; '.join(missing[:4])}."


def flaws_in_layout(task: tuple[Path, Prompt]) -> list[Flaw]:
    """The flaws that were planted, by the record at layouts/NAME.json beside images/NAME.png."""
    path, _ = task
    record = path.parent.parent.parent / "layouts" / path.parent.name / f"{path.stem}.json"
    try:
        layout = Layout.parse(json.loads(read_bytes(record)), where=str(record))
    except ValueError as error:
        raise BadFile("the record of a poster, as JSON, is needed", found=error, where=str(record)) from None
    return [(defect.kind, f"{defect.kind}: {defect.detail}") for defect in layout.defects]
