"""How many comparisons does the adaptive design need for the order that the balanced one finds?

python -m prove.adaptive [studies]

Writes docs/methods/adaptive.md and its picture. The panel's law is that of `ppaint_like.toml`, fitted to PPaint's
printed agreement before any design was tried; only its noise is changed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import t

from prove._page import table, wrapped
from prove._panel import HALF, ITEMS, Floats, curve, drawn_panel
from salon.report import Curve
from salon.report.charts import line_curves
from salon.report.page import standalone_svg

DOCS = Path(__file__).parents[1] / "docs/methods"
STUDIES = 20
FIRST = 1000
"""Seed of the first study; the rule was settled on others."""
DRAWS = 500
SHARES = np.linspace(0.05, 1, 20)
DESIGNS = ("adaptive", "balanced", "random")
PANELS = {
    "PPaint's panel": (5, 1.0),
    "twice its noise": (5, 2.0),
    "half its noise": (5, 0.5),
    "four times its noise": (5, 4.0),
    "one rater of it": (1, 1.0),
}
"""Raters, and their noise in units of PPaint's."""


@dataclass(frozen=True)
class Found:
    """The studies of one panel."""

    name: str
    curves: dict[str, Floats]
    """By design: (studies, shares, 2), SRCC with the panel's mean and with what all raters share."""
    information: float

    @property
    def studies(self) -> int:
        return len(self.curves["balanced"])


def main(studies: int) -> None:
    found: list[Found] = []
    with ProcessPoolExecutor(2) as pool:
        for name in PANELS:
            jobs = [(name, design, FIRST + k) for design in DESIGNS for k in range(studies)]
            made = np.array(list(pool.map(_one, *zip(*jobs)))).reshape(len(DESIGNS), studies, len(SHARES), 2)
            information = np.mean([drawn_panel(*PANELS[name], FIRST + k).information for k in range(studies)])
            found.append(Found(name, dict(zip(DESIGNS, made)), float(information)))
            print(_line(found[-1]), flush=True)
            _write(found)


def _one(name: str, design: str, seed: int) -> Floats:
    raters, noise = PANELS[name]
    return curve(design, drawn_panel(raters, noise, seed), np.round(SHARES * HALF * raters).astype(int), seed)


# -- figures ---------------------------------------------------------------------------------------------------------


def _needed(curves: Floats, goal: float) -> float:
    """Share of the comparisons at which the mean of `curves` (studies, shares) first reaches `goal`; above 1: never."""
    mean = curves.mean(axis=0)
    above = np.flatnonzero(mean >= goal)
    if not len(above):
        return np.inf
    k = int(above[0])
    return float(SHARES[0]) if k == 0 else float(np.interp(goal, mean[k - 1 : k + 1], SHARES[k - 1 : k + 1]))


def _share(found: Found, design: str, truth: int) -> str:
    """What `design` needs for the balanced design's last mean SRCC, with a bootstrap over studies."""
    ours, theirs = found.curves[design][:, :, truth], found.curves["balanced"][:, -1, truth]
    rng = np.random.default_rng(0)
    draws = [rng.integers(0, found.studies, found.studies) for _ in range(DRAWS)]
    spread = [_needed(ours[drawn], float(theirs[drawn].mean())) for drawn in draws]
    low, high = np.quantile(spread, [0.025, 0.975], method="nearest")
    value = _needed(ours, float(theirs.mean()))
    return f"{_percent(value)} ({_percent(low)} to {_percent(high)})"


def _percent(share: float) -> str:
    return "more than 100%" if share > 1 else f"{share:.0%}"


def _mean(values: Floats) -> str:
    """Mean over studies with a 95% interval (t)."""
    reach = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.4f} ± {reach:.4f}"


def _line(found: Found) -> str:
    return f"{found.name}: {_share(found, 'adaptive', 0)} and {_share(found, 'adaptive', 1)}"


# -- page ------------------------------------------------------------------------------------------------------------


def _write(found: Sequence[Found]) -> None:
    _draw(found[0])
    head = ["panel", "comparisons", "information of an answer", "SRCC, balanced", "adaptive needs", "random needs"]
    parts = [_head(found[0].studies)]
    for truth, words in enumerate(TRUTHS):
        parts += [f"## {words[0]}\n", wrapped(words[1]) + "\n", table(head, [_row(one, truth) for one in found])]
    parts += ["## The curves\n", wrapped(CURVES) + "\n", "![SRCC over comparisons](adaptive-curve.svg)\n"]
    parts += [f"### {one.name}\n\n{_curve_table(one)}" for one in found]
    parts += [AFTER]
    (DOCS / "adaptive.md").write_text("\n".join(parts), encoding="utf-8")


