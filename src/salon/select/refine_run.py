"""A loop from beginning to end: drawn, looked at, revised, scored, reported. `salon select refine` calls it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from salon.collect import TRUTH
from salon.errors import BadValue
from salon.generate import Generation, read_generations
from salon.judge import Vlm
from salon.select.refine import (
    REFINE_FOLDER,
    Arm,
    RefineReply,
    prompt_at,
    read_replies,
    round_items,
    run_loop,
)
from salon.select.refine_scores import (
    POINTS,
    LoopScores,
    RefineChain,
    RefineReport,
    RoundDifference,
    RoundMean,
    RoundPicture,
    RoundStep,
    ScorerResult,
    point_scores,
    scorer_scores,
    true_scores,
)
from salon.select.scores import StepCallback, no_progress
from salon.select.settings import RefineSettings
from salon.stats import bootstrap_totals, holm, paired_difference
from salon.store import open_study, write_json
from salon.study import Generator, Point, Prompt, Scorer, Signature

REPORT_FILE = "report.json"
OpenVlm = Callable[[], AbstractContextManager[Vlm]]
"""Opens who answers points; called when the pictures are there."""


def refine_study(
    prompts: Sequence[Prompt],
    generator: Generator,
    vlm: Vlm,
    settings: RefineSettings,
    folder: Path,
    *,
    scorers: Sequence[Scorer] = (),
    points: Sequence[Point] = (),
    answering: OpenVlm | None = None,
    pick: str | None = None,
    watch: StepCallback = no_progress,
) -> RefineReport:
    """Run the loop in `folder`, or go on with it; score every picture; leave refine/report.json.

    `pick` names the scorer that chooses what is looked at, where a round has several pictures, and the best of all
    rounds: by default the first of `scorers`, else the points. True quality only where it is named.
    """
    home = folder.resolve()
    marking = _LoopScorer(home, scorers, points, answering, watch)
    chosen = marking.picking(pick)

    def choose_best(several: Sequence[Sequence[str]]) -> list[str]:
        marks = marking.of(chosen) if chosen else None
        return [(marks.best(items) if marks else None) or items[0] for items in several]

    choose = {"choose": choose_best} if chosen and settings.images > 1 else {}
    notes = run_loop(prompts, generator, vlm, settings, home, watch=watch, **choose)
    report = report_loop(home, generator, vlm.name, settings, marking.all(), pick=chosen, notes=notes)
    write_json(home / REFINE_FOLDER / REPORT_FILE, report, indent=None)
    return report.model_copy(update={"study": str(folder)})


class _LoopScorer:
    """Everything that gives numbers to the pictures of one loop."""

    def __init__(
        self,
        home: Path,
        scorers: Sequence[Scorer],
        points: Sequence[Point],
        answering: OpenVlm | None,
        watch: StepCallback,
    ) -> None:
        self.home, self.points, self.answering, self.watch = home, points, answering, watch
        self.scorers = {scorer.name: scorer for scorer in scorers}
        if len(self.scorers) < len(scorers) or {POINTS, TRUTH} & self.scorers.keys():
            names = ", ".join(scorer.name for scorer in scorers)
            raise BadValue("scorers with different names, none of them points or true-quality, are needed", found=names)

    def picking(self, pick: str | None) -> str | None:
        """The name of the scorer that chooses."""
        names = [*self.scorers, *([POINTS] if self.points else [])]
        if pick is not None and pick not in (*names, TRUTH):
            raise BadValue(
                "one of the loop's scorers is needed to pick by", found=repr(pick),
                remedy=f"one of {', '.join((*names, TRUTH))}",
            )  # fmt: skip
        return pick or next(iter(names), None)

    def of(self, name: str) -> LoopScores | None:
        """The numbers of one scorer; None where there is nothing to give one to."""
        if name in self.scorers:
            return scorer_scores(self.home, self.scorers[name], self.watch)
        if name == TRUTH:
            return true_scores(self.home)
        return point_scores(self.home, self.points, self.answering()) if self.answering is not None else None

    def all(self) -> list[LoopScores]:
        """The numbers of all, the oracle last."""
        names = [*self.scorers, *([POINTS] if self.points else []), TRUTH]
        return [marks for name in names if (marks := self.of(name)) is not None]


# -- the report --------------------------------------------------------------------------------------------------------

DRAWS, LEVEL = 2000, 0.95
REFINE_POLICIES = (
    "Every prompt counts once in a round, by the mean of its pictures. A prompt that lacks a number on either side is "
    "left out of a difference, and counted.",
    "All scorers read the original prompt, never a revised one.",
    "An answer that cannot be read, or a refusal, keeps the former prompt. A chain without a picture or an answer "
    "waits; the same command tries again.",
    "The last round is not taken for the best. The best of rounds is chosen by the scorer named, among all pictures of "
    "the chain: under that scorer its mean is raised by the choice itself, so hold it against the best of controls.",
)
Values = dict[str, float]
"""Number of each prompt."""


@dataclass(frozen=True)
class _LoopData:
    prompts: Sequence[Prompt]
    generator: str
    settings: RefineSettings
    generations: Mapping[str, Generation]
    replies: Mapping[tuple[str, int], RefineReply]
    marks: Sequence[LoopScores]
    pick: LoopScores | None

    def items(self, prompt: str, arm: Arm, number: int) -> list[str]:
        return round_items(prompt, self.generator, arm, number, self.settings)

    @property
    def rounds(self) -> range:
        return range(self.settings.rounds + 1)

    @property
    def arms(self) -> tuple[Arm, ...]:
        return ("round", "control") if self.settings.control else ("round",)


def report_loop(
    folder: Path,
    generator: Generator,
    vlm: str,
    settings: RefineSettings,
    marks: Sequence[LoopScores],
    *,
    pick: str | None = None,
    notes: Sequence[str] = (),
) -> RefineReport:
    """What there is in `folder` now, with the numbers of `marks`; `pick` names the one that chooses."""
    study = open_study(folder)
    generations, _ = read_generations(folder)
    replies = read_replies(folder)
    chosen = next((entry for entry in marks if entry.name == pick), None)
    data = _LoopData(list(study.nouns("prompts")), generator.name, settings, generations, replies, marks, chosen)
    chains = tuple(_chain(data, prompt) for prompt in data.prompts)
    costs = [entry.cost for entry in replies.values() if entry.cost is not None]
    fields = {"rounds": settings.rounds, "images": settings.images, "sees": settings.sees, "control": settings.control,
            "generator": generator.name, "vlm": vlm, "pick": pick, "draws": DRAWS}  # fmt: skip
    return RefineReport(
        study=str(folder),
        generator=generator.name,
        vlm=vlm,
        rounds=settings.rounds,
        images=settings.images,
        sees=settings.sees,
        prompts=len(data.prompts),
        pick=None if chosen is None else chosen.name,
        replies=dict(sorted(Counter(entry.outcome for entry in replies.values()).items())),
        unread=dict(Counter(entry.reason for entry in replies.values() if entry.outcome != "revised").most_common()),
        waiting=dict(Counter(chain.waits for chain in chains if chain.waits).most_common()),
        failed=dict(Counter(line.kind or "error" for line in generations.values() if not line.ok).most_common()),
        cost=sum(costs) if costs else None,
        level=LEVEL,
        chains=chains,
        scores=tuple(_scorer_result(data, entry, np.random.default_rng(0)) for entry in marks),
        policies=REFINE_POLICIES,
        notes=tuple(notes),
        signature=str(Signature(method="refine", data=study.hash[:12], settings=fields, seed=settings.seed)),
    )


# -- chains ----------------------------------------------------------------------------------------------------------


def _chain(data: _LoopData, prompt: Prompt) -> RefineChain:
    steps = tuple(_step(data, prompt, "round", number) for number in data.rounds)
    control = (
        tuple(_step(data, prompt, "control", number) for number in data.rounds[1:]) if data.settings.control else ()
    )
    best = _best(data, prompt.id, "round")
    at = next((step.round for step in steps for shot in step.shots if shot.item == best), None)
    why = "no scorer was named to choose" if data.pick is None else f"the best {data.pick.name} of all rounds"
    return RefineChain(
        prompt=prompt, steps=steps, control=control, best=best, best_round=at, why=why, waits=_waits(steps)
    )


def _step(data: _LoopData, prompt: Prompt, arm: Arm, number: int) -> RoundStep:
    now = prompt if arm == "control" else prompt_at(prompt, number, data.replies)
    before = prompt_at(prompt, number - 1, data.replies) if number and arm == "round" else now
    reply = data.replies.get((prompt.id, number)) if arm == "round" else None
    first = data.settings.drawing(number).seed
    return RoundStep(
        round=number,
        prompt=now,
        changed=now is not None and before is not None and now != before,
        shots=tuple(_shot(data, item, first + i) for i, item in enumerate(data.items(prompt.id, arm, number))),
        seen=None if reply is None else reply.item,
        outcome=None if reply is None else reply.outcome,
        reason="" if reply is None else reply.reason,
        remarks=() if reply is None else reply.remarks,
    )


def _shot(data: _LoopData, item: str, seed: int) -> RoundPicture:
    line = data.generations.get(item)
    is_made = line is not None and line.ok
    return RoundPicture(
        item=item,
        seed=seed,
        image=line.image if line is not None and is_made else None,
        failed=None if line is None or is_made else f"{line.kind}: {line.reason}",
        scores={scores.name: scores.values[item] for scores in data.marks if item in scores.values},
        sigmas={scores.name: scores.sigma[item] for scores in data.marks if item in scores.sigma},
    )


def _waits(steps: Sequence[RoundStep]) -> str:
    """What the first round that is not there needs."""
    for step in steps:
        if not any(shot.image for shot in step.shots):
            return "a picture"
        if step.outcome is None and step is not steps[-1]:
            return "an answer"
    return ""


def _best(data: _LoopData, prompt: str, arm: Arm) -> str | None:
    """The chosen picture of all rounds of an arm; round 0 belongs to both."""
    if data.pick is None:
        return None
    return data.pick.best([item for number in data.rounds for item in data.items(prompt, arm, number)])


# -- numbers ---------------------------------------------------------------------------------------------------------


def _scorer_result(data: _LoopData, marks: LoopScores, rng: np.random.Generator) -> ScorerResult:
    by_round: dict[tuple[Arm, int], Values] = {}
    best: dict[Arm, Values] = {}
    for arm in data.arms:
        for number in data.rounds:
            items = {prompt.id: data.items(prompt.id, arm, number) for prompt in data.prompts}
            values = {id: [marks.values[item] for item in some if item in marks.values] for id, some in items.items()}
            by_round[arm, number] = {id: float(np.mean(numbers)) for id, numbers in values.items() if numbers}
        if data.pick is not None:
            chosen = {prompt.id: _best(data, prompt.id, arm) for prompt in data.prompts}
            best[arm] = {id: marks.values[item] for id, item in chosen.items() if item in marks.values}
    keys = [key for key in by_round if key != ("control", 0)]  # control 0 is round 0
    pairs = [(f"round {n}", "round 0", by_round["round", n], by_round["round", 0]) for n in data.rounds[1:]]
    if data.settings.control:
        pairs += [(f"round {n}", f"control {n}", by_round["round", n], by_round["control", n]) for n in data.rounds[1:]]
    if len(best) > 1:
        pairs.append(("best of rounds", "best of controls", best["round"], best["control"]))
    return ScorerResult(
        scorer=marks.name,
        signature=marks.signature,
        higher_is_better=marks.higher_is_better,
        levels=tuple(_level(data, arm, number, by_round[arm, number], marks, rng) for arm, number in keys),
        best=tuple(_level(data, arm, data.settings.rounds, values, marks, rng) for arm, values in best.items()),
        differences=_differences(data, pairs, marks, rng),
        unscored=dict(Counter(marks.why.values()).most_common()),
    )


def _level(
    data: _LoopData, arm: Arm, number: int, values: Values, marks: LoopScores, rng: np.random.Generator
) -> RoundMean:
    missing = len(data.prompts) - len(values)
    if not values:
        return RoundMean(arm=arm, round=number, figure=None, missing=missing)
    table = np.column_stack([list(values.values()), np.ones(len(values))])
    mean = bootstrap_totals(lambda t: t[:, 0] / t[:, 1], table, draws=DRAWS, rng=rng, level=LEVEL, within=marks.ends)
    return RoundMean(arm=arm, round=number, figure=mean, missing=missing)


def _differences(
    data: _LoopData, pairs: Sequence[tuple[str, str, Values, Values]], marks: LoopScores, rng: np.random.Generator
) -> tuple[RoundDifference, ...]:
    span = marks.ends[1] - marks.ends[0]
    results = []
    for first, second, first_values, second_values in pairs:
        both = [id for id in first_values if id in second_values]
        if both:
            a, b = ([values[id] for id in both] for values in (first_values, second_values))
            apart = paired_difference(
                a, b, np.arange(len(both)), draws=DRAWS, rng=rng, level=LEVEL, within=(-span, span)
            )
            results.append((first, second, apart, len(data.prompts) - len(both)))
    adjusted = holm([apart.p for _, _, apart, _ in results]).tolist()
    return tuple(
        RoundDifference(first=first, second=second, figure=apart.difference, p=apart.p,
                   holm=p, law=apart.law, missing=missing)
        for (first, second, apart, missing), p in zip(results, adjusted, strict=True)
    )  # fmt: skip
