"""What the 95% intervals of every method cover, over simulated studies; writes docs/methods/coverage.md.

python -m prove.coverage [studies]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from prove._own_models import GAIN, OFFSET, RATING_NOISE, STRETCHED, TIES, answered, draw_panel, steepness
from prove._page import table, wrapped
from prove._painted import TRUTHS, planted
from salon.collect import ppaint_like_study
from salon.collect.simulate.ppaint_like import ppaint_like_truth
from salon.errors import NotIdentified, StatsError
from salon.fuse import (
    ANCHORED,
    RATED,
    Cluster,
    FuseGroup,
    FuseSettings,
    Method,
    fit_group,
    scores as scored,
    study_groups,
)
from salon.fuse.results import PAIRED
from salon.fuse.scores import ScoredGroup, score_groups

Floats = NDArray[np.float64]
OUT = Path(__file__).parents[1] / "docs/methods/coverage.md"
SEED, STUDIES = 2026, 200
ITEMS, GROUPS = 12, 3
TASTE, ENDLESS = 0.7, 2_000
POINTS = 400 / np.log(10)
BY_RATINGS: tuple[Method, ...] = ("mean", "z-score", "sureal", "offset-scale")
METHODS: tuple[Method, ...] = (*PAIRED, "plackett-luce", "crowd", "elo", *BY_RATINGS, *ANCHORED)
PAINTED = {
    "mean": FuseSettings(method="mean"),
    "anchored-davidson": FuseSettings(method="anchored-davidson"),
    "anchored-davidson, all items": FuseSettings(method="anchored-davidson", anchors_each=50),
    "anchored-elo": FuseSettings(method="anchored-elo"),
}

HEAD = """
{studies} simulated studies for each row. *coverage*: share of items whose 95% interval holds the value aimed at, ±
its standard error over studies (items of one study share their raters, so they do not count one by one).
*half-width*: of the median interval, and *RMSE*: of the scores, on the method's own scale (logits, probits, Elo
points, rating levels). Only the intervals of scores are asked here, not those of ranks. *needed a prior*: studies
in which some item never lost or never won; they were fused with a prior of 3 logits. *refused*: studies that raised
an error; they count nowhere.
"""
OWN = f"""
{ITEMS} new items in every study, scores of standard deviation 1 (in anchored fusion: about one level, and three
groups), judged by 10 raters who all see the same: every pair once by each rater, five rankings of six items, or a
rating of every item. Davidson: nu {TIES["davidson"]}, Rao-Kupper: theta {TIES["rao-kupper"]}. Crowd: reliabilities
.75 to 1, leans of standard deviation .5. Ratings: offsets of standard deviation {OFFSET}, noise {RATING_NOISE[0]}
to {RATING_NOISE[1]}, and gains of log standard deviation {GAIN} for z-scores and offset-scale. Errors: every answer
is independent (`--cluster answer`); of ratings, the raters are drawn anew, as always. Aimed at: the planted scores.
"""
CLUSTERED = f"""
Every rater sees score plus a taste of their own (standard deviation {TASTE}), the same in all their answers; the
same {ITEMS} items in every study. Errors over raters (`--cluster rater`). Aimed at: what endlessly many raters
would give. Where tastes differ, the scores of all answers together are flatter than each rater's, so this is the
fit to a panel of {ENDLESS:,} raters; of ratings it is known, and of anchored fusion it is the mean of endlessly
many ratings. Crowd has no such limit (below): aimed at is its mean over 100 panels of the same size. A single
rating cannot tell taste from noise, so for ratings this is the first table again with more noise.
"""
WHOLE = """
Whole studies in the shape of PPaint, as in [the fusion table](fusion-table.md): 15 groups of 50 items, 5 raters
each, tastes, leans, ties and scale use as fixed beforehand. No method's model holds. Errors over raters. `score`:
the population's value; `panel_score`: with this panel's taste; `panel_rating`: this panel's own mean rating, had
each rater rated endlessly often.
"""
TABLES: tuple[tuple[str, str, Cluster, int, float], ...] = (
    ("Each method's own model, independent answers", OWN, "answer", 10, 0.0),
    ("Raters with tastes of their own: five of them", CLUSTERED, "rater", 5, TASTE),
    ("Raters with tastes of their own: twelve of them", "", "rater", 12, TASTE),
)
READING = (
    """
    **bradley-terry, davidson, rao-kupper, thurstone, plackett-luce** cover the planted scores; with errors over
    raters, those of endlessly many raters. Five raters: a little long, as errors are nowhere let below those of
    independent answers.""",
    """
    **crowd** covers the scores of its own model. With tastes it covers only its own mean over panels of that size,
    because it has no limit: each rater's reliability is fitted to that rater's few answers, and with more raters an
    item far from the others drifts off even where the model holds (planted at 3.5 logits: 3.5 with 12 raters, 5.9
    with 200, 7.3 with 2,000; the others stretch by a tenth).""",
    """
    **elo** covers Bradley-Terry's scores in points: settled passes come near enough to that fit, and the jackknife sees
    the rest.""",
    """
    **mean** covers the population's value: offsets and tastes lie between raters, as its errors suppose. In the
    shape of PPaint the intervals are long, as raters who stretch the scale differently look like noise.""",
    """
    **z-score, sureal, offset-scale** cover it too, z-scores on a scale of their own. Around 93% with twelve raters:
    spreads and weights are estimated from twelve items of each rater. Few raters and items: some studies are
    refused.""",
    """
    **anchored-davidson** covers the population's value on the rating scale, in its own model and in the shape of
    PPaint: targets and curve are made anew with every rater left out, so that their error is in the interval.""",
    """
    **anchored-elo** covers the population's value in the shape of PPaint, where six of fifty items are rating anchors;
    in its own model with twelve items, half of them rating anchors, it does not: they are held to whole levels
    whatever their mean, with a pull that does not weaken as answers come in: a bias that all refits share, the worse
    the more raters there are.""",
    """
    Intervals over raters aim at the population. Of this very panel (`panel_score`, `panel_rating`) they hold more
    than 95%, as they must: the panel's own taste is part of what they allow for. For these raters and no others
    there is `--cluster answer`.""",
)


@dataclass
class Tally:
    """Of one method: the share of items covered in each study, and what else the table tells."""

    covered: list[float] = field(default_factory=list)
    half: list[float] = field(default_factory=list)
    error: list[float] = field(default_factory=list)
    with_prior: int = 0
    refused: int = 0

    def add(self, low: Floats, high: Floats, value: Floats, target: Floats) -> None:
        """One study."""
        self.covered.append(float(np.mean((low <= target) & (target <= high))))
        self.half.append(float(np.median(high - low) / 2))
        self.error.append(float(np.mean((value - target) ** 2)))

    def cells(self) -> list[str]:
        """Coverage with its standard error over studies, half-width, root mean square error."""
        x = np.array(self.covered)
        error = 100 * x.std(ddof=1) / np.sqrt(len(x))
        return [f"{x.mean():.1%} ± {error:.1f}", _three(np.median(self.half)), _three(np.sqrt(np.mean(self.error)))]

    def remarks(self) -> str:
        """Studies that did not go the plain way."""
        counts = {"needed a prior": self.with_prior, "refused": self.refused}
        return ", ".join(f"{count} {what}" for what, count in counts.items() if count)


def _three(x: float) -> str:
    """Three digits: points of Elo and parts of a level alike."""
    return f"{x:.0f}" if x >= 10 else f"{x:.2f}"


# -- what is aimed at ------------------------------------------------------------------------------------------------


def target(method: Method, q: Floats, raters: int, taste: float, rng: np.random.Generator) -> Floats:
    """What endlessly many raters would give, on the method's scale."""
    if method in ANCHORED:
        node, weight = np.polynomial.hermite_e.hermegauss(41)
        return 1 + 4 * expit(steepness(method) * (q[:, None] + taste * node)) @ (weight / weight.sum())
    if method in RATED and method != "z-score":
        return 3 + q * (np.exp(GAIN**2 / 2) if method in STRETCHED else 1.0)
    if taste or method == "z-score":
        panels = [raters] * 100 if method == "crowd" else [ENDLESS]
        return np.mean([_fitted(method, q, size, taste, rng) for size in panels], axis=0)
    return _points(method, q - q.mean())


