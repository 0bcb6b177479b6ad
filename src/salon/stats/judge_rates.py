"""Accuracy of a judge against a panel, on pairs and on ticks of checklists.

Data: pairs of items on which a panel has a majority (a tied panel names no winner: the pair is out of every
denominator). A judge is shown each pair in two orders. Its verdicts are coded by the majority: WITH it, AGAINST it,
TIE, or UNREAD (no verdict could be read, or none came). A pair is then one of six kinds:

    RIGHT   both orders with the majority      TOOK_FIRST   with it when it stood first, against when second
    WRONG   both orders against it             TOOK_SECOND  the other way round
    TIED    a tie in one order or both         UNSEEN       a verdict of one order or both is unread

The score of a pair (MT-Bench, setup S1): 1 if both orders agree with the majority, 0 if both are against it, 1/2 if
the orders disagree or the judge sees a tie. With an unread verdict the orders cannot be held against each other and
the pair counts 0 in the headline. Over n pairs, with u the share of UNSEEN pairs and, among the others, b the share
that follows the position, t the share TIED, and c the share RIGHT of those RIGHT or WRONG:

    parsed only = (1 - b - t) c + (b + t)/2        accuracy = (1 - u) * parsed only

Both hold exactly for one criterion or for all pairs pooled, with or without unread verdicts, and not for means over
criteria (macro). A judge that was asked in one order, or that scores items one by one, has no b: it is None, and
b = 0 in the identity. A coin has accuracy 1/2, and so has a judge that always takes the first picture.

Intervals: whole prompts are drawn again; everything is a function of the counts of kinds by prompt and criterion, so
all figures of a judge come from the same draws. A share of 0 or 1 has no spread to draw from: its open end is the
exact bound for as many prompts as it rests on (of a mean over criteria, in the criterion with the fewest), all of them
alike; pairs of one prompt may depend on each other in any way (`intervals`).

Sources: Zheng et al. 2023 (MT-Bench) for S1; TASTE 6.6 for b, c and the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.intervals import BOTH_SIDES, SHARE, check_settings, draw_totals, interval, ratio, row_kinds
from salon.stats.result import Estimate, described, result

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Statistic = Callable[[FloatArray], FloatArray]
Part = TypeVar("Part")

WITH, AGAINST, TIE, UNREAD = 1, -1, 0, 2
RIGHT, WRONG, TOOK_FIRST, TOOK_SECOND, TIED, UNSEEN = range(6)
KINDS = 6
_ROUNDING = 1e-9
_FEW = 256


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A judge on one criterion, on all pooled, or averaged over criteria."""

    accuracy: Estimate
    """The headline: a pair with an unread verdict counts 0."""
    parsed_only: Estimate | None
    """Over the pairs that were read; None where none was."""
    conditional: Estimate | None
    """c: share RIGHT of the pairs on which both orders name the same item."""
    position_bias: Estimate | None
    """b: share of read pairs whose verdict follows the position; None for one order."""
    took_first: Estimate | None
    """Share of those that took the picture shown first."""
    tie_rate: Estimate | None
    """t: share of read pairs with a tie in one order or both."""
    unseen: Estimate
    """u: share of pairs with an unread verdict."""
    pairs: int


@dataclass(frozen=True, slots=True)
class JudgeAccuracy:
    """One judge against one panel."""

    by_criterion: tuple[Accuracy | None, ...]
    """None for a criterion without a pair."""
    pooled: Accuracy
    macro: Accuracy
    """Each figure the mean over the criteria that have it: the identity does not hold here."""
    orders: int


@dataclass(frozen=True, slots=True)
class KindTable:
    """Pairs by prompt, criterion and kind."""

    counts: IntArray
    """(prompts, criteria, 6)"""
    orders: int
    """2, or 1 where pairs were shown in one order or items were scored alone."""


