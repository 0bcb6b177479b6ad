"""Made poster tasks: processor milliseconds of one core for an item, from its number to its PNG, warm.

1. An item of every task, mean over tasks of the mean over ITEMS items; the peer is the promise of a thousand items in
   two minutes on two cores, 240 processor milliseconds an item. `per_second` has the items a second of each task,
   `slowest` the three slowest. Limit: copying, filtering and deflating the pixels of the same pictures once.
2. Sheets of simple OCR beside Pillow, which sets the same lines in the same font files and writes PNG at level 1.
   Limit: as above.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from functools import cache

import numpy as np
from isal import isal_zlib
from PIL import Image, ImageDraw, ImageFont

from salon.bench.posters.make.items import MadeItem
from salon.bench.posters.make.sets import MADE, make_item
from salon.bench.posters.make.sheets import HEIGHT, WIDTH
from salon.render import encode_png
from salon.render.paint.png import _filtered
from salon.render.typeset.fonts import load_font

ITEMS, WARM = 34, 3
PROMISE = 240.0


def timed(function: Callable[[int], object], count: int = ITEMS) -> float:
    """Processor milliseconds for one of the items 0 to `count` - 1, after a few that do not count."""
    for number in range(WARM):
        function(ITEMS + number)
    start = time.process_time()
    for number in range(count):
        function(number)
    return 1e3 * (time.process_time() - start) / count


def written(task: str, number: int) -> MadeItem:
    """An item with its PNG."""
    made = make_item(task, number, 0)
    if made.pixels is not None:
        encode_png(made.pixels)
    return made


def least(pictures: list[np.ndarray]) -> float:
    """Milliseconds to copy, filter and deflate a picture, on average."""
    start = time.process_time()
    for pixels in pictures:
        isal_zlib.compress(_filtered(pixels.copy()), 0)
    return 1e3 * (time.process_time() - start) / max(1, len(pictures))


def every_task() -> dict:
    """The line of all tasks."""
    times, limits = {}, []
    for task in MADE:
        times[task] = timed(lambda number, task=task: written(task, number))
        items = [make_item(task, number, 0).pixels for number in range(4)]
        limits.append(least([pixels for pixels in items if pixels is not None]))
    mean = float(np.mean(list(times.values())))
    slowest = sorted(times, key=lambda task: -times[task])[:3]
    extra = {
        "per_second": {task: round(1e3 / one) for task, one in times.items()},
        "slowest": {task: f"{times[task]:.0f} ms" for task in slowest},
        "seconds_per_thousand": round(mean, 1),
    }
    return _line("made posters: every task", mean, "the promise", PROMISE, float(np.mean(limits))) | extra


def simple_sheets() -> dict:
    """The line of simple OCR."""
    items = [make_item("simple_ocr", number, 0) for number in range(ITEMS + WARM)]
    ours = timed(lambda number: written("simple_ocr", number))
    peer = timed(lambda number: by_pillow(items[number]))
    return _line("made posters: simple OCR", ours, "Pillow", peer, least([one.pixels for one in items]))


@cache
def font_of(face: str) -> ImageFont.FreeTypeFont:
    """The font file of a face, opened once, as ours are."""
    return ImageFont.truetype(str(load_font(face).file), 46)


def by_pillow(item: MadeItem) -> bytes:
    """The same lines in the same fonts at the same places, as PNG."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), "#ffffff")
    for row, (text, face) in enumerate(zip(item.truth["gt"], item.truth["font"])):
        ImageDraw.Draw(picture).text((70, 50 + 110 * row), text, "#121214", font_of(face))
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return file.getvalue()


def _line(name: str, ours: float, peer_name: str, peer: float, limit: float) -> dict:
    known = {"name": name, "ours": round(ours, 2), "peer_name": peer_name, "peer": round(peer, 2)}
    return known | {"ratio": round(peer / ours, 2), "limit": round(limit, 2), "unit": "ms"}


def main() -> None:
    """Print the lines."""
    for line in (every_task(), simple_sheets()):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
