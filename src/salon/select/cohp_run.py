"""CoHP from beginning to end: drawn, scored, decided, drawn again from what was chosen, recorded, reported.

    STUDY/                        all pictures of both stages: a study as any other
    STUDY/cohp/card.json          who draws, who scores, and how; another chain may not go on in the same folder
    STUDY/cohp/decisions.jsonl    every decision with what it was made from, on the disk before the next round is asked
    STUDY/cohp/report.json        the report

Prompts go through a round together, so generators and scorers get batches. Pictures of stage 1 stand under the name of
their generator, those of a round under NAME-round-K. Seeds count up, so no picture is drawn from the seed of another.

What stands in the record is decided: after a kill the same call goes on there, and draws and scores only what is not
there yet. Failures of a round that is not decided are tried again; those of one that is, are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from salon.errors import BadValue
from salon.generate import (
    GenerateSettings,
    Generation,
    generate_items,
    item_id,
    read_generations,
    start_from_generation,
)
from salon.judge import ScoreSettings, make_scorer
from salon.models import ResultCache
from salon.select.best_of import BestSettings
from salon.select.cohp import (
    ChainDecision,
    ChainLevel,
    ChainPicture,
    CohpReport,
    PromptChain,
    best_picture,
    choose_answer,
    choose_generator,
    choose_start,
)
from salon.select.refine import RoundGenerator, begin_loop, prompts_hash
from salon.select.refine_scores import true_scores
from salon.select.scores import ScoreTable, StepCallback, no_progress, score_columns, study_scores
from salon.select.settings import CohpSettings
from salon.select.weights import Blend
from salon.stats import Estimate, mean_interval
from salon.store import Journal, open_journal, open_study, read_journal, write_json
from salon.study import Generator, Noun, Prompt, Scorer, Signature

COHP_FOLDER, DECISIONS_FILE, COHP_REPORT_FILE = "cohp", "decisions.jsonl", "report.json"
_JOURNAL_WORDS = {
    "what": "a decision of a chain",
    "remedy": "remove the line and those after it: they are then decided again",
}


class CohpCard(Noun):
    """What must stay the same for a chain to go on; more rounds may be asked for."""

    format: Literal["salon-cohp-1"] = "salon-cohp-1"
    generators: tuple[str, ...]
    scorers: tuple[str, ...]
    weights: str | None
    reference: str | None
    equal_scales: bool
    variant: str
    tries: int
    batch: int
    strengths: str | None
    unable: str
    seed: int
    size: str | None
    prompts: str


def chain_study(
    prompts: Sequence[Prompt],
    generators: Sequence[Generator],
    settings: CohpSettings,
    folder: Path,
    words: Sequence[str] = (),
    wish: BestSettings | None = None,
    *,
    scorers: Sequence[Scorer] = (),
    scoring: ScoreSettings | None = None,
    watch: StepCallback = no_progress,
) -> CohpReport:
    """Run the chain of every prompt in `folder`, or go on with it; leave cohp/report.json.

    Scorers are named in `words` as for `salon score`, or given; `wish` says how several become one number.
    """
    check_able(generators, settings)
    home, wish = folder.resolve(), wish or BestSettings()
    marking = ChainScorer(home, words, scorers, wish, scoring or ScoreSettings(), watch)
    fields = settings.model_dump(include={"variant", "batch", "strengths", "unable", "seed", "size"})
    card = CohpCard(
        generators=tuple(str(entry.signature) for entry in generators),
        scorers=tuple(str(entry.signature) for entry in marking.scorers),
        weights=wish.weights,
        reference=None if wish.reference is None else wish.reference.hash,
        equal_scales=wish.equal_scales,
        tries=settings.each,
        prompts=prompts_hash(prompts),
        **fields,
    )
    begin_loop(home, COHP_FOLDER, prompts, card)
    with open_journal(home / COHP_FOLDER / DECISIONS_FILE, ChainDecision, **_JOURNAL_WORDS) as journal:
        run = _ChainRun(prompts, generators, settings, home, marking, journal, watch)
        run.stage_one()
        for number in range(1, settings.rounds + 1):
            run.round(number)
        notes = [*run.notes] + (["the last decision was torn by an interrupted run, and made again"] * journal.torn)
    report = report_chain(home, generators, settings, read_decisions(home), marking.last, marking.blend, notes=notes)
    write_json(home / COHP_FOLDER / COHP_REPORT_FILE, report, indent=None)
    return report.model_copy(update={"study": str(folder)})


def read_decisions(folder: Path) -> list[ChainDecision]:
    """The decisions on record, for those who only look."""
    return read_journal(folder / COHP_FOLDER / DECISIONS_FILE, ChainDecision, **_JOURNAL_WORDS)[0]


def check_able(generators: Sequence[Generator], settings: CohpSettings) -> None:
    """BadValue before anything is drawn, where a generator cannot do its part."""
    for generator in generators:
        can, where = generator.abilities, f"generator {generator.name!r}"
        if not can.text_to_image:
            raise BadValue("a generator that draws from a prompt alone is needed", found="one that cannot", where=where)
        if settings.rounds and settings.unable == "refuse" and not starts_from_picture(generator):
            raise BadValue(
                "a generator that starts from a picture at a strength is needed", found="one that cannot", where=where,
                remedy="--unable redraw has it draw anew in every round; --rounds 0 stops after the first stage",
            )  # fmt: skip


def starts_from_picture(generator: Generator) -> bool:
    """Whether it can go on from a picture, and be told how far."""
    return generator.abilities.image_to_image and generator.abilities.strength


def round_items(prompt: str, generator: str, number: int, settings: CohpSettings) -> list[str]:
    """Ids of the items of one generator in one round, whether they are there or not; stage 1 is round 0."""
    first, count = settings.first_seed(number), settings.batch if number else settings.each
    return [item_id(prompt, round_name(generator, number), seed) for seed in range(first, first + count)]


def round_name(generator: str, number: int) -> str:
    """What a generator is called in a round."""
    return f"{generator}-round-{number}" if number else generator


class ChainScorer:
    """Scores of the pictures of one chain: scorers are opened once, and no picture is looked at twice."""

    def __init__(
        self,
        home: Path,
        words: Sequence[str],
        scorers: Sequence[Scorer],
        wish: BestSettings,
        settings: ScoreSettings,
        watch: StepCallback,
    ) -> None:
        cache = ResultCache()
        self.scorers = [*(make_scorer(word, settings, cache) for word in words), *scorers]
        if not self.scorers:
            raise BadValue("at least one scorer is needed", found="none", remedy="-s NAME, or --model FOLDER")
        self.home, self.wish, self.settings, self.watch = home, wish, settings, watch
        self.last: ScoreTable | None = None
        self.blend: Blend = wish.blend(score_columns(self.scorers))  # refused before anything is drawn

    def totals(self) -> dict[str, float]:
        """One number for each picture that has one, higher being better."""
        study = open_study(self.home)
        if not study.counts.get("items"):
            return {}
        self.last = study_scores(study, self.home, (), self.settings, self.watch, scorers=self.scorers)
        totals = zip(self.last.items, self.blend.totals(self.last.values), strict=True)
        return {item: float(value) for item, value in totals if np.isfinite(value)}

    def why(self, item: str) -> str:
        """Why a picture that was made has no number."""
        reasons = {} if self.last is None else self.last.reasons
        item_reasons = (f"{criterion}: {reason}" for (name, criterion), reason in reasons.items() if name == item)
        return "; ".join(item_reasons) or "no finite score"


@dataclass
class _ChainRun:
    prompts: Sequence[Prompt]
    generators: Sequence[Generator]
    settings: CohpSettings
    home: Path
    marking: ChainScorer
    journal: Journal[ChainDecision]
    watch: StepCallback

    def __post_init__(self) -> None:
        self.notes: dict[str, None] = {}
        self.by_name = {generator.name: generator for generator in self.generators}

    def stage_one(self) -> None:
        """Every generator draws every prompt; who goes on is decided prompt by prompt."""
        open_ = [prompt for prompt in self.prompts if (prompt.id, 0) not in self._decided()]
        if not open_:
            self._score()
            return
        self._draw(open_, self.generators, 0)
        look = self._looking()
        for prompt in open_:
            pictures = {name: look(prompt.id, name, 0) for name in self.by_name}
            if decision := choose_generator(prompt.id, pictures):
                self.journal.add(decision)

    def round(self, number: int) -> None:
        """One round of every prompt whose former round is decided."""
        decided = self._decided()
        open_ = [
            (prompt, decided[prompt.id, number - 1])
            for prompt in self.prompts
            if (prompt.id, number - 1) in decided and (prompt.id, number) not in decided
        ]
        if not open_:
            return
        for name, generator in self.by_name.items():
            mine = {prompt.id: before for prompt, before in open_ if before.generator == name}
            if mine:
                self._draw([prompt for prompt, _ in open_ if prompt.id in mine], [generator], number, mine)
        look = self._looking()
        for prompt, before in open_:
            able = starts_from_picture(self.by_name[before.generator])
            strength = self.settings.strength(number) if able else None
            self.journal.add(choose_start(before, number, strength, look(prompt.id, before.generator, number)))

    def _decided(self) -> dict[tuple[str, int], ChainDecision]:
        return {(decision.prompt, decision.round): decision for decision in self.journal.lines}

    def _draw(
        self,
        prompts: Sequence[Prompt],
        generators: Sequence[Generator],
        number: int,
        before: Mapping[str, ChainDecision] | None = None,
    ) -> None:
        settings = self.settings
        seeds, first = settings.batch if number else settings.each, settings.first_seed(number)
        able = before is not None and starts_from_picture(generators[0])
        generations = read_generations(self.home)[0] if able else {}
        report = generate_items(
            prompts,
            [RoundGenerator(entry, round_name(entry.name, number), {}) if number else entry for entry in generators],
            GenerateSettings(
                seeds=seeds, seed=first, size=settings.size, strength=settings.strength(number) if able else None
            ),
            self.home,
            lambda progress: self.watch(f"round {number}: drawing", progress.done, progress.wanted),
            starts={
                id: start_from_generation(generations[entry.start], self.home) for id, entry in (before or {}).items()
            }
            if able
            else None,
        )
        self.notes |= dict.fromkeys(report.notes)

    def _score(self) -> dict[str, float]:
        return self.marking.totals()

    def _looking(self) -> Callable[[str, str, int], list[ChainPicture]]:
        """The pictures of a prompt by a generator in a round, with their scores of now."""
        totals, generations = self._score(), read_generations(self.home)[0]

        def look(prompt: str, generator: str, number: int) -> list[ChainPicture]:
            items = round_items(prompt, generator, number, self.settings)
            return list(self._seen(items, generator, generations, totals))

        return look

    def _seen(
        self, items: Sequence[str], generator: str, generations: Mapping[str, Generation], totals: Mapping[str, float]
    ) -> Iterator[ChainPicture]:
        for item in items:
            line = generations.get(item)
            if line is None or not line.ok:
                why = "not asked for" if line is None else f"{line.kind}: {line.reason}"
                yield ChainPicture(item=item, generator=generator, missing=why, made=False)
            elif item in totals:
                yield ChainPicture(item=item, generator=generator, score=totals[item])
            else:
                yield ChainPicture(item=item, generator=generator, missing=self.marking.why(item))


# -- the report --------------------------------------------------------------------------------------------------------

COHP_POLICIES = (
    "The answer is the best of everything seen, in both stages; equal scores: the earlier picture.",
    "A generator's mean is over the pictures it has a score for; those not made or not scored are counted beside it. "
    "One without any is not chosen.",
    "A round without a scored picture leaves the next one the same start. A prompt without a scored picture in stage 1 "
    "waits; the same command tries again.",
    "What was decided stays decided: a failure of a decided round is not tried again.",
    "The score of an answer is raised by the choice itself: of many noisy numbers the largest was lucky. What it is "
    "worth, others have to say.",
)
RELEASED_POLICY = ("As released: an answer must come from stage 2 and exceed 0, so of scores below 0 none is kept.",)


def report_chain(
    folder: Path,
    generators: Sequence[Generator],
    settings: CohpSettings,
    decisions: Sequence[ChainDecision],
    table: ScoreTable | None,
    blend: Blend,
    *,
    notes: Sequence[str] = (),
) -> CohpReport:
    """What there is in `folder` now."""
    study = open_study(folder)
    generations, _ = read_generations(folder)
    prompts = list(study.nouns("prompts"))
    chains = tuple(_chain(prompt, decisions, settings) for prompt in prompts)
    pictures = [entry for chain in chains for decision in chain.decisions for entry in decision.seen]
    marks = true_scores(folder)
    truth = {} if marks is None else marks.values
    started_chains = [chain for chain in chains if chain.decisions]
    rounds = range(settings.rounds + 1)
    able = {entry.name for entry in generators if entry.abilities.image_to_image and entry.abilities.strength}
    fields = {key: value for key, value in settings.model_dump(exclude={"seed"}).items() if value is not None}
    fields |= {"generators": ",".join(entry.name for entry in generators)}
    fields |= {} if table is None else {"scorers": ",".join(column.scorer for column in table.columns)}
    rows = () if table is None else zip(table.items, table.values, strict=True)
    names = () if table is None else table.criteria
    values = {
        item: {name: float(value) for name, value in zip(names, row, strict=True) if np.isfinite(value)}
        for item, row in rows
    }
    answer_rounds = (chain.answer.round for chain in chains if chain.answer is not None)
    answers = dict(sorted(Counter(number for number in answer_rounds if number is not None).items()))
    return CohpReport(
        study=str(folder),
        settings=settings,
        generators=tuple(entry.name for entry in generators),
        columns=() if table is None else table.columns,
        weights=blend.shares,
        scale=blend.scale,
        prompts=len(prompts),
        asked=len(pictures),
        failed=dict(
            Counter(entry.missing.partition(":")[0] or "error" for entry in pictures if not entry.made).most_common()
        ),
        unscored=sum(entry.made and entry.score is None for entry in pictures),
        chosen=dict(Counter(chain.decisions[0].generator for chain in started_chains).most_common()),
        not_apart=sum(bool(chain.decisions[0].tied) for chain in started_chains),
        answers=answers,
        empty_rounds=sum(entry.best is None for chain in chains for entry in chain.decisions),
        redrawn=tuple(sorted({chain.decisions[0].generator for chain in started_chains} - able)),
        waiting=dict(Counter(chain.waits for chain in chains if chain.waits).most_common()),
        levels=tuple(_level(started_chains, number, truth, len(prompts)) for number in rounds if started_chains),
        gain=_gain(started_chains, None),
        true_gain=_gain(started_chains, truth) if truth else None,
        images={entry.item: line.image for entry in pictures if (line := generations.get(entry.item)) and line.image},
        values=values,
        truth=truth,
        policies=COHP_POLICIES + (RELEASED_POLICY if settings.variant == "released" else ()),
        notes=tuple(notes),
        signature=str(Signature(method="cohp", data=study.hash[:12], settings=fields, seed=settings.seed)),
        chains=chains,
    )


def _chain(prompt: Prompt, decisions: Sequence[ChainDecision], settings: CohpSettings) -> PromptChain:
    mine = {
        decision.round: decision
        for decision in decisions
        if decision.prompt == prompt.id and decision.round <= settings.rounds
    }
    row = tuple(mine[number] for number in sorted(mine))
    if not row:
        return PromptChain(prompt=prompt, decisions=(), answer=None, waits="a scored picture in stage 1")
    waits = "" if len(row) == settings.rounds + 1 else f"round {len(row)}"
    return PromptChain(prompt=prompt, decisions=row, answer=choose_answer(row, settings), waits=waits)


# -- means -------------------------------------------------------------------------------------------------------------


def _level(chains: Sequence[PromptChain], number: int, truth: Mapping[str, float], prompts: int) -> ChainLevel:
    rows = [chain.decisions for chain in chains if len(chain.decisions) > number]
    best = [picture for row in rows if (picture := best_picture(row[number].seen))]
    seen_until = ([picture for decision in row[: number + 1] for picture in decision.seen] for row in rows)
    so_far = [picture for pictures in seen_until if (picture := best_picture(pictures))]
    return ChainLevel(
        round=number,
        best=_mean([entry.score for entry in best]),
        so_far=_mean([entry.score for entry in so_far]),
        true_best=_mean([truth.get(entry.item) for entry in best]) if truth else None,
        true_so_far=_mean([truth.get(entry.item) for entry in so_far]) if truth else None,
        missing=prompts - len(best),
    )


def _mean(values: Sequence[float | None]) -> Estimate | None:
    numbers = [value for value in values if value is not None]
    return mean_interval(numbers) if numbers else None


def _gain(chains: Sequence[PromptChain], truth: Mapping[str, float] | None) -> Estimate | None:
    """The answer less the best of stage 1: by score, or by true quality of the two pictures."""
    gains = []
    for chain in chains:
        first, answer = best_picture(chain.decisions[0].seen), chain.answer
        if first is None or answer is None or answer.item is None:
            continue
        before, after = (
            (first.score, answer.score) if truth is None else (truth.get(first.item), truth.get(answer.item))
        )
        if before is not None and after is not None:
            gains.append(after - before)
    return _mean(gains)
