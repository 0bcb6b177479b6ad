"""EPS: how often a picture would be preferred to the frozen reference of its prompt.

    EPS = 100 mean over eligible prompts p, mean over pictures k of p, of P(k preferred to the reference of p)
    P   = s(mu_k - mu_ref(p)),  s(x) = 1/(1 + e^-x)                    as ImageBench, sigma dropped
    P   = E[s(z)], z ~ N(mu_k - mu_ref, sigma_k^2 + sigma_ref^2)       `integrate`, as HPSv3 defines its logits

P is exactly 1/2 for a picture at the reference, under both. A missing picture and one that could not be scored have
P = 0; one not scored yet has P = 0, and 1 at best. Only scorers whose card declares logits have such a P, and only
scores by the very scorer the reference was frozen with can be compared with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import pyarrow as pa
from scipy.special import expit

from salon.bench.entry import LOGITS, Pictured
from salon.bench.results import Coverage
from salon.bench.suite import FARTHEST, PreferenceReference, PreferenceRule, ReferencePoint, Suite
from salon.bench.suite_folder import prompts_hash
from salon.bench.wanted import is_there
from salon.errors import BadColumns, BadFile, BadValue, ConflictingJudgment, DesignError, UnknownReference
from salon.stats.uncertain_wins import win_chance
from salon.study.scorer import ScorerCard

DIGITS = 12
"""Chances are published to so many digits: the last ones of a logistic function differ between machines."""


@dataclass(frozen=True, slots=True)
class Logit:
    """A scorer's number for one picture; `value` is None where it could not be scored."""

    value: float | None
    sigma: float | None
    scorer: str | None


Logits = dict[tuple[str, str], Logit]
"""(column, item) -> the scorer's number; absent: not scored yet."""


@dataclass(frozen=True)
class Column:
    """One EPS column of an entry: chances for every eligible picture, in the suite's order."""

    rule: PreferenceRule
    pictures: tuple[Pictured, ...]
    wins: tuple[float, ...]
    wins_at_best: tuple[float, ...]
    coverage: Coverage


def read_logits(logits: pa.Table, suite: Suite, pictures: Sequence[Pictured]) -> Logits:
    """The table's rows by column and item; a second score, a strange item or column, NaN are refused."""
    for name in LOGITS.names:
        if name not in logits.column_names:
            raise BadColumns.missing(name, logits.column_names, where="scores")
    items, columns = {picture.item for picture in pictures}, {rule.id for rule in suite.card.preferences}
    found: Logits = {}
    for row in logits.select(LOGITS.names).to_pylist():
        key = row["preference"], row["item"]
        where = f"column {key[0]!r}, item {key[1]!r}"
        if key[1] not in items or key[0] not in columns:
            raise UnknownReference("scores are of the entry's pictures, in the suite's columns", found=where)
        if key in found:
            raise ConflictingJudgment("one score of every picture in a column", found="two", where=where)
        found[key] = _logit(row, where)
    _one_scorer(found)
    return found


def eps_column(
    suite: Suite, rule: PreferenceRule, reference: PreferenceReference, logits: Logits, pictures: Sequence[Pictured]
) -> Column:
    """One column against its frozen reference."""
    check_scorer(reference, logits)
    points = _reference_points(suite, reference)
    eligible = tuple(picture for picture in pictures if suite.tag_of(picture.prompt).eps)
    scored = [logits.get((rule.id, picture.item)) if is_there(picture) else None for picture in eligible]
    wins = _wins(scored, [points[picture.prompt] for picture in eligible], suite.card.integrate)
    opened = [one is None and is_there(picture) for one, picture in zip(scored, eligible, strict=True)]
    made, given = sum(map(is_there, eligible)), sum(one is not None and one.value is not None for one in scored)
    return Column(
        rule=rule,
        pictures=eligible,
        wins=tuple(wins),
        wins_at_best=tuple(1.0 if is_open else win for win, is_open in zip(wins, opened, strict=True)),
        coverage=Coverage(
            wanted=len(eligible),
            made=made,
            asked=made,
            given=given,
            unread=made - given - sum(opened),
            open=sum(opened),
        ),
    )


def column_reference(suite: Suite, rule: PreferenceRule) -> PreferenceReference | None:
    """The frozen reference of a column, None before freezing; one for other prompts is refused."""
    if suite.reference is None:
        return None
    needed = prompts_hash(suite)
    if suite.reference.prompts != needed:
        raise BadFile(
            f"a reference for the prompts of this suite ({needed[:12]}) is needed",
            found=f"one for other prompts ({suite.reference.prompts[:12]})",
            where=f"{suite.card.name}/{suite.card.version}",
            remedy="freeze a reference for these prompts, as a new version of the suite",
        )
    return next((one for one in suite.reference.preferences if one.id == rule.id), None)


