"""What predicted scores are held against: fused scores, means or medians of ratings, pseudo-scores, or a table.

In a target higher is better, as in what is predicted: values on a scale where lower is better are turned round.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue, TooFew
from salon.evaluate.people import people_only
from salon.evaluate.pseudo_scores import read_pseudo_scores
from salon.evaluate.score_cells import ScoreFrame, Target
from salon.fuse.fuse import fuse_study
from salon.fuse.results import ANCHORED, RATED
from salon.store.plain_files import read_plain
from salon.study import Study

Floats = NDArray[np.float64]
_NAMED = "fused, ratings, medians, a folder of salon distill label, or a table of salon fuse -o"


def usual_target(study: Study) -> str:
    """`fused` where people compared or ranked, else `ratings`."""
    people = people_only(study)
    if people.counts.get("comparisons", 0) or people.counts.get("rankings", 0):
        return "fused"
    if people.counts.get("ratings", 0):
        return "ratings"
    raise TooFew(
        "answers of people, or a target by name, are needed",
        found="no comparison, ranking or rating of a person",
        where=f"study {study.name!r}",
        remedy=f"--against: {_NAMED}",
    )


def target_named(name: str, study: Study, frame: ScoreFrame) -> Target:
    """A target of the items and criteria of `frame`."""
    if name == "fused":
        return _fused_target(study, frame)
    if name in ("ratings", "medians"):
        return _ratings(study, frame, name)
    place = Path(name)
    if place.is_dir():
        return _pseudo(place, frame)
    if place.is_file():
        return _table(place, study, frame)
    raise BadValue("a target is needed", found=repr(name), remedy=_NAMED)


def ratings_by_rater(study: Study, frame: ScoreFrame) -> list[tuple[str, Floats]]:
    """(rater, ratings (items, criteria)) of every rater who rated; the mean of repeated ratings, NaN where none."""
    ratings = study.ratings
    item, criterion = _places(study, frame)
    at_item, at_criterion = item[ratings.item], criterion[ratings.criterion]
    made = []
    for number in np.unique(ratings.rater):
        own = (ratings.rater == number) & (at_item >= 0) & (at_criterion >= 0)
        total, count = np.zeros(_shape(frame)), np.zeros(_shape(frame))
        np.add.at(total, (at_item[own], at_criterion[own]), ratings.value[own])
        np.add.at(count, (at_item[own], at_criterion[own]), 1)
        if own.any():
            with np.errstate(invalid="ignore"):
                made.append((study.label("raters", int(number)), total / count))
    return made


def _fused_target(study: Study, frame: ScoreFrame) -> Target:
    """What `salon fuse` gives with its usual settings, from the answers of people alone."""
    people = people_only(study)
    report = fuse_study(people, criteria=[id for id, _ in frame.criteria])
    values = np.full(_shape(frame), np.nan)
    place, column = _numbers(frame)
    for row in report.scores:
        if row.item in place and row.criterion in column:
            values[place[row.item], column[row.criterion]] = row.value
    if report.method in (*ANCHORED, *RATED):
        values = _upright(values, study, frame)
    apart = None if report.scale_low is not None else _groups_of(study, frame)
    name = f"fused scores ({report.method}, scale {report.scale})"
    return Target(name, values, report.scale_low, report.scale_high, apart)


def _upright(values: Floats, study: Study, frame: ScoreFrame) -> Floats:
    """Values on the scales of the criteria, turned round where lower is better."""
    made = values.copy()
    for number, (id, _) in enumerate(frame.criteria):
        scale = study.criterion(id).scale
        if scale is not None and not scale.higher_is_better:
            made[:, number] = scale.low + scale.high - made[:, number]
    return made


def _groups_of(study: Study, frame: ScoreFrame) -> NDArray[np.int64]:
    item, _ = _places(study, frame)
    found = np.zeros(len(frame.items), np.int64)
    found[item[item >= 0]] = study.item_groups[item >= 0]
    return found


def _ratings(study: Study, frame: ScoreFrame, which: str) -> Target:
    panel = ratings_by_rater(people_only(study), frame)
    if not panel:
        raise TooFew("ratings of people are needed", found="none", where=f"study {study.name!r}", remedy=_NAMED)
    stacked = np.stack([values for _, values in panel])
    there = np.isfinite(stacked).any(axis=0)
    values = np.full(there.shape, np.nan)
    middle = np.nanmean if which == "ratings" else np.nanmedian
    values[there] = middle(stacked[:, there], axis=0)
    values = _upright(values, study, frame)
    scales = [study.criterion(id).scale for id, _ in frame.criteria]
    ends = {(scale.low, scale.high) for scale in scales if scale is not None}
    low, high = ends.pop() if len(ends) == 1 else (None, None)
    words = "mean" if which == "ratings" else "median"
    who = "one rater" if len(panel) == 1 else f"{len(panel):,} raters"
    return Target(f"{words} of the ratings of {who}", values, low, high)


def _pseudo(place: Path, frame: ScoreFrame) -> Target:
    labels = read_pseudo_scores(place)
    values = np.full(_shape(frame), np.nan)
    rows, columns = _numbers(frame)
    for number, item in enumerate(labels.items):
        for at, criterion in enumerate(labels.criteria):
            if item in rows and criterion in columns:
                values[rows[item], columns[criterion]] = labels.values[number, at]
    _some(values, place)
    return Target(f"pseudo-scores of {place.name} ({labels.source})", values, labels.low, labels.high)


def _table(place: Path, study: Study, frame: ScoreFrame) -> Target:
    table = read_plain(place, "targets", ("item", "criterion", "value"))
    values = np.full(_shape(frame), np.nan)
    rows, columns = _numbers(frame)
    for item, criterion, value in zip(*(table.column(name).to_pylist() for name in ("item", "criterion", "value"))):
        if item in rows and criterion in columns and value is not None:
            at = rows[item], columns[criterion]
            if not np.isnan(values[at]):
                raise BadFile("one target of each item and criterion", found=f"two of {item!r}", where=str(place))
            values[at] = float(value)
    _some(values, place)
    ends = _ends(table)
    if ends[0] is not None or "scale" not in table.column_names:  # logits are higher for the better item as they stand
        values = _upright(values, study, frame)
    return Target(f"the table {place.name}", values, *ends)


def _ends(table: pa.Table) -> tuple[float | None, float | None]:
    """The ends that the column scale of `salon fuse -o` names, as in 1-5."""
    named = set(table.column("scale").to_pylist()) if "scale" in table.column_names else set()
    parts = str(named.pop()).split("-") if len(named) == 1 else []
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        return None, None
    return low, high


def _some(values: Floats, place: Path) -> None:
    if not np.isfinite(values).any():
        raise TooFew("targets of items and criteria of the study are needed", found="none", where=str(place))


def _shape(frame: ScoreFrame) -> tuple[int, int]:
    return len(frame.items), len(frame.criteria)


def _numbers(frame: ScoreFrame) -> tuple[dict[str, int], dict[str, int]]:
    return {item: n for n, item in enumerate(frame.items)}, {id: n for n, (id, _) in enumerate(frame.criteria)}


def _places(study: Study, frame: ScoreFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where items and criteria of the study stand in the frame; -1 where they do not."""
    rows, columns = _numbers(frame)
    ids: Sequence[str] = study.ids("items").to_pylist()
    item = np.array([rows.get(id, -1) for id in ids], np.int64)
    return item, np.array([columns.get(one.id, -1) for one in study.criteria], np.int64)
