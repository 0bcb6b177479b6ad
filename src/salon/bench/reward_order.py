"""Do mean rewards put generators in the order that people do? HPSv3's Table 3.

People's value of a generator is its share of votes over pairs of two generators, a tie half for either; a scorer's is
its mean over the prompts of the benchmark. The two need not have a prompt in common, so each is drawn again by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salon.bench.rater_evaluation import generator_points
from salon.bench.reward_table import RewardOrder
from salon.errors import TooFew
from salon.evaluate.judges.judge_report import people_only
from salon.fuse.labels import LabelSettings, make_labels
from salon.stats.generator_ranks import mean_ranks
from salon.stats.paired_means import stratified
from salon.study import Study

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DRAWS = 2000
POLICY = (
    "Order of generators: people's shares of votes won, a tie half a win, beside the scorer's means; over the "
    "generators that both have and the pairs among them. Prompts of people and of the benchmark are drawn again apart "
    "from each other, generators are held fixed. Normalised MSE: both sides stretched to [0, 1] over generators; HPSv3 "
    "prints such a number without a formula."
)


@dataclass(frozen=True)
class PeopleVotes:
    """What people said of generators."""

    study: str
    data: str
    names: tuple[str, ...]
    sides: Ints
    """(2, pairs): the two generators, as numbers into `names`."""
    share: Floats
    """Of the votes on each pair, for the first."""
    prompt: Ints


def people_votes(study: Study) -> PeopleVotes:
    """The votes of the people of a study by generator; TooFew where items do not name two."""
    settings = LabelSettings(ties="keep", train=1, validation=0, test=0)
    rows = make_labels(people_only(study), settings).table.to_pylist()
    generator = {item.id: item.generator for item in study.nouns("items")}
    sides = [(generator[row["item_a"]], generator[row["item_b"]]) for row in rows]
    used = [k for k, (a, b) in enumerate(sides) if a and b and a != b]
    names = sorted({name for k in used for name in sides[k] if name})
    if len(names) < 2:
        raise TooFew(
            "votes between pictures of two generators are needed",
            found=f"{len(names)} generators",
            where=f"study {study.name!r}",
            remedy="items name their generator: model1 and model2 of HPDv3",
        )
    place = {name: number for number, name in enumerate(names)}
    codes = np.array([[place[str(name)] for name in sides[k]] for k in used], np.int64).T
    share = np.array([rows[k]["share"] for k in used], np.float64)
    prompt = np.unique([str(rows[k]["group"]) for k in used], return_inverse=True)[1]
    return PeopleVotes(study.name, study.hash, tuple(names), codes, share, prompt)


def reward_order(
    scorer: str,
    people: PeopleVotes,
    names: Sequence[str],
    values: Floats,
    strata: Ints | None,
    *,
    rng: np.random.Generator,
    level: float,
) -> RewardOrder:
    """The agreement of one scorer: `values` are (prompts, generators) of `names`, complete."""
    shared = [name for name in people.names if name in names]
    alone = sorted({*people.names, *names} - set(shared))
    known: dict[str, Any] = {
        "scorer": scorer,
        "people": people.study,
        "generators": tuple(shared),
        "left_out": tuple(alone),
    }
    if len(shared) < 3 or not len(values):
        reason = f"an order of generators needs at least 3 that both have; there are {len(shared)}"
        return RewardOrder(**known, spearman=None, kendall=None, nmse=None, prompts=len(values), pairs=0, reason=reason)
    x = values[:, [list(names).index(name) for name in shared]]
    x = x if strata is None else stratified(x, strata)
    number = np.array([shared.index(name) if name in shared else -1 for name in people.names])
    sides = number[people.sides]
    used = (sides >= 0).all(axis=0)
    if not used.any():
        reason = "people compared no two of the generators that both have"
        return RewardOrder(**known, spearman=None, kendall=None, nmse=None, prompts=len(x), pairs=0, reason=reason)
    points = (people.share[used], np.full(int(used.sum()), 0.5))
    won, half = (generator_points(sides[:, used], people.prompt[used], len(shared), one) for one in points)
    result = mean_ranks(x, won, 2 * half, draws=DRAWS, rng=rng, level=level)
    return RewardOrder(
        **known,
        spearman=result.spearman,
        kendall=result.kendall,
        nmse=result.nmse,
        prompts=len(x),
        pairs=int(used.sum()),
        reason=result.reason,
    )
