"""What raters say of generators: win matrices, boards by criterion and category, and which generator fits which job.

    BOARD/arena/0001.json     the first snapshot; a later fit gets a later number, and no snapshot ever changes

A win matrix gives, for every two generators, the share of answers won. Every answer weighs the same, and a tie is half
an answer for each side. The interval is the score interval over prompts of `stats.prompt_means`, or Wilson's over
answers where there are fewer than two prompts. Neither ever has zero width.

The score of a generator for a job is the weighted mean of its scores on the boards of the job's criteria. All boards
rest on the same prompts and raters, so their errors are correlated. Therefore all boards are fitted again without each
block of prompts, and the error of a weighted mean follows from how the means move (a jackknife). Where raters are also
drawn anew, blocks of raters are left out too, and `stats.two_way` combines the two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import BadValue
from salon.stats import Errors, Estimate, RankIntervals, rank_intervals, score_interval, two_way_errors, wilson
from salon.study import Format, Noun, Signature

Ints = NDArray[np.int64]
TIE = 2


class Duel(Noun):
    """Two generators that met."""

    first: str = Field(description="The generator that is better on the board.")
    second: str = Field(description="The other one.")
    share: Estimate = Field(description="Share of answers that preferred the first; a tie is half an answer for each.")
    fitted: Estimate | None = Field(
        description="The chance that the board's scores give it, ties half; null where scores are no log-odds."
    )
    wins: int = Field(description="Answers for the first.")
    losses: int = Field(description="Answers for the second.")
    ties: int = Field(description="Answers for neither.")
    prompts: int = Field(description="Prompts on which they met.")


class WinMatrix(Noun):
    """All duels of one board. Each pair stands once, the generator that is better on the board first."""

    generators: tuple[str, ...] = Field(description="Best first: rows and columns of the matrix.")
    duels: tuple[Duel, ...] = Field(description="Each pair that met, once.")
    never_met: int = Field(description="Pairs of generators without an answer.")

    def duel(self, row: str, column: str) -> Duel | None:
        """The duel of two generators seen from `row`: shares turned where it stands the other way round."""
        for candidate in self.duels:
            if (candidate.first, candidate.second) == (row, column):
                return candidate
            if (candidate.first, candidate.second) == (column, row):
                return Duel(
                    first=candidate.second,
                    second=candidate.first,
                    share=_other(candidate.share),
                    fitted=None if candidate.fitted is None else _other(candidate.fitted),
                    wins=candidate.losses,
                    losses=candidate.wins,
                    ties=candidate.ties,
                    prompts=candidate.prompts,
                )
        return None


def _other(share: Estimate) -> Estimate:
    return share.transform(lambda end: 1 - end)


def win_matrix(
    first: Ints,
    second: Ints,
    outcome: Ints,
    prompt: Ints,
    generators: Sequence[str],
    fitted: Callable[[int, int], Estimate | None],
    *,
    level: float = 0.95,
) -> WinMatrix | None:
    """All duels in answers about generators `first` and `second` (0: first, 1: second, 2: tie), None without any.

    Generators are numbered by their place among `generators`, best first; a prompt of -1 is a cluster of its own.
    """
    if not len(first):
        return None
    turned = first > second
    low, high = np.where(turned, second, first), np.where(turned, first, second)
    points = np.where(outcome == TIE, 0.5, ((outcome == 0) != turned).astype(float))
    keys, place = np.unique(low * len(generators) + high, return_inverse=True)
    order = np.argsort(place, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(place)))
    duels = tuple(
        _duel(divmod(int(key), len(generators)), points[rows], prompt[rows], generators, fitted, level)
        for key, rows in zip(keys, (order[s:e] for s, e in pairwise(ends)))
    )
    pairs = len(generators) * (len(generators) - 1) // 2
    return WinMatrix(generators=tuple(generators), duels=duels, never_met=pairs - len(duels))


def _duel(
    pair: tuple[int, int],
    points: NDArray[np.float64],
    prompt: Ints,
    generators: Sequence[str],
    fitted: Callable[[int, int], Estimate | None],
    level: float,
) -> Duel:
    alone = prompt < 0
    clusters, row = np.unique(np.where(alone, -1 - np.arange(len(prompt)), prompt), return_inverse=True)
    n = np.bincount(row)
    if len(clusters) > 1:
        share = score_interval(np.bincount(row, points) / n, n, level=level)
    else:
        share = wilson(points.sum(), len(points), level=level)
    return Duel(
        first=generators[pair[0]],
        second=generators[pair[1]],
        share=share,
        fitted=fitted(*pair),
        wins=int((points == 1).sum()),
        losses=int((points == 0).sum()),
        ties=int((points == 0.5).sum()),
        prompts=len(clusters) if not alone.all() else 0,
    )


# -- jobs --------------------------------------------------------------------------------------------------------------

Floats = NDArray[np.float64]


class GeneratorPlace(Noun):
    """A generator in an order by score."""

    generator: str = Field(description="Name of the generator.")
    score: Estimate = Field(description="What the order is by.")
    rank: int = Field(description="By score; 1 is best.")
    rank_low: int | None = Field(description="Best rank it may hold; null where there are no intervals.")
    rank_high: int | None = Field(description="Worst rank it may hold.")
    tier: int | None = Field(description="1: does not differ significantly from the best; then the best of the rest.")
    error: float | None = Field(default=None, description="Standard error of the score; null where there is none.")


class RoutingCandidate(GeneratorPlace):
    """A generator for a job."""

    score: Estimate = Field(description="Weighted mean of its scores under the job's criteria, in logits.")


class RoutingJob(Noun):
    """What a picture is wanted for: weights of criteria, in one category or in all."""

    name: str = Field(title="Wanted", description="'all criteria alike', the name of one criterion, or 'as weighed'.")
    weights: dict[str, float] = Field(description="By id of the criterion; they sum to 1.")
    category: str | None = Field(description="Null: all categories together.")
    candidates: tuple[RoutingCandidate, ...] = Field(description="Best first; empty where the job has no answer.")
    recommended: str | None = Field(description="The best by score; see `best` for its ties.")
    best: tuple[str, ...] = Field(
        title="Tier 1, best first",
        description="Tier 1, best first; all candidates where nothing tells them apart.",
    )
    margin: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Lead, logits", description="Lead of the recommended over the second, in logits."
    )
    left_out: tuple[str, ...] = Field(default=(), description="Generators without a score under one of the criteria.")
    reason: str | None = Field(default=None, description="Why there is no answer.")


class RoutingTable(Noun):
    """All jobs: criteria alike, each criterion alone, and weights that were asked for; in each category."""

    jobs: tuple[RoutingJob, ...] = Field(description="Criteria alike, each alone, and as weighed; in each category.")


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
        parts = [
            Errors(np.sqrt((part**2).sum(axis=0)), part.T @ part, max(len(part) - 1.0, 1.0), "jackknife")
            for part in self.deviations
        ]
        if len(parts) == 1:
            return parts[0]
        raters, prompts, cells = parts
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
        from scipy import stats

        errors, folds = self.errors(), sum(len(part) for part in self.deviations)
        words = "block of raters and prompts" if self.unit == "both" else f"block of {self.unit}s"
        figures = []
        for value, error, df in zip(self.scores.tolist(), self.known_errors(errors), errors.item_df.tolist()):
            half = np.nan if error is None else float(stats.t.ppf((1 + level) / 2, df)) * error
            how = "no interval: the fit without a block is unknown" if error is None else f"jackknife, {folds} refits"
            low, high = (None, None) if error is None else (value - half, value + half)
            figures.append(Estimate(value=value, low=low, high=high, n=folds, unit=words, level=level, method=how))
        return figures

    def known_errors(self, errors: Errors) -> list[float | None]:
        """Standard errors; None where there is none."""
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
) -> RoutingJob:
    """A job over the boards of one category, `fits` by criterion; without one of them there is no answer."""
    total = sum(weights.values())
    shares = {criterion: weight / total for criterion, weight in weights.items()}
    absent = [criterion for criterion, share in shares.items() if share and criterion not in fits]
    if absent:
        return _unanswered(name, shares, category, f"no scores in logits under {', '.join(absent)}")
    used = {criterion: fits[criterion] for criterion, share in shares.items() if share}
    everyone = list(dict.fromkeys(generator for fit in used.values() for generator in fit.generators))
    present = [generator for generator in everyone if all(generator in fit.generators for fit in used.values())]
    missing = tuple(generator for generator in everyone if generator not in present)
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


def _unanswered(name: str, weights: dict[str, float], category: str | None, reason: str) -> RoutingJob:
    return RoutingJob(
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
) -> RoutingJob:
    order = np.argsort(-fit.scores, kind="stable")
    fit = fit.of([fit.generators[i] for i in order])
    ranks = _ranks(fit, level, seed)
    figures, errors = fit.figures(level), fit.known_errors(fit.errors())
    candidates = tuple(
        RoutingCandidate(
            generator=candidate,
            score=figures[i],
            rank=1 + int((fit.scores > fit.scores[i]).sum()),
            rank_low=None if ranks is None else int(ranks.low[i]),
            rank_high=None if ranks is None else int(ranks.high[i]),
            tier=None if ranks is None else int(ranks.tier[i]),
            error=errors[i],
        )
        for i, candidate in enumerate(fit.generators)
    )
    return RoutingJob(
        name=name,
        weights=weights,
        category=category,
        candidates=candidates,
        recommended=candidates[0].generator,
        best=tuple(candidate.generator for candidate in candidates if candidate.tier in (1, None)),
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


# -- boards and snapshots ----------------------------------------------------------------------------------------------

FORMAT: Final = "salon.arena/1"
FOLDER = "arena"
MEAN_POINTS, POINTS_PER_LOGIT = 1000.0, 400 / math.log(10)


class RaterKinds(Noun):
    """Who answered."""

    people: int = Field(description="Single persons.")
    crowds: int = Field(description="Groups of people that the source cannot tell apart.")
    models: int = Field(description="Judges and scorers.")
    simulated: bool = Field(description="True when no person gave the study's answers.")

    @property
    def words(self) -> str:
        """For a line of a table: '12 people, 1 model', '5 simulated people'."""
        counts = ((self.people, "person", "people"), (self.crowds, "crowd", "crowds"), (self.models, "model", "models"))
        how = "simulated " if self.simulated else ""
        return ", ".join(f"{n:,} {how}{singular if n == 1 else many}" for n, singular, many in counts if n) or "nobody"


class ArenaCoverage(Noun):
    """What a board rests on, and what was left out of it."""

    comparisons: int = Field(description="Comparisons used.")
    rankings: int = Field(description="Rankings used.")
    ratings: int = Field(description="Ratings used.")
    unused: int = Field(description="Answers of kinds that the method does not read.")
    both_bad: int = Field(description="Comparisons answered 'both bad': they order nothing and are left out.")
    repeats: int = Field(description="Repeated answers: left out, they measure a rater.")
    same: int = Field(description="Answers about two pictures of one generator: left out.")
    generators: int = Field(description="Generators that were judged.")
    pairs_met: int = Field(description="Pairs of generators with an answer.")
    pairs: int = Field(description="All pairs of generators.")
    prompts: int = Field(description="Prompts with an answer.")
    raters: RaterKinds = Field(description="Who answered.")


class ArenaPlace(GeneratorPlace):
    """One generator on a board."""

    score: Estimate = Field(description="On the board's scale; logits around the mean of its generators.")
    points: Estimate | None = Field(
        description="The same as on arenas: 1000 + 400/ln 10 a logit; null where scores are no logits."
    )
    n: int = Field(description="Answers that name it.")


class CovariateEffect(Noun):
    """What one covariate does to an answer."""

    covariate: str = Field(description="Name of a table of scores, or 'position'.")
    beta: Estimate = Field(title="Logits", description="Logits for one more `unit` of it.")
    unit: str = Field(title="For", description="'one standard deviation (0.12)', or 'shown on the left'.")
    p: Annotated[float | None, Format("p")] = Field(title="p", description="Two-sided, of no effect.")


class AdjustedBoard(Noun):
    """The board if all pictures had the same covariates: q_a - q_b + beta (x_a - x_b)."""

    places: tuple[ArenaPlace, ...] = Field(description="Best first, adjusted.")
    plain: tuple[ArenaPlace, ...] = Field(
        description="The same answers by the same model without covariates: what the adjustment changed."
    )
    effects: tuple[CovariateEffect, ...] = Field(description="One for each covariate.")
    method: str = Field(description="The model that was fitted.")
    answers: int = Field(description="Answers with all covariates known.")
    left_out: int = Field(description="Answers about a picture without a number: left out.")
    reason: str | None = Field(default=None, description="Why there are no places.")


class ArenaBoard(Noun):
    """One criterion, in one category or in all."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Of the criterion.")
    category: str | None = Field(description="Null: all categories together.")
    method: str = Field(description="How answers became scores: davidson, bradley-terry, plackett-luce, mean.")
    scale: str = Field(description="'logit', or the scale of the ratings.")
    places: tuple[ArenaPlace, ...] = Field(description="Best first; empty where the answers identify no scores.")
    alike: tuple[tuple[str, ...], ...] = Field(default=(), description="Runs that do not differ significantly.")
    tie: float | None = Field(default=None, description="Davidson's nu; null without ties.")
    matrix: WinMatrix | None = Field(description="Null where nobody met.")
    adjusted: AdjustedBoard | None = Field(default=None, description="Null unless covariates were asked for.")
    coverage: ArenaCoverage = Field(description="What the board rests on.")
    errors: str = Field(description="How intervals were made.")
    warnings: tuple[str, ...] = Field(default=(), description="What a reader should know, a sentence each.")
    reason: str | None = Field(default=None, description="Why there are no places, and what to do.")

    @property
    def label(self) -> str:
        """Criterion and category."""
        return self.name if self.category is None else f"{self.name} · {self.category}"


