"""The figures of one judge against the panels of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import StatsError
from salon.evaluate.answers import ItemValues, PairJudge, PanelAnswers
from salon.evaluate.checklists import Ints as ReportTicksInts
from salon.evaluate.checklists import TickJudge, TickPanel
from salon.evaluate.people import ItemOrder, VotePanel
from salon.evaluate.results import (
    AccuracyFigures,
    BandFigures,
    BucketFigures,
    JudgeCriterion,
    ReportSettings,
    UsageFigures,
    WordingFigures,
    WorstCase,
    WorstTick,
)
from salon.stats.ceilings import Ceilings, accuracy_warnings
from salon.stats.judge_accuracy import (
    YES,
    Accuracy,
    JudgeAccuracy,
    identity_gap,
    judge_accuracy,
    kind_table,
    match_rate,
    pair_kinds,
    pair_scores,
)
from salon.stats.judge_quality import band, self_agreement, separation, wording_spread
from salon.stats.result import Estimate
from salon.store.pictures import is_inside, picture_url
from salon.study import Study

Ints = NDArray[np.int64]
MOST_SPLITS = 8
"""More different splits than this are gathered by the share of the larger side."""
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class JudgeOnPanel:
    """The pairs of one criterion that a judge met and the panel decided."""

    panel: VotePanel
    faced: PanelAnswers
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


def judge_on_panels(judge: PairJudge, panels: Sequence[VotePanel]) -> list[JudgeOnPanel]:
    """What the judge says about each panel's pairs."""
    met = []
    for panel in panels:
        faced = judge.answers.on(panel)
        met.append(JudgeOnPanel(panel, faced, np.flatnonzero(faced.asked & panel.decided)))
    return met


def measure_accuracy(met: Sequence[JudgeOnPanel], settings: ReportSettings, rng: np.random.Generator) -> JudgeAccuracy:
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


def with_ties(met: Sequence[JudgeOnPanel], settings: ReportSettings, rng: np.random.Generator) -> Estimate | None:
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
    met: JudgeOnPanel,
    found: Accuracy | None,
    ceilings: Ceilings | None,
    settings: ReportSettings,
    rng: np.random.Generator,
) -> JudgeCriterion:
    """One judge on one criterion."""
    criterion = study.criteria[met.panel.number]
    return JudgeCriterion(
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


def buckets(
    met: Sequence[JudgeOnPanel], settings: ReportSettings, rng: np.random.Generator
) -> tuple[BucketFigures, ...]:
    """Accuracy by how the panel split, clearest first."""
    votes = np.concatenate([one.panel.votes[one.rows] for one in met])
    scores, cluster = (np.concatenate([getattr(one, name) for one in met]) for name in ("scores", "cluster"))
    made = []
    for name, rows in panel_splits(votes[:, :2].max(axis=1), votes[:, :2].min(axis=1)):
        if rows.any():
            rate = match_rate(scores[rows], cluster[rows], draws=settings.draws, rng=rng, level=settings.level)
            made.append(BucketFigures(split=name, accuracy=rate, pairs=int(rows.sum())))
    return tuple(made)


def panel_splits(larger: Ints, smaller: Ints) -> list[tuple[str, NDArray[np.bool_]]]:
    """(name, pairs) of every split of a panel; of shares of the larger side where there are too many splits."""
    splits = sorted(set(zip(larger.tolist(), smaller.tolist())), key=lambda s: (-s[0] / sum(s), -sum(s)))
    if len(splits) <= MOST_SPLITS:
        return [(f"{m}-{k}", (larger == m) & (smaller == k)) for m, k in splits]
    share = larger / (larger + smaller)
    ends = list(pairwise(SHARES))[::-1]
    return [(f"{100 * low:.0f}-{100 * high:.0f}%", (share > low) & (share <= high)) for low, high in ends]


def wordings(met: Sequence[JudgeOnPanel], settings: ReportSettings, rng: np.random.Generator) -> WordingFigures | None:
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
    met: Sequence[JudgeOnPanel], settings: ReportSettings, rng: np.random.Generator
) -> tuple[Estimate | None, int]:
    """Chance that two samples of a question agree, and the most samples of any question."""
    counts = np.concatenate([one.faced.samples for one in met])
    clusters = np.concatenate([np.repeat(one.panel.cluster, one.faced.said.shape[1]) for one in met])
    most = int(counts.sum(axis=1).max(initial=0))
    if most < 2:
        return None, max(most, 1)
    found = self_agreement(counts, clusters, draws=settings.draws, rng=rng, level=settings.level)
    return found, most


