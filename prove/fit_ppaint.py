"""Fit the simulated painting study to PPaint's published agreement: writes src/salon/collect/simulate/ppaint_like.toml.

    python -m prove.fit_ppaint

Fitted: `spread`, `taste` and `shared` to Fleiss' kappa of the comparisons, to the Spearman correlation of two raters'
rankings made from them and to the triplets these separate; `rating_noise` to the correlation of two raters' ratings.
Each rater's threshold, side, offset and gain follow from a tie rate, a share of left wins, a mean rating and a share of
extreme ratings, which are spread over the published ranges. `steepness` makes the planted score the mean rating of
endlessly many such raters. All other published figures are predictions, measured on fresh studies and written beside
the paper's, matched or not. No result of fusion is looked at.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import brentq, minimize_scalar, root
from scipy.special import expit
from scipy.stats import norm

from prove._ppaint_figures import PAPER, RANGES, Group, Law, measure, rater_spearman, studies
from salon.collect.simulate.ppaint_like import (
    LEVELS,
    Floats,
    PpaintSettings,
    Profiles,
    draw_latent,
    expected_ratings,
    latent_cut,
)
from salon.stats import agreement, stability

OUT = Path(__file__).parents[1] / "src/salon/collect/simulate/ppaint_like.toml"
SEED = 2026
FIT_STUDIES, LARGE_STUDIES = 20, 100
NODES = 400


@dataclass(frozen=True)
class Targets:
    """What each of the fifteen raters is made to do."""

    tie_rate: Floats
    left_wins: Floats
    mean_rating: Floats
    extreme_share: Floats


def main() -> None:
    targets = _targets()
    law = _fit_comparisons(targets)
    law["rating_noise"] = _fit_rating_noise(law, targets)
    law["steepness"] = _steepness(law, targets)
    profile = _profile(law, targets)
    seen = measure(law, profile, LARGE_STUDIES, SEED + 1)
    OUT.write_text(_text(law, profile, targets, *seen), encoding="utf-8")
    print(f"wrote {OUT.name}")


# ---------------------------------------------------------------------------------------------- targets
def _targets() -> Targets:
    """The published ranges, filled evenly, ties by squares; which rater gets which value is drawn by lot."""
    rng = np.random.default_rng(SEED)
    even = np.linspace(0, 1, 15)
    place = {"tie_rate": even**2, "left_wins": even, "mean_rating": even, "extreme_share": even}
    return Targets(**{name: rng.permutation(_within(RANGES[name], where)) for name, where in place.items()})


def _within(ends: tuple[float, float], place: Floats) -> Floats:
    return ends[0] + (ends[1] - ends[0]) * place


# ---------------------------------------------------------------------------------------------- raters
def _profile(law: Law, targets: Targets) -> Profiles:
    """Every rater's settings, (3, 5) each."""
    threshold, side = _leanings(law, targets).reshape(2, 3, 5)
    offset, gain = _scale_uses(law, targets).reshape(2, 3, 5)
    return Profiles(threshold=threshold, side=side, offset=offset, gain=gain)


def _nodes(law: Law) -> tuple[Floats, Floats, Floats]:
    """Values that stand for the law's q, for what a rater sees, and for the difference of two items as seen."""
    settings = PpaintSettings(seed=0, categories=1, items=2000, raters=20, steepness=1.0, rating_noise=0.0, **law)
    rng = np.random.default_rng(SEED)
    q, u = draw_latent(settings, rng)
    seen = q[:, None] + u
    gap = seen - seen[:, :, rng.permutation(seen.shape[2])]
    share = (np.arange(NODES) + 0.5) / NODES
    return tuple(np.quantile(values, share) for values in (q, seen, gap))


def _leanings(law: Law, targets: Targets) -> Floats:
    """(2, 15) thresholds and sides."""
    gap = _nodes({name: law[name] for name in ("spread", "taste", "shared")})[2]
    return np.array([_leaning(gap, *goal) for goal in zip(targets.tie_rate, targets.left_wins)]).T


