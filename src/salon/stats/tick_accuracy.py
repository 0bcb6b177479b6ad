"""What a judge of checklists is worth against a panel: accuracy, both kinds of error, pass rates, unread answers.

Data: ticks. A tick is one point of one item on which a panel of people has a majority, YES (the point is met) or NO.
An evenly split panel says neither: the tick is out of every denominator. The judge says YES, NO, or nothing that could
be read (UNREAD). A tick is then one of six kinds:

    HIT     people YES, judge YES       ALARM    people NO, judge YES       UNREAD_YES   people YES, judge unread
    MISS    people YES, judge NO        REJECT   people NO, judge NO        UNREAD_NO    people NO, judge unread

With u the share unread and, among the ticks that were read, y the share people pass:

    accuracy     (HIT + REJECT) / all: an unread answer counts 0          parsed only   the same over what was read
    on yes, on no   HIT/(HIT + MISS), REJECT/(REJECT + ALARM)             balanced      their mean
    pass rate    (HIT + ALARM)/read; of people (HIT + MISS)/read          lean          the first less the second
    kappa        (o - e)/(1 - e), o = parsed only, e = the agreement of two who tick with these pass rates at random
    constant     the larger of people's YES and NO over all ticks: what the better of "always yes" and "always no" gets
    gain         accuracy less constant

    accuracy = (1 - u)(y on_yes + (1 - y) on_no)          exactly, for one criterion or for all ticks pooled

Chance has two faces here. A coin has accuracy 1/2, but where people pass nine points of ten, "always yes" has .9 and
does not look. Balanced accuracy is 1/2 for both, and kappa 0. Where people only ever say one thing, neither is given.

Intervals: whole prompts are drawn again; all figures come from the same draws of the counts of kinds by prompt. A share
of 0 or 1 has the exact bound for as many prompts alike as it rests on; a kappa, lean or gain that no draw moves has no
interval.

Sources: Cohen 1960 for kappa; Brodersen et al. 2010 for balanced accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue
from salon.stats.judge_accuracy import (
    KINDS,
    Statistic,
    count_kinds,
    drawn_totals,
    fewest_behind,
    macro_difference,
    macro_mean,
    prompts_behind,
)
from salon.stats.resample import BOTH_SIDES, SHARE, check_settings, interval, ratio
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NO, YES, UNREAD = 0, 1, 2
HIT, MISS, ALARM, REJECT, UNREAD_YES, UNREAD_NO = range(6)
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Ticked:
    """A judge on one criterion, on all pooled, or averaged over criteria; see the module for definitions."""

    accuracy: Estimate
    parsed_only: Estimate | None
    balanced: Estimate | None
    kappa: Estimate | None
    on_yes: Estimate | None
    on_no: Estimate | None
    pass_rate: Estimate | None
    people_pass: Estimate | None
    lean: Estimate | None
    constant: Estimate
    gain: Estimate
    unread: Estimate
    ticks: int


@dataclass(frozen=True, slots=True)
class TickAccuracy:
    """One judge against one panel."""

    by_criterion: tuple[Ticked | None, ...]
    """None for a criterion without a tick."""
    pooled: Ticked
    macro: Ticked
    """Each figure the mean over the criteria that have it: the identity does not hold here."""


def tick_kinds(said: ArrayLike, people: ArrayLike) -> IntArray:
    """The kind of each tick, from what the judge says (YES, NO, UNREAD) and the majority of people (YES, NO)."""
    judge, majority = np.asarray(said), np.asarray(people)
    if judge.ndim != 1 or judge.shape != majority.shape:
        raise BadValue("one majority for each answer is needed", found=f"shapes {judge.shape} and {majority.shape}")
    for name, given, allowed in (("answer", judge, (NO, YES, UNREAD)), ("majority", majority, (NO, YES))):
        if not np.isin(given, allowed).all():
            raise BadValue(f"an {name} is one of {allowed}", found=given[~np.isin(given, allowed)][0])
    kinds = np.array([[REJECT, ALARM, UNREAD_NO], [MISS, HIT, UNREAD_YES]])
    return np.asarray(kinds[majority.astype(np.int64), judge.astype(np.int64)], dtype=np.int64)


def tick_table(
    said: ArrayLike, people: ArrayLike, prompts: ArrayLike, criteria: ArrayLike | None = None, *, of: int = 1
) -> IntArray:
    """Counts of kinds (prompts, criteria, 6); `criteria` numbers each tick's criterion, 0 to `of` - 1."""
    return count_kinds(tick_kinds(said, people), prompts, criteria, of, "a point on which people have a majority")


