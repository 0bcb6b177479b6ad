"""Does a learned sigma track the noise of items, and under which law? Writes docs/methods/uncertainty.md.

python -m prove.uncertainty [sets]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from scipy.stats import t

from prove._law_checks import errors, sigma_slopes, slope_error
from prove._page import table, wrapped
from prove._voters import (
    EXPLAINED,
    FEATURES,
    MU_SD,
    SIGMA_RANGE,
    WEAK,
    Floats,
    Learned,
    drawn_votes,
    featured_items,
    fit_featured,
    fit_own,
    lost,
    own_items,
)
from salon.report import Curve
from salon.report.charts import line_curves
from salon.report.page import standalone_svg
from salon.train.losses import LAWS, Law

DOCS = Path(__file__).parents[1] / "docs/methods"
SETS, FIRST = 10, 3000
ITEMS, FEATURED = 200, 500
PER_ITEM = (50, 200, 1000, 4000)
PER_FEATURED = (2, 5, 10, 20, 50)
HELD_OUT_PAIRS = 4000
NAMES: dict[Law, str] = {
    "quadrature": "paper's, by quadrature",
    "probit": "probit",
    "released": "released code's",
    "ranknet": "RankNet",
}
DRAWN: dict[Law, str] = {"quadrature": "paper's law", "released": "released code"}
SPREADS = (0.5, 1.0, 2.0, 3.0, 5.0, 7.07, 9.0, 15.0, 30.0)
Key = tuple[str, float | str, Law]
Row = tuple[float, float, float]
"""Spearman of sigma, Spearman of mu, nats lost per vote."""
Cell = Callable[[str, float, Law, int], str]
"""A figure of a table by its kind, votes an item, law and column."""
SIGMA, LOST = 0, 2
DIGITS = (2, 3, 4)


def main(sets: int) -> None:
    checks = [_error_table(), "## Slopes\n", wrapped(SLOPES) + "\n", _slope_table()]
    made: list[dict[Key, Row]] = []
    spawn = get_context("spawn")  # torch does not survive a fork once it has taken a slope
    with ProcessPoolExecutor(2, spawn, torch.set_num_threads, (1,)) as pool:
        for one in pool.map(_one_set, range(FIRST, FIRST + sets)):
            made.append(one)
            print(f"set {len(made)} of {sets}", flush=True)
            if len(made) > 1:
                _write({key: np.array([each[key] for each in made]) for key in one}, checks)


def _write(found: dict[Key, Floats], checks: Sequence[str]) -> None:
    _draw(found)
    (DOCS / "uncertainty.md").write_text("\n".join([*_parts(found), *checks]), encoding="utf-8")


# -- one simulated set -----------------------------------------------------------------------------------------------


def _one_set(seed: int) -> dict[Key, Row]:
    rng = np.random.default_rng(seed)
    return _own(rng) | _featured(rng) | _designs(rng)


def _own(rng: np.random.Generator) -> dict[Key, Row]:
    """Items with free parameters, one vote a comparison."""
    truth, rows = own_items(ITEMS, rng), {}
    a, b = _fresh_pairs(rng, ITEMS)
    for per in PER_ITEM:
        votes = drawn_votes(truth, per * ITEMS // 2, rng)
        for law in NAMES:
            learned = fit_own(law, votes, ITEMS)
            rows["own", per, law] = (*learned.agrees(truth), lost(law, learned, truth, a, b))
    return rows


def _featured(rng: np.random.Generator) -> dict[Key, Row]:
    """Items known by features; judged on as many items again that nobody voted on."""
    truth, rows = featured_items(2 * FEATURED, rng), {}
    unseen = slice(FEATURED, None)
    a, b = (FEATURED + side for side in _fresh_pairs(rng, FEATURED))
    for per in PER_FEATURED:
        votes = drawn_votes(truth, per * FEATURED // 2, rng, items=FEATURED)
        for law in NAMES:
            learned = fit_featured(law, votes, truth.features)
            rows["features", per, law] = (*learned.agrees(truth, unseen), lost(law, learned, truth, a, b))
        learned = fit_featured("quadrature", votes, truth.features, prior=False)
        rows["no prior", per, "quadrature"] = (*learned.agrees(truth, unseen), lost("quadrature", learned, truth, a, b))
    return rows


def _designs(rng: np.random.Generator) -> dict[Key, Row]:
    """About 200 votes an item, spent in different ways."""
    truth, rows = own_items(ITEMS, rng), {}
    a, b = _fresh_pairs(rng, ITEMS)
    votes = {each: drawn_votes(truth, 100 * ITEMS // each, rng, each=each) for each in (1, 9, 40)}
    panels = votes[9]
    fits: list[tuple[str, Law, Learned]] = []
    for law in ("quadrature", "released"):
        fits += [(f"{each} each", law, fit_own(law, votes[each], ITEMS)) for each in votes]
        fits += [("no prior", law, fit_own(law, votes[1], ITEMS, prior=False))]
        fits += [("majorities", law, fit_own(law, panels.majorities(), ITEMS))]
        fits += [("unanimous", law, fit_own(law, panels.unanimous().majorities(), ITEMS))]
    for name, law, learned in fits:
        rows["design", name, law] = (*learned.agrees(truth), lost(law, learned, truth, a, b))
    rows["kept", "unanimous", "quadrature"] = (len(panels.unanimous().a) / len(panels.a), np.nan, np.nan)
    return rows


def _fresh_pairs(rng: np.random.Generator, items: int) -> tuple[np.ndarray, np.ndarray]:
    a = rng.integers(0, items, HELD_OUT_PAIRS)
    return a, (a + rng.integers(1, items, HELD_OUT_PAIRS)) % items


# -- figures ---------------------------------------------------------------------------------------------------------


def _mean(values: Floats, digits: int = 2) -> str:
    """Mean over sets with a 95% interval (t)."""
    if np.isnan(values).any():
        return "-"
    reach, least = _reach(values), 10.0**-digits
    return f"{values.mean():.{digits}f} ± " + (f"{reach:.{digits}f}" if reach >= least / 2 else f"<{least:.{digits}f}")


def _reach(values: Floats) -> float:
    return float(t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def _draw(found: dict[Key, Floats]) -> None:
    m = np.linspace(-4, 4, 17)
    pictures = {
        "uncertainty-slopes.svg": line_curves(
            [Curve(name, m.tolist(), sigma_slopes(law, m).tolist()) for law, name in DRAWN.items()],
            title="What one vote does to sigma",
            x_label="how far the winner was ahead, mu1 - mu2 (both sigma 1)",
            y_label="slope of the loss in log sigma: above 0 sigma narrows, below it widens",
        ),
        "uncertainty-items.svg": _recovery_curves(found, "own", PER_ITEM, "a parameter for each item"),
        "uncertainty-features.svg": _recovery_curves(found, "features", PER_FEATURED, "features, items never voted on"),
    }
    for name, drawing in pictures.items():
        (DOCS / name).write_text(standalone_svg(drawing), encoding="utf-8")


def _recovery_curves(found: dict[Key, Floats], kind: str, sizes: Sequence[float], what: str) -> str:
    curves = []
    for law, name in DRAWN.items():
        values = [found[kind, per, law][:, 0] for per in sizes]
        mean, reach = np.array([v.mean() for v in values]), np.array([_reach(v) for v in values])
        curves.append(Curve(name, sizes, mean.tolist(), (mean - reach).tolist(), (mean + reach).tolist()))
    return line_curves(
        curves,
        title=f"Spearman of learned with true sigma: {what}",
        x_label="votes for each item",
        y_label=f"Spearman of sigma ({what})",
        reference_lines=[("0.8", 0.8)],
    )


# -- page ------------------------------------------------------------------------------------------------------------


def _parts(found: dict[Key, Floats]) -> list[str]:
    spent = "One vote costs one question, so the rows of a table are what sigma costs."
    return [
        "# What a learned sigma knows\n",
        "Written by `make prove ONLY=uncertainty`; the laws are those of [losses](losses.md).\n",
        wrapped(_made(len(found["own", PER_ITEM[0], "quadrature"]))) + "\n",
        "## In short\n",
        _short(lambda kind, per, law, column: _mean(found[kind, per, law][:, column], DIGITS[column])),
        "## Why one law learns sigma and the other cannot\n",
        wrapped(WHY) + "\n",
        "![Slope of the loss in log sigma](uncertainty-slopes.svg)\n",
        "## A parameter for each item\n",
        wrapped(f"{ITEMS} items, random pairs, one vote each, log sigma ~ N(0, 1) a priori. {spent}") + "\n",
        _recovery_table(found, "own", PER_ITEM),
        "![Spearman by votes for each item](uncertainty-items.svg)\n",
        "## Features that share strength\n",
        wrapped(FEATURES_TEXT) + "\n",
        _recovery_table(found, "features", PER_FEATURED),
        "![Spearman by votes for each item, with features](uncertainty-features.svg)\n",
        wrapped("The same without the prior, the paper's law:") + "\n",
        _no_prior_table(found),
        "## How the votes are spent\n",
        wrapped(f"{ITEMS} items, about 200 votes for each.") + "\n",
        _design_table(found),
        wrapped(_kept(found)) + "\n",
        "## The integral\n",
        wrapped(INTEGRAL) + "\n",
    ]


def _made(sets: int) -> str:
    return f"""{sets} simulated sets (seeds {FIRST} to {FIRST + sets - 1}). Every vote looks anew: what a voter sees of
        an item is N(mu, sigma²), mu ~ N(0, {MU_SD:g}²), sigma log-uniform from {SIGMA_RANGE[0]:g} to
        {SIGMA_RANGE[1]:g}, and the first is preferred with probability s(difference). Fits are by L-BFGS on all votes,
        with the weak prior mu ~ N(0, {WEAK:g}²) under every law. Figures are means over sets ± half a 95% interval (t);
        no set is left out. *lost*: nats per vote lost on {HELD_OUT_PAIRS:,} fresh pairs by predicting with what was
        learned instead of the truth; the released law predicts with E[s(z)], as the paper would. No answer here was
        given by a person."""


def _short(cell: Cell) -> str:
    few, many, most = PER_ITEM[0], PER_ITEM[2], PER_ITEM[-1]
    enough = PER_FEATURED[2]
    points = [
        f"""With the paper's loss, -log E[s(z)], sigma tracks the noise of items: Spearman
        {cell("own", many, "quadrature", SIGMA)} at {many:,} votes for each item that has a parameter of its own, and
        {cell("own", few, "quadrature", SIGMA)} at {few}. Several hundred votes an item are needed for .8.""",
        f"""With features that share strength, as a reward model has, it takes about ten:
        {cell("features", enough, "quadrature", SIGMA)} at {enough} votes an item, on items nobody voted on. With fewer
        the prior is needed.""",
        f"""With the released code's loss, -E[log s(z)], sigma does not track it at any size:
        {cell("own", most, "released", SIGMA)} at {most:,} votes. It only ever shrinks, and as it does the loss becomes
        RankNet's: the two find the same mu and lose the same.""",
        f"""mu is found by all laws. What sigma adds is calibration: at {most:,} votes an item
        {cell("own", most, "quadrature", LOST)} nats are lost per vote instead of RankNet's
        {cell("own", most, "ranknet", LOST)}. At {few} votes it adds nothing yet: {cell("own", few, "quadrature", LOST)}
        against {cell("own", few, "ranknet", LOST)}.""",
        """Labels made from majorities, or from unanimous panels only, hide what sigma is learned from. Use shares with
        vote counts as weights.""",
    ]
    return "".join(_point(words) for words in points)


