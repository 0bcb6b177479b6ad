"""What a scoring service may say instead of an answer.

SalonError
├── InputError
│   └── BadPicture         one of the pictures sent cannot be read
├── UnknownVersion         no model of that version is loaded
├── LoadFailed             a model could not be loaded; what served before serves on
├── LoadRefused            a model that may not be loaded over HTTP
├── Loading                another model is being loaded
├── QueueFull              more pictures wait than may; says how long to wait
└── TooLate                no answer within the time a request has
"""

from __future__ import annotations

import math

from salon.errors import InputError, SalonError


class BadPicture(InputError):
    """One of the pictures sent cannot be read."""


class UnknownVersion(SalonError):
    """No model of that version is loaded."""


class LoadFailed(SalonError):
    """A model could not be loaded; what served before serves on."""


class LoadRefused(SalonError):
    """A model that may not be loaded over HTTP."""


class Loading(SalonError):
    """Another model is being loaded."""


class QueueFull(SalonError):
    """More pictures wait than may."""

    def __init__(self, found: str, *, wait: float) -> None:
        self.wait = max(1, math.ceil(wait))
        super().__init__("fewer requests at once are needed", found=found, remedy=f"try again in {self.wait} seconds")


class TooLate(SalonError):
    """No answer within the time a request has."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"an answer within {seconds:g} seconds is needed",
            found="none yet",
            remedy="send fewer pictures at once, or try again when the service has less to do",
        )
