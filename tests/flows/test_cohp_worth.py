"""What a chain is worth by true quality: a short form of `prove.cohp`, posters planned and not painted."""

from __future__ import annotations

import numpy as np
import pytest

from prove.cohp import desks, pair_accuracy, run
from salon.generate.houses import find_house
from salon.render import draw_poster
from salon.render.draw import drawn_quality
from salon.select import CohpSettings

SETTINGS = CohpSettings(tries=2, rounds=3, batch=4)


@pytest.fixture(scope="module")
def posters():
    return desks("apprentices", 3)


def test_the_answer_is_no_worse_than_the_best_of_any_stage(posters):
    for sd in (0.0, 0.1):
        found = run(posters, SETTINGS, sd)
        assert (found.answer_scores[..., 0] == found.stage_scores.max(-1)).all()


def test_true_quality_rises_by_round_where_the_scorer_is_right(posters):
    found = run(posters, SETTINGS, 0.0)
    assert (np.diff(found.so_far, axis=-1) >= 0).all()
    gains = np.diff(found.so_far.mean((0, 1)))
    assert gains.sum() > 0.02
    assert found.answer.mean() > found.tries[..., -1].mean()
    again = run(posters, SETTINGS, 0.0)
    assert (again.so_far == found.so_far).all()


def test_a_scorer_that_errs_is_right_less_often_and_brings_less(posters):
    assert pair_accuracy(posters, SETTINGS, 0.0) == 1
    assert 0.5 < pair_accuracy(posters, SETTINGS, 0.2) < 0.85
    assert run(posters, SETTINGS, 0.5).answer.mean() < run(posters, SETTINGS, 0.0).answer.mean()


def test_the_worth_of_a_poster_is_known_without_drawing_it(posters):
    """Also where flaws are given up for want of room."""
    house = find_house("apprentice+crowding@1+broken-hierarchy@1")
    for seed, desk in enumerate(posters):
        asked = {"seed": seed, "knobs": house.knobs(seed), "width": 300, "height": 300}
        drawn = draw_poster(desk.brief, house.habits, **asked).layout
        assert drawn_quality(desk.brief, house.habits, **asked) == drawn.quality
