"""A judge that says what it is told to: for tests, for examples, and for answers that were written down elsewhere.

A script is a function of the conversation, a list that is read from the top, or a file with one JSON object a line:

    {"text": "{\\"verdict\\": \\"A\\"}", "items": ["cat-1", "cat-2"], "about": "taste/mood"}
    {"text": "B", "items": ["cat-2", "cat-1"]}
    {"none": "refused", "text": "not this picture", "point": "has-title"}
    {"text": "A"}

The first line that fits answers: `items` are the pictures in the order they are shown, `about` the criterion, `point`
the point of a checklist, `sample` the number of the sample; a line that names none of them fits every question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from salon.errors import BadFile
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.study.noun import Noun
from salon.study.signature import Signature

Said = str | Reply | NoReply
Answers = Callable[[Conversation], Said] | Sequence[Said] | Path


class Line(Noun):
    """One line of a script in a file."""

    text: str
    none: str | None = None
    """The kind of NoReply; `text` is then its reason."""
    items: tuple[str, ...] | None = None
    about: str | None = None
    point: str | None = None
    sample: int | None = None

    def fits(self, asked: Conversation) -> bool:
        """Whether this line answers what is asked."""
        shown = tuple(sight.item for sight in asked.sights)
        return (
            self.items in (None, shown)
            and (self.about is None or self.about in asked.about)
            and self.point in (None, asked.point)
            and self.sample in (None, asked.sample)
        )

    def said(self) -> Said:
        """The answer of this line."""
        return self.text if self.none is None else NoReply(kind=self.none, reason=self.text)


class Scripted:
    """Answers from a script; a question the script has nothing for gets no reply, and says so."""

    def __init__(self, name: str, answers: Answers) -> None:
        self.name = name
        self._said, content = _script(answers)
        data = hashlib.sha256(content.encode()).hexdigest()[:12]
        self.signature = Signature(method="scripted-judge", data=data)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, answer), one after the other."""
        for index, conversation in enumerate(conversations):
            said = self._said(conversation)
            yield index, Reply(text=said, model="scripted") if isinstance(said, str) else said


def _script(answers: Answers) -> tuple[Callable[[Conversation], Said], str]:
    """What is said to a conversation, and the text that stands for the script in a signature."""
    if callable(answers):
        return answers, f"{answers.__module__}.{getattr(answers, '__qualname__', type(answers).__qualname__)}"
    if isinstance(answers, Path):
        lines = read_script(answers)
        return lambda asked: _first(lines, asked), json.dumps([line.record() for line in lines])
    rest = iter(list(answers))
    return lambda _: next(rest, _nothing("is at its end")), json.dumps([str(said) for said in answers])


def read_script(path: Path) -> list[Line]:
    """The lines of a script file; BadFile or BadValue names the line that is none."""
    try:
        texts = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a script, one JSON object a line, is needed", found=str(error), where=str(path)) from None
    return [_line(text, f"{path}, line {number}") for number, text in enumerate(texts, 1) if text.strip()]


def _line(text: str, where: str) -> Line:
    try:
        record = json.loads(text)
    except ValueError as error:
        raise BadFile("a JSON object is needed", found=str(error), where=where) from None
    if not isinstance(record, dict):
        raise BadFile("a JSON object is needed", found=type(record).__name__, where=where)
    return Line.parse(record, where=where)


def _first(lines: Sequence[Line], asked: Conversation) -> Said:
    return next((line.said() for line in lines if line.fits(asked)), _nothing("has no line for this question"))


def _nothing(why: str) -> NoReply:
    return NoReply(kind="error", reason=f"the script {why}")
