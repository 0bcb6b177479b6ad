"""How often each question was answered and lies open: all that other raters' work says about what comes next.

`Tallies` holds one `QuestionTally` for each question, by `RaterQuestion.key`. A studio fills them from the database
(`studio.stored_tallies`); a simulation counts in them itself. They decide only what is asked, and are never the record
of an answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from salon.collect.plan import PhaseRun
from salon.collect.questions import RaterQuestion
from salon.collect.settings import Stop
from salon.study import Judgment, vote_word

HOLD_MS = 60 * 60 * 1000
"""A question that was asked so long ago without an answer is given to somebody else."""


@dataclass
class QuestionTally:
    """Answers to one question by all raters."""

    answers: int = 0
    """Raters who answered; skipping does not count."""
    pending: Mapping[str, int] = field(default_factory=dict)
    """Who was asked and has not answered, and when, in milliseconds."""
    votes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By criterion: what was answered how often. A winning item by id; "tie" and "both_bad"; a value as text."""

    def awaited(self, now: int) -> int:
        """Answers that may still come from those who were asked not too long ago."""
        return sum(now - asked_at < HOLD_MS for asked_at in self.pending.values())

    def load(self, now: int) -> int:
        """Answers given and awaited."""
        return self.answers + self.awaited(now)


_NOTHING = QuestionTally()


def is_settled(tally: QuestionTally, stop: Stop) -> bool:
    """Has the question enough answers? Never, where everyone answers everything."""
    if stop.kind == "everyone":
        return False
    if stop.kind == "fixed":
        return tally.answers >= stop.raters_each
    if tally.answers < stop.least:
        return False
    return tally.answers >= stop.most or all(_share(votes) >= stop.agreement - 1e-9 for votes in tally.votes.values())


def is_open(tally: QuestionTally, stop: Stop, now: int) -> bool:
    """May one more rater be asked, counting the answers that are awaited?"""
    if stop.kind == "everyone":
        return True
    return not is_settled(tally, stop) and tally.load(now) < most_answers(stop)


def most_answers(stop: Stop) -> int:
    """Answers after which nobody is asked any more."""
    return stop.raters_each if stop.kind == "fixed" else stop.most


def _share(votes: Mapping[str, int]) -> float:
    """Share of the largest side; ties are on neither."""
    sides = [n for vote, n in votes.items() if vote not in ("tie", "both_bad")]
    return max(sides, default=0) / max(sum(votes.values()), 1)


class _RunCounts:
    """The tallies of one run as arrays by unit, kept up to date."""

    def __init__(self, run: PhaseRun, tallies: Mapping[str, QuestionTally]) -> None:
        self.run = run
        self.answers = np.zeros(len(run.units), np.int64)
        self.settled = np.zeros(len(run.units), bool)
        self.held: dict[int, QuestionTally] = {}
        for key, tally in tallies.items():
            self.put(key, tally)

    def put(self, key: str, tally: QuestionTally) -> None:
        unit = self.run.place.get(key)
        if unit is None:
            return
        self.answers[unit] = tally.answers
        self.settled[unit] = is_settled(tally, self.run.phase.stop)
        if tally.pending:
            self.held[unit] = tally
        else:
            self.held.pop(unit, None)

    def load(self, now: int) -> NDArray[np.int64]:
        load = self.answers.copy()
        for unit, tally in self.held.items():
            load[unit] += tally.awaited(now)
        return load


class Tallies:
    """The tally of every question, by `RaterQuestion.key`."""

    def __init__(self) -> None:
        self._tallies: dict[str, QuestionTally] = {}
        self._counts: dict[PhaseRun, _RunCounts] = {}

    def __getitem__(self, key: str) -> QuestionTally:
        return self._tallies.get(key, _NOTHING)

    def put(self, key: str, tally: QuestionTally) -> None:
        """`tally` is how it stands with the question `key` from now on."""
        self._tallies[key] = tally
        for counts in self._counts.values():
            counts.put(key, tally)

    def load(self, run: PhaseRun, now: int) -> NDArray[np.int64]:
        """(units,) answers given and awaited."""
        return self._of(run).load(now)

    def settled(self, run: PhaseRun) -> NDArray[np.bool_]:
        """(units,) which questions have enough answers."""
        return self._of(run).settled

    def raters(self, run: PhaseRun, group: int) -> int:
        """How many raters answered anything about the run's pair group `group`."""
        raise NotImplementedError

    def _of(self, run: PhaseRun) -> _RunCounts:
        if run not in self._counts:
            self._counts[run] = _RunCounts(run, self._tallies)
        return self._counts[run]


class CountedTallies(Tallies):
    """Tallies that are counted as raters are asked and answer, in this process alone."""

    def __init__(self) -> None:
        super().__init__()
        self._raters: dict[str, set[str]] = {}

    def raters(self, run: PhaseRun, group: int) -> int:
        keys = (run.keys[unit] for unit in run.pair_groups[group].units)
        return len(set[str]().union(*(self._raters.get(key, ()) for key in keys)))

    def ask(self, question: RaterQuestion, rater: str, at: int) -> None:
        """Note that `rater` is being asked, at `at` milliseconds."""
        if question.why == "ordinary":
            tally = self[question.key]
            pending = dict(tally.pending) | {rater: at}
            self.put(question.key, QuestionTally(tally.answers, pending, tally.votes))

    def answer(self, question: RaterQuestion, rater: str, judgments: Iterable[Judgment]) -> None:
        """Note an answer. Repeats and planted questions say nothing new about the items."""
        if question.why != "ordinary":
            return
        tally, words = self[question.key], vote_words(judgments)
        pending = {name: at for name, at in tally.pending.items() if name != rater}
        if words is None:
            self.put(question.key, QuestionTally(tally.answers, pending, tally.votes))
            return
        votes = {criterion: Counter(counts) for criterion, counts in tally.votes.items()}
        for criterion, word in words:
            votes.setdefault(criterion, Counter())[word] += 1
        self._raters.setdefault(question.key, set()).add(rater)
        self.put(question.key, QuestionTally(tally.answers + 1, pending, votes))


def vote_words(judgments: Iterable[Judgment]) -> Sequence[tuple[str, str]] | None:
    """What an answer adds to the votes, as criterion and word; None for a skipped question."""
    given = [judgment for judgment in judgments if judgment.skipped is None]
    words = ((judgment.criterion, vote_word(judgment)) for judgment in given)
    return [(criterion, word) for criterion, word in words if word is not None] if given else None
