"""Judges of pairs against the people of a study: every figure of each, and of every two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from salon.errors import StatsError
from salon.evaluate.judges.report_figures import (
    Met,
    accuracy_figures,
    buckets,
    criterion_judged,
    measured,
    meet,
    same_choice,
    sample_agreement,
    shared,
    with_ties,
    wordings,
)
from salon.evaluate.judges.report_judges import Judge, PairAnswers
from salon.evaluate.judges.report_numbers import band_figures
from salon.evaluate.judges.report_panel import Panel, Places, panels
from salon.evaluate.judges.report_settings import ReportSettings
from salon.evaluate.judges.report_usage import usage_figures
from salon.evaluate.judges.results import Correlation, JudgeFigures, JudgesAgree, PanelFigures
from salon.evaluate.judges.worst import worst_cases
from salon.stats.ceilings import Ceilings, ceilings
from salon.stats.judge_accuracy import KindTable, accuracy_difference, kind_table, match_rate
from salon.stats.method_agreement import method_agreement, spearman_p
from salon.stats.result import Estimate
from salon.study import Study

Signals = Mapping[str, tuple[str, str]]
"""For each criterion the verdict of a signal check and its sentence."""
COMPARED = (
    ("accuracy", "position_bias"),
    ("accuracy", "conditional"),
    ("position_bias", "conditional"),
    ("accuracy", "tie_rate"),
    ("accuracy", "unseen"),
)


@dataclass(frozen=True)
class PairPart:
    """What a report says about judges of pairs; nothing where there are none."""

    panel: tuple[PanelFigures, ...] = ()
    judges: tuple[JudgeFigures, ...] = ()
    agreement: tuple[JudgesAgree, ...] = ()
    correlations: tuple[Correlation, ...] = ()


def pair_part(
    study: Study,
    judges: Sequence[Judge],
    settings: ReportSettings,
    signals: Signals,
    progress: Callable[[str], None] = lambda judge: None,
    *,
    criteria: Sequence[str] = (),
) -> PairPart:
    """Every judge with an answer on a pair that people decided, best macro accuracy first."""
    places = Places(study)
    voted = panels(study, places, criteria)
    met = {judge.name: meet(judge, voted) for judge in judges}
    useful = [judge for judge in judges if any(len(one.rows) for one in met[judge.name])]
    if not useful:
        return PairPart()
    tops = [_ceilings(panel, settings) for panel in voted]
    made = []
    for judge in useful:
        progress(judge.name)
        made.append(_figures(study, places, judge, met[judge.name], tops, settings))
    made.sort(key=lambda one: (-one.macro.accuracy.value, one.judge))
    made = [made[0], *(_to_best(one, made[0], met, settings) for one in made[1:])]
    names = [judge.name for judge in useful]
    return PairPart(
        panel=tuple(_panel_figures(study, one, top, signals) for one, top in zip(voted, tops) if len(one.keys)),
        judges=tuple(made),
        agreement=tuple(_agree(first, second, met, settings) for first, second in combinations(names, 2)),
        correlations=tuple(_correlation(made, x, y) for x, y in COMPARED),
    )


def _figures(
    study: Study,
    places: Places,
    judge: Judge,
    met: Sequence[Met],
    tops: Sequence[Ceilings | None],
    settings: ReportSettings,
) -> JudgeFigures:
    rng = settings.rng(judge.name)
    found = measured(met, settings, rng)
    asked = [(one, part, top) for one, part, top in zip(met, found.by_criterion, tops) if one.faced.asked.any()]
    agreement, samples = sample_agreement(met, settings, rng)
    worst, worst_of = worst_cases(study, places, judge, met, settings.worst)
    macro = accuracy_figures(found.macro, macro=True)
    return JudgeFigures(
        judge=judge.name,
        kind=judge.kind,
        orders=found.orders,
        simulated=judge.simulated,
        signature=judge.signature,
        macro=macro,
        pooled=accuracy_figures(found.pooled),
        with_ties=with_ties(met, settings, rng),
        buckets=buckets(met, settings, rng),
        says_first=_says_first(study, places, judge, [one.panel.number for one in met], settings, rng),
        criteria=tuple(criterion_judged(study, one, part, top, settings, rng) for one, part, top in asked),
        wordings=wordings(met, settings, rng),
        self_agreement=agreement,
        samples=samples,
        bands=band_figures(study, judge, [one.panel for one in met], settings, rng),
        usage=usage_figures(judge.table, macro.accuracy),
        worst=worst,
        worst_of=worst_of,
    )


def _says_first(
    study: Study,
    places: Places,
    judge: Judge,
    criteria: Sequence[int],
    settings: ReportSettings,
    rng: np.random.Generator,
) -> Estimate | None:
    """Share of answers for the picture shown first; None where nothing was shown side by side."""
    if not isinstance(judge.answers, PairAnswers):
        return None
    hits, keys = judge.answers.named_first(criteria)
    if not len(hits):
        return None
    clusters = keys if study.compare_within == "all" else study.item_groups[places.items(keys)[0]]
    return match_rate(hits, clusters, draws=settings.draws, rng=rng, level=settings.level)


def _ceilings(panel: Panel, settings: ReportSettings) -> Ceilings | None:
    """Of the pairs that judges are scored on and two people or more named an item of; None where there are none."""
    raters = panel.votes[:, :2].sum(axis=1)
    rng = np.random.default_rng([settings.seed, panel.number])
    try:
        return ceilings(panel.votes[:, 0], raters, panel.cluster, draws=settings.draws, rng=rng, level=settings.level)
    except StatsError:
        return None


def _panel_figures(study: Study, panel: Panel, top: Ceilings | None, signals: Signals) -> PanelFigures:
    criterion = study.criteria[panel.number]
    votes = panel.votes.sum(axis=1)
    low, high = int(votes.min()), int(votes.max())
    signal, sentence = signals.get(criterion.id, (None, None))
    return PanelFigures(
        criterion=criterion.id,
        name=criterion.title,
        votes=int(votes.sum()),
        pairs=len(votes),
        tied=int((~panel.decided).sum()),
        raters=str(low) if low == high else f"{low} to {high}",
        lone=int((panel.votes[:, :2].sum(axis=1) == 1).sum()),
        next_rater=None if top is None else top.next_rater,
        next_rater_range=None if top is None else top.next_rater_range,
        oracle=None if top is None else top.oracle,
        oracle_range=None if top is None else top.oracle_range,
        no_ceiling=None if top is not None else "ceilings need two votes on a pair, and a majority on some",
        signal=signal,
        sentence=sentence,
    )


def _to_best(
    one: JudgeFigures, best: JudgeFigures, met: Mapping[str, Sequence[Met]], settings: ReportSettings
) -> JudgeFigures:
    """Macro accuracy less the best judge's on the pairs both met, drawn together."""
    rows = shared(met[one.judge], met[best.judge])
    if not sum(map(len, rows)):
        return one
    criteria = np.repeat(np.arange(len(rows)), [len(part) for part in rows])

    def table(name: str) -> KindTable:
        verdicts = [m.faced.by_majority(m.panel.winner)[part] for m, part in zip(met[name], rows)]
        clusters = [m.panel.cluster[part] for m, part in zip(met[name], rows)]
        return kind_table(np.concatenate(verdicts), np.concatenate(clusters), criteria, of=len(rows))

    rng = settings.rng(f"{one.judge}\n{best.judge}")
    found = accuracy_difference(
        table(one.judge), table(best.judge), draws=settings.draws, rng=rng, level=settings.level
    )
    return one.model_copy(update={"to_best": found})


