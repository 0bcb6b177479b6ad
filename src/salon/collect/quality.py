"""Which raters should be looked at, and why.

Each reason is a test of an honest rater: the null says how an honest rater may behave at worst, the p value is the
exact binomial chance of what was seen or worse (of a correlation: by Fisher's z), and a flag is raised at p <= `alpha`.
So for every rater within the null the chance of a false flag is at most `alpha` for each reason, 9 `alpha` for any.

    reason           statistic                                                    an honest rater, at worst
    too fast         share of screens answered as soon as the server allows       `fast_share` of them
    one side         share of decided pairs won by one side                       `side_share` to one side
    one value        share of the commonest value                                 half way from the others' share to 1
    repeats          planted repeats answered alike                               chance + `repeat_kappa` (1 - chance)
    gold             known answers hit                                            `gold_right` of them
    attention        instructed answers missed                                    `attention_missed` of them
    intransitive     triples that run in circles, no two sharing a pair           `cycle_share` of them
    panel            pairs answered as the majority of the others                 chance + `panel_part` (usual - chance)
                     values: correlation with the mean of the others              `panel_part` of the usual
    at random        how much likelier a coin is than an honest rater at worst,   as in the five reasons
                     by the five reasons above taken together

Answering at random. Each sign is a test of its own: a share of n hits that an honest rater reaches with chance h at
worst and a coin with chance c, or a correlation that is h at worst and c for a coin (Fisher's z, normal with variance
1 / (n - 3)). Its weight of evidence is ln P(seen | coin) / P(seen | honest at worst); weights of independent signs add
up. Of all ways to combine them their sum finds coins most often at a given rate of false flags (Neyman and Pearson
1933): twenty gold questions weigh more than three, where Fisher's sum of ln p takes them for equals. The p value is the
chance of this sum or a larger one for the honest rater at worst: exact up to the steps of a grid, which are rounded in
the rater's favour. A sign on which a coin is no worse than an honest rater says nothing and is left out.

Independence. Answers of one screen are averaged and count once. Triples share no pair. Sides are balanced by design,
so a lean is the rater's own. Pairs that share an item are not quite independent given a rater's taste: that is why the
nulls leave room. The five reasons of "at random" look at different answers, or at different sides of them.

Edges. Without repeats, gold, other raters and so on the test is left out. If nobody can tell the items apart, every
rater looks random: repeats, circles and panel then flag honest raters too, and a `usual` agreement near chance shows
it. A flag means "look", never "remove".

Source: random raters have 1/4 circular triples (Kendall & Babington Smith 1940). PPaint A.2: of experts, 78% to 93% of
repeats alike, at most 4.5% circular triples, medians of 21 to 28 s where 10 s are the least.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.collect.agreement import (
    AnswerRecords,
    PairAnswerRow,
    PanelCorrelation,
    ScreenRow,
    ValueRow,
    panel_agreement,
    panel_correlation,
    repeat_agreement,
)
from salon.study import Noun

Floats = NDArray[np.float64]

_STEP = 0.01
_REACH = 8.0  # standard deviations of a correlation's z
_TINIEST = 1e-15  # what the convolution cannot tell from nothing


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign: the weights of evidence there can be, their chances for an honest rater at worst, and what was seen."""

    weights: Floats
    chances: Floats
    observed: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What all signs say together."""

    weight: float
    """ln of how much likelier a coin is than an honest rater at worst."""
    limit: float
    """The least weight whose p value is `alpha` or less."""
    p: float


def share_sign(hits: float, n: int, *, honest: float, coin: float) -> Sign | None:
    """`hits` of `n`; parts of a hit are rounded towards the honest rater."""
    if n == 0 or not (0 < honest < 1 and 0 < coin < 1) or abs(honest - coin) < 1e-9:
        return None
    from scipy.stats import binom  # takes a third of a second: not at the start of a studio

    count = np.arange(n + 1)
    weights = count * np.log(coin / honest) + (n - count) * np.log((1 - coin) / (1 - honest))
    hits_seen = np.ceil(hits - 1e-9) if honest > coin else np.floor(hits + 1e-9)
    return Sign(weights, binom.pmf(count, n, honest), float(weights[int(hits_seen)]))


def correlation_sign(r: float, n: int, *, honest: float, coin: float = 0.0) -> Sign | None:
    """A correlation `r` over `n` items."""
    if n < 4 or not -1 < coin < honest < 1:
        return None
    from scipy.stats import norm

    error = 1 / np.sqrt(n - 3)
    z, at_worst, by_coin = np.arctanh([r, honest, coin])
    there = at_worst + error * np.linspace(-_REACH, _REACH, 2001)
    chances = norm.pdf(there, at_worst, error)

    def weight(z: Floats) -> Floats:
        return np.asarray(((z - at_worst) ** 2 - (z - by_coin) ** 2) / (2 * error**2))

    return Sign(weight(there), chances / chances.sum(), float(weight(z)))


def combine_signs(signs: Sequence[Sign], *, alpha: float) -> Evidence:
    """The evidence of independent signs; of none: nothing at all."""
    from scipy.signal import fftconvolve

    law, first, weight_seen = np.ones(1), 0, 0
    for sign in signs:
        steps = np.ceil(sign.weights / _STEP).astype(np.int64)  # up for the law, down for what was seen
        law = fftconvolve(law, np.bincount(steps - steps.min(), sign.chances))
        first += int(steps.min())
        weight_seen += int(np.floor(sign.observed / _STEP))
    tail = np.clip(np.cumsum(law[::-1])[::-1], 0.0, 1.0)
    p = float(tail[np.clip(weight_seen - first, 0, len(tail) - 1)])
    rare = np.flatnonzero(tail <= alpha)
    limit = first + (int(rare[0]) if len(rare) else len(tail))
    return Evidence(sum(sign.observed for sign in signs), limit * _STEP, max(p, _TINIEST))


# -- the reasons -------------------------------------------------------------------------------------------------------

Reason = Literal[
    "too fast", "one side", "one value", "repeats", "gold", "attention", "intransitive", "panel", "at random"
]

_USUAL_RATERS = 3
"""Raters needed to say what is usual."""


class QualitySettings(Noun):
    """What an honest rater may do at worst, and how sure a flag must be."""

    alpha: float = Field(0.005, gt=0, lt=0.5, description="Chance of a false flag, for each reason and rater.")
    fast_share: float = Field(0.25, gt=0, lt=1, description="Share of screens answered at the least time.")
    fast_margin: float = Field(1.0, ge=0, description="Seconds after the least time that still count as at it.")
    no_least: float = Field(2.0, ge=0, description="Seconds that count as fast where the server sets no least time.")
    side_share: float = Field(0.6, ge=0.5, lt=1, description="Share of decided pairs won by one side.")
    repeat_kappa: float = Field(0.5, ge=0, lt=1, description="Agreement with oneself beyond chance.")
    gold_right: float = Field(0.9, gt=0, lt=1, description="Share of known answers hit.")
    attention_missed: float = Field(0.02, gt=0, lt=1, description="Share of instructed answers missed.")
    cycle_share: float = Field(0.1, gt=0, lt=0.25, description="Share of circular triples.")
    panel_part: float = Field(0.667, ge=0, lt=1, description="Part of the usual agreement beyond chance.")


@dataclass(frozen=True, slots=True)
class QualityFinding:
    """One reason looked at for one rater."""

    reason: Reason
    value: float
    """The statistic, as in the table above."""
    n: int
    """Screens, repeats, triples or pairs it rests on."""
    limit: float
    """An honest rater's value at worst."""
    p: float
    flagged: bool
    words: str
    """One sentence for the owner."""
    coin: float | None = None
    """The value of a rater who tosses coins; None where coins do not show."""
    kind: Literal["share", "correlation", "evidence"] = "share"
    """What `value` is."""


