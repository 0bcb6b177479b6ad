"""Draw the contact sheets that the README and docs/methods/built-in-generators.md show: `python -m tools.sheets`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from salon.generate import builtin_briefs
from salon.generate.houses import HOUSES, poster_seed
from salon.render import DEFECTS, Brief, Poster, draw_poster
from salon.render.paint.raster import paint
from salon.render.typeset.fonts import load_font

DOCS = Path(__file__).parent.parent / "docs"
TWELVE = (
    "night-market", "warehouse-rave", "silent-film", "bicycle-sunday", "mooncake", "game-jam",
    "robot-fair", "masquerade", "last-tram", "balloon-festival", "monsoon-reading", "beekeepers",
)  # fmt: skip
"""Built-in briefs of posters, all drawn by the house `proof`."""
STRENGTH = 0.9
PAPER, INK, GAP, LABEL = "#f5f4ee", "#333333", 24, 26


def main() -> None:
    briefs = {brief.id: brief for brief in builtin_briefs()}
    posters = [_proof(briefs[f"posters-{name}"]) for name in TWELVE]
    _write(DOCS / "posters.jpg", [(None, poster) for poster in posters], columns=6, width=1500)
    market = briefs["posters-night-market"].model_copy(update={"headline_at": "top", "align": "left"})
    flawed = [(kind, draw_poster(market, seed=3, knobs={kind: STRENGTH})) for kind in DEFECTS]
    _write(
        DOCS / "methods" / "defects.jpg", [("no defect", draw_poster(market, seed=3)), *flawed], columns=7, width=1500
    )


def _proof(brief: Brief) -> Poster:
    return draw_poster(brief, HOUSES["proof"].habits, seed=poster_seed("proof", brief.id, 0))


def _write(path: Path, posters: Sequence[tuple[str | None, Poster]], *, columns: int, width: int) -> None:
    """Posters of one size in rows, each below its label."""
    across = (width - GAP * (columns + 1)) // columns
    layout = posters[0][1].layout
    down = round(across * layout.height / layout.width)
    label = LABEL if posters[0][0] else 0
    rows = -(-len(posters) // columns)
    sheet = Image.new("RGB", (width, rows * (down + label + GAP) + GAP), PAPER)
    font = ImageFont.truetype(str(load_font("Inter:400").file), 16)
    for number, (name, poster) in enumerate(posters):
        x, y = GAP + (number % columns) * (across + GAP), GAP + (number // columns) * (down + label + GAP)
        if name:
            ImageDraw.Draw(sheet).text((x, y), name, INK, font)
        sheet.paste(_small(poster, across, down), (x, y + label))
    sheet.save(path, quality=86, optimize=True, progressive=True)
    print(f"wrote {path.name}, {path.stat().st_size:,} bytes")


def _small(poster: Poster, width: int, height: int) -> Image.Image:
    pixels: np.ndarray = paint(poster.layers, poster.layout.width, poster.layout.height)
    return Image.fromarray(pixels).resize((width, height), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    main()
