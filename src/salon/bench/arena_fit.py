"""Fit the boards of an arena: scores by criterion and category, win matrices, and a routing table.

`fuse` gives scores, intervals and ranks; `stats` gives the effects of covariates. Raters may be people, models or
simulated; the snapshot says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from salon.bench.arena import (
    ArenaBoard,
    ArenaCoverage,
    ArenaPlace,
    ArenaSnapshot,
    BoardFit,
    RaterKinds,
    RoutingCandidate,
    RoutingJob,
    RoutingTable,
    WinMatrix,
    board_points,
    weighted_job,
    win_matrix,
)
from salon.bench.arena_covariates import Covariates, adjusted_board, study_covariates
from salon.bench.settings import ArenaSettings
from salon.errors import BadValue, DesignError, StatsError, TooFew
from salon.evaluate import StudyPart, item_generators, item_prompts, study_duels, study_parts
from salon.fuse import (
    BOTH_BAD,
    TIE,
    Cluster,
    Floats,
    FuseGroup,
    FuseReport,
    FuseSettings,
    GroupFit,
    ScoreRow,
    count_judgments,
    fit_group,
    fuse_study,
    jackknife,
    step_pairs,
    study_groups,
)
from salon.stats import ComparisonColumns, Estimate, pair_probabilities
from salon.study import Signature, Study

ALIKE, WEIGHED = "all criteria alike", "as weighed"
POLICIES = (
    "Each criterion is scored from its most frequent kind of answer: comparisons (Bradley-Terry, or Davidson with "
    "ties), rankings (Plackett-Luce) or ratings (mean); others are counted as unused.",
    "A board whose answers identify no finite scores has none, and says why; other boards stand.",
    "Win matrix: a tie is half an answer for each side; pictures of one generator never meet.",
    "Routing: weighted mean of logits; a generator without a score under one of the criteria is left out and named.",
)


def arena_snapshot(
    study: Study,
    settings: ArenaSettings | None = None,
    *,
    folder: Path | None = None,
    criteria: Sequence[str] = (),
    by_category: bool = False,
    covariates: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> ArenaSnapshot:
    """Boards of the generators of `study`, as an unpublished snapshot (`bench.numbered.publish` numbers it).

    `covariates` name tables of scores in `folder`, or 'position'; `weights` of criteria add a job to the routing table.
    """
    settings = settings or ArenaSettings()
    weights = _checked_weights(study, criteria, weights or {})
    covariate_values = study_covariates(study, folder, covariates) if covariates else None
    parts = list(study_parts(study, criteria, by_category=by_category))
    if not parts:
        raise TooFew(
            "an arena needs comparisons, rankings or ratings",
            found=", ".join(f"{n:,} {kind}" for kind, n in study.counts.items()) or "an empty study",
            where=f"study {study.name!r}",
            remedy="collect some, or let a judge compare: salon judge run STUDY; flags need --criterion",
        )
    scored = [score_part(part, settings.fuse, progress) for part in parts]
    fits = joint_fits(scored, seed=settings.seed, progress=progress)
    boards = []
    for place, board_scores in enumerate(scored):
        progress(board_scores.part.criterion)
        boards.append(_board(study, board_scores, fits.get(place), covariate_values, settings))
    options = {name: value for name, value in settings if name != "seed"} | {"by_category": by_category}
    if criteria:
        options["criteria"] = ",".join(criteria)
    if covariate_values is not None:
        sources = [f"{name}@{covariate_values.digests[name]}" for name in covariate_values.values]
        options["covariates"] = ",".join([*sources, *(["position"] if covariate_values.position else [])])
    if weights:
        options["weights"] = ",".join(f"{id}={weight:g}" for id, weight in weights.items())
    signature = Signature(
        method="arena", data=study.hash[:12], revision=study.revision, settings=options, seed=settings.seed
    )
    policies = (
        words for board_scores in scored if board_scores.report is not None for words in board_scores.report.policies
    )
    fused_policies = tuple(dict.fromkeys(policies))
    return ArenaSnapshot(
        study=study.name,
        study_hash=study.hash,
        revision=study.revision,
        simulated=study.simulated,
        level=settings.level,
        covariates=() if covariate_values is None else covariate_values.names,
        boards=tuple(boards),
        routing=_routing(boards, fits, weights, settings),
        policies=(*POLICIES, *fused_policies),
        signature=signature,
        signature_line=str(signature),
    )


def _checked_weights(study: Study, criteria: Sequence[str], weights: Mapping[str, float]) -> dict[str, float]:
    for id, weight in weights.items():
        study.criterion(id)
        if criteria and id not in criteria:
            raise BadValue("a weight is for a criterion of the arena", found=id, remedy=f"--criterion {id} adds it")
        if not 0 <= weight < np.inf:
            raise BadValue("a weight is a number from 0 up", found=f"{id}={weight}")
    if weights and not sum(weights.values()) > 0:
        raise BadValue("one weight at least must be more than 0", found="only zeros")
    return {id: float(weight) for id, weight in weights.items()}


# -- one board ---------------------------------------------------------------------------------------------------------


def _board(
    study: Study, scored: BoardScores, fit: BoardFit | None, covariates: Covariates | None, settings: ArenaSettings
) -> ArenaBoard:
    part, report = scored.part, scored.report
    duels = study_duels(part, both_bad=settings.both_bad)
    figures = None if report is None else report.groups[0]
    places = () if report is None else tuple(_place(row, report) for row in report.scores)
    matrix = _matrix(study, scored, fit, duels, [place.generator for place in places], settings.level)
    group = scored.group
    parts = () if group is None else (group.compared, group.ranked, group.rated)
    sizes = [len(part) for part in parts] or [0, 0, 0]
    prompts = np.unique(np.concatenate([part.prompt for part in parts])) if parts else np.zeros(0)
    generators = 0 if matrix is None else len(matrix.generators)
    coverage = ArenaCoverage(
        comparisons=sizes[0],
        rankings=sizes[1],
        ratings=sizes[2],
        unused=scored.part.unused,
        both_bad=0 if group is None else group.both_bad,
        repeats=0 if group is None else group.repeats,
        same=0 if group is None else group.same,
        generators=generators if group is None else group.items,
        pairs_met=0 if matrix is None else len(matrix.duels),
        pairs=generators * (generators - 1) // 2,
        prompts=int((prompts >= 0).sum()),
        raters=_rater_kinds(study, np.zeros(0, np.int64) if group is None else group.raters),
    )
    return ArenaBoard(
        criterion=part.criterion,
        name=study.criteria[part.number].title,
        category=part.category,
        method=scored.method,
        scale=LOGIT if report is None else report.scale,
        places=places,
        alike=() if figures is None else figures.alike,
        tie=None if figures is None else figures.tie,
        matrix=matrix,
        adjusted=None
        if covariates is None
        else adjusted_board(study, duels, covariates, prior=settings.prior, level=settings.level, seed=settings.seed),
        coverage=coverage,
        errors="" if figures is None else figures.errors,
        warnings=() if report is None else report.warnings,
        reason=scored.reason,
    )


def _place(row: ScoreRow, report: FuseReport) -> ArenaPlace:
    score = Estimate(
        value=row.value,
        low=row.low,
        high=row.high,
        n=row.n,
        unit="judgment",
        level=report.level,
        method=report.groups[0].errors,
    )
    return ArenaPlace(
        generator=row.generator or "",
        score=score,
        points=board_points(score) if report.scale == LOGIT else None,
        n=row.n,
        rank=row.rank,
        rank_low=row.rank_low,
        rank_high=row.rank_high,
        tier=row.tier,
        error=row.error,
    )


def _matrix(
    study: Study,
    scored: BoardScores,
    fit: BoardFit | None,
    duels: ComparisonColumns,
    order: Sequence[str],
    level: float,
) -> WinMatrix | None:
    """Generators in the order of the board, or by name if it has no scores."""
    names, of_item = item_generators(study)
    a, b = of_item[duels.a], of_item[duels.b]
    met = [names[code] for code in np.unique([a, b])] if len(duels) else []
    rows = [*order, *(name for name in met if name not in order)]
    place = np.array([rows.index(name) if name in rows else -1 for name in names], np.int64)

    def fitted(first: int, second: int) -> Estimate | None:
        pair = rows[first], rows[second]
        if fit is None or not all(name in fit.generators for name in pair):
            return None
        return fitted_chance(scored, fit, *pair, level)

    prompts = item_prompts(study)[duels.a]
    return win_matrix(place[a], place[b], duels.outcome, prompts, rows, fitted, level=level)


def _rater_kinds(study: Study, raters: np.ndarray) -> RaterKinds:
    table = study.table("raters")
    kinds = ["person"] * table.num_rows
    if "kind" in table.column_names:
        kinds = [kind or "person" for kind in table.column("kind").cast(pa.string()).to_pylist()]
    here = [kinds[rater] for rater in raters.tolist()]
    return RaterKinds(
        people=here.count("person"), crowds=here.count("crowd"), models=here.count("model"), simulated=study.simulated
    )


# -- who for what ------------------------------------------------------------------------------------------------------


def _routing(
    boards: Sequence[ArenaBoard], fits: Mapping[int, BoardFit], weights: Mapping[str, float], settings: ArenaSettings
) -> RoutingTable:
    """In all categories together and in each: criteria alike, each alone, and as weighed."""
    jobs: list[RoutingJob] = []
    for category in dict.fromkeys(board.category for board in boards):
        here = {board.criterion: (board, fits.get(n)) for n, board in enumerate(boards) if board.category == category}
        fitted = {criterion: fit for criterion, (_, fit) in here.items() if fit is not None}
        alike = {criterion: 1.0 for criterion, (board, _) in here.items() if board.scale == LOGIT}
        weightings = [(ALIKE, alike)] if len(alike) > 1 else []
        weightings += [(WEIGHED, dict(weights))] if weights else []
        jobs += [
            weighted_job(name, shares, category, fitted, level=settings.level, seed=settings.seed)
            for name, shares in weightings
        ]
        for board, fit in here.values():
            first = [place.generator for place in board.places[:2]]
            jobs.append(
                RoutingJob(
                    name=board.name,
                    weights={board.criterion: 1.0},
                    category=board.category,
                    candidates=tuple(
                        RoutingCandidate(**{name: getattr(place, name) for name in RoutingCandidate.model_fields})
                        for place in board.places
                    ),
                    recommended=first[0] if first else None,
                    best=tuple(place.generator for place in board.places if place.tier in (1, None)),
                    margin=fit.lead(first[0], first[1], settings.level)
                    if fit is not None and len(first) == 2
                    else None,
                    reason=board.reason,
                )
            )
    return RoutingTable(jobs=tuple(jobs))


# -- scores of one part, and refits of all boards without each block of prompts ----------------------------------------

LOGIT = "logit"


@dataclass(frozen=True)
class BoardScores:
    """A part and its scores, or why it has none."""

    part: StudyPart
    fuse: FuseSettings
    group: FuseGroup | None
    """None where no answer is about two generators."""
    report: FuseReport | None
    reason: str | None

    @property
    def method(self) -> str:
        """How answers became scores."""
        assert self.fuse.method != "auto"  # `scored_part` has chosen
        return self.fuse.method

    @property
    def is_logit(self) -> bool:
        """Whether its scores are log-odds."""
        return self.report is not None and self.report.scale == LOGIT


def score_part(part: StudyPart, settings: FuseSettings, progress: Callable[[str], None]) -> BoardScores:
    """The scores of generators in a part by `salon fuse`; answers that identify none are a reason, not an error."""
    # chosen by name, so that answers which identify no scores are said to; `auto` would add a prior
    if part.protocol != "comparisons":
        method = "plackett-luce" if part.protocol == "rankings" else "mean"
    else:
        outcome = part.study.comparisons.outcome
        tied = (outcome if settings.both_bad == "tie" else outcome[outcome != BOTH_BAD]) >= TIE
        method = "davidson" if tied.any() and not tied.all() else "bradley-terry"
    fuse = settings.model_copy(update={"method": method, "by": "generator", "split": "none"})
    group = next(iter(study_groups(part.study, fuse, [part.criterion])), None)
    try:
        report = fuse_study(part.study, fuse, criteria=[part.criterion], progress=progress)
    except (StatsError, DesignError) as error:
        parts = [error.needed, f"found {error.found}" if error.found else "", error.remedy or ""]
        told = "; ".join(part for part in parts if part)
        return BoardScores(part, fuse, group, None, told)
    assert group is not None  # what is scored has a group
    scored = {row.generator for row in report.scores}
    has_score = np.array([member in scored for member in group.members])
    members_with_score = group if has_score.all() else group.among(has_score)
    return BoardScores(part, fuse, members_with_score, report, None)


# -- all boards at once ------------------------------------------------------------------------------------------------


def joint_fits(scored: Sequence[BoardScores], *, seed: int, progress: Callable[[str], None]) -> dict[int, BoardFit]:
    """The boards in logits by their place in `scored`, with how those of a category move together."""
    fits_by_place: dict[int, BoardFit] = {}
    for category in dict.fromkeys(board_scores.part.category for board_scores in scored):
        places = [
            n
            for n, board_scores in enumerate(scored)
            if board_scores.part.category == category and board_scores.is_logit
        ]
        if places:
            fits = _refit_without_blocks([scored[place] for place in places], seed, progress)
            fits_by_place |= dict(zip(places, fits))
    return fits_by_place


def _refit_without_blocks(scores: Sequence[BoardScores], seed: int, progress: Callable[[str], None]) -> list[BoardFit]:
    """Boards fitted again without each block of clusters, the same blocks for all."""
    groups = [board_scores.group for board_scores in scores if board_scores.group is not None]  # all: each has a report
    cluster = _cluster(scores)
    whole = [
        fit_group(group, board_scores.method, board_scores.fuse, cluster, errors=False)
        for board_scores, group in zip(scores, groups)
    ]

    def refit(without: Mapping[int, FuseGroup]) -> Floats:
        progress(f"all boards without a block of {cluster}s")
        latents = [fit.latent for fit in whole]
        for place, group in without.items():
            latents[place] = _refit(scores[place], whole[place], group, cluster)
        return np.concatenate(latents)

    try:
        spreads = jackknife(groups, cluster, refit, rng=np.random.default_rng([seed, 1]))
        deviations = [board_scores.deviations for board_scores in spreads]
    except TooFew:
        deviations = [np.full((1, sum(len(fit.latent) for fit in whole)), np.nan)]
    ends = np.cumsum([0, *(len(fit.latent) for fit in whole)])
    return [
        BoardFit(group.members, fit.latent, tuple(part[:, ends[n] : ends[n + 1]] for part in deviations), cluster)
        for n, (group, fit) in enumerate(zip(groups, whole))
    ]


def _refit(board_scores: BoardScores, whole: GroupFit, group: FuseGroup, cluster: Cluster) -> Floats:
    """The scores with only the answers of `group`; NaN where they identify none."""
    if not count_judgments(group, board_scores.method):
        return np.full(group.items, np.nan)
    if whole.pairs is not None:
        return step_pairs(whole, group)
    try:
        return fit_group(group, board_scores.method, board_scores.fuse, cluster, errors=False).latent
    except StatsError:
        return np.full(group.items, np.nan)


def _cluster(scored: Sequence[BoardScores]) -> Cluster:
    """What all boards can leave out: what every board's intervals are over, else the least that all allow."""
    used = {board_scores.report.cluster for board_scores in scored if board_scores.report is not None}
    if used == {"both"}:
        return "both"
    return "prompt" if used <= {"prompt", "both"} else "rater" if used <= {"rater", "both"} else "answer"


def fitted_chance(scored: BoardScores, fit: BoardFit, first: str, second: str, level: float) -> Estimate:
    """The chance that `first` is preferred to `second` by the board's scores, a tie counting half."""
    d = fit.lead(first, second, level)
    assert scored.report is not None  # a board that was fitted has one
    tie = scored.report.groups[0].tie
    model = "davidson" if tie is not None else "bradley-terry"

    def chance(at: float) -> float:
        win, draw, _ = pair_probabilities(model, at, tie)
        return float(win + draw / 2)

    return d.transform(chance)
