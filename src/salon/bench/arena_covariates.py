"""Boards with covariates: what generators would score if their pictures were alike in ink, length, brightness, side.

Every answer is a duel of two pictures (rankings and ratings give one for each pair they order), and
`stats.pair_covariates` fits scores and effects together. A covariate's unit is its standard deviation over the
study's pictures, so effects can be compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.bench.arena import AdjustedBoard, ArenaPlace, CovariateEffect, board_points
from salon.errors import BadValue, StatsError, TooFew, UnknownReference
from salon.evaluate import Ints, item_generators, item_prompts
from salon.fuse import ENOUGH_BESIDE_PROMPTS, ENOUGH_CLUSTERS, raise_to_floor
from salon.judge import SCORES_FOLDER as SCORES, list_scores, read_scores, scores_file
from salon.stats import (
    ComparisonColumns,
    CovariateErrors,
    CovariateFit,
    Errors,
    Estimate,
    covariate_errors,
    fit_covariates,
    rank_intervals,
    two_way_errors,
    two_way_variance,
)
from salon.study import Study

Floats = NDArray[np.float64]
POSITION = "position"
TIE = 2


@dataclass(frozen=True)
class Covariates:
    """Numbers of the study's items, by name; NaN where an item has none. Position is known of the answers."""

    values: Mapping[str, Floats]
    spreads: Mapping[str, float]
    position: bool
    digests: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, position last."""
        return (*self.values, *([POSITION] if self.position else []))

    def table(self, duels: ComparisonColumns) -> Floats:
        """(duels, covariates): what the first picture has more, in standard deviations; 1 on the left, -1 right."""
        columns = [(x[duels.a] - x[duels.b]) / self.spreads[name] for name, x in self.values.items()]
        if self.position:
            columns.append(np.choose(duels.left, [1.0, -1.0, 0.0]))
        return np.stack(columns, axis=1)

    def unit(self, name: str) -> str:
        """What one of it is."""
        if name == POSITION:
            return "being shown on the left"
        return f"one standard deviation ({self.spreads[name]:.3g})"


def study_covariates(study: Study, folder: Path | None, names: Sequence[str]) -> Covariates:
    """The tables of scores called `names` in the study's folder, and `position`."""
    values, digests = {}, {}
    for name in dict.fromkeys(names):
        if name != POSITION:
            file = _file(study, folder, name)
            table = read_scores(file)
            value_by_item = dict(zip(table.column("item").to_pylist(), table.column("value").to_pylist()))
            item_values = [value_by_item.get(item) for item in study.ids("items").to_pylist()]
            numbers = np.array([np.nan if value is None else value for value in item_values], float)
            if np.isnan(numbers).all():
                raise BadValue(
                    "scores of items of the study are needed", found="scores of other items", where=str(file)
                )
            values[name] = numbers
            digests[name] = hashlib.sha256(values[name].tobytes()).hexdigest()[:12]
    spreads = {name: float(np.nanstd(x)) for name, x in values.items()}
    for name, spread in spreads.items():
        if not spread > 0:
            raise BadValue("a covariate must differ between pictures", found=f"one value for all of {name!r}")
    return Covariates(values, spreads, POSITION in names, digests)


def _file(study: Study, folder: Path | None, name: str) -> Path:
    file = None if folder is None else scores_file(folder / SCORES, name)
    if file is not None and file.is_file():
        return file
    tables = [] if folder is None else list_scores(folder)
    raise UnknownReference(
        "a covariate is a table of scores of the study's items, or 'position'",
        found=repr(name),
        where=f"study {study.name!r}",
        remedy=f"one of {', '.join([*tables, POSITION])}, or salon score STUDY --scorer {name}",
    )


def adjusted_board(
    study: Study, duels: ComparisonColumns, covariates: Covariates, *, prior: float | None, level: float, seed: int
) -> AdjustedBoard:
    """The board of some duels with and without covariates; a reason if covariates cannot be told from scores."""
    z = covariates.table(duels)
    is_complete = ~np.isnan(z).any(axis=1)
    left_out = int((~is_complete).sum())
    complete = ComparisonColumns(
        *(getattr(duels, name)[is_complete] for name in ComparisonColumns.__dataclass_fields__)
    )
    try:
        return _fit_adjusted(study, complete, z[is_complete], covariates, left_out, prior=prior, level=level, seed=seed)
    except StatsError as error:
        message = str(error.found or "")
        for number, covariate in enumerate(covariates.names):
            message = message.replace(f"covariate {number}:", f"{covariate}:")
        reason = "; ".join(part for part in (error.needed, f"found {message}", error.remedy or "") if part)
        return AdjustedBoard(
            places=(), plain=(), effects=(), method="", answers=len(complete), left_out=left_out, reason=reason
        )


