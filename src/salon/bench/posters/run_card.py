"""Whose answers a folder holds: OUT/run.json, written by a run and read by the scoring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from salon.bench.posters.answers_boxes import Convention
from salon.bench.posters.files import CARD
from salon.errors import BadFile
from salon.store.atomic import whole_file
from salon.study.noun import Noun

POSTERS = "posters"
"""The study with a generator's pictures, inside its folder."""


class RunCard(Noun):
    """Who answered, and how it writes boxes."""

    format: Literal["salon.posters-run/1"] = "salon.posters-run/1"
    contestant: str
    signature: str
    boxes: Convention = "share"

    def __str__(self) -> str:
        return f"{self.contestant} ({self.signature}, boxes {self.boxes})"


def claim(out: Path, card: RunCard) -> None:
    """Write down who answers in `out`; BadFile where somebody else does."""
    there = read_card(out)
    if there not in (None, card):
        raise BadFile(
            f"a folder for the answers of {card} is needed", found=f"those of {there}", where=str(out / CARD),
            remedy="choose another folder with -o",
        )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    with whole_file(out / CARD) as file:
        file.write((json.dumps(card.record(), ensure_ascii=False, indent=2) + "\n").encode())


def read_card(out: Path) -> RunCard | None:
    """Who answered in a folder; None where it does not say."""
    if not (out / CARD).is_file():
        return None
    try:
        record = json.loads((out / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFile("the card of a run is needed", found=str(error), where=str(out / CARD)) from None
    return RunCard.parse(record, where=str(out / CARD))
