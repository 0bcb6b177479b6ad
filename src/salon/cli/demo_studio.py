"""The demo's studio: some of its posters, and simulated designers who answer question by question.

They enter by their links and answer what the studio asks, as people do in the browser; only their clocks are simulated.
Each sees the true quality of a poster through noise. `salon serve` can open the studio afterwards.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from salon.collect import RawAnswer, ShownTask, Studio, open_studio, read_layout
from salon.render import true_quality
from salon.stats import Estimate, score_interval
from salon.store import open_study, save_study
from salon.study import Study

NOTE = "SIMULATED: made for a demonstration; no person gave the answers that it begins with."
PROMPTS = 4
DESIGNERS = 3
NOISE = 0.05
"""Of one look at a poster (sd), beside a quality from 0 to 1."""
LOOK_SECONDS = 15
"""Seconds that a designer looks at a pair."""


@dataclass(frozen=True)
class DemoAnswers:
    """What came of it."""

    answers: int
    designers: int
    right: Estimate
    """Share of answers that name the better poster, where true quality differs: the mean over prompts."""


def collect_answers(folder: Path) -> DemoAnswers:
    """`folder`/studio: some prompts of `folder`/posters, every pair of their posters answered by every designer."""
    place = folder / "studio"
    if place.exists():
        shutil.rmtree(place)
    worth = _some_posters(folder / "posters", place)
    with open_studio(place) as studio:
        cohort = studio.settings.cohorts[0].id
        invited = studio.invite(cohort, DESIGNERS)
        for number, invitation in enumerate(invited):
            _answer_all(studio, invitation.rater, worth, np.random.default_rng([2026, number]))
        rows = studio.database.read_study().table("comparisons").to_pylist()
        prompts = {item.id: item.prompt for item in studio.items.values()}
    right: dict[str | None, list[bool]] = {}
    for row in rows:
        better = worth[row["a"]] - worth[row["b"]]
        if better:
            right.setdefault(prompts[row["a"]], []).append((better > 0) == (row["outcome"] == "a"))
    return DemoAnswers(len(rows), DESIGNERS, score_interval([fmean(outcomes) for outcomes in right.values()]))


def _some_posters(source: Path, place: Path) -> dict[str, float]:
    """The study of the first prompts, its pictures with it; the mean true quality of each item."""
    study = open_study(source)
    chosen = list(study.nouns("prompts"))[:PROMPTS]
    items = [item for item in study.nouns("items") if item.prompt in {prompt.id for prompt in chosen} and item.image]
    tables = {"prompts": chosen, "items": items}
    small = Study.build("studio", [], tables=tables, compare_within="prompt", simulated=True, note=NOTE)
    save_study(small, place)
    for item in items:
        target = place / str(item.image)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / str(item.image), target)
    layouts = {item.id: read_layout(source, item) for item in items}
    return {id: fmean(true_quality(layout.defects).values()) for id, layout in layouts.items() if layout is not None}


def _answer_all(studio: Studio, rater: str, worth: dict[str, float], rng: np.random.Generator) -> None:
    """One designer, from the first question to the last."""
    now = 0
    while isinstance(task := studio.next(rater, now=now), ShownTask):
        now += round(1000 * (task.prompt_left + task.wait + LOOK_SECONDS))
        left, right = (worth[item] + rng.normal(0, NOISE) for item in task.shown.order)
        answers = dict.fromkeys(task.shown.question.criteria, "left" if left > right else "right")
        studio.submit(rater, task.id, RawAnswer(answers=answers), key=f"{rater}-{task.id}", now=now)
