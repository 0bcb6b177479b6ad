"""The live board of a public arena: Bradley-Terry with style covariates, errors over voters, rank ranges.

Every vote counts even/chance: the inverse of how much likelier its pair was than under even dealing (`ballots`). Errors
are the sandwich over voters, who are the ones that come by chance; the pictures are those of the arena. A weak prior
keeps every score finite from the first vote on. `exclude` decides what happens to what `anomalies` flags: the board of
all votes stands beside the board of the others, whichever is shown first.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.bench.arena import ArenaPlace, CovariateEffect
from salon.bench.arena_covariates import Covariates, ranked_places
from salon.bench.public_arena.anomalies import Anomalies, Expected, Flood, find_anomalies
from salon.bench.public_arena.ballots import ArenaField, design_record
from salon.bench.public_arena.settings import PublicArenaSettings
from salon.bench.public_arena.votes import BOTH_BAD, NONE_GOOD, ArenaDuels, ArenaVotes, arena_duels, number_codes
from salon.errors import SalonError, StatsError
from salon.stats import (
    CovariateErrors,
    CovariateFit,
    Estimate,
    count_pairs,
    covariate_errors,
    fit_covariates,
    pair_posterior,
    pair_probabilities,
)
from salon.study import Format, Noun, Signature

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
FORMAT: Final = "salon.public-arena/1"
POSITION = "position"
TIE = 2


class LiveBoard(Noun):
    """A public arena's board, as it was fitted last."""

    format: Literal["salon.public-arena/1"] = Field(default=FORMAT, description="Name and version of this form.")
    criterion: str = Field(description="What voters are asked: the id of a criterion.")
    question: str = Field(description="The same in words.")
    at: int = Field(description="When it was fitted, milliseconds since 1970.")
    votes: int = Field(description="Votes that were stored.")
    voters: int = Field(description="Voters who gave one.")
    counted: int = Field(description="Votes that the first board counts.")
    nothing_better: int = Field(description="Votes 'both bad' or 'all bad': they order nothing.")
    repeated: int = Field(description="Votes of one place on pictures it had voted on: kept, not counted.")
    set_aside: int = Field(description="Votes of flagged voters, addresses and floods, as the policy says.")
    flagged_voters: int = Field(description="Voters whose votes differ from all others, or whose address's do.")
    floods: tuple[Flood, ...] = Field(description="Windows in which one generator did unlike its own history.")
    places: tuple[ArenaPlace, ...] = Field(description="Best first, by the stated policy.")
    everyone: tuple[ArenaPlace, ...] = Field(description="Best first, nobody set aside.")
    waiting: tuple[str, ...] = Field(description="Generators with too few votes for a row.")
    least_votes: int = Field(description="Votes that a row needs.")
    effects: tuple[CovariateEffect, ...] = Field(description="What style does to a vote, in logits.")
    method: str = Field(description="The model, and what its errors are over.")
    policy: str = Field(description="What is set aside, in words.")
    notes: tuple[str, ...] = Field(default=(), description="What a reader should know, a sentence each.")
    level: float = Field(description="Confidence level of the intervals.")
    seconds: Annotated[float, Format("number", 2)] = Field(description="How long the fit took.")
    signature_line: str = Field(description="What reproduces these numbers.")


@dataclass(frozen=True)
class ArenaFit:
    """Scores of the generators that were voted on."""

    present: NDArray[np.int64]
    fit: CovariateFit
    errors: CovariateErrors | None
    counts: NDArray[np.int64]
    """(present,) votes that name it."""
    covariates: tuple[str, ...]


@dataclass(frozen=True)
class RefitResult:
    """A board, the chances of the next pairs, and what was flagged."""

    board: LiveBoard
    design: str
    anomalies: Anomalies | None


POLICIES = {
    "flagged": "All votes of flagged voters and addresses are set aside, and in a flagged window all votes on the "
    "flagged generator, whatever they say.",
    "nobody": "Nothing is set aside.",
}


