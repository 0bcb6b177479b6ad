"""A study in the shape of TASTE whose pictures are really drawn: what a model learns from pictures can be proven on it.

Nine criteria, each with 80 prompts of its own; each prompt drawn by four built-in generators, with their planted
defects; two cohorts of five simulated designers, each with its own view of the prompt, who rank the four posters of
every prompt of their criteria (`designers`). All its settings stand in taste_drawn.toml, fixed before anything was
learned.

Prompts are made of the built-in briefs. There are 240 of these: every third one gives its words to a criterion, so a
criterion never meets the same words twice, and three criteria share them. From the second turn on a brief is asked for
in the look of another one (style, mood, colors, places). Colors and the headline's place are always named: where a
brief leaves them open they are drawn at random, because a rater cannot miss what was not asked for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import numpy as np

from salon.collect.simulate.designers import FLAG, DesignerCohort, DesignerSettings, designers_planted, designers_study
from salon.collect.simulate.panel import PlantedTruth
from salon.errors import BadFile, BadValue
from salon.generate import GenerateSettings, builtin_briefs, generate_items, house_generator
from salon.render import BY_MOOD, SIZES, Brief, Place, brief_prompt
from salon.store import is_study, open_study, save_study
from salon.study import Study

TURNS = 3
"""How often the words of a brief are asked for, each time by another criterion and in another look."""
BORROWED = 79
"""How many briefs further on the next look is borrowed: in another category."""


def draw_taste_study(
    folder: Path, *, prompts: int | None = None, scale: float | None = None, seed: int | None = None,
    processes: int | None = None,
) -> tuple[Study, tuple[PlantedTruth, ...]]:  # fmt: skip
    """Draw the posters into `folder`, have them judged, and save the study there; also what was planted in it.

    `prompts` of each criterion, the `scale` of pictures and the `seed` are those of taste_drawn.toml unless given.
    A run that was interrupted goes on where it stopped.
    """
    plan = _plan()
    settings = DesignerSettings(seed=plan["seed"] if seed is None else seed)
    briefs = draw_taste_briefs(prompts, seed=settings.seed)
    _check_own(folder, briefs)
    _draw(briefs, folder, plan["scale"] if scale is None else scale, settings.seed, processes)
    cohorts = tuple(
        DesignerCohort(cohort["id"], cohort["id"], tuple(cohort["view"]), dict(_prompts_of(cohort, briefs)))
        for cohort in _plan()["cohort"]
    )
    study = designers_study(folder, settings, cohorts)
    study = Study.build(
        plan["name"],
        study.criteria,
        tables={kind: study.table(kind) for kind in study.counts},
        **{name: getattr(study, name) for name in ("compare_within", "cohorts", "design", "simulated", "note")},
    )
    save_study(study, folder, overwrite=True)
    return study, designers_planted(folder, settings, cohorts)


def _check_own(folder: Path, briefs: dict[str, list[Brief]]) -> None:
    """A folder may hold what an earlier run of the same study left there, and nothing else."""
    if not is_study(folder):
        return
    brief_ids = {brief.id for group in briefs.values() for brief in group}
    foreign = [id for id in open_study(folder).ids("prompts").to_pylist() if id not in brief_ids]
    if foreign:
        raise BadFile(
            "a folder of its own is needed to draw into",
            found=f"a study with other prompts, {foreign[0]!r} among them",
            where=str(folder),
            remedy="choose another place",
        )


def draw_taste_briefs(prompts: int | None = None, *, seed: int) -> dict[str, list[Brief]]:
    """The briefs of every criterion; their ids say which criterion they belong to."""
    each = _plan()["prompts"] if prompts is None else prompts
    words = builtin_briefs()
    if not 1 <= each <= len(words) // TURNS:
        raise BadValue(f"1 to {len(words) // TURNS} prompts for each criterion are needed", found=each)
    rng = np.random.default_rng(seed)
    briefs = {}
    for number, criterion in enumerate(criterion for cohort in _plan()["cohort"] for criterion in cohort["criteria"]):
        own = range(number % TURNS, len(words), TURNS)[:each]
        away = number // TURNS * BORROWED
        stem = criterion.removeprefix("taste/")
        briefs[criterion] = [
            _brief(f"{stem}-{k:02}", words[i], words[(i + away) % len(words)], rng) for k, i in enumerate(own, 1)
        ]
    return briefs


def _brief(id: str, words: Brief, look: Brief, rng: np.random.Generator) -> Brief:
    """The words of one brief in the look of another; free words about the look stay with their own brief."""
    palettes, places = BY_MOOD[look.mood], get_args(Place)
    palette = palettes[rng.integers(len(palettes))][:3]
    place = places[rng.integers(len(places))]
    return words.model_copy(
        update={
            "id": id,
            "style": look.style,
            "mood": look.mood,
            "palette": look.palette or palette,
            "headline_at": look.headline_at or place,
            "align": look.align,
            "aesthetics": words.aesthetics if look is words else "",
        }
    )


def _draw(
    briefs: dict[str, list[Brief]], folder: Path, scale: float, seed: int, processes: int | None,
) -> None:  # fmt: skip
    """Every format at `scale` of its usual size."""
    generators = [house_generator(name, processes) for name in _plan()["houses"]]
    all_briefs = [brief for group in briefs.values() for brief in group]
    for format, (width, height) in SIZES.items():
        prompts = [brief_prompt(brief) for brief in all_briefs if brief.format == format]
        if prompts:
            size = f"{round(width * scale)}x{round(height * scale)}"
            generate_items(prompts, generators, GenerateSettings(size=size, seed=seed), folder)


def _prompts_of(cohort: dict[str, Any], briefs: dict[str, list[Brief]]) -> Iterator[tuple[str, frozenset[str]]]:
    for criterion in cohort["criteria"]:
        yield criterion, frozenset(brief.id for brief in briefs[criterion])
    yield FLAG, frozenset(brief.id for brief in briefs[cohort["flags"]])


@cache
def _plan() -> dict[str, Any]:
    return tomllib.loads((resources.files("salon.collect.simulate") / "taste_drawn.toml").read_text(encoding="utf-8"))
