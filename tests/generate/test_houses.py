"""The built-in houses: seeded, told apart by criterion, and a prompt that cannot be drawn is a failure on record."""

import json

import numpy as np
import pytest

from salon.errors import BadValue
from salon.generate import house_generator
from salon.generate.houses import HOUSES, expected_quality, poster_seed
from salon.render import true_quality
from salon.study import Ask, FailedPicture, GeneratedPicture, Generator, Prompt

PROMPT = Prompt(id="jazz", text='A calm poster, "Late Tram", "Jazz in the depot", navy and gold, headline at the top')


def made(name, *asks):
    results = dict(house_generator(name, processes=1).make(asks))
    return [results[index] for index in range(len(asks))]


def test_a_house_is_a_generator_that_gives_picture_layout_and_svg():
    assert isinstance(house_generator("atelier"), Generator)
    (one,) = made("atelier", Ask(prompt=PROMPT, seed=1))
    assert one.image.startswith(b"\x89PNG")
    assert json.loads(one.layout)["brief"]["headline"] == "Late Tram"
    assert one.svg.startswith("<svg")


def test_the_same_seed_is_the_same_poster_and_another_is_another():
    same, again, other = made("mirage", *(Ask(prompt=PROMPT, seed=seed) for seed in (5, 5, 6)))
    assert same == again
    assert same.layout != other.layout
    assert poster_seed("mirage", "jazz", 5) != poster_seed("atelier", "jazz", 5)


def test_sizes_are_obeyed():
    (one,) = made("proof", Ask(prompt=PROMPT, width=300, height=400))
    assert int.from_bytes(one.image[16:20]) == 300
    assert int.from_bytes(one.image[20:24]) == 400


def test_what_cannot_be_drawn_is_a_failure_that_says_why():
    asks = (Ask(prompt=Prompt(id="empty", text=" ")), Ask(prompt=PROMPT), Ask(prompt=PROMPT, width=30, height=30))
    empty, fine, tiny = made("proof", *asks)
    assert isinstance(fine, GeneratedPicture)
    assert isinstance(empty, FailedPicture)
    assert "words in it" in empty.reason
    assert isinstance(tiny, FailedPicture)
    assert tiny.kind == "cannot-draw"


def test_houses_rank_differently_by_criterion():
    four = ("atelier", "carnival", "ledger", "mirage")
    quality = {name: expected_quality(HOUSES[name]) for name in four}
    best = {criterion: max(four, key=lambda name: quality[name][criterion]) for criterion in quality["atelier"]}
    worst = {criterion: min(four, key=lambda name: quality[name][criterion]) for criterion in quality["atelier"]}
    assert set(best.values()) >= {"atelier", "carnival", "ledger", "mirage"}
    assert set(worst.values()) == {"atelier", "carnival", "ledger", "mirage"}
    assert set(expected_quality(HOUSES["proof"]).values()) == {1.0}


@pytest.mark.parametrize("name", ["atelier", "carnival", "ledger", "mirage", "apprentice"])
def test_expected_quality_is_the_mean_over_posters(name):
    house = HOUSES[name]
    drawn = [true_quality(house.knobs(seed)) for seed in range(4000)]
    for criterion, value in expected_quality(house).items():
        found = np.array([one[criterion] for one in drawn])
        assert abs(found.mean() - value) < 4.5 * found.std() / np.sqrt(len(found)) + 1e-4


def test_unknown_houses_are_named():
    with pytest.raises(BadValue, match="atelier"):
        house_generator("ateleir")
