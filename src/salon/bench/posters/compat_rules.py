"""The rules of the released scoring, task by task: records in, numbers out; they raise where the released code does.

Records without a response end every task that looks at them: rotation and alignment look at those of all tasks.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from salon.bench.posters.compat_boxes import layout_generation, text_localization
from salon.bench.posters.files import Record
from salon.bench.posters.task import task_named
from salon.bench.posters.vocabulary import ATTRIBUTES, FONT_SIZES

LEAST_POSTER = 0.05
"""Posters below this share of texts found were dropped."""
LEAST_READ = 0.1
"""A second pass, which is not printed, takes the mean of the records that reach this."""
LONGEST_LETTER = 20
_CLASSIC_K = 9
"""What font effect 1 was normalised by; its questions have four options."""
_STYLES_K = 17
_UNIT = 5
_SD = 3.0
_NUMBER = r"(\d+\.?\d*)"
_RATINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NUMBER}\s*/\s*10", rf"{_NUMBER}\s*out\s*of\s*10", rf"(?:score|rating|分数|评分)[:：\s]+{_NUMBER}",
        rf"{_NUMBER}\s*(?:分|points?)", rf"\b{_NUMBER}\b",
    )
)  # fmt: skip
_COUNTERCLOCKWISE = "counterclockwise rotation"


@dataclass(frozen=True)
class Released:
    """A number of the released scoring and what it was divided by; None where the released code ends with `crash`."""

    value: float | None
    n: int
    crash: str | None = None


Numbers = dict[str, Released]


def clean(text: str) -> str:
    """Only the ASCII letters and digits."""
    return re.sub(r"[^A-Za-z0-9]", "", text)


def k_norm(accuracy: float, k: int) -> float:
    """The k-option score."""
    return (k * accuracy - 1) / (k - 1)


def refuse_option(text: str) -> bool:
    """What it took for a refusal, of a cleaned text: no capital from A to I, or several, each once, if it is long."""
    capitals = Counter(c for c in text if "A" <= c <= "I")
    return not capitals or (len(text) > 5 and len(capitals) > 1 and max(capitals.values()) == 1)


# -- responses -----------------------------------------------------------------------------------------------------


def _cleaned(record: Record) -> str:
    """The response, cleaned: the parts of a list each, then joined."""
    response = record["response"]
    if response is None:
        raise UnboundLocalError("a response that is null")
    return "".join(clean(part) for part in ([response] if isinstance(response, str) else response))


def _joined(records: Iterable[Record]) -> Iterable[tuple[Record, str]]:
    """Each record with its response as it stands; after a null one it went on with the answer before."""
    answer: str | None = None
    for record in records:
        response = record["response"]
        if response is not None:
            answer = response if isinstance(response, str) else "".join(response)
        if answer is None:
            raise UnboundLocalError("no answer before the first null")
        yield record, answer


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _means(id: str, values: Sequence[float]) -> Numbers:
    return {id: Released(_mean(values), len(values))}


# -- understanding -------------------------------------------------------------------------------------------------


def _gt_texts(record: Record, *keys: str) -> list[str]:
    value = next(record[key] for key in (*keys, "gt") if key in record)
    return [value] if isinstance(value, str) else value


def _logo(records: Sequence[Record]) -> Numbers:
    truths = ["".join(clean(text) for text in _gt_texts(record)).lower() for record in records]
    return _means("accuracy", [_cleaned(record).lower() == truth for record, truth in zip(records, truths)])


def _poster(records: Sequence[Record]) -> Numbers:
    shares = []
    for record in records:
        text = _cleaned(record).lower()
        shares.append(_mean([clean(wanted).lower() in text for wanted in _gt_texts(record, "texts")]))
    return _means("share", [share for share in shares if share >= LEAST_POSTER])


def _recall(record: Record) -> float:
    run, text = "".join(clean(line) for line in _gt_texts(record)), _cleaned(record)
    units = [run[i : i + _UNIT] in text for i in range(0, len(run) - _UNIT + 1, _UNIT)]
    return _mean(units) if units else 0.0


def words(records: Sequence[Record], by_name: Mapping[str, Sequence[Record]]) -> Numbers:
    """Simple and hard OCR are one function: what ends one ends both."""
    for name in ("simple_ocr", "hard_ocr"):
        recalls = [_recall(record) for record in by_name.get(name, ())]
        if name in by_name:
            _mean([recall for recall in recalls if recall >= LEAST_READ])
    return _means("wr", [_recall(record) for record in records])


def _sizes(records: Sequence[Record]) -> Numbers:
    means = []
    for size in sorted(FONT_SIZES, reverse=True):
        recalls = [_recall(record) for record in records if record.get("subtask") == size]
        means.append(_mean(recalls))
        _mean([recall for recall in recalls if recall >= LEAST_READ])
    return {
        "wr": Released(statistics.mean(means), len(records)),
        "sd": Released(statistics.stdev(means), len(records)),
    }


def _matching(records: Sequence[Record]) -> Numbers:
    accuracies, n = [], 0
    for half in task_named("font_matching").strings:
        texts = [(_cleaned(record), record["gt"]) for record in records if record["task"] == half]
        right = [gt in text and len(text) <= LONGEST_LETTER for text, gt in texts if not refuse_option(text)]
        accuracies.append(_mean(right))
        n += len(right)
    return {"score": Released(k_norm(_mean(accuracies), 9), n)}


def _letters(k: int, *, refusals: bool) -> Callable[[Sequence[Record]], Numbers]:
    def score(records: Sequence[Record]) -> Numbers:
        texts = [(_cleaned(record), record["gt"]) for record in records]
        right = [gt in text for text, gt in texts if not (refusals and refuse_option(text))]
        return {"score": Released(k_norm(_mean(right), k), len(right))}

    return score


def _effects(records: Sequence[Record]) -> Numbers:
    texts = [(_cleaned(record), record["gt"]) for record in records]
    colors = [gt[0] in text for text, gt in texts]
    effects = [_mean([effect in text for effect in gt[1:]]) for text, gt in texts if len(gt) > 1]
    return {
        "color": Released(k_norm(_mean(colors), 16), len(colors)),
        "effect": Released(k_norm(_mean(effects), 48), len(effects)),
    }


def _alignment(everything: Sequence[Record]) -> Numbers:
    right = [
        wanted in answer
        for record, answer in _joined(everything)
        if record["task"] == "alignment"
        for wanted in _gt_texts(record, "alignment")
    ]
    return {"score": Released(k_norm(_mean(right), 3), len(right))}


def _rotation(everything: Sequence[Record]) -> Numbers:
    right = []
    for record, answer in _joined(everything):
        if record["task"] == "rotation":
            wanted = _gt_texts(record, "rotation")[0]
            turned_back = wanted == "clockwise rotation" and _COUNTERCLOCKWISE in answer
            right.append(wanted in answer and not turned_back)
    return {"score": Released(k_norm(_mean(right), 3), len(right))}


def _empty(records: Sequence[Record]) -> Numbers:
    overlaps, matches = [], []
    for record, answer in _joined(records):
        ids, truth = _last_list(answer), set(record["gt"])
        named = set(ids)
        overlaps.append(len(named & truth) / len(named | truth) if named | truth else 1.0)
        matches.append(len(ids) == len(record["gt"]))
    return _means("iou", overlaps) | _means("match", matches)


def _last_list(answer: str) -> list[int]:
    """What stands between the last opening and the last closing bracket; ValueError where a piece is no number."""
    start, end = answer.rfind("["), answer.rfind("]")
    pieces = answer[start + 1 : end].split(",") if -1 < start < end else []
    return [int(piece.strip()) for piece in pieces if piece.strip()]


def _layout_accuracy(records: Sequence[Record]) -> tuple[float, int]:
    right = [record["gt"] in _cleaned(record)[0] for record in records]
    return _mean(right), len(right)


def _comparison(records: Sequence[Record]) -> Numbers:
    accuracy, n = _layout_accuracy(records)
    return {"score": Released(k_norm(accuracy, 2), n)}


def style_of_layout(styles: Sequence[Record], layouts: Sequence[Record]) -> Numbers:
    """The fault: the accuracy of layout comparison is printed, once that of style has been computed."""
    for record in styles:
        record["response"].lower()
    accuracy, n = _layout_accuracy(layouts)
    return {"score": Released(k_norm(accuracy, _STYLES_K), n)}


def _points(records: Sequence[Record]) -> Numbers:
    """The entries of a judge's list with a "Yes" in them; a text is a list of its characters."""
    return _means("share", [_mean(["Yes" in verdict for verdict in record["judge"]]) for record in records])


