"""What scorers of pictures share: opening items, the part of the prompt they may read, and honest gaps.

A scorer of pictures is a function from what is shown to results. Around it: items whose picture cannot be opened, or
whose prompt lacks the parts to be read, are left unscored with the reason, and the others go through in batches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from PIL import Image

from salon.errors import BadFile, BadValue
from salon.store.pictures import read_bytes, read_picture
from salon.study import Item, Prompt
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature

TextInput = Literal["intent", "full"]
"""What a scorer reads of a prompt: the client's sentence alone, or all of it."""


class Scored(NamedTuple):
    """A number, and its own standard deviation where the scorer states one."""

    value: float
    sigma: float | None = None


class Unscored(NamedTuple):
    """No number, and why."""

    reason: str


Result = Scored | Unscored


@dataclass(frozen=True)
class Shown:
    """What a scorer gets of one item."""

    image: Image.Image
    prompt: Prompt | None
    text: str
    """The part of the prompt it may read; empty for scorers of pictures alone."""
    path: Path
    sha256: str
    """Of the picture's bytes."""


Measure = Callable[[Sequence[Shown]], Sequence[Result]]


class PictureScorer:
    """A scorer made of one function over pictures and prompts.

    `item.image` is the path of the picture: absolute, or from the current folder (`score_study` makes it whole).
    """

    def __init__(self, name: str, card: ScorerCard, signature: Signature, measure: Measure, *, batch: int = 8) -> None:
        if batch < 1:
            raise BadValue("a batch holds one item or more", found=batch, where=name)
        self.name, self.card, self.signature, self.batch = name, card, signature, batch
        self._measure = measure

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """One number per item, None where it could not be scored."""
        return [found.value if isinstance(found, Scored) else None for found in self.results(items, prompts)]

    def results(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[Result]:
        """One number per item with its sigma, or the reason why there is none."""
        shown = [self._shown(item, prompt) for item, prompt in zip(items, prompts, strict=True)]
        found: list[Result] = [one if isinstance(one, Unscored) else Unscored("not reached") for one in shown]
        able = [(place, one) for place, one in enumerate(shown) if isinstance(one, Shown)]
        for (place, _), result in zip(able, self.look([one for _, one in able]), strict=True):
            found[place] = result
        return found

    def look(self, shown: Sequence[Shown]) -> list[Result]:
        """The same for pictures that are open already."""
        parts = (shown[start : start + self.batch] for start in range(0, len(shown), self.batch))
        return [result for part in parts for result in self._measure(part)]

    def key(self, item: Item, prompt: Prompt | None) -> str | None:
        """All that the result depends on: signature, picture, and the prompt where it is read; None without a file."""
        try:
            picture = hashlib.sha256(read_bytes(Path(item.image or ""))).hexdigest()
        except BadFile:
            return None
        told = "" if self.card.reads == "image" or prompt is None else json.dumps(prompt.record(), sort_keys=True)
        return f"{self.signature}|{picture}|{hashlib.sha256(told.encode()).hexdigest()[:16]}"

    def _shown(self, item: Item, prompt: Prompt | None) -> Shown | Unscored:
        if item.image is None:
            return Unscored("the item has no picture")
        text = ""
        if self.card.reads != "image":
            if prompt is None:
                return Unscored("the item has no prompt, and the scorer reads one")
            try:
                text = prompt.view(self.card.view)
            except BadValue as error:
                return Unscored(f"{error.needed}: {error.found}")
        try:
            picture = read_picture(Path(item.image))
        except BadFile as error:
            return Unscored(f"the picture cannot be read: {error.found}")
        return Shown(picture.image, prompt, text, Path(item.image), picture.sha256)


def parts_read(text: TextInput) -> tuple[Literal["intent"], ...]:
    """The parts of a prompt that a scorer's card names for this setting; none stands for all."""
    return ("intent",) if text == "intent" else ()
