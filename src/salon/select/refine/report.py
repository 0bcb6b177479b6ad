"""From the record of a loop to its report: chains, means of rounds, and differences with their intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from salon.generate.record import Generation, read_generations
from salon.select.refine.record import Said, read_replies
from salon.select.refine.refine import Arm, RefineSettings, items_of, prompt_at
from salon.select.refine.results import Chain, Difference, Level, RefineReport, Scored, Shot, Step
from salon.select.refine.scores import Marks
from salon.stats.paired import paired_difference
from salon.stats.resample import bootstrap_totals
from salon.stats.signal_tests import holm
from salon.store.folder import open_study
from salon.study import Generator, Prompt, Signature

DRAWS, LEVEL = 2000, 0.95
POLICIES = (
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
class _Data:
    prompts: Sequence[Prompt]
    generator: str
    settings: RefineSettings
    known: Mapping[str, Generation]
    said: Mapping[tuple[str, int], Said]
    marks: Sequence[Marks]
    pick: Marks | None

    def items(self, prompt: str, arm: Arm, number: int) -> list[str]:
        return items_of(prompt, self.generator, arm, number, self.settings)

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
    marks: Sequence[Marks],
    *,
    pick: str | None = None,
    notes: Sequence[str] = (),
) -> RefineReport:
    """What there is in `folder` now, with the numbers of `marks`; `pick` names the one that chooses."""
    study = open_study(folder)
    known, _ = read_generations(folder)
    said = read_replies(folder)
    chosen = next((one for one in marks if one.name == pick), None)
    data = _Data(list(study.nouns("prompts")), generator.name, settings, known, said, marks, chosen)
    chains = tuple(_chain(data, prompt) for prompt in data.prompts)
    costs = [one.cost for one in said.values() if one.cost is not None]
    told = {"rounds": settings.rounds, "images": settings.images, "sees": settings.sees, "control": settings.control,
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
        replies=dict(sorted(Counter(one.outcome for one in said.values()).items())),
        unread=dict(Counter(one.reason for one in said.values() if one.outcome != "revised").most_common()),
        waiting=dict(Counter(chain.waits for chain in chains if chain.waits).most_common()),
        failed=dict(Counter(line.kind or "error" for line in known.values() if not line.ok).most_common()),
        cost=sum(costs) if costs else None,
        level=LEVEL,
        chains=chains,
        scores=tuple(_scored(data, one, np.random.default_rng(0)) for one in marks),
        policies=POLICIES,
        notes=tuple(notes),
        signature=str(Signature(method="refine", data=study.hash[:12], settings=told, seed=settings.seed)),
    )


# -- chains ----------------------------------------------------------------------------------------------------------


def _chain(data: _Data, prompt: Prompt) -> Chain:
    steps = tuple(_step(data, prompt, "round", number) for number in data.rounds)
    control = (
        tuple(_step(data, prompt, "control", number) for number in data.rounds[1:]) if data.settings.control else ()
    )
    best = _best(data, prompt.id, "round")
    at = next((step.round for step in steps for shot in step.shots if shot.item == best), None)
    why = "no scorer was named to choose" if data.pick is None else f"the best {data.pick.name} of all rounds"
    return Chain(prompt=prompt, steps=steps, control=control, best=best, best_round=at, why=why, waits=_waits(steps))


def _step(data: _Data, prompt: Prompt, arm: Arm, number: int) -> Step:
    now = prompt if arm == "control" else prompt_at(prompt, number, data.said)
    before = prompt_at(prompt, number - 1, data.said) if number and arm == "round" else now
    said = data.said.get((prompt.id, number)) if arm == "round" else None
    first = data.settings.drawing(number).seed
    return Step(
        round=number,
        prompt=now,
        changed=now is not None and before is not None and now != before,
        shots=tuple(_shot(data, item, first + i) for i, item in enumerate(data.items(prompt.id, arm, number))),
        seen=None if said is None else said.item,
        outcome=None if said is None else said.outcome,
        reason="" if said is None else said.reason,
        remarks=() if said is None else said.remarks,
    )


def _shot(data: _Data, item: str, seed: int) -> Shot:
    line = data.known.get(item)
    made = line is not None and line.ok
    return Shot(
        item=item,
        seed=seed,
        image=line.image if line is not None and made else None,
        failed=None if line is None or made else f"{line.kind}: {line.reason}",
        scores={one.name: one.values[item] for one in data.marks if item in one.values},
        sigmas={one.name: one.sigma[item] for one in data.marks if item in one.sigma},
    )


def _waits(steps: Sequence[Step]) -> str:
    """What the first round that is not there needs."""
    for step in steps:
        if not any(shot.image for shot in step.shots):
            return "a picture"
        if step.outcome is None and step is not steps[-1]:
            return "an answer"
    return ""


def _best(data: _Data, prompt: str, arm: Arm) -> str | None:
    """The chosen picture of all rounds of an arm; round 0 belongs to both."""
    if data.pick is None:
        return None
    return data.pick.best([item for number in data.rounds for item in data.items(prompt, arm, number)])


# -- numbers ---------------------------------------------------------------------------------------------------------


def _scored(data: _Data, marks: Marks, rng: np.random.Generator) -> Scored:
    by_round = {(arm, number): _values(data, marks, arm, number) for arm in data.arms for number in data.rounds}
    best = {arm: _best_values(data, marks, arm) for arm in data.arms} if data.pick is not None else {}
    shown = [key for key in by_round if key != ("control", 0)]  # control 0 is round 0
    pairs = [(f"round {n}", "round 0", by_round["round", n], by_round["round", 0]) for n in data.rounds[1:]]
    if data.settings.control:
        pairs += [(f"round {n}", f"control {n}", by_round["round", n], by_round["control", n]) for n in data.rounds[1:]]
    if len(best) > 1:
        pairs.append(("best of rounds", "best of controls", best["round"], best["control"]))
    return Scored(
        scorer=marks.name,
        signature=marks.signature,
        higher_is_better=marks.higher_is_better,
        levels=tuple(_level(data, arm, number, by_round[arm, number], marks, rng) for arm, number in shown),
        best=tuple(_level(data, arm, data.settings.rounds, values, marks, rng) for arm, values in best.items()),
        differences=_differences(data, pairs, marks, rng),
        unscored=dict(Counter(marks.why.values()).most_common()),
    )


def _values(data: _Data, marks: Marks, arm: Arm, number: int) -> Values:
    found = {}
    for prompt in data.prompts:
        known = [marks.values[item] for item in data.items(prompt.id, arm, number) if item in marks.values]
        if known:
            found[prompt.id] = float(np.mean(known))
    return found


def _best_values(data: _Data, marks: Marks, arm: Arm) -> Values:
    chosen = {prompt.id: _best(data, prompt.id, arm) for prompt in data.prompts}
    return {id: marks.values[item] for id, item in chosen.items() if item in marks.values}


def _level(data: _Data, arm: Arm, number: int, values: Values, marks: Marks, rng: np.random.Generator) -> Level:
    missing = len(data.prompts) - len(values)
    if not values:
        return Level(arm=arm, round=number, figure=None, missing=missing)
    table = np.column_stack([list(values.values()), np.ones(len(values))])
    mean = bootstrap_totals(lambda t: t[:, 0] / t[:, 1], table, draws=DRAWS, rng=rng, level=LEVEL, within=marks.ends)
    return Level(arm=arm, round=number, figure=mean, missing=missing)


def _differences(
    data: _Data, pairs: Sequence[tuple[str, str, Values, Values]], marks: Marks, rng: np.random.Generator
) -> tuple[Difference, ...]:
    span = marks.ends[1] - marks.ends[0]
    found = []
    for first, second, one, other in pairs:
        both = [id for id in one if id in other]
        if both:
            a, b = ([values[id] for id in both] for values in (one, other))
            apart = paired_difference(
                a, b, np.arange(len(both)), draws=DRAWS, rng=rng, level=LEVEL, within=(-span, span)
            )
            found.append((first, second, apart, len(data.prompts) - len(both)))
    adjusted = holm([apart.p for _, _, apart, _ in found]).tolist()
    return tuple(
        Difference(first=first, second=second, figure=apart.difference, p=apart.p,
                   holm=p, law=apart.law, missing=missing)
        for (first, second, apart, missing), p in zip(found, adjusted, strict=True)
    )  # fmt: skip
