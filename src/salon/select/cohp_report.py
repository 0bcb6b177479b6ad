"""From the record of a run of chains to its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from salon.generate.record import read_generations
from salon.select.cohp import CohpSettings, Decision, Seen, best_seen, choose_answer
from salon.select.cohp_results import CohpReport, Level, PromptChain
from salon.select.refine.scores import true_marks
from salon.select.score_table import ScoreTable
from salon.select.weights import Blend
from salon.stats.paired_means import mean_interval
from salon.stats.result import Estimate
from salon.store.folder import open_study
from salon.study import Generator, Prompt, Signature

POLICIES = (
    "The answer is the best of everything seen, in both stages; equal scores: the earlier picture.",
    "A generator's mean is over the pictures it has a score for; those not made or not scored are counted beside it. "
    "One without any is not chosen.",
    "A round without a scored picture leaves the next one the same start. A prompt without a scored picture in stage 1 "
    "waits; the same command tries again.",
    "What was decided stays decided: a failure of a decided round is not tried again.",
    "The score of an answer is raised by the choice itself: of many noisy numbers the largest was lucky. What it is "
    "worth, others have to say.",
)
RELEASED = ("As released: an answer must come from stage 2 and exceed 0, so of scores below 0 none is kept.",)


def report_chain(
    folder: Path,
    generators: Sequence[Generator],
    settings: CohpSettings,
    decisions: Sequence[Decision],
    table: ScoreTable | None,
    blend: Blend,
    *,
    notes: Sequence[str] = (),
) -> CohpReport:
    """What there is in `folder` now."""
    study = open_study(folder)
    known, _ = read_generations(folder)
    prompts = list(study.nouns("prompts"))
    chains = tuple(_chain(prompt, decisions, settings) for prompt in prompts)
    seen = [one for chain in chains for decision in chain.decisions for one in decision.seen]
    marks = true_marks(folder)
    truth = {} if marks is None else marks.values
    done = [chain for chain in chains if chain.decisions]
    rounds = range(settings.rounds + 1)
    able = {one.name for one in generators if one.abilities.image_to_image and one.abilities.strength}
    told = {key: value for key, value in settings.model_dump(exclude={"seed"}).items() if value is not None}
    told |= {"generators": ",".join(one.name for one in generators)}
    told |= {} if table is None else {"scorers": ",".join(column.scorer for column in table.columns)}
    return CohpReport(
        study=str(folder),
        settings=settings,
        generators=tuple(one.name for one in generators),
        columns=() if table is None else table.columns,
        weights=blend.shares,
        scale=blend.scale,
        prompts=len(prompts),
        asked=len(seen),
        failed=dict(Counter(_kind(one) for one in seen if not one.made).most_common()),
        unscored=sum(one.made and one.score is None for one in seen),
        chosen=dict(Counter(chain.decisions[0].generator for chain in done).most_common()),
        not_apart=sum(bool(chain.decisions[0].tied) for chain in done),
        answers=_answers(chains),
        empty_rounds=sum(one.best is None for chain in chains for one in chain.decisions),
        redrawn=tuple(sorted({chain.decisions[0].generator for chain in done} - able)),
        waiting=dict(Counter(chain.waits for chain in chains if chain.waits).most_common()),
        levels=tuple(_level(done, number, truth, len(prompts)) for number in rounds if done),
        gain=_gain(done, None),
        true_gain=_gain(done, truth) if truth else None,
        images={one.item: line.image for one in seen if (line := known.get(one.item)) and line.image},
        values=_values(table),
        truth=truth,
        policies=POLICIES + (RELEASED if settings.variant == "released" else ()),
        notes=tuple(notes),
        signature=str(Signature(method="cohp", data=study.hash[:12], settings=told, seed=settings.seed)),
        chains=chains,
    )  # fmt: skip


def _chain(prompt: Prompt, decisions: Sequence[Decision], settings: CohpSettings) -> PromptChain:
    mine = {one.round: one for one in decisions if one.prompt == prompt.id and one.round <= settings.rounds}
    row = tuple(mine[number] for number in sorted(mine))
    if not row:
        return PromptChain(prompt=prompt, decisions=(), answer=None, waits="a scored picture in stage 1")
    waits = "" if len(row) == settings.rounds + 1 else f"round {len(row)}"
    return PromptChain(prompt=prompt, decisions=row, answer=choose_answer(row, settings), waits=waits)


def _answers(chains: Sequence[PromptChain]) -> dict[int, int]:
    found = (chain.answer.round for chain in chains if chain.answer is not None)
    return dict(sorted(Counter(number for number in found if number is not None).items()))


def _kind(one: Seen) -> str:
    return one.missing.partition(":")[0] or "error"


def _values(table: ScoreTable | None) -> dict[str, dict[str, float]]:
    if table is None:
        return {}
    return {
        item: {name: float(value) for name, value in zip(table.criteria, row, strict=True) if np.isfinite(value)}
        for item, row in zip(table.items, table.values, strict=True)
    }


# -- means -------------------------------------------------------------------------------------------------------------


def _level(chains: Sequence[PromptChain], number: int, truth: Mapping[str, float], prompts: int) -> Level:
    rows = [chain.decisions for chain in chains if len(chain.decisions) > number]
    best = [found for row in rows if (found := best_seen(row[number].seen))]
    so_far = [found for row in rows if (found := _so_far(row, number))]
    return Level(
        round=number,
        best=_mean([one.score for one in best]),
        so_far=_mean([one.score for one in so_far]),
        true_best=_mean([truth.get(one.item) for one in best]) if truth else None,
        true_so_far=_mean([truth.get(one.item) for one in so_far]) if truth else None,
        missing=prompts - len(best),
    )


def _so_far(row: Sequence[Decision], number: int) -> Seen | None:
    return best_seen([picture for one in row[: number + 1] for picture in one.seen])


def _mean(values: Sequence[float | None]) -> Estimate | None:
    known = [value for value in values if value is not None]
    return mean_interval(known) if known else None


def _gain(chains: Sequence[PromptChain], truth: Mapping[str, float] | None) -> Estimate | None:
    """The answer less the best of stage 1: by score, or by true quality of the two pictures."""
    found = []
    for chain in chains:
        first, answer = best_seen(chain.decisions[0].seen), chain.answer
        if first is None or answer is None or answer.item is None:
            continue
        before, after = (
            (first.score, answer.score) if truth is None else (truth.get(first.item), truth.get(answer.item))
        )
        if before is not None and after is not None:
            found.append(after - before)
    return _mean(found)