def tick_accuracy(table: IntArray, *, draws: int, rng: np.random.Generator, level: float = 0.95) -> TickAccuracy:
    """All figures of a judge from a `tick_table`, with intervals over prompts."""
    prompts, criteria, _ = table.shape
    check_settings(prompts, draws, level)
    flat = table.reshape(prompts, -1)
    drawn = drawn_totals(flat, draws, rng).reshape(draws, criteria, KINDS)
    here = np.flatnonzero(table.sum(axis=(0, 2)) > 0)

    def figures(rows: IntArray, draws_of: FloatArray) -> Ticked:
        made = {name: _estimate(name, rows, draws_of, level=level) for name in _FIGURES}
        return Ticked(**made, ticks=int(rows.sum()))  # type: ignore[arg-type]  # the names are those of the fields

    found = TickAccuracy(
        by_criterion=tuple(figures(table[:, [k]], drawn[:, [k]]) if k in here else None for k in range(criteria)),
        pooled=figures(table.sum(axis=1, keepdims=True), drawn.sum(axis=1, keepdims=True)),
        macro=figures(table[:, here], drawn[:, here]),
    )
    for part in (*found.by_criterion, found.pooled):
        if part is not None and identity_gap(part) > _ROUNDING:
            raise ArithmeticError(
                f"accuracy and its parts disagree by {identity_gap(part):.2g}: a fault of Salon's own"
            )
    return found


def tick_difference(
    first: IntArray, second: IntArray, *, draws: int, rng: np.random.Generator, level: float = 0.95
) -> Estimate:
    """Macro accuracy of one judge less that of another on the same ticks, prompts drawn together."""
    return macro_difference(_accuracy, first, second, draws=draws, rng=rng, level=level)


def identity_gap(of: Ticked) -> float:
    """How far accuracy is from (1 - u)(y on_yes + (1 - y) on_no): zero up to rounding, but for means over criteria."""
    y = 0.0 if of.people_pass is None else of.people_pass.value
    on_yes, on_no = (0.0 if part is None else part.value for part in (of.on_yes, of.on_no))
    return abs(of.accuracy.value - (1 - of.unread.value) * (y * on_yes + (1 - y) * on_no))


# -- the statistics, as functions of totals (draws, kinds) -------------------------------------------------------------


def _read(t: FloatArray) -> FloatArray:
    return np.asarray(t[:, HIT] + t[:, MISS] + t[:, ALARM] + t[:, REJECT])


def _all(t: FloatArray) -> FloatArray:
    return np.asarray(t.sum(axis=1))


def _yes(t: FloatArray) -> FloatArray:
    return np.asarray(t[:, HIT] + t[:, MISS])


def _no(t: FloatArray) -> FloatArray:
    return np.asarray(t[:, REJECT] + t[:, ALARM])


def _accuracy(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT] + t[:, REJECT], t.sum(axis=1))


def _parsed_only(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT] + t[:, REJECT], _read(t))


def _on_yes(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT], _yes(t))


def _on_no(t: FloatArray) -> FloatArray:
    return ratio(t[:, REJECT], _no(t))


def _pass_rate(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT] + t[:, ALARM], _read(t))


def _people_pass(t: FloatArray) -> FloatArray:
    return ratio(t[:, HIT] + t[:, MISS], _read(t))


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
    "accuracy": (_all,),
    "parsed_only": (_read,),
    "balanced": (_yes, _no),
    "on_yes": (_yes,),
    "on_no": (_no,),
    "pass_rate": (_read,),
    "people_pass": (_read,),
    "constant": (_all,),
    "unread": (_all,),
}
"""Of the figures that are shares, or means of two, the ticks they are shares of."""


def _estimate(name: str, rows: IntArray, drawn: FloatArray, *, level: float) -> Estimate | None:
    bottoms = _SHARES.get(name, (_all,))
    n, total = prompts_behind(rows, *bottoms), rows.sum(axis=0, keepdims=True).astype(float)
    value = float(macro_mean(_FIGURES[name], total)[0])
    if np.isnan(value):
        return None
    if n == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    values = macro_mean(_FIGURES[name], drawn)
    if name not in _SHARES:
        return interval(value, values, n=n, unit="prompt", level=level, within=BOTH_SIDES)
    behind = fewest_behind(rows, *_SHARES[name])
    return interval(value, values, n=n, unit="prompt", level=level, ends=SHARE, behind=behind)
