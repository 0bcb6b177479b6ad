"""Planted truth: the houses' known order comes out of EPS, and a flaw ranks below its clean parent.

No picture is drawn: a scorer that sees the true quality of every poster, with noise of its own, stands for a model.
What a model trained here makes of real pictures is `make prove ONLY=board`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau
from suite_example import CARD, SCORER, answers, asked, entered, logits

from salon.bench import EntryResult, entry_result, standings, with_hashes
from salon.bench.reference import make_reference
from salon.generate.houses import HOUSES, expected_quality, poster_seed
from salon.render import WEIGHTS, true_quality

PROMPTS, SLOPE, NOISE = 48, 4.0, 0.5
CLEAN = "proof"
CRITERIA = tuple(WEIGHTS)


def qualities(house: str, criterion: str, more: dict[str, float] | None = None) -> list[float]:
    """True quality of the house's posters, one a prompt; `more` are defects planted besides."""
    made = HOUSES[house]
    return [
        true_quality({**made.knobs(poster_seed(house, f"p{n}", 0)), **(more or {})})[criterion] for n in range(PROMPTS)
    ]


def board(field: dict[str, list[float]], seed: int) -> dict[str, EntryResult]:
    """Every entry of a field against the field's own median; a prompt is as hard for all."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 1, PROMPTS)
    mu = {name: SLOPE * np.array(values) + hard + rng.normal(0, NOISE, PROMPTS) for name, values in field.items()}
    suite = replace(asked(["look"] * PROMPTS, points=1, judges="a"), reference=None)
    entries = {name: entered(suite, name) for name in field}
    tables = {
        name: (entry, logits(suite, entry, lambda item, own=mu[name]: float(own[int(item[1:-2])])))
        for name, entry in entries.items()
    }
    reference = make_reference(suite, list(tables.values()), {"eps": ("likes", SCORER, CARD)})
    frozen = with_hashes(replace(suite, reference=reference))
    return {
        name: entry_result(frozen, entry, answers(frozen, entry, lambda *_: "pass"), table)
        for name, (entry, table) in tables.items()
    }


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_houses_known_order_comes_out_of_eps(criterion):
    results = board({house: qualities(house, criterion) for house in HOUSES}, seed=CRITERIA.index(criterion))
    truth = {name: expected_quality(house)[criterion] for name, house in HOUSES.items()}
    eps = {name: one.eps["eps"].figure.value for name, one in results.items()}
    places = {one.entry: one for one in standings(list(results.values()), "eps").places}
    for one, other in combinations(HOUSES, 2):
        if truth[one] > truth[other] + 1e-3:  # never surely the wrong way round
            assert places[one].low <= places[other].high
            assert not places[one].rank > places[other].rank or other in places[one].tied
    if np.ptp(list(truth.values())) > 0.05:
        assert kendalltau(list(truth.values()), [eps[name] for name in truth]).statistic > 0.6
        assert max(eps.values()) > 50 > min(eps.values())


@pytest.mark.parametrize("kind", sorted({kind for weights in WEIGHTS.values() for kind in weights}))
def test_a_flaw_ranks_below_its_clean_parent(kind):
    hurt = max(CRITERIA, key=lambda criterion: WEIGHTS[criterion].get(kind, 0.0))
    field = {house: qualities(house, hurt) for house in HOUSES}
    field |= {f"{CLEAN}+{kind}@{strength}": qualities(CLEAN, hurt, {kind: strength}) for strength in (0.4, 0.9)}
    results = board(field, seed=5)
    eps = {name: one.eps["eps"].figure.value for name, one in results.items()}
    places = {one.entry: one for one in standings(list(results.values()), "eps").places}
    assert eps[CLEAN] > eps[f"{CLEAN}+{kind}@0.4"] > eps[f"{CLEAN}+{kind}@0.9"]
    strong = places[f"{CLEAN}+{kind}@0.9"]
    assert CLEAN not in strong.tied
    assert strong.low > places[CLEAN].low