def pair_kinds(verdicts: ArrayLike) -> IntArray:
    """The kind of each pair, from (n, 2) verdicts: the majority's item shown first, then second; or (n,) for one order.

    One order gives RIGHT, WRONG, TIED and UNSEEN only.
    """
    codes = np.asarray(verdicts)
    if codes.ndim not in (1, 2) or (codes.ndim == 2 and codes.shape[1] != 2):
        raise BadValue("verdicts in one order (n,) or in two (n, 2) are needed", found=f"shape {codes.shape}")
    if not np.isin(codes, (WITH, AGAINST, TIE, UNREAD)).all():
        wrong = codes[~np.isin(codes, (WITH, AGAINST, TIE, UNREAD))].flat[0]
        raise BadValue("a verdict is WITH (1), AGAINST (-1), TIE (0) or UNREAD (2)", found=wrong)
    first, second = (codes, codes) if codes.ndim == 1 else codes.T
    kinds = np.full(len(codes), UNSEEN, np.int64)
    kinds[(first == WITH) & (second == WITH)] = RIGHT
    kinds[(first == AGAINST) & (second == AGAINST)] = WRONG
    kinds[(first == WITH) & (second == AGAINST)] = TOOK_FIRST
    kinds[(first == AGAINST) & (second == WITH)] = TOOK_SECOND
    kinds[((first == TIE) | (second == TIE)) & (first != UNREAD) & (second != UNREAD)] = TIED
    return kinds


def pair_scores(kinds: ArrayLike) -> FloatArray:
    """1, 0 or 1/2 for each pair; 0 where a verdict is unread."""
    scores: FloatArray = np.array([1.0, 0.0, 0.5, 0.5, 0.5, 0.0])[np.asarray(kinds)]
    return scores


def kind_table(verdicts: ArrayLike, prompts: ArrayLike, criteria: ArrayLike | None = None, *, of: int = 1) -> KindTable:
    """Counts of kinds; `criteria` numbers each pair's criterion, 0 to `of` - 1."""
    codes = np.asarray(verdicts)
    counts = count_kinds(pair_kinds(codes), prompts, criteria, of, "a pair on which the panel has a majority")
    return KindTable(counts, 1 if codes.ndim == 1 else 2)


def count_kinds(kinds: IntArray, prompts: ArrayLike, criteria: ArrayLike | None, of: int, needed: str) -> IntArray:
    """Counts (prompts, criteria, kinds) of what a judge answered; `needed` says what there was none of."""
    where = np.zeros(len(kinds), np.int64) if criteria is None else np.asarray(criteria, np.int64)
    labels, row = np.unique(np.asarray(prompts), return_inverse=True)
    if where.shape != kinds.shape or row.shape != kinds.shape:
        raise BadValue("one prompt and one criterion for each answer", found=f"{len(kinds)}, {len(row)}, {len(where)}")
    if not len(kinds):
        raise TooFew(f"accuracy needs {needed}", found="none")
    flat = np.bincount((row * of + where) * KINDS + kinds, minlength=len(labels) * of * KINDS)
    return flat.reshape(len(labels), of, KINDS)


def judge_accuracy(table: KindTable, *, draws: int, rng: np.random.Generator, level: float = 0.95) -> JudgeAccuracy:
    """All figures of a judge with intervals over prompts; see the module for definitions."""

    def figures(rows: IntArray, replicates: FloatArray) -> Accuracy:
        estimates = {
            name: _estimate(_share(of), (of[1],), rows, replicates, level=level)
            for name, of in _RATIOS.items()
            if table.orders == 2 or name not in ("position_bias", "took_first")
        }
        absent = dict.fromkeys(("position_bias", "took_first"))
        return Accuracy(**{**absent, **estimates}, pairs=int(rows.sum()))  # type: ignore[arg-type]  # the names are those of the fields

    parts = _by_part(table.counts, figures, identity_gap, draws=draws, rng=rng, level=level)
    return JudgeAccuracy(*parts, orders=table.orders)


def _by_part(
    counts: IntArray,
    figures: Callable[[IntArray, FloatArray], Part],
    gap: Callable[[Part], float],
    *,
    draws: int,
    rng: np.random.Generator,
    level: float,
) -> tuple[tuple[Part | None, ...], Part, Part]:
    """`figures` of each criterion that has answers, of all pooled, and of the mean over criteria, from the same draws.

    `figures` takes counts (prompts, criteria, kinds) and totals (draws, criteria, kinds) and gives means over criteria;
    `gap` is how far its identity fails.
    """
    prompts, criteria, _ = counts.shape
    check_settings(prompts, draws, level)
    replicates = draw_prompt_totals(counts.reshape(prompts, -1), draws, rng).reshape(draws, criteria, KINDS)
    here = np.flatnonzero(counts.sum(axis=(0, 2)) > 0)
    each = tuple(figures(counts[:, [k]], replicates[:, [k]]) if k in here else None for k in range(criteria))
    pooled = figures(counts.sum(axis=1, keepdims=True), replicates.sum(axis=1, keepdims=True))
    for part in (*each, pooled):
        if part is not None and gap(part) > _ROUNDING:
            raise ArithmeticError(f"accuracy and its parts disagree by {gap(part):.2g}: a fault of Salon's own")
    return each, pooled, figures(counts[:, here], replicates[:, here])


