"""What an owner watches while answers come in, computed from one moment of the study.

    figures = figures_of(database, settings)
    figures.report.criteria[0].alpha          as in `salon check`, with fewer draws
    figures.panel["left_rate"]                mean over raters, with its interval, n and method
    figures.flags                             what quality control found about each rater

Everything here grows with the answers: `live` runs it in a process of its own. The studio's own process needs the types
only, so what computes is imported when it is called.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import ConfigDict, TypeAdapter, ValidationError

from salon.check import CheckReport, CheckSettings, RaterSummary
from salon.collect.plan import make_plan
from salon.collect.quality import RaterFindings, rater_flags
from salon.collect.settings import StudioSettings
from salon.collect.studio.adjudication import Disputes, find_disputes, study_after_rulings
from salon.collect.studio.rater_side import quality_records
from salon.errors import SalonError
from salon.stats import Estimate
from salon.store import Database, now_ms
from salon.study import JUDGMENTS, Study

LIVE = CheckSettings(draws=300, tie_repeats=4, null_draws=20_000)
"""Fewer draws than `salon check`: figures to watch, not to print."""
PANEL = {
    "repeat_agreement": "Repeats answered alike",
    "intransitive": "Triples that run in circles",
    "left_rate": "Pairs won by the left side",
    "median_seconds": "Time for a judgment",
}
"""What is averaged over raters, and its name."""
_HOUR = len("2026-01-31T12")


@dataclass(frozen=True)
class LiveFigures:
    """What the answers up to one revision say."""

    revision: int
    at: int
    """When the answers were read, in milliseconds."""
    took: float
    """Seconds the figures took."""
    report: CheckReport | None
    """None where the answers are too few to say anything; `words` tells why."""
    words: str | None
    panel: dict[str, Estimate | None] = field(default_factory=dict)
    """By the keys of `PANEL`: mean over raters; None where no rater has such a figure."""
    flags: tuple[RaterFindings, ...] = ()
    hours: dict[str, int] = field(default_factory=dict)
    """Judgments by hour of the day they were given in, UTC: 2026-01-31T12."""
    judged: dict[str, int] = field(default_factory=dict)
    """Judgments about each item."""
    disputes: Disputes = field(default_factory=Disputes)


FIGURES = "figures"
"""Under which name workers share the newest figures."""


def write_figures(figures: LiveFigures) -> str:
    """Figures as JSON, for other workers."""
    return _adapter().dump_json((figures,)).decode()


def read_figures(text: str) -> LiveFigures | None:
    """Figures from JSON; None where a worker of another version wrote something else."""
    try:
        return _adapter().validate_json(text)[0]
    except ValidationError:
        return None


@cache
def _adapter() -> TypeAdapter[tuple[LiveFigures]]:
    return TypeAdapter(tuple[LiveFigures], config=ConfigDict(ser_json_inf_nan="constants"))


def compute_figures(database: Database, settings: StudioSettings) -> LiveFigures:
    """The figures of the answers there are now."""
    began, at = time.perf_counter(), now_ms()
    study = database.read_study()
    plan = make_plan(study, settings)
    flags = rater_flags(quality_records(database, plan, {criterion.id: criterion for criterion in study.criteria}))
    hours, item_counts, disputes = judgments_by_hour(study), judgments_by_item(study), find_disputes(database, study)
    report, words = _check_answers(study_after_rulings(database, study, adjudicators=False))
    panel = {} if report is None else {name: mean_over_raters(report.raters, name) for name in PANEL}
    seconds = time.perf_counter() - began
    return LiveFigures(study.revision, at, seconds, report, words, panel, flags, hours, item_counts, disputes)


def _check_answers(study: Study) -> tuple[CheckReport | None, str | None]:
    from salon.check import check_study

    try:
        return check_study(study, LIVE), None
    except SalonError as error:
        return None, error.needed


def mean_over_raters(rows: Sequence[RaterSummary], name: str) -> Estimate | None:
    """The mean of the raters' own figures with Student's t interval: raters are the units, not their answers.

    Raters without the figure are left out of n. No interval for one rater, or where all are alike;
    shares end at 0 and 1.
    """
    figures = [getattr(row, name) for row in rows]
    values = np.array(
        [figure.value if isinstance(figure, Estimate) else figure for figure in figures if figure is not None], float
    )
    if not len(values):
        return None
    from scipy import stats

    n, mean, method = len(values), float(values.mean()), "mean of raters, Student's t"
    half = float(stats.t.ppf((1 + LIVE.level) / 2, n - 1) * values.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    highest = np.inf if name == "median_seconds" else 1.0
    low, high = (max(mean - half, 0.0), min(mean + half, highest)) if half > 0 else (None, None)
    return Estimate(value=mean, low=low, high=high, n=n, unit="rater", level=LIVE.level, method=method)


def judgments_by_hour(study: Study) -> dict[str, int]:
    """Judgments by the hour they were given in; those without a time are left out."""
    counts: Counter[str] = Counter()
    for kind in JUDGMENTS:
        table = study.table(kind)
        if "at" not in table.column_names:
            continue
        hours = pc.utf8_slice_codeunits(table.column("at").cast(pa.string()), 0, _HOUR)
        for entry in pc.value_counts(hours.drop_null()).to_pylist():
            counts[entry["values"]] += entry["counts"]
    return dict(sorted(counts.items()))


def judgments_by_item(study: Study) -> dict[str, int]:
    """How many judgments name each item; items that none names have 0."""
    ids = study.ids("items").to_pylist()
    total = np.zeros(len(ids), np.int64)
    for codes in _item_codes(study):
        total += np.bincount(codes[codes >= 0], minlength=len(ids))
    return dict(zip(ids, total.tolist()))


def _item_codes(study: Study) -> Iterable[NDArray[np.int32]]:
    for kind in JUDGMENTS:
        table = study.table(kind)
        for name in ("a", "b", "item"):
            if name in table.column_names:
                yield study.codes("items", table.column(name))
        if "items" in table.column_names:
            yield study.codes("items", table.column("items").combine_chunks().flatten())
