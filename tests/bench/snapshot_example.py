"""Made snapshots of an arena and of raters: every field filled, numbers of no meaning."""

from __future__ import annotations

import numpy as np

from salon.bench import ArenaBoard, ArenaPlace, ArenaSnapshot, RaterResult, RaterTables, RoutingCandidate, RoutingJob
from salon.bench.arena import AdjustedBoard, ArenaCoverage, CovariateEffect, Duel, RaterKinds, RoutingTable, WinMatrix
from salon.bench.rater_results import GeneratorAgreement, PanelCriterion, PanelStudy, RaterOnStudy
from salon.stats import Estimate
from salon.study import Signature

CRITERIA = {"mood": "Mood", "type": "Type"}
SIGNATURE = Signature(method="made", data="0" * 12)


def figure(value: float, half: float = 0.2, n: int = 40) -> Estimate:
    return Estimate(value=value, low=value - half, high=value + half, n=n, unit="prompts", level=0.95, method="made")


def make_arena(
    generators: list[str],
    *,
    number: int = 1,
    categories: tuple[str, ...] = ("posters",),
    criteria: dict[str, str] = CRITERIA,
) -> ArenaSnapshot:
    """Two criteria, in all categories and in each; the last board of all has no answers."""
    rng = np.random.default_rng(number)
    boards = [
        _board(generators, criterion, name, category, rng)
        for criterion, name in criteria.items()
        for category in (None, *categories)
    ]
    boards[-1] = boards[-1].model_copy(
        update={"places": (), "matrix": None, "adjusted": None, "reason": "nobody answered <b>here</b>"}
    )
    return ArenaSnapshot(
        number=number,
        study="made",
        study_hash="0" * 64,
        revision=1,
        simulated=True,
        level=0.95,
        boards=tuple(boards),
        routing=RoutingTable(jobs=tuple(_job(generators, name) for name in CRITERIA)),
        policies=("Nothing here means anything.",),
        signature=SIGNATURE,
        signature_line=str(SIGNATURE),
    )


def _board(
    generators: list[str], criterion: str, name: str, category: str | None, rng: np.random.Generator
) -> ArenaBoard:
    scores = np.sort(rng.normal(0, 0.8, len(generators)))[::-1]
    places = tuple(
        ArenaPlace(generator=one, score=figure(float(score)), points=None, n=40, rank=k + 1, rank_low=max(1, k - 1),
              rank_high=min(len(generators), k + 3), tier=1 + k // 3)
        for k, (one, score) in enumerate(zip(generators, scores))
    )  # fmt: skip
    pairs = [(i, j) for i in range(len(generators)) for j in range(i + 1, len(generators))]
    share = [float(1 / (1 + np.exp(scores[j] - scores[i]))) for i, j in pairs]
    duels = tuple(
        Duel(first=generators[i], second=generators[j], share=figure(p, 0.1), fitted=None, wins=round(20 * p),
             losses=20 - round(20 * p), ties=0, prompts=10)
        for (i, j), p in zip(pairs[:-1], share)
    )  # fmt: skip
    effects = (CovariateEffect(covariate="position", beta=figure(0.12, 0.1), unit="shown on the left", p=0.02),)
    adjusted = AdjustedBoard(places=places, plain=places, effects=effects, method="made", answers=9, left_out=0)
    return ArenaBoard(
        criterion=criterion,
        name=name,
        category=category,
        method="davidson",
        scale="logit",
        places=places,
        matrix=WinMatrix(generators=tuple(generators), duels=duels, never_met=1),
        adjusted=None if category else adjusted,
        coverage=ArenaCoverage(
            comparisons=20 * len(pairs), rankings=0, ratings=0, unused=3, both_bad=2, repeats=0, same=1,
            generators=len(generators), pairs_met=len(duels), pairs=len(pairs), prompts=10,
            raters=RaterKinds(people=12, crowds=0, models=1, simulated=True),
        ),
        errors="prompts drawn anew",
        warnings=("few <i>answers</i>",),
    )  # fmt: skip


def _job(generators: list[str], criterion: str) -> RoutingJob:
    candidates = tuple(
        RoutingCandidate(generator=name, score=figure(1.0 - k), rank=k + 1, rank_low=1, rank_high=2, tier=1)
        for k, name in enumerate(generators[:2])
    )
    return RoutingJob(
        name=criterion,
        weights={criterion: 1.0},
        category=None,
        candidates=candidates,
        recommended=generators[0],
        best=tuple(generators[:1]),
        margin=figure(0.4, 0.3),
    )


def make_raters(raters: list[str], *, number: int = 1) -> RaterTables:
    """Two studies of two criteria; the last rater was not asked about the second study."""
    studies = [
        PanelStudy(
            study=name,
            data="0" * 64,
            simulated=name == "made",
            raters=12,
            generators=4,
            criteria=tuple(
                PanelCriterion(criterion=id, name=title, votes=400, pairs=80, tied=4, next_rater=figure(0.71, 0.03),
                               oracle=figure(0.78, 0.03))
                for id, title in CRITERIA.items()
            ),
            next_rater=figure(0.7, 0.03),
            signature_line=str(SIGNATURE),
        )
        for name in ("panel", "made")
    ]  # fmt: skip
    rows = [
        RaterResult(
            rater=name,
            kind="scorer",
            simulated=k == 1,
            studies=tuple(_on(study.study, 0.66 - 0.03 * k) for study in studies[: 1 if k == len(raters) - 1 else 2]),
        )
        for k, name in enumerate(raters)
    ]
    return RaterTables(
        number=number,
        level=0.95,
        studies=tuple(studies),
        raters=tuple(rows),
        policies=("An unread pair counts 0.",),
        warnings=("few <u>pairs</u>",),
        signature=SIGNATURE,
        signature_line=str(SIGNATURE),
    )


def _on(study: str, accuracy: float) -> RaterOnStudy:
    order = GeneratorAgreement(
        spearman=figure(0.8), kendall=figure(0.67), nmse=figure(0.05, 0.02), generators=4, pairs=60
    )
    return RaterOnStudy(
        study=study,
        accuracy=figure(accuracy, 0.03),
        macro=figure(accuracy, 0.03),
        unread=None,
        criteria={"mood": figure(accuracy + 0.02, 0.04), "type": None},
        pairs=150,
        panel_pairs=160,
        order=order,
    )
