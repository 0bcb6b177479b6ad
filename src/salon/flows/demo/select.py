"""The demo's last part: the model picks the best of several drawings of new briefs. What are the picks truly worth?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from salon.flows.demo.board import CRITERION
from salon.flows.select.best import FOLDER, Wish, best_of_drawn, write_best
from salon.flows.simulate.designers import read_layout
from salon.generate.houses import house_generator
from salon.generate.prompts import read_prompts
from salon.generate.settings import GenerateSettings
from salon.render.quality import true_quality
from salon.report.estimate import Figure
from salon.stats.paired_means import mean_interval
from salon.store.folder import open_study

HOUSE = "apprentice"
"""A little of everything goes wrong with its work, so there is something to choose."""
DRAWN = 6
FIRST, EVERY = 5, 40
"""Six of the built-in briefs, none of which the model saw."""
NOTE = "the model learned from simulated designers: no person's taste is in these picks"


@dataclass(frozen=True)
class Picked:
    """What was picked, and what it is worth under the criterion that the model learned."""

    prompts: int
    of: int
    picks: float
    """Mean true quality of the picks."""
    everything: float
    """Of all that was drawn: what the first of each would be worth on average."""
    gain: Figure
    """Of the picks over all that was drawn of the same prompt."""
    best: float
    """Of the truly best of each."""


def pick_best(folder: Path, size: str | None = None) -> Picked:
    """`folder`/best: several drawings of each brief, and the one that the model in `folder`/model picks."""
    place = folder / "best"
    prompts = read_prompts("briefs")[FIRST::EVERY]
    drawing = GenerateSettings(seeds=DRAWN, size=size)
    scorer = f"model:{folder / 'model'}@{CRITERION}"
    report = best_of_drawn(prompts, [house_generator(HOUSE)], drawing, place, [scorer], Wish(), notes=[NOTE])
    write_best(report, place / FOLDER, place)
    items = {item.id: item for item in open_study(place).nouns("items")}
    layouts = {id: read_layout(place, item) for id, item in items.items()}
    worth = {id: true_quality(layout.defects)[CRITERION] for id, layout in layouts.items() if layout is not None}
    of_prompt: dict[str | None, list[float]] = {}
    for id, value in worth.items():
        of_prompt.setdefault(items[id].prompt, []).append(value)
    picks = [one.pick.chosen for one in report.picks if one.pick is not None and one.pick.chosen is not None]
    return Picked(
        prompts=len(picks),
        of=DRAWN,
        picks=fmean(worth[id] for id in picks),
        everything=fmean(worth.values()),
        gain=Figure.of(mean_interval([worth[id] - fmean(of_prompt[items[id].prompt]) for id in picks])),
        best=fmean(max(values) for values in of_prompt.values()),
    )
