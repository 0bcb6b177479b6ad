"""The figures of one judge against the panels of a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from salon.errors import StatsError
from salon.evaluate.judges.report_judges import Faced, Judge
from salon.evaluate.judges.report_panel import Panel
from salon.evaluate.judges.report_settings import ReportSettings
from salon.evaluate.judges.results import AccuracyFigures, BucketFigures, CriterionJudged, WordingFigures
from salon.stats.ceilings import Ceilings, accuracy_warnings
from salon.stats.judge_accuracy import (
    Accuracy,
    JudgeAccuracy,
    identity_gap,
    judge_accuracy,
    kind_table,
    match_rate,
    pair_kinds,
    pair_scores,
)
from salon.stats.judge_spread import self_agreement, wording_spread
from salon.stats.result import Estimate
from salon.study import Study

Ints = NDArray[np.int64]
MOST_SPLITS = 8
"""More different splits than this are gathered by the share of the larger side."""
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Met:
    """The pairs of one criterion that a judge met and the panel decided."""

    panel: Panel
    faced: Faced
    rows: Ints
    """Rows of the panel."""

    @property
    def verdicts(self) -> Ints:
        """By the panel's majority."""
        return self.faced.by_majority(self.panel.winner)[self.rows]

    @property
    def cluster(self) -> Ints:
        """The prompt of each pair."""
        return self.panel.cluster[self.rows]

    @property
    def scores(self) -> NDArray[np.float64]:
        """1, 1/2 or 0 for each pair."""
        return pair_scores(pair_kinds(self.verdicts))


def meet(judge: Judge, panels: Sequence[Panel]) -> list[Met]:
    """What the judge says about each panel's pairs."""
    met = []
    for panel in panels:
        faced = judge.answers.on(panel)
        met.append(Met(panel, faced, np.flatnonzero(faced.asked & panel.decided)))
    return met


def measured(met: Sequence[Met], settings: ReportSettings, rng: np.random.Generator) -> JudgeAccuracy:
    """Accuracy on every criterion, pooled and macro; TooFew when there is no pair to judge it by."""
    verdicts = np.concatenate([one.verdicts for one in met])
    clusters = np.concatenate([one.cluster for one in met])
    criteria = np.repeat(np.arange(len(met)), [len(one.rows) for one in met])
    table = kind_table(verdicts, clusters, criteria, of=len(met))
    return judge_accuracy(table, draws=settings.draws, rng=rng, level=settings.level)


def accuracy_figures(found: Accuracy, *, macro: bool = False) -> AccuracyFigures:
    """A kernel's figures as part of a report."""
    names = ("parsed_only", "conditional", "position_bias", "took_first", "tie_rate")
    return AccuracyFigures(
        accuracy=found.accuracy,
        unseen=found.unseen,
        **{name: getattr(found, name) for name in names},
        pairs=found.pairs,
        identity_gap=None if macro else identity_gap(found),
    )


def with_ties(met: Sequence[Met], settings: ReportSettings, rng: np.random.Generator) -> Estimate | None:
    """Share of pairs with the same of first / second / tie as the panel; an unread verdict is none of them."""
    asked = [np.flatnonzero(one.faced.asked & (one.panel.votes.sum(axis=1) > 0)) for one in met]
    hits = [one.faced.choice[rows] == one.panel.winner[rows] for one, rows in zip(met, asked)]
    clusters = [one.panel.cluster[rows] for one, rows in zip(met, asked)]
    if not sum(map(len, hits)):
        return None
    joined = np.concatenate(hits), np.concatenate(clusters)
    return match_rate(*joined, draws=settings.draws, rng=rng, level=settings.level)


def criterion_judged(
    study: Study,
    met: Met,
    found: Accuracy | None,
    ceilings: Ceilings | None,
    settings: ReportSettings,
    rng: np.random.Generator,
) -> CriterionJudged:
    """One judge on one criterion."""
    criterion = study.criteria[met.panel.number]
    return CriterionJudged(
        criterion=criterion.id,
        name=criterion.title,
        figures=None if found is None else accuracy_figures(found),
        with_ties=with_ties([met], settings, rng),
        buckets=buckets([met], settings, rng),
        wordings=wordings([met], settings, rng),
        asked=int(met.faced.asked.sum()),
        decided=len(met.rows),
        panel_pairs=int(met.panel.decided.sum()),
        unvoted=met.faced.unvoted,
        warnings=() if found is None or ceilings is None else tuple(accuracy_warnings(found.accuracy, ceilings)),
    )


