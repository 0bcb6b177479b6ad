"""What the people of a study think, as the truth a simulated judge is told: accuracy then means agreement with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations

from salon.study import Study

Voice = tuple[str, str, str, str, int]
"""criterion, rater, one item, another, and 1 where the first is better, -1 where the second is, 0 for a tie."""


def panel_truth(study: Study) -> Callable[[str, tuple[str, ...]], float]:
    """Of a criterion and a pair as shown: people for the first minus people for the second.

    Each has one voice on a pair: what they said when they compared it, or else ranked, chose or rated. Of one item: the
    mean of its ratings under the criterion; of a checklist's point, its share of ticks above one half. 0 where nobody
    answered.
    """
    votes: dict[tuple[str, str, str], dict[str, int]] = defaultdict(dict)
    people = {rater.id for rater in study.nouns("raters") if rater.kind != "model"}
    for criterion, rater, one, other, sign in _voices(study):
        if rater in people:
            first, second = sorted((one, other))
            votes[criterion, first, second].setdefault(rater, sign if first == one else -sign)
    said = _said(study, people)
    worse = {one.id for one in study.criteria if one.scale is not None and not one.scale.higher_is_better}

    def truth(topic: str, items: tuple[str, ...]) -> float:
        values = [said.get((topic, item), {}) for item in items]
        if len(items) == 1:
            return sum(values[0].values()) / len(values[0]) if values[0] else 0.0
        first, second = sorted(items)
        flip = 1 if first == items[0] else -1
        both = values[0].keys() & values[1].keys()
        rated = {rater: _sign(values[0][rater] - values[1][rater]) * (-1 if topic in worse else 1) for rater in both}
        voices = rated | {rater: flip * sign for rater, sign in votes.get((topic, first, second), {}).items()}
        return float(sum(voices.values()))

    return truth


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _voices(study: Study) -> Iterator[Voice]:
    """Everything said about pairs, comparisons first; planted repeats are no second voice."""
    for one in study.nouns("comparisons"):
        if one.outcome is not None and one.repeat == 0:
            yield one.criterion, one.rater, one.a, one.b, {"a": 1, "b": -1}.get(one.outcome, 0)
    for ranking in study.nouns("rankings"):
        for (better, rank), (worse, other) in combinations(zip(ranking.items, ranking.ranks), 2):
            yield ranking.criterion, ranking.rater, better, worse, _sign(other - rank)
    for choice in study.nouns("choices"):
        for item in choice.items:
            if choice.chosen is not None and item != choice.chosen:
                yield choice.criterion, choice.rater, choice.chosen, item, 1


def _said(study: Study, people: set[str]) -> dict[tuple[str, str], dict[str, float]]:
    """(criterion or point, item) -> what each of `people` said of it, the first time."""
    found: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for one in study.nouns("ratings"):
        if one.rater in people and one.value is not None:
            found[one.criterion, one.item].setdefault(one.rater, one.value)
    for checklist in study.nouns("checklists"):
        for point, answer in zip(checklist.points, checklist.answers):
            if checklist.rater in people and answer is not None:
                found[point, checklist.item].setdefault(checklist.rater, answer - 0.5)
    return found
