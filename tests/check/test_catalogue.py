"""Ratings of a catalogue: nothing about its size decides a verdict, and what is drawn is said."""

import numpy as np
import pytest
from scipy import sparse

from salon.check import CheckSettings, check_study
from salon.check.criterion import sample_items
from salon.stats.agreement_tests import flip_cumulants
from salon.study import Criterion, Item, Rater, Rating, Study

QUICK = CheckSettings(draws=100)


def catalogue(items, raters, taste, seed, share=1.0):
    """Everybody rates a share of the items from 1 to 5; `taste` of the spread is common to all."""
    rng = np.random.default_rng(seed)
    worth = taste * rng.normal(size=items)
    felt = np.clip(np.rint(3 + worth + rng.normal(size=(raters, items))), 1, 5)
    ratings = [
        Rating(criterion="c", rater=f"r{r}", item=f"i{i}", value=float(felt[r, i]))
        for r in range(raters) for i in np.flatnonzero(rng.random(items) < share)
    ]  # fmt: skip
    tables = {
        "items": [Item(id=f"i{i}") for i in range(items)],
        "raters": [Rater(id=f"r{r}") for r in range(raters)],
        "ratings": ratings,
    }
    return Study.build("films", (Criterion(id="c"),), tables=tables, compare_within="all")


@pytest.mark.parametrize(("items", "raters"), [(70, 20), (90, 20), (90, 6)])
def test_a_catalogue_of_more_items_is_no_less_data(items, raters):
    agreeing, random = (check_study(catalogue(items, raters, taste, 1), QUICK).criteria[0] for taste in (0.7, 0.0))
    assert agreeing.agree == "yes"
    assert random.agree == "no"


def test_too_many_votes_are_drawn_by_item_and_said():
    study = catalogue(120, 30, 0.7, 2, share=0.4)
    few = QUICK.model_copy(update={"most_votes": 5_000})
    drawn = sample_items(study, 0, few)
    assert sample_items(study, 0, QUICK) is None
    sizes = np.bincount(study.ratings.rater[drawn[study.ratings.item]])
    assert 4_000 < int((sizes * (sizes - 1) // 2).sum()) <= 5_000
    whole, part = (check_study(study, settings).criteria[0] for settings in (QUICK, few))
    assert part.agree == whole.agree == "yes"
    assert part.pair_agreement.value == pytest.approx(whole.pair_agreement.value, abs=0.12)
    assert any(f"{int(drawn.sum())} of 120 items are compared" in policy for policy in part.policies)
    assert not any("items are compared" in policy for policy in whole.policies)


def test_cumulants_are_the_same_from_either_side_and_from_flips():
    rng = np.random.default_rng(3)
    signs = rng.integers(-1, 2, (12, 9)).astype(float)
    wide = sparse.csr_array(np.hstack([signs, np.zeros((12, 9))]))
    flips = 1 - 2 * ((np.arange(1 << 9)[:, None] >> np.arange(9)) & 1)
    totals = (((flips @ signs.T) ** 2).sum(axis=1) - (signs**2).sum()) / 2
    for table in (sparse.csr_array(signs), wide):
        assert flip_cumulants(table) == pytest.approx((np.mean(totals**2), np.mean(totals**3)))
