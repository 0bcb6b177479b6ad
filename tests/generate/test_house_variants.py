"""Variants of houses: the parent's posters with planted defects, and names that say which."""

from __future__ import annotations

import json

import pytest

from salon.errors import BadValue
from salon.generate import house_generator, make_generator
from salon.generate.houses import HOUSES, expected_quality, find_house
from salon.render import true_quality
from salon.study import Ask, Prompt

PROMPT = Prompt(id="jazz", text='A calm poster, "Late Tram", "Jazz in the depot", navy and gold, headline at the top')


def layout(name: str, seed: int = 1) -> dict:
    asks = [Ask(prompt=PROMPT, seed=seed, width=300, height=420)]
    ((_, made),) = house_generator(name, processes=1).make(asks)
    return json.loads(made.layout)


def test_a_variant_is_its_parent_s_poster_with_one_flaw() -> None:
    clean, faded = layout("proof"), layout("proof+low-contrast@0.6")
    assert [(one["kind"], one["strength"]) for one in faded["defects"]] == [("low-contrast", 0.6)]
    assert clean["defects"] == []
    for name in ("seed", "style", "arrangement", "grid"):
        assert clean[name] == faded[name]
    boxes = [[element["box"] for element in one["elements"]] for one in (clean, faded)]
    assert boxes[0] == boxes[1]  # nothing moved: ink alone is another
    assert (clean["house"], faded["house"]) == ("proof", "proof+low-contrast@0.6")


def test_several_defects_and_a_house_with_its_own() -> None:
    both = find_house("proof+misspelling@0.25+crowding@1")
    assert both.name == "proof+crowding@1+misspelling@0.25"  # one name, in whatever order it was asked for
    assert both.knobs(7) == {"crowding": 1.0, "misspelling": 0.25}
    assert expected_quality(both) == true_quality({"crowding": 1.0, "misspelling": 0.25})
    more = find_house("carnival+low-contrast@0.5")
    assert more.knobs(3) == HOUSES["carnival"].knobs(3) | {"low-contrast": 0.5}


def test_names_and_signatures_tell_variants_apart() -> None:
    names = ("proof", "proof+misspelling@0.3", "house:proof+misspelling@0.6")
    made = [make_generator(name) for name in names]
    assert [one.name for one in made] == ["proof", "proof+misspelling@0.3", "proof+misspelling@0.6"]
    assert len({str(one.signature) for one in made}) == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("proof+low-contrst@0.5", "did you mean low-contrast"),
        ("proof+misspelling", "misspelling@0.5"),
        ("proof+misspelling@1.5", "1.5"),
        ("proof+misspelling@nan", "nan"),
        ("proof+misspelling@0", "above 0"),
        ("proof+crowding@0.5+crowding@0.6", "crowding twice"),
        ("proof+", "Defects are low-contrast"),
        ("profo+crowding@0.5", "proof"),
    ],
)
def test_wrong_names_say_what_is_wrong(text: str, told: str) -> None:
    with pytest.raises(BadValue) as caught:
        make_generator(text)
    assert told in str(caught.value)
