"""Best of N on rendered posters: does true quality rise along the order-statistics curve of the scorer's accuracy?

    python -m prove.best_of_n [FOLDER]     writes docs/evidence/best-of-n.md and best-of-n-curve.svg

Layouts only, where true quality is on record; one part paints, for a scorer that sees pixels. With a FOLDER the
qualities and scores stay there, and the proof draws nothing twice.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from prove._page import table, wrapped
from salon.engine import map_processes
from salon.generate import (
    GenerateSettings,
    generate_items,
    house_generator,
    read_generations,
    read_prompts,
    take_category_turns,
)
from salon.generate.houses import HOUSES, poster_seed
from salon.render import WEIGHTS, draw_poster, read_brief
from salon.report import Curve
from salon.report.charts import line_curves
from salon.report.page import standalone_svg
from salon.select import PickSettings, ScorerColumn, blend_columns, pick, read_weights, study_scores
from salon.stats.uncertain_scores import best_of_means, expected_maximum, fit_shrinkage, predicted_gain
from salon.store import open_study
from salon.study import Prompt

DOCS = Path(__file__).parents[1] / "docs/evidence"
PROMPTS, POOL, SEED = 80, 32, 7
DRAWN_BY = ("apprentice", "atelier")
NS = (1, 2, 4, 8, 16, 32)
RHOS = (0.9, 0.6, 0.3)
CRITERIA = tuple(id for id in WEIGHTS if id != "taste/hallucination")
"""TASTE's nine; the flag is no criterion of preference."""
HEAVY = "aesthetics-typography=3,descriptions-typography=3,*=1"
ONLY = "aesthetics-typography=1,descriptions-typography=1"
SEEN_PROMPTS, SEEN_POOL, SEEN_NS = 24, 16, (1, 2, 4, 8, 16)
DRAWS, BINS = 2000, 8
Floats = NDArray[np.float64]


# -- posters -----------------------------------------------------------------------------------------------------------


def qualities(house: str, prompts: Sequence[Prompt], pool: int, processes: int | None = None) -> Floats:
    """(prompts, pool, criteria) true quality of the posters that a house lays out."""
    tasks = [(house, prompt, seed) for prompt in prompts for seed in range(pool)]
    found = np.full((len(tasks), len(CRITERIA)), np.nan)
    for index, result in map_processes(_quality, tasks, processes=processes):
        if isinstance(result, Exception):
            raise result
        found[index] = result
    return found.reshape(len(prompts), pool, len(CRITERIA))


def _quality(task: tuple[str, Prompt, int]) -> list[float]:
    name, prompt, number = task
    house = HOUSES[name]
    seed = poster_seed(name, prompt.id, number)
    layout = draw_poster(read_brief(prompt), house.habits, seed=seed, knobs=house.knobs(seed)).layout
    return [layout.quality[id] for id in CRITERIA]


def within_sd(q: Floats) -> float:
    """Standard deviation within prompts of (prompts, pool) values."""
    apart = q - q.mean(1, keepdims=True)
    return float(np.sqrt((apart**2).sum() / (q.size - len(q))))


def within_rho(s: Floats, q: Floats) -> float:
    """Correlation within prompts."""
    a, b = s - s.mean(1, keepdims=True), q - q.mean(1, keepdims=True)
    return float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()))


def planted(q: Floats, rho: float, rng: np.random.Generator) -> Floats:
    """Scores whose correlation with q within prompts is `rho`: q with normal noise."""
    return q + rng.normal(0, within_sd(q) * np.sqrt(1 / rho**2 - 1), q.shape)


# -- curves ------------------------------------------------------------------------------------------------------------


def gains(s: Floats, q: Floats, ns: Sequence[int]) -> Floats:
    """(prompts, ns) rise of the chosen one's worth over a single draw, exact over each pool."""
    return np.array([best_of_means(a, b, ns) - b.mean() for a, b in zip(s, q)])


