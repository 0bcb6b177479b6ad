"""What a failure means: another attempt, the end of this call, or the end of the run; and how long to wait.

Tried again: 408, 409, 425, 429 and 5xx (but 501 and 505); no connection; a connection that broke; a timeout; an answer
that cannot be used (twice at most). The end of the call: any other 4xx, a redirect, an answer that is too large. The
end of the run: 401; no credit; 403, 404, 405 or no connection at all before the first answer ever came.

The wait after attempt k is drawn evenly from 0 to first_wait · 2^(k-1), at most `longest_wait` ("full jitter": it
spreads calls that failed together). Where the server sends Retry-After, as seconds or as a date, it is added.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import numpy as np

from salon.calls.answer import read_error
from salon.calls.errors import CallsStopped, NotServed, QuotaSpent, WrongKey
from salon.calls.limits import Limits

RETRIED = {408, 409, 425, 429, *range(500, 600)} - {501, 505}
OVERLOADED = {429, 503, 529}
OUT_OF_CREDIT = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
ASTRAY = {403, 404, 405}


@dataclass
class Again(Exception):
    """This attempt failed in a way that another may not."""

    kind: str
    reason: str
    status: int | None = None
    code: str | None = None
    retry_after: float | None = None


def complaint(status: int, headers: Mapping[str, str], body: bytes) -> Again:
    """An error status as the attempt's failure, with the server's own words."""
    code, message = read_error(body)
    kind = "busy" if status == 429 else "server" if status >= 500 else "rejected"
    return Again(kind, f"{status}: {message or 'no reason given'}", status, code, retry_after(headers))


def stop_for(failure: Again, *, url: str, answered: bool, keys: Sequence[str] = ()) -> CallsStopped | None:
    """The error that ends the run, if `failure` means that no other call will fare better.

    `answered` tells whether the server has answered any call yet, `keys` which variables hold the keys it was sent.
    """
    told = {"found": failure.reason, "where": url}
    if failure.code in OUT_OF_CREDIT:
        return QuotaSpent("an account with credit is needed", **told, remedy="answers so far are kept: run again")
    if failure.status == 401:
        remedy = f"check the environment variable {' and '.join(keys)}" if keys else "name the variable with the key"
        return WrongKey("a key that the server accepts is needed", **told, remedy=remedy)
    if failure.status in ASTRAY and not answered:
        return NotServed(
            "an address and a model that the server knows are needed", **told, remedy="check base_url and model"
        )
    return None


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds the server asks to wait, from `Retry-After` as a number or as an HTTP date; None when it does not."""
    text = headers.get("retry-after", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - (time.time() if now is None else now)
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def wait_before(attempt: int, asked: float | None, limits: Limits, rng: np.random.Generator) -> float:
    """Seconds to wait after attempt number `attempt`, of which the server asked for `asked`."""
    ceiling = min(limits.longest_wait, limits.first_wait * 2.0 ** min(attempt - 1, 60))
    return (asked or 0.0) + float(rng.uniform(0, ceiling))