def _fitted(method: Method, q: Floats, raters: int, taste: float, rng: np.random.Generator) -> Floats:
    """Scores from a panel of this size. Tastes that differ make them flatter than those of each rater."""
    model: Method = "bradley-terry" if method == "elo" else method
    made = answered(model, draw_panel(q, raters, taste, rng), rng)
    return _points(method, fit_group(made, model, FuseSettings(), "answer", errors=False).latent)


def _points(method: Method, centred: Floats) -> Floats:
    return 1500 + POINTS * centred if method == "elo" else centred


# -- coverage --------------------------------------------------------------------------------------------------------


def covered(method: Method, studies: int, cluster: Cluster, raters: int, taste: float) -> Tally:
    """One method over many studies. With taste, items stay the same, so that one large panel tells their values."""
    rng = np.random.default_rng([SEED, METHODS.index(method), raters])
    tally, fixed, settings = Tally(), _aimed(method, raters, taste, rng), FuseSettings(method=method)
    cluster = "rater" if method in RATED else cluster
    for _ in range(studies):
        aims = fixed if taste else _aimed(method, raters, taste, rng)
        groups = [answered(method, draw_panel(q, raters, taste, rng), rng) for q, _ in aims]
        try:
            made = _scored(groups, settings, cluster, tally)
        except StatsError:
            tally.refused += 1
        else:
            _add(tally, made, np.concatenate([values for _, values in aims]))
    return tally