def _fit_adjusted(
    study: Study,
    duels: ComparisonColumns,
    z: Floats,
    covariates: Covariates,
    left_out: int,
    *,
    prior: float | None,
    level: float,
    seed: int,
) -> AdjustedBoard:
    from scipy import stats

    names, of_item = item_generators(study)
    present, pair = np.unique(np.stack([of_item[duels.a], of_item[duels.b]]), return_inverse=True)
    if len(present) < 2:
        raise TooFew("a board needs two generators", found=len(present))
    a, b = pair.reshape(2, -1)
    model = "davidson" if (duels.outcome == TIE).any() else "bradley-terry"
    clusters, unit = _clusters(study, duels)
    sides = {}
    for name, table in (("places", z), ("plain", z[:, :0])):
        fit = fit_covariates(a, b, duels.outcome, table, len(present), model, prior=prior)
        sides[name] = fit, board_errors(fit, (a, b, duels.outcome, table), clusters)
    fit, errors = sides["places"]
    labels = [names[code] for code in present]
    counts = np.bincount(np.concatenate([a, b]), minlength=len(present))
    places = {name: ranked_places(labels, counts, *side, level=level, seed=seed) for name, side in sides.items()}
    freedom = np.full(len(errors.beta), errors.scores.df) if errors.beta_df is None else errors.beta_df
    quantiles = stats.t.ppf((1 + level) / 2, freedom)
    covariate_effects = tuple(
        CovariateEffect(
            covariate=name,
            beta=Estimate(
                value=float(beta),
                low=float(beta - t * se),
                high=float(beta + t * se),
                n=len(duels),
                unit="answer",
                level=level,
                method=errors.scores.method,
            ),
            unit=covariates.unit(name),
            p=float(2 * stats.t.sf(abs(beta) / se, df)),
        )
        for name, beta, se, df, t in zip(covariates.names, fit.beta, errors.beta, freedom, quantiles)
    )
    return AdjustedBoard(
        **places,
        effects=covariate_effects,
        method=f"{model} with covariates; {errors.scores.method}{f' ({unit})' if clusters else ''}",
        answers=len(duels),
        left_out=left_out,
    )


def _clusters(study: Study, duels: ComparisonColumns) -> tuple[tuple[Ints, ...], str]:
    """Raters, prompts and cells where there are enough of both, as in `salon fuse`; else prompts, else raters."""
    prompt, rater = item_prompts(study)[duels.a].astype(np.int64), duels.rater.astype(np.int64)
    prompts, raters = (len(np.unique(codes)) if (codes >= 0).all() else 0 for codes in (prompt, rater))
    if prompts >= ENOUGH_CLUSTERS:
        by_both = raters >= ENOUGH_BESIDE_PROMPTS and not study.crowds[np.unique(rater)].any()
        return ((rater, prompt, (rater << 32) + prompt), "raters and prompts") if by_both else ((prompt,), "prompts")
    return ((rater,), "raters") if raters >= ENOUGH_CLUSTERS else ((), "answers")


def board_errors(
    fit: CovariateFit, answers: tuple[Ints, Ints, Ints, Floats], clusters: Sequence[Ints]
) -> CovariateErrors:
    """Clustered errors, nowhere below those of independent answers; over raters, prompts and cells: two-way."""
    alone = covariate_errors(fit, *answers)
    if not clusters:
        return alone
    parts = [covariate_errors(fit, *answers, cluster=np.unique(codes, return_inverse=True)[1]) for codes in clusters]
    scores, beta, beta_df = parts[0].scores, parts[0].beta, None
    if len(parts) > 1:
        raters, prompts, cells = (part.scores for part in parts)
        scores = two_way_errors(raters, prompts, cells, method="two-way sandwich")
        freedom = {"rater_df": parts[0].scores.df, "prompt_df": parts[1].scores.df}
        variance, beta_df = two_way_variance(*(part.beta**2 for part in parts), **freedom)
        beta = np.sqrt(variance)
    return CovariateErrors(raise_to_floor(scores, alone.scores), np.maximum(beta, alone.beta), beta_df)


def ranked_places(
    labels: Sequence[str], counts: Ints, fit: CovariateFit, errors: CovariateErrors, *, level: float, seed: int
) -> tuple[ArenaPlace, ...]:
    """Rows of a board, best first: scores with intervals, points, ranks with rank ranges."""
    from scipy import stats

    own: Errors = errors.scores
    rng = np.random.default_rng([seed, 3])
    ranks = rank_intervals(
        fit.scores, own.covariance, df=own.df, level=level, rng=rng, differences=own.differences,
        difference_df=own.difference_df,
    )  # fmt: skip
    half = stats.t.ppf((1 + level) / 2, own.item_df) * own.se
    places = []
    for i in np.argsort(-fit.scores, kind="stable"):
        score = Estimate(
            value=float(fit.scores[i]),
            low=float(fit.scores[i] - half[i]),
            high=float(fit.scores[i] + half[i]),
            n=int(counts[i]),
            unit="answer",
            level=level,
            method=own.method,
        )
        places.append(
            ArenaPlace(
                generator=labels[i],
                score=score,
                points=board_points(score),
                n=int(counts[i]),
                rank=int(ranks.rank[i]),
                rank_low=int(ranks.low[i]),
                rank_high=int(ranks.high[i]),
                tier=int(ranks.tier[i]),
            )
        )
    return tuple(places)
