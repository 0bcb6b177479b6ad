"""The demo's last part: the best of several drawings of new briefs is picked. What are the picks truly worth?

The model looks at a poster and does not read it: to it a misspelled headline is as good as a clean one. So the share of
the words that OCR can read counts as much. Both are measured in standard deviations over posters that designers judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from salon.cli.demo.board import CRITERION
from salon.collect.simulate.designers import read_layout
from salon.errors import MissingExtra, NotIdentified, TooFew
from salon.generate.houses import house_generator
from salon.generate.prompts import read_prompts
from salon.generate.settings import GenerateSettings
from salon.judge.score import ScoreSettings
from salon.judge.scorers.named import scorer_named
from salon.render.quality import true_quality
from salon.select.best_of import FOLDER, Wish, best_of_drawn, write_best
from salon.select.reference import ScoreReference
from salon.select.scores import reference_of, study_scores
from salon.stats.paired_means import mean_interval
from salon.stats.result import Estimate
from salon.store.folder import open_study

HOUSE = "apprentice"
"""A little of everything goes wrong with its work, so there is something to choose."""
DRAWN = 6
FIRST, EVERY = 5, 60
"""Four of the built-in briefs, none of which the model saw."""
READER = "words"
"""The measurement that reads."""
TRUE = (CRITERION, "taste/descriptions-typography")
"""True quality under what is picked by: the look, and the words."""
MEASURED = 12
"""Judged posters that scores are measured against."""
NOTE = "the model learned from simulated designers: no person's taste is in these picks"


@dataclass(frozen=True)
class Picked:
    """What was picked, and what it is worth: the mean of look and words."""

    prompts: int
    of: int
    picks: float
    """Mean true quality of the picks."""
    everything: float
    """Of all that was drawn: what the first of each would be worth on average."""
    gain: Estimate
    """Of the picks over all that was drawn of the same prompt."""
    best: float
    """Of the truly best of each."""
    misspelled: int
    """Picks with a misspelling."""
    drawn_misspelled: int
    """Drawings with one."""
    drawn: int
    unread: str = ""
    """Why nothing was read, where the picks are by look alone."""


def pick_best(folder: Path, size: str | None = None) -> Picked:
    """`folder`/best: several drawings of each brief, and the one that the model in `folder`/model picks."""
    place = folder / "best"
    prompts = read_prompts("briefs")[FIRST::EVERY]
    drawing = GenerateSettings(seeds=DRAWN, size=size)
    scorers = [f"model:{folder / 'model'}@{CRITERION}", READER]
    unread, wish = "", Wish()
    try:
        wish = Wish(reference=_judged_reference(folder / "lessons", scorers))
    except (MissingExtra, TooFew, NotIdentified) as error:
        unread, scorers = error.needed, scorers[:1]
    notes = [NOTE, *([f"picked by look alone, so a misspelled headline may win: {unread}"] if unread else [])]
    report = best_of_drawn(prompts, [house_generator(HOUSE)], drawing, place, scorers, wish, notes=notes)
    write_best(report, place / FOLDER, place)
    items = {item.id: item for item in open_study(place).nouns("items")}
    layouts = {id: read_layout(place, items[id]) for one in report.picks for id in (item.item for item in one.items)}
    defects = {id: layout.defects for id, layout in layouts.items() if layout is not None}
    worth = {id: fmean(true_quality(some)[criterion] for criterion in TRUE) for id, some in defects.items()}
    wrong = {id for id, some in defects.items() if any(defect.kind == "misspelling" for defect in some)}
    of_prompt: dict[str | None, list[float]] = {}
    for id, value in worth.items():
        of_prompt.setdefault(items[id].prompt, []).append(value)
    picks = [one.pick.chosen for one in report.picks if one.pick is not None and one.pick.chosen is not None]
    return Picked(
        prompts=len(picks),
        of=DRAWN,
        picks=fmean(worth[id] for id in picks),
        everything=fmean(worth.values()),
        gain=mean_interval([worth[id] - fmean(of_prompt[items[id].prompt]) for id in picks]),
        best=fmean(max(values) for values in of_prompt.values()),
        misspelled=len(wrong & set(picks)),
        drawn_misspelled=len(wrong),
        drawn=len(worth),
        unread=unread,
    )


def _judged_reference(lessons: Path, scorers: list[str]) -> ScoreReference:
    """Mean and sd of each scorer over some posters that the designers judged."""
    everyone = [scorer_named(name) for name in scorers]  # a model that is missing is said before posters that are
    table = study_scores(open_study(lessons), lessons, (), ScoreSettings(limit=MEASURED), scorers=everyone)
    return reference_of(table, f"{MEASURED} posters that the designers judged")
