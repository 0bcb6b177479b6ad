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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from salon.errors import BadValue
from salon.generate.names import item_id
from salon.generate.record import Generation, read_generations
from salon.generate.run import generate_items
from salon.generate.settings import GenerateSettings
from salon.generate.start import start_of
from salon.judge.score import ScoreSettings
from salon.judge.scorers.named import scorer_named
from salon.models.kept import Kept
from salon.select.best_of import Wish
from salon.select.cohp import CohpSettings, Decision, Seen, choose_generator, choose_start
from salon.select.cohp_report import report_chain
from salon.select.cohp_results import CohpReport
from salon.select.refine.loop_card import begin_loop
from salon.select.refine.record import prompts_hash
from salon.select.refine.refine import InRound
from salon.select.score_table import ScoreTable
from salon.select.scores import Watch, score_columns, study_scores
from salon.select.weights import Blend
from salon.store.atomic import write_json
from salon.store.folder import open_study
from salon.store.journal import Journal, open_journal, read_journal
from salon.study import Generator, Prompt, Scorer
from salon.study.noun import Noun

FOLDER, DECISIONS, REPORT = "cohp", "decisions.jsonl", "report.json"
_TOLD = {"what": "a decision of a chain", "remedy": "remove the line and those after it: they are then decided again"}


class Card(Noun):
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
    wish: Wish | None = None,
    *,
    scorers: Sequence[Scorer] = (),
    scoring: ScoreSettings | None = None,
    watch: Watch = lambda doing, done, wanted: None,
) -> CohpReport:
    """Run the chain of every prompt in `folder`, or go on with it; leave cohp/report.json.

    Scorers are named in `words` as for `salon score`, or given; `wish` says how several become one number.
    """
    check_able(generators, settings)
    home, wish = folder.resolve(), wish or Wish()
    marking = Marking(home, words, scorers, wish, scoring or ScoreSettings(), watch)
    begin_loop(home, FOLDER, prompts, _card(prompts, generators, settings, wish, marking))
    with open_journal(home / FOLDER / DECISIONS, Decision, **_TOLD) as journal:
        run = _Run(prompts, generators, settings, home, marking, journal, watch)
        run.stage_one()
        for number in range(1, settings.rounds + 1):
            run.round(number)
        notes = [*run.notes] + (["the last decision was torn by an interrupted run, and made again"] * journal.torn)
    report = report_chain(home, generators, settings, read_decisions(home), marking.last, marking.blend, notes=notes)
    write_json(home / FOLDER / REPORT, report, indent=None)
    return report.model_copy(update={"study": str(folder)})


def read_decisions(folder: Path) -> list[Decision]:
    """The decisions on record, for those who only look."""
    return read_journal(folder / FOLDER / DECISIONS, Decision, **_TOLD)[0]


def check_able(generators: Sequence[Generator], settings: CohpSettings) -> None:
    """BadValue before anything is drawn, where a generator cannot do its part."""
    for generator in generators:
        can, where = generator.abilities, f"generator {generator.name!r}"
        if not can.text_to_image:
            raise BadValue("a generator that draws from a prompt alone is needed", found="one that cannot", where=where)
        if settings.rounds and settings.unable == "refuse" and not starts(generator):
            raise BadValue(
                "a generator that starts from a picture at a strength is needed", found="one that cannot", where=where,
                remedy="--unable redraw has it draw anew in every round; --rounds 0 stops after the first stage",
            )  # fmt: skip


def starts(generator: Generator) -> bool:
    """Whether it can go on from a picture, and be told how far."""
    return generator.abilities.image_to_image and generator.abilities.strength


def round_items(prompt: str, generator: str, number: int, settings: CohpSettings) -> list[str]:
    """Ids of the items of one generator in one round, whether they are there or not; stage 1 is round 0."""
    first, count = settings.first_seed(number), settings.batch if number else settings.each
    return [item_id(prompt, round_name(generator, number), seed) for seed in range(first, first + count)]


def round_name(generator: str, number: int) -> str:
    """What a generator is called in a round."""
    return f"{generator}-round-{number}" if number else generator


