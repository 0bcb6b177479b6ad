"""The released scoring, with its faults: for comparison with published tables only (`--compat released`).

What it does, and the house's own scoring does not:

- a letter or a word anywhere in the text counts, so that "AB" and a list of all options are right;
- items that look like refusals, posters whose texts were found by less than 5%, ratings that were not found and posters
  that were not made leave the denominator;
- font effect 1 has four options and is scored as nine; labels of font effect 2 with a space or a hyphen never match;
- boxes are made of the numbers with a decimal point, and each takes the best of four readings; those that are not
  given cost nothing; boxes of all posters are put in one pot;
- style is computed from the accuracy of layout comparison;
- a judge's error is a no.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from salon.bench.posters.compat_boxes import layout_generation, text_localization
from salon.bench.posters.files import PosterFile, Record, find_picture
from salon.bench.posters.item import texts_in
from salon.bench.posters.results import MetricResult, PosterGroup, PosterReport, TaskResult
from salon.bench.posters.task import GROUPS
from salon.bench.posters.vocabulary import ATTRIBUTES

LEAST_POSTER = 0.05
"""Posters below this share of texts found were dropped."""
LONGEST_LETTER = 20
_CLASSIC_K = 9
"""What font effect 1 was normalised by; its questions have four options."""
_NUMBERS = (
    r"(\d+(?:\.\d+)?)\s*/\s*10\b", r"(?:score|rating)\s*(?:is|of|:|=)?\s*(\d+(?:\.\d+)?)", r"(\d+(?:\.\d+)?)",
)  # fmt: skip


@dataclass(frozen=True)
class Released:
    """A number of the released scoring and what it was divided by; None where nothing was left."""

    value: float | None
    n: int


Found = dict[str, Released]


def clean(text: str) -> str:
    """Only the ASCII letters and digits."""
    return re.sub(r"[^A-Za-z0-9]", "", text)


def k_norm(accuracy: float, k: int) -> float:
    """The k-option score."""
    return (k * accuracy - 1) / (k - 1)


def refuse_option(response: str) -> bool:
    """What it took for a refusal: no capital from A to I, or several, each once, in a text longer than five."""
    text = clean(response)
    capitals = Counter(c for c in text if "A" <= c <= "I")
    return not capitals or (len(text) > 5 and len(capitals) > 1 and max(capitals.values()) == 1)


def released_scores(files: Sequence[PosterFile], pictures: Path | None = None) -> dict[str, Found]:
    """Every metric by task, as the released code computes it from the same files."""
    by_name = {file.task.name: _there(file, pictures) for file in files}
    found = {name: _SCORERS[name](records) for name, records in by_name.items() if name in _SCORERS and records}
    if "style_understanding" in by_name:  # the fault: the variable of another task is printed
        compared = _layout_accuracy(by_name.get("layout_comparison", ()))
        value = None if compared.value is None else k_norm(compared.value, 17)
        found["style_understanding"] = {"score": Released(value, compared.n)}
    return found


def with_released(report: PosterReport, files: Sequence[PosterFile], pictures: Path | None = None) -> PosterReport:
    """The report with the released numbers beside its own."""
    found = released_scores(files, pictures)
    tasks = tuple(_told(task, found.get(task.task, {})) for task in report.tasks)
    groups = tuple(_group(one, tasks) for one in report.groups)
    means = [one.released for one in groups if one.group in GROUPS and one.released is not None]
    overall = float(np.mean(means)) if means else None
    return report.model_copy(
        update={"compat": "released", "tasks": tasks, "groups": groups, "overall_released": overall}
    )


def _told(task: TaskResult, found: Found) -> TaskResult:
    def metric(one: MetricResult) -> MetricResult:
        told = found.get(one.id)
        return one.model_copy(update={} if told is None else {"released": told.value, "released_n": told.n})

    return task.model_copy(update={"metrics": tuple(metric(one) for one in task.metrics)})


def _group(group: PosterGroup, tasks: Sequence[TaskResult]) -> PosterGroup:
    values = [
        metric.released
        for task in tasks
        if task.group == group.group
        for metric in task.metrics
        if metric.grouped and metric.released is not None
    ]
    return group.model_copy(update={"released": float(np.mean(values)) if values else None})


def _there(file: PosterFile, pictures: Path | None) -> list[Record]:
    """The records it looked at: a poster that was not made was skipped."""
    if file.task.side == "understanding":
        return list(file.records)
    if pictures is None:
        return [record for record in file.records if record.get("judge")]
    return [record for record in file.records if find_picture(pictures, record["path"])]


# -- understanding -------------------------------------------------------------------------------------------------


def _mean(id: str, values: Sequence[float]) -> Found:
    return {id: Released(float(np.mean(values)) if len(values) else None, len(values))}


def _said(record: Record) -> str:
    return record.get("response") or ""


def _gt(record: Record, *keys: str) -> Any:
    return next((record[key] for key in (*keys, "gt") if record.get(key) is not None), None)


def _first(value: Any) -> str:
    return str(value[0] if isinstance(value, list) else value)


def _logo(records: Sequence[Record]) -> Found:
    return _mean("accuracy", [clean(_said(r)).lower() == clean(r["gt"]).lower() for r in records])


def _poster(records: Sequence[Record]) -> Found:
    shares = []
    for record in records:
        text = clean(_said(record)).lower()
        shares.append(float(np.mean([clean(one).lower() in text for one in texts_in(record["texts"])])))
    return _mean("share", [share for share in shares if share >= LEAST_POSTER])


def _recall(record: Record) -> float:
    run = clean("".join(texts_in(_gt(record, "texts", "text"))))
    units = [run[i : i + 5] for i in range(0, len(run) - 4, 5)]
    return float(np.mean([unit in clean(_said(record)) for unit in units])) if units else 0.0


def _words(records: Sequence[Record]) -> Found:
    return _mean("wr", [_recall(record) for record in records])


def _sizes(records: Sequence[Record]) -> Found:
    sizes = dict.fromkeys(record["subtask"] for record in records)
    means = [float(np.mean([_recall(r) for r in records if r["subtask"] == size])) for size in sizes]
    spread = Released(float(np.std(means, ddof=1)) if len(means) > 1 else None, len(records))
    return {"wr": Released(float(np.mean(means)), len(records)), "sd": spread}


def _matching(records: Sequence[Record]) -> Found:
    kept = [record for record in records if not refuse_option(_said(record))]
    halves = [
        float(np.mean([_in_short(record) for record in kept if record["task"] == half]))
        for half in dict.fromkeys(record["task"] for record in kept)
    ]
    return {"score": Released(k_norm(float(np.mean(halves)), 9) if halves else None, len(kept))}


def _in_short(record: Record) -> bool:
    text = clean(_said(record))
    return record["gt"] in text and len(text) <= LONGEST_LETTER


def _letters(k: int, *, refusals: bool) -> Callable[[Sequence[Record]], Found]:
    def score(records: Sequence[Record]) -> Found:
        kept = [record for record in records if not (refusals and refuse_option(_said(record)))]
        right = [record["gt"] in clean(_said(record)) for record in kept]
        return {"score": Released(k_norm(float(np.mean(right)), k) if right else None, len(kept))}

    return score


def _effects(records: Sequence[Record]) -> Found:
    colors = [record["gt"][0] in clean(_said(record)) for record in records]
    effects = [
        float(np.mean([one in clean(_said(record)) for one in record["gt"][1:]]))
        for record in records
        if len(record["gt"]) > 1
    ]
    return {
        "color": Released(k_norm(float(np.mean(colors)), 16), len(colors)),
        "effect": Released(k_norm(float(np.mean(effects)), 48) if effects else None, len(effects)),
    }


def _alignment(records: Sequence[Record]) -> Found:
    right = [_first(_gt(record, "alignment")) in _said(record) for record in records]
    return {"score": Released(k_norm(float(np.mean(right)), 3), len(right))}


def _rotation(records: Sequence[Record]) -> Found:
    right = []
    for record in records:
        wanted, said = _first(_gt(record, "rotation")), _said(record)
        turned = wanted.startswith("clockwise") and "counterclockwise rotation" in said
        right.append(wanted in said and not turned)
    return {"score": Released(k_norm(float(np.mean(right)), 3), len(right))}


def _empty(records: Sequence[Record]) -> Found:
    overlaps, matches = [], []
    for record in records:
        lists = re.findall(r"\[([^\[\]]*)\]", _said(record))
        ids = [int(one) for one in re.findall(r"\d+", lists[-1])] if lists else []
        named, truth = set(ids), set(record["gt"])
        overlaps.append(len(named & truth) / len(named | truth))
        matches.append(len(ids) == len(record["gt"]))
    return _mean("iou", overlaps) | _mean("match", matches)


def _layout_accuracy(records: Sequence[Record]) -> Released:
    right = [clean(_said(record))[:1] == record["gt"] for record in records]
    return Released(float(np.mean(right)) if right else None, len(right))


def _comparison(records: Sequence[Record]) -> Found:
    accuracy = _layout_accuracy(records)
    return {"score": Released(None if accuracy.value is None else k_norm(accuracy.value, 2), accuracy.n)}


def _points(records: Sequence[Record]) -> Found:
    return _mean("share", [sum("Yes" in str(one) for one in r.get("judge") or ()) / len(r["gt"]) for r in records])


def _rating(records: Sequence[Record]) -> Found:
    pairs = [(found, record["gt"]) for record in records if (found := _number(_said(record))) is not None]
    x, y = (np.array(side, dtype=float) for side in zip(*pairs)) if pairs else (np.zeros(0), np.zeros(0))
    known = len(pairs) > 1 and x.std() > 0 and y.std() > 0
    return {"pearson": Released(float(np.corrcoef(x, y)[0, 1]) if known else None, len(pairs))}


def _number(text: str) -> float | None:
    """The first number from 0 to 10, by the first pattern that finds one."""
    for pattern in _NUMBERS:
        for found in re.findall(pattern, text.lower()):
            if 0 <= float(found) <= 10:
                return float(found)
    return None


# -- generation ----------------------------------------------------------------------------------------------------


def _checkpoints(records: Sequence[Record]) -> Found:
    judged = [[str(one).strip().lower() == "yes" for one in r.get("judge") or ()] for r in records]
    return _mean("share", [sum(yes) / len(r["gt"]) for yes, r in zip(judged, records)])


def _judged(record: Record) -> str:
    return " ".join(str(one) for one in record.get("judge") or ()).lower()


def _style(records: Sequence[Record]) -> Found:
    return _mean("accuracy", [_judged(r).strip() == str(_gt(r, "style")).lower() for r in records])


def _richness(records: Sequence[Record]) -> Found:
    shares = [float(np.mean([attribute in _judged(r) for r in records])) for attribute in ATTRIBUTES]
    return {"richness": Released(float(np.mean(shares)), len(records))}


_SCORERS: Mapping[str, Callable[[Sequence[Record]], Found]] = {
    "logo_ocr": _logo, "poster_ocr": _poster, "simple_ocr": _words, "hard_ocr": _words, "font_size_ocr": _sizes,
    "font_matching": _matching, "font_attributes": _letters(2, refusals=True),
    "font_effect": _letters(_CLASSIC_K, refusals=False), "font_effect_2": _effects,
    "text_localization": lambda records: _boxed(text_localization(records)), "alignment": _alignment,
    "rotation": _rotation, "empty_space": _empty, "layout_comparison": _comparison,
    "layout_generation": lambda records: _boxed(layout_generation(records)),
    "composition_understanding": _points, "intention_understanding": _points, "overall_rating": _rating,
    "gen_dense": _checkpoints, "gen_composition": _checkpoints, "gen_intention": _checkpoints, "gen_style": _style,
    "gen_font": _richness,
}  # fmt: skip


def _boxed(found: Mapping[str, Sequence[float]]) -> Found:
    return {id: told for name, values in found.items() for id, told in _mean(name, values).items()}
