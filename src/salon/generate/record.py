"""What a run of generators is asked, and what became of every picture: settings, file names, the record, the report.

`generations.jsonl` has one line for every ask, flushed as soon as the result is known. A picture is on the disk, whole,
before its line is. A process killed between the two leaves a picture without a line, which is made again. One killed
while writing the line leaves a torn last line, which is cut off and reported. Later lines of an item replace earlier
ones.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal

from pydantic import Field, field_validator

from salon.errors import BadFile
from salon.store import Journal, hold_journal, open_journal, present_folder, read_bytes, read_journal
from salon.study import Ask, ItemSource, Noun

SMALLEST_SIDE, LARGEST_SIDE = 16, 8192
MOST_SEEDS = 10_000


class GenerateSettings(Noun):
    """How `salon generate` works."""

    seeds: int = Field(1, ge=1, le=MOST_SEEDS, description="Pictures of each prompt by each generator.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of the first picture; the others count up from it.")
    size: str | None = Field(
        None, description="Width and height in pixels, such as 1024x1448  [default: the generator's own]"
    )
    strength: float | None = Field(
        None, gt=0, le=1, description="With --image: how far to leave it, up to 1  [default: the generator's own]"
    )
    retry: bool = Field(True, description="Try again what failed in an earlier run.")

    @field_validator("size")
    @classmethod
    def _size_is_width_by_height(cls, size: str | None) -> str | None:
        if size is None:
            return None
        match = re.fullmatch(r"(\d{1,5})\s*[x×]\s*(\d{1,5})", size.strip(), re.IGNORECASE | re.ASCII)
        if not match:
            raise ValueError("width x height is needed, such as 1024x1448")
        if not all(SMALLEST_SIDE <= int(side) <= LARGEST_SIDE for side in match.groups()):
            raise ValueError(f"each side needs {SMALLEST_SIDE} to {LARGEST_SIDE} pixels")
        return f"{int(match[1])}x{int(match[2])}"

    @property
    def width_height(self) -> tuple[int, int] | None:
        """The size as two numbers."""
        if self.size is None:
            return None
        width, height = self.size.split("x")
        return int(width), int(height)


# -- ids and file names ------------------------------------------------------------------------------------------------

LONGEST_IN_ID = 80
LONGEST_IN_PATH = 60
_SAFE = re.compile(r"[a-z0-9][a-z0-9_-]*")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
"""Names that Windows keeps for itself."""


def item_id(prompt: str, generator: str, seed: int) -> str:
    """`<prompt>/<generator>/<seed>`; parts with a slash, a control character or too many letters are shortened."""
    return f"{_id_part(prompt)}/{_id_part(generator)}/{seed}"


def _id_part(name: str) -> str:
    if len(name) <= LONGEST_IN_ID and "/" not in name and name.isprintable() and name == name.strip():
        return name
    cleaned = "".join(letter if letter.isprintable() and letter != "/" else "-" for letter in name.strip())
    return f"{cleaned[:LONGEST_IN_ID].rstrip()}~{_hash(name)}"


def slug(name: str) -> str:
    """A name for a file or folder on any system: small letters, digits, hyphens and underscores."""
    if _SAFE.fullmatch(name) and len(name) <= LONGEST_IN_PATH and name not in _RESERVED:
        return name
    cleaned = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_")[:LONGEST_IN_PATH].strip("-_")
    return f"{cleaned}-{_hash(name)}" if cleaned else _hash(name)


def picture_stem(ask: Ask, generator: str) -> str:
    """Where the files of an ask stand below images/, layouts/ and svg/, without their ending."""
    return f"{slug(ask.prompt.id)}/{slug(generator)}-{ask.seed}"


def ask_digest(ask: Ask) -> str:
    """Twelve hex digits of everything that decides a picture but the generator; a category decides nothing."""
    fields = ask.model_dump_json(exclude={"image": True, "layout": True, "prompt": {"category"}})
    start = hashlib.sha256(ask.image).hexdigest() if ask.image else ""
    start += hashlib.sha256(ask.layout.encode()).hexdigest() if ask.layout else ""
    return hashlib.sha256(f"{fields}{start}".encode()).hexdigest()[:12]


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]


# -- generations.jsonl -------------------------------------------------------------------------------------------------

FILE = "generations.jsonl"
_JOURNAL_WORDS = {
    "what": "a record of a generated picture",
    "remedy": "remove the line: its picture is then made again",
}
_TORN = f"the last line of {FILE} was torn by an interrupted run; its picture is made again"


class Generation(Noun):
    """What became of one ask."""

    item: str
    prompt: str
    generator: str
    seed: int
    ask: str
    """Twelve hex digits of what was asked: prompt, seed, size, and the picture to start from."""
    signature: str
    """The generator's signature when it was asked."""
    ok: bool
    image: str | None = None
    """Path inside the study folder; so are layout and svg."""
    layout: str | None = None
    svg: str | None = None
    width: int | None = None
    height: int | None = None
    bytes: int | None = None
    sha256: str | None = None
    source: ItemSource = "generated"
    kind: str | None = None
    """Of a failure: the word to count by."""
    reason: str | None = None
    seconds: float | None = None
    facts: dict[str, str | int | float | bool | None] = Field(default_factory=dict)

    def is_stored(self, folder: Path) -> bool:
        """Is the picture there with the size and the hash it had when it was written, and what goes with it too?"""
        if not self.ok or self.image is None:
            return False
        beside = [folder / name for name in (self.layout, self.svg) if name is not None]
        if not all(path.is_file() and path.stat().st_size for path in beside):
            return False
        path = folder / self.image
        if not path.is_file() or path.stat().st_size != self.bytes:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256