@dataclass(frozen=True, slots=True)
class RaterFindings:
    """All that was looked at for one rater."""

    rater: str
    screens: int
    findings: tuple[QualityFinding, ...]

    @property
    def flags(self) -> tuple[QualityFinding, ...]:
        """The findings that should be looked at, the surest first."""
        return tuple(sorted((finding for finding in self.findings if finding.flagged), key=lambda finding: finding.p))


def rater_flags(records: AnswerRecords, settings: QualitySettings | None = None) -> tuple[RaterFindings, ...]:
    """Findings for every rater, in the order they first answered."""
    rule = settings or QualitySettings()
    screens, pairs, values = _by_rater(records.screens), _by_rater(records.pairs), _by_rater(records.values)
    to_panel, along = panel_agreement(records.pairs), panel_correlation(records.values)
    usual = _usual([float(np.mean(shares)) for shares in to_panel.values()])
    usual_along = _usual([finding.r for finding in along.values()])
    commonest = Counter((row.criterion, row.value) for row in records.values)
    results = []
    for rater, answered in screens.items():
        mine, rated = pairs.get(rater, []), values.get(rater, [])
        fast = sum(row.seconds < (row.least + rule.fast_margin if row.least > 0 else rule.no_least) for row in answered)
        alike, chance = repeat_agreement(mine, rated)
        gold = [row.right is True for row in answered if row.why == "gold"]
        missed = [row.right is not True for row in answered if row.why == "attention"]
        side_by_side = [row for row in mine if row.left is not None and row.why == "ordinary"]
        circular, triples = circular_triples(side_by_side)
        checks = [
            _at_least(
                *("too fast", fast, len(answered), rule.fast_share, rule),
                "answers {:.0%} of screens as soon as it is allowed",
            ),
            _one_side(mine, rule),
            _one_value(rated, commonest, rule),
            _at_most(
                *("repeats", sum(alike), len(alike), chance + rule.repeat_kappa * (1 - chance), rule),
                "answers {:.0%} of repeated questions alike",
                chance,
            ),
            _at_most("gold", sum(gold), len(gold), rule.gold_right, rule, "hits {:.0%} of known answers", 0.5),
            _at_least(
                *("attention", sum(missed), len(missed), rule.attention_missed, rule),
                "misses {:.0%} of attention checks",
                0.5,
            ),
            _at_least(
                *("intransitive", circular, triples, rule.cycle_share, rule),
                "runs in circles in {:.0%} of triples",
                0.25,
            ),
            _panel(to_panel.get(rater, []), usual, rule)
            or _correlation_with_panel(along.get(rater), usual_along, rule),
        ]
        findings = [finding for finding in checks if finding is not None]
        results.append(RaterFindings(rater, len(answered), (*findings, *_at_random(findings, rule))))
    return tuple(results)