def _aimed(method: Method, raters: int, taste: float, rng: np.random.Generator) -> list[tuple[Floats, Floats]]:
    """Items of every group: what is planted, and the values aimed at."""
    spread = 1 / steepness(method)
    groups = [spread * rng.standard_normal(ITEMS) for _ in range(GROUPS if method in ANCHORED else 1)]
    return [(q, target(method, q, raters, taste, rng)) for q in groups]


def _scored(groups: Sequence[FuseGroup], settings: FuseSettings, cluster: Cluster, tally: Tally) -> list[ScoredGroup]:
    """Scored groups; with a prior, and counted, where the comparisons alone identify no scores."""
    method = settings.method
    try:
        return score_groups(groups, method, settings, cluster, lambda step: None)
    except NotIdentified:
        if method in RATED:
            raise
        tally.with_prior += 1
        return score_groups(groups, method, settings.model_copy(update={"prior": 3.0}), cluster, lambda step: None)


def _add(tally: Tally, made: Sequence[ScoredGroup], target: Floats) -> None:
    tally.add(*(np.concatenate([getattr(one, name) for one in made]) for name in ("low", "high", "value")), target)


def ppaint_like(studies: int) -> dict[tuple[str, str], Tally]:
    """Method and truth, over whole studies in the shape of PPaint."""
    tallies = {(name, truth): Tally() for name in PAINTED for truth in TRUTHS}
    for seed in range(1, studies + 1):
        groups = list(study_groups(ppaint_like_study(seed), FuseSettings(), ()))
        truth = ppaint_like_truth(seed)
        for name, settings in PAINTED.items():
            made = _scored(groups, settings, "rater", tallies[name, "score"])
            for aim in TRUTHS:
                _add(tallies[name, aim], made, planted(truth, aim, groups))
        if not seed % 10:
            print(f"PPaint-like study {seed}", flush=True)
    return tallies


def main(studies: int) -> None:
    scored.MOST_RANKED = 0  # ranks are not asked for here, and take longer than all the rest
    see = f"Written by `make prove ONLY=coverage` (seed {SEED}); see [anchored fusion](anchored-fusion.md)."
    parts = [f"# What the intervals cover\n\n{see}\n", wrapped(HEAD.format(studies=studies)) + "\n"]
    for title, words, cluster, raters, taste in TABLES:
        parts += [_section(title, words), _table(studies, cluster, raters, taste)]
    parts += [
        _section("Whole studies of paintings", WHOLE),
        _painted_table(studies),
        "## What is covered, and what is not\n",
    ]
    parts += [wrapped(words) + "\n" for words in READING]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}")


def _section(title: str, words: str) -> str:
    print(title, flush=True)
    return f"## {title}\n" + f"\n{wrapped(words)}\n" * bool(words)


def _table(studies: int, cluster: Cluster, raters: int, taste: float) -> str:
    rows = []
    for method in METHODS:
        tally = covered(method, studies, cluster, raters, taste)
        rows.append([method, *tally.cells(), tally.remarks()])
        print(*rows[-1], sep=" | ", flush=True)
    return table(["method", "coverage", "half-width", "RMSE", ""], rows)


def _painted_table(studies: int) -> str:
    rows = [[name, aim, *tally.cells(), tally.remarks()] for (name, aim), tally in ppaint_like(studies).items()]
    return table(["method", "aimed at", "coverage", "half-width", "RMSE", ""], rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
