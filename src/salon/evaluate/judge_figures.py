"""All figures of one judge of pairs: accuracy, bias, steadiness, numbers in use, cost, worst disagreements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import StatsError
from salon.evaluate.accuracy import (
    PairCeilings,
    accuracies,
    accuracy_levels,
    drawing,
    generator_order,
    judge_buckets,
    judge_criterion,
    sample_agreement,
    tau,
    with_ties,
    wordings,
)
from salon.evaluate.answers import ItemValues, PairAnswers, PairJudge, PairVerdicts
from salon.evaluate.pair_results import CHANCE, BandFigures, FigureCorrelation, JudgeFigures, UsageFigures, WorstCase
from salon.evaluate.people import Ints, ItemOrder, TestPairs, is_person
from salon.evaluate.raters import RaterAnswers
from salon.evaluate.results import FlagJudge, FlagPanel, ReportSettings
from salon.stats import (
    Estimate,
    Resampling,
    alpha_bootstrap,
    band,
    match_rate,
    method_agreement,
    separation,
    spearman_p,
)
from salon.store import is_inside, picture_url
from salon.study import Criterion, Study

BY_TIER = "items of the high tier against items of the low tier"
BY_VOTES = "within each group, the third of items that won most of its votes against the third that won fewest"
NO_SIDES = "no group with strong and weak items"
COMPARED = (
    ("accuracy", "position_bias"),
    ("accuracy", "conditional"),
    ("position_bias", "conditional"),
    ("accuracy", "tie_rate"),
    ("accuracy", "unseen"),
)
LONGEST = 240
THUMB = 360


def judge_figures(
    study: Study, order: ItemOrder, judge: PairJudge, answers: PairAnswers, tops: PairCeilings, settings: ReportSettings
) -> JudgeFigures:
    """What a judge is worth; its draws are seeded by its own name and taken in this order."""
    rng = settings.rng(judge.name)
    resampling, tops = drawing(settings, rng), tops.of(answers)
    pairs, rows = answers.pairs, answers.rows
    every = np.arange(len(pairs))
    reached = accuracies(answers, tops, rng)
    agreement, samples = sample_agreement(answers, resampling)
    worst, worst_of = worst_cases(study, order, judge, answers, settings.worst)
    first = clusters = np.empty(0, np.int64)
    if isinstance(judge.answers, PairVerdicts):  # else nothing was shown side by side
        first, keys = judge.answers.named_first(pairs.numbers)
        clusters = order.clusters(keys)
    elif isinstance(judge.answers, RaterAnswers):
        first, clusters = judge.answers.named_first(pairs)
    places = [place for place in range(len(pairs.criteria)) if answers.asked[pairs.on(place)].any()]
    return JudgeFigures(
        name=judge.name,
        kind=judge.kind,
        orders=reached.orders,
        simulated=judge.simulated,
        signature=judge.signature,
        **accuracy_levels(reached, tops),
        with_ties=with_ties(answers, every, resampling),
        buckets=judge_buckets(answers, rows, resampling),
        says_first=match_rate(first, clusters, **resampling) if len(first) else None,
        tau=tau(answers, every, drawing(settings, settings.rng(f"{judge.name}\ntau"))),
        criteria=tuple(
            judge_criterion(
                answers,
                place,
                reached.by_criterion[place],
                tops([place]),
                with_ties=with_ties(answers, pairs.on(place), resampling),
                buckets=judge_buckets(answers, own, resampling),
                tau=tau(answers, pairs.on(place), drawing(settings, settings.rng(f"{judge.name}\ntau\n{place}"))),
                wordings=wordings(answers, own, settings.deals, rng),
            )
            for place in places
            for own in [rows[pairs.criterion[rows] == place]]
        ),
        wordings=wordings(answers, rows, settings.deals, rng),
        self_agreement=agreement,
        samples=samples,
        bands=tuple(_bands(study, judge, pairs, resampling)),
        generators=generator_order(answers, drawing(settings, settings.rng(f"{judge.name}\norder of generators"))),
        usage=usage_figures(judge.table, reached.macro.accuracy),
        worst=worst,
        worst_of=worst_of,
    )


def figure_correlation(judges: Sequence[JudgeFigures], x: str, y: str) -> FigureCorrelation:
    """Over the judges of pairs that have both figures; scorers see no order, so theirs are of another kind."""
    both = [(getattr(judge.macro, x), getattr(judge.macro, y)) for judge in judges if judge.kind in ("pairs", "rater")]
    points = [(first.value, second.value) for first, second in both if first is not None and second is not None]
    if len(points) < 4:
        reason = "at least four judges of pairs with both figures are needed"
        return FigureCorrelation(x=x, y=y, value=None, low=None, high=None, n=len(points), reason=reason)
    first, second = np.array(points).T
    agreement = method_agreement(first, second)
    p = None if agreement.srcc is None else spearman_p(first, second)
    return FigureCorrelation(
        x=x,
        y=y,
        value=agreement.srcc,
        low=agreement.srcc_low,
        high=agreement.srcc_high,
        p=p,
        n=agreement.n,
        reason=agreement.reason,
    )


# -- numbers in use ----------------------------------------------------------------------------------------------------


def _bands(study: Study, judge: PairJudge, pairs: TestPairs, resampling: Resampling) -> Iterator[BandFigures]:
    """One entry for a scorer, one for each criterion of a judge asked for numbers, none for a judge of pairs."""
    answers = judge.answers
    if not isinstance(answers, ItemValues):
        return
    shared = judge.kind == "scorer"
    for number in sorted(answers.by_criterion)[: 1 if shared else None]:
        x, has_number = answers.by_criterion[number], ~np.isnan(answers.by_criterion[number])
        if not has_number.any():
            continue
        items_asked = answers.asked.get(number, np.ones(len(x), bool))
        scale = None if shared else study.criteria[number].scale
        turn = -1 if scale is not None and not scale.higher_is_better else 1
        values = band(turn * x[has_number], *((None, None) if scale is None else (scale.low, scale.high)))
        rows = np.ones(len(pairs), bool) if shared else np.array(pairs.numbers)[pairs.criterion] == number
        side, strong_is = _strong_and_weak(study, answers.order, pairs, rows)
        try:
            apart = separation(x[has_number], side[has_number], study.item_groups[has_number], **resampling)
        except StatsError:
            apart = None
        yield BandFigures(
            criterion=None if shared else study.criteria[number].id,
            **{name: getattr(values, name) for name in ("low", "median", "high", "width", "levels", "commonest", "n")},
            missing=int((items_asked & ~has_number).sum()),
            separation=apart,
            strong_is=strong_is,
        )


def _strong_and_weak(study: Study, order: ItemOrder, pairs: TestPairs, rows: NDArray[np.bool_]) -> tuple[Ints, str]:
    """1 for strong items, -1 for weak ones: by tier where experts gave one, else by the panel's votes."""
    items = study.table("items")
    if "tier" in items.column_names:
        tiers = items.column("tier").cast(pa.string()).to_pylist()
        side = np.array([{"high": 1, "low": -1}.get(tier, 0) for tier in tiers])
        if {1, -1} <= set(side.tolist()):
            return side, BY_TIER
    size = len(study.item_groups)
    wins, votes = np.zeros(size), np.zeros(size)
    for item, column in zip(order.items(pairs.keys[rows]), (0, 1)):
        wins += np.bincount(item, weights=pairs.votes[rows, column], minlength=size)
        votes += np.bincount(item, weights=pairs.votes[rows, :2].sum(axis=1), minlength=size)
    won = np.where(votes > 0, wins / np.maximum(votes, 1), np.nan)
    side = np.zeros(size, np.int64)
    voted = np.flatnonzero(~np.isnan(won))
    by_share = voted[np.lexsort((won[voted], study.item_groups[voted]))]
    groups = study.item_groups[by_share]
    for members in np.split(by_share, np.flatnonzero(groups[1:] != groups[:-1]) + 1):
        third = max(len(members) // 3, 1)
        if len(members) > 1 and won[members[0]] < won[members[-1]]:
            side[members[:third]], side[members[-third:]] = -1, 1
    return side, BY_VOTES if side.any() else NO_SIDES


# -- cost --------------------------------------------------------------------------------------------------------------


def usage_figures(table: pa.Table | None, accuracy: Estimate | None) -> UsageFigures | None:
    """Calls, failures, tokens, money and time of the verdicts in `table`; None where calls are not known."""
    if table is None:
        return None

    def counts(rows: pa.Table, column: str) -> dict[str, int]:
        words = rows.column(column).cast(pa.string()).to_pylist()
        return dict(Counter(word for word in words if word).most_common())

    totals = {name: pc.sum(table.column(name)).as_py() for name in ("cost", "tokens_in", "tokens_out")}
    failed = counts(table, "failed")
    reasons = counts(table.filter(pc.is_null(table.column("failed"))), "unparsed")
    names = ["criterion", "a", "b", "point"]  # orders and samples of one question are one
    questions = pa.table({name: table.column(name).cast(pa.string()) for name in names}).group_by(names).aggregate([])
    cost = totals["cost"]
    per_1000 = None if cost is None else 1000 * cost / max(questions.num_rows, 1)
    seconds = table.column("seconds").drop_null().to_numpy()
    times = pc.min_max(table.column("at")).as_py()
    return UsageFigures(
        answers=table.num_rows,
        unread=sum(failed.values()) + sum(reasons.values()),
        failed=failed,
        reasons=reasons,
        cost=cost,
        cost_unknown=0 if cost is None else table.column("cost").null_count,
        **{name: None if totals[name] is None else int(totals[name]) for name in ("tokens_in", "tokens_out")},
        seconds_median=float(np.median(seconds)) if len(seconds) else None,
        seconds_95=float(np.quantile(seconds, 0.95)) if len(seconds) else None,
        first_at=times["min"],
        last_at=times["max"],
        cost_per_1000=per_1000,
        cost_per_point=_cost_per_point(per_1000, accuracy),
    )


def _cost_per_point(cost: float | None, accuracy: Estimate | None) -> Estimate | None:
    """Cost per hundredth of accuracy above chance. An accuracy that may be chance has no upper end: None."""
    if not cost or accuracy is None or accuracy.value <= CHANCE:
        return None

    def at(end: float | None) -> float | None:
        return None if end is None or end <= CHANCE else cost / (100 * (end - CHANCE))

    return replace(
        accuracy, value=cost / (100 * (accuracy.value - CHANCE)), low=at(accuracy.high), high=at(accuracy.low)
    )


# -- flags -------------------------------------------------------------------------------------------------------------

HALF = 0.5


def flag_panels(study: Study, judges: Sequence[PairJudge], settings: ReportSettings) -> tuple[FlagPanel, ...]:
    """One entry for every flag and cohort of people who gave it."""
    view, persons, raters = study.ratings, is_person(study), study.table("raters")
    named = "cohort" in raters.column_names
    cohorts = np.array(raters.column("cohort").to_pylist() if named else [None] * raters.num_rows, object)
    panels = []
    for number, criterion in enumerate(study.criteria):
        rows = np.flatnonzero((view.criterion == number) & (view.repeat == 0) & persons[view.rater])
        of = cohorts[view.rater[rows]]
        for cohort in sorted(set(of.tolist()), key=lambda name: (name is None, name)) if criterion.is_flag else ():
            panels.append(_panel(study, number, rows[of == cohort], cohort, judges, settings))
    return tuple(panels)


def _panel(
    study: Study, number: int, rows: Ints, cohort: str | None, judges: Sequence[PairJudge], settings: ReportSettings
) -> FlagPanel:
    view, criterion = study.ratings, study.criteria[number]
    assert criterion.scale is not None
    items, unit = np.unique(view.item[rows].astype(np.int64), return_inverse=True)
    groups = study.item_groups[items].astype(np.int64)
    clusters = np.where(groups >= 0, groups, -1 - items)
    rng = settings.rng(f"{criterion.id}\nflags of {cohort}")
    resampling: Resampling = {"draws": settings.draws, "rng": rng, "level": settings.level}
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
        flagged=match_rate(flagged, clusters[unit], **resampling),
        alpha=alpha,
        judges=tuple(
            figures
            for judge in judges
            if (figures := _flag_judge(judge, number, criterion, items, share, groups, settings)) is not None
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
    has_number = ~np.isnan(x)
    if not has_number.any():
        return None
    side = np.where(share > HALF, -1, np.where(share < HALF, 1, 0))
    rng = settings.rng(f"{judge.name}\n{criterion.id}\nflags")
    try:
        apart = separation(
            x[has_number], side[has_number], groups[has_number], draws=settings.draws, rng=rng, level=settings.level
        )
    except StatsError:
        apart = None
    return FlagJudge(
        judge=judge.name,
        items=int(has_number.sum()),
        missing=int((~has_number).sum()),
        flagged=float((-x[has_number] > criterion.scale.low).mean()),
        separation=apart,
    )


# -- worst disagreements -----------------------------------------------------------------------------------------------


def worst_cases(
    study: Study, order: ItemOrder, judge: PairJudge, answers: PairAnswers, most: int
) -> tuple[tuple[WorstCase, ...], int]:
    """The clearest disagreements, clearest panel first, and how many there are in all.

    With m votes against k for the judge's choice, the order is by (m + 1)/(m + k + 2): five to none before two to none.
    Of equals, the one on which a scorer's two numbers are farther apart comes first.
    """
    pairs, rows = answers.pairs, answers.rows
    against = rows[answers.choice[rows] == -pairs.winner[rows]]
    votes = pairs.votes[against]
    larger, smaller = votes[:, :2].max(axis=1), votes[:, :2].min(axis=1)
    clear = (larger + 1) / (larger + smaller + 2)
    margin, numbers = np.zeros(len(against)), np.array(pairs.numbers, np.int64)[pairs.criterion[against]]
    if isinstance(judge.answers, ItemValues) and len(against):
        a, b = order.items(pairs.keys[against])
        for number in np.unique(numbers):  # in standard deviations of its numbers
            x, own = judge.answers.by_criterion[number], numbers == number
            margin[own] = np.abs(x[a[own]] - x[b[own]]) / (np.nanstd(x) or 1.0)
    words = spoken_words(judge.table, "b") if judge.table is not None and judge.kind == "pairs" else {}
    texts = {(criterion, *sorted(pair)): text for (criterion, *pair), text in reversed(words.items())}
    items = study.table("items")
    prompts = items.column("prompt").to_pylist() if "prompt" in items.column_names else None
    cases = []
    for place in np.lexsort((against, numbers, -margin, -clear))[:most].tolist():
        row = int(against[place])
        pair = [pairs.item_a[row], pairs.item_b[row]]
        first, second, ties = pairs.votes[row].tolist()
        criterion = pairs.criteria[pairs.criterion[row]][0]
        cases.append(
            WorstCase(
                criterion=criterion,
                prompt=None if prompts is None else prompts[int(order.items(pairs.keys[row : row + 1])[0][0])],
                panel_choice=pair[0] if first > second else pair[1],
                judge_choice=pair[1] if first > second else pair[0],
                votes=(max(first, second), min(first, second), ties),
                said=texts.get((criterion, *pair)),
                margin=float(margin[place]) if isinstance(judge.answers, ItemValues) else None,
            )
        )
    return tuple(cases), len(against)


def spoken_words(table: pa.Table, column: str) -> dict[tuple[str, ...], str]:
    """A judge's first words on each (criterion, a, `other`), shortened."""
    table = table.filter(pc.is_valid(table.column("text")))
    columns = [table.column(name).cast(pa.string()).to_pylist() for name in ("criterion", "a", column, "text")]
    texts: dict[tuple[str, ...], str] = {}
    for *about, text in zip(*columns):
        if about[-1] is not None:
            texts.setdefault(tuple(about), " ".join(text.split())[:LONGEST])
    return texts


def thumbnails(study: Study, folder: Path | None, items: Sequence[str]) -> dict[str, str]:
    """A small WebP of each item as a data URL; items without a readable picture inside `folder` are left out."""
    table = study.table("items")
    if folder is None or "image" not in table.column_names:
        return {}
    rows = table.filter(pc.is_in(table.column("id"), value_set=pa.array(list(dict.fromkeys(items)), pa.string())))
    urls = {}
    for id, image in zip(rows.column("id").to_pylist(), rows.column("image").to_pylist()):
        if image and is_inside(folder / image, folder) and (url := picture_url(folder / image, THUMB)):
            urls[id] = url
    return urls
