"""What becomes of a total when a place of the picture is covered: a map of where the scorers look.

One place of a grid after the other is painted over with the picture's mean color, and the scorers look again. A covered
picture is unlike those that the scorers learned from, so the map is a hint and no proof.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from salon.judge.score import results_of
from salon.judge.scorers.picture import Scored
from salon.select.explain import Occlusion
from salon.select.weights import Blend
from salon.store.pictures import read_picture
from salon.study import Item, Prompt, Scorer


def occlusion(
    picture: Path, prompt: Prompt | None, scorers: Sequence[Scorer], made: Blend, total: float, grid: int
) -> Occlusion:
    """The total less that of the picture with each of grid x grid places covered; None where that has no total."""
    image = read_picture(picture).image
    values = np.full((grid * grid, len(scorers)), np.nan)
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:
        asked = [
            (Item(id=str(n), image=str(path)), prompt) for n, path in enumerate(_covered(image, grid, Path(folder)))
        ]
        for d, (scorer, term) in enumerate(zip(scorers, made.terms, strict=True)):
            if term.share > 0:
                found = results_of(scorer, asked)
                values[:, d] = [one.value if isinstance(one, Scored) else math.nan for one in found]
    drops = total - made.totals(values)
    rows = drops.reshape(grid, grid).tolist()
    return Occlusion(grid=grid, drops=tuple(tuple(one if math.isfinite(one) else None for one in row) for row in rows))


def _covered(image: Image.Image, grid: int, folder: Path) -> Iterator[Path]:
    """The picture with one place covered, row by row; files, for scorers open files."""
    width, height = image.size
    paint = tuple(int(part) for part in np.asarray(image).reshape(-1, 3).mean(axis=0).round())
    for row in range(grid):
        for column in range(grid):
            box = (width * column // grid, height * row // grid,
                   width * (column + 1) // grid, height * (row + 1) // grid)  # fmt: skip
            one = image.copy()
            if box[2] > box[0] and box[3] > box[1]:
                one.paste(paint, box)
            path = folder / f"{row}-{column}.png"
            one.save(path, compress_level=1)
            yield path
