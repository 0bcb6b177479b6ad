"""What a loop remembers: what it was told, and every reply, one line each, on the disk before the next is asked for.

    STUDY/refine/card.json        who draws, who looks, and how; another loop may not go on in the same folder
    STUDY/refine/replies.jsonl    what was said of each picture, and the prompt that came of it

A line binds: what a VLM said of a round is not asked again, whatever becomes of its pictures. A line that a killed run
left torn is cut off, and its question asked again; a bought answer is then in the call store.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal

from pydantic import Field

from salon.errors import BadFile, BadValue
from salon.store.atomic import whole_file
from salon.store.folder import is_study, save_study
from salon.study import Prompt, Study
from salon.study.diagnosis import Remark
from salon.study.noun import Noun

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows; two runs on one folder are then not told apart
    fcntl = None  # type: ignore[assignment]

FOLDER = "refine"
CARD, REPLIES = "card.json", "replies.jsonl"


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

    def __init__(self, file: IO[bytes], said: dict[tuple[str, int], Said], note: str | None) -> None:
        self._file, self.said, self.note = file, said, note

    def add(self, said: Said) -> None:
        """Write one line and wait until the disk has it."""
        line = json.dumps(said.record(), ensure_ascii=False, allow_nan=False)
        self._file.write(line.encode("utf-8", "replace") + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.said[said.prompt, said.round] = said


@contextmanager
def open_refinement(folder: Path, prompts: Sequence[Prompt], card: Card) -> Iterator[Record]:
    """The record of the loop in `folder`, held by this process; a new or empty folder becomes a study.

    BadValue where another loop was at work there, or a study that is no loop stands there.
    """
    home = folder / FOLDER
    if not (home / CARD).is_file():
        _begin(folder, prompts, card)
    _check_same(home / CARD, card)
    with (home / REPLIES).open("ab") as file:
        _hold(file, folder)
        lines, torn = _whole((home / REPLIES).read_bytes())
        if torn:
            file.truncate(sum(map(len, lines)))
        said = [_parsed(line, f"{home / REPLIES}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
        note = "the last reply on record was torn by an interrupted run; it is asked for again" if torn else None
        yield Record(file, {(one.prompt, one.round): one for one in said}, note)


def read_replies(folder: Path) -> dict[tuple[str, int], Said]:
    """What was said so far, by prompt and round; for those who only look."""
    path = folder / FOLDER / REPLIES
    lines, _ = _whole(path.read_bytes()) if path.is_file() else ([], b"")
    said = [_parsed(line, f"{path}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
    return {(one.prompt, one.round): one for one in said}


def _hold(file: IO[bytes], folder: Path) -> None:
    if fcntl is None:  # pragma: no cover - see above
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise BadFile(
            "one run at a time may be at work on a loop",
            found="another run that is at work there now",
            where=str(folder),
            remedy="wait until it is done, or stop it; or choose another -o",
        ) from None


def _begin(folder: Path, prompts: Sequence[Prompt], card: Card) -> None:
    if is_study(folder) and not _is_bare(folder):
        raise BadFile(
            "a new folder, or that of an earlier loop, is needed", found="a study that is no loop", where=str(folder),
            remedy="choose another -o; nothing was changed",
        )  # fmt: skip
    if not is_study(folder):
        save_study(Study.build(folder.resolve().name, [], tables={"prompts": list(prompts)}), folder)
    home = folder / FOLDER
    home.mkdir(exist_ok=True)
    with whole_file(home / CARD) as file:
        file.write(json.dumps(card.model_dump(mode="json"), indent=1).encode())


def _is_bare(folder: Path) -> bool:
    """Whether a killed run left a study and nothing else yet."""
    return not any(path.suffix != ".toml" and path.stem != "prompts" and path.name != FOLDER
                   for path in folder.iterdir() if not path.name.startswith(("README", ".")))  # fmt: skip


def _check_same(path: Path, card: Card) -> None:
    try:
        before = Card.parse(json.loads(path.read_bytes()), where=str(path))
    except ValueError as error:
        raise BadFile("the card of a loop, as JSON, is needed", found=error, where=str(path)) from None
    changed = [name for name in Card.model_fields if getattr(before, name) != getattr(card, name)]
    if changed:
        name = changed[0]
        raise BadValue(
            f"a loop goes on with the {name} it began with: {getattr(before, name)}",
            found=getattr(card, name),
            where=str(path.parent.parent),
            remedy="choose another -o for another loop",
        )


def _whole(data: bytes) -> tuple[list[bytes], bytes]:
    """The finished lines, and what a killed run left of one more."""
    lines = data.splitlines(keepends=True)
    torn = lines.pop() if lines and not (lines[-1].endswith(b"\n") and _is_json(lines[-1])) else b""
    return lines, torn


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return not line.strip()
    return True


def _parsed(line: bytes, where: str) -> Said:
    try:
        return Said.parse(json.loads(line), where=where)
    except ValueError as error:
        raise BadFile("a reply on record is needed", found=error, where=where,
                      remedy="remove the line: its picture is then looked at again") from None  # fmt: skip