def fit_live_board(
    votes: ArenaVotes,
    field: ArenaField,
    settings: PublicArenaSettings,
    *,
    covariates: Covariates | None = None,
    addresses: dict[int, str] | None = None,
    at: int,
) -> RefitResult:
    """The board of all votes there are; without places, and a note that says why, where they identify none."""
    started = time.perf_counter()
    counted = votes.among(~votes.repeated)
    duels = arena_duels(counted, field)
    z, names = style_differences(duels, field, covariates)
    known = np.asarray(~np.isnan(z).any(axis=1))
    duels, z = duels.among(known), z[known]
    weight = vote_weights(counted, settings)[duels.vote]
    notes = [] if known.all() else [f"{int((~known).sum()):,} duels about a picture without a style are left out."]
    everyone, anomalies, kept = None, None, np.ones(len(duels), np.bool_)
    try:
        everyone, names, z = _fit_with_style(duels, z, names, weight, field, counted, settings, notes)
        anomalies = find_anomalies(counted, duels, field, settings, addresses or {}, _expecter(
            duels, z, names, weight, field, counted, settings))  # fmt: skip
        kept = anomalies.kept if settings.exclude == "flagged" else kept
    except StatsError as error:
        notes.append(f"No board yet: {error.needed}; found {error.found}.")
    best = everyone
    if anomalies is not None and not kept.all():
        try:
            best = fit_arena(duels.among(kept), z[kept], names, weight[kept], field, counted, settings)
        except StatsError as error:
            notes.append(f"The board without what is flagged has no fit: {error.needed}.")
    posterior = None
    if len(duels):
        pairs = count_pairs(field.generator[duels.a], field.generator[duels.b], duels.outcome, len(field.generators))
        posterior = pair_posterior(pairs, prior=settings.prior)
    shown = _rows(best, field, settings)
    data = hashlib.sha256(np.concatenate([votes.number, votes.answer]).tobytes()).hexdigest()[:12]
    options = {name: value for name, value in settings if name not in ("seed", "covariates")}
    signature = Signature(method="public arena", data=data, seed=settings.seed,
                          settings=options | {"covariates": ",".join(names)})  # fmt: skip
    board = LiveBoard(
        criterion=field.criterion.id,
        question=field.criterion.question or field.criterion.title,
        at=at,
        votes=len(votes),
        voters=len(number_codes(votes.voter)[0]),
        counted=len(number_codes(duels.vote[kept])[0]),
        nothing_better=int((counted.answer == np.where(counted.shown[:, 2] < 0, BOTH_BAD, NONE_GOOD)).sum()),
        repeated=int(votes.repeated.sum()),
        set_aside=len(number_codes(duels.vote)[0]) - len(number_codes(duels.vote[kept])[0]),
        flagged_voters=0 if anomalies is None else len(anomalies.voters),
        floods=() if anomalies is None else anomalies.floods,
        places=shown,
        everyone=_rows(everyone, field, settings),
        waiting=tuple(name for name in field.generators if name not in {place.generator for place in shown}),
        least_votes=settings.least_votes,
        effects=_effects(best, covariates, len(duels), settings.level),
        method=_method(best),
        policy=POLICIES[settings.exclude],
        notes=tuple(notes),
        level=settings.level,
        seconds=time.perf_counter() - started,
        signature_line=str(signature),
    )
    return RefitResult(board, design_record(field, posterior, settings.random), anomalies)


# -- what goes into a fit ----------------------------------------------------------------------------------------------


def vote_weights(votes: ArenaVotes, settings: PublicArenaSettings) -> Floats:
    """(votes,) the inverse of how much likelier a ballot was than even dealing; a voter's share where that is asked."""
    weight = votes.even / votes.chance if settings.even else np.ones(len(votes))
    if settings.most_weight is not None and len(votes):
        voter = number_codes(votes.voter)[1]
        weight = weight * np.minimum(1.0, settings.most_weight / np.bincount(voter))[voter]
    return np.asarray(weight, np.float64)


def style_differences(
    duels: ArenaDuels, field: ArenaField, covariates: Covariates | None
) -> tuple[Floats, tuple[str, ...]]:
    """(duels, covariates) what the first picture has more, in standard deviations; 1 where it stood left of two."""
    if covariates is None:
        return np.empty((len(duels), 0)), ()
    a, b = field.row[duels.a], field.row[duels.b]
    columns = [(x[a] - x[b]) / covariates.spreads[name] for name, x in covariates.values.items()]
    if covariates.position:
        columns.append(duels.side)
    return np.stack(columns, axis=1), covariates.names


