"""From a reply to verdicts, one for each criterion that was asked about, alone or together with others."""

from __future__ import annotations

from typing import Any

from salon.judge.messages import KEY
from salon.judge.pairs import chance_of_a
from salon.judge.question import Question
from salon.judge.record import Verdict
from salon.judge.settings import JudgeSettings
from salon.judge.verdict import Menu, Read, Unread, number_menu, option_menu, read_verdict, read_verdicts
from salon.judge.vlm import NoReply, Reply
from salon.study import Study

YES = ("PASS", "YES")


class Reader:
    """Reads the replies to one study's questions."""

    def __init__(self, study: Study, settings: JudgeSettings, judge: str) -> None:
        self.settings, self.judge = settings, judge
        self._menus: dict[str, Menu] = {}
        for criterion in study.criteria:
            if settings.options:
                self._menus[criterion.id] = option_menu(settings.options)
            elif criterion.scale is not None:
                self._menus[criterion.id] = number_menu(criterion.scale)
        self._titles = {one.id: one.title for one in study.criteria}

    def verdicts(self, question: Question, reply: Reply | NoReply) -> list[Verdict]:
        """One verdict for each criterion of `question`.

        What a call cost, in tokens and money, stands with its first criterion and is 0 for the others, so that sums
        over verdicts are true.
        """
        about = question.model_dump(exclude={"criteria"}) | {"judge": self.judge}
        if isinstance(reply, NoReply):
            told: dict[str, Any] = {"failed": reply.kind, "unparsed": "no reply", "text": reply.reason}
            return [Verdict(**about, **told, criterion=id) for id in question.criteria]
        read = self._read(question, reply)
        told = {"text": reply.text, "model": reply.model, "seconds": reply.seconds, "at": reply.at}
        paid = {"tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "cost": reply.cost}
        nothing = {name: None if value is None else 0 for name, value in paid.items()}
        return [
            Verdict(
                **about, **told, **(nothing if number else paid), criterion=id, **self._said(question, found, reply)
            )
            for number, (id, found) in enumerate(read.items())
        ]

    def _read(self, question: Question, reply: Reply) -> dict[str, Read | Unread]:
        menus = {id: self._menus[id] for id in question.criteria}
        if self.settings.together:
            return read_verdicts(reply.text, menus, self._titles, cut=reply.cut)
        (id, menu), *_ = menus.items()
        return {id: read_verdict(reply.text, KEY[question.protocol], menu, cut=reply.cut)}

    def _said(self, question: Question, found: Read | Unread, reply: Reply) -> dict[str, Any]:
        if isinstance(found, Unread):
            return {"unparsed": found.reason}
        if question.protocol == "rate":
            return {"value": found.value}
        if question.protocol == "checklist":
            return {"value": float(found.value in YES)}
        chances = None if self.settings.together else reply.chances
        return {"outcome": question.outcome(found.value), "chance": chance_of_a(question, chances)}