def same_choice(first: Sequence[JudgeOnPanel], second: Sequence[JudgeOnPanel]) -> tuple[Ints, Ints]:
    """For all pairs on which both judges name an item: do they name the same (1 or 0), and the prompts."""
    hits, clusters = [], []
    for one, other in zip(first, second):
        x, y = one.faced.choice, other.faced.choice
        both = one.faced.asked & other.faced.asked & np.isin(x, (1, -1)) & np.isin(y, (1, -1))
        hits.append((x == y)[both])
        clusters.append(one.panel.cluster[both])
    return np.concatenate(hits).astype(np.int64), np.concatenate(clusters)


def shared_rows(first: Sequence[JudgeOnPanel], second: Sequence[JudgeOnPanel]) -> list[Ints]:
    """Rows of each panel that both judges met."""
    return [np.intersect1d(one.rows, other.rows) for one, other in zip(first, second)]


# --------------------------------------------------------------------------------------------------
# Judges that give numbers: which part of the scale they use, and whether they tell strong items from weak.
# --------------------------------------------------------------------------------------------------

BY_TIER = "items of the high tier against items of the low tier"
BY_VOTES = "within each group, the third of items that won most of its votes against the third that won fewest"
NO_SIDES = "no group with strong and weak items"


def band_figures(
    study: Study, judge: PairJudge, panels: Sequence[VotePanel], settings: ReportSettings, rng: np.random.Generator
) -> tuple[BandFigures, ...]:
    """One entry for a scorer, one for each criterion of a judge asked for numbers, none for a judge of pairs."""
    if not isinstance(judge.answers, ItemValues):
        return ()
    answers = judge.answers
    numbers = sorted(answers.by_criterion)
    if judge.kind == "scorer":
        return tuple(_bands(study, answers, numbers[:1], panels, settings, rng, shared=True))
    return tuple(_bands(study, answers, numbers, panels, settings, rng, shared=False))


def _bands(
    study: Study,
    answers: ItemValues,
    numbers: Sequence[int],
    panels: Sequence[VotePanel],
    settings: ReportSettings,
    rng: np.random.Generator,
    *,
    shared: bool,
) -> Iterator[BandFigures]:
    for number in numbers:
        x, known = answers.by_criterion[number], ~np.isnan(answers.by_criterion[number])
        asked = answers.asked.get(number, np.ones(len(x), bool))
        if not known.any():
            continue
        criterion = study.criteria[number]
        ends = (None, None) if shared or criterion.scale is None else (criterion.scale.low, criterion.scale.high)
        turn = -1 if not shared and criterion.scale is not None and not criterion.scale.higher_is_better else 1
        made = band(turn * x[known], *ends)
        voted = panels if shared else [panel for panel in panels if panel.number == number]
        side, told = _sides(study, answers.places, voted)
        yield BandFigures(
            criterion=None if shared else criterion.id,
            **{name: getattr(made, name) for name in ("low", "median", "high", "width", "levels", "commonest", "n")},
            missing=int((asked & ~known).sum()),
            separation=_separated(x, side, study, known, settings, rng),
            strong_is=told,
        )


def _separated(
    x: NDArray[np.float64],
    side: Ints,
    study: Study,
    known: NDArray[np.bool_],
    settings: ReportSettings,
    rng: np.random.Generator,
) -> Estimate | None:
    groups = study.item_groups
    try:
        found = separation(x[known], side[known], groups[known], draws=settings.draws, rng=rng, level=settings.level)
    except StatsError:
        return None
    return found