def accuracy_difference(
    first: KindTable, second: KindTable, *, draws: int, rng: np.random.Generator, level: float = 0.95
) -> Estimate:
    """Macro accuracy of one judge less that of another on the same prompts (rows), drawn together."""
    return macro_difference(_share(_RATIOS["accuracy"]), first.counts, second.counts, draws=draws, rng=rng, level=level)


def macro_difference(
    of: Statistic, first: IntArray, second: IntArray, *, draws: int, rng: np.random.Generator, level: float
) -> Estimate:
    """`macro_mean` of one judge's counts less that of another's, over criteria that both answered under."""
    if first.shape != second.shape:
        raise BadValue(
            "two judges on the same prompts and criteria are needed", found=f"{first.shape[:2]} and {second.shape[:2]}"
        )
    prompts = len(first)
    check_settings(prompts, draws, level)
    both = np.concatenate([table.reshape(prompts, -1) for table in (first, second)], axis=1)
    here = (first.sum(axis=(0, 2)) > 0) & (second.sum(axis=(0, 2)) > 0)

    def difference(totals: FloatArray) -> FloatArray:
        split = totals.reshape(len(totals), 2, *first.shape[1:])[:, :, here]
        return macro_mean(of, split[:, 0]) - macro_mean(of, split[:, 1])

    value = float(difference(both.sum(axis=0, keepdims=True).astype(float))[0])
    answered = int(((first + second)[:, here].sum(axis=(1, 2)) > 0).sum())
    if answered == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    return interval(
        value,
        difference(draw_prompt_totals(both, draws, rng)),
        n=answered,
        unit="prompt",
        level=level,
        within=BOTH_SIDES,
    )


def identity_gap(of: Accuracy) -> float:
    """How far accuracy is from (1 - u)((1 - b - t) c + (b + t)/2): zero up to rounding, but for means over criteria."""
    if of.parsed_only is None or of.tie_rate is None:
        return abs(of.accuracy.value)
    undecided = of.tie_rate.value + (of.position_bias.value if of.position_bias else 0.0)
    decided = 0.0 if of.conditional is None else (1 - undecided) * of.conditional.value
    return abs(of.accuracy.value - (1 - of.unseen.value) * (decided + undecided / 2))


def match_rate(
    hits: ArrayLike, prompts: ArrayLike, *, draws: int, rng: np.random.Generator, level: float = 0.95
) -> Estimate:
    """Mean of `hits` (one number per question) with whole prompts drawn again."""
    hit = np.asarray(hits, float)
    if not len(hit):
        raise TooFew("a rate needs at least one question", found="none")
    _, row = np.unique(np.asarray(prompts), return_inverse=True)
    table = np.column_stack([np.bincount(row, weights=hit), np.bincount(row)])
    check_settings(len(table), draws, level)
    value = float(hit.mean())
    if len(table) == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    totals = draw_prompt_totals(table, draws, rng)
    return interval(value, totals[:, 0] / totals[:, 1], n=len(table), unit="prompt", level=level, ends=SHARE)


# -- the statistics: tops and bottoms of ratios, as functions of totals (draws, kinds) ---------------------------------


def _points(t: FloatArray) -> FloatArray:
    return np.asarray(t[:, RIGHT] + (t[:, TOOK_FIRST] + t[:, TOOK_SECOND] + t[:, TIED]) / 2)


def _all_counts(t: FloatArray) -> FloatArray:
    return np.asarray(t.sum(axis=1))


def _read_pairs(t: FloatArray) -> FloatArray:
    return np.asarray(t.sum(axis=1) - t[:, UNSEEN])


def _follows(t: FloatArray) -> FloatArray:
    return np.asarray(t[:, TOOK_FIRST] + t[:, TOOK_SECOND])


Ratio = tuple[Statistic, Statistic]
_RATIOS: dict[str, Ratio] = {
    "accuracy": (_points, _all_counts),
    "parsed_only": (_points, _read_pairs),
    "conditional": (lambda t: t[:, RIGHT], lambda t: t[:, RIGHT] + t[:, WRONG]),
    "position_bias": (_follows, _read_pairs),
    "took_first": (lambda t: t[:, TOOK_FIRST], _follows),
    "tie_rate": (lambda t: t[:, TIED], _read_pairs),
    "unseen": (lambda t: t[:, UNSEEN], _all_counts),
}


