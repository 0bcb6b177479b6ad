"""A rehearsal of the bridge with a simulated judge: how close does it come to the truth, and for how many calls?

The judge. Items have true scores q ~ N(0, spread^2) in logits of the judge; an answer follows Davidson's law with the
tie parameter at which two equal items tie with chance `ties`, and a share `lapses` of answers is drawn at random.
`spread` says how sharp the judge is: 0.5 is near guessing, 3.9 a model that reproduces PPaint's only figure for one
(612 of 1,225 pairs of 50 items order them as all pairs do, SRCC .986). Truth here is what this judge would say if asked
without end; whether that is good taste is a question for `salon check`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.fuse.bridge import run_bridge
from salon.fuse.bridge_plan import BridgeAnswers, BridgePlan, Ints, plan_group, planned_calls
from salon.fuse.bridge_scale import latent_scores, measure_pool, pool_answers
from salon.fuse.settings import RehearsalSettings
from salon.stats import Placement
from salon.study import Noun, Signature

Floats = NDArray[np.float64]


class RehearsalPoint(Noun):
    """Rank correlation with the truth after some calls."""

    opponents: int = Field(description="Opponents of every item outside the pool.")
    calls: int = Field(description="Calls in one order, the pool's included.")
    random: float = Field(description="SRCC with random opponents.")
    adaptive: float = Field(description="SRCC with adaptive opponents.")


class Rehearsal(Noun):
    """The JSON of `salon bridge simulate --json`."""

    format: Literal["salon.bridge-simulation/1"] = Field(
        "salon.bridge-simulation/1", description="Name and version of this format."
    )
    simulated: Literal[True] = Field(True, description="Nobody gave these answers.")
    planned_one_order: int = Field(description="C(N, 2) + (n - N) K.")
    planned_both_orders: int = Field(description="Twice that.")
    exhaustive: int = Field(description="All pairs, in one order.")
    opponents: Literal["random", "adaptive"] = Field(description="Whom the figures below are about.")
    asked: int = Field(description="Calls made, in one order.")
    srcc: float = Field(description="Rank correlation of all items' scores with the truth.")
    srcc_low: float = Field(description="Lower end at 95%: other items, the same pool (Bonett and Wright).")
    srcc_high: float = Field(description="Upper end.")
    coverage: float | None = Field(description="Share of placed items whose 95% interval holds the true score.")
    curve: tuple[RehearsalPoint, ...] = Field(description="Both ways, opponent by opponent.")
    adaptive_opponents: float | None = Field(
        description="Adaptive opponents that reach the SRCC of all random ones, interpolated between rounds; None: "
        "not reached."
    )
    placement_share: float | None = Field(description="The same as a share of the placement calls.")
    total_share: float | None = Field(description="The same as a share of all calls, the pool's included.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same in one line.")


@dataclass(frozen=True)
class SimulatedJudge:
    """Answers by Davidson's law with lapses."""

    truth: Floats
    nu: float
    lapses: float
    rng: np.random.Generator

    def __call__(self, pairs: Ints) -> Ints:
        d = (self.truth[pairs[:, 0]] - self.truth[pairs[:, 1]]) / 2
        terms = np.stack([np.exp(d), np.exp(-d), np.full(len(d), self.nu)])
        below = np.cumsum(terms, axis=0) / terms.sum(axis=0)
        outcome = (self.rng.random(len(d)) > below[:2]).sum(axis=0)
        lapsed = self.rng.random(len(d)) < self.lapses
        return np.where(lapsed, self.rng.integers(0, 2, len(d)), outcome)


def draw_judge(settings: RehearsalSettings, rng: np.random.Generator) -> SimulatedJudge:
    """Items drawn from N(0, spread^2), and who judges them."""
    truth = rng.normal(0, settings.spread, settings.items)
    return SimulatedJudge(truth, 2 * settings.ties / (1 - settings.ties), settings.lapses, rng)