Row = TypeVar("Row", ScreenRow, PairAnswerRow, ValueRow)


def _by_rater(rows: Sequence[Row]) -> dict[str, list[Row]]:
    by_rater: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_rater[row.rater].append(row)
    return by_rater


def _at_least(
    reason: Reason, hits: float, n: int, limit: float, rule: QualitySettings, words: str, coin: float | None = None
) -> QualityFinding | None:
    """The finding when many hits are bad; parts of a hit are rounded down, in the rater's favour."""
    from scipy.stats import binom  # takes a third of a second: not at the start of a studio

    p = float(binom.sf(np.floor(hits + 1e-9) - 1, n, limit)) if n else 1.0
    return QualityFinding(reason, hits / n, n, limit, p, p <= rule.alpha, words.format(hits / n), coin) if n else None


def _at_most(
    reason: Reason, hits: float, n: int, limit: float, rule: QualitySettings, words: str, coin: float | None = None
) -> QualityFinding | None:
    """The finding when few hits are bad; parts of a hit are rounded up, in the rater's favour."""
    from scipy.stats import binom

    p = float(binom.cdf(np.ceil(hits - 1e-9), n, limit)) if n else 1.0
    return QualityFinding(reason, hits / n, n, limit, p, p <= rule.alpha, words.format(hits / n), coin) if n else None


def _one_side(pairs: list[PairAnswerRow], rule: QualitySettings) -> QualityFinding | None:
    sides: dict[int, list[int]] = defaultdict(list)
    for row in pairs:
        if row.left and row.why != "attention":
            sides[row.screen].append(row.left)
    left = sum((1 + float(np.mean(side))) / 2 for side in sides.values())
    side, hits = ("left", left) if 2 * left >= len(sides) else ("right", len(sides) - left)
    words = f"prefers the {side} side in {{:.0%}} of pairs"
    halved = rule.model_copy(update={"alpha": rule.alpha / 2})  # either side may stand out
    return _at_least("one side", hits, len(sides), rule.side_share, halved, words)