def _share(of: Ratio) -> Statistic:
    return lambda t: ratio(of[0](t), of[1](t))


def macro_mean(of: Statistic, t: FloatArray) -> FloatArray:
    """Mean over the criteria (draws, criteria, kinds) that have the figure; a draw without any is NaN."""
    each = np.stack([of(t[:, k]) for k in range(t.shape[1])], axis=1)
    defined = ~np.isnan(each)
    return ratio(np.where(defined, each, 0.0).sum(axis=1), defined.sum(axis=1).astype(float))


def draw_prompt_totals(table: FloatArray | IntArray, draws: int, rng: np.random.Generator) -> FloatArray:
    """Totals (draws, columns) of prompts (rows) drawn again; few prompts are drawn all at once."""
    n = len(table)
    if n <= _FEW:
        return np.asarray(rng.multinomial(n, np.full(n, 1 / n), size=draws) @ table, dtype=np.float64)
    return draw_totals(*row_kinds(table), draws=draws, rng=rng)


def _estimate(
    of: Statistic,
    bottoms: tuple[Statistic, ...],
    rows: IntArray,
    replicates: FloatArray,
    *,
    level: float,
    share: bool = True,
) -> Estimate | None:
    """The mean over criteria of a figure with `bottoms` in its denominators; a `share` lies between 0 and 1."""
    n, total = count_prompts(rows, *bottoms), rows.sum(axis=0, keepdims=True).astype(float)
    value = float(macro_mean(of, total)[0])
    if np.isnan(value):
        return None
    if n == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    values = macro_mean(of, replicates)
    if not share:
        return interval(value, values, n=n, unit="prompt", level=level, within=BOTH_SIDES)
    behind = fewest_prompts(rows, *bottoms)
    return interval(value, values, n=n, unit="prompt", level=level, ends=SHARE, behind=behind)


def count_prompts(rows: IntArray, *bottoms: Statistic) -> int:
    """Prompts of (prompts, criteria, kinds) with something in a denominator under any criterion."""
    nonempty = [of(rows[:, k].astype(float)) > 0 for of in bottoms for k in range(rows.shape[1])]
    return int(np.any(nonempty, axis=0).sum())


def fewest_prompts(rows: IntArray, *bottoms: Statistic) -> int:
    """Prompts of (prompts, criteria, kinds) with something in a denominator, where they are fewest but not none."""
    each = [int((of(rows[:, k].astype(float)) > 0).sum()) for of in bottoms for k in range(rows.shape[1])]
    return min(n for n in each if n)


# -- ticks of checklists -----------------------------------------------------------------------------------------------


NO, YES, UNREAD_TICK = 0, 1, 2
HIT, MISS, ALARM, REJECT, UNREAD_YES, UNREAD_NO = range(6)


@result
class TickRates:
    """A judge against the people who ticked: on one criterion, on all ticks pooled, or as the mean over criteria."""

    accuracy: Estimate = described(
        "Headline: unread answers count 0, evenly split panels are left out.",
        title="Accuracy",
        kind="estimate",
        decimals=3,
    )
    parsed_only: Estimate | None = described(
        "Over the ticks that were read.", title="Parsed only", kind="estimate", decimals=3
    )
    balanced: Estimate | None = described(
        "Mean of `on_yes` and `on_no`: 0.5 for a coin and for a fixed answer.",
        title="Balanced",
        kind="estimate",
        decimals=3,
    )
    kappa: Estimate | None = described(
        "Cohen's kappa with the majority: 0 by chance.", title="κ", kind="estimate", decimals=3
    )
    on_yes: Estimate | None = described(
        "Where people say yes, share on which the judge does.", title="Right on yes", kind="estimate", decimals=3
    )
    on_no: Estimate | None = described(
        "Where people say no, share on which the judge does.", title="Right on no", kind="estimate", decimals=3
    )
    pass_rate: Estimate | None = described(
        "Share of the read ticks that the judge passes.", title="Passes", kind="estimate", decimals=3
    )
    people_pass: Estimate | None = described(
        "Share of the same ticks that people pass.", title="People pass", kind="estimate", decimals=3
    )
    lean: Estimate | None = described(
        "The judge's pass rate less that of people: above 0 it is too kind.", title="Lean", kind="estimate", decimals=3
    )
    constant: Estimate = described(
        "Accuracy of the better fixed answer, always yes or always no: chance.",
        title="Fixed answer",
        kind="estimate",
        decimals=3,
    )
    gain: Estimate = described("Accuracy less `constant`.", title="Gain", kind="estimate", decimals=3)
    unread: Estimate = described(
        "u: share of ticks without a readable answer.", title="Unread", kind="estimate", decimals=3
    )
    ticks: int = described("Ticks in the denominator.", title="Ticks")
    identity_gap: float | None = described(
        "|accuracy - (1-u)(y on_yes + (1-y) on_no)|, y = `people_pass`: rounding only. None for means over criteria.",
        default=None,
    )


