"""Results of a loop, and scores of its pictures: by scorers, by points of a checklist, by the record of a poster.

Figures are means over prompts, each prompt the mean of its pictures in a round. Differences are paired: prompt by
prompt, with an interval over prompts and a p value by flipping signs (`salon.stats.intervals`); Holm's adjustment is
over all differences of one scorer.

All scorers see the original prompt: a revised one that asks for less must not score higher for it. `true-quality` is
the mean over criteria of what `salon.render.quality` says of the flaws on record. It is an oracle: it stands beside the
others, and picks nothing unless it is told to.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from salon.bench import FINAL_FAILURES, POINTS_CRITERION, plan_role
from salon.collect import TRUTH, mean_quality
from salon.errors import BadValue
from salon.generate import read_generations
from salon.judge import (
    SCORES_FOLDER,
    JudgeSpec,
    Vlm,
    judge_folder,
    open_judge,
    read_scores,
    read_verdicts,
    run_plan,
    score_study,
    scores_file,
)
from salon.models import ResultCache
from salon.select.scores import StepCallback, no_progress
from salon.select.settings import PointsBy
from salon.stats import SHARE, UNBOUNDED, Ends, Estimate
from salon.store import open_study
from salon.study import Criterion, Format, Noun, Point, Prompt, Remark, Scorer, ScorerCard, Study, majority_of_samples

REFINE_FORMAT: Final = "salon.refine/1"


class RoundPicture(Noun):
    """One picture of a round, or why there is none."""

    item: str = Field(description="Id of the item in the study.")
    seed: int = Field(description="Seed it was drawn from.")
    image: str | None = Field(None, description="Path inside the study folder; null where it was not made.")
    failed: str | None = Field(None, description="Why it was not made.")
    scores: dict[str, float] = Field(default_factory=dict, description="Its numbers by scorer, where it has one.")
    sigmas: dict[str, float] = Field(default_factory=dict, description="How sure scorers are, where they say so.")


class RoundStep(Noun):
    """One round of one prompt."""

    round: int = Field(description="Number of the round.")
    prompt: Prompt | None = Field(description="What was drawn; null while the chain waits.")
    changed: bool = Field(description="Whether it differs from the round before.")
    shots: tuple[RoundPicture, ...] = Field(description="Its pictures.")
    seen: str | None = Field(None, description="The item that was looked at.")
    outcome: Literal["revised", "unread", "none"] | None = Field(None, description="What came of the look.")
    reason: str = Field("", description="Why there is no revision.")
    remarks: tuple[Remark, ...] = Field(default=(), description="What was found.")


class RefineChain(Noun):
    """All rounds of one prompt."""

    prompt: Prompt = Field(description="The original.")
    steps: tuple[RoundStep, ...] = Field(description="Round 0 and the rounds after it.")
    control: tuple[RoundStep, ...] = Field(description="The original drawn again, from round 1.")
    best: str | None = Field(description="The item chosen of all rounds.")
    best_round: int | None = Field(description="Its round.")
    why: str = Field(description="By what it was chosen.")
    waits: str = Field(description="What the chain waits for; empty when it is done.")


class RoundMean(Noun):
    """The mean of one round."""

    arm: Literal["round", "control"] = Field(description="Of the loop, or of the control.")
    round: int = Field(description="Number of the round.")
    figure: Estimate | None = Field(title="Mean", description="Null where no prompt has a number.")
    missing: int = Field(description="Prompts without a number in this round.")


class RoundDifference(Noun):
    """One thing less another, prompt by prompt."""

    first: str = Field(title="This", description="What is compared.")
    second: str = Field(title="Less this", description="What it is compared with.")
    figure: Estimate = Field(title="Difference", description="The mean of the differences.")
    p: Annotated[float, Format("p")] = Field(title="p", description="Two-sided, by flipping the signs of prompts.")
    holm: Annotated[float, Format("p")] = Field(
        title="Adjusted", description="By Holm, for all differences of this scorer."
    )
    law: str = Field(description="How p was found.")
    missing: int = Field(title="Left out", description="Prompts that lack one of the two.")


class ScorerResult(Noun):
    """One scorer's numbers."""

    scorer: str = Field(description="Its name.")
    signature: str = Field(description="What reproduces its numbers.")
    higher_is_better: bool = Field(description="Which way is better.")
    levels: tuple[RoundMean, ...] = Field(description="Means of rounds and controls.")
    best: tuple[RoundMean, ...] = Field(description="Of the pictures chosen among all rounds, and among all controls.")
    differences: tuple[RoundDifference, ...] = Field(
        description="Rounds less the first round, and less their controls."
    )
    unscored: dict[str, int] = Field(description="Pictures without a number, by reason.")


