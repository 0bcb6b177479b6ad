"""Fit the simulated designer study to TASTE's published agreement and write src/salon/collect/simulate/taste_like.toml.

    python prove/fit_simulator.py

One number is fitted for each criterion: the noise that makes the mean pair tau equal to Table 3, by closed form.
The other three figures of the table are then predictions; they are measured on a large simulation and written
beside the paper's, matched or not. Flags: thresholds, one offset for each designer and one stretch for each
cohort are fitted to the published shares, Major rates and ordinal alpha. Nothing else is tuned.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, norm, spearmanr

from salon.stats import RankingLaw, SignalCells, cells_votes, fit_tau, ratings_from_utilities, votes_rankings
from salon.stats.alpha import krippendorff_alpha
from salon.stats.simulate import expected_taus

OUT = Path(__file__).parents[1] / "src/salon/collect/simulate/taste_like.toml"
SEED = 2026
PROMPTS, RATERS, ITEMS = 80, 5, 4
LARGE = 1_000_000
PATTERN = (2.0, 1.0, 1.0, 1.0, 1.0)
FIGURES = ("median_T", "mean_tau", "mean_pmax", "cycle_rate")

TABLE_3 = {
    "aesthetics": {
        "taste/aesthetics-preference": (0.133, 0.159, 0.744, 0.150),
        "taste/mood": (0.133, 0.147, 0.737, 0.125),
        "taste/visual-hierarchy": (0.133, 0.128, 0.734, 0.087),
        "taste/color-harmony": (0.067, 0.103, 0.723, 0.138),
        "taste/aesthetics-typography": (0.133, 0.119, 0.733, 0.075),
    },
    "descriptions": {
        "taste/descriptions-preference": (0.133, 0.163, 0.745, 0.150),
        "taste/color-accuracy": (0.133, 0.144, 0.741, 0.113),
        "taste/spatial-accuracy": (0.200, 0.182, 0.750, 0.150),
        "taste/descriptions-typography": (0.200, 0.224, 0.767, 0.062),
    },
}
VIEWS = {"aesthetics": ("intent", "aesthetics"), "descriptions": ("intent", "description")}

NO, MINOR, MAJOR = 0.55, 0.35, 0.10
FLAGS = {  # ordinal alpha; each designer's Major rate (the paper prints only the span, 3% to 26%; mean 10%)
    "aesthetics": (0.141, (0.26, 0.08, 0.07, 0.06, 0.03)),
    "descriptions": (0.165, (0.18, 0.12, 0.09, 0.07, 0.04)),
}
CONTROLS = {
    "control/random": (RankingLaw("uniform"), "no preference at all: every answer is a random ranking"),
    "control/factions": (
        RankingLaw("factions", 1.0, shares=(0.6, 0.4)),
        "raters 1-3 share one order for each prompt, raters 4-5 another, unrelated one",
    ),
}

ABOUT = f"""\
A simulated designer study in the shape of TASTE. No answer in it was given by a person.
Written by prove/fit_simulator.py; change that script, not this file.

Law of rankings: thurstone. Every prompt has hidden utilities u ~ N(0, 1) for its four items, shared by the cohort; \
rater r ranks by u + noise * pattern[r] * e, e ~ N(0, 1). Fitted: `noise`, so that the expected mean pair tau equals \
the paper's Table 3. The first rater of each cohort is planted as the least agreeing one, with {PATTERN[0]:g} times \
the noise of the others; the paper shows such a designer but prints no figure.

`paper`: Table 3, n = {PROMPTS}. `large_n`: the same four figures of this law on {LARGE:,} prompts. Only mean_tau is \
fitted; the other three are predictions.
"""


def main() -> None:
    rng = np.random.default_rng(SEED)
    parts, misses = [], []
    for cohort, table in TABLE_3.items():
        parts.append(_cohort(cohort))
        for criterion, paper in table.items():
            law = fit_tau(RankingLaw("thurstone", pattern=PATTERN), paper[1], RATERS, ITEMS)
            seen = _measure(law, rng)
            misses.append((criterion, paper, seen))
            parts.append(_criterion(cohort, criterion, law, paper, seen))
    parts.insert(0, _comment(ABOUT + _honesty(misses)) + _study())
    parts += [_flags(cohort, rng) for cohort in TABLE_3]
    parts += [_control(name, law, planted, _measure(law, rng)) for name, (law, planted) in CONTROLS.items()]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}")


# ---------------------------------------------------------------------------------------------- rankings
def _measure(law: RankingLaw, rng: np.random.Generator) -> SignalCells:
    return cells_votes(votes_rankings(law.draw(LARGE, RATERS, ITEMS, rng=rng)), RATERS, ITEMS)


def _figures(seen: SignalCells) -> tuple[float, ...]:
    return tuple(getattr(seen, name) for name in FIGURES)


def _honesty(rows: list[tuple[str, tuple[float, ...], SignalCells]]) -> str:
    """What the law does not match, in numbers."""
    z = np.array([(p[3] - s.cycle_rate) / np.sqrt(s.cycle_rate * (1 - s.cycle_rate) / PROMPTS) for _, p, s in rows])
    gap = max(abs(p[2] - s.mean_pmax) for _, p, s in rows)
    medians = [name for name, p, s in rows if abs(p[0] - s.median_T) > 0.01]
    rank = spearmanr([p[3] for _, p, _ in rows], [s.cycle_rate for _, _, s in rows]).statistic
    worst, total = np.abs(z).max(), float((z**2).sum())
    return f"""
