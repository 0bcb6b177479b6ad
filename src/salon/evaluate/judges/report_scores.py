"""Tables of scores as judges: STUDY/scores/NAME.parquet with its card, or any file with the columns item and value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from salon.errors import BadFile, BadValue
from salon.evaluate.judges.report_judges import ItemValues, Judge
from salon.evaluate.judges.report_panel import Places
from salon.judge.score import FOLDER
from salon.judge.scorers.table import TableScorer
from salon.study import Study
from salon.study.scorer import ScorerCard


def score_files(folder: Path) -> list[Path]:
    """The score tables of the study in `folder`, by name."""
    return sorted((folder / FOLDER).glob("*.parquet"))


def score_judge(path: Path, study: Study, places: Places, *, everywhere: bool = True) -> Judge:
    """The scorer behind a table; named as its file, turned so that higher is better, as its card says.

    An item without a number is unread where the scorer was asked `everywhere`, else it was not asked.
    """
    card, signature = _card(path.with_suffix(".json"))
    scorer = TableScorer(path, card=card)
    items = list(study.nouns("items"))
    found = scorer.score(items, [None] * len(items))
    x = np.array([np.nan if value is None else value for value in found]) * (1 if card.higher_is_better else -1)
    known = ~np.isnan(x)
    if not known.any():
        raise BadValue(
            "scores of items of the study are needed",
            found="scores of other items, or none",
            where=f"{path}, study {study.name!r}",
        )
    criteria = _spoken_of(card, study)
    asked = {} if everywhere else dict.fromkeys(criteria, known)
    answers = ItemValues(places, dict.fromkeys(criteria, x), asked)
    return Judge(scorer.name, "scorer", answers, signature=signature or str(scorer.signature))


def _spoken_of(card: ScorerCard, study: Study) -> list[int]:
    """Numbers of the criteria a scorer is held against: its own, or all where the study does not have that one."""
    known = [one.id for one in study.criteria]
    return [known.index(card.criterion)] if card.criterion in known else list(range(len(known)))


def _card(path: Path) -> tuple[ScorerCard, str | None]:
    """What is said about the scorer beside its table; a table without a card is one where higher is better."""
    if not path.is_file():
        return ScorerCard(), None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadFile("the card of a scorer is JSON", found=str(error), where=str(path)) from None
    if not isinstance(record, dict):
        raise BadFile("the card of a scorer is a JSON object", found=type(record).__name__, where=str(path))
    signature = record.get("signature")
    return ScorerCard.parse(record.get("card", {}), where=str(path)), None if signature is None else str(signature)
