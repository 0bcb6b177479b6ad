"""What the people of a study think, as the truth a simulated judge is told: accuracy then means agreement with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import combinations

from salon.study import Study

Votes = dict[tuple[str, str, str], float]


def panel_truth(study: Study) -> Callable[[str, tuple[str, ...]], float]:
    """Of a criterion and a pair as shown: votes for the first minus votes for the second.

    Of one item: the mean of its ratings under the criterion; of a checklist's point, its share of ticks above one half.
    0 where nobody answered.
    """
    votes, values = _votes(study), _values(study)

    def truth(topic: str, items: tuple[str, ...]) -> float:
        if len(items) == 1:
            return values.get((topic, items[0]), 0.0)
        first, second = items
        net = votes.get((topic, first, second), 0.0) - votes.get((topic, second, first), 0.0)
        return net or values.get((topic, first), 0.0) - values.get((topic, second), 0.0)

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


def _values(study: Study) -> dict[tuple[str, str], float]:
    """(criterion or point, item) -> what was said of it on average."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    people = _people(study)
    for one in study.nouns("ratings"):
        if one.rater in people and one.value is not None:
            found[one.criterion, one.item].append(one.value)
    for one in study.nouns("checklists"):
        for point, answer in zip(one.points, one.answers):
            if one.rater in people and answer is not None:
                found[point, one.item].append(answer - 0.5)
    return {about: sum(values) / len(values) for about, values in found.items()}
