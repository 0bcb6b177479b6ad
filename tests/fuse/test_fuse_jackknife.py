"""Errors by leaving out clusters: the t test by hand, strata, blocks, and what it needs."""

import numpy as np
import pytest
from drawn_studies import Drawn, names
from scipy import stats

from salon.errors import TooFew
from salon.fuse import FuseSettings, study_groups
from salon.fuse.resampling import MOST_FOLDS, jackknife_folds, jackknife_spread, refit_folds
from salon.study import Criterion, Scale

RATED = Criterion(id="c", scale=Scale(low=0, high=10))


def groups(study):
    return list(study_groups(study, FuseSettings(), ()))


def means(found):
    """Fit of all groups: the mean rating of each item."""

    def fit(without):
        now = [without.get(place, group) for place, group in enumerate(found)]
        return np.concatenate([np.bincount(g.rated.item, g.rated.value) / np.bincount(g.rated.item) for g in now])

    return fit


def jackknifed(found, cluster="rater"):
    made = list(jackknife_folds(found, cluster, rng=np.random.default_rng(0)))
    return made, jackknife_spread(*refit_folds(made, means(found)))


def test_a_mean_over_raters_has_the_error_of_the_t_test():
    """Ratings 1, 2, 6 by three raters: mean 3, variance 7, standard error sqrt(7/3) with 2 degrees of freedom."""
    found = groups(Drawn(1, 2).rate([[[1, 5], [2, 5], [6, 8]]]).study(RATED))
    made, errors = jackknifed(found)
    assert len(made) == 3
    assert errors.se == pytest.approx([np.sqrt(7 / 3), 1.0])
    assert errors.df == pytest.approx([2, 2])


def test_separate_panels_are_separate_strata():
    """Two prompts with three raters of their own: each value has its own panel's error, as if alone."""
    values = np.random.default_rng(1).uniform(0, 10, (2, 3, 2))
    drawn = Drawn(2, 2)
    for prompt in range(2):
        one = np.full((2, 3, 2), np.nan)
        one[prompt] = values[prompt]
        drawn.rate(one, raters=names(6)[3 * prompt : 3 * prompt + 3])
    found = groups(drawn.study(RATED))
    made, errors = jackknifed(found)
    assert sorted({fold.stratum for fold in made}) == [0, 1]
    assert all(len(fold.without) == 1 for fold in made)
    alone = np.concatenate([stats.sem(panel, axis=0) for panel in values])
    assert errors.se == pytest.approx(alone)
    assert errors.df == pytest.approx(np.full(4, 2))


def test_many_raters_are_left_out_in_blocks():
    rng = np.random.default_rng(2)
    values = 5 + rng.normal(size=(1, 90, 3))
    made, errors = jackknifed(groups(Drawn(1, 3).rate(values, raters=names(90)).study(RATED)))
    assert len(made) == MOST_FOLDS
    assert errors.se == pytest.approx(stats.sem(values[0], axis=0), rel=0.35)


def test_blocks_of_answers_have_the_error_of_independent_answers():
    rng = np.random.default_rng(3)
    values = 5 + rng.normal(size=(1, 300, 2))
    _, errors = jackknifed(groups(Drawn(1, 2).rate(values, raters=names(300)).study(RATED)), "answer")
    assert errors.se == pytest.approx(stats.sem(values[0], axis=0), rel=0.4)


def test_one_rater_has_no_error():
    found = groups(Drawn(1, 2).rate([[[1, 2]]]).study(RATED))
    with pytest.raises(TooFew, match="at least two"):
        jackknifed(found)