def empirical(s: Floats, q: Floats, ns: Sequence[int]) -> Floats:
    """(prompts, ns) what rho sd(q) e_N gives with e_N from the scores themselves."""
    slope = within_rho(s, q) * within_sd(q) / within_sd(s)
    return slope * gains(s, s, ns)


def over_prompts(rows: Floats, seed: int = 1) -> list[tuple[float, float, float]]:
    """Mean and 95% bootstrap interval over prompts, column by column."""
    rng = np.random.default_rng([SEED, seed])
    drawn = rows[rng.integers(0, len(rows), (DRAWS, len(rows)))].mean(1)
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    return list(zip(rows.mean(0).tolist(), low.tolist(), high.tolist()))


def told(one: tuple[float, float, float], signed: bool = True) -> str:
    sign = "+" if signed else ""
    one = tuple(0.0 if abs(part) < 5e-5 else part for part in one)  # type: ignore[assignment]
    return f"{one[0]:{sign}.4f} [{one[1]:{sign}.4f}, {one[2]:{sign}.4f}]"


def curve_rows(q: Floats, ns: Sequence[int] = NS, rhos: Sequence[float] = RHOS) -> list[list[str]]:
    """Measured and predicted gains for scorers of several accuracies."""
    rows = []
    for rho in rhos:
        s = planted(q, rho, np.random.default_rng([SEED, int(100 * rho)]))
        normal = predicted_gain(within_rho(s, q), within_sd(q), ns)
        for n, got, law, own in zip(ns, over_prompts(gains(s, q, ns)), normal, empirical(s, q, ns).mean(0)):
            rows.append([f"{rho:g}", str(n), told(got), f"{law:+z.4f}", f"{own:+z.4f}"])
    for n, got in zip(ns, over_prompts(gains(q, q, ns))):
        law = within_sd(q) * float(expected_maximum(n))
        rows.append(["1 (the truth itself)", str(n), told(got), f"{law:+z.4f}", told(got).split(" ")[0]])
    return rows


def curse_rows(q: Floats, ns: Sequence[int] = NS, rho: float = 0.6) -> list[list[str]]:
    """The chosen score against its worth, and the same after shrinkage fitted on the other half of the prompts."""
    s = planted(q, rho, np.random.default_rng([SEED, 5]))
    half = len(q) // 2
    center = q.mean(1, keepdims=True)
    a, b = s - center, q - center
    owner = np.repeat(np.arange(half), q.shape[1])
    line = fit_shrinkage(a[:half].ravel(), b[:half].ravel(), owner)
    said = gains(a[half:], a[half:], ns) + a[half:].mean(1, keepdims=True)
    true = gains(a[half:], b[half:], ns) + b[half:].mean(1, keepdims=True)
    rows = []
    for d, n in enumerate(ns):
        columns = np.stack([said[:, d], true[:, d], said[:, d] - true[:, d], line.worth(said[:, d]) - true[:, d]], 1)
        rows.append([str(n), *(told(one) for one in over_prompts(columns))])
    return rows


# -- weights -----------------------------------------------------------------------------------------------------------


def weighted_picks(q: Floats, ns: Sequence[int], rho: float = 0.9) -> list[list[str]]:
    """How often typography-heavy weights pick another poster than uniform ones, and what either brings."""
    rng = np.random.default_rng([SEED, 9])
    scores = np.stack([planted(q[..., d], rho, rng) for d in range(q.shape[2])], axis=2)
    columns = [ScorerColumn(criterion=id, scale="planted") for id in CRITERIA]
    alike = blend_columns(columns)
    type_ = [d for d, id in enumerate(CRITERIA) if id.endswith("typography")]
    rows = []
    for weights in (HEAVY, ONLY):
        heavy = blend_columns(columns, read_weights(weights, CRITERIA))
        for n in ns:
            found = np.array([_both(scores[p, :n], q[p, :n], alike, heavy, type_) for p in range(len(q))])
            figures = [told(one, signed=d > 0) for d, one in enumerate(over_prompts(found))]
            rows.append([f"`{weights}`", str(n), *figures])
    return rows