class RefineReport(Noun):
    """The whole loop."""

    format: Literal["salon.refine/1"] = Field(REFINE_FORMAT, description="Name and version of this shape.")
    study: str = Field(description="Folder of the loop.")
    generator: str = Field(description="Who drew.")
    vlm: str = Field(description="Who looked.")
    rounds: int = Field(description="Rounds after the first drawing.")
    images: int = Field(description="Pictures of each prompt in each round.")
    sees: Literal["original", "both"] = Field(description="Prompts that who looked was shown.")
    prompts: int = Field(description="Prompts of the loop.")
    pick: str | None = Field(description="The scorer that chooses; null where nothing does.")
    replies: dict[str, int] = Field(description="Looks by outcome: revised, unread, none.")
    unread: dict[str, int] = Field(description="Answers that were not read and looks without an answer, by reason.")
    waiting: dict[str, int] = Field(description="Chains that wait, by what for.")
    failed: dict[str, int] = Field(description="Pictures that were not made, by kind.")
    cost: float | None = Field(description="Of all replies on record, where it is known.")
    level: float = Field(description="Confidence level of all intervals.")
    chains: tuple[RefineChain, ...] = Field(description="Prompt by prompt, all rounds.")
    scores: tuple[ScorerResult, ...] = Field(description="Scorer by scorer, means and differences.")
    policies: tuple[str, ...] = Field(description="How gaps were treated, a sentence each.")
    notes: tuple[str, ...] = Field(description="What a reader should know, a sentence each.")
    signature: str = Field(description="What reproduces these numbers.")

    @property
    def is_complete(self) -> bool:
        """Whether every chain went through all rounds."""
        return not self.waiting


# -- scores ------------------------------------------------------------------------------------------------------------

POINTS = "points"


@dataclass(frozen=True)
class LoopScores:
    """The numbers of one scorer; items without one are absent."""

    name: str
    values: dict[str, float]
    higher_is_better: bool
    signature: str
    why: dict[str, str]
    """Of an item without a number, the reason."""
    sigma: dict[str, float] = field(default_factory=dict)
    """How sure the scorer is of an item, where it says so."""
    ends: Ends = UNBOUNDED
    """The ends of its scale."""

    def best(self, items: Sequence[str]) -> str | None:
        """The item with the best number, the first of equals; None where none has one."""
        scored_items = [item for item in items if item in self.values]
        sign = 1 if self.higher_is_better else -1
        return max(scored_items, key=lambda item: sign * self.values[item], default=None)


def scorer_scores(folder: Path, scorer: Scorer, watch: StepCallback = no_progress) -> LoopScores:
    """The scores of all pictures so far; each is looked at once, whatever the number of calls."""
    study = open_study(folder)
    card: ScorerCard = getattr(scorer, "card", ScorerCard())
    if not study.counts.get("items"):
        return LoopScores(scorer.name, {}, card.higher_is_better, str(scorer.signature), {})
    score_study(
        study,
        folder,
        scorer,
        progress=lambda completed, total: watch(scorer.name, completed, total),
        cache=ResultCache(),
    )
    rows = read_scores(scores_file(folder / SCORES_FOLDER, scorer.name)).to_pylist()
    return LoopScores(
        scorer.name,
        {row["item"]: row["value"] for row in rows if row["value"] is not None},
        card.higher_is_better,
        str(scorer.signature),
        {row["item"]: row["unscored"] for row in rows if row["value"] is None},
        {row["item"]: row["sigma"] for row in rows if row.get("sigma") is not None},
        (-math.inf if card.low is None else card.low, math.inf if card.high is None else card.high),
    )