TRUTHS = (
    (
        "Against what the panel thinks",
        "The truth is the mean of what these raters see: the order they would agree on if they were asked without end.",
    ),
    (
        "Against what all raters share",
        """The truth is the value without anybody's own taste. Five raters' tastes do not average out, so asking the
        same five more often soon adds little, and shares read off so flat a curve are uncertain.""",
    ),
)
CURVES = "Mean SRCC with what the panel thinks, ± half a 95% interval over studies (t)."
AFTER = """## Where it fails

- **Blunt answers.** When most answers are near a coin already, no pair tells much more than another. The information of
  a balanced answer, as a share of the most an answer can carry (a pair that is even), bounds what choosing pairs can
  save: at 90% there is nearly nothing to gain. In a pilot at twice PPaint's noise (twelve studies, before raters were
  balanced over items) 85 to 87% of the comparisons were needed.
- **Few answers.** With one rater there is little to learn from before the budget is spent.
- **Tests.** Answers of an adaptive design depend on earlier ones: no test of random raters applies to it, agreement
  between raters is measured on the hard pairs only and looks worse than it is, and scores of items far apart rest on
  chains of near neighbours. A study about agreement should use a balanced design.

## The rule

The pair whose answer is expected to lower most what is lost by wrong orders, all pairs considered
(`salon.stats.adaptive_design`); answers awaited from other raters count as given; a rater who had more
questions about an
item than the others had hears of it later. On twelve pilot studies of PPaint's panel (other seeds, mean SRCC with the
panel) the balanced design was reached with 64% of the comparisons by expected information, with 55 to 60% by the loss
of order, and with 49% once raters were balanced over items; that last rule is the one above. The fresh studies of this
page are the figures to trust, not the pilot's.
"""


def _head(studies: int) -> str:
    made = f"""
        {studies} simulated studies for each panel (seeds {FIRST} to {FIRST + studies - 1}, not looked at before):
        {ITEMS} items, five raters, {HALF} of 1,225 pairs, each answered by all: {5 * HALF:,} comparisons. Raters have
        tastes, ties and leanings to the left as fitted to PPaint's printed agreement
        (`src/salon/collect/simulate/ppaint_like.toml`, fixed before any design was tried); only the noise of an answer
        is changed. The adaptive design asks the same raters, at most once each about a pair, five at a time; so does
        random choice. Every design shows sides as the studio does, and every score is Bradley-Terry with a normal prior
        of 3 logits, ties as half wins. *needs*: the share of the balanced design's comparisons at which the mean SRCC
        reaches the balanced design's at the end, with a 95% bootstrap interval over studies. No answer here was given
        by a person."""
    see = "Written by `make prove ONLY=adaptive`; see [collecting](collecting.md) for how a studio uses it."
    return "\n\n".join(["# Adaptive pairs against balanced ones", see, wrapped(made)]) + "\n"


def _row(found: Found, truth: int) -> list[str]:
    raters = PANELS[found.name][0]
    return [
        found.name,
        f"{HALF * raters:,}",
        f"{found.information:.0%}",
        _mean(found.curves["balanced"][:, -1, truth]),
        _share(found, "adaptive", truth),
        _share(found, "random", truth),
    ]


def _curve_table(found: Found) -> str:
    rows = [
        [f"{share:.0%}", *(_mean(found.curves[design][:, k, 0]) for design in DESIGNS)]
        for k, share in enumerate(SHARES)
        if k % 2
    ]
    return table(["share of comparisons", *DESIGNS], rows)


def _draw(found: Found) -> None:
    curves = []
    for design in DESIGNS:
        values = found.curves[design][:, :, 0]
        mean, error = values.mean(axis=0), 2 * values.std(axis=0, ddof=1) / np.sqrt(found.studies)
        columns = (100 * SHARES, mean, mean - error, mean + error)
        curves.append(Curve(design, *(column.tolist() for column in columns)))
    drawing = line_curves(
        curves,
        title=f"SRCC with what {found.name} thinks, by design",
        x_label=f"comparisons, % of {HALF * PANELS[found.name][0]:,}",
        y_label="SRCC",
    )
    (DOCS / "adaptive-curve.svg").write_text(standalone_svg(drawing), encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
