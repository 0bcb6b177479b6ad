"""A trial with planted preferences, and contestants that know a part of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.special import expit

from salon.evaluate import PairContestant, TestPairs

GENERATORS = ("ant", "bee", "cat", "dog")


def planted_trial(prompts=40, raters=5, criteria=2, seed=0, **facts) -> tuple[TestPairs, np.ndarray]:
    """Four items a prompt, all pairs, votes by the logistic law; also the true log-odds of each pair."""
    rng = np.random.default_rng(seed)
    rows = []
    for criterion in range(criteria):
        for prompt in range(prompts):
            quality = rng.normal(np.linspace(-0.6, 0.6, 4), 0.8)
            for i, j in combinations(range(4), 2):
                rows.append((criterion, criterion * prompts + prompt, i, j, quality[i] - quality[j]))
    criterion, group, a, b, z = (np.array(column) for column in zip(*rows))
    first = rng.binomial(raters, expit(z))
    trial = TestPairs(
        study="planted",
        data="0123456789abcdef",
        split="test",
        criteria=tuple((f"c{number}", f"Criterion {number}") for number in range(criteria)),
        criterion=criterion,
        group=group,
        item_a=np.array([f"p{g}-{i}" for g, i in zip(group, a)], object),
        item_b=np.array([f"p{g}-{i}" for g, i in zip(group, b)], object),
        votes=np.stack([first, raters - first, np.zeros_like(first)], axis=1),
        text=np.array([f"prompt {g}" for g in group], object),
        generators={f"p{g}-{i}": GENERATORS[i] for g in set(group.tolist()) for i in range(4)},
        **facts,
    )
    return trial, z


def contestant(trial: TestPairs, margin, name="model", kind="heads", **facts) -> PairContestant:
    """Speaks about every pair unless told otherwise."""
    speaks = facts.pop("speaks", np.ones(len(trial), bool))
    told = {"is_logit": True, "guarded": True, "signature": name} if kind != "scorer" else {}
    return PairContestant(name, kind, np.asarray(margin, float), speaks, **(told | facts))
