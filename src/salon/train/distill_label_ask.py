"""Asking a judge for labels through the judge engine: pairs shown in a given order, or single items.

Every reply is in the engine's store before it is used: an endpoint's in its call store, those of a model in this
process in a file beside the study. Scripts and simulations give the same answer to the same question. So a run that
was killed is simply run again, and asks only what it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue, InputError
from salon.judge.many import Reader
from salon.judge.named import Named
from salon.judge.one_pass import OnePass, OnePassAnswer
from salon.judge.pairs import ordered
from salon.judge.plan import JudgePlan, plan_run
from salon.judge.question import Question, paraphrase, wordings
from salon.judge.settings import JudgeSettings
from salon.judge.templates import Templates
from salon.judge.vlm import Conversation, NoReply, Reply, Sight, Vlm
from salon.models.one_pass import ROLE
from salon.store.pictures import is_inside, read_picture
from salon.study import Study
from salon.train.distill_label_settings import LabelSettings

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Watch = Callable[[int, int], None]
"""Is told how many calls are done, and how many there will be."""
_FIRST = {"a": 0, "b": 1, "tie": 2}


@dataclass
class Tally:
    """What was asked so far."""

    calls: int = 0
    stored: int = 0
    """Replies that were known already."""
    failed: dict[str, int] = field(default_factory=dict)
    """Calls without a reply, by kind."""
    unread: dict[str, int] = field(default_factory=dict)
    """Replies in which a criterion could not be read, by criterion."""
    problems: dict[str, int] = field(default_factory=dict)
    """Why replies about single items could not be read."""
    cost: float | None = None


class Asker:
    """A judge with the items of one study, numbered."""

    def __init__(
        self, plan: JudgePlan, vlm: Vlm, items: Sequence[str], watch: Watch, planned: int, *, role: str | None = None
    ) -> None:
        self.role = role or ROLE
        self.plan, self.vlm, self.items, self.tally = plan, vlm, tuple(items), Tally()
        self._watch, self._planned = watch, planned
        self._reader = Reader(plan.study, plan.settings, vlm.name)
        self._prompts = {item.id: item.prompt for item in plan.study.nouns("items")}

    def compare(self, pairs: Ints, sample: Ints) -> NDArray[np.int8]:
        """(m, D) outcomes of pairs (m, 2), the first shown first: 0 it is better, 1 the other, 2 tie, -1 no answer."""
        found = np.full((len(pairs), len(self.plan.criteria)), -1, np.int8)
        for index, reply in self._replies(self.pair_conversations(pairs, sample), len(pairs)):
            first, second = pairs[index].tolist()
            question = self._pair(first, second, int(sample[index]))
            for column, verdict in enumerate(self._reader.verdicts(question, reply)):
                if verdict.outcome is not None:
                    said = _FIRST[verdict.outcome]
                    found[index, column] = said if said == 2 or question.left == "a" else 1 - said
                elif isinstance(reply, Reply):
                    self._unread(verdict.criterion)
        return found

    def rate(self, items: Ints, sample: Ints) -> Floats:
        """(m, D) numbers for items (m,), each on its criterion's scale; NaN where none could be read."""
        found = np.full((len(items), len(self.plan.criteria)), np.nan)
        asked = self._one_pass()
        for index, reply in self._replies(self.item_conversations(items, sample), len(items)):
            if not isinstance(reply, Reply):
                continue
            read = _answer(asked, reply.text)
            if read.scores is not None:
                found[index] = read.scores
                continue
            self.tally.problems[str(read.problem)] = self.tally.problems.get(str(read.problem), 0) + 1
            for criterion in self.plan.criteria:
                self._unread(criterion)
        return found

    def pair_conversations(self, pairs: Ints, sample: Ints) -> Iterator[Conversation]:
        """What `compare` sends, made when asked for."""
        for (first, second), number in zip(pairs.tolist(), sample.tolist()):
            yield self.plan.messages.conversation(self._pair(first, second, number))

    def item_conversations(self, items: Ints, sample: Ints) -> Iterator[Conversation]:
        """What `rate` sends: the question a one-pass scorer is asked, without the prompt, as it is trained."""
        text = self._one_pass().question()
        for item, number in zip(items.tolist(), sample.tolist()):
            id = self.items[item]
            yield Conversation(
                parts=(Sight(item=id, path=self.plan.messages.picture(id)), text),
                decoding=self.plan.settings.decoding,
                sample=number,
                about=self.plan.criteria,
            )

    def _one_pass(self) -> OnePass:
        return OnePass(criteria=tuple(self.plan.study.criterion(id) for id in self.plan.criteria), role=self.role)

    def _replies(self, conversations: Iterator[Conversation], count: int) -> Iterator[tuple[int, Reply | NoReply]]:
        """Exactly one reply for each conversation, also from a VLM that forgets one or answers twice."""
        owed = set(range(count))
        replies = self.vlm.reply(conversations)
        try:
            for index, reply in replies:
                if index in owed:
                    owed.discard(index)
                    self._count(reply)
                    yield index, reply
        finally:
            if isinstance(replies, Generator):  # an interrupted run lets go of its connections at once
                replies.close()
        for index in sorted(owed):
            missing = NoReply(kind="error", reason=f"{self.vlm.name} gave no reply")
            self._count(missing)
            yield index, missing

    def _count(self, reply: Reply | NoReply) -> None:
        told = self.tally
        told.calls += 1
        if isinstance(reply, NoReply):
            told.failed[reply.kind] = told.failed.get(reply.kind, 0) + 1
        else:
            told.stored += reply.stored
            told.cost = told.cost if reply.cost is None else (told.cost or 0.0) + reply.cost
        self._watch(told.calls, max(self._planned, told.calls))

    def _unread(self, criterion: str) -> None:
        self.tally.unread[criterion] = self.tally.unread.get(criterion, 0) + 1

    def _pair(self, first: int, second: int, sample: int) -> Question:
        shown = self.items[first], self.items[second]
        a, b = ordered(*shown)
        prompt = self._prompts[a] if self._prompts[a] == self._prompts[b] else None
        names = self.plan.criteria
        texts = 1 if self.plan.settings.together else len(wordings(self.plan.study.criterion(names[0])))
        return Question(
            protocol="compare",
            criteria=names,
            prompt=prompt,
            a=a,
            b=b,
            left="a" if shown[0] == a else "b",
            paraphrase=paraphrase(texts, prompt, a, b),
            sample=sample,
        )