def _rating(records: Sequence[Record]) -> Numbers:
    pairs = []
    for record in records:
        response, truth = record["response"], record["gt"]
        text = response if isinstance(response, str) else "".join(map(str, response or ()))
        people = float(truth) if isinstance(truth, int | float) else _rated(str(truth))
        rating = None if response is None else _rated(text.strip())
        if rating is not None and people is not None:
            pairs.append((rating, people))
    if not pairs:
        return {"pearson": Released(0.0, 0)}
    x, y = (_scaled(np.array(side)) for side in zip(*pairs))
    with np.errstate(invalid="ignore"):
        cosine = float(np.dot(x, y) / (np.linalg.norm(x) * np.linalg.norm(y)))
    if math.isnan(cosine):
        return {"pearson": Released(None, len(pairs), "not a number")}
    return {"pearson": Released(cosine, len(pairs))}


def _scaled(values: np.ndarray) -> np.ndarray:
    """Centered and scaled; values without a spread stay as they are, not even centered."""
    sd = np.std(values)
    return values if sd == 0 else (values - np.mean(values)) * (_SD / sd)


def _rated(text: str) -> float | None:
    """The first match of the first pattern whose first match is from 0 to 10."""
    for pattern in _RATINGS:
        match = pattern.search(text)
        if match and 0 <= float(match[1]) <= 10:
            return float(match[1])
    return None


