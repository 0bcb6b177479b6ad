"""A small study that people judged, with pictures, for tests of judges."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

from images_server import picture

from salon.judge import Conversation
from salon.store import save_study
from salon.study import (
    Checklist,
    Cohort,
    Comparison,
    Criterion,
    Item,
    Prompt,
    Rater,
    Rating,
    Scale,
    Study,
)

MOOD = Criterion(
    id="taste/mood",
    name="Mood and tone",
    question="Which carries the mood better?",
    rate_question="How well does it carry the mood?",
    rubric="Look at the light, leave craft aside.",
    paraphrases=tuple(f"Wording {number} of the mood?" for number in range(8)),
    scale=Scale(low=1, high=5, step=1, labels=("poor", "weak", "fair", "good", "fine")),
)
TYPE = Criterion(
    id="type",
    question="Whose type is better set?",
    rate_question="How well is its type set?",
    rubric="Look at spacing and size.",
    scale=Scale(kind="ordinal", low=0, high=2, step=1),
)
LETTERS = "abc"


def judged_study(criteria: tuple[Criterion, ...] = (MOOD, TYPE), **changes: Any) -> Study:
    """Two prompts with three items each; `a` is better than `b` is better than `c`, by all people."""
    items = [Item(id=f"p{p}-{k}", prompt=f"p{p}", image=f"images/p{p}-{k}.png") for p in "12" for k in LETTERS]
    tables: dict[str, Any] = {
        "prompts": [
            Prompt(id="p1", intent="A poster", description="for a {jazz} night", aesthetics="in blue"),
            Prompt(id="p2", intent="A card", description='for "tea"', aesthetics="in green"),
        ],
        "items": items,
        "raters": [
            Rater(id="ann", cohort="designers"),
            Rater(id="bob", cohort="designers"),
            Rater(id="vlm", kind="model"),
        ],
        "comparisons": [
            Comparison(criterion=criterion.id, rater=rater, a=f"p{p}-{one}", b=f"p{p}-{other}", outcome="a")
            for criterion in criteria
            for rater in ("ann", "bob")
            for p in "12"
            for one, other in combinations(LETTERS, 2)
        ],
        "ratings": [
            Rating(criterion=criterion.id, rater="ann", item=item.id, value=1 + "cba".index(item.id[-1]) / 2)
            for criterion in criteria
            for item in items
            if criterion.scale and criterion.scale.step is None
        ],
        "checklists": [
            Checklist(criterion=criteria[0].id, rater="ann", item="p1-a", points=("has a title",), answers=(True,))
        ],
    }
    tables |= changes.pop("tables", {})
    metadata = {"cohorts": (Cohort(id="designers", view=("intent", "description")),)} | changes
    return Study.build("judged", criteria, tables=tables, **metadata)


def saved(folder: Path, study: Study | None = None) -> Study:
    """The study, written to `folder` with a picture for every item."""
    study = judged_study() if study is None else study
    save_study(study, folder)
    for item in study.nouns("items"):
        path = folder / item.image
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(picture(item.id, "8x8"))
    return study


def shown(asked: Conversation) -> tuple[str, ...]:
    """The items in the order they are shown."""
    return tuple(sight.item for sight in asked.sights)


def text_of(asked: Conversation) -> str:
    """What the VLM reads, pictures as their items in brackets."""
    return "".join(part if isinstance(part, str) else f"[{part.item}]" for part in asked.parts)
