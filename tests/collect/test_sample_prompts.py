"""Prompts drawn by category, and orders that keep shares."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, strategies as st

from salon.collect.design import sample_prompts, shared_order

CATEGORIES = st.lists(st.sampled_from("abc"), min_size=1, max_size=40)


@given(CATEGORIES, st.data(), st.integers(0, 2**32))
def test_draws_keep_their_shares(categories: list[str], data: st.DataObject, seed: int) -> None:
    number = data.draw(st.integers(0, len(categories)))
    size = Counter(categories)
    rng = np.random.default_rng(seed)
    for shares in ("proportional", "equal"):
        chosen = sample_prompts(categories, number, shares, rng=rng)
        assert len(set(chosen)) == len(chosen) == number
        drawn = Counter(categories[k] for k in chosen)
        if shares == "proportional":
            assert all(abs(drawn[c] - number * size[c] / len(categories)) < 1 for c in size)
        else:
            fullest = max(drawn.values(), default=0)
            assert all(drawn[c] >= fullest - 1 or drawn[c] == size[c] for c in size)


@given(CATEGORIES, st.integers(0, 2**32))
def test_every_beginning_holds_categories_equally(categories: list[str], seed: int) -> None:
    order = shared_order(categories, "equal", rng=np.random.default_rng(seed))
    assert sorted(order) == list(range(len(categories)))
    size, seen = Counter(categories), Counter()
    for place in order:
        seen[categories[place]] += 1
        assert all(seen[c] >= max(seen.values()) - 1 or seen[c] == size[c] for c in size)


def test_every_prompt_is_as_likely_as_its_neighbours() -> None:
    """3 of 6 in one category: each in half of 400 draws, 10 being one standard deviation."""
    rng = np.random.default_rng(0)
    drawn = Counter(k for _ in range(400) for k in sample_prompts(["a"] * 6, 3, "equal", rng=rng))
    assert all(abs(drawn[k] - 200) < 50 for k in range(6))
