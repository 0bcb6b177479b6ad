"""The figures of judges of checklists against the people who ticked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from salon.errors import StatsError
from salon.evaluate.checklists import NOT_ASKED, Ints, Routing, TickJudge, TickPanel, disputed_points, joint_answers
from salon.evaluate.judge_figures import panel_splits, usage_figures, worst_ticks
from salon.evaluate.results import (
    ReportSettings,
    TickAgreement,
    TickCriterion,
    TickFigures,
    TickJudgeFigures,
    TickPanelFigures,
    TickPoint,
    TickReport,
    TickSplit,
)
from salon.stats.judge_accuracy import (
    UNREAD_TICK,
    YES,
    TickRates,
    match_rate,
    tick_accuracy,
    tick_difference,
    tick_table,
)
from salon.stats.judge_quality import self_agreement
from salon.stats.result import Estimate
from salon.stats.tick_ceilings import TICK_ODDS, TickCeilings, tick_ceilings
from salon.stats.vote_laws import leak_warnings
from salon.study import Study

NO_CEILING = "ceilings need two answers to a point, and a majority on some"


@dataclass(frozen=True)
class JudgeOnTicks:
    """The ticks of a panel that a judge met."""

    judge: TickJudge
    panel: TickPanel
    said: Ints
    """For each tick of the panel YES, NO, UNREAD or NOT_ASKED."""

    @property
    def rows(self) -> Ints:
        """Asked about, and decided by people."""
        return np.flatnonzero((self.said != NOT_ASKED) & self.panel.decided)

    @property
    def hits(self) -> NDArray[np.bool_]:
        """For each tick of the panel: does the judge say what the majority says?"""
        mask: NDArray[np.bool_] = self.said == self.panel.majority
        return mask


def tick_report(
    study: Study,
    panel: TickPanel,
    judges: Sequence[TickJudge],
    settings: ReportSettings,
    *,
    routing: Routing | None = None,
    progress: Callable[[str], None] = lambda judge: None,
) -> TickReport | None:
    """Every judge of checklists against people, best macro accuracy first; None where none met a tick of theirs."""
    every = [JudgeOnTicks(judge, panel, judge.said(panel)) for judge in judges]
    met = [one for one in every if len(one.rows)]
    if not met:
        return None
    tops = [_ceilings(panel, number, settings) for number in range(len(study.criteria))]
    made = []
    for one in met:
        progress(one.judge.name)
        made.append(_tick_judge_figures(study, one, tops, settings))
    made.sort(key=lambda one: (-one.macro.accuracy.value, one.judge))
    by_name = {one.judge.name: one for one in met}
    best = by_name[made[0].judge]
    made = [made[0], *(_to_best(one, by_name[one.judge], best, settings) for one in made[1:])]
    return TickReport(
        panel=tuple(_panel(study, panel, number, tops[number], settings) for number in np.unique(panel.criterion)),
        judges=tuple(made),
        agreement=tuple(filter(None, (_agree(*pair, settings) for pair in combinations(met, 2)))),
        together=joint_answers(panel, {one.judge.name: one.said for one in met}, settings, routing),
        disputed=disputed_points(panel, [one.said for one in met]),
    )


def _tick_judge_figures(
    study: Study, met: JudgeOnTicks, tops: Sequence[TickCeilings | None], settings: ReportSettings
) -> TickJudgeFigures:
    rng = settings.rng(f"ticks\n{met.judge.name}")
    panel, rows = met.panel, met.rows
    table = tick_table(
        met.said[rows], panel.majority[rows], panel.prompt[rows], panel.criterion[rows], of=len(study.criteria)
    )
    found = tick_accuracy(table, draws=settings.draws, rng=rng, level=settings.level)
    macro = TickFigures.of(found.macro, macro=True)
    agreement, samples = _samples(met, settings, rng)
    against = rows[~met.hits[rows] & (met.said[rows] != UNREAD_TICK)]
    unvoted = met.judge.unvoted(panel)
    return TickJudgeFigures(
        judge=met.judge.name,
        kind=met.judge.kind,
        simulated=met.judge.simulated,
        signature=met.judge.signature,
        macro=macro,
        pooled=TickFigures.of(found.pooled),
        splits=_splits(met, settings, rng),
        criteria=tuple(
            _criterion(study, met, number, part, tops[number], unvoted[study.criteria[number].id])
            for number, part in enumerate(found.by_criterion)
            if (met.said[panel.on(number)] != NOT_ASKED).any()
        ),
        points=_points(met, settings, rng),
        self_agreement=agreement,
        samples=samples,
        usage=usage_figures(met.judge.table, macro.balanced),
        worst=worst_ticks(study, met.judge, panel, against, settings.worst),
        worst_of=len(against),
    )


def _criterion(
    study: Study, met: JudgeOnTicks, number: int, found: TickRates | None, top: TickCeilings | None, unvoted: int
) -> TickCriterion:
    here = met.panel.on(number)
    asked = here[met.said[here] != NOT_ASKED]
    return TickCriterion(
        criterion=study.criteria[number].id,
        name=study.criteria[number].title,
        figures=None if found is None else TickFigures.of(found),
        asked=len(asked),
        decided=int(met.panel.decided[asked].sum()),
        panel_ticks=int(met.panel.decided[here].sum()),
        unvoted=unvoted,
        warnings=() if found is None else tuple(_warnings(found, top)),
    )


def _warnings(found: TickRates, top: TickCeilings | None) -> list[str]:
    """What keeps an accuracy from being taken at its face."""
    said = []
    if found.gain.high is not None and found.gain.low is not None and found.gain.low <= 0:
        said.append(f"Not told apart from one fixed answer to everything, which has {found.constant.value:.3f}.")
    if top is not None:
        said += leak_warnings(found.accuracy, top.oracle, TICK_ODDS)
    return said


def _points(met: JudgeOnTicks, settings: ReportSettings, rng: np.random.Generator) -> tuple[TickPoint, ...]:
    """Point by point, hardest first."""
    groups: dict[tuple[str, str], list[int]] = {}
    for row in met.rows.tolist():
        criterion, _, point = met.panel.ticks[row]
        groups.setdefault((criterion, point), []).append(row)
    made = []
    for (criterion, point), members in groups.items():
        rows = np.array(members)
        rate = match_rate(met.hits[rows], met.panel.prompt[rows], draws=settings.draws, rng=rng, level=settings.level)
        made.append(
            TickPoint(
                criterion=criterion,
                point=point,
                accuracy=rate,
                ticks=len(rows),
                people_yes=int((met.panel.majority[rows] == YES).sum()),
                judge_yes=int((met.said[rows] == YES).sum()),
                unread=int((met.said[rows] == UNREAD_TICK).sum()),
            )
        )
    return tuple(sorted(made, key=lambda one: (one.accuracy.value, -one.ticks, one.criterion, one.point)))


def _splits(met: JudgeOnTicks, settings: ReportSettings, rng: np.random.Generator) -> tuple[TickSplit, ...]:
    """Accuracy by how people split, clearest first."""
    yes, no = met.panel.yes[met.rows], met.panel.no[met.rows]
    hits, prompt = met.hits[met.rows], met.panel.prompt[met.rows]
    made = []
    for name, rows in panel_splits(np.maximum(yes, no), np.minimum(yes, no)):
        if rows.any():
            rate = match_rate(hits[rows], prompt[rows], draws=settings.draws, rng=rng, level=settings.level)
            made.append(TickSplit(split=name, accuracy=rate, ticks=int(rows.sum())))
    return tuple(made)


def _samples(met: JudgeOnTicks, settings: ReportSettings, rng: np.random.Generator) -> tuple[Estimate | None, int]:
    """Chance that two samples of a question agree, and the most samples of any question."""
    most = max(map(len, met.judge.answers.values()))
    counts = met.judge.counts(met.panel)
    if (counts.sum(axis=1) < 2).all():
        return None, most
    found = self_agreement(counts, met.panel.prompt, draws=settings.draws, rng=rng, level=settings.level)
    return found, most


def _to_best(
    one: TickJudgeFigures, met: JudgeOnTicks, best: JudgeOnTicks, settings: ReportSettings
) -> TickJudgeFigures:
    """Macro accuracy less the best judge's on the ticks both met, drawn together."""
    panel, rows = met.panel, np.intersect1d(met.rows, best.rows)
    if not len(rows):
        return one
    about = (panel.majority[rows], panel.prompt[rows], panel.criterion[rows])
    tables = [tick_table(which.said[rows], *about, of=int(panel.criterion.max()) + 1) for which in (met, best)]
    rng = settings.rng(f"ticks\n{met.judge.name}\n{best.judge.name}")
    found = tick_difference(*tables, draws=settings.draws, rng=rng, level=settings.level)
    return one.model_copy(update={"to_best": found})