def check_scorer(reference: PreferenceReference, logits: Logits) -> None:
    """Refuse a scorer without logits, and scores by another scorer than the reference's."""
    declares_logits(reference.scorer, reference.card)
    for (column, item), logit in logits.items():
        if column == reference.id and logit.scorer != reference.signature:
            raise DesignError(
                "scores by the scorer that the reference was frozen with are needed",
                found=f"{logit.scorer}, where the reference has {reference.signature}",
                where=f"column {column!r}, item {item!r}",
                remedy="score the pictures with that scorer, or freeze a new version of the suite",
            )


def declares_logits(name: str, card: ScorerCard) -> None:
    """Refuse a scorer whose differences are no log odds: s(difference) would be no probability."""
    if not card.is_logit or not card.higher_is_better:
        raise DesignError(
            "EPS needs a scorer whose card declares logits, higher being better",
            found=f"{name}: is_logit {card.is_logit}, higher_is_better {card.higher_is_better}",
            remedy="salon train heads --form scalar and salon train reward make such models; heads that only compare "
            "(the default form) have no score of a single picture",
        )


class _LogitRow(TypedDict):
    """A row of `scores.parquet`."""

    value: float | None
    sigma: float | None
    unscored: str | None
    scorer: str | None


def _logit(row: _LogitRow, where: str) -> Logit:
    value, sigma, unscored = row["value"], row["sigma"], row["unscored"]
    if (value is None) == (unscored is None):
        raise BadValue("a score has a value or a reason for having none", found=dict(row), where=where)
    if value is not None and not abs(value) <= FARTHEST:
        raise BadValue(f"a logit is a finite number, {FARTHEST:g} at most", found=value, where=where)
    if sigma is not None and not 0 <= sigma <= FARTHEST:
        raise BadValue(f"a sigma is a finite number from 0 up, {FARTHEST:g} at most", found=sigma, where=where)
    return Logit(value, sigma, row["scorer"])


def _one_scorer(logits: Logits) -> None:
    first: dict[str, str | None] = {}
    for (column, item), logit in logits.items():
        if first.setdefault(column, logit.scorer) != logit.scorer:
            raise DesignError(
                "one scorer for all pictures of a column",
                found=f"{first[column]} and {logit.scorer}",
                where=f"column {column!r}, item {item!r}",
            )


def _reference_points(suite: Suite, reference: PreferenceReference) -> dict[str, ReferencePoint]:
    points = {point.prompt: point for point in reference.points}
    counted = [one.prompt.id for one in suite.prompts if suite.tag_of(one.prompt.id).eps]
    lacking = [prompt for prompt in counted if prompt not in points]
    if lacking:
        raise UnknownReference(
            "a reference for every prompt that EPS counts is needed",
            found=f"none for {len(lacking)} prompts, the first {lacking[0]!r}",
            where=f"column {reference.id!r}",
        )
    return points


def _wins(scored: Sequence[Logit | None], points: Sequence[ReferencePoint], integrate: bool) -> list[float]:
    there = [
        (place, one, one.value - points[place].value)
        for place, one in enumerate(scored)
        if one is not None and one.value is not None
    ]
    apart = np.array([gap for _, _, gap in there])
    if integrate:
        chances = integrated_chance(apart, [_spread(one, points[place]) for place, one, _ in there])
    else:
        chances = expit(apart)
    wins = [0.0] * len(scored)
    for (place, _, _), chance in zip(there, chances, strict=True):
        wins[place] = round(float(chance), DIGITS)
    return wins


def integrated_chance(apart: np.ndarray, spread: Sequence[float]) -> np.ndarray:
    """E[s(z)], exactly 1/2 where the means are equal, whatever the spread."""
    if not len(apart):
        return apart
    above = win_chance(np.abs(apart), np.asarray(spread))
    return np.where(apart == 0, 0.5, np.where(apart > 0, above, 1 - above))


def _spread(logit: Logit, point: ReferencePoint) -> float:
    if logit.sigma is None or point.sigma is None:
        raise DesignError(
            "an integrated EPS needs sigma of every picture and of the reference",
            found="a score without sigma" if logit.sigma is None else "a reference without sigma",
            where=f"prompt {point.prompt!r}",
            remedy="take a scorer that states sigma, or set integrate = false in suite.toml",
        )
    return float(np.hypot(logit.sigma, point.sigma))