def _point(words: str) -> str:
    return wrapped(f"- {words}").replace("\n", "\n  ") + "\n"


def _recovery_table(found: dict[Key, Floats], kind: str, sizes: Sequence[float]) -> str:
    rows = []
    for per in sizes:
        for law, name in NAMES.items():
            rows.append([f"{per:,}", name, *_three(found[kind, per, law])])
    return table(["votes for each item", "law", "Spearman of sigma", "Spearman of mu", "lost"], rows)


def _no_prior_table(found: dict[Key, Floats]) -> str:
    rows = [[f"{per:,}", *_three(found["no prior", per, "quadrature"])] for per in PER_FEATURED]
    return table(["votes for each item", "Spearman of sigma", "Spearman of mu", "lost"], rows)


def _three(values: Floats) -> list[str]:
    return [_mean(column, digits) for column, digits in zip(values.T, DIGITS)]


def _design_table(found: dict[Key, Floats]) -> str:
    rows = [
        [words, NAMES[law], *_three(found["design", name, law])]
        for name, words in DESIGNS.items()
        for law in ("quadrature", "released")
    ]
    return table(["votes", "law", "Spearman of sigma", "Spearman of mu", "lost"], rows)


def _error_table() -> str:
    rows = [[f"{v:g}", *(f"{error:.0e}" for error in errors(v))] for v in SPREADS]
    heads = ["Gauss-Hermite, 32 points", "Gauss-Hermite, 64", "trapezoid, 64", "`win_chance`"]
    return table(["spread v", *heads], rows)


