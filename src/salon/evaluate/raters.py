"""People of the panel as answerers: each person is held against the votes of the others, who are left when the
person's own votes are taken out.

A person answers some pairs only, each in one order. So the pairs of a person are those that the person and somebody
else voted on, `says_first` is all that can be said of sides, and the ceilings are those of the others on these pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadValue, TooFew, UnknownReference
from salon.evaluate.accuracy import sample_agreement
from salon.evaluate.answers import PairAnswers, PairContestant, PairJudge
from salon.evaluate.pair_results import CHANCE, JudgeFigures
from salon.evaluate.people import Index, Ints, TestPairs, is_person
from salon.report import first_names
from salon.stats import AGAINST, TIE, UNREAD, WITH, Estimate, Resampling, match_rate
from salon.study import Study, pair_votes

RaterNames = Sequence[str] | Literal["all"]
"""Ids of people of a study, or all of them."""
MOST_RATERS = 40
"""Of all people the most active ones are evaluated."""
LEFT_OUT = "people with fewer answers than the first {}, not evaluated: {:,}"
_SIDES = np.array([WITH, AGAINST, TIE])
_TIE_SIDE, _UNKNOWN = 2, 2


@dataclass(frozen=True)
class PanelVotes:
    """Every vote of people on some pairs with its rater, and what a person answered when asked again."""

    row: Ints
    """(votes,) place of the pair."""
    rater: Ints
    side: Ints
    """0 for item a, 1 for item b, 2 tie."""
    again: Ints
    """(answers, 3): pair, rater and side of repeated questions; they are no votes."""
    seen_first: Ints
    """(answers, 3): pair, rater and 1 where the item named was shown first; of comparisons with a known order."""

    @classmethod
    def on(cls, study: Study, pairs: TestPairs) -> PanelVotes:
        """The votes that `pairs.votes` counts."""
        ids, items = study.ids("criteria").to_pylist(), len(study.item_groups)
        a, b = (
            pc.index_in(pa.array(side, pa.string()), value_set=study.ids("items").cast(pa.string())).to_numpy()
            for side in (pairs.item_a, pairs.item_b)
        )
        persons, view = is_person(study), study.comparisons
        nothing = np.empty((0, 3), np.int64)
        parts, again, seen_first = [nothing], [nothing], [nothing]
        for place, (criterion, _) in enumerate(pairs.criteria):
            rows, number = pairs.on(place), ids.index(criterion)
            finder = _PairFinder(rows, a[rows].astype(np.int64), b[rows].astype(np.int64), items)
            votes = pair_votes(study, number, persons)
            row, side = finder.sides(votes.a, votes.b, votes.outcome, both_bad_ties=pairs.both_bad_ties)
            parts.append(np.column_stack([row, votes.rater, side])[row >= 0])
            mine = np.flatnonzero((view.criterion == number) & persons[view.rater])
            row, side = finder.sides(view.a[mine], view.b[mine], view.outcome[mine], both_bad_ties=pairs.both_bad_ties)
            repeated = (row >= 0) & (view.repeat[mine] > 0)
            again.append(np.column_stack([row, view.rater[mine], side])[repeated])
            names_item = (row >= 0) & (view.repeat[mine] == 0) & (side < _TIE_SIDE) & (view.left[mine] < _UNKNOWN)
            first = view.outcome[mine] == view.left[mine]
            seen_first.append(np.column_stack([row, view.rater[mine], first])[names_item])
        row, rater, side = np.concatenate(parts).T
        return cls(row, rater, side, np.concatenate(again), np.concatenate(seen_first))


@dataclass(frozen=True)
class _PairFinder:
    """Finds pairs of items among rows that hold each pair once."""

    rows: Ints
    a: Ints
    b: Ints
    items: int

    def sides(self, a: Index, b: Index, outcome: Index, *, both_bad_ties: bool) -> tuple[Ints, Ints]:
        """The row of each answer, -1 where it is no vote on these pairs; and its side by the items of the row."""
        keys = np.minimum(self.a, self.b) * self.items + np.maximum(self.a, self.b)
        order = np.argsort(keys, kind="stable")
        wanted = np.minimum(a, b).astype(np.int64) * self.items + np.maximum(a, b)
        if not len(keys) or not len(wanted):
            return np.full(len(wanted), -1), np.full(len(wanted), _TIE_SIDE)
        at = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
        is_there = (keys[at] == wanted) & (both_bad_ties | (outcome <= _TIE_SIDE))
        names_item = outcome < _TIE_SIDE
        side = np.where(names_item, np.where(self.a[at] == a, outcome, 1 - outcome), _TIE_SIDE)
        return np.where(is_there, self.rows[at], -1), side.astype(np.int64)


@dataclass(frozen=True)
class RaterAnswers:
    """What one person of the panel answered about the pairs that the votes were found on."""

    votes: PanelVotes
    rater: int

    def on(self, pairs: TestPairs) -> PairAnswers:
        """The person's vote on each pair, against `pairs` without it."""
        n, mine = len(pairs), self.votes.rater == self.rater
        row, side = self.votes.row[mine], self.votes.side[mine]
        own = np.zeros((n, 3), np.int64)
        own[row, side] = 1
        said = np.full((n, 1), UNREAD)
        said[row, 0] = _SIDES[side]
        samples = own.copy()
        again = self.votes.again[self.votes.again[:, 1] == self.rater]
        np.add.at(samples, (again[:, 0], again[:, 2]), 1)
        others = replace(pairs, votes=pairs.votes - own)
        return PairAnswers(others, own.sum(axis=1) > 0, said, np.full(n, -1), samples, (0,) * len(pairs.criteria), own)

    def named_first(self, pairs: TestPairs) -> tuple[Ints, Ints]:
        """Of each answer that names an item 1 where it was shown first, else 0; and the prompt."""
        row, _, first = self.votes.seen_first[self.votes.seen_first[:, 1] == self.rater].T
        return first, pairs.group[row]