def buckets(met: Sequence[Met], settings: ReportSettings, rng: np.random.Generator) -> tuple[BucketFigures, ...]:
    """Accuracy by how the panel split, clearest first."""
    votes = np.concatenate([one.panel.votes[one.rows] for one in met])
    scores, cluster = (np.concatenate([getattr(one, name) for one in met]) for name in ("scores", "cluster"))
    made = []
    for name, rows in splits(votes[:, :2].max(axis=1), votes[:, :2].min(axis=1)):
        if rows.any():
            rate = match_rate(scores[rows], cluster[rows], draws=settings.draws, rng=rng, level=settings.level)
            made.append(BucketFigures(split=name, accuracy=rate, pairs=int(rows.sum())))
    return tuple(made)


def splits(larger: Ints, smaller: Ints) -> list[tuple[str, NDArray[np.bool_]]]:
    """(name, pairs) of every split of a panel; of shares of the larger side where there are too many splits."""
    splits = sorted(set(zip(larger.tolist(), smaller.tolist())), key=lambda s: (-s[0] / sum(s), -sum(s)))
    if len(splits) <= MOST_SPLITS:
        return [(f"{m}-{k}", (larger == m) & (smaller == k)) for m, k in splits]
    share = larger / (larger + smaller)
    ends = list(pairwise(SHARES))[::-1]
    return [(f"{100 * low:.0f}-{100 * high:.0f}%", (share > low) & (share <= high)) for low, high in ends]


def wordings(met: Sequence[Met], settings: ReportSettings, rng: np.random.Generator) -> WordingFigures | None:
    """Spread over wordings within criteria, averaged over them; None where there are no wordings to compare.

    A pair has the same wording under all criteria with as many of them, so it is dealt one for all of those.
    """
    wording, keys, scores = (
        np.concatenate(parts)
        for parts in zip(*((one.faced.wording[one.rows], one.panel.keys[one.rows], one.scores) for one in met))
    )
    most = np.repeat([one.faced.wording.max(initial=-1) for one in met], [len(one.rows) for one in met])
    criterion = np.repeat(np.arange(len(met)), [len(one.rows) for one in met])
    known = wording >= 0
    units = np.stack([keys, most], axis=1)[known]
    _, unit = np.unique(units, axis=0, return_inverse=True)
    try:
        found = wording_spread(
            scores[known], wording[known], unit, most[known], criteria=criterion[known], deals=settings.deals, rng=rng
        )
    except StatsError:
        return None
    return WordingFigures(**{name: getattr(found, name) for name in WordingFigures.model_fields})


def sample_agreement(
    met: Sequence[Met], settings: ReportSettings, rng: np.random.Generator
) -> tuple[Estimate | None, int]:
    """Chance that two samples of a question agree, and the most samples of any question."""
    counts = np.concatenate([one.faced.samples for one in met])
    clusters = np.concatenate([np.repeat(one.panel.cluster, one.faced.said.shape[1]) for one in met])
    most = int(counts.sum(axis=1).max(initial=0))
    if most < 2:
        return None, max(most, 1)
    found = self_agreement(counts, clusters, draws=settings.draws, rng=rng, level=settings.level)
    return found, most


def same_choice(first: Sequence[Met], second: Sequence[Met]) -> tuple[Ints, Ints]:
    """For all pairs on which both judges name an item: do they name the same (1 or 0), and the prompts."""
    hits, clusters = [], []
    for one, other in zip(first, second):
        x, y = one.faced.choice, other.faced.choice
        both = one.faced.asked & other.faced.asked & np.isin(x, (1, -1)) & np.isin(y, (1, -1))
        hits.append((x == y)[both])
        clusters.append(one.panel.cluster[both])
    return np.concatenate(hits).astype(np.int64), np.concatenate(clusters)


def shared(first: Sequence[Met], second: Sequence[Met]) -> list[Ints]:
    """Rows of each panel that both judges met."""
    return [np.intersect1d(one.rows, other.rows) for one, other in zip(first, second)]