def _leaning(gap: Floats, tie_rate: float, left_wins: float) -> tuple[float, float]:
    """Threshold and side that give a tie rate, and a share of decided comparisons won by the left item."""

    def shares(threshold: float, side: float) -> tuple[float, float]:
        left, right = (expit(sign * (gap + side) - threshold).mean() for sign in (1, -1))
        return 1 - left - right, left / (left + right)

    def side_for(threshold: float) -> float:
        return float(brentq(lambda side: shares(threshold, side)[1] - left_wins, 0, 30))

    threshold = brentq(lambda t: shares(t, side_for(t))[0] - tie_rate, 0, 20) if tie_rate else 0.0
    return float(threshold), side_for(float(threshold))


def _scale_uses(law: Law, targets: Targets) -> Floats:
    """(2, 15) offsets and gains."""
    seen = _nodes({name: law[name] for name in ("spread", "taste", "shared")})[1]
    goals = zip(targets.mean_rating, targets.extreme_share)
    return np.array([_scale_use(law, seen, *goal) for goal in goals]).T


def _scale_use(law: Law, seen: Floats, mean: float, extremes: float) -> tuple[float, float]:
    """Offset and gain that give a mean rating and a share of ratings 1 and 5."""

    def above(offset: float, gain: float) -> Floats:
        cuts = latent_cut(LEVELS, offset, gain, law["steepness"])
        return np.asarray(norm.sf((cuts[:, None] - seen) / law["rating_noise"]).mean(axis=1))

    def offset_for(gain: float) -> float:
        far = 3 + 4 * gain
        return float(brentq(lambda offset: 1 + above(offset, gain).sum() - mean, -far, far, xtol=1e-6))

    def excess(log_gain: float) -> float:
        gain = float(np.exp(log_gain))
        p = above(offset_for(gain), gain)
        return float(1 - p[0] + p[3] - extremes)

    gain = float(np.exp(brentq(excess, np.log(0.05), np.log(100), xtol=1e-6)))
    return offset_for(gain), gain


def _steepness(law: Law, targets: Targets) -> float:
    """The steepness at which 1 + 4 logistic(steepness q) lies nearest to the mean rating of all fifteen raters."""
    q = _nodes({name: law[name] for name in ("spread", "taste", "shared")})[0]
    noise = float(np.hypot(law["taste"], law["rating_noise"]))

    def miss(log_steepness: float) -> float:
        trial = law | {"steepness": float(np.exp(log_steepness))}
        offset, gain = _scale_uses(trial, targets)[..., None]
        mean = expected_ratings(q, offset, gain, steepness=trial["steepness"], noise=noise).mean(axis=0)
        return float(np.mean((mean - 1 - 4 * expit(trial["steepness"] * q)) ** 2))

    near = np.log(1.5 / law["spread"])
    return float(np.exp(minimize_scalar(miss, bounds=(near - 1, near + 1), options={"xatol": 2e-3}).x))


# ---------------------------------------------------------------------------------------------- fits
def _fit_comparisons(targets: Targets) -> Law:
    goal = np.array([PAPER["fleiss_kappa"][0], PAPER["rater_spearman"][0], PAPER["triplets"][0]])

    def law_at(x: Floats) -> Law:
        spread = float(np.exp(x[0]))
        return {"spread": spread, "taste": float(spread * expit(x[1])), "shared": float(expit(x[2]))}

    def excess(x: Floats) -> Floats:
        law = law_at(x)
        threshold, side = _leanings(law, targets).reshape(2, 3, 5)
        profile = Profiles(threshold, side, np.zeros((3, 5)), np.ones((3, 5)))
        found = [_compared(group) for study in studies(law, profile, FIT_STUDIES, SEED) for group in study.groups()]
        return np.mean(found, axis=0) - goal

    return law_at(root(excess, [np.log(2.5), 0.0, 1.4], method="hybr", options={"eps": 0.02, "xtol": 5e-3}).x)


def _compared(group: Group) -> tuple[float, float, float]:
    elo = group.elo
    kappa = agreement.outcome_agreement(group.outcome).fleiss.kappa.value
    return kappa, rater_spearman(elo), stability.triplet_separation(elo, group.tiers)