def read_generations(folder: Path) -> tuple[dict[str, Generation], str | None]:
    """The last line of every item, and a sentence about a torn last line where there is one."""
    lines, torn = read_journal(present_folder(folder) / FILE, Generation, **_JOURNAL_WORDS)
    return {line.item: line for line in lines}, _TORN if torn else None


class GenerationRecord:
    """The open record of a study folder: what is known, and a way to add to it. One process at a time holds it."""

    def __init__(self, journal: Journal[Generation]) -> None:
        self._journal = journal
        self.known = {line.item: line for line in journal.lines}
        self.note = _TORN if journal.torn else None

    def add(self, generation: Generation) -> None:
        """Write one line and wait until the disk has it."""
        try:
            self._journal.add(generation)
        finally:  # a line that was written is known, also when Ctrl-C comes while one waits for the disk
            if self._journal.lines[-1:] == [generation]:
                self.known[generation.item] = generation


def lock_record(folder: Path) -> AbstractContextManager[IO[bytes]]:
    """Holds the record of `folder`; BadFile when another run is at work there."""
    return hold_journal(folder / FILE)


@contextmanager
def open_record(folder: Path) -> Iterator[GenerationRecord]:
    """The record of `folder`, locked and read; a torn last line is cut off."""
    with open_journal(folder / FILE, Generation, **_JOURNAL_WORDS) as journal:
        yield GenerationRecord(journal)


# -- the report --------------------------------------------------------------------------------------------------------

GENERATE_FORMAT: Final = "salon-generate-1"
GONE = "its picture is gone, and another one may not take its place: the item was judged"


class GenerationFailure(Noun):
    """A picture that was wanted and is not there."""

    item: str = Field(description="Id the item would have.")
    prompt: str = Field(description="Id of the prompt.")
    generator: str = Field(description="Name of the generator.")
    seed: int = Field(description="Seed of the ask.")
    kind: str = Field(description="A word to count by: refused, broken-image, timeout, budget, missing, error.")
    reason: str = Field(description="Why, in one sentence.")

    @classmethod
    def of(cls, line: Generation) -> GenerationFailure:
        """The failure that a line of the record tells."""
        names = ("item", "prompt", "generator", "seed")
        fields = {name: getattr(line, name) for name in names}
        if line.ok:
            return cls(**fields, kind="gone", reason=GONE)
        return cls(**fields, kind=line.kind or "error", reason=line.reason or "no reason was given")