def fit_arena(
    duels: ArenaDuels,
    z: Floats,
    names: tuple[str, ...],
    weight: Floats,
    field: ArenaField,
    votes: ArenaVotes,
    settings: PublicArenaSettings,
    *,
    errors: bool = True,
) -> ArenaFit:
    """Scores, effects and their errors over voters."""
    a, b = field.generator[duels.a], field.generator[duels.b]
    present, code = number_codes(np.concatenate([a, b]))
    first, second = code[: len(a)], code[len(a) :]
    model = "davidson" if (duels.outcome == TIE).any() else "bradley-terry"
    fit = fit_covariates(first, second, duels.outcome, z, len(present), model, weight=weight, prior=settings.prior)
    over = None
    if errors:
        voter = number_codes(votes.voter[duels.vote])[1]
        over = covariate_errors(fit, first, second, duels.outcome, z, cluster=voter, weight=weight)
    two = np.tile(duels.side != 0, 2)
    fours = np.unique(np.tile(duels.vote, 2)[~two] * len(present) + code[~two]) % len(present)  # named once by a vote
    counts = np.bincount(np.concatenate([code[two], fours]), minlength=len(present))
    return ArenaFit(present, fit, over, counts, names)


def _fit_with_style(
    duels: ArenaDuels,
    z: Floats,
    names: tuple[str, ...],
    weight: Floats,
    field: ArenaField,
    votes: ArenaVotes,
    settings: PublicArenaSettings,
    notes: list[str],
) -> tuple[ArenaFit, tuple[str, ...], Floats]:
    """The fit with covariates, or without where votes cannot tell them from scores yet."""
    if names:
        try:
            return fit_arena(duels, z, names, weight, field, votes, settings), names, z
        except StatsError:
            notes.append(f"Votes do not tell {', '.join(names)} from scores yet: scores are not adjusted.")
    return fit_arena(duels, z[:, :0], (), weight, field, votes, settings), (), z[:, :0]


def _expecter(
    duels: ArenaDuels,
    z: Floats,
    names: tuple[str, ...],
    weight: Floats,
    field: ArenaField,
    votes: ArenaVotes,
    settings: PublicArenaSettings,
) -> Expected:
    """What the votes among some rows let one expect of all votes."""

    def expected(kept: Bools) -> tuple[Floats, Floats, Floats, Floats]:
        part = fit_arena(duels.among(kept), z[kept], names, weight[kept], field, votes, settings, errors=False)
        scores = np.zeros(len(field.generators))
        scores[part.present] = part.fit.scores
        d = scores[field.generator[duels.a]] - scores[field.generator[duels.b]] + z @ part.fit.beta
        win, tie, _ = pair_probabilities(part.fit.model, d, part.fit.tie)
        if part.fit.model == "bradley-terry":
            tie = np.zeros(len(d))
        return d, np.clip(win, 1e-12, 1 - 1e-9), np.clip(tie, 0, 1 - 1e-9), z

    return expected


# -- what comes out ----------------------------------------------------------------------------------------------------


def _rows(part: ArenaFit | None, field: ArenaField, settings: PublicArenaSettings) -> tuple[ArenaPlace, ...]:
    """Rows with enough votes; ranks are among all generators that were voted on."""
    if part is None or part.errors is None:
        return ()
    labels = [field.generators[code] for code in part.present]
    try:
        places: Sequence[ArenaPlace] = ranked_places(
            labels, part.counts, part.fit, part.errors, level=settings.level, seed=settings.seed
        )
    except SalonError:  # two scores that no vote tells apart
        return ()
    return tuple(place for place in places if place.n >= settings.least_votes)


def _effects(
    part: ArenaFit | None, covariates: Covariates | None, duels: int, level: float
) -> tuple[CovariateEffect, ...]:
    from scipy import stats

    if part is None or part.errors is None or covariates is None or not part.covariates:
        return ()
    df = part.errors.scores.df
    t = float(stats.t.ppf((1 + level) / 2, df))
    return tuple(
        CovariateEffect(
            covariate=name,
            beta=Estimate(value=beta, low=beta - t * se, high=beta + t * se, n=duels, unit="duel", level=level,
                          method=part.errors.scores.method),
            unit=covariates.unit(name),
            p=float(2 * stats.t.sf(abs(beta) / se, df)),
        )
        for name, beta, se in zip(part.covariates, part.fit.beta.tolist(), part.errors.beta.tolist())
    )  # fmt: skip


def _method(part: ArenaFit | None) -> str:
    if part is None or part.errors is None:
        return ""
    adjusted = f", adjusted for {', '.join(part.covariates)}" if part.covariates else ""
    return f"{part.fit.model}{adjusted}; {part.errors.scores.method.replace('clusters', 'voters')}"
