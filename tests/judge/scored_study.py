"""Small studies with pictures, for scorers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from salon.judge import MissingScore, PictureScore, PictureScorer, ScoreResult, ScorerInput
from salon.store import save_study
from salon.study import Criterion, Item, Prompt, ScorerCard, Signature, Study

COLORS = ("red", "teal", "gold", "navy")


def study_in(folder: Path, *, broken: bool = True) -> Study:
    """Two prompts of four pictures; the last item of a third kind has a broken picture, or none."""
    pictures = folder / "images"
    prompts = [Prompt(id="p0", intent="a fair", description="by the sea"), Prompt(id="p1", text="a tea house")]
    items = []
    for prompt in prompts:
        for color in COLORS:
            place = pictures / prompt.id / f"{color}.png"
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (24, 32), color).save(place)
            items.append(Item(id=f"{prompt.id}-{color}", prompt=prompt.id, image=str(place.relative_to(folder))))
    if broken:
        (pictures / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno more")
        items += [Item(id="broken", prompt="p0", image="images/broken.png"), Item(id="bare", prompt="p0")]
    study = Study.build(
        "s", [Criterion(id="c", name="C", question="Which?")], tables={"prompts": prompts, "items": items}
    )
    save_study(study, folder, overwrite=True) if (folder / "study.toml").exists() else _save(study, folder)
    return study


def _save(study: Study, folder: Path) -> None:
    place = folder.with_name(folder.name + "-tables")
    save_study(study, place)
    for file in place.iterdir():
        file.rename(folder / file.name)


class Redness:
    """The mean of the red channel, counted."""

    def __init__(self, reads: str = "image", **card: object) -> None:
        self.looked: list[str] = []
        self.scorer = PictureScorer(
            "redness", ScorerCard(reads=reads, **card), Signature(method="redness", version="test"), self._look, batch=2
        )

    def _look(self, shown: Sequence[ScorerInput]) -> list[ScoreResult]:
        self.looked += [one.sha256 for one in shown]
        return [self._red(one) for one in shown]

    def _red(self, shown: ScorerInput) -> ScoreResult:
        red = float(np.asarray(shown.image)[..., 0].mean())
        return MissingScore("no red in it") if red == 0 else PictureScore(red / 255 + len(shown.text), 0.1)