def _both(scores: Floats, q: Floats, alike: object, heavy: object, type_: Sequence[int]) -> list[float]:
    one, other = (pick(scores, None, way, settings=PickSettings()).index for way in (alike, heavy))
    gain = q[other] - q[one]
    return [float(one != other), float(gain[list(type_)].mean()), float(gain.mean())]


# -- a scorer that sees pixels -----------------------------------------------------------------------------------------


def seen(folder: Path, prompts: int = SEEN_PROMPTS, pool: int = SEEN_POOL) -> tuple[Floats, Floats, Floats]:
    """(prompts, pool) scores of the palette measurement on painted posters, true color accuracy, and mean quality."""
    asked = [one for one in take_category_turns(read_prompts("briefs"), 3 * prompts) if read_brief(one).palette][
        :prompts
    ]
    generate_items(asked, [house_generator("atelier", 1)], GenerateSettings(seeds=pool, size="256x362"), folder)
    found = study_scores(open_study(folder), folder, ["palette"])
    score = dict(zip(found.items, found.values[:, 0]))
    lines, _ = read_generations(folder)
    truth = {line.item: json.loads((folder / str(line.layout)).read_bytes())["quality"] for line in lines.values()}
    items = [[one for one in found.items if lines[one].prompt == prompt.id] for prompt in asked]
    kept = [some for some in items if len(some) == pool and np.isfinite([score[one] for one in some]).all()]
    s = np.array([[score[one] for one in some] for some in kept])
    color = np.array([[truth[one]["taste/color-accuracy"] for one in some] for some in kept])
    mean = np.array([[np.mean([truth[one][id] for id in CRITERIA]) for one in some] for some in kept])
    return s, color, mean


def by_curve(s: Floats, q: Floats, ns: Sequence[int]) -> Floats:
    """(prompts, ns) the gain if worth is its mean by eighths of the standardised score, from the other prompts."""
    a = (s - s.mean(1, keepdims=True)) / s.std(1, keepdims=True)
    b = q - q.mean(1, keepdims=True)
    found = np.zeros((len(s), len(ns)))
    for half in (0, 1):
        ends = np.quantile(a[half::2], np.arange(1, BINS) / BINS)
        place = np.searchsorted(ends, a[half::2])
        means = np.array([b[half::2][place == one].mean() for one in range(BINS)])
        found[1 - half :: 2] = gains(a[1 - half :: 2], means[np.searchsorted(ends, a[1 - half :: 2])], ns)
    return found


def seen_rows(s: Floats, q: Floats, what: str, ns: Sequence[int] = SEEN_NS) -> list[list[str]]:
    """The same curve for a real scorer."""
    rho = within_rho(s, q)
    normal, own = predicted_gain(rho, within_sd(q), ns), empirical(s, q, ns).mean(0)
    curve, got = by_curve(s, q, ns).mean(0), over_prompts(gains(s, q, ns))
    return [
        [what, f"{rho:.2f}", str(n), told(got[d]), *(f"{law[d]:+z.4f}" for law in (normal, own, curve))]
        for d, n in enumerate(ns)
    ]


# -- the page ----------------------------------------------------------------------------------------------------------


def draw(q: Floats) -> None:
    """Measured curves with their bands beside the predicted ones."""
    ns = list(range(1, POOL + 1))
    curves = []
    for rho in RHOS:
        s = planted(q, rho, np.random.default_rng([SEED, int(100 * rho)]))
        rows = over_prompts(gains(s, q, ns))
        curves.append(Curve(f"rho {rho:g}", ns, [one[0] for one in rows], [one[1] for one in rows],
                            [one[2] for one in rows]))  # fmt: skip
        law = predicted_gain(within_rho(s, q), within_sd(q), ns)
        curves.append(Curve("predicted", ns, law.tolist()))
    drawing = line_curves(
        curves, title="True quality of the best of N", x_label="N", y_label="rise over a single draw",
    )  # fmt: skip
    (DOCS / "best-of-n-curve.svg").write_text(standalone_svg(drawing), encoding="utf-8")


