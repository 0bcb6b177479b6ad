"""A guard against drift: a few questions asked anew every day, their answers held against those of the first day.

A hosted model can change behind its name, and half a study is then judged by another judge. So before a run buys
anything, some of its own questions, the canaries, are asked once for the day, greedily whatever the run does; a second
run that day finds them in the store. On the first day each is asked twice: one that gets two answers from an unchanged
model is no sign of anything later, and is left out of the comparison. All answers stay in a file beside the judge's
folder, one a line.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from salon.errors import BadFile
from salon.judge.chat_protocol import verdict_place
from salon.judge.openai_chat import OpenAIChat
from salon.judge.vlm import Conversation, Decoding, NoReply, Reply
from salon.store import whole_file, written_inside
from salon.study import Noun

CANARIES = 8
_SECOND_SAMPLE = 10_000_000
"""Added to the number of the sample, which is the day's: no study asks a question so often."""


class CanaryAnswer(Noun):
    """What one canary answered on one day."""

    day: str
    question: str
    """The key of the question."""
    again: bool = False
    """Whether it was the second time on the first day."""
    answer: str
    """The option it chose; its text where there is no menu, or it kept to none."""
    model: str | None = None
    """As the server named it."""


@dataclass(frozen=True)
class CanaryDrift:
    """Today against the first day."""

    day: str
    since: str
    """The first day; equal to `day` when there is nothing to compare with yet."""
    compared: int
    """Canaries asked on both days that answered alike both times on the first."""
    moved: int
    """Of these, with another answer today."""
    unsteady: int
    """Canaries left out, because an unchanged model gave them two answers."""
    asked_for: str
    models_then: tuple[str, ...]
    models_now: tuple[str, ...]

    def warnings(self) -> list[str]:
        """What a user should know before trusting answers of different days."""
        warnings = []
        if self.moved:
            warnings.append(
                f"{self.moved} of {self.compared} canaries answer differently than on {self.since}: "
                "the model may have changed, and answers of different days may not belong together"
            )
        if self.models_then and self.models_now and self.models_then != self.models_now:
            then, now = ", ".join(self.models_then), ", ".join(self.models_now)
            warnings.append(f"the server names its model {now}; on {self.since} it was {then}")
        unpinned = [name for name in self.models_now if name != self.asked_for]
        if unpinned:
            warnings.append(f"{self.asked_for} was asked for and {unpinned[0]} answers: name that one to hold on to it")
        return warnings


def choose_canaries(conversations: Iterable[Conversation], count: int = CANARIES) -> list[Conversation]:
    """`count` of them, spread evenly and almost the same when questions are added."""

    def rank(conversation: Conversation) -> bytes:
        parts = [part if isinstance(part, str) else part.item for part in conversation.parts]
        return hashlib.sha256(json.dumps([conversation.sample, *parts]).encode()).digest()

    return heapq.nsmallest(count, conversations, key=rank)


def watch_canaries(vlm: OpenAIChat, canaries: Sequence[Conversation], path: Path, *, day: date) -> CanaryDrift:
    """Ask the canaries for `day`, write their answers to `path`, and compare them with the first day's."""
    before = read_canary_answers(path)
    firsts = _first_answers(before)
    fresh = [canary for canary in canaries if vlm.key(canary) not in firsts]
    today = _ask_canaries(vlm, canaries, day, again=False) + _ask_canaries(vlm, fresh, day, again=True)
    with written_inside(path):
        before = read_canary_answers(path)  # again: another run may have written meanwhile
        recorded = {(answer.day, answer.question, answer.again) for answer in before}
        answers = before + [answer for answer in today if (answer.day, answer.question, answer.again) not in recorded]
        with whole_file(path) as file:
            file.writelines(json.dumps(answer.record(), ensure_ascii=False).encode() + b"\n" for answer in answers)
    return _drift(vlm.endpoint.model, [answer for answer in today if not answer.again], answers)


def read_canary_answers(path: Path) -> list[CanaryAnswer]:
    """All answers of canaries so far; none before the first day."""
    if not path.exists():
        return []
    try:
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise BadFile(
            "answers of canaries, one JSON object a line, are needed",
            found=str(error),
            where=str(path),
            remedy="move the file away: today then becomes the first day",
        ) from None
    return [CanaryAnswer.parse(record, where=f"{path}, line {number}") for number, record in enumerate(records, 1)]


def _ask_canaries(vlm: OpenAIChat, canaries: Sequence[Conversation], day: date, *, again: bool) -> list[CanaryAnswer]:
    number = day.toordinal() + (_SECOND_SAMPLE if again else 0)
    dated = [
        canary.model_copy(update={"sample": number, "decoding": Decoding(max_tokens=canary.decoding.max_tokens)})
        for canary in canaries
    ]
    answers = []
    for index, reply in vlm.reply(dated):
        canary = canaries[index]
        model = reply.model if isinstance(reply, Reply) else None
        if isinstance(reply, NoReply):
            words = f"no reply: {reply.kind}"
        else:
            text = reply.text.encode("utf-8", "replace")
            place = verdict_place(text, canary.options)
            if place is None:
                words = reply.text
            else:
                words = max((option for option in canary.options if text.startswith(option.encode(), place)), key=len)
        answers.append(
            CanaryAnswer(day=day.isoformat(), question=vlm.key(canary), again=again, answer=words, model=model)
        )
    return sorted(answers, key=lambda answer: answer.question)


def _drift(asked_for: str, today: list[CanaryAnswer], answers: list[CanaryAnswer]) -> CanaryDrift:
    firsts = _first_answers(answers)
    seconds = {answer.question: answer.answer for answer in answers if answer.again}
    unsteady = {
        question for question, answer in firsts.items() if seconds.get(question, answer.answer) != answer.answer
    }
    pairs = [(firsts[answer.question], answer) for answer in today if answer.question not in unsteady]
    met = [firsts[answer.question] for answer in today]
    return CanaryDrift(
        day=today[0].day if today else "",
        since=min((answer.day for answer in met), default=""),
        compared=len(pairs),
        moved=sum(then.answer != now.answer for then, now in pairs),
        unsteady=sum(answer.question in unsteady for answer in today),
        asked_for=asked_for,
        models_then=_names(met),
        models_now=_names(today),
    )


def _first_answers(answers: Iterable[CanaryAnswer]) -> dict[str, CanaryAnswer]:
    """The first answer of each canary."""
    firsts: dict[str, CanaryAnswer] = {}
    for answer in answers:
        if not answer.again:
            firsts.setdefault(answer.question, answer)
    return firsts


def _names(answers: Iterable[CanaryAnswer]) -> tuple[str, ...]:
    return tuple(sorted({answer.model for answer in answers if answer.model}))