def true_scores(folder: Path) -> LoopScores | None:
    """True quality of every picture with a record; None where no picture has one."""
    generations, _ = read_generations(folder)
    records = {line.item: folder / line.layout for line in generations.values() if line.ok and line.layout}
    if not records:
        return None
    qualities = {item: mean_quality(path.read_text(encoding="utf-8")) for item, path in records.items()}
    values = {item: value for item, value in qualities.items() if value is not None}
    return LoopScores(TRUTH, values, True, "true-quality", {}, ends=SHARE) if values else None


def point_scores(folder: Path, points: Sequence[Point], opened: AbstractContextManager[Vlm]) -> LoopScores:
    """Share of the points of its prompt that each picture passes; an answer that cannot be read is no pass.

    A picture with a question that an outage left open has no number.
    """
    study = open_study(folder)
    ids = dict.fromkeys(point.criterion or POINTS_CRITERION.id for point in points)
    point_study = Study.build(
        study.name, [Criterion(id=id) for id in ids],
        tables={"prompts": list(study.nouns("prompts")), "items": list(study.nouns("items"))},
    )  # fmt: skip
    if not point_study.counts.get("items"):
        return LoopScores(POINTS, {}, True, "no picture", {})
    plan = plan_role(point_study, folder, points)
    if plan is None:
        raise BadValue("points about the prompts of the loop are needed", found="points about other prompts")
    with opened as vlm:
        run_plan(plan, vlm, overwrite=True)
        rows = read_verdicts(judge_folder(folder, vlm.name)).to_pylist()
        signature = str(vlm.signature)
    passes: dict[str, list[bool]] = {}
    why: dict[str, str] = {}
    for row in rows:
        if row["failed"] is not None and row["failed"] not in FINAL_FAILURES:
            why[row["a"]] = f"no answer: {row['failed']}"
        passes.setdefault(row["a"], []).append(majority_of_samples([row["value"]]) is True)
    values = {item: sum(passed) / len(passed) for item, passed in passes.items() if item not in why}
    return LoopScores(POINTS, values, True, signature, why, ends=SHARE)


# -- who looks -------------------------------------------------------------------------------------------------------


@contextmanager
def open_diagnosing_vlm(spec: JudgeSpec, folder: Path) -> Iterator[Vlm]:
    """Who looks at the pictures, as the command line names it: a VLM, a script, or a measurement."""
    spec.check()
    if spec.measured is not None:
        from salon.judge import measuring_judge as measured  # a reader of text, for those who need it

        pixels = spec.measured == "pixels"
        yield measured.pixel_diagnosis(spec.judge, spec.workers) if pixels else measured.layout_diagnosis(spec.judge)
    elif spec.looks or spec.script is not None:
        with open_judge(spec, Study("refine", ()), folder) as vlm:
            yield vlm
    else:
        raise BadValue(
            "somebody who can look at a picture and write a prompt is needed", found=spec.judge,
            remedy="--model NAME --endpoint URL, --transformers FOLDER, --script FILE or --measured pixels",
        )  # fmt: skip


def open_answering_vlm(
    by: PointsBy, spec: JudgeSpec, folder: Path, points: Sequence[Point]
) -> AbstractContextManager[Vlm]:
    """Who answers points: a measurement, or the VLM that looks."""
    chosen = spec if by == "vlm" else JudgeSpec(measured=by, workers=spec.workers, name=f"points-{by}")
    study = open_study(folder)
    return open_judge(chosen, study, folder.resolve(), points)