class ArenaSnapshot(Noun):
    """All boards of one study, as they were fitted once."""

    format: Literal["salon.arena/1"] = Field(default=FORMAT, description="Name and version of this form.")
    number: int = Field(default=0, description="0: not published.")
    study: str = Field(description="Name of the study.")
    study_hash: str = Field(description="Hash of its contents.")
    revision: int = Field(description="Revision of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    level: float = Field(description="Confidence level of all intervals.")
    covariates: tuple[str, ...] = Field(default=(), description="What scores were adjusted for.")
    boards: tuple[ArenaBoard, ...] = Field(description="By criterion; all categories together first.")
    routing: RoutingTable = Field(description="Which generator for which job.")
    policies: tuple[str, ...] = Field(description="How answers were treated, a sentence each.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")

    @property
    def criteria(self) -> tuple[str, ...]:
        """Ids of the criteria with a board, in the study's order."""
        return tuple(dict.fromkeys(board.criterion for board in self.boards))

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories with boards of their own."""
        return tuple(dict.fromkeys(board.category for board in self.boards if board.category is not None))

    def board(self, criterion: str, category: str | None = None) -> ArenaBoard | None:
        """One board."""
        matches = (
            candidate for candidate in self.boards if (candidate.criterion, candidate.category) == (criterion, category)
        )
        return next(matches, None)


def board_points(score: Estimate) -> Estimate:
    """Logits as the points of arenas: 400 points are odds of ten to one, and a board's mean is 1000."""
    return score.transform(_points)


def _points(logit: float) -> float:
    return MEAN_POINTS + POINTS_PER_LOGIT * logit
