"""Which judgments the study can take: only those that leave it readable.

A study is validated whole when it is read; one wrong answer would spoil every reading after it. So each is held
against the study's criteria, items and groups before it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from salon.errors import BadValue, UnknownReference, WrongPrompt
from salon.store.database.errors import NotYours
from salon.store.database.records import KIND_OF, Answer, as_json, payload_of, plain
from salon.study import Checklist, Comparison, Criterion, Judgment, Rating
from salon.study.judgment import Choice, Ranking


@dataclass(frozen=True)
class Frame:
    """What judgments may name: criteria, and items with their prompt and the group they are compared within."""

    criteria: dict[str, Criterion]
    prompts: dict[str, str | None]
    groups: dict[str, str | None]
    within: str

    def row(self, answer: Judgment | Answer, rater: str) -> dict[str, Any]:
        """The columns of one answer of `rater`, or the error that says why it cannot be taken."""
        if isinstance(answer, Answer):
            return self._other(answer)
        if answer.rater != rater:
            raise NotYours("a judgment of your own is needed", found="one in another rater's name")
        self._check_criterion(answer.criterion)
        named = items_of(answer)
        self._check_items(named, together=not isinstance(answer, Rating | Checklist))
        if isinstance(answer, Rating) and answer.value is not None:
            _check_scale(self.criteria[answer.criterion], answer.value)
        return {
            "kind": KIND_OF[type(answer)],
            "criterion": answer.criterion,
            "prompt": self.prompts[named[0]] if named else None,
            "payload": payload_of(answer),
        }

    def _other(self, answer: Answer) -> dict[str, Any]:
        if answer.kind in KIND_OF.values():
            raise BadValue("judgments are given as nouns of the study", found=f"a record of kind {answer.kind!r}")
        if answer.criterion is not None:
            self._check_criterion(answer.criterion)
        return {
            "kind": plain(answer.kind, where="kind", most=40),
            "criterion": answer.criterion,
            "prompt": None if answer.prompt is None else plain(answer.prompt, where="prompt"),
            "payload": as_json(answer.record, where=f"an answer of kind {answer.kind!r}"),
        }

    def _check_criterion(self, id: str) -> None:
        if id not in self.criteria:
            raise UnknownReference(
                "a criterion of the study is needed", found=repr(id), remedy="one of " + ", ".join(self.criteria)
            )

    def _check_items(self, named: Sequence[str], *, together: bool) -> None:
        for item in named:
            if item not in self.groups:
                raise UnknownReference("an item of the study is needed", found=repr(item))
        groups = {self.groups[item] for item in named}
        if together and (len(groups) > 1 or (None in groups and self.within != "all")):
            raise WrongPrompt(f"items are compared within one {self.within}", found=", ".join(map(repr, named)))


def items_of(judgment: Judgment) -> tuple[str, ...]:
    """The items a judgment is about."""
    if isinstance(judgment, Comparison):
        return judgment.a, judgment.b
    if isinstance(judgment, Rating | Checklist):
        return (judgment.item,)
    assert isinstance(judgment, Ranking | Choice)
    return judgment.items


def _check_scale(criterion: Criterion, value: float) -> None:
    scale = criterion.scale
    if scale is None:
        return
    steps = 0.0 if scale.step is None else (value - scale.low) / scale.step
    if not scale.low <= value <= scale.high or abs(steps - round(steps)) > 1e-6:
        raise BadValue(
            f"ratings of {criterion.id!r} lie between {scale.low:g} and {scale.high:g}"
            + ("" if scale.step is None else f" in steps of {scale.step:g}"),
            found=f"{value:g}",
        )