@dataclass(frozen=True, slots=True)
class TickAccuracy:
    """One judge against one panel."""

    by_criterion: tuple[TickRates | None, ...]
    """None for a criterion without a tick."""
    pooled: TickRates
    macro: TickRates
    """Each figure the mean over the criteria that have it: the identity does not hold here."""


def tick_kinds(answers: ArrayLike, people: ArrayLike) -> IntArray:
    """The kind of each tick, from what the judge says (YES, NO, UNREAD) and the majority of people (YES, NO)."""
    judge, majority = np.asarray(answers), np.asarray(people)
    if judge.ndim != 1 or judge.shape != majority.shape:
        raise BadValue("one majority for each answer is needed", found=f"shapes {judge.shape} and {majority.shape}")
    for name, codes, allowed in (("answer", judge, (NO, YES, UNREAD_TICK)), ("majority", majority, (NO, YES))):
        if not np.isin(codes, allowed).all():
            raise BadValue(f"an {name} is one of {allowed}", found=codes[~np.isin(codes, allowed)][0])
    kinds = np.array([[REJECT, ALARM, UNREAD_NO], [MISS, HIT, UNREAD_YES]])
    return np.asarray(kinds[majority.astype(np.int64), judge.astype(np.int64)], dtype=np.int64)


def tick_table(
    answers: ArrayLike, people: ArrayLike, prompts: ArrayLike, criteria: ArrayLike | None = None, *, of: int = 1
) -> IntArray:
    """Counts of kinds (prompts, criteria, 6); `criteria` numbers each tick's criterion, 0 to `of` - 1."""
    return count_kinds(tick_kinds(answers, people), prompts, criteria, of, "a point on which people have a majority")


def tick_accuracy(table: IntArray, *, draws: int, rng: np.random.Generator, level: float = 0.95) -> TickAccuracy:
    """All figures of a judge from a `tick_table`, with intervals over prompts.

    What a judge of checklists is worth against a panel: accuracy, both kinds of error, pass rates, unread answers.

    Data: ticks. A tick is one point of one item on which a panel of people has a majority, YES (the point is met) or
    NO. An evenly split panel says neither: the tick is out of every denominator. The judge says YES, NO, or nothing
    that could be read (UNREAD). A tick is then one of six kinds:

        HIT     people YES, judge YES       ALARM    people NO, judge YES       UNREAD_YES   people YES, judge unread
        MISS    people YES, judge NO        REJECT   people NO, judge NO        UNREAD_NO    people NO, judge unread

    With u the share unread and, among the ticks that were read, y the share people pass:

        accuracy     (HIT + REJECT) / all: an unread answer counts 0          parsed only   the same over what was read
        on yes, on no   HIT/(HIT + MISS), REJECT/(REJECT + ALARM)             balanced      their mean
        pass rate    (HIT + ALARM)/read; of people (HIT + MISS)/read          lean          the first less the second
        kappa        (o - e)/(1 - e), o = parsed only, e = the agreement of two who tick with these pass rates at random
        constant     the larger of people's YES and NO over all ticks: the better of "always yes" and "always no"
        gain         accuracy less constant

        accuracy = (1 - u)(y on_yes + (1 - y) on_no)          exactly, for one criterion or for all ticks pooled

    Chance has two faces here. A coin has accuracy 1/2, but where people pass nine points of ten, "always yes" has .9
    and does not look. Balanced accuracy is 1/2 for both, and kappa 0. Where people only ever say one thing, neither is
    given.

    Intervals: whole prompts are drawn again; all figures come from the same draws of the counts of kinds by prompt. A
    share of 0 or 1 has the exact bound for as many prompts alike as it rests on; a kappa, lean or gain that no draw
    moves has no interval.

    Sources: Cohen 1960 for kappa; Brodersen et al. 2010 for balanced accuracy.
    """

    def figures(rows: IntArray, replicates: FloatArray) -> TickRates:
        estimates = {
            name: _estimate(of, _SHARES.get(name, (_all_counts,)), rows, replicates, level=level, share=name in _SHARES)
            for name, of in _FIGURES.items()
        }
        return TickRates(**estimates, ticks=int(rows.sum()))  # type: ignore[arg-type]  # the names are those of the fields

    each, pooled, macro = _by_part(table, figures, tick_identity_gap, draws=draws, rng=rng, level=level)
    return TickAccuracy(tuple(None if part is None else _with_gap(part) for part in each), _with_gap(pooled), macro)


