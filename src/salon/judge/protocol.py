"""What judges are asked: settings, questions about pairs, items and points of checklists, and the record of a verdict.

A pair is always asked in both orders. Every call leaves a `JudgeVerdict` for each of its criteria, the record that
every figure about a judge is computed from.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from salon.errors import BadColumns, BadFile, BadValue, UnknownReference
from salon.judge.vlm import Decoding
from salon.study import Choice, Criterion, Noun, Outcome, Point, Ranking, Study

ProtocolName = Literal["compare", "rate", "checklist"]


class JudgeVerdict(Noun):
    """One answer of a judge to one question on one criterion, read or unread."""

    judge: str
    protocol: ProtocolName
    criterion: str
    prompt: str | None = None
    a: str
    """The item; of a pair the one with the smaller id."""
    b: str | None = None
    left: Literal["a", "b"] | None = None
    """Which of the pair was shown first."""
    point: str | None = None
    """The point of a checklist that was asked about."""
    paraphrase: int | None = None
    """Number of the wording of the question."""
    sample: int = Field(default=0, ge=0)
    outcome: Outcome | None = None
    """Of a pair, by item and not by position."""
    value: float | None = None
    """Of a rating; of a checklist's point 1 for yes and 0 for no."""
    chance: float | None = None
    """Probability of `a` against `b` from the log-probabilities of the options, where they are known."""
    unparsed: str | None = None
    """Why no verdict could be read; None where one was. Never guessed."""
    failed: str | None = None
    """The kind of NoReply where there was no text at all."""
    text: str | None = None
    """What the judge said, as it said it."""
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    at: str | None = None
    """When the answer was given, UTC, ISO 8601; a run that finds it in the store keeps it."""


# -- questions ---------------------------------------------------------------------------------------------------------

PairOrder = Literal["a", "b"]
ORDERS: tuple[PairOrder, ...] = ("a", "b")
"""A pair is always asked in both."""


class JudgeQuestion(Noun):
    """What one call asks."""

    protocol: ProtocolName
    criteria: tuple[str, ...]
    """One, or all that are asked together."""
    prompt: str | None = None
    a: str
    """The item; of a pair the one with the smaller id."""
    b: str | None = None
    left: PairOrder | None = None
    """Which of the pair is shown first, as Image A."""
    point: str | None = None
    paraphrase: int | None = None
    """Number of the wording; None where there is only one."""
    sample: int = 0

    @property
    def items(self) -> tuple[str, ...]:
        """The items in the order they are shown."""
        if self.b is None:
            return (self.a,)
        return (self.a, self.b) if self.left == "a" else (self.b, self.a)

    def outcome(self, option: str) -> Literal["a", "b", "tie"]:
        """What an option, which speaks of places, says about the items."""
        if option == "TIE":
            return "tie"
        return "a" if (option == "A") == (self.left == "a") else "b"


def wordings(criterion: Criterion) -> tuple[str, ...]:
    """The ways a comparison under this criterion may be asked."""
    return criterion.paraphrases or ((criterion.question,) if criterion.question else ())


def stable_hash(*parts: str | None) -> int:
    """A stable number for `parts`, spread evenly over 64 bits."""
    text = json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def choose_paraphrase(wordings: int, prompt: str | None, *items: str) -> int | None:
    """Which of `wordings` texts asks about these items: the same in both orders, on every machine and in every run."""
    return stable_hash(prompt, *sorted(items)) % wordings if wordings > 1 else None


def every_order_and_sample(question: JudgeQuestion, samples: int) -> Iterator[JudgeQuestion]:
    """`question` in both orders, if it is about a pair, as often as it is to be asked."""
    orders: tuple[PairOrder | None, ...] = (None,) if question.b is None else ORDERS
    for left in orders:
        for sample in range(samples):
            yield question.model_copy(update={"left": left, "sample": sample})


# -- settings ----------------------------------------------------------------------------------------------------------

