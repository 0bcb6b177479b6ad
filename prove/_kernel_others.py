"""Elo's passes on one study, and how far copies of drawn posters lie from the pictures they were made of."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import combinations

import numpy as np
from PIL import Image, ImageEnhance, ImageOps
from scipy.stats import spearmanr

from prove._kernel_panels import Floats, Rows
from salon.generate import builtin_briefs
from salon.generate.houses import HOUSES, poster_seed
from salon.render import draw_poster
from salon.render.paint.raster import paint
from salon.stats import EloSettings, anchored_elo, balanced_pairs
from salon.stats.elo import sequential_elo
from salon.stats.simulate import bradley_terry_comparisons
from salon.store import picture_hash
from salon.store.near_pictures import RADIUS

SEEDS, PER_LOGIT = 20, 400 / np.log(10)
BRIEFS, COPIED = 150, 40
Change = Callable[[Image.Image], Image.Image]


def passes(rng: np.random.Generator) -> Rows:
    """Spread over seeds, Spearman of two seeds, spread of the items; one study, 15% ties."""
    q = rng.normal(0, 180, 50)
    pairs = np.tile(balanced_pairs(50, 612, rng=rng), (5, 1))
    said = bradley_terry_comparisons(q / PER_LOGIT, pairs, np.repeat(np.arange(5), 612), tie=0.42, rng=rng)
    columns = said.a, said.b, said.outcome
    held = np.argsort(q)[[4, 10, 22, 28, 39, 45]]
    targets = 1500 + q[held]

    def run(settings: EloSettings, anchored: bool) -> Floats:
        anchors, goals = (held, targets) if anchored else ((), ())
        return anchored_elo(*columns, 50, anchors=anchors, targets=goals, rng=rng, settings=settings)

    order = [rng.permutation(len(said.a)) for _ in range(SEEDS)]
    runs = {
        "one pass, K = 4": [sequential_elo(*columns, 50, k=4, order=one) for one in order],
        "one pass, K = 32": [sequential_elo(*columns, 50, k=32, order=one) for one in order],
        "150 passes (PPaint)": [run(EloSettings(), False) for _ in range(SEEDS)],
        "150 passes with six rating anchors": [run(EloSettings(), True) for _ in range(SEEDS)],
        "the same, settled": [run(EloSettings(settled=True), True) for _ in range(SEEDS)],
        "1,500 passes": [run(EloSettings(passes=1500), False) for _ in range(SEEDS)],
    }
    rows = []
    for name, found in runs.items():
        scores = np.array(found)
        alike = np.mean([spearmanr(scores[k], scores[k + 1])[0] for k in range(0, SEEDS, 2)])
        spread = float(np.mean(scores.std(axis=0, ddof=1)))
        rows.append([name, f"{spread:.3g}", f"{alike:.3f}", f"{scores.std(axis=1).mean():.0f}"])
    return rows


def saved(quality: int) -> Change:
    def again(image: Image.Image) -> Image.Image:
        stream = io.BytesIO()
        image.save(stream, "JPEG", quality=quality)
        return Image.open(stream)

    return again


def smaller(by: int) -> Change:
    return lambda image: image.resize((image.width // by, image.height // by))


def cropped(part: float) -> Change:
    def cut(image: Image.Image) -> Image.Image:
        x, y = round(part * image.width), round(part * image.height)
        return image.crop((x, y, image.width - x, image.height - y))

    return cut


COPIES: dict[str, Change] = {
    "JPEG, quality 30": saved(30),
    "half size": smaller(2),
    "a quarter of the size": smaller(4),
    "20% brighter": lambda image: ImageEnhance.Brightness(image).enhance(1.2),
    "30% more contrast": lambda image: ImageEnhance.Contrast(image).enhance(1.3),
    "gray": lambda image: image.convert("L"),
    "1% cropped off each side": cropped(0.01),
    "2% cropped off each side": cropped(0.02),
    "mirrored": ImageOps.mirror,
}


def copies(rng: np.random.Generator) -> Rows:
    """Two houses draw each brief; bits that copies, other prompts and other houses lie apart."""
    briefs = builtin_briefs()
    chosen = [briefs[k] for k in rng.permutation(len(briefs))[:BRIEFS]]
    hashes: dict[tuple[int, str], int] = {}
    bits: dict[str, list[int]] = {name: [] for name in COPIES}
    for number, brief in enumerate(chosen):
        for house in ("proof", "atelier"):
            poster = draw_poster(brief, HOUSES[house].habits, seed=poster_seed(house, brief.id, 0))
            image = Image.fromarray(paint(poster.layers, poster.layout.width, poster.layout.height))
            hashes[number, house] = own = int(picture_hash(image), 16)
            if house == "proof" and number < COPIED:
                for name, change in COPIES.items():
                    bits[name].append((own ^ int(picture_hash(change(image)), 16)).bit_count())
    apart: dict[bool, list[int]] = {True: [], False: []}
    for (one, first), (other, second) in combinations(hashes.items(), 2):
        apart[one[0] == other[0]].append((first ^ second).bit_count())
    rows = [
        [
            name,
            str(len(found)),
            f"{np.median(found):.0f} ({min(found)} to {max(found)})",
            f"{np.mean(np.array(found) <= RADIUS):.0%}",
        ]
        for name, found in (
            *bits.items(),
            ("another prompt", apart[False]),
            ("the same brief by another house", apart[True]),
        )
    ]
    return rows
