"""What the scoring service decided, and what people said later: one log that only grows.

    log = DecisionLog(DecisionSettings(folder=Path("log")))
    id = log.record(Decision(endpoint="pick", model="taste@1f2e...", pictures=(sha, ...), chosen=0, why="..."))
    log.feedback(Feedback(decision=id, rater="ana", criterion="overall", chosen=sha), owner="team")

A decision holds hashes of pictures, never pictures; the prompt's text only where the setting says so; the name of the
token that asked, never the token; no path of the machine. `record` comes back when the line is on the disk.

A later human choice is a `Choice` of 1 of n: that is the question the person was asked. `feedback_study` gives the
choices as a study.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from salon.errors import BadValue, ConflictingJudgment, UnknownReference
from salon.store import AppendLog, log_files, log_lines
from salon.study import Noun

LOG_NAME = "decisions"
KeepPrompt = Literal["text", "hash", "none"]


class DecisionSettings(BaseModel):
    """How decisions are kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: Path = Field(description="Folder of the log; one service writes to it.")
    keep_prompt: KeepPrompt = Field("hash", description="What is kept of a prompt: its text, its hash, or nothing.")
    rotate_bytes: int = Field(64 << 20, ge=4096, description="A file of the log that has grown to this is followed.")
    sync: bool = Field(True, description="Flush to the disk before an answer goes out.")


class Decision(Noun):
    """One answer of the service. Values are by criterion, one for each picture in the order they were sent."""

    id: str | None = None
    """Given by the log."""
    at: str | None = None
    """When, ISO 8601; given by the log."""
    endpoint: str
    owner: str = ""
    """The name of the token that asked; the token itself is never written."""
    model: str = ""
    """Name and version of the scorer."""
    pictures: tuple[str, ...] = ()
    """SHA-256 of each picture's bytes."""
    prompt: str | None = Field(default=None, description="Id of the prompt.")
    prompt_sha256: str | None = None
    values: dict[str, tuple[float | None, ...]] = Field(default_factory=dict)
    sigmas: dict[str, tuple[float | None, ...]] = Field(default_factory=dict)
    weights: dict[str, float] = Field(default_factory=dict)
    chosen: int | None = Field(None, ge=0)
    """Place of the picture that was chosen; None where none was, or nothing was to be chosen."""
    ties: tuple[int, ...] = ()
    why: str = Field(default="", description="The ground, in a sentence.")
    facts: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    """What else an endpoint wants to be remembered: thresholds, versions."""


class Feedback(Noun):
    """What a person chose afterwards among the pictures of a decision."""

    id: str | None = None
    at: str | None = None
    decision: str
    chosen: str | int
    """Hash of a picture, or its place in the decision."""
    rater: str = Field(min_length=1, max_length=200)
    criterion: str = Field(min_length=1, max_length=200)
    reason: str | None = Field(None, max_length=10_000)


class UnknownDecision(UnknownReference):
    """No decision of that id, or none of yours."""


class PictureNotInDecision(UnknownReference):
    """The picture chosen is not one of the decision's."""


