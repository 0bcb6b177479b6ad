"""Routes from what raters said of generators: the routing table of an arena, in the form that `select` takes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from salon.bench import FORMAT as ARENA, ArenaSettings, ArenaSnapshot, RoutingCandidate, RoutingJob, arena_snapshot
from salon.errors import BadFile, BadValue
from salon.fuse import FORMAT as FUSED, FuseReport, ScoreRow
from salon.select.route import LOGIT, Arm, GeneratorRoute, Routes, mark_best, read_routes
from salon.select.weights import read_weights
from salon.store import open_study
from salon.study import Signature

ROUTE_POLICIES = (
    "ties: the highest score is called, and those that do not differ significantly from it are named",
    "a category without an answer of its own falls back on all categories together",
    "a generator without a score under one of a job's criteria is no arm of it",
)
FUSED_POLICY = "errors of criteria and of generators are taken as independent: fused scores state no more"


def study_routes(
    folder: Path,
    *,
    weights: str | None = None,
    prior: float | None = None,
    seed: int = 42,
    progress: Callable[[str], None] = lambda step: None,
) -> Routes:
    """Routes from the judgments of a study, in each category and in all together."""
    study = open_study(folder)
    ids = [criterion.id for criterion in study.criteria]
    given_weights = {} if weights is None else {id: w for id, w in read_weights(weights, ids).items() if w}
    settings = ArenaSettings(prior=prior, seed=seed)
    grouped = any(item.category for item in study.nouns("items"))
    grouped = grouped or any(prompt.category for prompt in study.nouns("prompts"))
    snapshot = arena_snapshot(study, settings, by_category=grouped, weights=given_weights, progress=progress)
    return arena_routes(snapshot)


def arena_routes(snapshot: ArenaSnapshot) -> Routes:
    """Routes from a snapshot of an arena; jobs without an answer stay, with the reason."""
    signature = Signature(
        method="select-route", data=snapshot.study_hash[:12], revision=snapshot.revision,
        settings={"level": snapshot.level, "arena": snapshot.number}, seed=snapshot.signature.seed,
    )  # fmt: skip
    return Routes(
        source=f"arena of {snapshot.study}",
        simulated=snapshot.simulated,
        routes=tuple(_route(job, snapshot) for job in snapshot.routing.jobs),
        policies=ROUTE_POLICIES,
        signature=signature,
    )


def fused_routes(report: FuseReport, weights: str | None = None) -> Routes:
    """Routes from fused scores of generators: each criterion alone, all alike, and as weighed."""
    if report.by != "generator":
        raise BadValue(
            "scores of generators are needed", found="scores of items", where=f"fused scores of {report.study}",
            remedy="salon fuse STUDY --by generator --json > fused.json",
        )  # fmt: skip
    split = report.signature.settings.get("split") == "category"
    scores: dict[str | None, dict[str, dict[str, ScoreRow]]] = {}
    for row in report.scores:
        board = scores.setdefault(row.group if split else None, {}).setdefault(row.criterion, {})
        board[row.generator or ""] = row
    criteria = list(dict.fromkeys(row.criterion for row in report.scores))
    jobs = [("all criteria alike", dict.fromkeys(criteria, 1.0))] if len(criteria) > 1 else []
    jobs += [("as weighed", read_weights(weights, criteria))] if weights else []
    jobs += [(id, {id: 1.0}) for id in criteria]
    return Routes(
        source=f"fused scores of {report.study}",
        simulated=report.simulated,
        routes=tuple(
            _fused_route(*job, where, boards, report.scale) for where, boards in scores.items() for job in jobs
        ),
        policies=(*ROUTE_POLICIES, FUSED_POLICY),
        signature=Signature(
            method="select-route",
            data=report.signature.data,
            revision=report.signature.revision,
            settings={"fused": report.method, "weights": weights},
        ),
    )


def _fused_route(
    job: str, weights: dict[str, float], category: str | None, boards: dict[str, dict[str, ScoreRow]], scale: str
) -> GeneratorRoute:
    whole = sum(weights.values())
    shares = {id: weight / whole for id, weight in weights.items() if weight}
    fields = {"job": job, "weights": shares, "category": category, "scale": scale}
    if any(id not in boards for id in shares):
        return GeneratorRoute(**fields, reason=f"no scores under {', '.join(id for id in shares if id not in boards)}")
    signs = {id: _sign([row.value for row in sorted(boards[id].values(), key=lambda row: row.rank)]) for id in shares}
    names = [generator for generator in boards[next(iter(shares))] if all(generator in boards[id] for id in shares)]
    arms = []
    for generator in names:
        score = sum(share * signs[id] * boards[id][generator].value for id, share in shares.items())
        errors = [(share, boards[id][generator].error) for id, share in shares.items()]
        known = [share * error for share, error in errors if error is not None]
        sd = math.hypot(*known) if len(known) == len(errors) else None
        arms.append(Arm(generator=generator, score=score, sd=sd))
    reason = None if arms else "no generator has a score under every criterion"
    return GeneratorRoute(
        **fields, arms=tuple(mark_best(sorted(arms, key=lambda arm: -arm.score))) if arms else (), reason=reason
    )


def read_any_routes(path: Path, weights: str | None = None) -> Routes:
    """Routes of a file: its own, or made from a snapshot of an arena or from fused scores."""
    format = _record(path).get("format")
    if format == ARENA:
        return arena_routes(read_arena(path))
    if format == FUSED:
        try:
            return fused_routes(FuseReport.model_validate(_record(path)), weights)
        except ValidationError as error:
            raise BadFile("fused scores are needed", found=str(error).split("\n")[0], where=str(path)) from None
    return read_routes(path)


def _record(path: Path) -> dict[str, Any]:
    """A JSON object; an empty one for anything else, which whoever reads it in earnest refuses."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def read_arena(path: Path) -> ArenaSnapshot:
    """A snapshot from a file: BOARD/arena/0001.json, or what salon bench arena --json printed."""
    try:
        record = json.loads(path.read_bytes())
        if isinstance(record, dict) and record.get("format") == ARENA:
            return ArenaSnapshot.model_validate(record)
    except OSError as error:
        raise BadFile("a snapshot of an arena is needed", found=error.strerror, where=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise BadFile("a snapshot of an arena is needed", found=str(error).split("\n")[0], where=str(path)) from None
    raise BadFile(
        f"a snapshot of the format {ARENA} is needed", found="another file", where=str(path),
        remedy="salon bench arena STUDY --json > arena.json, or name the study itself",
    )  # fmt: skip


def _route(job: RoutingJob, snapshot: ArenaSnapshot) -> GeneratorRoute:
    weights = {id: share for id, share in job.weights.items() if share > 0}
    board = snapshot.board(next(iter(weights)), job.category) if len(weights) == 1 else None
    scale = LOGIT if board is None else board.scale
    sign = _sign([candidate.score.value for candidate in job.candidates])
    arms = tuple(
        Arm(
            generator=candidate.generator,
            score=sign * candidate.score.value,
            sd=_error(candidate),
            best=candidate.generator in job.best,
        )
        for candidate in job.candidates
    )
    scale = scale if sign > 0 else f"{scale}, turned round"
    return GeneratorRoute(
        job=job.name, weights=weights, category=job.category, scale=scale, arms=arms, reason=job.reason
    )


def _sign(best_first: Sequence[float]) -> int:
    """-1 where the best have the lowest scores, as under a criterion of flags; arms are higher when better."""
    return -1 if best_first and best_first[0] < best_first[-1] else 1


def _error(candidate: RoutingCandidate) -> float | None:
    """The standard error; of snapshots that do not state it, what the interval tells: Student's over blocks, else the
    normal one, which is a little too much where few prompts are behind it."""
    from scipy import stats

    score = candidate.score
    if candidate.error is not None:
        return candidate.error
    if score.low is None or score.high is None:
        return None
    blocks = score.unit.startswith("block")
    quantile = stats.t.ppf((1 + score.level) / 2, score.n - 1) if blocks else stats.norm.ppf((1 + score.level) / 2)
    return float((score.high - score.low) / 2 / quantile)
