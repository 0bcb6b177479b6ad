"""What one generator made of a suite: a study folder with an entry.json, the answers and the scores it got.

ENTRY/entry.json          the card below
ENTRY/study.toml, ...     its items as a study: `salon gallery`, `salon judge run`, `salon score` work on it
ENTRY/images/...          the pictures
ENTRY/answers.parquet     what judges said of every point of every picture (ANSWERS)
ENTRY/scores.parquet      logits of every picture by every scorer of the suite (LOGITS)
ENTRY/result.json         what it is worth (salon.bench.results.EntryResult)
"""

from __future__ import annotations

from typing import Final, Literal

import pyarrow as pa
from pydantic import Field

from salon.study.noun import Noun

FORMAT: Final = "salon.entry/1"
CARD, ANSWERS_FILE, LOGITS_FILE, RESULT = "entry.json", "answers.parquet", "scores.parquet", "result.json"

ANSWERS = pa.schema(
    [
        ("item", pa.string()),
        ("point", pa.string()),
        ("judge", pa.string()),
        ("said", pa.string()),  # pass, fail, unread (an answer nobody can read); no row: not answered yet
        ("why", pa.string()),  # the judge's reason, where it gave one
    ]
)
LOGITS = pa.schema(
    [
        ("item", pa.string()),
        ("preference", pa.string()),  # id of a PreferenceRule of the suite
        ("value", pa.float64()),
        ("sigma", pa.float64()),
        ("unscored", pa.string()),  # why a picture that was looked at has no number; no row: not scored yet
        ("scorer", pa.string()),  # signature of the scorer; refused where it is not the reference's
    ]
)


class Pictured(Noun):
    """One picture that the suite asks for: there, or not."""

    prompt: str
    seed: int
    item: str
    """Id of the item in the entry's study."""
    image: str | None = None
    """Path inside the entry's folder; None where it was not made."""
    sha256: str | None = None
    width: int | None = None
    height: int | None = None
    missing: str | None = None
    """Why there is none."""


class Retraction(Noun):
    """An entry taken back: it stays listed with its reason, without a place on the board."""

    reason: str = Field(min_length=1)
    at: str
    """ISO 8601."""


class Entry(Noun):
    """The card of an entry."""

    format: Literal["salon.entry/1"] = FORMAT
    name: str = Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")
    title: str = ""
    """As shown; the name where it is empty."""
    generator: str = ""
    """How the generator is called or was named on the command line."""
    signature: str = ""
    """The generator's own, where Salon ran it."""
    by: str = ""
    """Who brought it."""
    link: str = Field(default="", pattern=r"^(https?://\S+)?$")
    licence: str = ""
    """Of the pictures."""
    about: str = ""
    suite: str
    """Hash of the prompts it answers (Suite.hashes['prompts.jsonl'])."""
    pictures: tuple[Pictured, ...]
    retracted: Retraction | None = None

    @property
    def label(self) -> str:
        """How it is shown."""
        return self.title or self.name