def choose_raters(study: Study, names: RaterNames) -> tuple[list[int], list[str]]:
    """Numbers of these people in the study, and a note where some of all are left out."""
    view = study.table("raters")
    persons = np.flatnonzero(is_person(study) & ~study.crowds)
    labels = {study.label("raters", number): number for number in persons.tolist()}
    if names == "all":
        activity = _judgments(study)[persons]
        first = persons[np.argsort(-activity, kind="stable")[:MOST_RATERS]]
        chosen = first[_judgments(study)[first] > 0]
        lost = int((activity > 0).sum()) - len(chosen)
        return sorted(chosen.tolist()), [LEFT_OUT.format(MOST_RATERS, lost)] if lost else []
    for name in names:
        if name in labels:
            continue
        where = f"study {study.name!r}"
        if name in view.column("id").to_pylist():
            raise BadValue(
                "one person is needed: a model is evaluated without this option, and a crowd is many people",
                found=f"rater {name!r}", where=where, remedy="name people who answered one by one",
            )  # fmt: skip
        remedy = "one of " + ", ".join(list(labels)[:10]) if labels else "the study has no people"
        raise UnknownReference("a rater of the study is needed", found=repr(name), where=where, remedy=remedy)
    return [labels[name] for name in dict.fromkeys(names)], []


def _judgments(study: Study) -> Ints:
    """Comparisons, rankings and ratings of every rater."""
    views = (study.comparisons, study.rankings, study.ratings)
    total: Ints = np.sum([np.bincount(view.rater, minlength=len(study.crowds)) for view in views], axis=0)
    return total


def person_judges(study: Study, pairs: TestPairs, raters: Sequence[int]) -> list[PairJudge]:
    """These people as judges of pairs."""
    if not raters:
        return []
    votes = PanelVotes.on(study, pairs)
    return [PairJudge(study.label("raters", rater), "person", RaterAnswers(votes, rater)) for rater in raters]


def person_contestants(study: Study, pairs: TestPairs, raters: Sequence[int]) -> list[PairContestant]:
    """The same people beside models and scorers."""
    contestants = []
    for judge in person_judges(study, pairs, raters):
        answers = judge.answers.on(pairs)
        said = answers.said[:, 0]
        margin = np.where(said == UNREAD, np.nan, said.astype(float))
        contestants.append(PairContestant(judge.name, "person", margin, answers.asked, answers=judge.answers))
    return contestants


# -- what only people have ---------------------------------------------------------------------------------------------


