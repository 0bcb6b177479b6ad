"""The released scoring, with its faults: for comparison with published tables only (`--compat released`).

What it does, and our own scoring does not:

- a letter or a word anywhere in the text counts, so that "AB" and a list of all options are right;
- items that look like refusals, posters whose texts were found by less than 5%, ratings that were not found and posters
  that were not made leave the denominator;
- font effect 1 has four options and is scored as nine; labels of font effect 2 with a space or a hyphen never match;
- boxes are made of the numbers with a decimal point, and each takes the best of four readings; those that are not
  given cost nothing; boxes of all posters are put in one pot;
- style is computed from the accuracy of layout comparison;
- a judge's error is a no, and so is "Yes." of a judge of posters;
- a mean over nothing, a record without a response and a list of ids that is none end it with an exception. Such a
  number is reported as a crash, with the exception's name. Records without a response end every task that looks at
  them: rotation and alignment look at those of all tasks.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from salon.bench.posters.files import PosterFile, Record, find_picture
from salon.bench.posters.item import Box, box_area, box_center, center_distance
from salon.bench.posters.results import MetricResult, PosterReport, TaskResult
from salon.bench.posters.tasks import ATTRIBUTES, FONT_SIZES, GROUPS, task_named

Answered = Sequence[tuple[Record, str]]
"""Records with their responses."""
_LOST = re.compile(r"[^\[\], .\d]")
"""Deleted before numbers are read: what these characters kept apart is joined."""
_NUMBER = re.compile(r"\d+\.\d+")
_CAPS = {"top1": 1, "top3": 3, "mean": 30}


def text_localization(answered: Answered) -> dict[str, list[float]]:
    """Overlaps of all boxes in one pot for each cap, and the recall of each poster."""
    pots = {
        name: [max(_iou(truth, box) for box in readings) for truth, readings in _pairs(answered, cap)]
        for name, cap in _CAPS.items()
    }
    return _all_or_none(pots, answered)


def layout_generation(answered: Answered) -> dict[str, list[float]]:
    """Distances and ratios, each by its own best reading, and the recall of each poster."""
    pairs = list(_pairs(answered, None))
    pots = {
        "bias": [
            min(center_distance(box_center(truth), box_center(box)) for box in readings) for truth, readings in pairs
        ],
        "area": [_ratio(truth, readings) for truth, readings in pairs],
    }
    return _all_or_none(pots, answered)


def numbers(response: str) -> list[list[float]]:
    """The numbers that have a decimal point, four by four; a rest is left."""
    values = [float(number) for number in _NUMBER.findall(_LOST.sub("", response))]
    return [values[i : i + 4] for i in range(0, len(values) - 3, 4)]


def readings(raw: Sequence[float], size: Sequence[float]) -> list[Box]:
    """The four ways a box was read: pixels of the picture, shares, of 1024, of 1000."""
    x1, y1, x2, y2 = raw
    sides = [(size[0], size[1]), (1, 1), (1024, 1024), (1000, 1000)]
    return [(x1 / w, y1 / h, x2 / w, y2 / h) for w, h in sides]


def _pairs(answered: Answered, cap: int | None) -> Iterator[tuple[Box, list[Box]]]:
    """Box i of the truth with box i of the response, for as long as there are both."""
    for record, response in answered:
        size = record["size"]
        truth = [(x1 / size[0], y1 / size[1], x2 / size[0], y2 / size[1]) for x1, y1, x2, y2 in _truth(record)]
        for box, raw in list(zip(truth, numbers(response)))[:cap]:
            yield box, readings(raw, size)


def _truth(record: Record) -> list[list[float]]:
    result: list[list[float]] = record["text_bbox"] if "text_bbox" in record else record["gt"]
    return result


def _all_or_none(pots: dict[str, list[float]], answered: Answered) -> dict[str, list[float]]:
    """The pots with the recalls; one function computes them all, so that an empty pot leaves none of them."""
    recalls = [min(len(numbers(response)) / len(_truth(record)), 1.0) for record, response in answered]
    return {**pots, "recall": recalls if all(pots.values()) else []}


def _iou(truth: Box, box: Box) -> float:
    """Boxes may be empty here, and touching ones overlap by nothing; inverted ones are worth 0."""
    if any(low > high for side in (truth, box) for low, high in ((side[0], side[2]), (side[1], side[3]))):
        return 0.0
    width = min(truth[2], box[2]) - max(truth[0], box[0])
    height = min(truth[3], box[3]) - max(truth[1], box[1])
    if width < 0 or height < 0:
        return 0.0
    both = width * height
    return both / (box_area(truth) + box_area(box) - both)


def _ratio(truth: Box, readings: Sequence[Box]) -> float:
    """Of the ratios, true area over predicted, the one nearest to 1; its inverse where it is above."""
    ratios = [box_area(truth) / area if (area := box_area(box)) > 0 else 0.0 for box in readings]
    nearest = min(ratios, key=lambda ratio: abs(ratio - 1))
    return 1 / nearest if nearest > 1 else nearest


# -- the rules, task by task -------------------------------------------------------------------------------------------

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
_RATING_NUMBER = r"(\d+\.?\d*)"
_RATINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_RATING_NUMBER}\s*/\s*10",
        rf"{_RATING_NUMBER}\s*out\s*of\s*10",
        rf"(?:score|rating|分数|评分)[:：\s]+{_RATING_NUMBER}",
        rf"{_RATING_NUMBER}\s*(?:分|points?)",
        rf"\b{_RATING_NUMBER}\b",
    )
)
_COUNTERCLOCKWISE = "counterclockwise rotation"


@dataclass(frozen=True)
class ReleasedNumber:
    """A number of the released scoring and what it was divided by; None where the released code ends with `crash`."""

    value: float | None
    n: int
    crash: str | None = None


Numbers = dict[str, ReleasedNumber]


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


def _clean_response(record: Record) -> str:
    """The response, cleaned: the parts of a list each, then joined."""
    response = record["response"]
    if response is None:
        raise UnboundLocalError("a response that is null")
    return "".join(clean(part) for part in ([response] if isinstance(response, str) else response))


def _with_responses(records: Iterable[Record]) -> Iterable[tuple[Record, str]]:
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
    return {id: ReleasedNumber(_mean(values), len(values))}


# -- understanding -------------------------------------------------------------------------------------------------


def _gt_texts(record: Record, *keys: str) -> list[str]:
    value = next(record[key] for key in (*keys, "gt") if key in record)
    return [value] if isinstance(value, str) else value


def _logo(records: Sequence[Record]) -> Numbers:
    truths = ["".join(clean(text) for text in _gt_texts(record)).lower() for record in records]
    return _means("accuracy", [_clean_response(record).lower() == truth for record, truth in zip(records, truths)])


def _poster(records: Sequence[Record]) -> Numbers:
    shares = []
    for record in records:
        text = _clean_response(record).lower()
        shares.append(_mean([clean(truth).lower() in text for truth in _gt_texts(record, "texts")]))
    return _means("share", [share for share in shares if share >= LEAST_POSTER])


def _recall(record: Record) -> float:
    run, text = "".join(clean(line) for line in _gt_texts(record)), _clean_response(record)
    units = [run[i : i + _UNIT] in text for i in range(0, len(run) - _UNIT + 1, _UNIT)]
    return _mean(units) if units else 0.0


def ocr_recall(records: Sequence[Record], by_name: Mapping[str, Sequence[Record]]) -> Numbers:
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
        "wr": ReleasedNumber(statistics.mean(means), len(records)),
        "sd": ReleasedNumber(statistics.stdev(means), len(records)),
    }


def _matching(records: Sequence[Record]) -> Numbers:
    accuracies, n = [], 0
    for half in task_named("font_matching").strings:
        texts = [(_clean_response(record), record["gt"]) for record in records if record["task"] == half]
        right = [gt in text and len(text) <= LONGEST_LETTER for text, gt in texts if not refuse_option(text)]
        accuracies.append(_mean(right))
        n += len(right)
    return {"score": ReleasedNumber(k_norm(_mean(accuracies), 9), n)}


def _letters(k: int, *, refusals: bool) -> Callable[[Sequence[Record]], Numbers]:
    def score(records: Sequence[Record]) -> Numbers:
        texts = [(_clean_response(record), record["gt"]) for record in records]
        right = [gt in text for text, gt in texts if not (refusals and refuse_option(text))]
        return {"score": ReleasedNumber(k_norm(_mean(right), k), len(right))}

    return score


def _effects(records: Sequence[Record]) -> Numbers:
    texts = [(_clean_response(record), record["gt"]) for record in records]
    colors = [gt[0] in text for text, gt in texts]
    effects = [_mean([effect in text for effect in gt[1:]]) for text, gt in texts if len(gt) > 1]
    return {
        "color": ReleasedNumber(k_norm(_mean(colors), 16), len(colors)),
        "effect": ReleasedNumber(k_norm(_mean(effects), 48), len(effects)),
    }


def _alignment(everything: Sequence[Record]) -> Numbers:
    right = [
        truth in answer
        for record, answer in _with_responses(everything)
        if record["task"] == "alignment"
        for truth in _gt_texts(record, "alignment")
    ]
    return {"score": ReleasedNumber(k_norm(_mean(right), 3), len(right))}


def _rotation(everything: Sequence[Record]) -> Numbers:
    right = []
    for record, answer in _with_responses(everything):
        if record["task"] == "rotation":
            truth = _gt_texts(record, "rotation")[0]
            turned_back = truth == "clockwise rotation" and _COUNTERCLOCKWISE in answer
            right.append(truth in answer and not turned_back)
    return {"score": ReleasedNumber(k_norm(_mean(right), 3), len(right))}


def _empty(records: Sequence[Record]) -> Numbers:
    overlaps, matches = [], []
    for record, answer in _with_responses(records):
        start, end = answer.rfind("["), answer.rfind("]")
        pieces = answer[start + 1 : end].split(",") if -1 < start < end else []
        last_list = [int(piece.strip()) for piece in pieces if piece.strip()]
        ids, truth = last_list, set(record["gt"])
        answered = set(ids)
        overlaps.append(len(answered & truth) / len(answered | truth) if answered | truth else 1.0)
        matches.append(len(ids) == len(record["gt"]))
    return _means("iou", overlaps) | _means("match", matches)


def _layout_accuracy(records: Sequence[Record]) -> tuple[float, int]:
    right = [record["gt"] in _clean_response(record)[0] for record in records]
    return _mean(right), len(right)


def _comparison(records: Sequence[Record]) -> Numbers:
    accuracy, n = _layout_accuracy(records)
    return {"score": ReleasedNumber(k_norm(accuracy, 2), n)}


def style_of_layout(styles: Sequence[Record], layouts: Sequence[Record]) -> Numbers:
    """The fault: the accuracy of layout comparison is printed, once that of style has been computed."""
    for record in styles:
        record["response"].lower()
    accuracy, n = _layout_accuracy(layouts)
    return {"score": ReleasedNumber(k_norm(accuracy, _STYLES_K), n)}


def _points(records: Sequence[Record]) -> Numbers:
    """The entries of a judge's list with a "Yes" in them; a text is a list of its characters."""
    return _means("share", [_mean(["Yes" in verdict for verdict in record["judge"]]) for record in records])