class DecisionLog:
    """The log of one running service."""

    def __init__(self, settings: DecisionSettings) -> None:
        self.settings = settings
        self._log = AppendLog(settings.folder, LOG_NAME, rotate_bytes=settings.rotate_bytes, sync=settings.sync)
        self._said = {_question(line): str(line.id) for line in feedback_lines(settings.folder)}
        self._turn = threading.Lock()

    @property
    def mended(self) -> int:
        """Bytes of a torn last line that opening cut off."""
        return self._log.mended

    def record(self, decision: Decision) -> str:
        """Keep a decision; its id, when it is on the disk."""
        text = decision.prompt
        digest = None if text is None else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        keep = self.settings.keep_prompt
        prompt_fields = {
            "prompt": text if keep == "text" else None,
            "prompt_sha256": None if keep == "none" else digest,
        }
        stored = decision.model_copy(update={"id": None, "at": _now(), **prompt_fields})
        fields = {name: value for name, value in stored.record().items() if value not in ("", [], {})}
        return self._log.append({"kind": "decision", **fields})

    def find(self, id: str, owner: str) -> Decision:
        """The decision of this id, for whoever asked for it; to all others it does not exist."""
        line = self._log.find(id)
        if line is None or line.pop("kind", None) != "decision" or line.get("owner", "") != owner:
            raise UnknownDecision(
                "the id of one of your decisions is needed", found=repr(id), remedy="it is in the answer, as decision"
            )
        return Decision.parse(line)

    def feedback(self, choice: Feedback, *, owner: str) -> tuple[Feedback, bool]:
        """Keep a later choice; what is kept, and whether it is new. The same answer twice is one answer.

        Another answer of the same rater to the same question is ConflictingJudgment: what was said stays said.
        """
        # a name that no study takes would keep all other lines from becoming a study
        for name, value in (("rater", choice.rater), ("criterion", choice.criterion)):
            if not value.strip() or not value.isprintable():
                raise BadValue(
                    "a name that can be seen is needed", found="blanks, or characters nobody sees", where=name
                )
        decision = self.find(choice.decision, owner)
        whole = choice.model_copy(update={"id": None, "at": _now(), "chosen": chosen_picture(decision, choice.chosen)})
        with self._turn:
            earlier_id = self._said.get(_question(whole))
            if earlier_id is not None:
                earlier = self._kept(earlier_id)
                if earlier.chosen != whole.chosen:
                    raise ConflictingJudgment(
                        "one answer of a rater to a question is needed", found="another one, kept before",
                        remedy="what was said first stays; ask again as another decision",
                    )  # fmt: skip
                return earlier, False
            id = self._said[_question(whole)] = self._log.append({"kind": "feedback", **whole.record()})
        return whole.model_copy(update={"id": id}), True

    def _kept(self, id: str) -> Feedback:
        """A choice from the disk: reasons may be long, and there may be millions of them."""
        line = self._log.find(id)
        if line is None:
            raise UnknownReference("a log that keeps what was said is needed", found=f"no line {id}", where=LOG_NAME)
        line.pop("kind", None)
        return Feedback.parse(line)

    def said(self) -> Sequence[Feedback]:
        """All later choices, oldest first, from the disk."""
        return tuple(feedback_lines(self.settings.folder))

    def close(self) -> None:
        """Let another process write."""
        self._log.close()


def chosen_picture(decision: Decision, chosen: str | int) -> str:
    """The hash of the picture that was chosen; NotAmong where it is none of the decision's."""
    different = set(decision.pictures)
    if isinstance(chosen, int) and 0 <= chosen < len(decision.pictures):
        chosen = decision.pictures[chosen]
    if not isinstance(chosen, str) or chosen not in different:
        raise PictureNotInDecision(
            "one of the pictures of the decision is needed", found=repr(chosen),
            remedy=f"its SHA-256, or its place from 0 to {len(decision.pictures) - 1}",
        )  # fmt: skip
    if len(different) < 2:
        raise BadValue("a decision among two different pictures or more is needed", found="a single picture")
    return chosen


# -- reading a log -----------------------------------------------------------------------------------------------------


def decision_lines(folder: Path) -> Iterator[Decision]:
    """All decisions of a log, oldest first."""
    for line in _lines(folder, "decision"):
        yield Decision.parse(line, where=str(folder))


def feedback_lines(folder: Path) -> Iterator[Feedback]:
    """All later choices of a log, oldest first."""
    for line in _lines(folder, "feedback"):
        yield Feedback.parse(line, where=str(folder))


def check_log(folder: Path) -> None:
    """UnknownReference unless `folder` holds a decision log."""
    if not folder.is_dir() or not log_files(folder, LOG_NAME):
        raise UnknownReference(
            "the folder of a decision log is needed", found="none there", where=str(folder),
            remedy="salon serve-scores writes one with --log FOLDER",
        )  # fmt: skip


def _lines(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """Lines of one kind; those of others are not even parsed."""
    lines = log_lines(folder, LOG_NAME, holding=f'"kind":"{kind}"'.encode())
    return (line for line in lines if line.pop("kind", None) == kind)


def _question(choice: Feedback) -> bytes:
    """What was asked of whom, as 16 bytes: all of them are remembered for as long as the service runs."""
    identity = json.dumps([choice.decision, choice.rater, choice.criterion])
    return hashlib.blake2b(identity.encode(), digest_size=16).digest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
