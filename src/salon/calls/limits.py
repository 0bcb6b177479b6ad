"""How hard and how long a server may be asked."""

from __future__ import annotations

from pydantic import Field

from salon.study.noun import Noun


class Limits(Noun):
    """Times are seconds. Each field holds for one client; concurrency and rate hold for each host by itself."""

    concurrency: int = Field(default=32, ge=1, le=1000)
    """Most requests in flight."""
    start: int = Field(default=4, ge=1)
    """Requests in flight at first; the number then follows the server."""
    per_minute: float | None = Field(default=None, gt=0)
    """Most requests begun in any minute, evenly spaced; None for no limit."""
    connect: float = Field(default=10, gt=0)
    """For the connection to be made."""
    read: float = Field(default=120, gt=0)
    """For the next byte to come."""
    total: float = Field(default=300, gt=0)
    """For one request as a whole."""
    attempts: int = Field(default=6, ge=1)
    """Most requests for one call."""
    unusable: int = Field(default=2, ge=1)
    """Most answers bought for one call when none of them can be used."""
    patience: float = Field(default=900, gt=0)
    """For one call with all its attempts and waits."""
    first_wait: float = Field(default=0.5, gt=0)
    """Longest wait before the second attempt; it doubles with every further one."""
    longest_wait: float = Field(default=60, gt=0)
    """Longest wait of our own choice; a server's Retry-After is honoured whatever it says, within `patience`."""
    largest: int = Field(default=64 * 2**20, ge=1)
    """Most bytes of one answer, unpacked."""
    grace: float = Field(default=5, ge=0)
    """For requests in flight to come home when the run is stopped; what they bring is stored."""