def _fit_rating_noise(law: Law, targets: Targets) -> float:
    def excess(noise: float) -> float:
        trial = law | {"rating_noise": noise}
        trial["steepness"] = _steepness(trial | {"steepness": 1.0}, targets)
        made = studies(trial, _profile(trial, targets), FIT_STUDIES, SEED)
        rho = [rater_spearman(group.ratings) for study in made for group in study.groups()]
        return float(np.mean(rho)) - PAPER["rater_spearman"][1]

    return float(brentq(excess, 0.5, 1.6, xtol=5e-3))


# ---------------------------------------------------------------------------------------------- writing
ABOUT = f"""\
A simulated study of paintings in the shape of PPaint. No answer in it was given by a person.
Written by prove/fit_ppaint.py; change that script, not this file. The law stands in ppaint_law.py.

Fitted: spread, taste and shared (to fleiss_kappa, rater_spearman and triplets of comparisons), rating_noise (to \
rater_spearman of ratings), and each rater's threshold, side, offset and gain. The paper prints only the ends of the \
ranges over its fifteen raters; they are filled evenly here, tie rates by squares (most raters tie seldom), and dealt \
to the raters by lot. A share of left wins is read as a lean to the left, the harder reading: the paper does not say \
whether better paintings stood left more often. steepness makes 1 + 4 logistic(steepness q) the mean rating of \
endlessly many such raters, as nearly as it can.

`paper`: printed figures. `large_n`: the same of this law, mean over {LARGE_STUDIES} fresh studies (ranges: the mean \
of each rater). Whatever is not named as fitted is a prediction.

Not matched, and why. Repeats agree less and triples are intransitive more often than printed: under one logistic \
noise, raters who repeat themselves that well and share a taste to rho .739 would agree on single pairs to a kappa \
above .373. Raters are more alike here than printed (rank_error_sd, least_ and most_to_consensus): all share one size \
of taste. split_half, leave_one_out, one_rater, three_raters and to_consensus_accuracy come out higher: here the \
consensus is the mean of the raters' mid-ranks and a rater's tie counts half; the paper's rules are not printed, and a \
rho of .739 between raters already implies {(0.2 + 0.8 * 0.739) ** 0.5:.3f} for one rater against the mean of five, \
not .860. kendall_w .795 does not follow from rater_spearman .739 either ({0.2 + 0.8 * 0.739:.3f} does). fleiss_kappa \
of ratings comes out higher at the printed rater_spearman, and fewer items get the same rating from all five raters.
"""


def _text(law: Law, profile: Profiles, targets: Targets, means: dict, rates: dict) -> str:
    lines = [line for par in ABOUT.strip().split("\n") for line in textwrap.wrap(par, 112) or [""]]
    parts = ["".join(f"# {line}".rstrip() + "\n" for line in lines)]
    parts.append(f'format = 1\nname = "ppaint-like"\nsimulated = true\nseed = {SEED}\n')
    parts.append("[law]\n" + "".join(f"{name} = {law[name]:.4f}\n" for name in sorted(law)))
    parts.append("[figures]  # each for comparisons, ratings\n" + "".join(map(_figure, PAPER, means.values())))
    parts.append("[ranges]  # over fifteen raters: lowest, highest\n" + "".join(map(_range, RANGES, rates.values())))
    columns = [getattr(profile, name).ravel() for name in Profiles.__annotations__]
    goals = [getattr(targets, name) for name in Targets.__annotations__]
    parts += map(_rater, zip(*columns), zip(*goals))
    return "\n".join(parts)


def _figure(name: str, found: tuple[float, float]) -> str:
    return f"{name} = {{ paper = {_numbers(PAPER[name])}, large_n = {_numbers(found)} }}\n"


def _range(name: str, found: Floats) -> str:
    ends = float(found.min()), float(found.max())
    return f"{name} = {{ paper = {_numbers(RANGES[name])}, large_n = {_numbers(ends)} }}\n"


def _rater(values: tuple[float, ...], goals: tuple[float, ...]) -> str:
    names = zip((*Profiles.__annotations__, *Targets.__annotations__), (*values, *goals))
    return "[[rater]]\n" + "".join(f"{name} = {value:.4f}\n" for name, value in names)


def _numbers(values: tuple[float, ...]) -> str:
    return "[" + ", ".join(f"{value:.3f}" for value in values) + "]"


if __name__ == "__main__":
    main()
