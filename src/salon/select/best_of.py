"""Best of N from beginning to end: items drawn or found, scored, chosen, recorded.

    OUT/best.json        the report
    OUT/picks.jsonl      one line for each prompt: items, standings, what was chosen and why
    OUT/picks.csv        one row for each prompt
    OUT/index.html       for each prompt the pick beside its runner-up, why, and the others

Pictures and scores are kept as they come (`generate`, `judge`): the same call goes on where it stopped, tries again
what failed, and writes the same files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from pydantic import Field

from salon.errors import BadValue
from salon.generate.results import Failure
from salon.generate.run import generate_items
from salon.generate.settings import GenerateSettings
from salon.judge.picture_source import PictureSource
from salon.judge.score import FOLDER as SCORES
from salon.judge.score import ScoreSettings
from salon.judge.scorers.named import scorer_named
from salon.select.best import BestReport, NotMade, Offered, choose_best
from salon.select.best_page import best_page
from salon.select.pick import PickSettings
from salon.select.reference import ScoreReference
from salon.select.route import Choice
from salon.select.scores import Watch, picture_scores, score_columns, study_scores
from salon.select.weights import Blend, ScoreColumn, blend, read_weights
from salon.store.atomic import whole_file, write_json
from salon.store.folder import open_study
from salon.store.plain_table import write_plain
from salon.study import Generator, Prompt, Scorer
from salon.study.noun import Noun

FOLDER = "best"
Routing = Mapping[str, Choice]
"""Who draws a prompt, and why, by the prompt's id."""


class Wish(Noun):
    """What is wanted: weights, how scales are made one, and how one of several is chosen."""

    weights: str | None = Field(None, description="Criterion weights: typography=3,mood=1; *=1 for all others.")
    reference: ScoreReference | None = None
    equal_scales: bool = False
    pick: PickSettings = PickSettings()

    def blend(self, columns: Sequence[ScoreColumn]) -> Blend:
        """How columns of scores become one number."""
        given = read_weights(self.weights, [one.criterion for one in columns])
        return blend(columns, given, reference=self.reference, equal=self.equal_scales)


def best_of_study(
    folder: Path,
    words: Sequence[str],
    wish: Wish,
    *,
    scorers: Sequence[Scorer] = (),
    scoring: ScoreSettings | None = None,
    watch: Watch = lambda doing, done, wanted: None,
    not_made: Sequence[NotMade] = (),
    among: Callable[[Offered], bool] = lambda one: True,
    routing: Routing | None = None,
    notes: Sequence[str] = (),
) -> BestReport:
    """The best item of every prompt of a study."""
    study = open_study(folder)
    if not study.counts.get("items"):
        if not not_made:
            raise BadValue("a study with items is needed", found="none", where=str(folder))
        raise _nothing_made(folder, not_made)
    table = study_scores(study, folder, words, scoring, watch, scorers=scorers, check=wish.blend)
    items = {item.id: item for item in study.nouns("items")}
    found = [
        Offered(item=id, prompt=items[id].prompt, generator=items[id].generator, image=items[id].image)
        for id in table.items
    ]
    texts = {prompt.id: prompt.view() for prompt in study.nouns("prompts")}
    return choose_best(
        list(filter(among, found)), table, wish.blend(table.columns), wish.pick, place=str(folder), texts=texts,
        not_made=not_made, routes=routing, notes=notes,
    )  # fmt: skip


def _nothing_made(folder: Path, not_made: Sequence[NotMade]) -> BadValue:
    kinds = ", ".join(dict.fromkeys(f"{one.kind}: {one.reason}" for one in not_made))
    return BadValue(
        "pictures to choose from are needed", found=f"none of {len(not_made)} was made ({kinds})", where=str(folder),
        remedy="the same command tries again; or choose another generator",
    )  # fmt: skip