def _sides(study: Study, places: ItemOrder, panels: Sequence[VotePanel]) -> tuple[Ints, str]:
    """1 for strong items, -1 for weak ones: by tier where experts gave one, else by the panel's votes."""
    items = study.table("items")
    if "tier" in items.column_names:
        tiers = items.column("tier").cast(pa.string()).to_pylist()
        side = np.array([{"high": 1, "low": -1}.get(tier, 0) for tier in tiers])
        if {1, -1} <= set(side.tolist()):
            return side, BY_TIER
    won = _won(places, panels, len(study.item_groups))
    side = np.zeros(len(won), np.int64)
    known = np.flatnonzero(~np.isnan(won))
    order = known[np.lexsort((won[known], study.item_groups[known]))]
    groups = study.item_groups[order]
    for members in np.split(order, np.flatnonzero(groups[1:] != groups[:-1]) + 1):
        third = max(len(members) // 3, 1)
        if len(members) > 1 and won[members[0]] < won[members[-1]]:
            side[members[:third]], side[members[-third:]] = -1, 1
    return side, BY_VOTES if side.any() else NO_SIDES


def _won(places: ItemOrder, panels: Sequence[VotePanel], items: int) -> NDArray[np.float64]:
    """Share of its decided votes that each item won; NaN without any."""
    wins, all_ = np.zeros(items), np.zeros(items)
    for panel in panels:
        a, b = places.items(panel.keys)
        for item, column in ((a, 0), (b, 1)):
            wins += np.bincount(item, weights=panel.votes[:, column], minlength=items)
            all_ += np.bincount(item, weights=panel.votes[:, :2].sum(axis=1), minlength=items)
    return np.where(all_ > 0, wins / np.maximum(all_, 1), np.nan)


# --------------------------------------------------------------------------------------------------
# What a judge's answers took: calls, failures, tokens, money, time.
# --------------------------------------------------------------------------------------------------

CHANCE = 0.5


def usage_figures(table: pa.Table | None, accuracy: Estimate | None) -> UsageFigures | None:
    """Sums over the verdicts in `table`; None where they are not known call by call."""
    if table is None:
        return None
    failed = _counts(table, "failed")
    reasons = _counts(table.filter(pc.is_null(table.column("failed"))), "unparsed")
    cost = _total(table, "cost")
    per_1000 = None if cost is None else 1000 * cost / max(_questions(table), 1)
    seconds = table.column("seconds").drop_null().to_numpy()
    given = pc.min_max(table.column("at")).as_py()
    return UsageFigures(
        answers=table.num_rows,
        unread=sum(failed.values()) + sum(reasons.values()),
        failed=failed,
        reasons=reasons,
        cost=cost,
        cost_unknown=0 if cost is None else table.column("cost").null_count,
        tokens_in=_whole(_total(table, "tokens_in")),
        tokens_out=_whole(_total(table, "tokens_out")),
        seconds_median=float(np.median(seconds)) if len(seconds) else None,
        seconds_95=float(np.quantile(seconds, 0.95)) if len(seconds) else None,
        first_at=given["min"],
        last_at=given["max"],
        cost_per_1000=per_1000,
        cost_per_point=_per_point(per_1000, accuracy),
    )


def _per_point(cost: float | None, accuracy: Estimate | None) -> Estimate | None:
    """Cost per hundredth of accuracy above chance. An accuracy that may be chance has no upper end: None."""
    if not cost or accuracy is None or accuracy.value <= CHANCE:
        return None

    def at(end: float | None) -> float | None:
        return None if end is None or end <= CHANCE else cost / (100 * (end - CHANCE))

    return replace(
        accuracy, value=cost / (100 * (accuracy.value - CHANCE)), low=at(accuracy.high), high=at(accuracy.low)
    )


def _questions(table: pa.Table) -> int:
    """Different pairs (items, points) by criterion: orders and samples of one are one."""
    names = ("criterion", "a", "b", "point")
    result: int = (
        pa.table({name: table.column(name).cast(pa.string()) for name in names})
        .group_by(list(names))
        .aggregate([])
        .num_rows
    )
    return result


def _counts(table: pa.Table, column: str) -> dict[str, int]:
    """How often each word stands in a column, most often first."""
    return dict(Counter(word for word in table.column(column).cast(pa.string()).to_pylist() if word).most_common())


def _total(table: pa.Table, column: str) -> float | None:
    result: float | None = pc.sum(table.column(column)).as_py()
    return result


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


# --------------------------------------------------------------------------------------------------
# Worst disagreements: pairs or ticks on which panel and judge were clear, each the other way, with their pictures.
# --------------------------------------------------------------------------------------------------

LONGEST = 240
THUMB = 360


def worst_cases(
    study: Study, places: ItemOrder, judge: PairJudge, met: Sequence[JudgeOnPanel], most: int
) -> tuple[tuple[WorstCase, ...], int]:
    """The clearest disagreements, clearest panel first, and how many there are in all.

    With m votes against k for the judge's choice, the order is by (m + 1)/(m + k + 2): five to none before two to none.
    """
    found = []
    for one in met:
        against = one.rows[one.faced.choice[one.rows] == -one.panel.winner[one.rows]]
        votes = one.panel.votes[against]
        larger, smaller = votes[:, :2].max(axis=1), votes[:, :2].min(axis=1)
        clear = (larger + 1) / (larger + smaller + 2)
        margin = _margins(judge, one, against)
        found += list(zip(-clear, -margin, [one] * len(against), against.tolist()))
    found.sort(key=lambda case: (case[0], case[1], case[2].panel.number, case[3]))
    said = _texts(judge)
    return tuple(_case(study, places, judge, one, row, said) for _, _, one, row in found[:most]), len(found)


def worst_ticks(
    study: Study, judge: TickJudge, panel: TickPanel, against: ReportTicksInts, most: int
) -> tuple[WorstTick, ...]:
    """Of the rows on which the judge is against the majority those where people are clearest, in the order of pairs."""
    larger = np.maximum(panel.yes, panel.no)[against]
    clear = (larger + 1) / (panel.raters[against] + 2)
    chosen = against[np.lexsort((against, -clear))][:most]
    said = _point_texts(judge)
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    return tuple(_worst_tick(panel, int(row), prompts, said) for row in chosen)


def _worst_tick(
    panel: TickPanel, row: int, prompts: Mapping[str, str | None], said: Mapping[tuple[str, ...], str]
) -> WorstTick:
    criterion, item, point = tick = panel.ticks[row]
    votes = sorted((int(panel.yes[row]), int(panel.no[row])), reverse=True)
    return WorstTick(
        criterion=criterion,
        prompt=prompts[item],
        item=item,
        point=point,
        people=bool(panel.majority[row] == YES),
        votes=(votes[0], votes[1]),
        said=said.get(tick),
    )


def _margins(judge: PairJudge, met: JudgeOnPanel, rows: ReportTicksInts) -> NDArray[np.float64]:
    """How far apart a scorer's two numbers are, in standard deviations of its numbers; 0 for a judge of pairs."""
    if not isinstance(judge.answers, ItemValues) or not len(rows):
        return np.zeros(len(rows))
    x = judge.answers.by_criterion[met.panel.number]
    a, b = judge.answers.places.items(met.panel.keys[rows])
    return np.asarray(np.abs(x[a] - x[b]) / (np.nanstd(x) or 1.0))


def _case(
    study: Study, places: ItemOrder, judge: PairJudge, met: JudgeOnPanel, row: int, said: Mapping[tuple[str, ...], str]
) -> WorstCase:
    key = met.panel.keys[row : row + 1]
    pair = [study.label("items", int(item[0])) for item in places.items(key)]
    first, second, ties = met.panel.votes[row].tolist()
    liked, other = pair if first > second else pair[::-1]
    criterion = study.criteria[met.panel.number].id
    gap = _margins(judge, met, np.array([row])) if isinstance(judge.answers, ItemValues) else None
    return WorstCase(
        criterion=criterion,
        prompt=_prompt(study, int(places.items(key)[0][0])),
        panel_choice=liked,
        judge_choice=other,
        votes=(max(first, second), min(first, second), ties),
        said=said.get((criterion, *pair)),
        margin=None if gap is None else float(gap[0]),
    )


def _prompt(study: Study, item: int) -> str | None:
    items = study.table("items")
    return items.column("prompt")[item].as_py() if "prompt" in items.column_names else None


def _texts(judge: PairJudge) -> dict[tuple[str, ...], str]:
    """The judge's words on each (criterion, pair), in the first order, shortened."""
    if judge.table is None or judge.kind != "pairs":
        return {}
    found = _first_words(judge.table, "b")
    return {(criterion, *sorted(pair)): words for (criterion, *pair), words in reversed(found.items())}


def _point_texts(judge: TickJudge) -> dict[tuple[str, ...], str]:
    """The judge's words on each (criterion, item, point), shortened."""
    return {} if judge.table is None else _first_words(judge.table, "point")


def _first_words(table: pa.Table, other: str) -> dict[tuple[str, ...], str]:
    """The first words on each (criterion, a, `other`), shortened."""
    table = table.filter(pc.is_valid(table.column("text")))
    columns = [table.column(name).cast(pa.string()).to_pylist() for name in ("criterion", "a", other, "text")]
    said: dict[tuple[str, ...], str] = {}
    for *about, text in zip(*columns):
        if about[-1] is not None:
            said.setdefault(tuple(about), " ".join(text.split())[:LONGEST])
    return said


def thumbnails(study: Study, folder: Path | None, items: Sequence[str]) -> dict[str, str]:
    """A small WebP of each item as a data URL; items without a readable picture inside `folder` are left out."""
    if folder is None or "image" not in study.table("items").column_names:
        return {}
    table = study.table("items")
    wanted = table.filter(pc.is_in(table.column("id"), value_set=pa.array(list(dict.fromkeys(items)), pa.string())))
    made = {}
    for id, image in zip(wanted.column("id").to_pylist(), wanted.column("image").to_pylist()):
        path = folder / image if image else None
        if path is None or not is_inside(path, folder):
            continue
        if url := picture_url(path, THUMB):
            made[id] = url
    return made