def _one_value(
    values: list[ValueRow], everyone: Counter[tuple[str, float]], rule: QualitySettings
) -> QualityFinding | None:
    """On the criterion with most answers: how often the commonest value was given, and how often others give it."""
    ordinary = [row for row in values if row.why == "ordinary"]
    if not ordinary:
        return None
    criterion = Counter(row.criterion for row in ordinary).most_common(1)[0][0]
    mine = Counter(row.value for row in values if row.criterion == criterion)
    value, hits = mine.most_common(1)[0]
    counts_of_others = {level: n - mine[level] for (name, level), n in everyone.items() if name == criterion}
    total = sum(counts_of_others.values())
    limit = (1 + (counts_of_others.get(value, 0) / total if total else 0.8)) / 2
    return _at_least(
        "one value", hits, mine.total(), min(limit, 0.999), rule, f"gives {value:g} in {{:.0%}} of answers"
    )


def _panel(shares: Sequence[float], usual: float | None, rule: QualitySettings) -> QualityFinding | None:
    if usual is None or not len(shares):
        return None
    limit = 0.5 + max(usual - 0.5, 0) * rule.panel_part
    words = f"agrees with the others in {{:.0%}} of answers (usual: {usual:.0%})"
    return _at_most("panel", float(np.sum(shares)), len(shares), limit, rule, words, 0.5)


def _correlation_with_panel(
    mine: PanelCorrelation | None, usual: float | None, rule: QualitySettings
) -> QualityFinding | None:
    """Fisher's z of a correlation is normal with variance 1 / (n - 3)."""
    if usual is None or mine is None:
        return None
    from scipy.stats import norm

    limit = max(usual, 0.0) * rule.panel_part
    p = float(norm.cdf((np.arctanh(mine.r) - np.arctanh(limit)) * np.sqrt(mine.n - 3)))
    words = f"values correlate {mine.r:.2f} with the others' (usual: {usual:.2f})"
    return QualityFinding("panel", mine.r, mine.n, limit, p, p <= rule.alpha, words, 0.0, "correlation")


def _at_random(findings: Sequence[QualityFinding], rule: QualitySettings) -> Iterator[QualityFinding]:
    """Several small signs of answering by chance, taken together."""
    signs = [sign for finding in findings if (sign := _sign(finding)) is not None]
    if len(signs) < 2:
        return
    all_in_all = combine_signs(signs, alpha=rule.alpha)
    flagged = all_in_all.p <= rule.alpha
    words = f"looks like chance in {len(signs)} checks taken together"
    yield QualityFinding(
        "at random", all_in_all.weight, len(signs), all_in_all.limit, all_in_all.p, flagged, words, kind="evidence"
    )


def _sign(finding: QualityFinding) -> Sign | None:
    if finding.coin is None:
        return None
    if finding.kind == "correlation":
        return correlation_sign(finding.value, finding.n, honest=finding.limit, coin=finding.coin)
    return share_sign(finding.value * finding.n, finding.n, honest=finding.limit, coin=finding.coin)


def _usual(figures: Sequence[float]) -> float | None:
    """The median rater's figure; None for fewer than three raters."""
    return float(np.median(figures)) if len(figures) >= _USUAL_RATERS else None


# -- circular triples --------------------------------------------------------------------------------------------------


def circular_triples(pairs: Sequence[PairAnswerRow]) -> tuple[int, int]:
    """(circular, all) among triples that share no pair, taken greedily in the order the pairs were answered.

    Pairs of different triples are different answers, so triples are independent: a rater who tosses coins has
    Binomial(all, 1/4) circular ones. Triples with a tie are left out. With several criteria the one with most pairs
    counts: criteria of one screen are not independent.
    """
    by_criterion: dict[str, list[PairAnswerRow]] = defaultdict(list)
    for row in pairs:
        if row.outcome:
            by_criterion[row.criterion].append(row)
    if not by_criterion:
        return 0, 0
    return _count_triples(max(by_criterion.values(), key=len))


def _count_triples(rows: list[PairAnswerRow]) -> tuple[int, int]:
    beats: dict[str, dict[str, int]] = defaultdict(dict)
    circular = triples = 0
    for row in rows:  # `beats` holds pairs of no triple yet
        x, y = (row.low, row.high) if row.outcome > 0 else (row.high, row.low)
        third = next((z for z in beats[x] if z in beats[y] and z not in (x, y)), None)
        if third is None:
            beats[x][y], beats[y][x] = 1, -1
            continue
        triples += 1
        circular += beats[y][third] == 1 and beats[third][x] == 1
        for item in (x, y):
            del beats[item][third], beats[third][item]
    return circular, triples