def _with_gap(of: TickRates) -> TickRates:
    rates: TickRates = replace(of, identity_gap=tick_identity_gap(of))
    return rates


def tick_difference(
    first: IntArray, second: IntArray, *, draws: int, rng: np.random.Generator, level: float = 0.95
) -> Estimate:
    """Macro accuracy of one judge less that of another on the same ticks, prompts drawn together."""
    return macro_difference(_accuracy, first, second, draws=draws, rng=rng, level=level)


def tick_identity_gap(of: TickRates) -> float:
    """How far accuracy is from (1 - u)(y on_yes + (1 - y) on_no): zero up to rounding, but for means over criteria."""
    y = 0.0 if of.people_pass is None else of.people_pass.value
    on_yes, on_no = (0.0 if part is None else part.value for part in (of.on_yes, of.on_no))
    return abs(of.accuracy.value - (1 - of.unread.value) * (y * on_yes + (1 - y) * on_no))


# -- the statistics, as functions of totals (draws, kinds) -------------------------------------------------------------


def _read_ticks(t: FloatArray) -> FloatArray:
    return np.asarray(t[:, HIT] + t[:, MISS] + t[:, ALARM] + t[:, REJECT])


def _yes(t: FloatArray) -> FloatArray:
    return np.asarray(t[:, HIT] + t[:, MISS])


def _no(t: FloatArray) -> FloatArray:
    return np.asarray(t[:, REJECT] + t[:, ALARM])


def _accuracy(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT] + t[:, REJECT], t.sum(axis=1))


def _parsed_only(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT] + t[:, REJECT], _read_ticks(t))


def _on_yes(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT], _yes(t))


def _on_no(t: FloatArray) -> FloatArray:
    return ratio(t[:, REJECT], _no(t))


def _pass_rate(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT] + t[:, ALARM], _read_ticks(t))


def _people_pass(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT] + t[:, MISS], _read_ticks(t))


def _kappa(t: FloatArray) -> FloatArray:
    """Undefined where both always say the same one thing: there is no room above chance."""
    judge, people = _pass_rate(t), _people_pass(t)
    by_chance = judge * people + (1 - judge) * (1 - people)
    return ratio(_parsed_only(t) - by_chance, 1 - by_chance)


def _constant(t: FloatArray) -> FloatArray:
    yes = ratio(t[:, HIT] + t[:, MISS] + t[:, UNREAD_YES], t.sum(axis=1))
    return np.asarray(np.maximum(yes, 1 - yes))


_FIGURES: dict[str, Statistic] = {
    "accuracy": _accuracy,
    "parsed_only": _parsed_only,
    "balanced": lambda t: np.asarray((_on_yes(t) + _on_no(t)) / 2),
    "kappa": _kappa,
    "on_yes": _on_yes,
    "on_no": _on_no,
    "pass_rate": _pass_rate,
    "people_pass": _people_pass,
    "lean": lambda t: np.asarray(_pass_rate(t) - _people_pass(t)),
    "constant": _constant,
    "gain": lambda t: np.asarray(_accuracy(t) - _constant(t)),
    "unread": lambda t: ratio(t[:, UNREAD_YES] + t[:, UNREAD_NO], t.sum(axis=1)),
}
_SHARES: dict[str, tuple[Statistic, ...]] = {
    "accuracy": (_all_counts,),
    "parsed_only": (_read_ticks,),
    "balanced": (_yes, _no),
    "on_yes": (_yes,),
    "on_no": (_no,),
    "pass_rate": (_read_ticks,),
    "people_pass": (_read_ticks,),
    "constant": (_all_counts,),
    "unread": (_all_counts,),
}
"""Of the figures that are shares, or means of two, the ticks they are shares of."""
