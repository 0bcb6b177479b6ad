"""A ranking pair by pair: the pairs answered so far are kept, so that every device goes on where the last one stopped.

They are kept with the rater's profile, as the way in is, and only those of the newest ranking: what enters the study is
the order they settle, submitted like any other answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from salon.collect.merge_ranking import PairAnswer, Settled, next_merge_step
from salon.collect.question import Question
from salon.collect.settings_phase import Phase
from salon.collect.studio.asked import question_of
from salon.collect.studio.entry import EntrySide, refuse
from salon.collect.timing import TooFast, check_pair
from salon.errors import BadValue
from salon.store.database import Task
from salon.store.database.connected import now_ms


@dataclass(frozen=True)
class Begun:
    """How far a ranking is."""

    pairs: tuple[PairAnswer, ...] = ()
    at: int | None = None
    """When the last pair was answered, in milliseconds."""


class RankingSide(EntrySide, ABC):
    """Answers to the pairs of a ranking."""

    def answer_pair(
        self, rater: str, task: int, before: Sequence[PairAnswer], answer: PairAnswer, *, now: int | None = None
    ) -> bool:
        """Keep the answer to the pair after those `before`; False, and nothing kept, where another pair is due.

        The same form sent twice, or from two devices, thus counts once. TooEarly before the least time is over.
        """
        now = now_ms() if now is None else now
        found = self.database.task(task, rater)
        question = question_of(found)
        begun = self._begun(rater, task, question)
        if found.answered_at is not None or tuple(before) != begun.pairs:
            return False
        self._check_answer(question, begun, answer)
        refuse(self._pair_time(found, question, begun, now))
        self._keep_pairs(rater, task, (*begun.pairs, answer), now)
        return True

    def _begun(self, rater: str, task: int, question: Question) -> Begun:
        """How far the ranking of a task is; for every other task nothing is begun."""
        kept = self._entry(rater).get("ranking") if is_merged(question, self._phase(question)) else None
        return Begun() if kept is None or kept["task"] != task else Begun(tuple(kept["pairs"]), kept["at"])

    def _take_back_pair(self, rater: str, task: Task, now: int) -> bool:
        """Ask the last pair of a ranking again; False where none is answered."""
        begun = self._begun(rater, task.id, question_of(task))
        if begun.pairs:
            self._keep_pairs(rater, task.id, begun.pairs[:-1], now)
        return bool(begun.pairs)

    def _pair_time(self, task: Task, question: Question, begun: Begun, now: int) -> TooFast | None:
        """Every pair has its least time; the order that they settle has been looked at."""
        if begun.at is None or isinstance(next_merge_step(len(question.items), begun.pairs), Settled):
            return self._time(task, question, now)
        return check_pair(shown_at=begun.at, answered_at=now, times=self.settings.times)

    def _check_answer(self, question: Question, begun: Begun, answer: PairAnswer) -> None:
        phase = self._phase(question)
        if not is_merged(question, phase) or isinstance(next_merge_step(len(question.items), begun.pairs), Settled):
            raise BadValue("a ranking with a pair to answer is needed", found="none", where="the answer")
        offered = ("first", "second", "tie") if phase and phase.ties else ("first", "second")
        if answer not in offered:
            raise BadValue(f"one of {', '.join(offered)} is needed", found=repr(answer), where="the answer")

    def _keep_pairs(self, rater: str, task: int, pairs: tuple[PairAnswer, ...], now: int) -> None:
        self._keep(rater, ranking={"task": task, "pairs": pairs, "at": now})

    @abstractmethod
    def _phase(self, question: Question) -> Phase | None:
        """The phase of a question; None in the qualification."""

    @abstractmethod
    def _time(self, task: Task, question: Question, now: int) -> TooFast | None:
        """How long the screen of a task must still be looked at."""


def is_merged(question: Question, phase: Phase | None) -> bool:
    """Is the question a ranking that is asked pair by pair? Several criteria at once are put in order by hand."""
    return question.kind == "rank" and len(question.criteria) == 1 and phase is not None and phase.ranking == "merge"
