"""Answer comparisons of a running studio, and erase a rater, over its API (docs/guide/collect.md)."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2


@contextmanager
def enter(link: str) -> Iterator[httpx2.Client]:
    """A session of a rater, or of the owner."""
    with httpx2.Client(base_url=link.partition("/enter/")[0], follow_redirects=True) as client:
        client.get(link).raise_for_status()
        client.headers["X-CSRF-Token"] = client.get("/api/me").json()["csrf"]
        yield client


def always_left(link: str) -> int:
    """Answer every comparison of a rater; how many there were."""
    answered = 0
    with enter(link) as rater:
        step = rater.get("/api/next").json()
        while step["step"] == "task":
            if step["stage"] == "prompt":
                step = rater.post(f"/api/tasks/{step['id']}/ready").json()
                continue
            given = {"answers": {criterion["id"]: "left" for criterion in step["criteria"]}}
            key = {"Idempotency-Key": uuid.uuid4().hex}  # the same key never saves twice: a request may be sent again
            rater.post(f"/api/tasks/{step['id']}/answer", json=given, headers=key).raise_for_status()
            step, answered = rater.get("/api/next").json(), answered + 1
    return answered


def erase(owner_link: str, rater: str) -> None:
    """Take a rater who withdrew, and all they said, out of the studio."""
    with enter(owner_link) as owner:
        owner.post("/api/owner/raters", json={"rater": rater, "do": "erase"}).raise_for_status()
