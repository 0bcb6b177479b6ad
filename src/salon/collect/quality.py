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
                     by the five reasons above taken together (`tossed`)

Independence. Answers of one screen are averaged and count once. Triples share no pair. Sides are balanced by design,
so a lean is the rater's own. Pairs that share an item are not quite independent given a rater's taste: that is why the
nulls leave room. The five reasons of "at random" look at different answers, or at different sides of them.

Edges. Without repeats, gold, other raters and so on the test is left out. Items that nobody can tell apart make every
rater look random: repeats, circles and panel then flag honest raters too, and `usual` agreement near chance says so.
A flag means "look", never "remove".

Source: random raters have 1/4 circular triples (Kendall & Babington Smith 1940). PPaint A.2: of experts, 78% to 93% of
repeats alike, at most 4.5% circular triples, medians of 21 to 28 s where 10 s are the least.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from pydantic import Field

from salon.collect.agreement import Correlation, panel_agreement, panel_correlation, repeat_agreement
from salon.collect.circles import circular_triples
from salon.collect.records import PairRow, Records, ScreenRow, ValueRow
from salon.collect.tossed import Sign, correlation_sign, share_sign, weigh
from salon.study.noun import Noun

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
class Finding:
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
    findings: tuple[Finding, ...]

    @property
    def flags(self) -> tuple[Finding, ...]:
        """The findings that should be looked at, the surest first."""
        return tuple(sorted((one for one in self.findings if one.flagged), key=lambda one: one.p))


def rater_flags(records: Records, settings: QualitySettings | None = None) -> tuple[RaterFindings, ...]:
    """Findings for every rater, in the order they first answered."""
    rule = settings or QualitySettings()
    screens, pairs, values = _by_rater(records.screens), _by_rater(records.pairs), _by_rater(records.values)
    to_panel, along = panel_agreement(records.pairs), panel_correlation(records.values)
    usual = _usual([float(np.mean(shares)) for shares in to_panel.values()])
    usual_along = _usual([one.r for one in along.values()])
    commonest = Counter((row.criterion, row.value) for row in records.values)
    made = []
    for rater, answered in screens.items():
        mine, rated = pairs.get(rater, []), values.get(rater, [])
        looked = [
            _too_fast(answered, rule),
            _one_side(mine, rule),
            _one_value(rated, commonest, rule),
            _repeats(mine, rated, rule),
            _known(answered, rule),
            _attention(answered, rule),
            _intransitive(mine, rule),
            _panel(to_panel.get(rater, []), usual, rule) or _along(along.get(rater), usual_along, rule),
        ]
        found = [one for one in looked if one is not None]
        made.append(RaterFindings(rater, len(answered), (*found, *_at_random(found, rule))))
    return tuple(made)


Row = TypeVar("Row", ScreenRow, PairRow, ValueRow)


def _by_rater(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row.rater].append(row)
    return found


def _at_least(
    reason: Reason, hits: float, n: int, limit: float, rule: QualitySettings, words: str, coin: float | None = None
) -> Finding | None:
    """The finding when many hits are bad; parts of a hit are rounded down, in the rater's favour."""
    from scipy.stats import binom  # takes a third of a second: not at the start of a studio

    p = float(binom.sf(np.floor(hits + 1e-9) - 1, n, limit)) if n else 1.0
    return Finding(reason, hits / n, n, limit, p, p <= rule.alpha, words.format(hits / n), coin) if n else None


def _at_most(
    reason: Reason, hits: float, n: int, limit: float, rule: QualitySettings, words: str, coin: float | None = None
) -> Finding | None:
    """The finding when few hits are bad; parts of a hit are rounded up, in the rater's favour."""
    from scipy.stats import binom

    p = float(binom.cdf(np.ceil(hits - 1e-9), n, limit)) if n else 1.0
    return Finding(reason, hits / n, n, limit, p, p <= rule.alpha, words.format(hits / n), coin) if n else None


def _too_fast(screens: list[ScreenRow], rule: QualitySettings) -> Finding | None:
    fast = sum(row.seconds < (row.least + rule.fast_margin if row.least > 0 else rule.no_least) for row in screens)
    words = "answers {:.0%} of screens as soon as it is allowed"
    return _at_least("too fast", fast, len(screens), rule.fast_share, rule, words)


def _one_side(pairs: list[PairRow], rule: QualitySettings) -> Finding | None:
    sides: dict[int, list[int]] = defaultdict(list)
    for row in pairs:
        if row.left and row.why != "attention":
            sides[row.screen].append(row.left)
    left = sum((1 + float(np.mean(side))) / 2 for side in sides.values())
    side, hits = ("left", left) if 2 * left >= len(sides) else ("right", len(sides) - left)
    words = f"prefers the {side} side in {{:.0%}} of pairs"
    halved = rule.model_copy(update={"alpha": rule.alpha / 2})  # either side may stand out
    return _at_least("one side", hits, len(sides), rule.side_share, halved, words)