def _rating(records: Sequence[Record]) -> Numbers:
    pairs = []
    for record in records:
        response, truth = record["response"], record["gt"]
        text = response if isinstance(response, str) else "".join(map(str, response or ()))
        people = float(truth) if isinstance(truth, int | float) else _parse_rating(str(truth))
        rating = None if response is None else _parse_rating(text.strip())
        if rating is not None and people is not None:
            pairs.append((rating, people))
    if not pairs:
        return {"pearson": ReleasedNumber(0.0, 0)}
    x, y = (_standardize(np.array(side)) for side in zip(*pairs))
    with np.errstate(invalid="ignore"):
        cosine = float(np.dot(x, y) / (np.linalg.norm(x) * np.linalg.norm(y)))
    if math.isnan(cosine):
        return {"pearson": ReleasedNumber(None, len(pairs), "not a number")}
    return {"pearson": ReleasedNumber(cosine, len(pairs))}


def _standardize(values: np.ndarray) -> np.ndarray:
    """Centered and scaled; values without a spread stay as they are, not even centered."""
    sd = np.std(values)
    return values if sd == 0 else (values - np.mean(values)) * (_SD / sd)


def _parse_rating(text: str) -> float | None:
    """The first match of the first pattern whose first match is from 0 to 10."""
    for pattern in _RATINGS:
        match = pattern.search(text)
        if match and 0 <= float(match[1]) <= 10:
            return float(match[1])
    return None