class PersonFigures(TypedDict, total=False):
    """Figures of `JudgeFigures` that a person has and a model has not."""

    says_first: Estimate | None
    self_agreement: Estimate | None
    samples: int


def person_figures(contestant: PairContestant, answers: PairAnswers, resampling: Resampling) -> PersonFigures:
    """Sides, and answers to the same question again; nothing for models and scorers."""
    if not isinstance(contestant.answers, RaterAnswers):
        return {}
    first, prompts = contestant.answers.named_first(answers.pairs)
    agreement, samples = sample_agreement(answers, resampling)
    says_first = match_rate(first, prompts, **resampling) if len(first) else None
    return {"says_first": says_first, "self_agreement": agreement, "samples": samples}


LEAVE_ONE_OUT = (
    "a person is held against the majority of the other people: the person's own votes leave the panel, pairs on which "
    "the others are split evenly are left out, and so are pairs that the person did not answer: {}"
)
FIRST_ANSWER = "of a person the first answer to a question counts; repeated ones are in the self-agreement alone: {}"
NEITHER = (
    "where a person is compared with another judge, both are held against the people who are neither of the two, on "
    "the pairs that both answered; `salon evaluate` tests two people only where one of them comes first"
)
ONE_SIDED = 0.1
"""Distance from a half, of the share of answers for the item shown first, that is worth a look."""


def person_policies(judges: Sequence[JudgeFigures]) -> list[str]:
    """How people among the judges were counted; nothing without any."""
    people = [judge.name for judge in judges if judge.kind == "person"]
    again = [judge.name for judge in judges if judge.kind == "person" and judge.samples > 1]
    if not people:
        return []
    compared = [NEITHER] if len(judges) > 1 else []
    return [LEAVE_ONE_OUT.format(first_names(people)), *([FIRST_ANSWER.format(first_names(again))] if again else []),
            *compared]  # fmt: skip


def person_warnings(judges: Sequence[JudgeFigures]) -> list[str]:
    """People at chance, who look at sides, or who agree more than independent people can."""
    people = [judge for judge in judges if judge.kind == "person"]
    about: dict[str, list[str]] = {
        "not shown to agree with the others more often than a coin would": [
            judge.name for judge in people if (low := judge.pooled.accuracy.low) is None or low <= CHANCE
        ],
        "the item shown first is named too often or too rarely": [
            f"{judge.name} ({judge.says_first.value:.0%})"
            for judge in people
            if judge.says_first is not None and _is_one_sided(judge.says_first)
        ],
        "above what an oracle could reach; are answers copied, or of one person under two names": [
            f"{judge.name} on {part.name}"
            for judge in people
            for part in judge.criteria
            if any("leak" in words for words in part.warnings)
        ],
    }
    return [f"{words}: {first_names(names)}" for words, names in about.items() if names]


def _is_one_sided(share: Estimate) -> bool:
    if share.low is None or share.high is None or share.low <= CHANCE <= share.high:
        return False
    return abs(share.value - CHANCE) > ONE_SIDED


def require_others(pairs: TestPairs, contestants: Sequence[PairContestant]) -> None:
    """TooFew where people alone are evaluated and no pair of theirs has a majority of others."""
    if contestants and all(contestant.kind == "person" for contestant in contestants):
        raise TooFew(
            "a person is held against the majority of the other people on the same pairs",
            found=f"no such pair of {first_names([contestant.name for contestant in contestants])}: nobody else "
            "answered them, or the others are split evenly",
            where=f"study {pairs.study!r}",
            remedy="collect answers of more people on the same pairs",
        )


def require_person_ceilings(study: str, judges: Sequence[JudgeFigures]) -> None:
    """TooFew where nobody of the evaluated people has a ceiling: it needs two others on a pair."""
    people = [judge for judge in judges if judge.kind == "person"]
    if people and all(judge.pooled.ceilings is None for judge in people):
        raise TooFew(
            "an accuracy is printed only beside its ceiling, and that needs the votes of two other people on a pair",
            found=f"none for {first_names([judge.name for judge in people])}",
            where=f"study {study!r}",
            remedy="collect a third vote on some pairs; --no-ceiling prints accuracies marked as having none",
        )
