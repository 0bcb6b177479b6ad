"""Which generator for which job: criteria weighed against each other, category by category.

The score of a generator for a job is the weighted mean of its scores on the boards of the job's criteria. The same
prompts and raters stand behind all boards, so their errors go together: the boards are fitted again without each block
of prompts, all at once, and the error of a weighted mean follows from how the means move (a jackknife). Where raters
are drawn anew too, so are they left out, and the two are put together (stats/two_way.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy import stats

from salon.errors import BadValue
from salon.stats.pair_errors import Errors
from salon.stats.result import Estimate
from salon.stats.tiers import RankIntervals, rank_intervals
from salon.stats.two_way import two_way_errors
from salon.study.noun import Noun

Floats = NDArray[np.float64]


class Candidate(Noun):
    """A generator for a job."""

    generator: str
    score: Estimate = Field(description="Weighted mean of its scores under the job's criteria, in logits.")
    rank: int
    rank_low: int | None
    rank_high: int | None
    tier: int | None = Field(description="1: cannot be told from the best.")
    error: float | None = Field(default=None, description="Standard error of the score; null where there is none.")


class Job(Noun):
    """What a picture is wanted for: weights of criteria, in one category or in all."""

    name: str = Field(description="'all criteria alike', the name of one criterion, or 'as weighed'.")
    weights: dict[str, float] = Field(description="By id of the criterion; they sum to 1.")
    category: str | None = Field(description="Null: all categories together.")
    candidates: tuple[Candidate, ...] = Field(description="Best first; empty where the job has no answer.")
    recommended: str | None = Field(description="The best by score; see `best` for those that it cannot be told from.")
    best: tuple[str, ...] = Field(description="Tier 1, best first; all candidates where nothing tells them apart.")
    margin: Estimate | None = Field(description="Lead of the recommended over the second, in logits.")
    left_out: tuple[str, ...] = Field(default=(), description="Generators without a score under one of the criteria.")
    reason: str | None = Field(default=None, description="Why there is no answer.")


class RoutingTable(Noun):
    """All jobs: criteria alike, each criterion alone, and weights that were asked for; in each category."""

    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class BoardFit:
    """The scores of one board, and how they move without each block of clusters."""

    generators: tuple[str, ...]
    scores: Floats
    """(generators,) logits."""
    deviations: tuple[Floats, ...]
    """(folds, generators) each; the sum of squares is the variance. NaN where a fold has no fit. One over one kind of
    cluster; three over raters, prompts and cells where `unit` is 'both'."""
    unit: str = "prompt"
    """What a fold leaves out: prompts, raters, answers, or both raters and prompts."""

    def of(self, generators: Sequence[str]) -> BoardFit:
        """The same for some generators, in their order."""
        place = [self.generators.index(name) for name in generators]
        moved = tuple(part[:, place] for part in self.deviations)
        return BoardFit(tuple(generators), self.scores[place], moved, self.unit)

    def errors(self) -> Errors:
        """Of the scores."""
        made = [
            Errors(np.sqrt((part**2).sum(axis=0)), part.T @ part, max(len(part) - 1.0, 1.0), "jackknife")
            for part in self.deviations
        ]
        if len(made) == 1:
            return made[0]
        raters, prompts, cells = made
        return two_way_errors(raters, prompts, cells, method="jackknife, two-way")

    def lead(self, first: str, second: str, level: float) -> Estimate:
        """The score of one generator less another's."""
        pair = self.of([first, second])
        gap = BoardFit(
            ("lead",),
            pair.scores[:1] - pair.scores[1:],
            tuple(part[:, :1] - part[:, 1:] for part in pair.deviations),
            self.unit,
        )
        return gap.figures(level)[0]

    def figures(self, level: float) -> list[Estimate]:
        """The scores with their intervals; without one where the fit without a block is unknown or nothing moves."""
        errors, folds = self.errors(), sum(len(part) for part in self.deviations)
        words = "block of raters and prompts" if self.unit == "both" else f"block of {self.unit}s"
        made = []
        for value, error, df in zip(self.scores.tolist(), self.known_errors(errors), errors.item_df.tolist()):
            half = np.nan if error is None else float(stats.t.ppf((1 + level) / 2, df)) * error
            how = "no interval: the fit without a block is unknown" if error is None else f"jackknife, {folds} refits"
            low, high = (None, None) if error is None else (value - half, value + half)
            made.append(Estimate(value=value, low=low, high=high, n=folds, unit=words, level=level, method=how))
        return made

    def known_errors(self, errors: Errors) -> list[float | None]:
        """None where there is none."""
        several = min(len(part) for part in self.deviations) > 1
        return [float(error) if several and np.isfinite(error) and error > 0 else None for error in errors.se]


