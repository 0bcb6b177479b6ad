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

A run ends as soon as its share of unreadable answers is sure to be above `most_unread`: a judge that answers in the
wrong form would otherwise be counted as one that says no to everything. Nothing of such a run is written, the replies
stay in the store as evidence, and the error quotes one of them. A stored reply that could not be read is put aside and
its question asked again by the next run, unless `keep_unread`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from salon.calls import CallsStopped
from salon.errors import shorten
from salon.judge.messages import KEY
from salon.judge.protocol import JudgeQuestion, JudgeSettings, JudgeVerdict, chance_of_a
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.study import Noun, Scale, Study, strip_reasoning

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
class ParsedAnswer:
    """A verdict that was read."""

    value: Any


@dataclass(frozen=True, slots=True)
class UnparsedAnswer:
    """No verdict, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Statement:
    value: Any
    start: int
    end: int
    """Where it stands in the text."""


Menu = Callable[[Any], ParsedAnswer | UnparsedAnswer]


def read_verdict(text: str, key: str, menu: Menu, *, cut: bool = False) -> ParsedAnswer | UnparsedAnswer:
    """The last verdict in `text`, if `menu` has it. `cut` says that the token limit ended the text."""
    body = _answer_part(text)
    if isinstance(body, UnparsedAnswer):
        return body
    stated = [*_objects(body, lambda record: _under(record, key)), *_lines(body, key)]
    lines = [bare for line in body.splitlines() if (bare := _bare(line))]
    last_line = _Statement(lines[-1], body.rfind(lines[-1]), len(body)) if lines else None
    if last_line is not None and isinstance(menu(last_line.value), ParsedAnswer):
        stated.append(last_line)
    if not stated:
        return UnparsedAnswer("breaks off" if cut or _is_open(body) else "no verdict")
    last = max(stated, key=lambda statement: statement.end)
    if any(
        (_bare(body[statement.end : last.start]).lower() == "or") and statement.value != last.value
        for statement in stated
    ):
        return UnparsedAnswer("options, and none chosen")
    return _bind(body, last, menu, cut=cut)


def read_verdicts(
    text: str, menus: dict[str, Menu], titles: dict[str, str], *, cut: bool = False
) -> dict[str, ParsedAnswer | UnparsedAnswer]:
    """The last object in `text` that speaks of any of these criteria, read for each of them.

    `titles` are the criteria's names by id: a judge may answer under either, in any case, where that is unambiguous.
    """
    body = _answer_part(text)
    if isinstance(body, UnparsedAnswer):
        return dict.fromkeys(menus, body)
    keys = _criterion_keys(menus, titles)
    stated = list(_objects(body, lambda record: _by_criterion(record, keys)))
    if not stated:
        reason = "breaks off" if cut or _is_open(body) else "no verdict"
        return dict.fromkeys(menus, UnparsedAnswer(reason))
    last = stated[-1]
    if isinstance(last.value, UnparsedAnswer):
        return dict.fromkeys(menus, last.value)
    missing = UnparsedAnswer("criterion not answered")
    return {
        id: _bind(body, replace(last, value=last.value[id]), menu, cut=cut) if id in last.value else missing
        for id, menu in menus.items()
    }


def read_object(text: str, keys: Sequence[str], menu: Menu, *, cut: bool = False) -> ParsedAnswer | UnparsedAnswer:
    """The last object in `text` that has one of `keys`, if `menu` takes it."""
    body = _answer_part(text)
    if isinstance(body, UnparsedAnswer):
        return body
    stated = list(_objects(body, lambda record: record if set(keys) & record.keys() else None))
    if not stated:
        return UnparsedAnswer("breaks off" if cut or _is_open(body) else "no answer")
    return _bind(body, stated[-1], menu, cut=cut)


def _criterion_keys(menus: dict[str, Menu], titles: dict[str, str]) -> Callable[[str], str | None]:
    """From a key of an answer to the criterion it means: its id; else the one criterion it can mean."""
    folded: dict[str, set[str]] = {}
    for id in menus:
        for name in (id, titles.get(id, id)):
            folded.setdefault(_fold_name(name), set()).add(id)

    def criterion(key: str) -> str | None:
        if key in menus:
            return key
        candidates = folded.get(_fold_name(key), set())
        return next(iter(candidates)) if len(candidates) == 1 else None

    return criterion


def _fold_name(name: str) -> str:
    return " ".join(name.lower().split())


def option_menu(options: Sequence[str]) -> Menu:
    """Exactly these words, in any case; `Image A` is A. Letters that only look alike are not on the menu."""

    def read(value: Any) -> ParsedAnswer | UnparsedAnswer:
        if not isinstance(value, str):
            return UnparsedAnswer("not an option")
        word = " ".join(value.strip(_MARKS).split())
        if not word.isascii():
            return UnparsedAnswer("not an option")
        word = re.sub(r"^image (?=[a-z]$)", "", word.lower())
        matches = [option for option in options if option.lower() == word]
        return ParsedAnswer(matches[0]) if matches else UnparsedAnswer("not an option")

    return read


def number_menu(scale: Scale) -> Menu:
    """A number of the scale: anywhere between its ends, on an ordinal scale one of its levels. Never cut to fit."""

    def read(value: Any) -> ParsedAnswer | UnparsedAnswer:
        if isinstance(value, str) and _NUMBER.fullmatch(value.strip(_MARKS.replace(".", ""))):
            value = float(value.strip(_MARKS.replace(".", "")))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return UnparsedAnswer("not a number")
        if not scale.low <= value <= scale.high:
            return UnparsedAnswer("outside the scale")
        if scale.kind == "ordinal" and scale.levels and value not in scale.levels:
            return UnparsedAnswer("between levels")
        return ParsedAnswer(float(value))

    return read


# -- where verdicts stand --------------------------------------------------------------------------------------------


def _answer_part(text: str) -> str | UnparsedAnswer:
    """The text without its thoughts."""
    answer = strip_reasoning(text)
    if answer is None:
        return UnparsedAnswer("thought without an answer")
    text = answer[-_LONGEST:]
    if text.count("{") > _MOST_BRACES:
        return UnparsedAnswer("too much JSON")
    return text if _bare(text) else UnparsedAnswer("empty")


def _objects(text: str, select: Callable[[dict[str, Any]], Any]) -> Iterator[_Statement]:
    """The JSON objects in `text` that `select` takes, none of them inside another."""
    for record, start, end in _whole_objects(text):
        value = select(record)
        if value is not None:
            yield _Statement(value, start, end)


def _whole_objects(text: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Every JSON object that is not inside another, with where it begins and ends."""
    at = text.find("{")
    while at >= 0:
        try:
            record, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield record, at, end
        at = text.find("{", end)


