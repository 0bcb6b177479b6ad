"""What raters said of items, and where measurements stand in a study: for explanations."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from salon.errors import BadFile
from salon.judge.measurements.table import MEASUREMENTS
from salon.judge.score import FOLDER, read_scores, scores_file
from salon.judge.scorers.measured import measured
from salon.judge.scorers.picture import Scored
from salon.models.kept import Kept
from salon.select.explain import Measured, Said, standing
from salon.stats.result import Estimate
from salon.study import Item, Prompt, Study

_Answer = tuple[int, int, float]
"""Criterion, rater, and what the rater's answer gives the item."""


def judged_items(study: Study) -> NDArray[np.bool_]:
    """(items,) whether anybody compared, ranked or rated it."""
    judged = np.zeros(study.table("items").num_rows, bool)
    for some in (study.comparisons.a, study.comparisons.b, study.rankings.items, study.ratings.item):
        judged[some] = True
    return judged


def said_of(study: Study, item: int) -> tuple[Said, ...]:
    """What raters said of an item: by criterion the share of comparisons it won, and its mean rating.

    A ranking is a comparison with each other item in it; ties count half, answers "both bad" nothing. Means are over
    raters, each counted once, with a t interval; there is none for a single rater.
    """
    return (
        *_figures(study, "won", [*_comparisons(study, item), *_rankings(study, item)]),
        *_figures(study, "rated", list(_ratings(study, item))),
    )


def _comparisons(study: Study, item: int) -> Iterator[_Answer]:
    view = study.comparisons
    for row in np.flatnonzero(((view.a == item) | (view.b == item)) & (view.outcome < 3)):
        won = 0.5 if view.outcome[row] == 2 else float((view.outcome[row] == 0) == (view.a[row] == item))
        yield int(view.criterion[row]), int(view.rater[row]), won


def _rankings(study: Study, item: int) -> Iterator[_Answer]:
    view = study.rankings
    for place in np.flatnonzero(view.items == item):
        row = int(np.searchsorted(view.offsets, place, side="right")) - 1
        ranks = view.ranks[view.offsets[row] : view.offsets[row + 1]]
        others = np.delete(ranks, place - view.offsets[row])
        if len(others):
            won = float((others > view.ranks[place]).mean() + (others == view.ranks[place]).mean() / 2)
            yield int(view.criterion[row]), int(view.rater[row]), won


def _ratings(study: Study, item: int) -> Iterator[_Answer]:
    view = study.ratings
    for row in np.flatnonzero(view.item == item):
        yield int(view.criterion[row]), int(view.rater[row]), float(view.value[row])


def _figures(study: Study, kind: str, answers: Sequence[_Answer]) -> list[Said]:
    by: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for criterion, rater, value in answers:
        by[criterion][rater].append(value)
    found = []
    for criterion, raters in sorted(by.items()):
        figure = _mean(np.array([np.mean(values) for values in raters.values()]), share=kind == "won")
        found.append(Said(criterion=study.criteria[criterion].id, kind=kind, figure=figure, raters=len(raters)))
    return found


def _mean(values: NDArray[np.float64], *, share: bool) -> Estimate:
    mean, n = float(values.mean()), len(values)
    if n < 2 or float(values.std()) == 0:  # raters who all agree have a spread that they do not show
        return Estimate(mean, None, None, n, "rater", method="no interval: one rater, or no two that differ")
    half = float(student.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))
    low, high = (max(0.0, mean - half), min(1.0, mean + half)) if share else (mean - half, mean + half)
    return Estimate(mean, low, high, n, "rater", method="t interval over raters")


# -- measurements ------------------------------------------------------------------------------------------------------


def measurements_of(
    picture: Path, prompt: Prompt | None, names: Sequence[str], folder: Path | None, kept: Kept
) -> tuple[list[Measured], list[str]]:
    """Measurements of a picture, and where they stand among those that the study's folder keeps; and notes."""
    found, unknown = [], []
    for name in names:
        scorer = measured(name, kept)
        (result,) = scorer.results([Item(id="picture", image=str(picture))], [prompt])
        kept_there = None if folder is None else _kept_there(folder, name, str(scorer.signature))
        told = MEASUREMENTS[name].tells
        if not isinstance(result, Scored):
            found.append(Measured(name=name, tells=told, value=None, unmeasured=result.reason))
            continue
        if kept_there is None:
            unknown.append(name)
            found.append(Measured(name=name, tells=told, value=result.value))
            continue
        values, missing = kept_there
        below, quartiles = standing(result.value, values)
        found.append(
            Measured(name=name, tells=told, value=result.value, below=below, n=len(values), missing=missing,
                     quartiles=quartiles)
        )  # fmt: skip
    if folder is None or not unknown:
        return found, []
    how = " ".join(f"-s {name}" for name in unknown)
    return found, [f"the study has no scores of {', '.join(unknown)} to stand among: salon score STUDY {how}"]


def _kept_there(folder: Path, name: str, signature: str) -> tuple[NDArray[np.float64], int] | None:
    """Values that the study's folder keeps of a measurement, and items without one; None where it keeps no such."""
    file = scores_file(folder / FOLDER, name)
    try:
        record = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        column = read_scores(file).column("value")
    except (OSError, ValueError, BadFile):
        return None
    if not isinstance(record, dict) or record.get("signature") != signature:
        return None
    values = column.drop_null().to_numpy()
    return (values, column.null_count) if len(values) else None