def page(found: dict[str, Floats], pixels: tuple[Floats, Floats, Floats]) -> str:
    """The table page."""
    parts = [
        "# Best of N on rendered posters",
        wrapped(
            f"Written by `python -m prove.best_of_n`. {PROMPTS} built-in briefs, {POOL} posters of each by each house, "
            "laid out and not painted: true quality is the mean over TASTE's nine criteria of what the flaws on record "
            "leave. A planted scorer gives true quality plus normal noise; rho is its correlation with true quality "
            "within prompts. Gains are exact over all subsets of N of a pool, their intervals 95% over prompts "
            f"({DRAWS:,} bootstrap draws). *Normal* is rho sd e_N with e_N of the normal law, *own* the same with e_N "
            "from the scores at hand."
        ),
    ]
    for house, q in found.items():
        mean = q.mean(2)
        parts += [
            f"## Gain by N: {house}",
            wrapped(f"A single draw has true quality {mean.mean():.4f}; the standard deviation within prompts is "
                    f"{within_sd(mean):.4f}."),
            table(["rho", "N", "measured gain", "normal", "own"], curve_rows(mean)),
        ]  # fmt: skip
    first = found[DRAWN_BY[0]]
    parts += [
        "## The winner's curse",
        wrapped(f"{DRAWN_BY[0]}, rho 0.6, second half of the prompts; numbers are less the prompt's mean quality. The "
                "line that shrinks was fitted on the first half, on draws that nobody chose."),
        table(["N", "chosen score", "its worth", "overstated by", "after shrinkage"], curse_rows(first.mean(2))),
        "## Typography-heavy weights",
        wrapped(f"{DRAWN_BY[0]}; a planted scorer of rho 0.9 for each criterion. Picks by other weights against picks "
                "by equal ones, from the same scores; the first N posters of each pool."),
        table(["weights", "N", "other poster picked", "typography, less that by equal weights", "mean of all nine"],
              weighted_picks(first, (2, 4, 8, 16, 32))),
        "## A scorer that sees pixels",
        wrapped(f"`palette` on {len(pixels[0])} briefs that name colors, {SEEN_POOL} painted posters of each by "
                "atelier. It speaks about color, which is much of what atelier gets wrong. Quality given score is no "
                "line here: a wrong color befalls a poster or it does not, and prompts differ in how far their scores "
                "spread. So the line predicts too little. *Curve* predicts from mean quality by eighths of the score, "
                "standardised within prompts, in the other half of the prompts."),
        table(["worth", "rho", "N", "measured gain", "normal", "own", "curve"],
              [*seen_rows(pixels[0], pixels[1], "color accuracy"), *seen_rows(pixels[0], pixels[2], "mean of nine")]),
    ]  # fmt: skip
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def main(home: Path) -> None:
    """Draw what is not there, then write the page."""
    briefs = take_category_turns(read_prompts("briefs"), PROMPTS)
    found = {}
    for house in DRAWN_BY:
        file = home / f"{house}-{PROMPTS}-{POOL}.npy"
        if not file.is_file():
            np.save(file, qualities(house, briefs, POOL, processes=1))
        found[house] = np.load(file)
        print(f"{house}: {found[house].shape}", flush=True)
    pixels = seen(home / "painted")
    (DOCS / "best-of-n.md").write_text(page(found, pixels), encoding="utf-8")
    draw(found[DRAWN_BY[0]].mean(2))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with TemporaryDirectory() as scratch:
            main(Path(scratch))
