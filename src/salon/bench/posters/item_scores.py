"""What each single answer is worth, 0 to 1 (a center bias: 0 to √2). Missing and unread answers are worth nothing.

`blind` is the worth of an answer given without looking: 1/k of k options; m/48 for m effects of 48, whatever number of
effects is named; the whole picture as every box; every patch of the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from salon.bench.posters.answers_choice import read_label, read_letter
from salon.bench.posters.answers_lists import prompt_menu, read_attributes, read_effects, read_style, read_yes
from salon.bench.posters.answers_numbers import BoxAnswer, read_boxes, read_patches, read_rating
from salon.bench.posters.answers_text import (
    ReadAnswer,
    UnreadAnswer,
    answer_text,
    is_exact,
    letters_only,
    match_texts,
    read_text,
    read_texts,
    text_units,
    visible_text,
)
from salon.bench.posters.files import PosterFile
from salon.bench.posters.item import (
    FARTHEST,
    Box,
    PosterItem,
    area_ratio,
    assigned_iou,
    box_area,
    box_center,
    center_distance,
    iou,
)
from salon.bench.posters.results import PointCase
from salon.bench.posters.settings import Convention
from salon.bench.posters.tasks import ATTRIBUTES, GRID, fold_label
from salon.errors import BadValue
from salon.store import size_within

NO_PICTURE = UnreadAnswer("no picture")
NOT_JUDGED = UnreadAnswer("not judged")


@dataclass(frozen=True)
class ItemScore:
    """One item with what its answer is worth by metric; a metric that asks nothing of it is left out."""

    item: PosterItem
    answer: ReadAnswer | UnreadAnswer
    worth: Mapping[str, float]
    blind: Mapping[str, float] = field(default_factory=dict)
    at_best: Mapping[str, float] = field(default_factory=dict)
    """With every verdict that a judge still owes turning out well; only where one is owed."""
    owed: int = 0
    """Verdicts that a judge owes: not asked, or answered with neither yes nor no."""
    bad_boxes: int = 0


def score_item(
    item: PosterItem, convention: Convention, *, shown_pixels: int | None = None, picture: bool | None = None
) -> ItemScore:
    """The worth of one answer; `picture` says whether a generated poster is there, None that this is unknown."""
    if item.task.side == "generation":
        return _score_made(item, picture)
    answer = read_answer(item, convention, shown_pixels)
    if item.task.answer == "points":
        return _score_points(item, answer)
    value = answer.value if isinstance(answer, ReadAnswer) else None
    worth, blind = _WORTH[item.task.answer](item, value)
    bad = value.unread if isinstance(value, BoxAnswer) else 0
    return ItemScore(item, answer, worth, blind, bad_boxes=bad)


Worth = tuple[dict[str, float], dict[str, float]]


def _text(item: PosterItem, value: str | None) -> Worth:
    def key(text: str) -> str:
        return visible_text(text) if is_exact(item.prompt) else letters_only(text).casefold() or visible_text(text)

    right = value is not None and key(item.truth) in (key(value), key(item.response or ""))
    return {"accuracy": float(right)}, {"accuracy": 0.0}


def _texts(item: PosterItem, value: Sequence[str] | None) -> Worth:
    exact = is_exact(item.prompt)
    texts = [text for text in item.truth if (visible_text if exact else letters_only)(text)]
    if not texts:  # a poster with nothing but marks asks for none
        return {}, {}
    return {"share": _mean(match_texts(texts, value or (), exact=exact))}, {"share": 0.0}


def _lines(item: PosterItem, value: Sequence[str] | None) -> Worth:
    key = visible_text if is_exact(item.prompt) else letters_only
    run = key("".join(value or ()))
    line_units = text_units(item.truth, key) or text_units(item.truth)
    return {"wr": _mean([unit in run for unit in line_units])}, {"wr": 0.0}


def _choice(item: PosterItem, value: str | None) -> Worth:
    return {"score": float(value == item.truth)}, {"score": 1 / len(item.task.options)}


def _effects(item: PosterItem, value: tuple[str | None, frozenset[str]] | None) -> Worth:
    color, named_effects = value or (None, frozenset())
    true_color, *effects = (fold_label(label) for label in item.truth)
    worth = {"color": float(color is not None and fold_label(color) == true_color)}
    blind = {"color": 1 / len(item.task.options)}
    true_effects = set(effects)
    if true_effects:  # a poster without effects asks for none
        worth["effect"] = len(true_effects & named_effects) / max(len(true_effects), len(named_effects))
        blind["effect"] = len(true_effects) / (item.task.metric("effect").k or 1)
    return worth, blind


def _boxes(item: PosterItem, value: BoxAnswer | None) -> Worth:
    truth: tuple[Box, ...] = item.truth
    answered = value.placed(item.texts, len(truth)) if value else [None] * len(truth)
    overlaps = [0.0 if box is None else iou(true_box, box) for true_box, box in zip(truth, answered)]
    areas = [box_area(box) for box in truth]
    worth = {
        "top1": overlaps[0],
        "top3": _mean(overlaps[:3]),
        "mean": _mean(overlaps),
        "recall": _recall(truth, answered),
    }
    worth["assigned"] = assigned_iou(truth, answered)
    blind = {"top1": areas[0], "top3": _mean(areas[:3]), "mean": _mean(areas), "assigned": _mean(areas), "recall": 1.0}
    return worth, blind


def _layout(item: PosterItem, value: BoxAnswer | None) -> Worth:
    truth: tuple[Box, ...] = item.truth
    answered = value.placed(item.texts, len(truth)) if value else [None] * len(truth)
    pairs = list(zip(truth, answered))
    bias = [FARTHEST if g is None else center_distance(box_center(t), box_center(g)) for t, g in pairs]
    area = [0.0 if g is None else area_ratio(t, g) for t, g in pairs]
    worth = {"bias": _mean(bias), "area": _mean(area), "recall": _recall(truth, answered)}
    return worth, {"recall": 1.0}  # no layout is the right one: what a blind one gets is not known


def _recall(truth: Sequence[Box], answered: Sequence[Box | None]) -> float:
    return sum(box is not None for box in answered) / len(truth)


def _patches(item: PosterItem, value: frozenset[int] | None) -> Worth:
    truth: frozenset[int] = item.truth
    answered = value or frozenset()
    worth = {"iou": len(truth & answered) / len(truth | answered), "match": float(len(answered) == len(truth))}
    return worth, {"iou": len(truth) / GRID**2, "match": 1.0}


def _rating(item: PosterItem, value: float | None) -> Worth:
    return ({} if value is None else {"pearson": value}), {"pearson": 0.0}


_WORTH: dict[str, Callable[[PosterItem, Any], Worth]] = {
    "text": _text, "texts": _texts, "lines": _lines, "letter": _choice, "label": _choice, "effects": _effects,
    "boxes": _boxes, "layout": _layout, "patches": _patches, "rating": _rating,
}  # fmt: skip


# -- what needs a judge --------------------------------------------------------------------------------------------


def _score_points(item: PosterItem, answer: ReadAnswer | UnreadAnswer) -> ItemScore:
    """Points that a judge finds covered; a verdict that is owed counts as not covered, and is counted."""
    if isinstance(answer, UnreadAnswer):
        return ItemScore(item, answer, {"share": 0.0, "strict": 0.0})
    replies = (*(item.judge or ()), *[""] * len(item.truth))[: len(item.truth)]
    verdicts = [read_yes(text) for text in replies]
    covered = [isinstance(verdict, ReadAnswer) and verdict.value for verdict in verdicts]
    owed = [isinstance(verdict, UnreadAnswer) for verdict in verdicts]
    best = [yes or open for yes, open in zip(covered, owed)]
    return ItemScore(item, answer, _points(covered), at_best=_points(best) if any(owed) else {}, owed=sum(owed))


def _points(covered: Sequence[bool]) -> dict[str, float]:
    return {"share": _mean(covered), "strict": float(all(covered))}


def _score_made(item: PosterItem, picture: bool | None) -> ItemScore:
    """A poster that a generator made; a missing poster fails everything."""
    nothing = dict.fromkeys((metric.id for metric in item.task.metrics), 0.0)
    if picture is False or (picture is None and item.judge is None):
        return ItemScore(item, NO_PICTURE, nothing)
    if item.task.answer == "points":
        return _score_points(item, ReadAnswer(item.judge))
    read = read_style if item.task.answer == "label" else read_attributes
    answer = read("\n".join(item.judge)) if item.judge else NOT_JUDGED
    if isinstance(answer, UnreadAnswer):
        return ItemScore(item, answer, nothing, at_best=dict.fromkeys(nothing, 1.0), owed=1)
    if item.task.answer == "label":
        return ItemScore(
            item, answer, {"accuracy": float(answer.value == item.truth)}, {"accuracy": 1 / len(item.task.options)}
        )
    return ItemScore(item, answer, {"richness": len(answer.value & set(ATTRIBUTES)) / len(ATTRIBUTES)})


def _mean(values: Sequence[float | bool]) -> float:
    return sum(values) / len(values)


# -- reading the answer of an item -------------------------------------------------------------------------------------

__all__ = ["ReadAnswer", "UnreadAnswer", "read_answer"]


def read_answer(
    item: PosterItem, boxes: Convention = "share", shown_pixels: int | None = None
) -> ReadAnswer | UnreadAnswer:
    """What the item's response says: a value of the kind its task asks for, or why there is none.

    Boxes in pixels are those of the picture as it was shown, made smaller to `shown_pixels` where it has more.
    """
    match item.task.answer:
        case "text":
            return read_text(item.response)
        case "texts" | "lines":
            return read_texts(item.response)
        case "letter":
            return read_letter(item.response, item.task.options)
        case "label":
            return read_label(item.response, item.task.options)
        case "effects":
            return read_effects(item.response, prompt_menu(item.prompt))
        case "boxes" | "layout":
            size = item.size or (1, 1)
            shown_size = size if shown_pixels is None else size_within(*size, shown_pixels)
            return read_boxes(item.response, boxes, shown_size)
        case "patches":
            return read_patches(item.response)
        case "rating":
            return read_rating(item.response)
    text = answer_text(item.response)
    return text if isinstance(text, UnreadAnswer) else ReadAnswer(text)


# -- key points of a poster: rules, verdicts, oracle -------------------------------------------------------------------

ONLY_EYES = "eyes"
"""The kind of a point that nothing but looking can answer."""


def point_rules(file: PosterFile, item: PosterItem) -> tuple[Mapping[str, Any] | None, ...]:
    """How each point of the item can be measured; None where it cannot. BadValue where the rules do not fit."""
    rules = file.records[item.number].get("rules")
    if rules is None:
        return (None,) * len(item.truth)
    if not isinstance(rules, list) or len(rules) != len(item.truth) or not all(map(_is_rule, rules)):
        raise BadValue(
            f"a rule with a kind, or null, for each of {len(item.truth)} points is needed under 'rules'",
            found=f"{len(rules)} entries" if isinstance(rules, list) else type(rules).__name__,
            where=f"{file.path}, record {item.number + 1}",
        )
    return tuple(rules)


def _is_rule(value: Any) -> bool:
    return value is None or (isinstance(value, dict) and isinstance(value.get("kind"), str))


def field_texts(file: PosterFile, item: PosterItem, field: str, n: int) -> list[str]:
    """The entries of a field that says something of each of n points; empty where there is nothing."""
    value = file.records[item.number].get(field)
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [str(text or "") for text in (*texts, *[""] * n)][:n]


def point_verdicts(file: PosterFile, item: PosterItem) -> list[PointCase]:
    """The points of an item with what is known of them."""
    n = len(item.truth)
    verdicts, whys, oracle = (field_texts(file, item, field, n) for field in ("judge", "why", "oracle"))
    return [
        PointCase(
            text=text,
            kind=ONLY_EYES if rule is None else rule["kind"],
            holds=yes_or_none(verdict),
            why=why,
            oracle=yes_or_none(oracle_verdict),
        )
        for text, rule, verdict, why, oracle_verdict in zip(
            item.truth, point_rules(file, item), verdicts, whys, oracle, strict=True
        )
    ]


def yes_or_none(reply: str) -> bool | None:
    """What a verdict says; None where it says neither."""
    read = read_yes(reply)
    return bool(read.value) if isinstance(read, ReadAnswer) else None


def with_oracle(file: PosterFile) -> PosterFile | None:
    """The file as if the oracle had judged it; None where it was not asked."""
    verdicts = {item.number: file.records[item.number].get("oracle") for item in file.items}
    if not any(verdicts.values()):
        return None
    return file.edited({number: {"judge": verdict} for number, verdict in verdicts.items()})