PairChoice = Literal["judged", "all"]
PointWords = Literal["pass-fail", "yes-no"]
ANSWER_TOKENS, REASONING_TOKENS = 512, 2048
"""The longest answer in tokens, without and with reasoning before it."""


class JudgeSettings(Noun):
    """How `salon judge` asks."""

    protocol: ProtocolName = Field(
        "compare",
        description="compare: which of two items is better, in both orders; rate: a number for each item; checklist: "
        "yes or no to each point.",
    )
    together: bool = Field(
        False, description="Ask about all criteria in one call; reasoning first, then one JSON object for all of them."
    )
    criterion: tuple[str, ...] = Field((), description="Only the criterion with this id (repeatable).")
    pairs: PairChoice = Field(
        "judged", description="Compare the pairs that people judged, or all pairs within a prompt or category."
    )
    ties: bool = Field(False, description="Offer TIE beside A and B; with --together it is always offered.")
    words: PointWords = Field("pass-fail", description="The two answers to a point of a checklist.")
    samples: int = Field(1, ge=1, le=1000, description="Ask each question this often; the answers are kept apart.")
    temperature: float = Field(0.0, ge=0, le=10, description="0: the likeliest words, the same every time.")
    max_tokens: int | None = Field(
        None, ge=1, le=1_000_000, description="The longest answer, in tokens  [default: 512; 2048 with --together]"
    )
    cohort: str | None = Field(
        None, description="Show the prompt as this cohort saw it  [default: as the raters of each criterion did]"
    )
    limit: int | None = Field(
        None, ge=1, description="Only this many pairs (items, for rate and checklist); a larger number adds to them."
    )
    seed: int | None = Field(None, ge=0, lt=2**31, description="Seed of the sampling, where the model takes one.")

    @model_validator(mode="after")
    def _samples_differ(self) -> JudgeSettings:
        if self.samples > 1 and self.temperature == 0:
            raise ValueError("several samples need a temperature above 0: at 0 all of them are the same answer")
        if self.together and self.protocol == "checklist":
            raise ValueError("a checklist asks about one point at a time: leave together out")
        return self

    @property
    def decoding(self) -> Decoding:
        """How the VLM is to choose its words."""
        longest = self.max_tokens or (REASONING_TOKENS if self.together else ANSWER_TOKENS)
        return Decoding(temperature=self.temperature, max_tokens=longest, seed=self.seed)

    @property
    def options(self) -> tuple[str, ...]:
        """The answers on the menu; none where a number is asked for."""
        if self.protocol == "compare":
            return ("A", "B", "TIE") if self.ties or self.together else ("A", "B")
        if self.protocol == "checklist":
            return ("PASS", "FAIL") if self.words == "pass-fail" else ("YES", "NO")
        return ()


# -- pairs -------------------------------------------------------------------------------------------------------------

Pair = tuple[str, str]


# -- which pairs -----------------------------------------------------------------------------------------------------


def judged_pairs(study: Study, criterion: str) -> list[Pair]:
    """The pairs that people ordered under `criterion`: compared, ranked, rated, or chosen from."""
    raters = {rater.id: rater.kind for rater in study.nouns("raters")}
    view = study.comparisons
    rows = np.flatnonzero(view.criterion == [entry.id for entry in study.criteria].index(criterion))
    rows = rows[np.array([kind != "model" for kind in raters.values()], bool)[view.rater[rows]]]
    ids = study.ids("items").to_pylist()
    compared = np.unique(np.stack([view.a[rows], view.b[rows]], axis=1), axis=0)
    pairs = {order_pair(ids[a], ids[b]) for a, b in compared}
    ordered_items: Iterator[Ranking | Choice] = chain(study.nouns("rankings"), study.nouns("choices"))
    for noun in ordered_items:
        if noun.criterion == criterion and raters[noun.rater] != "model" and noun.skipped is None:
            pairs |= {order_pair(*pair) for pair in combinations(noun.items, 2)}
    if not pairs:
        rated = {
            noun.item
            for noun in study.nouns("ratings")
            if noun.criterion == criterion and raters[noun.rater] != "model" and noun.value is not None
        }
        pairs = {pair for pair in all_pairs(study) if rated.issuperset(pair)}
    return sorted(pairs)