Not matched: cycle_rate. One shared order makes it fall as tau rises; in the paper it does not (rank correlation of \
the paper's nine rates with this law's: {rank:+.2f}). Each single gap is within sampling error at n = {PROMPTS} \
(largest |z| {worst:.2f}; chi-square {total:.1f} on 9, p = {chi2.sf(total, 9):.2f}), so no second \
parameter was added to chase it.
mean_pmax is predicted within {gap:.4f}. median_T lies one support step (1/15) off in: {", ".join(medians)}.
Flags: shares, Major rates and alpha are fitted, the two split shares are predictions; the aesthetics cohort splits \
only between No and Minor less often than in the paper.
"""


def _comment(text: str) -> str:
    lines = [line for par in text.strip().split("\n") for line in textwrap.wrap(par, 112) or [""]]
    return "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _study() -> str:
    return f"""
format = 1
name = "taste-like"
simulated = true
seed = {SEED}
items = {ITEMS}
prompts = {PROMPTS}  # for each criterion, disjoint between criteria
"""


def _cohort(cohort: str) -> str:
    raters = [f"{cohort}-{letter}" for letter in "ABCDE"]
    return f"""\
[[cohort]]
id = "{cohort}"
view = {_texts(VIEWS[cohort])}
raters = {_texts(raters)}
pattern = {_numbers(PATTERN, "g")}
planted = "{raters[0]} agrees least with the others"
"""


def _criterion(cohort: str, criterion: str, law: RankingLaw, paper: tuple[float, ...], seen: SignalCells) -> str:
    taus = expected_taus(law, RATERS, ITEMS)
    return f"""\
[[criterion]]
id = "{criterion}"
cohort = "{cohort}"
law = "thurstone"
noise = {law.parameter:.6f}
planted = "one shared order for each prompt; expected tau {taus[1, 2]:.3f} between B-E, {taus[0, 1]:.3f} with A"
paper = {_table(paper)}
large_n = {_table(_figures(seen))}
"""


def _control(name: str, law: RankingLaw, planted: str, seen: SignalCells) -> str:
    sizes = f"sizes = {list(law.faction_sizes(RATERS))}\n" if law.kind == "factions" else ""
    noise = f"noise = {law.parameter:g}\n" if law.kind == "factions" else ""
    return f"""\
[[control]]  # not one of the nine criteria
id = "{name}"
law = "{law.kind}"
{noise}{sizes}raters = {RATERS}
planted = "{planted}"
large_n = {_table(_figures(seen))}
"""


# ------------------------------------------------------------------------------------------------- flags
def _flag_settings(stretch: float, majors: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds and offsets (mean 0) that give each designer's Major rate and the pooled share of No."""
    sd = np.hypot(1, stretch)
    z = norm.isf(majors)
    offset = sd * (z.mean() - z)
    high = sd * z.mean()
    low = brentq(lambda t: norm.cdf((t - offset) / sd).mean() - NO, -9, 9)
    return np.array([low, high]), offset


def _draw_flags(stretch: float, majors: tuple[float, ...], items: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    thresholds, offset = _flag_settings(stretch, majors)
    return ratings_from_utilities(
        rng.standard_normal(items), RATERS, thresholds, offset=offset, scale=stretch, noise=1.0, rng=rng
    )


def _flags(cohort: str, rng: np.random.Generator) -> str:
    target, majors = FLAGS[cohort]
    seed = int(rng.integers(2**32))  # one seed for all stretches: alpha then moves smoothly with the stretch

    def excess(stretch: float) -> float:
        return krippendorff_alpha(_draw_flags(stretch, majors, LARGE, seed).T, level="ordinal").value - target

    stretch = brentq(excess, 0.1, 2.0, xtol=1e-4)
    thresholds, offset = _flag_settings(stretch, majors)
    levels = _draw_flags(stretch, majors, LARGE, seed + 1)
    share = np.bincount(levels.ravel(), minlength=3) / levels.size
    low, high = levels.min(axis=0), levels.max(axis=0)
    alpha = krippendorff_alpha(levels.T, level="ordinal").value
    return f"""\
[[flag]]
id = "taste/hallucination"
cohort = "{cohort}"
on = "taste/{cohort}-preference"  # the items that carry flags
thresholds = {_numbers(thresholds)}
offset = {_numbers(offset)}
stretch = {stretch:.4f}
noise = 1.0
planted = "Major rates {", ".join(f"{m:.0%}" for m in majors)} for designers A-E"
paper = {{ no = {NO}, minor = {MINOR}, major = {MAJOR:.2f}, alpha_ordinal = {target}, only_no_minor = {0.57 if cohort == "aesthetics" else 0.52}, only_minor_major = 0.05 }}
large_n = {{ no = {share[0]:.3f}, minor = {share[1]:.3f}, major = {share[2]:.3f}, alpha_ordinal = {alpha:.3f}, only_no_minor = {np.mean((low == 0) & (high == 1)):.3f}, only_minor_major = {np.mean((low == 1) & (high == 2)):.3f} }}
"""  # noqa: E501


# ------------------------------------------------------------------------------------------------ writing
def _table(values: tuple[float, ...]) -> str:
    return "{ " + ", ".join(f"{name} = {value:.3f}" for name, value in zip(FIGURES, values)) + " }"


def _numbers(values: np.ndarray | tuple[float, ...], form: str = ".4f") -> str:
    return "[" + ", ".join(format(float(v), form) if form != "g" else f"{v:.1f}" for v in values) + "]"


def _texts(values: list[str] | tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{v}"' for v in values) + "]"


if __name__ == "__main__":
    main()
