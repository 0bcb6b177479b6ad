"""What a loop remembers: what it was told, and every reply, one line each, on the disk before the next is asked for.

    STUDY/refine/card.json        who draws, who looks, and how; another loop may not go on in the same folder
    STUDY/refine/replies.jsonl    what was said of each picture, and the prompt that came of it

A line binds: what a VLM said of a round is not asked again, whatever becomes of its pictures. A line that a killed run
left torn is cut off, and its question asked again; a bought answer is then in the call store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import Field

from salon.select.refine.loop_card import begin_loop
from salon.store.journal import Journal, open_journal, read_journal
from salon.study import Prompt
from salon.study.diagnosis import Remark
from salon.study.noun import Noun

FOLDER = "refine"
REPLIES = "replies.jsonl"
_TOLD = {"what": "a reply on record", "remedy": "remove the line: its picture is then looked at again"}


class Card(Noun):
    """What must stay the same for a loop to go on."""

    format: Literal["salon-refine-1"] = "salon-refine-1"
    generator: str
    """The generator's signature."""
    vlm: str
    """Signature of who looks."""
    wording: str
    """Hash of the words of the question."""
    sees: str
    images: int
    seed: int
    size: str | None = None
    prompts: str
    """Hash of all prompts."""


class Said(Noun):
    """What came of one look."""

    prompt: str
    """Id of the prompt."""
    round: int = Field(ge=0)
    item: str
    """The picture that was looked at."""
    sha256: str | None = None
    """Of the picture."""
    outcome: Literal["revised", "unread", "none"]
    """A revised prompt; an answer that cannot be read; no answer that will ever come."""
    reason: str = ""
    """Why it was not read, or why there is none."""
    remarks: tuple[Remark, ...] = ()
    revised: Prompt | None = None
    text: str = ""
    """What was said, shortened where it is long."""
    model: str | None = None
    cost: float | None = None


def prompts_hash(prompts: Sequence[Prompt]) -> str:
    """Twelve hex digits of the prompts in order."""
    text = json.dumps([prompt.model_dump(mode="json", exclude={"category"}) for prompt in prompts])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Record:
    """The open record: what was said so far by prompt and round, and a way to add to it."""

    def __init__(self, journal: Journal[Said]) -> None:
        self._journal = journal
        self.said = {(one.prompt, one.round): one for one in journal.lines}
        self.note = (
            "the last reply on record was torn by an interrupted run; it is asked for again" if journal.torn else None
        )

    def add(self, said: Said) -> None:
        """Write one line and wait until the disk has it."""
        self._journal.add(said)
        self.said[said.prompt, said.round] = said


@contextmanager
def open_refinement(folder: Path, prompts: Sequence[Prompt], card: Card) -> Iterator[Record]:
    """The record of the loop in `folder`, held by this process; a new or empty folder becomes a study.

    BadValue where another loop was at work there, or a study that is no loop stands there.
    """
    begin_loop(folder, FOLDER, prompts, card)
    with open_journal(folder / FOLDER / REPLIES, Said, **_TOLD) as journal:
        yield Record(journal)


def read_replies(folder: Path) -> dict[tuple[str, int], Said]:
    """What was said so far, by prompt and round; for those who only look."""
    said, _ = read_journal(folder / FOLDER / REPLIES, Said, **_TOLD)
    return {(one.prompt, one.round): one for one in said}
