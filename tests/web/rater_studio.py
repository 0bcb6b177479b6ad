"""A studio with drawn posters, served on a port of its own, for tests that look at a rater's pages."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from salon.collect import Studio, StudioSettings
from salon.generate import read_prompts
from salon.store import open_database
from salon.study import Criterion, Scale, Study
from tools.posed_studio import draw_study, served

__all__ = ["FLAW", "OVERALL", "TYPE", "close", "draw_posters", "open_studio", "phase", "served"]

OVERALL = Criterion(
    id="overall",
    name="Overall",
    question="Which poster would you rather deliver for this brief?",
    rate_question="How ready is this poster to be delivered for this brief?",
    rubric="Judge each poster as finished work for the client who wrote the brief. Leave aside your taste in genres.",
    scale=Scale(low=1, high=5, step=1, labels=("Start again", "Weak", "Fair", "Good", "Deliver it")),
)
TYPE = Criterion(
    id="type",
    name="Typography",
    question="Which poster sets its words better?",
    rate_question="How well are the words set?",
    rubric="Look at hierarchy, spacing and legibility.",
    scale=Scale(low=1, high=5, step=1),
)
FLAW = Criterion(
    id="flaw",
    name="Faults",
    rate_question="Does anything look broken?",
    scale=Scale(kind="ordinal", low=0, high=2, step=1, labels=("No", "Minor", "Major"), higher_is_better=False),
)
QUICK = {"prompt": 0, "compare": 0, "rate": 0, "guidelines": 0}


def draw_posters(folder: Path, *, prompts: int = 2, houses: tuple[str, ...] = ("atelier", "carnival")) -> Study:
    """A study of house proofs, 362 x 512."""
    briefs = read_prompts("briefs")[::60][:prompts]
    return draw_study(folder, "Posters of the season", briefs, houses, [OVERALL, TYPE, FLAW], "362x512")


def phase(id: str, protocol: str, *criteria: str, **more: Any) -> dict[str, Any]:
    """A phase without planted questions."""
    return {"id": id, "protocol": protocol, "criteria": criteria or ("overall",), "checks": {"repeats": 0}} | more


def open_studio(folder: Path, study: Study, database: Path, *phases: dict[str, Any], **more: Any) -> Studio:
    """A studio of one cohort on a new database, without the welcome page unless it is asked for."""
    cohort = {"id": "designers", "phases": phases}
    settings = StudioSettings.model_validate({"cohorts": [cohort], "times": QUICK, "welcome": False} | more)
    shutil.copy(_prepared(study, folder.parent / f"{folder.name}-{study.name}.db"), database)
    return Studio(open_database(f"sqlite:///{database}"), settings, folder)


def _prepared(study: Study, place: Path) -> Path:
    """A database with the study in it, to be copied: making the tables takes longer than a test."""
    if not place.exists():
        with open_database(f"sqlite:///{place}", create=True) as opened:
            opened.put_study(study)
    return place


def close(studio: Studio) -> None:
    """Everything given back."""
    studio.close()
    studio.database.close()
