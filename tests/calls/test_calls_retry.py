"""What a failure means, and how long to wait after it."""

from __future__ import annotations

import numpy as np
import pytest

from salon.calls import Limits, NotServed, read_error
from salon.calls.errors import QuotaSpent, WrongKey
from salon.calls.transport import RETRY_STATUSES, RetryableError, fatal_error, retry_after, retry_delay


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-2", 0.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 40.0),
        ("Thu, 01 Jan 1970 00:00:10 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("Thu, 99 Jan 1970 00:00:10 GMT", None),
    ],
)
def test_retry_after_in_both_forms(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}, now=60.0) == seconds


def test_waits_are_full_jitter_under_a_doubling_ceiling() -> None:
    limits = Limits(first_wait=1, longest_wait=10)
    rng = np.random.default_rng(0)
    for attempt, ceiling in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (1000, 10)]:
        waits = [retry_delay(attempt, None, limits, rng) for _ in range(2000)]
        assert 0 <= min(waits) < 0.05 * ceiling
        assert 0.95 * ceiling < max(waits) <= ceiling
        assert abs(np.mean(waits) - ceiling / 2) < 4 * ceiling / np.sqrt(12 * 2000)
    assert 7 <= retry_delay(1, 7.0, limits, rng) <= 8


def test_which_statuses_are_tried_again() -> None:
    assert {408, 409, 425, 429, 500, 502, 503, 504, 529} <= RETRY_STATUSES
    assert not {200, 301, 400, 401, 403, 404, 413, 422, 501, 505} & RETRY_STATUSES


@pytest.mark.parametrize(
    ("status", "code", "answered", "error"),
    [
        (401, None, True, WrongKey),
        (429, "insufficient_quota", True, QuotaSpent),
        (404, "model_not_found", False, NotServed),
        (404, None, True, None),
        (400, "moderation_blocked", False, None),
        (429, "rate_limit_exceeded", False, None),
        (500, None, False, None),
    ],
)
def test_what_ends_the_run(status: int, code: str | None, answered: bool, error: type[Exception] | None) -> None:
    stop = fatal_error(RetryableError("x", "reason", status, code), url="https://host/v1", answered=answered)
    assert type(stop) is (error or type(None))


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"error": {"code": "c", "type": "t", "message": "m"}}', ("c", "m")),
        (b'{"error": {"code": null, "type": "t", "message": "m"}}', ("t", "m")),
        (b'{"error": "m"}', (None, "m")),
        (b'{"detail": [{"msg": "m"}]}', (None, "[{'msg': 'm'}]")),
        (b"<html>\n bad   gateway", (None, "<html> bad gateway")),
        (b"\xff\xfe", (None, "\ufffd\ufffd")),
        (b"[1]", (None, "[1]")),
    ],
)
def test_errors_in_every_shape(body: bytes, found: tuple[str | None, str]) -> None:
    assert read_error(body) == found