def rehearse_bridge(
    settings: RehearsalSettings | None = None, *, progress: Callable[[str], None] = lambda step: None
) -> Rehearsal:
    """Both ways of choosing opponents on the same items, the same pool and the same judge."""
    from scipy.stats import norm

    chosen = settings or RehearsalSettings()
    judge = draw_judge(chosen, np.random.default_rng(chosen.seed))
    plan = plan_group([str(item) for item in range(chosen.items)], chosen.bridge(adaptive=False))
    progress("random opponents")
    random = _random_rounds(plan, judge, chosen)
    progress("adaptive opponents")
    pool = random[0].where(_in_pool(plan, random[0]))
    # the same for adaptive opponents; where nobody is left to ask, the last answers stand
    rounds: list[BridgeAnswers] = []
    ids = [str(item) for item in range(chosen.items)]
    run_bridge(ids, judge, chosen.bridge(adaptive=True), answers=pool, save=rounds.append)
    adaptive = (rounds + [rounds[-1] if rounds else pool] * chosen.opponents)[: chosen.opponents]
    from scipy.stats import spearmanr

    progress("scores")
    scale = measure_pool(pool_answers(plan, pool, 0), len(plan.pool), chosen.bridge(adaptive=False))
    latents_by_way = [
        [latent_scores(plan, scale, pool_answers(plan, answers, 0), 0.95) for answers in rounds]
        for rounds in (random, adaptive)
    ]
    srcc = [
        [(float(spearmanr(np.round(latent.mean, 9), judge.truth).statistic)) for latent in latents]
        for latents in latents_by_way
    ]
    points = tuple(
        RehearsalPoint(opponents=k + 1, calls=len(random[k]), random=srcc[0][k], adaptive=srcc[1][k])
        for k in range(len(random))
    )
    coverage = _coverage(plan, latents_by_way[chosen.adaptive][-1], judge.truth)
    bridge, n, reached = chosen.bridge(adaptive=False), chosen.items, srcc[chosen.adaptive][-1]
    planned, pool_pairs = planned_calls(n, bridge), bridge.pool * (bridge.pool - 1) // 2
    needed = opponents_needed(points)
    # Bonett & Wright 2000: the variance of Fisher's z of a Spearman correlation is (1 + r^2/2) / (n - 3).
    reach = norm.ppf(0.975) * np.sqrt((1 + reached**2 / 2) / (n - 3))
    low, high = np.tanh(np.arctanh(min(reached, 1 - 1e-12)) + np.array([-reach, reach]))
    plain = {name: value for name, value in chosen if name != "seed"}
    signature = Signature(method="bridge simulate", settings=plain, seed=chosen.seed)
    return Rehearsal(
        planned_one_order=planned,
        planned_both_orders=2 * planned,
        exhaustive=n * (n - 1) // 2,
        opponents="adaptive" if chosen.adaptive else "random",
        asked=points[-1].calls,
        srcc=reached,
        srcc_low=float(low),
        srcc_high=float(high),
        coverage=coverage,
        curve=points,
        adaptive_opponents=needed,
        placement_share=None if needed is None else needed / chosen.opponents,
        total_share=None if needed is None else (pool_pairs + needed * (n - bridge.pool)) / planned,
        signature=signature,
        signature_line=str(signature),
    )


def _random_rounds(plan: BridgePlan, judge: SimulatedJudge, settings: RehearsalSettings) -> list[BridgeAnswers]:
    """Answers after 1 to K random opponents: fewer are the first of more."""
    ids = [str(item) for item in range(settings.items)]
    answers = run_bridge(ids, judge, settings.bridge(adaptive=False)).answers
    turn = np.zeros(len(answers), np.int64)
    placed = ~_in_pool(plan, answers)
    turn[placed] = np.tile(np.arange(settings.opponents), len(plan.rest))
    return [answers.where(turn <= k) for k in range(settings.opponents)]


def _in_pool(plan: BridgePlan, answers: BridgeAnswers) -> NDArray[np.bool_]:
    return np.asarray((plan.place[answers.pairs] >= 0).all(axis=1))


def _coverage(plan: BridgePlan, latent: Placement, truth: Floats) -> float | None:
    """Scores are centred on the pool, and so must the truth be."""
    if not len(plan.rest):
        return None
    centred = truth - truth[plan.pool].mean() + latent.mean[plan.pool].mean()
    inside = (latent.low < centred) & (centred < latent.high)
    return float(inside[plan.rest].mean())


def opponents_needed(points: tuple[RehearsalPoint, ...]) -> float | None:
    """Adaptive opponents needed for the SRCC of all random ones, between rounds by interpolation."""
    goal = points[-1].random
    adaptive = np.array([point.adaptive for point in points])
    first = int(np.argmax(adaptive >= goal))
    if adaptive[first] < goal:
        return None
    if first == 0:
        return 1.0
    return first + float((goal - adaptive[first - 1]) / (adaptive[first] - adaptive[first - 1]))