def all_pairs(study: Study) -> list[Pair]:
    """Every pair of items that the study allows to be compared."""
    groups: dict[int, list[str]] = {}
    for id, group in zip(study.ids("items").to_pylist(), study.item_groups):
        if group >= 0:
            groups.setdefault(int(group), []).append(id)
    return sorted(order_pair(*pair) for members in groups.values() for pair in combinations(members, 2))


def read_pairs(path: Path, study: Study) -> list[Pair]:
    """The pairs in a CSV file with columns a and b, each once; they must be of one group."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            names = rows.fieldnames or []
            for name in ("a", "b"):
                if name not in names:
                    raise BadColumns.missing(name, names, where=str(path))
            pairs = [(row["a"] or "", row["b"] or "") for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadFile("pairs as CSV with columns a and b are needed", found=error, where=str(path)) from None
    groups = dict(zip(study.ids("items").to_pylist(), study.item_groups.tolist()))
    for number, (a, b) in enumerate(pairs):
        where = f"{path}, pair {number + 1}"
        for item in (a, b):
            if item not in groups:
                raise UnknownReference("pairs may only name items of the study", found=repr(item), where=where)
        if a == b or groups[a] != groups[b] or groups[a] < 0:
            raise BadValue(
                f"two different items of one {study.compare_within} are needed", found=f"{a!r} and {b!r}", where=where
            )
    if not pairs:
        raise BadFile("at least one pair is needed", found="none", where=str(path))
    return sorted({order_pair(*pair) for pair in pairs})


def order_pair(a: str, b: str) -> Pair:
    """The pair with the smaller id first."""
    return (a, b) if a < b else (b, a)


# -- what is asked ---------------------------------------------------------------------------------------------------


def pair_questions(
    study: Study, criteria: Sequence[str], settings: JudgeSettings, selected_pairs: Sequence[Pair] | None = None
) -> list[JudgeQuestion]:
    """One question for each pair and criterion (or all criteria at once), still without order and sample."""
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    every = selected_pairs if selected_pairs is not None else all_pairs(study) if settings.pairs == "all" else None
    pairs = {id: every if every is not None else judged_pairs(study, id) for id in criteria}
    chosen = limit_units({pair for some in pairs.values() for pair in some}, settings.limit)
    criterion_groups = [tuple(criteria)] if settings.together else [(id,) for id in criteria]
    questions = []
    for names in criterion_groups:
        group_pairs = chosen & {pair for id in names for pair in pairs[id]}
        texts = 1 if settings.together else len(wordings(study.criterion(names[0])))
        for a, b in sorted(group_pairs):
            prompt = prompts[a] if prompts[a] == prompts[b] else None
            wording = choose_paraphrase(texts, prompt, a, b)
            questions.append(
                JudgeQuestion(protocol="compare", criteria=names, prompt=prompt, a=a, b=b, paraphrase=wording)
            )
    return questions


def limit_units(units: Iterable[tuple[str, ...]], limit: int | None) -> set[tuple[str, ...]]:
    """At most `limit` of them, spread over the study by a stable hash: a larger limit keeps those of a smaller one."""
    return set(sorted(units, key=lambda unit: (stable_hash(*unit), unit))[:limit])


# -- what was answered -----------------------------------------------------------------------------------------------


def chance_of_a(question: JudgeQuestion, chances: Mapping[str, float] | None) -> float | None:
    """Probability of item `a` against `b` from the options' log-probabilities."""
    if not chances or "A" not in chances or "B" not in chances:
        return None
    first = 1 / (1 + math.exp(min(700.0, max(-700.0, chances["B"] - chances["A"]))))
    return first if question.left == "a" else 1 - first


def majority_outcome(answers: Sequence[Outcome | None]) -> Outcome | None:
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