def _one_value(values: list[ValueRow], everyone: Counter[tuple[str, float]], rule: QualitySettings) -> Finding | None:
    """On the criterion with most answers: how often the commonest value was given, and how often others give it."""
    ordinary = [row for row in values if row.why == "ordinary"]
    if not ordinary:
        return None
    criterion = Counter(row.criterion for row in ordinary).most_common(1)[0][0]
    mine = Counter(row.value for row in values if row.criterion == criterion)
    value, hits = mine.most_common(1)[0]
    others = {other: n - mine[other] for (name, other), n in everyone.items() if name == criterion}
    total = sum(others.values())
    limit = (1 + (others.get(value, 0) / total if total else 0.8)) / 2
    return _at_least(
        "one value", hits, mine.total(), min(limit, 0.999), rule, f"gives {value:g} in {{:.0%}} of answers"
    )


def _repeats(pairs: list[PairRow], values: list[ValueRow], rule: QualitySettings) -> Finding | None:
    alike, chance = repeat_agreement(pairs, values)
    limit = chance + rule.repeat_kappa * (1 - chance)
    return _at_most(
        "repeats", sum(alike), len(alike), limit, rule, "answers {:.0%} of repeated questions alike", chance
    )


def _known(screens: list[ScreenRow], rule: QualitySettings) -> Finding | None:
    gold = [row.right is True for row in screens if row.why == "gold"]
    return _at_most("gold", sum(gold), len(gold), rule.gold_right, rule, "hits {:.0%} of known answers", 0.5)


def _attention(screens: list[ScreenRow], rule: QualitySettings) -> Finding | None:
    missed = [row.right is not True for row in screens if row.why == "attention"]
    words = "misses {:.0%} of attention checks"
    return _at_least("attention", sum(missed), len(missed), rule.attention_missed, rule, words, 0.5)


def _intransitive(pairs: list[PairRow], rule: QualitySettings) -> Finding | None:
    side_by_side = [row for row in pairs if row.left is not None and row.why == "ordinary"]
    circular, triples = circular_triples(side_by_side)
    words = "runs in circles in {:.0%} of triples"
    return _at_least("intransitive", circular, triples, rule.cycle_share, rule, words, 0.25)


def _panel(shares: Sequence[float], usual: float | None, rule: QualitySettings) -> Finding | None:
    if usual is None or not len(shares):
        return None
    limit = 0.5 + max(usual - 0.5, 0) * rule.panel_part
    words = f"agrees with the others in {{:.0%}} of answers (usual: {usual:.0%})"
    return _at_most("panel", float(np.sum(shares)), len(shares), limit, rule, words, 0.5)


def _along(mine: Correlation | None, usual: float | None, rule: QualitySettings) -> Finding | None:
    """Fisher's z of a correlation is normal with variance 1 / (n - 3)."""
    if usual is None or mine is None:
        return None
    from scipy.stats import norm

    limit = max(usual, 0.0) * rule.panel_part
    p = float(norm.cdf((np.arctanh(mine.r) - np.arctanh(limit)) * np.sqrt(mine.n - 3)))
    words = f"values correlate {mine.r:.2f} with the others' (usual: {usual:.2f})"
    return Finding("panel", mine.r, mine.n, limit, p, p <= rule.alpha, words, 0.0, "correlation")


def _at_random(found: Sequence[Finding], rule: QualitySettings) -> Iterator[Finding]:
    """Several small signs of answering by chance, taken together."""
    signs = [sign for one in found if (sign := _sign(one)) is not None]
    if len(signs) < 2:
        return
    all_in_all = weigh(signs, alpha=rule.alpha)
    flagged = all_in_all.p <= rule.alpha
    words = f"looks like chance in {len(signs)} checks taken together"
    yield Finding(
        "at random", all_in_all.weight, len(signs), all_in_all.limit, all_in_all.p, flagged, words, kind="evidence"
    )


def _sign(one: Finding) -> Sign | None:
    if one.coin is None:
        return None
    if one.kind == "correlation":
        return correlation_sign(one.value, one.n, honest=one.limit, coin=one.coin)
    return share_sign(one.value * one.n, one.n, honest=one.limit, coin=one.coin)


def _usual(figures: Sequence[float]) -> float | None:
    """The median rater's figure; None for fewer than three raters."""
    return float(np.median(figures)) if len(figures) >= _USUAL_RATERS else None