def best_of_pictures(
    source: PictureSource,
    scores: Path,
    words: Sequence[str],
    wish: Wish,
    *,
    place: str,
    scoring: ScoreSettings | None = None,
    watch: Watch = lambda doing, done, wanted: None,
) -> BestReport:
    """The best of the pictures of every prompt, where they are no study; tables of scores go to `scores`."""
    table = picture_scores(source, scores, words, scoring, watch, check=wish.blend)
    known = set(table.items)
    found: list[Offered] = []
    texts: dict[str, str] = {}
    for one in source:
        if one.item not in known:
            continue
        image = str(one.image) if isinstance(one.image, Path) else None
        found.append(Offered(item=one.item, prompt=one.prompt.id if one.prompt else None, image=image))
        texts |= {one.prompt.id: one.prompt.view()} if one.prompt else {}
    return choose_best(found, table, wish.blend(table.columns), wish.pick, place=place, texts=texts)


def best_of_drawn(
    prompts: Sequence[Prompt],
    generators: Sequence[Generator],
    drawing: GenerateSettings,
    folder: Path,
    words: Sequence[str],
    wish: Wish,
    *,
    routing: Routing | None = None,
    scorers: Sequence[Scorer] = (),
    scoring: ScoreSettings | None = None,
    watch: Watch = lambda doing, done, wanted: None,
    notes: Sequence[str] = (),
) -> BestReport:
    """Draw N pictures of every prompt (N = `drawing.seeds`, of each generator), then choose the best of each.

    With `routing`, each prompt is drawn only by the generator it names.
    """
    everyone = [*(scorer_named(word, scoring) for word in words), *scorers]
    wish.blend(score_columns(everyone))  # refused before anything is drawn
    lost: list[Failure] = []
    said: list[str] = list(notes)
    asked = {prompt.id for prompt in prompts}
    drawn = {generator.name for generator in generators}
    for share, some in _shares(prompts, generators, routing):
        report = generate_items(
            share, some, drawing, folder, lambda now: watch("drawing", now.made + now.reused + now.failed, now.wanted)
        )
        lost += report.failures
        said += report.notes
    last = drawing.seed + drawing.seeds
    seeds = {str(seed) for seed in range(drawing.seed, last)}
    return best_of_study(
        folder, (), wish, scorers=everyone, scoring=scoring, watch=watch, routing=routing,
        notes=tuple(dict.fromkeys(said)),
        not_made=[NotMade(prompt=one.prompt, generator=one.generator, kind=one.kind, reason=one.reason)
                  for one in lost],
        among=lambda one: one.prompt in asked and one.generator in drawn and _drawn_for(one, routing)
        and one.item.rpartition("/")[2] in seeds,
    )  # fmt: skip


def _shares(
    prompts: Sequence[Prompt], generators: Sequence[Generator], routing: Routing | None
) -> list[tuple[list[Prompt], list[Generator]]]:
    """Who draws what: all draw everything, or each what it was chosen for."""
    if routing is None:
        return [(list(prompts), list(generators))]
    shares = [([prompt for prompt in prompts if routing[prompt.id].generator == one.name], [one]) for one in generators]
    return [share for share in shares if share[0]]


def _drawn_for(one: Offered, routing: Routing | None) -> bool:
    return routing is None or routing[one.prompt or ""].generator == one.generator


# -- the record --------------------------------------------------------------------------------------------------------


def write_best(report: BestReport, out: Path, pictures: Path) -> Path:
    """Write the report, its table and its page to the folder `out`; the page's place."""
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "best.json", report, indent=None)
    with whole_file(out / "picks.jsonl") as file:
        for one in report.picks:
            file.write(json.dumps(one.model_dump(mode="json"), ensure_ascii=False, allow_nan=False).encode() + b"\n")
    write_plain(picks_table(report), out / "picks.csv", overwrite=True)
    return best_page(report, pictures).write(out / "index.html")


def picks_table(report: BestReport) -> pa.Table:
    """One row for each prompt."""
    kinds = {"prompt": pa.string(), "outcome": pa.string(), "chosen": pa.string(), "generator": pa.string(),
             "image": pa.string(), "total": pa.float64(), "sd": pa.float64(), "bound": pa.float64(),
             "margin": pa.float64(), "tied": pa.int64(), "items": pa.int64(), "unscored": pa.int64(),
             "not_made": pa.int64()}  # fmt: skip
    return pa.Table.from_pylist(report.rows(), pa.schema(list(kinds.items())))


def scores_beside(place: Path, out: Path | None) -> Path:
    """Where the scores of pictures that are no study go."""
    if out is not None:
        return out / SCORES
    return place / SCORES if place.is_dir() else place.with_name(f"{place.stem}-{SCORES}")