def _slope_table() -> str:
    return table(["law", "largest difference"], [[law, f"{slope_error(law):.0e}"] for law in LAWS])


def _kept(found: dict[Key, Floats]) -> str:
    share = found["kept", "unanimous", "quadrature"][:, 0]
    return f"""The last row is HPSv3's training set: panels (of nine here), one label for each pair, pairs below .95
        confidence left out. If the confidence is the larger camp's share, that leaves the unanimous panels,
        {_mean(100 * share, 1)}% of the pairs. The votes that tell a noisy item from a sharp one are the ones left out;
        what rank sigma keeps, under either law, comes from how few pairs a noisy item keeps: the prior then holds its
        sigma near 1, and the sigma of the others falls. HPSv3's own confidence is not a share, and its file does not
        say what it is; whatever it is, pairs on which voters disagree are the first to go."""


DESIGNS = {
    "1 each": "200 pairs, one vote each",
    "9 each": "22 pairs, nine votes each",
    "40 each": "5 pairs, forty votes each",
    "no prior": "200 pairs, one vote each, no prior on log sigma",
    "majorities": "22 pairs, the majority of nine as one label",
    "unanimous": "those of them with all nine of one mind, one label",
}
WHY = """The slope of the loss in log sigma after one vote, for two items of sigma 1. Under the paper's law a win that
    was expected narrows sigma and an upset widens it, so sigma settles where upsets are as frequent as it says. Under
    the released code's law the slope is positive everywhere: sigma falls after every vote, and what differs between
    items is only how fast. That is Price's theorem, not a matter of data: log s is concave."""
FEATURES_TEXT = f"""{FEATURED} items with {FEATURES} features that explain {EXPLAINED:.0%} of the variance of mu and of
    log sigma; both are learned as linear functions of them, as a network's last layer would. Judged on {FEATURED} other
    items that nobody voted on, so .95 or so is the most that can be reached. The prior log sigma ~ N(0, 1) is charged
    once for each item."""
INTEGRAL = """Largest error of P = E[s(z)], z ~ N(m, v²), over 81 differences m from -20 to 20, against adaptive
    integration (scipy.integrate.quad, 1e-13). Two items of sigma 5 have v = 7.07. `win_chance` and the loss use the
    trapezoid rule up to v = 9 and a normal law of equal variance beyond."""
SLOPES = """Automatic slopes against central differences (step 1e-5, float64) in mu and log sigma of both items: 80
    slopes at random pairs with mu ~ N(0, 3²), log sigma ~ N(0, .7²)."""


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SETS)