def _card(
    prompts: Sequence[Prompt], generators: Sequence[Generator], settings: CohpSettings, wish: Wish, marking: Marking
) -> Card:
    told = settings.model_dump(include={"variant", "batch", "strengths", "unable", "seed", "size"})
    return Card(
        generators=tuple(str(one.signature) for one in generators),
        scorers=tuple(str(one.signature) for one in marking.scorers),
        weights=wish.weights,
        reference=None if wish.reference is None else wish.reference.hash,
        equal_scales=wish.equal_scales,
        tries=settings.each,
        prompts=prompts_hash(prompts),
        **told,
    )


class Marking:
    """Scores of the pictures of one chain: scorers are opened once, and no picture is looked at twice."""

    def __init__(
        self,
        home: Path,
        words: Sequence[str],
        scorers: Sequence[Scorer],
        wish: Wish,
        settings: ScoreSettings,
        watch: Watch,
    ) -> None:
        kept = Kept()
        self.scorers = [*(scorer_named(one, settings, kept) for one in words), *scorers]
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
        found = zip(self.last.items, self.blend.totals(self.last.values), strict=True)
        return {item: float(value) for item, value in found if np.isfinite(value)}

    def why(self, item: str) -> str:
        """Why a picture that was made has no number."""
        reasons = {} if self.last is None else self.last.reasons
        told = (f"{criterion}: {reason}" for (name, criterion), reason in reasons.items() if name == item)
        return "; ".join(told) or "no finite score"


@dataclass
class _Run:
    prompts: Sequence[Prompt]
    generators: Sequence[Generator]
    settings: CohpSettings
    home: Path
    marking: Marking
    journal: Journal[Decision]
    watch: Watch

    def __post_init__(self) -> None:
        self.notes: dict[str, None] = {}
        self.by_name = {one.name: one for one in self.generators}

    def stage_one(self) -> None:
        """Every generator draws every prompt; who goes on is decided prompt by prompt."""
        open_ = [prompt for prompt in self.prompts if (prompt.id, 0) not in self._decided()]
        if not open_:
            self._score()
            return
        self._draw(open_, self.generators, 0)
        look = self._looking()
        for prompt in open_:
            seen = {name: look(prompt.id, name, 0) for name in self.by_name}
            if decision := choose_generator(prompt.id, seen):
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
            able = starts(self.by_name[before.generator])
            strength = self.settings.strength(number) if able else None
            self.journal.add(choose_start(before, number, strength, look(prompt.id, before.generator, number)))

    def _decided(self) -> dict[tuple[str, int], Decision]:
        return {(one.prompt, one.round): one for one in self.journal.lines}

    def _draw(
        self,
        prompts: Sequence[Prompt],
        generators: Sequence[Generator],
        number: int,
        before: Mapping[str, Decision] | None = None,
    ) -> None:
        settings = self.settings
        seeds, first = settings.batch if number else settings.each, settings.first_seed(number)
        able = before is not None and starts(generators[0])
        known = read_generations(self.home)[0] if able else {}
        report = generate_items(
            prompts,
            [InRound(one, round_name(one.name, number), {}) if number else one for one in generators],
            GenerateSettings(seeds=seeds, seed=first, size=settings.size,
                             strength=settings.strength(number) if able else None),
            self.home,
            lambda progress: self.watch(f"round {number}: drawing", progress.done, progress.wanted),
            starts={id: start_of(known[one.start], self.home) for id, one in (before or {}).items()} if able else None,
        )  # fmt: skip
        self.notes |= dict.fromkeys(report.notes)

    def _score(self) -> dict[str, float]:
        return self.marking.totals()

    def _looking(self) -> Callable[[str, str, int], list[Seen]]:
        """The pictures of a prompt by a generator in a round, with their scores of now."""
        totals, known = self._score(), read_generations(self.home)[0]

        def look(prompt: str, generator: str, number: int) -> list[Seen]:
            items = round_items(prompt, generator, number, self.settings)
            return list(self._seen(items, generator, known, totals))

        return look

    def _seen(
        self, items: Sequence[str], generator: str, known: Mapping[str, Generation], totals: Mapping[str, float]
    ) -> Iterator[Seen]:
        for item in items:
            line = known.get(item)
            if line is None or not line.ok:
                why = "not asked for" if line is None else f"{line.kind}: {line.reason}"
                yield Seen(item=item, generator=generator, missing=why, made=False)
            elif item in totals:
                yield Seen(item=item, generator=generator, score=totals[item])
            else:
                yield Seen(item=item, generator=generator, missing=self.marking.why(item))