# -- generation ----------------------------------------------------------------------------------------------------


def _share_equal(verdicts: Any, wanted: str) -> float:
    """Verdicts that are the wanted word and nothing else, in any case; a text is one verdict."""
    if isinstance(verdicts, list):
        return _mean([verdict.lower() == wanted.lower() for verdict in verdicts])
    return float(verdicts.lower() == wanted.lower())


def _checkpoints(records: Sequence[Record]) -> Numbers:
    return _means("share", [_share_equal(record["judge"], "yes") for record in records])


def _style(records: Sequence[Record]) -> Numbers:
    return _means("accuracy", [_share_equal(record["judge"], record["style"]) for record in records])


def _richness(records: Sequence[Record]) -> Numbers:
    texts = [record["judge"].lower() for record in records]
    shares = [_mean([attribute in text for text in texts]) for attribute in ATTRIBUTES]
    return {"richness": Released(_mean(shares), len(records))}


def _boxed(score: Callable[..., dict[str, list[float]]]) -> Callable[[Sequence[Record]], Numbers]:
    def numbers(records: Sequence[Record]) -> Numbers:
        pots = score(list(_joined(records)))
        return {id: number for name, values in pots.items() for id, number in _means(name, values).items()}

    return numbers


SCORERS: Mapping[str, Callable[[Sequence[Record]], Numbers]] = {
    "logo_ocr": _logo, "poster_ocr": _poster, "font_size_ocr": _sizes, "font_matching": _matching,
    "font_attributes": _letters(2, refusals=True), "font_effect": _letters(_CLASSIC_K, refusals=False),
    "font_effect_2": _effects, "text_localization": _boxed(text_localization), "alignment": _alignment,
    "rotation": _rotation, "empty_space": _empty, "layout_comparison": _comparison,
    "layout_generation": _boxed(layout_generation), "composition_understanding": _points,
    "intention_understanding": _points, "overall_rating": _rating, "gen_dense": _checkpoints,
    "gen_composition": _checkpoints, "gen_intention": _checkpoints, "gen_style": _style, "gen_font": _richness,
}  # fmt: skip
