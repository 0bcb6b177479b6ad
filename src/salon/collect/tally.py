"""How many answers each question has, from whom they are awaited, and whether that is enough.

A `Tallies` is kept in memory by whoever serves the studio, and can be rebuilt at any time from the tasks and
judgments in the database: it only steers which question comes next, it is never the record of an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from salon.collect.question import Question
from salon.collect.settings_phase import Stop
from salon.study import Choice, Comparison, Judgment, Rating

HOLD_MS = 60 * 60 * 1000
"""A question that was asked so long ago without an answer is given to somebody else."""


@dataclass
class Tally:
    """Answers to one question by all raters."""

    raters: set[str] = field(default_factory=set)
    """Who answered; skipping does not count."""
    held: dict[str, int] = field(default_factory=dict)
    """Who was asked and has not answered, and when, in milliseconds."""
    votes: dict[str, Counter[str]] = field(default_factory=dict)
    """By criterion: what was answered how often. A winning item by id; "tie" and "both_bad"; a value as text."""

    def awaited(self, now: int) -> int:
        """Answers that may still come from those who were asked not too long ago."""
        return sum(now - asked < HOLD_MS for asked in self.held.values())


_NOTHING = Tally()


class Tallies:
    """The tally of every question, by `Question.key`."""

    def __init__(self) -> None:
        self._tallies: dict[str, Tally] = {}

    def __getitem__(self, key: str) -> Tally:
        return self._tallies.get(key, _NOTHING)

    def begun(self, keys: Iterable[str]) -> Iterator[tuple[int, Tally]]:
        """Place in `keys` and tally of those that were asked of anybody."""
        return ((place, self._tallies[key]) for place, key in enumerate(keys) if key in self._tallies)

    def ask(self, question: Question, rater: str, at: int) -> None:
        """Note that `rater` is being asked, at `at` milliseconds."""
        if question.why == "ordinary":
            self._own(question).held[rater] = at

    def answer(self, question: Question, rater: str, judgments: Iterable[Judgment]) -> None:
        """Note an answer. Repeats and planted questions say nothing new about the items."""
        self._change(question, rater, judgments, +1)

    def undo(self, question: Question, rater: str, judgments: Iterable[Judgment]) -> None:
        """Take an answer back: after an undo, or when its rater withdraws."""
        self._change(question, rater, judgments, -1)

    def _change(self, question: Question, rater: str, judgments: Iterable[Judgment], by: int) -> None:
        if question.why != "ordinary":
            return
        tally = self._own(question)
        tally.held.pop(rater, None)
        for judgment in judgments:
            vote = vote_of(judgment)
            if judgment.skipped is None and vote is not None:
                tally.votes.setdefault(judgment.criterion, Counter())[vote] += by
            if judgment.skipped is None:
                (tally.raters.add if by > 0 else tally.raters.discard)(rater)

    def _own(self, question: Question) -> Tally:
        return self._tallies.setdefault(question.key, Tally())


def is_settled(tally: Tally, stop: Stop) -> bool:
    """Has the question enough answers? Never, where everyone answers everything."""
    if stop.kind == "everyone":
        return False
    if stop.kind == "fixed":
        return len(tally.raters) >= stop.raters_each
    if len(tally.raters) < stop.least:
        return False
    return len(tally.raters) >= stop.most or all(
        _share(votes) >= stop.agreement - 1e-9 for votes in tally.votes.values()
    )


def is_open(tally: Tally, stop: Stop, now: int) -> bool:
    """May one more rater be asked, counting the answers that are awaited?"""
    if stop.kind == "everyone":
        return True
    most = stop.raters_each if stop.kind == "fixed" else stop.most
    return not is_settled(tally, stop) and len(tally.raters) + tally.awaited(now) < most


def _share(votes: Counter[str]) -> float:
    """Share of the largest side; ties are on neither."""
    sides = [n for vote, n in votes.items() if vote not in ("tie", "both_bad")]
    return max(sides, default=0) / max(votes.total(), 1)


def vote_of(judgment: Judgment) -> str | None:
    """What a judgment says, as a word to count by; None for rankings and checklists, which say too much for one."""
    if isinstance(judgment, Comparison):
        return {"a": judgment.a, "b": judgment.b}.get(str(judgment.outcome), judgment.outcome)
    if isinstance(judgment, Choice):
        return judgment.chosen
    return f"{judgment.value:g}" if isinstance(judgment, Rating) and judgment.value is not None else None