# -- generation ----------------------------------------------------------------------------------------------------


def _share_equal(verdicts: Any, word: str) -> float:
    """Verdicts that are the wanted word and nothing else, in any case; a text is one verdict."""
    if isinstance(verdicts, list):
        return _mean([verdict.lower() == word.lower() for verdict in verdicts])
    return float(verdicts.lower() == word.lower())


def _checkpoints(records: Sequence[Record]) -> Numbers:
    return _means("share", [_share_equal(record["judge"], "yes") for record in records])


def _style(records: Sequence[Record]) -> Numbers:
    return _means("accuracy", [_share_equal(record["judge"], record["style"]) for record in records])


def _richness(records: Sequence[Record]) -> Numbers:
    texts = [record["judge"].lower() for record in records]
    shares = [_mean([attribute in text for text in texts]) for attribute in ATTRIBUTES]
    return {"richness": ReleasedNumber(_mean(shares), len(records))}


def _box_scorer(score: Callable[..., dict[str, list[float]]]) -> Callable[[Sequence[Record]], Numbers]:
    def numbers(records: Sequence[Record]) -> Numbers:
        pots = score(list(_with_responses(records)))
        return {id: number for name, values in pots.items() for id, number in _means(name, values).items()}

    return numbers


SCORERS: Mapping[str, Callable[[Sequence[Record]], Numbers]] = {
    "logo_ocr": _logo, "poster_ocr": _poster, "font_size_ocr": _sizes, "font_matching": _matching,
    "font_attributes": _letters(2, refusals=True), "font_effect": _letters(_CLASSIC_K, refusals=False),
    "font_effect_2": _effects, "text_localization": _box_scorer(text_localization), "alignment": _alignment,
    "rotation": _rotation, "empty_space": _empty, "layout_comparison": _comparison,
    "layout_generation": _box_scorer(layout_generation), "composition_understanding": _points,
    "intention_understanding": _points, "overall_rating": _rating, "gen_dense": _checkpoints,
    "gen_composition": _checkpoints, "gen_intention": _checkpoints, "gen_style": _style, "gen_font": _richness,
}  # fmt: skip


