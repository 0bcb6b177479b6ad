"""A studio to look at: posters drawn by the houses, served on a free port, and raters made up to fill it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from salon.collect import RaterQuestion, RawAnswer, ShownTask, Studio
from salon.collect.questions import RaterScreen
from salon.generate import GenerateSettings, generate_items, house_generator
from salon.store import open_study, save_study
from salon.study import Criterion, Prompt, Study
from salon.web.app import create_app
from salon.web.server import listen
from salon.web.settings import WebSettings


def draw_study(
    folder: Path, name: str, prompts: Sequence[Prompt], houses: Sequence[str], criteria: Sequence[Criterion], size: str
) -> Study:
    """A study of posters, one of each house for each brief."""
    generate_items(prompts, [house_generator(house) for house in houses], GenerateSettings(size=size), folder)
    drawn = open_study(folder)
    tables = {kind: drawn.table(kind) for kind in ("prompts", "items")}
    study = Study.build(name, criteria, tables=tables)
    save_study(study, folder, overwrite=True)
    return study


@contextmanager
def served(studio: Studio) -> Iterator[str]:
    """The address of the studio while it is served; a port that is held from the first moment, nobody else can take."""
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        app = create_app(studio, WebSettings(folder=studio.folder, port=port))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            if not thread.is_alive():
                raise RuntimeError("the studio ended before it was open")
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()


class MadeUpRater:
    """Somebody who likes items by their `worth`, with noise, and answers through the studio at made-up times."""

    def __init__(
        self, studio: Studio, rater: str, worth: Mapping[str, float], now: int, rng: np.random.Generator
    ) -> None:
        self.studio, self.rater, self.worth, self.now, self.rng = studio, rater, worth, now, rng
        self.noise, self.pace = 0.25, 1.0

    def come_in(self) -> None:
        """Everything before the first question."""
        settings = self.studio.settings
        self.studio.welcome(self.rater, now=self.now)
        self.studio.consent(self.rater, settings.consent.version, now=self.now)
        self.studio.screener(self.rater, {one.id: one.accept[0] for one in settings.screener})
        self.studio.profile(self.rater, {})
        self.studio.next(self.rater, now=self.now)
        self.now += round(settings.times.guidelines * 1000)
        self.studio.read_guidelines(self.rater, now=self.now)

    def work(self, most: int = 10_000, *, until: str | None = None) -> None:
        """Answer until the rest, the end, the phase `until`, or `most` answers."""
        for _ in range(most):
            task = self.studio.next(self.rater, now=self.now)
            if not isinstance(task, ShownTask) or task.shown.question.phase == until:
                return
            self.now += round(1000 * self.pace * self.rng.gamma(4, 1))
            if task.stage == "prompt":
                self.studio.ready(self.rater, task.id, now=self.now)
            self.now += round(1000 * (task.wait + self.pace * self.rng.gamma(4, 3)))
            key = f"{self.rater}-{task.id}-made-up"
            self.studio.submit(self.rater, task.id, self.answer(task.shown), key=key, now=self.now)

    def answer(self, shown: RaterScreen) -> RawAnswer:
        """What this rater says to a screen."""
        return RawAnswer.parse({"answers": {criterion: self._says(shown) for criterion in shown.question.criteria}})

    def _says(self, shown: RaterScreen) -> Any:
        question = shown.question
        seen = [self.worth[item] + self.noise * float(self.rng.normal()) for item in shown.order]
        best = int(np.argmax(seen)) if question.expected_item is None else shown.place(question.expected_item)
        if question.kind == "compare":
            return ("left", "right")[best]
        if question.kind == "rank":
            return [[int(place)] for place in np.argsort(seen)[::-1]]
        return best if question.kind == "choose" else self._says_alone(question, seen[0])

    def _says_alone(self, question: RaterQuestion, seen: float) -> Any:
        if question.expected_value is not None:
            return question.expected_value
        if question.kind in ("rate", "flag"):
            scale = self.studio.criteria[question.criteria[0]].scale
            assert scale is not None
            place = seen if scale.higher_is_better else 1 - seen
            return scale.levels[int(np.clip(place * len(scale.levels), 0, len(scale.levels) - 1))]
        if question.kind == "checklist":
            return [bool(self.rng.random() < 0.8) for _ in question.points]
        return [0, 3] if question.kind == "regions" else "the red of the brief is missing"
