"""What answers a question about pictures: the interface every VLM has, what it is asked and what it gives back.

A VLM knows nothing of criteria and orders; the protocol (`salon.judge.protocol`) makes conversations of a
study's questions and reads verdicts out of the replies, the same for a hosted model, one in this process, a script and
a simulation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from salon.study import Noun, Signature

MOST_REPLY_TOKENS = 65_536
"""Tokens of the longest reply that is asked for because shorter ones were cut off."""


class Sight(Noun):
    """A picture in a conversation."""

    item: str
    path: Path
    """Where its file is; it is read, and made smaller, only when the conversation is sent."""


class Decoding(Noun):
    """How the VLM chooses its words."""

    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=512, ge=1)
    seed: int | None = None


class Conversation(Noun):
    """One question as the VLM gets it: texts and pictures in this order, as one message of the user's."""

    parts: tuple[str | Sight, ...]
    system: str | None = None
    options: tuple[str, ...] = ()
    """The answers on the menu, where the question has one; their log-probabilities are given back if the VLM can."""
    shape: dict[str, Any] | None = None
    """JSON schema of the answer, for endpoints that can hold a VLM to one."""
    decoding: Decoding = Decoding()
    sample: int = Field(default=0, ge=0)
    """Number of the sample where one question is asked several times."""
    about: tuple[str, ...] = ()
    """The criteria asked about, by id: for scripts and simulations. Never sent, and no part of what is asked."""
    point: str | None = None
    """The point of a checklist asked about, likewise."""

    @property
    def sights(self) -> tuple[Sight, ...]:
        """The pictures, in the order they are shown."""
        return tuple(part for part in self.parts if isinstance(part, Sight))


class Reply(Noun):
    """What the VLM said."""

    text: str
    cut: bool = False
    """True when it was stopped by the token limit."""
    chances: dict[str, float] | None = None
    """Log-probability of each option as the next words of the answer, where the VLM gives them."""
    model: str | None = None
    """The model as the server names it: it may be newer than the name that was asked for."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    seconds: float | None = None
    at: str | None = None
    """When it was given, UTC, ISO 8601: the same for an answer that was kept. None for scripts and simulations."""
    stored: bool = False
    """True when it was known already and nothing was asked."""


class NoReply(Noun):
    """A question that stayed without an answer, and why; recorded, never guessed."""

    kind: str
    """A word to count by: refused, too-long, timeout, broken-image, budget, error."""
    reason: str
    """One sentence for people."""


@runtime_checkable
class Vlm(Protocol):
    """A system that answers questions about pictures."""

    @property
    def name(self) -> str:
        """Becomes the judge's id among the raters."""
        ...

    @property
    def signature(self) -> Signature:
        """What would have to be equal for the same conversation to get the same reply."""
        ...

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index into `conversations`, result) for each exactly once, in the order they are finished.

        Lazy on both sides: conversations are read a little ahead of the results. Exceptions are for what stops the
        whole run (a wrong key, an unknown model, a spent budget).
        """
        ...


@runtime_checkable
class VlmWithContextLimit(Protocol):
    """A VLM that can tell before it is asked which questions it could not take."""

    def too_long(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, str]]:
        """(index into `conversations`, reason) of each that leaves no room for its answer. Nothing is answered."""
        ...
