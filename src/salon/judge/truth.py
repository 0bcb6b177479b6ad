"""What the people of a study think, as the truth a simulated judge is told: accuracy then means agreement with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations

from salon.study import Study

Votes = dict[tuple[str, str, str], float]


def panel_truth(study: Study) -> Callable[[str, tuple[str, ...]], float]:
    """Of a criterion and a pair as shown: votes for the first minus votes for the second.

    A rater who rated both votes for the better one. Of one item: the mean of its ratings under the criterion; of a
    checklist's point, its share of ticks above one half. 0 where nobody answered.
    """
    votes, said = _votes(study), _said(study)
    worse = {one.id for one in study.criteria if one.scale is not None and not one.scale.higher_is_better}

    def truth(topic: str, items: tuple[str, ...]) -> float:
        values = [said.get((topic, item), {}) for item in items]
        if len(items) == 1:
            return sum(values[0].values()) / len(values[0]) if values[0] else 0.0
        first, second = items
        net = votes.get((topic, first, second), 0.0) - votes.get((topic, second, first), 0.0)
        both = values[0].keys() & values[1].keys()
        rated = sum((values[0][rater] > values[1][rater]) - (values[0][rater] < values[1][rater]) for rater in both)
        return net + (-rated if topic in worse else rated)

    return truth


def _people(study: Study) -> set[str]:
    return {rater.id for rater in study.nouns("raters") if rater.kind != "model"}


def _votes(study: Study) -> Votes:
    """(criterion, winner, loser) -> how many said so."""
    votes: Votes = defaultdict(float)
    people = _people(study)
    for one in study.nouns("comparisons"):
        if one.rater in people and one.outcome in ("a", "b"):
            winner, loser = (one.a, one.b) if one.outcome == "a" else (one.b, one.a)
            votes[one.criterion, winner, loser] += 1
    for one in study.nouns("rankings"):
        if one.rater in people:
            for (better, rank), (worse, other) in combinations(zip(one.items, one.ranks), 2):
                votes[one.criterion, better, worse] += rank < other
    for one in study.nouns("choices"):
        if one.rater in people and one.chosen is not None:
            for item in one.items:
                votes[one.criterion, one.chosen, item] += item != one.chosen
    return votes


def _said(study: Study) -> dict[tuple[str, str], dict[str, float]]:
    """(criterion or point, item) -> what each rater said of it."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    people = _people(study)
    for one in study.nouns("ratings"):
        if one.rater in people and one.value is not None:
            found[one.criterion, one.item].setdefault(one.rater, one.value)
    for one in study.nouns("checklists"):
        for point, answer in zip(one.points, one.answers):
            if one.rater in people and answer is not None:
                found[point, one.item].setdefault(one.rater, answer - 0.5)
    return found
