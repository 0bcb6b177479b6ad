"""Whose answers a folder holds, and who judged them: OUT/run.json and OUT/judges.json, read by the scoring."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from salon.bench.posters.answers_boxes import Convention
from salon.bench.posters.files import CARD, JUDGES
from salon.errors import BadFile
from salon.store.atomic import read_json, write_json
from salon.study.noun import Noun

POSTERS = "posters"
"""The study with a generator's pictures, inside its folder."""


class RunCard(Noun):
    """Who answered, and how it writes boxes."""

    format: Literal["salon.posters-run/1"] = "salon.posters-run/1"
    contestant: str
    signature: str
    boxes: Convention = "share"
    shown_pixels: int | None = None
    """Most pixels of the pictures it was shown; None where they were shown as they are."""
    picture_first: bool = True
    """Whether the picture stood before the question; the released runner puts it behind."""

    def __str__(self) -> str:
        shown = "" if self.shown_pixels is None else f", pictures of at most {self.shown_pixels:,} pixels"
        order = "picture first" if self.picture_first else "text first"
        return f"{self.contestant} ({self.signature}, boxes {self.boxes}{shown}, {order})"


def claim(out: Path, card: RunCard) -> None:
    """Write down who answers in `out`; BadFile where somebody else does."""
    there = read_card(out)
    if there is not None and there.shown_pixels is None:  # a card from before pictures were on it
        there = there.model_copy(update={"shown_pixels": card.shown_pixels})
    if there not in (None, card):
        raise BadFile(
            f"a folder for the answers of {card} is needed", found=f"those of {there}", where=str(out / CARD),
            remedy="choose another folder with -o",
        )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / CARD, card.record())


def read_card(out: Path) -> RunCard | None:
    """Who answered in a folder; None where it does not say."""
    if not (out / CARD).is_file():
        return None
    return RunCard.parse(read_json(out / CARD, "the card of a run is needed"), where=str(out / CARD))


class JudgeCard(Noun):
    """Who gave verdicts on what a folder holds."""

    judge: str = Field(description="Name of the judge.")
    signature: str = Field(description="What gave its verdicts, with settings and version.")
    verdicts: int = Field(ge=0, description="Verdicts given, over all runs.")
    protocol: str = Field("salon", description="Whose words it was asked in: Salon's, or the released code's.")


def read_judges(out: Path) -> tuple[JudgeCard, ...]:
    """Who judged in a folder; nobody where it does not say."""
    place = out / JUDGES
    if not place.is_file():
        return ()
    record = read_json(place, "the list of a folder's judges is needed")
    rows = record if isinstance(record, list) else [record]
    return tuple(JudgeCard.parse(row, where=str(place)) for row in rows)


def note_judge(out: Path, judge: str, signature: str, verdicts: int, protocol: str = "salon") -> None:
    """Write down that a judge gave so many verdicts in `out`, asked by a protocol."""
    if not verdicts:
        return
    known = {(card.judge, card.signature, card.protocol): card.verdicts for card in read_judges(out)}
    asked = (judge, signature, protocol)
    known[asked] = known.get(asked, 0) + verdicts
    cards = [
        JudgeCard(judge=name, signature=method, verdicts=n, protocol=words).record()
        for (name, method, words), n in known.items()
    ]
    write_json(out / JUDGES, cards)