def _under(record: dict[str, Any], key: str, depth: int = 0) -> Any:
    """What stands under `key`: in the object itself, or else in those inside it, if they agree."""
    own = [value for name, value in record.items() if name.strip().lower() == key]
    if own:
        return UnparsedAnswer("empty") if own[-1] is None else own[-1]
    if depth == _DEEPEST:
        return None
    inner = [value for part in _inside(record) if (value := _under(part, key, depth + 1)) is not None]
    if not inner:
        return None
    return inner[0] if all(value == inner[0] for value in inner) else UnparsedAnswer("several verdicts in one answer")


def _inside(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for value in record.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, dict):
                yield part


def _by_criterion(record: dict[str, Any], keys: Callable[[str], str | None], depth: int = 0) -> Any:
    """The values of an object by criterion; of the objects inside it when it has none itself."""
    own = {id: value for name, value in record.items() if (id := keys(name)) is not None}
    if own:
        return own
    if depth == _DEEPEST:
        return None
    inner = [value for part in _inside(record) if (value := _by_criterion(part, keys, depth + 1)) is not None]
    if len(inner) > 1:
        return UnparsedAnswer("several verdicts in one answer")
    return inner[0] if inner else None


def _lines(text: str, key: str) -> Iterator[_Statement]:
    """Lines that state a verdict and nothing else."""
    end = 0
    for line in text.splitlines(keepends=True):
        end += len(line)
        match = _LINE.match(_bare(line))
        if match and match["key"].lower().strip() in (key, f"final {key}", f"my {key}"):
            yield _Statement(match["value"], end - len(line), end)


def _bind(text: str, last: _Statement, menu: Menu, *, cut: bool) -> ParsedAnswer | UnparsedAnswer:
    if _is_open(text) or (cut and _bare(text[last.end :])):
        return UnparsedAnswer("breaks off")
    if _is_inside(text, last.start):
        return UnparsedAnswer("inside a broken object")
    return last.value if isinstance(last.value, UnparsedAnswer) else menu(last.value)


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


# -- verdicts of a reply -----------------------------------------------------------------------------------------------

YES_WORDS = ("PASS", "YES")