class GeneratorRun(Noun):
    """What one generator did."""

    generator: str = Field(description="Name of the generator.")
    signature: str = Field(description="What would have to be equal for the same pictures.")
    wanted: int = Field(description="Pictures asked of it.")
    made: int = Field(description="Pictures made in this run.")
    reused: int = Field(description="Pictures that were there already.")
    failed: int = Field(description="Pictures that are not there.")


class GenerateReport(Noun):
    """What a run did, and what is there after it."""

    format: Literal["salon-generate-1"] = Field(GENERATE_FORMAT, description="Name and version of this shape.")
    study: str = Field(description="The study folder.")
    wanted: int = Field(description="Prompts x generators x seeds.")
    made: int = Field(description="Pictures made in this run.")
    reused: int = Field(description="Pictures that were there already.")
    failed: int = Field(description="Pictures that are not there.")
    cost: float | None = Field(description="What the generators said the run has cost, in their price file's currency.")
    seconds: float = Field(description="How long the run took.")
    generators: tuple[GeneratorRun, ...] = Field(description="The same for each generator.")
    failures: tuple[GenerationFailure, ...] = Field(description="Every picture that is not there, and why.")
    notes: tuple[str, ...] = Field(description="What else should be known.")

    @property
    def is_complete(self) -> bool:
        """Is every wanted picture there?"""
        return self.made + self.reused == self.wanted

    def kinds(self) -> list[tuple[str, int]]:
        """Failures by kind, the most frequent first."""
        return Counter(failure.kind for failure in self.failures).most_common()


@dataclass(frozen=True)
class GenerationProgress:
    """How far a run has come; given to its callback after every picture."""

    wanted: int
    made: int = 0
    reused: int = 0
    failed: int = 0
    cost: float | None = None
    last: Generation | None = None

    @property
    def done(self) -> int:
        """Pictures whose fate is known."""
        return self.made + self.reused + self.failed


# -- pictures to start from --------------------------------------------------------------------------------------------

LONGEST_LAYOUT = 1_000_000
"""Bytes of a layout that are read; those of the houses have some ten thousand."""


class StartPicture(Noun):
    """A picture to start from."""

    image: bytes = Field(repr=False)
    layout: str | None = Field(default=None, repr=False)


def start_from_generation(line: Generation, folder: Path) -> StartPicture:
    """A picture that was made here before, as a start; BadFile where it is gone or is not the one it was."""
    if line.image is None or not line.is_stored(folder):
        raise BadFile(
            "the picture to start from is needed as it was made", found="none, or another one", where=line.item,
            remedy="put the file back, or start again in another folder",
        )  # fmt: skip
    layout = None if line.layout is None else (folder / line.layout).read_text(encoding="utf-8")
    return StartPicture(image=(folder / line.image).read_bytes(), layout=layout)


def read_start(path: Path) -> StartPicture:
    """A picture file as a start. One in the images/ of a study takes its layout from layouts/, where it has one."""
    return StartPicture(image=read_bytes(path), layout=layout_beside(path))


def layout_beside(path: Path | str) -> str | None:
    """The layout of a picture in a study: images/X.png has layouts/X.json; None where there is none."""
    parts = list(Path(path).resolve().with_suffix(".json").parts)
    if "images" not in parts:
        return None
    at = len(parts) - 1 - parts[::-1].index("images")
    beside = Path(*parts[:at], "layouts", *parts[at + 1 :])
    if not beside.is_file() or beside.stat().st_size > LONGEST_LAYOUT:
        return None
    try:
        return beside.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadFile("a layout in UTF-8 is needed", found=str(error), where=str(beside)) from None
