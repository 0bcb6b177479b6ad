"""What each single answer is worth, 0 to 1 (a center bias: 0 to √2). What is missing or unread is worth nothing.

`blind` is what an answer given without looking gets: 1/k of k options; m/48 for m effects of 48, whatever number of
effects is named; the whole picture as every box; every patch of the grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from salon.bench.posters import boxes
from salon.bench.posters.answers import Read, Unread, read_answer
from salon.bench.posters.answers_boxes import BoxAnswer, Convention
from salon.bench.posters.answers_judged import read_attributes, read_style, read_yes
from salon.bench.posters.answers_text import found_texts, is_exact, letters, units, visible
from salon.bench.posters.item import Box, PosterItem
from salon.bench.posters.vocabulary import ATTRIBUTES, GRID, folded

NO_PICTURE = Unread("no picture")
NOT_JUDGED = Unread("not judged")


@dataclass(frozen=True)
class Scored:
    """One item with what its answer is worth by metric; a metric that asks nothing of it is left out."""

    item: PosterItem
    answer: Read | Unread
    worth: Mapping[str, float]
    blind: Mapping[str, float] = field(default_factory=dict)
    at_best: Mapping[str, float] = field(default_factory=dict)
    """With every verdict that a judge still owes turning out well; only where one is owed."""
    owed: int = 0
    """Verdicts that a judge owes: not asked, or answered with neither yes nor no."""
    bad_boxes: int = 0


def score_item(
    item: PosterItem, convention: Convention, *, shown_pixels: int | None = None, picture: bool | None = None
) -> Scored:
    """The worth of one answer; `picture` says whether a generated poster is there, None that nobody looked."""
    if item.task.side == "generation":
        return _score_made(item, picture)
    answer = read_answer(item, convention, shown_pixels)
    if item.task.answer == "points":
        return _score_points(item, answer)
    value = answer.value if isinstance(answer, Read) else None
    worth, blind = _WORTH[item.task.answer](item, value)
    bad = value.unread if isinstance(value, BoxAnswer) else 0
    return Scored(item, answer, worth, blind, bad_boxes=bad)


Worth = tuple[dict[str, float], dict[str, float]]


def _text(item: PosterItem, value: str | None) -> Worth:
    def key(text: str) -> str:
        return visible(text) if is_exact(item.prompt) else letters(text).casefold() or visible(text)

    right = value is not None and key(item.truth) in (key(value), key(item.response or ""))
    return {"accuracy": float(right)}, {"accuracy": 0.0}


def _texts(item: PosterItem, value: Sequence[str] | None) -> Worth:
    exact = is_exact(item.prompt)
    wanted = [text for text in item.truth if (visible if exact else letters)(text)]
    if not wanted:  # a poster with nothing but marks asks for none
        return {}, {}
    return {"share": _mean(found_texts(wanted, value or (), exact=exact))}, {"share": 0.0}


def _lines(item: PosterItem, value: Sequence[str] | None) -> Worth:
    key = visible if is_exact(item.prompt) else letters
    run = key("".join(value or ()))
    wanted = units(item.truth, key) or units(item.truth)
    return {"wr": _mean([unit in run for unit in wanted])}, {"wr": 0.0}


def _choice(item: PosterItem, value: str | None) -> Worth:
    return {"score": float(value == item.truth)}, {"score": 1 / len(item.task.options)}


def _effects(item: PosterItem, value: tuple[str | None, frozenset[str]] | None) -> Worth:
    color, named = value or (None, frozenset())
    true_color, *effects = (folded(one) for one in item.truth)
    worth = {"color": float(color is not None and folded(color) == true_color)}
    blind = {"color": 1 / len(item.task.options)}
    wanted = set(effects)
    if wanted:  # a poster without effects asks for none
        worth["effect"] = len(wanted & named) / max(len(wanted), len(named))
        blind["effect"] = len(wanted) / (item.task.metric("effect").k or 1)
    return worth, blind


def _boxes(item: PosterItem, value: BoxAnswer | None) -> Worth:
    truth: tuple[Box, ...] = item.truth
    given = value.placed(item.texts, len(truth)) if value else [None] * len(truth)
    overlaps = [0.0 if box is None else boxes.iou(one, box) for one, box in zip(truth, given)]
    areas = [boxes.area(box) for box in truth]
    worth = {"top1": overlaps[0], "top3": _mean(overlaps[:3]), "mean": _mean(overlaps), "recall": _recall(truth, given)}
    worth["assigned"] = boxes.assigned_iou(truth, given)
    blind = {"top1": areas[0], "top3": _mean(areas[:3]), "mean": _mean(areas), "assigned": _mean(areas), "recall": 1.0}
    return worth, blind


def _layout(item: PosterItem, value: BoxAnswer | None) -> Worth:
    truth: tuple[Box, ...] = item.truth
    given = value.placed(item.texts, len(truth)) if value else [None] * len(truth)
    pairs = list(zip(truth, given))
    bias = [boxes.FARTHEST if g is None else boxes.distance(boxes.center(t), boxes.center(g)) for t, g in pairs]
    area = [0.0 if g is None else boxes.area_ratio(t, g) for t, g in pairs]
    worth = {"bias": _mean(bias), "area": _mean(area), "recall": _recall(truth, given)}
    return worth, {"recall": 1.0}  # no layout is the right one: what a blind one gets is not known


def _recall(truth: Sequence[Box], given: Sequence[Box | None]) -> float:
    return sum(box is not None for box in given) / len(truth)


def _patches(item: PosterItem, value: frozenset[int] | None) -> Worth:
    truth: frozenset[int] = item.truth
    named = value or frozenset()
    worth = {"iou": len(truth & named) / len(truth | named), "match": float(len(named) == len(truth))}
    return worth, {"iou": len(truth) / GRID**2, "match": 1.0}


def _rating(item: PosterItem, value: float | None) -> Worth:
    return ({} if value is None else {"pearson": value}), {"pearson": 0.0}


_WORTH: dict[str, Callable[[PosterItem, Any], Worth]] = {
    "text": _text, "texts": _texts, "lines": _lines, "letter": _choice, "label": _choice, "effects": _effects,
    "boxes": _boxes, "layout": _layout, "patches": _patches, "rating": _rating,
}  # fmt: skip


# -- what needs a judge --------------------------------------------------------------------------------------------


def _score_points(item: PosterItem, answer: Read | Unread) -> Scored:
    """Points that a judge finds covered; a verdict that is owed counts as not covered, and is counted."""
    if isinstance(answer, Unread):
        return Scored(item, answer, {"share": 0.0, "strict": 0.0})
    said = (*(item.judge or ()), *[""] * len(item.truth))[: len(item.truth)]
    verdicts = [read_yes(text) for text in said]
    covered = [isinstance(one, Read) and one.value for one in verdicts]
    owed = [isinstance(one, Unread) for one in verdicts]
    best = [yes or open for yes, open in zip(covered, owed)]
    return Scored(item, answer, _points(covered), at_best=_points(best) if any(owed) else {}, owed=sum(owed))


def _points(covered: Sequence[bool]) -> dict[str, float]:
    return {"share": _mean(covered), "strict": float(all(covered))}


def _score_made(item: PosterItem, picture: bool | None) -> Scored:
    """A poster that a generator made; one that is not there fails everything."""
    nothing = dict.fromkeys((metric.id for metric in item.task.metrics), 0.0)
    if picture is False or (picture is None and item.judge is None):
        return Scored(item, NO_PICTURE, nothing)
    if item.task.answer == "points":
        return _score_points(item, Read(item.judge))
    read = read_style if item.task.answer == "label" else read_attributes
    answer = read("\n".join(item.judge)) if item.judge else NOT_JUDGED
    if isinstance(answer, Unread):
        return Scored(item, answer, nothing, at_best=dict.fromkeys(nothing, 1.0), owed=1)
    if item.task.answer == "label":
        return Scored(
            item, answer, {"accuracy": float(answer.value == item.truth)}, {"accuracy": 1 / len(item.task.options)}
        )
    return Scored(item, answer, {"richness": len(answer.value & set(ATTRIBUTES)) / len(ATTRIBUTES)})


def _mean(values: Sequence[float | bool]) -> float:
    return sum(values) / len(values)