class VerdictReader:
    """Reads the replies to one study's questions."""

    def __init__(self, study: Study, settings: JudgeSettings, judge: str) -> None:
        self.settings, self.judge = settings, judge
        self._menus: dict[str, Menu] = {}
        for criterion in study.criteria:
            if settings.options:
                self._menus[criterion.id] = option_menu(settings.options)
            elif criterion.scale is not None:
                self._menus[criterion.id] = number_menu(criterion.scale)
        self._titles = {entry.id: entry.title for entry in study.criteria}

    def verdicts(self, question: JudgeQuestion, reply: Reply | NoReply) -> list[JudgeVerdict]:
        """One verdict for each criterion of `question`.

        What a call cost, in tokens and money, stands with its first criterion and is 0 for the others, so that sums
        over verdicts are true.
        """
        about = question.model_dump(exclude={"criteria"}) | {"judge": self.judge}
        if isinstance(reply, NoReply):
            fields: dict[str, Any] = {"failed": reply.kind, "unparsed": "no reply", "text": reply.reason}
            return [JudgeVerdict(**about, **fields, criterion=id) for id in question.criteria]
        read = self._read(question, reply)
        fields = {"text": reply.text, "model": reply.model, "seconds": reply.seconds, "at": reply.at}
        paid = {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "cost": reply.cost}
        nothing = {name: None if value is None else 0 for name, value in paid.items()}
        return [
            JudgeVerdict(
                **about, **fields, **(nothing if number else paid), criterion=id, **self._said(question, answer, reply)
            )
            for number, (id, answer) in enumerate(read.items())
        ]

    def _read(self, question: JudgeQuestion, reply: Reply) -> dict[str, ParsedAnswer | UnparsedAnswer]:
        menus = {id: self._menus[id] for id in question.criteria}
        if self.settings.together:
            return read_verdicts(reply.text, menus, self._titles, cut=reply.cut)
        (id, menu), *_ = menus.items()
        return {id: read_verdict(reply.text, KEY[question.protocol], menu, cut=reply.cut)}

    def _said(self, question: JudgeQuestion, answer: ParsedAnswer | UnparsedAnswer, reply: Reply) -> dict[str, Any]:
        if isinstance(answer, UnparsedAnswer):
            return {"unparsed": answer.reason}
        if question.protocol == "rate":
            return {"value": answer.value}
        if question.protocol == "checklist":
            return {"value": float(answer.value in YES_WORDS)}
        chances = None if self.settings.together else reply.chances
        return {"outcome": question.outcome(answer.value), "chance": chance_of_a(question, chances)}


# -- unreadable replies ------------------------------------------------------------------------------------------------

_QUOTED = 200
"""Characters of a reply that are quoted."""


class UnreadLimits(Noun):
    """What a run does about replies that cannot be read."""

    most_unread: float = Field(
        0.1, ge=0, le=1, description="Stop and write nothing above this share of unreadable answers; 1: never stop."
    )
    keep_unread: bool = Field(False, description="Do not ask again for stored replies that could not be read.")


class TooManyUnread(CallsStopped):
    """More answers cannot be read than the run puts up with."""

    exit_code = 1


@runtime_checkable
class VlmWithStore(Protocol):
    """A VLM that stores its replies and can put one aside, so that its question is asked again."""

    def put_aside(self, conversation: Conversation, why: str) -> None:
        """Keep the stored reply as evidence, no longer as an answer."""
        ...


class UnreadCount:
    """The unreadable answers of a run that is to give `total` verdicts."""

    def __init__(self, judge: str, settings: JudgeSettings, total: int, limits: UnreadLimits) -> None:
        self.judge, self.settings, self.wanted, self.limits = judge, settings, total, limits
        self._reasons: Counter[str] = Counter()
        self._example = ""

    def add(self, verdicts: list[JudgeVerdict]) -> None:
        """Count the verdicts of one reply; TooManyUnread when the share is sure to be above the limit."""
        for verdict in verdicts:
            if verdict.unparsed is not None and verdict.failed in (None, "refused"):
                self._reasons[verdict.failed or verdict.unparsed] += 1
                self._example = self._example or verdict.text or ""
        if self._reasons.total() > self.limits.most_unread * self.wanted:
            raise self._error()

    def _error(self) -> TooManyUnread:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self._reasons.most_common())
        return TooManyUnread(
            f"at most {self.limits.most_unread:.0%} of the {self.wanted:,} answers of {self.judge} may be unreadable; "
            "the run was stopped and nothing of it was written",
            found=f"{self._reasons.total():,} unreadable so far ({reasons}), the first: "
            f"{shorten(repr(self._example), _QUOTED)}",
            where=f"expected {expected_form(self.settings)}",
            remedy="correct the endpoint, the model or its chat template and run again, which asks anew for what could "
            "not be read; --most-unread 1 keeps such a judge as it is",
        )


def expected_form(settings: JudgeSettings) -> str:
    """What a reply must hold to be read."""
    key = KEY[settings.protocol]
    value = " or ".join(f'"{option}"' for option in settings.options) or "a number of the scale"
    if settings.together:
        return f"one JSON object with {value} under the id of each criterion"
    return f'{{"{key}": {value}}}, or a last line with nothing else'


def expects_unread(method: str) -> bool:
    """Whether a VLM of this method (of its signature) is a simulation, whose unreadable answers are asked for."""
    return method.startswith("simulated")
