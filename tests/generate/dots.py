"""A generator for tests: draws small pictures that depend on prompt and seed alone, and counts what it draws.

python dots.py COUNTS PAUSE generate ...      the command line, with `dots` in place of the houses
"""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from PIL import Image

from salon.study import Abilities, Ask, FailedPicture, GeneratedPicture, Signature


def png(width: int = 24, height: int = 32, color: tuple[int, int, int] = (200, 80, 40)) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (width, height), color).save(target, "PNG")
    return target.getvalue()


class Dots:
    """Deterministic and fast; `answer` may put something else in place of a picture."""

    def __init__(
        self,
        name: str = "dots",
        *,
        answer: Callable[[Ask], GeneratedPicture | FailedPicture | None] | None = None,
        counts: Path | None = None,
        pause: float = 0.0,
        version: int = 1,
        **abilities: object,
    ) -> None:
        self.name = name
        self.abilities = Abilities(**({"seeded": True, "offline": True} | abilities))
        self.signature = Signature(method=name, settings={"version": version}, version="test")
        self.asked: list[str] = []
        self._answer, self._counts, self._pause = answer, counts, pause

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        for index in reversed(range(len(asks))):  # not in the order of asking: nothing may depend on it
            ask = asks[index]
            self._note(f"{ask.prompt.id}/{self.name}/{ask.seed}")
            time.sleep(self._pause)
            yield index, (self._answer and self._answer(ask)) or self._drawn(ask)

    def _note(self, item: str) -> None:
        self.asked.append(item)
        if self._counts is not None:
            with self._counts.open("a") as file:
                file.write(f"{item}\n")

    def _drawn(self, ask: Ask) -> GeneratedPicture:
        hue = hashlib.sha256(f"{self.signature}{ask.prompt.view()}{ask.seed}".encode()).digest()
        image = png(ask.width or 24, ask.height or 32, (hue[0], hue[1], hue[2]))
        return GeneratedPicture(image=image, facts={"cost": 0.01}, layout='{"elements": []}')


def from_environment() -> Dots:
    """For `--generator python:dots:from_environment`: counts into the file DOTS_COUNTS, draws DOTS_PAUSE seconds."""
    return Dots(counts=Path(os.environ["DOTS_COUNTS"]), pause=float(os.environ.get("DOTS_PAUSE", "0")))