def _agree(first: str, second: str, met: Mapping[str, Sequence[Met]], settings: ReportSettings) -> JudgesAgree:
    hits, clusters = same_choice(met[first], met[second])
    if not len(hits):
        return JudgesAgree(first=first, second=second, agreement=None, pairs=0)
    rng = settings.rng(f"{first}\n{second}")
    rate = match_rate(hits, clusters, draws=settings.draws, rng=rng, level=settings.level)
    return JudgesAgree(first=first, second=second, agreement=rate, pairs=len(hits))


def _correlation(judges: Sequence[JudgeFigures], x: str, y: str) -> Correlation:
    """Over the judges of pairs that have both figures; scorers see no order, so theirs are of another kind."""
    both = [(getattr(one.macro, x), getattr(one.macro, y)) for one in judges if one.kind in ("pairs", "rater")]
    known = [(first.value, second.value) for first, second in both if first is not None and second is not None]
    if len(known) < 4:
        reason = "at least four judges of pairs with both figures are needed"
        return Correlation(x=x, y=y, value=None, low=None, high=None, n=len(known), reason=reason)
    first, second = np.array(known).T
    found = method_agreement(first, second)
    p = None if found.srcc is None else spearman_p(first, second)
    return Correlation(
        x=x, y=y, value=found.srcc, low=found.srcc_low, high=found.srcc_high, p=p, n=found.n, reason=found.reason
    )