def _agree(first: JudgeOnTicks, second: JudgeOnTicks, settings: ReportSettings) -> TickAgreement | None:
    """One judge's answers held against the other's, where both could be read; a majority of people is not needed."""
    read = [np.isin(one.said, (NOT_ASKED, UNREAD_TICK), invert=True) for one in (first, second)]
    rows = np.flatnonzero(read[0] & read[1])
    if not len(rows):
        return None
    rng = settings.rng(f"ticks\n{first.judge.name}\n{second.judge.name}")
    table = tick_table(first.said[rows], second.said[rows], first.panel.prompt[rows])
    found = tick_accuracy(table, draws=settings.draws, rng=rng, level=settings.level).pooled
    return TickAgreement(
        first=first.judge.name,
        second=second.judge.name,
        agreement=found.accuracy,
        kappa=found.kappa,
        ticks=len(rows),
    )


def _ceilings(panel: TickPanel, number: int, settings: ReportSettings) -> TickCeilings | None:
    """Of the people on one criterion; None where too few answered a point, or all split evenly."""
    rows = panel.on(number)
    rng = settings.rng(f"ticks\n{number}")
    try:
        return tick_ceilings(
            panel.yes[rows], panel.raters[rows], panel.prompt[rows], draws=settings.draws, rng=rng, level=settings.level
        )
    except StatsError:
        return None


def _panel(
    study: Study, panel: TickPanel, number: int, top: TickCeilings | None, settings: ReportSettings
) -> TickPanelFigures:
    rows = panel.on(number)
    decided = rows[panel.decided[rows]]
    low, high = int(panel.raters[rows].min()), int(panel.raters[rows].max())
    rate = None
    if len(decided):
        rng = settings.rng(f"passes\n{number}")
        passes = panel.majority[decided] == YES
        rate = match_rate(passes, panel.prompt[decided], draws=settings.draws, rng=rng, level=settings.level)
    names = ("two_people", "kappa", "next_rater", "oracle")
    ranges = ("next_rater_range", "oracle_range")
    return TickPanelFigures(
        criterion=study.criteria[number].id,
        name=study.criteria[number].title,
        answers=int(panel.raters[rows].sum()),
        ticks=len(rows),
        points=len({panel.ticks[row][2] for row in rows}),
        tied=len(rows) - len(decided),
        raters=str(low) if low == high else f"{low} to {high}",
        pass_rate=rate,
        **{} if top is None else {name: getattr(top, name) for name in names},
        **{} if top is None else {name: getattr(top, name) for name in ranges},
        no_ceiling=NO_CEILING if top is None else None,
    )