def weighted_job(
    name: str,
    weights: Mapping[str, float],
    category: str | None,
    fits: Mapping[str, BoardFit],
    *,
    level: float,
    seed: int,
) -> Job:
    """A job over the boards of one category, `fits` by criterion; without one of them there is no answer."""
    total = sum(weights.values())
    shares = {criterion: weight / total for criterion, weight in weights.items()}
    absent = [criterion for criterion, share in shares.items() if share and criterion not in fits]
    if absent:
        return _unanswered(name, shares, category, f"no scores in logits under {', '.join(absent)}")
    used = {criterion: fits[criterion] for criterion, share in shares.items() if share}
    everyone = list(dict.fromkeys(one for fit in used.values() for one in fit.generators))
    present = [one for one in everyone if all(one in fit.generators for fit in used.values())]
    missing = tuple(one for one in everyone if one not in present)
    if len(present) < 2:
        return _unanswered(name, shares, category, "fewer than two generators have a score under every criterion")
    parts = [(shares[criterion], fit.of(present)) for criterion, fit in used.items()]
    weight = [share for share, _ in parts]
    both = BoardFit(
        tuple(present),
        np.sum([share * fit.scores for share, fit in parts], axis=0),
        tuple(
            sum(share * part for share, part in zip(weight, moved))
            for moved in zip(*(fit.deviations for _, fit in parts))
        ),
        parts[0][1].unit,
    )
    return _job(name, shares, category, both, missing, level, seed)


def _unanswered(name: str, weights: dict[str, float], category: str | None, reason: str) -> Job:
    return Job(
        name=name, weights=weights, category=category, candidates=(), recommended=None, best=(), margin=None,
        reason=reason,
    )  # fmt: skip


def _job(
    name: str,
    weights: dict[str, float],
    category: str | None,
    fit: BoardFit,
    missing: tuple[str, ...],
    level: float,
    seed: int,
) -> Job:
    order = np.argsort(-fit.scores, kind="stable")
    fit = fit.of([fit.generators[i] for i in order])
    ranks = _ranks(fit, level, seed)
    figures, errors = fit.figures(level), fit.known_errors(fit.errors())
    candidates = tuple(
        Candidate(
            generator=one,
            score=figures[i],
            rank=1 + int((fit.scores > fit.scores[i]).sum()),
            rank_low=None if ranks is None else int(ranks.low[i]),
            rank_high=None if ranks is None else int(ranks.high[i]),
            tier=None if ranks is None else int(ranks.tier[i]),
            error=errors[i],
        )
        for i, one in enumerate(fit.generators)
    )
    return Job(
        name=name,
        weights=weights,
        category=category,
        candidates=candidates,
        recommended=candidates[0].generator,
        best=tuple(one.generator for one in candidates if one.tier in (1, None)),
        margin=fit.lead(fit.generators[0], fit.generators[1], level),
        left_out=missing,
    )


def _ranks(fit: BoardFit, level: float, seed: int) -> RankIntervals | None:
    """None where a difference has no error."""
    if any(len(part) < 2 or not np.isfinite(part).all() for part in fit.deviations):
        return None
    errors = fit.errors()
    try:
        return rank_intervals(
            fit.scores,
            errors.covariance,
            df=errors.df,
            level=level,
            rng=np.random.default_rng([seed, 8]),
            differences=errors.differences,
            difference_df=errors.difference_df,
        )
    except BadValue:
        return None