# -- reports -----------------------------------------------------------------------------------------------------------

_OURS = {"strict", "assigned"}
"""Metrics that the released scoring does not have."""
_PRINTED = {name: {m.id for m in task_named(name).metrics if m.id not in _OURS} for name in (
    *SCORERS, "simple_ocr", "hard_ocr", "style_understanding")}  # fmt: skip


def released_scores(files: Sequence[PosterFile], pictures: Path | None = None) -> dict[str, Numbers]:
    """Every metric by task, as the released code computes it from the same files."""
    by_name = {file.task.name: _records(file, pictures) for file in files}
    everything = _in_order([file for file in files if file.task.side == "understanding"])
    return {name: _numbers(name, records, by_name, everything) for name, records in by_name.items()}


def _numbers(
    name: str, records: Sequence[Record], by_name: Mapping[str, Sequence[Record]], everything: Sequence[Record]
) -> Numbers:
    try:
        if name == "style_understanding":
            return style_of_layout(records, by_name.get("layout_comparison", ()))
        if name in ("simple_ocr", "hard_ocr"):
            return ocr_recall(records, by_name)
        if name in ("alignment", "rotation"):
            return SCORERS[name](everything)
        return SCORERS[name](records)
    except (ArithmeticError, LookupError, NameError, ValueError, AttributeError, TypeError) as error:
        return {metric.id: ReleasedNumber(None, 0, type(error).__name__) for metric in task_named(name).metrics}


def with_released(report: PosterReport, files: Sequence[PosterFile], pictures: Path | None = None) -> PosterReport:
    """The report with the released numbers beside its own."""
    numbers = released_scores(files, pictures)
    tasks = tuple(_with_numbers(task, numbers.get(task.task, {})) for task in report.tasks)
    groups = []
    for group in report.groups:
        values = [
            metric.released
            for task in tasks
            if task.group == group.group
            for metric in task.metrics
            if metric.grouped and metric.id in _PRINTED[task.task]
        ]
        groups.append(group.model_copy(update={"released": _mean_of_all(values)}))
    means = [group.released for group in groups if group.group in GROUPS]
    overall = None if report.overall is None else _mean_of_all(means)
    return report.model_copy(
        update={"compat": "released", "tasks": tasks, "groups": tuple(groups), "overall_released": overall}
    )


def _with_numbers(task: TaskResult, numbers: Numbers) -> TaskResult:
    def metric(result: MetricResult) -> MetricResult:
        number = numbers.get(result.id)
        if number is None or (number.crash and result.id not in _PRINTED[task.task]):
            return result
        return result.model_copy(
            update={"released": number.value, "released_n": number.n, "released_crash": number.crash}
        )

    return task.model_copy(update={"metrics": tuple(metric(result) for result in task.metrics)})


def _mean_of_all(values: Sequence[float | None]) -> float | None:
    """The mean; None where one of the values is: a mean over what is left would be another figure."""
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers and len(numbers) == len(values) else None


def _records(file: PosterFile, pictures: Path | None) -> list[Record]:
    """The records it looked at: a poster that was not made was skipped."""
    if file.task.side == "understanding":
        return list(file.records)
    with_verdicts = [record for record in file.records if record.get("judge") is not None]
    return (
        with_verdicts
        if pictures is None
        else [record for record in with_verdicts if find_picture(pictures, record["path"])]
    )


def _in_order(files: Sequence[PosterFile]) -> list[Record]:
    """The records of all files in one list: in the order of the list they were merged in, where there is one."""
    placed_records = [
        (str(file.path), place, record)
        for file in files
        for place, record in zip(file.merged_at or [0] * len(file.records), file.records, strict=True)
    ]
    return [record for *_, record in sorted(placed_records, key=lambda row: row[:2])]
