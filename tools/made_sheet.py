"""Draw the contact sheet of docs/methods/made-posters.md, an item of every task: `python -m tools.made_sheet`."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from salon.bench import task_named
from salon.bench.posters.make.sets import make_item
from salon.render.typeset.fonts import load_font

SHOWN = {
    "logo_ocr": 3, "poster_ocr": 5, "simple_ocr": 1, "hard_ocr": 3, "font_size_ocr": 4, "font_matching": 1,
    "font_attributes": 10, "font_effect": 8, "font_effect_2": 3, "text_localization": 5, "alignment": 4, "rotation": 6,
    "empty_space": 0, "layout_comparison": 8, "layout_generation": 4, "style_understanding": 11,
    "composition_understanding": 2, "intention_understanding": 2, "overall_rating": 5,
}  # fmt: skip
"""Task to the number of the item, all of seed 0."""
PLACE = Path(__file__).parent.parent / "docs" / "methods" / "made-posters.jpg"
COLUMNS, WIDE, HIGH, GAP, LABEL = 5, 300, 250, 18, 24
PAPER, INK = "#f5f4ee", "#333333"


def main() -> None:
    rows = -(-len(SHOWN) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (WIDE + GAP) + GAP, rows * (HIGH + LABEL + GAP) + GAP), PAPER)
    font = ImageFont.truetype(str(load_font("Inter:400").file), 15)
    for at, (task, number) in enumerate(SHOWN.items()):
        x, y = GAP + at % COLUMNS * (WIDE + GAP), GAP + at // COLUMNS * (HIGH + LABEL + GAP)
        ImageDraw.Draw(sheet).text((x, y), task_named(task).title, INK, font)
        picture = Image.fromarray(make_item(task, number, 0).pixels)
        picture.thumbnail((WIDE, HIGH), Image.Resampling.LANCZOS)
        sheet.paste(picture, (x, y + LABEL))
    sheet.save(PLACE, quality=80, optimize=True, progressive=True)
    print(f"wrote {PLACE.name}, {PLACE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
