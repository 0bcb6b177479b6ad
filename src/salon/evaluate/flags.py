"""Flags in a judge report: what people flagged, how well they agree, and whether judges flag the same items.

A flag says what is wrong with an item. It is no order of items, so it enters no accuracy, mean or ceiling of the report
unless it is named (`Study.ranking_criteria`); here it is held against the judges that were asked for flags.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from salon.errors import StatsError
from salon.evaluate.answers import ItemValues, PairJudge
from salon.evaluate.page_parts import JudgeNames
from salon.evaluate.people import is_person
from salon.evaluate.results import FlagJudge, FlagPanel, JudgeReport, ReportSettings
from salon.report import Block, Cell, Column, Note, Section, Table
from salon.report.words import brief, level_words
from salon.stats.alpha import alpha_bootstrap
from salon.stats.intervals import Resampling
from salon.stats.judge_accuracy import match_rate
from salon.stats.judge_quality import separation
from salon.study import Criterion, Study

Ints = NDArray[np.int64]
HALF = 0.5
NOT_RANKED = (
    "Flags say what is wrong with an item, so they enter no accuracy, mean or ceiling of this report; "
    "name a flag with --criterion to rank items by it."
)


def flag_panels(study: Study, judges: Sequence[PairJudge], settings: ReportSettings) -> tuple[FlagPanel, ...]:
    """One entry for every flag and cohort of people who gave it."""
    view, asked, cohorts = study.ratings, is_person(study), _cohorts(study)
    found = []
    for number, criterion in enumerate(study.criteria):
        rows = np.flatnonzero((view.criterion == number) & (view.repeat == 0) & asked[view.rater])
        of = cohorts[view.rater[rows]]
        for cohort in sorted(set(of.tolist()), key=lambda name: (name is None, name)) if criterion.is_flag else ():
            found.append(_panel(study, number, rows[of == cohort], cohort, judges, settings))
    return tuple(found)


def _cohorts(study: Study) -> NDArray[np.object_]:
    table = study.table("raters")
    names = table.column("cohort").to_pylist() if "cohort" in table.column_names else [None] * table.num_rows
    return np.array(names, object)


def _panel(
    study: Study, number: int, rows: Ints, cohort: str | None, judges: Sequence[PairJudge], settings: ReportSettings
) -> FlagPanel:
    view, criterion = study.ratings, study.criteria[number]
    assert criterion.scale is not None
    items, unit = np.unique(view.item[rows].astype(np.int64), return_inverse=True)
    groups = study.item_groups[items].astype(np.int64)
    clusters = np.where(groups >= 0, groups, -1 - items)
    rng = settings.rng(f"{criterion.id}\nflags of {cohort}")
    given: Resampling = {"draws": settings.draws, "rng": rng, "level": settings.level}
    flagged = (view.value[rows] > criterion.scale.low).astype(np.int64)
    slot = np.zeros(len(rows), np.int64)
    order = np.argsort(unit, kind="stable")
    slot[order] = np.arange(len(unit)) - np.searchsorted(unit[order], unit[order])
    table = np.full((len(items), int(slot.max()) + 1), np.nan)
    table[unit, slot] = view.value[rows]
    try:
        alpha = alpha_bootstrap(
                table, np.unique(clusters, return_inverse=True)[1], level="ordinal", draws=settings.draws, rng=rng,
                confidence=settings.level,
            )  # fmt: skip
    except StatsError:
        alpha = None
    share = np.bincount(unit, weights=flagged) / np.bincount(unit)
    return FlagPanel(
        criterion=criterion.id,
        name=criterion.title,
        cohort=cohort,
        items=len(items),
        answers=len(rows),
        flagged=match_rate(flagged, clusters[unit], **given),
        alpha=alpha,
        judges=tuple(
            one
            for judge in judges
            if (one := _flag_judge(judge, number, criterion, items, share, groups, settings)) is not None
        ),
    )


def _flag_judge(
    judge: PairJudge,
    number: int,
    criterion: Criterion,
    items: Ints,
    share: NDArray[np.float64],
    groups: Ints,
    settings: ReportSettings,
) -> FlagJudge | None:
    """A judge that was asked for this flag, on the items that people flagged or not; None for any other judge."""
    answers = judge.answers
    if judge.kind != "points" or not isinstance(answers, ItemValues) or number not in answers.by_criterion:
        return None
    assert criterion.scale is not None
    x = answers.by_criterion[number][items]  # turned: higher is better
    known = ~np.isnan(x)
    if not known.any():
        return None
    side = np.where(share > HALF, -1, np.where(share < HALF, 1, 0))
    rng = settings.rng(f"{judge.name}\n{criterion.id}\nflags")
    try:
        found = separation(x[known], side[known], groups[known], draws=settings.draws, rng=rng, level=settings.level)
    except StatsError:
        found = None
    return FlagJudge(
        judge=judge.name,
        items=int(known.sum()),
        missing=int((~known).sum()),
        flagged=float((-x[known] > criterion.scale.low).mean()),
        separation=found,
    )


def flag_section(report: JudgeReport, names: JudgeNames) -> Section | None:
    """People's flags by cohort, and the judges that were asked for them."""
    if not report.flags:
        return None
    columns = [
        Column("flag", "Flag"),
        Column("items", "Items", "count"),
        Column("answers", "Answers", "count"),
        Column("flagged", "Flagged", "estimate", 3, "Share of answers above the lowest level"),
        Column("alpha", "α", "estimate", 3, "Krippendorff's alpha of the levels, ordinal"),
    ]
    rows = [
        {
            "flag": Cell(brief(one.name), under=brief(one.cohort) if one.cohort else ""),
            **{name: getattr(one, name) for name in ("items", "answers", "flagged")},
            "alpha": Cell(one.alpha, "" if one.alpha else "it needs two answers on an item, and two levels in use"),
        }
        for one in report.flags
    ]
    caption = Markup("What people flagged, with {} intervals.").format(level_words(report))
    blocks: list[Block | str] = [Note(NOT_RANKED, "plain"), Table(columns, rows, caption)]
    if any(one.judges for one in report.flags):
        blocks.append(_judge_table(report, names))
    return Section("Flags", blocks, "How common flags are, and whether people and judges agree on them.")


def _judge_table(report: JudgeReport, names: JudgeNames) -> Table:
    columns = [
        Column("judge", "Judge"),
        Column("flag", "Flag"),
        Column("separation", "Flags what people flag", "estimate", 3, "One half: it cannot tell them apart"),
        Column("flagged", "Flagged", "percent"),
        Column("items", "Items", "count"),
        Column("missing", "Missing", "count"),
    ]
    rows = [
        {
            "judge": names(judged.judge),
            "flag": Cell(brief(one.name), under=brief(one.cohort) if one.cohort else ""),
            "separation": Cell(judged.separation, "" if judged.separation else "no prompt has both kinds of items"),
            **{name: getattr(judged, name) for name in ("flagged", "items", "missing")},
        }
        for one in report.flags
        for judged in one.judges
    ]
    return Table(
        columns, rows, "Judges that were asked for flags: chance that an item most people flagged looks worse."
    )