# -- ratings -----------------------------------------------------------------------------------------------------------


def point_questions(study: Study, criteria: Sequence[str], settings: JudgeSettings) -> list[JudgeQuestion]:
    """One question for each item and criterion (or all criteria at once), still without its sample."""
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    chosen = sorted(item for (item,) in limit_units(((item,) for item in prompts), settings.limit))
    criterion_groups = [tuple(criteria)] if settings.together else [(id,) for id in criteria]
    return [
        JudgeQuestion(protocol="rate", criteria=names, prompt=prompts[item], a=item)
        for names in criterion_groups
        for item in chosen
    ]


def check_scale(criterion: Criterion) -> None:
    """Raise BadValue unless items can be rated under this criterion."""
    if criterion.scale is None:
        raise BadValue(
            f"rating needs a scale for {criterion.id!r}",
            found="a criterion without one",
            remedy="add [criteria.scale] with low and high to study.toml, or compare items instead",
        )


def rated_criterion(criterion: Criterion) -> Criterion:
    """The criterion with the scale the judge was given: every number between its ends, unless levels have no distances.

    People tick one of five boxes; a judge may say 3.4.
    """
    scale = criterion.scale
    if scale is None or scale.kind == "ordinal":
        return criterion
    return criterion.model_copy(update={"scale": scale.model_copy(update={"step": None, "labels": ()})})


def mean_value(values: Sequence[float | None]) -> float | None:
    """What several samples say together: their mean, where more than half of them could be read."""
    read = [value for value in values if value is not None]
    return sum(read) / len(read) if 2 * len(read) > len(values) else None


# -- checklists --------------------------------------------------------------------------------------------------------


def ticked_points(study: Study) -> list[Point]:
    """The points that people ticked in the study, for the prompts they ticked them for."""
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    kinds = {rater.id: rater.kind for rater in study.nouns("raters")}
    ticked = {
        (point, prompts[noun.item], noun.criterion): None
        for noun in study.nouns("checklists")
        if kinds[noun.rater] != "model"
        for point in noun.points
    }
    return [Point(id=id, prompt=prompt, criterion=criterion) for id, prompt, criterion in ticked]


def checklist_questions(
    study: Study, criteria: Sequence[str], settings: JudgeSettings, points: Sequence[Point]
) -> list[JudgeQuestion]:
    """One question for each point and item it is about, still without its sample."""
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    chosen = {item for (item,) in limit_units(((item,) for item in prompts), settings.limit)}
    questions: dict[tuple[str, str, str], JudgeQuestion] = {}
    for point in _check_points(study, criteria, points):
        for item, prompt in prompts.items():
            if item in chosen and point.prompt in (None, prompt):
                criterion = point.criterion or criteria[0]
                questions[criterion, item, point.id] = JudgeQuestion(
                    protocol="checklist", criteria=(criterion,), prompt=prompt, a=item, point=point.id
                )
    return [questions[key] for key in sorted(questions)]


def _check_points(study: Study, criteria: Sequence[str], points: Sequence[Point]) -> Iterator[Point]:
    """The points of these criteria; each must belong to one, and two points of one item may not share a name."""
    prompts = set(study.ids("prompts").to_pylist())
    texts: dict[tuple[str | None, str], str | None] = {}
    for point in points:
        if point.prompt is not None and point.prompt not in prompts:
            raise UnknownReference("a point's prompt must be in the study", found=repr(point.prompt), where=point.id)
        if point.criterion is None and len(criteria) != 1:
            some = "add criterion to the point, or name one with --criterion"
            raise BadValue(
                f"the point {point.id!r} needs a criterion",
                found=f"none, and {len(criteria)} to choose from",
                remedy=some if criteria else "add [[criteria]] with an id to study.toml",
            )
        if texts.setdefault((point.prompt, point.id), point.text) != point.text:
            raise BadValue("a point's name stands for one text", found=f"{point.id!r} with two texts")
        if point.criterion is None or point.criterion in criteria:
            yield point
