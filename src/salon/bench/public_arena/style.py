"""What pictures of an arena look like whatever they show: size, brightness, color. Measured once, kept as scores.

    size          log of the megapixels
    brightness    mean of sqrt(.299 R^2 + .587 G^2 + .114 B^2), from 0 to 1
    color         colorfulness: sqrt(sd(rg)^2 + sd(yb)^2) + .3 sqrt(mean(rg)^2 + mean(yb)^2), rg = R - G,
                  yb = (R + G)/2 - B, from 0 (gray) to about 1.5

Source: Finley 2006 (HSP) for brightness; Hasler & Suesstrunk 2003 for color.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from salon.errors import BadFile
from salon.judge import SCORES_FOLDER, scores_file
from salon.store import read_bytes, read_picture, whole_file
from salon.study import Study

STYLES = ("size", "brightness", "color")
_LONGEST = 256


def measure_styles(image: Image.Image) -> dict[str, float]:
    """Size, brightness and color of one picture."""
    size = math.log(image.width * image.height / 1e6)
    small = image.convert("RGB")
    small.thumbnail((_LONGEST, _LONGEST), Image.Resampling.BOX)
    red, green, blue = np.moveaxis(np.asarray(small, np.float64) / 255, 2, 0)
    bright = np.sqrt(0.299 * red**2 + 0.587 * green**2 + 0.114 * blue**2).mean()
    one, two = red - green, (red + green) / 2 - blue
    color = math.hypot(one.std(), two.std()) + 0.3 * math.hypot(one.mean(), two.mean())
    return {"size": size, "brightness": float(bright), "color": color}


def record_styles(study: Study, folder: Path, names: Sequence[str], *, progress: Callable[[str], None]) -> None:
    """Measure those styles among `names` that the study in `folder` has no scores of yet, and keep them there."""
    place = folder / SCORES_FOLDER
    missing = [name for name in names if name in STYLES and not scores_file(place, name).is_file()]
    if not missing:
        return
    items, rows = list(study.nouns("items")), []
    for count, item in enumerate(items):
        progress(f"style of picture {count + 1:,} of {len(items):,}")
        try:
            path = None if item.image is None else folder / item.image
            rows.append({} if path is None else measure_styles(read_picture(read_bytes(path), str(path)).image))
        except (BadFile, OSError):  # a picture that cannot be shown has no style
            rows.append({})
    place.mkdir(exist_ok=True)
    for name in missing:
        values = pa.array([row.get(name) for row in rows], pa.float64())
        with whole_file(scores_file(place, name)) as file:
            pq.write_table(pa.table({"item": [item.id for item in items], "value": values}), file)
