"""Comparing two items: which pairs are asked about, how a reply is read, and what both orders say together."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path

import numpy as np

from salon.errors import BadColumns, BadFile, BadValue, UnknownReference
from salon.judge.question import Question, paraphrase, place, wordings
from salon.judge.settings import JudgeSettings
from salon.study import Study
from salon.study.judgment import Choice, Outcome, Ranking

Pair = tuple[str, str]


# -- which pairs -----------------------------------------------------------------------------------------------------


def judged_pairs(study: Study, criterion: str) -> list[Pair]:
    """The pairs that people ordered under `criterion`: compared, ranked, rated, or chosen from."""
    raters = {rater.id: rater.kind for rater in study.nouns("raters")}
    found = set(_compared(study, criterion, raters))
    ordered_items: Iterator[Ranking | Choice] = chain(study.nouns("rankings"), study.nouns("choices"))
    for noun in ordered_items:
        if noun.criterion == criterion and raters[noun.rater] != "model" and noun.skipped is None:
            found |= {ordered(*pair) for pair in combinations(noun.items, 2)}
    if not found:
        rated = {
            noun.item
            for noun in study.nouns("ratings")
            if noun.criterion == criterion and raters[noun.rater] != "model" and noun.value is not None
        }
        found = {pair for pair in all_pairs(study) if rated.issuperset(pair)}
    return sorted(found)


def _compared(study: Study, criterion: str, raters: Mapping[str, str]) -> Iterator[Pair]:
    view = study.comparisons
    number = [one.id for one in study.criteria].index(criterion)
    people = np.array([kind != "model" for kind in raters.values()], bool)
    rows = np.flatnonzero(view.criterion == number)
    rows = rows[people[view.rater[rows]]]
    ids = study.ids("items").to_pylist()
    for a, b in np.unique(np.stack([view.a[rows], view.b[rows]], axis=1), axis=0):
        yield ordered(ids[a], ids[b])


def all_pairs(study: Study) -> list[Pair]:
    """Every pair of items that the study allows to be compared."""
    groups: dict[int, list[str]] = {}
    for id, group in zip(study.ids("items").to_pylist(), study.item_groups):
        if group >= 0:
            groups.setdefault(int(group), []).append(id)
    return sorted(ordered(*pair) for members in groups.values() for pair in combinations(members, 2))


def read_pairs(path: Path, study: Study) -> list[Pair]:
    """The pairs in a CSV file with columns a and b, each once; they must be of one group."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            names = rows.fieldnames or []
            for name in ("a", "b"):
                if name not in names:
                    raise BadColumns.missing(name, names, where=str(path))
            found = [(row["a"] or "", row["b"] or "") for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadFile("pairs as CSV with columns a and b are needed", found=error, where=str(path)) from None
    groups = dict(zip(study.ids("items").to_pylist(), study.item_groups.tolist()))
    for number, (a, b) in enumerate(found):
        _check_pair(a, b, groups, f"{path}, pair {number + 1}", study.compare_within)
    if not found:
        raise BadFile("at least one pair is needed", found="none", where=str(path))
    return sorted({ordered(*pair) for pair in found})


def _check_pair(a: str, b: str, groups: Mapping[str, int], where: str, within: str) -> None:
    for item in (a, b):
        if item not in groups:
            raise UnknownReference("pairs may only name items of the study", found=repr(item), where=where)
    if a == b or groups[a] != groups[b] or groups[a] < 0:
        raise BadValue(f"two different items of one {within} are needed", found=f"{a!r} and {b!r}", where=where)


def ordered(a: str, b: str) -> Pair:
    """The pair with the smaller id first."""
    return (a, b) if a < b else (b, a)


# -- what is asked ---------------------------------------------------------------------------------------------------


def pair_questions(
    study: Study, criteria: Sequence[str], settings: JudgeSettings, given: Sequence[Pair] | None = None
) -> list[Question]:
    """One question for each pair and criterion (or all criteria at once), still without order and sample."""
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    every = given if given is not None else all_pairs(study) if settings.pairs == "all" else None
    pairs = {id: every if every is not None else judged_pairs(study, id) for id in criteria}
    chosen = limited({pair for some in pairs.values() for pair in some}, settings.limit)
    asked = [tuple(criteria)] if settings.together else [(id,) for id in criteria]
    questions = []
    for names in asked:
        known = chosen & {pair for id in names for pair in pairs[id]}
        texts = 1 if settings.together else len(wordings(study.criterion(names[0])))
        for a, b in sorted(known):
            prompt = prompts[a] if prompts[a] == prompts[b] else None
            wording = paraphrase(texts, prompt, a, b)
            questions.append(Question(protocol="compare", criteria=names, prompt=prompt, a=a, b=b, paraphrase=wording))
    return questions


def limited(units: Iterable[tuple[str, ...]], limit: int | None) -> set[tuple[str, ...]]:
    """At most `limit` of them, spread over the study by a stable hash: a larger limit keeps those of a smaller one."""
    return set(sorted(units, key=lambda unit: (place(*unit), unit))[:limit])


# -- what was answered -----------------------------------------------------------------------------------------------


def chance_of_a(question: Question, chances: Mapping[str, float] | None) -> float | None:
    """Probability of item `a` against `b` from the options' log-probabilities."""
    if not chances or "A" not in chances or "B" not in chances:
        return None
    first = 1 / (1 + math.exp(min(700.0, max(-700.0, chances["B"] - chances["A"]))))
    return first if question.left == "a" else 1 - first


def settled(answers: Sequence[Outcome | None]) -> Outcome | None:
    """What several samples of one question say: the answer more than half of them gave; None where there is none.

    Unread samples (None) count among the all: a majority of the few that could be read would be a guess.
    """
    counts = Counter(answer for answer in answers if answer is not None)
    for answer, count in counts.items():
        if 2 * count > len(answers):
            return answer
    return None


def both_orders(first: Outcome | None, second: Outcome | None) -> Outcome | None:
    """The judgment of a pair: what both orders say, a tie where they disagree, None where one could not be read."""
    if first is None or second is None:
        return None
    return first if first == second else "tie"