def _answer(asked: OnePass, text: str) -> OnePassAnswer:
    """What a one-pass answer says. Asked about one criterion alone, a bare number on its scale will do."""
    read = asked.read(text)
    if read.scores is None and len(asked.criteria) == 1:
        bare = asked.read(f'<answer>{{"{asked.ids[0]}": {text.strip()}}}</answer>')
        return read if bare.scores is None else bare
    return read


def asking_plan(
    study: Study, folder: Path, named: Named, settings: LabelSettings, items: Sequence[str], *, repeats: bool
) -> JudgePlan:
    """How the judge is asked, with criteria and prompts checked. Its own question is only an example."""
    criteria = settings.criterion or tuple(one.id for one in settings.criteria(study))
    warm = settings.temperature if settings.temperature is not None else float(repeats)
    asked = JudgeSettings(
        together=len(criteria) > 1,
        criterion=criteria,
        ties=True,
        temperature=warm,
        max_tokens=settings.max_tokens or 2048,
        cohort=settings.cohort,
    )
    looks = named.looks and settings.source != "pointwise"  # a one-pass question says what it needs by itself
    texts = Templates.builtin()
    texts = texts if settings.role is None else texts.opened_by(settings.role)
    return plan_run(study, folder, asked, templates=texts, pairs=[ordered(*items[:2])], looks=looks)


def broken_pictures(study: Study, folder: Path, items: Iterable[str], step: Callable[[str], None]) -> dict[str, str]:
    """Items whose picture is missing, outside the study's folder or does not decode, and why."""
    images = {item.id: item.image for item in study.nouns("items")}
    found = {}
    for item in items:
        step(item)
        try:
            path = Path(folder) / (images[item] or "")
            if not images[item] or not is_inside(path, Path(folder)):
                raise BadValue("a picture inside the study's folder", found="none inside the study's folder")
            read_picture(path, where=str(path))
        except InputError as error:
            found[item] = error.found or error.needed
    return found


def refuse_broken(broken: dict[str, str]) -> BadFile:
    """The error where nothing may be left out."""
    item, why = next(iter(broken.items()))
    return BadFile(
        "a judge needs a picture of every item that decodes",
        found=f"{len(broken):,} without; the first: {why}",
        where=f"item {item!r}",
        remedy="mend them, or leave their items out with --broken leave-out",
    )
