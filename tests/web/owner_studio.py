"""A studio in which two raters have answered everything, and disagree about some of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from doors import Served
from starlette.testclient import TestClient

from salon.collect import LiveFigures, RawAnswer, ShownTask, Studio, StudioSettings
from salon.collect.studio.figures import compute_figures
from salon.store import Database

START = 1_790_000_000_000


def lowest_first(task: ShownTask) -> str:
    """The item whose id comes first is always the better one."""
    return "left" if task.shown.order[0] < task.shown.order[1] else "right"


def walk(studio: Studio, rater: str, choose: Callable[[ShownTask], Any] = lowest_first, most: int = 100) -> int:
    """Answer what is asked, five seconds for each; how many answers that took."""
    for number in range(most):
        step = studio.next(rater, now=START + 7000 * number)
        if not isinstance(step, ShownTask):
            return number
        given = RawAnswer.model_validate({"answers": dict.fromkeys(step.shown.question.criteria, choose(step))})
        studio.submit(rater, step.id, given, key=f"{rater}-{number}", now=START + 7000 * number + 5000)
    return most


def answer_all(door: Served) -> None:
    """Two raters who agree on the first prompt, and about nothing on the second."""
    walk(door.studio, door.names["zoe"])
    other = {"left": "right", "right": "left"}
    walk(
        door.studio,
        door.names["max"],
        lambda task: lowest_first(task) if task.shown.question.prompt == "p0" else other[lowest_first(task)],
    )


class Here:
    """Computes the live figures in the test's own process, which is quicker to start than another one."""

    def ask(self, database: Database, settings: StudioSettings) -> LiveFigures:
        """The figures as of now."""
        return compute_figures(database, settings)

    def close(self) -> None:
        """Nothing to end."""


def look(studio: Studio) -> LiveFigures:
    """Wait for the newest live figures."""
    studio._worker = Here()  # type: ignore[assignment]
    found = studio.live_check(wait=True).figures
    assert found is not None
    return found


def csrf_of(page: str) -> str:
    """The token in a page's forms."""
    return re.search('name="csrf" value="([^"]+)"', page)[1]  # type: ignore[index]


def field(page: str, name: str) -> str:
    """The value of the first field of that name."""
    return re.search(f'name="{re.escape(name)}" value="([^"]*)"', page)[1]  # type: ignore[index]


class Owner:
    """The owner at a browser without JavaScript."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.csrf = csrf_of(client.get("/owner").text)

    def post(self, path: str, files: Any = None, **fields: Any) -> Any:
        """Send a form of the studio's own."""
        return self.client.post(path, data={"csrf": self.csrf} | fields, files=files)
