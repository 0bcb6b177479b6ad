"""Anchored and unanchored fusion where categories differ in level; writes docs/methods/category-levels-table.md.

python -m prove.category_levels [studies]

PPaint's central contrast: no comparison joins two categories, so unanchored scores of different categories are not
comparable. Here categories have planted levels, and the default of `salon fuse` is chosen by error, coverage and
stability over the grid.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prove._page import table, wrapped
from prove._painted import DEFAULTS, Case, case
from salon.errors import NotIdentified
from salon.fuse import FuseGroup, FuseSettings, Method, scores as scored
from salon.fuse.fuse import calibrated_scores
from salon.fuse.scores import fit_anchored, score_groups
from salon.stats import method_agreement

Floats = NDArray[np.float64]
OUT = Path(__file__).parents[1] / "docs/methods/category-levels-table.md"
STUDIES = 8
ELO: Method = "anchored-elo"
DAVIDSON: Method = "anchored-davidson"
FORMS = {"mean": None, "davidson": (DAVIDSON, False), "elo": (ELO, False), DAVIDSON: (DAVIDSON, True), ELO: (ELO, True)}
LEVELS = (0.0, 0.5, 1.0, 2.0)
AROUND: tuple[tuple[str, dict[str, Any]], ...] = (
    ("as fixed", {}),
    ("taste x .5", {"taste": 0.5}),
    ("rating noise x .5", {"rating_noise": 0.5}),
    ("all raters use one scale", {"scale_use": 0.0}),
)
HEAD = """
{studies} simulated studies a row in the shape of PPaint (3 categories x 50 items x 5 criteria, 5 raters each),
categories at +level, 0 and -level logits; one logit is about half a level of the 1-5 scale. *Unanchored*: plain
Davidson and Elo, each category centred by itself, on the same pooled curve; *anchored*: held near the rating anchors.
Both use the same comparisons and ratings.
"""


def main(studies: int) -> None:
    scored.MOST_RANKED = 0  # ranks are not asked for here
    found = {level: [_measured(case(seed, levels=level)) for seed in range(1, studies + 1)] for level in LEVELS}
    print("levels done", flush=True)
    parts = [
        "# Categories of different level\n",
        "Written by `make prove ONLY=category_levels`; see [anchored fusion](anchored-fusion.md).\n",
        wrapped(HEAD.format(studies=studies)) + "\n",
        "## Are scores of different categories comparable?\n",
        wrapped("""Mean absolute error to the planted score (*MAE*), and of all pairs of items from different
            categories, the share that the scores order as planted.""")
        + "\n",
        _table(found, lambda one, name: (one["mae", name], one["across", name])),
        "## Do anchored and unanchored scores agree?\n",
        wrapped("""MAE between them, and groups of 15 whose two distributions pass Kolmogorov-Smirnov. PPaint's Table
            12 has .343 and 12 groups for Elo, .435 and 5 for Davidson.""")
        + "\n",
        _agreement(found),
        "## Error, coverage and stability of the two anchored methods\n",
        wrapped("""*MAE* and *coverage* of 95% intervals over raters, both to the population's planted score. *order*:
            mean change of a score when the answers come in another order. *halves*: MAE between the scores from two
            random halves of the comparisons (with a prior of 3 logits). *worst item*: the 99th percentile of the
            absolute error.""")
        + "\n",
        _choice(studies),
    ]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}")


def _measured(one: Case) -> dict[tuple[str, str], float]:
    made: dict[tuple[str, str], float] = {}
    scores = {name: _scores(one, name) for name in FORMS}
    for name, score in scores.items():
        made["mae", name] = one.error(score, "score")
        made["across", name] = _across(one, score)
    for plain, held in (("davidson", DAVIDSON), ("elo", ELO)):
        agree = [method_agreement(x, y) for x, y in zip(_split(one, scores[plain]), _split(one, scores[held]))]
        made["between", held] = float(np.mean([a.mae for a in agree]))
        made["ks", held] = float(sum(a.ks_pass for a in agree))
    return made


def _scores(
    one: Case, name: str, settings: FuseSettings = DEFAULTS, groups: Sequence[FuseGroup] | None = None
) -> Floats:
    form = FORMS[name]
    if form is None:
        rated = one.rated("mean")
        assert rated is not None
        return rated
    method, pulled = form
    try:
        return np.concatenate(
            calibrated_scores(fit_anchored(groups or one.groups, method, settings, None, pulled=pulled))
        )
    except NotIdentified:
        if settings.prior is not None:
            raise
        return _scores(one, name, settings.model_copy(update={"prior": 3.0}), groups)


def _split(one: Case, score: Floats) -> list[Floats]:
    return np.split(score, np.cumsum([group.items for group in one.groups])[:-1])


def _across(one: Case, score: Floats) -> float:
    """Of all pairs of items from different categories under one criterion, the share ordered as planted."""
    parts, truths = _split(one, score), _split(one, one.planted["score"])
    right = []
    for a, first in enumerate(one.groups):
        for b, second in enumerate(one.groups[:a]):
            if first.criterion == second.criterion:
                mine, real = (np.subtract.outer(x[a], x[b]) for x in (parts, truths))
                right.append(np.mean(np.sign(mine) == np.sign(real)))
    return float(np.mean(right))


def _table(found: dict[float, list[dict[tuple[str, str], float]]], cells: Any) -> str:
    rows = []
    for level, ones in found.items():
        row = [f"{level:g}"]
        for name in FORMS:
            error, across = np.mean([cells(one, name) for one in ones], axis=0)
            row.append(f"{error:.3f}, {across:.1%}")
        rows.append(row)
    return table(
        ["level", *(name if "anchored" in name or name == "mean" else f"{name}, unanchored" for name in FORMS)], rows
    )


def _agreement(found: dict[float, list[dict[tuple[str, str], float]]]) -> str:
    rows = []
    for level, ones in found.items():
        cells = [f"{np.mean([o['between', m] for o in ones]):.3f}, {np.mean([o['ks', m] for o in ones]):.1f}"
                 for m in (ELO, DAVIDSON)]  # fmt: skip
        rows.append([f"{level:g}", *cells])
    return table(["level", "Elo", "Davidson"], rows)


def _choice(studies: int) -> str:
    rows = []
    for words, changes in AROUND:
        for level in LEVELS if not changes else LEVELS[:3:2]:
            cases = [case(seed, levels=level, **changes) for seed in range(1, studies + 1)]
            for method in (DAVIDSON, ELO):
                figures = np.mean([_chosen(one, method) for one in cases], axis=0)
                rows.append([words, f"{level:g}", method, f"{figures[0]:.3f}", f"{figures[1]:.1%}",
                             *(f"{x:.3f}" for x in figures[2:])])  # fmt: skip
                print(*rows[-1], sep=" | ", flush=True)
    return table(["setting", "level", "method", "MAE", "coverage", "order", "halves", "worst item"], rows)


def _chosen(one: Case, method: Method) -> tuple[float, ...]:
    try:
        made = score_groups(one.groups, method, DEFAULTS, "rater", lambda step: None)
    except NotIdentified:  # an item that never lost
        prior = DEFAULTS.model_copy(update={"prior": 3.0})
        made = score_groups(one.groups, method, prior, "rater", lambda step: None)
    value, low, high = (np.concatenate([getattr(group, name) for group in made]) for name in ("value", "low", "high"))
    truth = one.planted["score"]
    other = _scores(one, method, DEFAULTS.model_copy(update={"seed": 43}))
    finite = DEFAULTS.model_copy(update={"prior": 3.0})  # in half of the answers some items may never lose
    halves = [_scores(one, method, finite, _half(one.groups, side)) for side in (False, True)]
    return (
        float(np.abs(value - truth).mean()),
        float(np.mean((low <= truth) & (truth <= high))),
        float(np.abs(value - other).mean()),
        float(np.abs(halves[0] - halves[1]).mean()),
        float(np.quantile(np.abs(value - truth), 0.99)),
    )


def _half(groups: Sequence[FuseGroup], side: bool) -> list[FuseGroup]:
    rng, made = np.random.default_rng(5), []
    for group in groups:
        mine = (rng.random(len(group.compared)) < 0.5) == side
        made.append(group.keeping(mine, np.ones(len(group.ranked), bool), np.ones(len(group.rated), bool)))
    return made


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
