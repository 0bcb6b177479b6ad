"""How a public arena is served, and how much of it one place may have."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.web.settings import WebSettings

CONSENT = (
    "Your votes are anonymous and will be published. A cookie keeps them together; your address is kept only as a "
    "keyed hash, against abuse."
)


class ArenaWebSettings(WebSettings):
    """How a public arena is served."""

    port: int = Field(8200, ge=0, le=65535, description="Port to listen on; 0 takes a free one.")
    title: str | None = Field(None, max_length=200, description="What voters read above  [default: the study's name]")
    consent: str = Field(CONSENT, min_length=1, max_length=2000, description="What voters agree to.")
    language: Literal["en", "de"] = Field("en", description="Language of the pages.")
    captcha: str | None = Field(
        None, description="A captcha: an installed plugin or python:MODULE:NAME  [default: a hash puzzle]"
    )
    difficulty: int = Field(
        16, ge=0, le=30, description="Bits of the hash puzzle: a newcomer's browser tries about 2^bits hashes."
    )
    voter_days: float = Field(180, gt=0, description="A voter's cookie is good for so many days.")
    voters_a_day: int = Field(50, ge=1, description="New voters from one address in a day.")
    votes_a_minute: int = Field(20, ge=1, description="Votes of one voter in a minute.")
    votes_an_hour: int = Field(1000, ge=1, description="Votes from one address in an hour.")
    least_seconds: float = Field(0.5, ge=0, description="A vote needs so many seconds after its ballot was dealt.")
    keep_days: float = Field(30, gt=0, description="Keyed hashes of addresses are forgotten after so many days.")

    @property
    def cookie(self) -> str:
        """Name of the voter's cookie."""
        return "__Host-salon-arena" if self.https else "salon-arena"


VOTER_LIMITS = ("title", "consent", "language", "captcha", "difficulty", "voter_days", "voters_a_day",
                "votes_a_minute", "votes_an_hour", "least_seconds", "keep_days")  # fmt: skip
"""Fields that are flags of `salon arena serve`."""
