"""Asks: sentences that houses heed, and that change nothing else about a brief."""

from __future__ import annotations

import pytest

from salon.generate import house_generator, read_prompts
from salon.generate.houses import HEEDED, HOUSES, find_house
from salon.render import DEFECTS, asked_against, read_brief, with_asks
from salon.render.brief_text import ASKS
from salon.study import Ask, Prompt

FREE = Prompt(id="fair", text='A poster for a book fair, "Small Press Fair"')
VAGUE = Prompt(id="vague", text="a poster for a quiet harbour festival")


def test_every_flaw_has_an_ask_and_no_two_are_alike() -> None:
    assert set(ASKS) == set(DEFECTS)
    for kind, ask in ASKS.items():
        assert asked_against(Prompt(id="p", text=ask)) == {kind}


@pytest.mark.parametrize("prompt", [FREE, VAGUE, *read_prompts("briefs")[::7]], ids=lambda prompt: prompt.id)
def test_a_brief_with_all_asks_is_read_as_the_same_brief(prompt: Prompt) -> None:
    asked = with_asks(prompt, DEFECTS)
    assert asked_against(asked) == set(DEFECTS)
    own = {"aesthetics", "intent"}  # words of the client's own: nothing is drawn from them
    assert read_brief(asked).model_dump(exclude=own) == read_brief(prompt).model_dump(exclude=own)


def test_no_built_in_brief_asks_for_anything_by_accident() -> None:
    assert not any(asked_against(prompt) for prompt in read_prompts("briefs"))


def test_asks_are_added_once_and_in_one_order() -> None:
    once = with_asks(VAGUE, ["misspelling", "low-contrast"])
    assert once.text == f"{VAGUE.text}.\n{ASKS['low-contrast']} {ASKS['misspelling']}"
    assert with_asks(once, ["misspelling"]) == once
    assert with_asks(with_asks(VAGUE, ["low-contrast"]), ["misspelling"]) == once
    assert with_asks(VAGUE, []) == VAGUE


def test_an_ask_is_known_again_in_other_case_and_spacing() -> None:
    assert asked_against(Prompt(id="p", text="STRONG  contrast\nbetween letters and ground, please")) == {
        "low-contrast"
    }
    assert asked_against(Prompt(id="p", text="a strong contrast of moods")) == frozenset()


def test_a_flaw_that_is_asked_away_befalls_less_often_and_others_as_before() -> None:
    house, seeds = HOUSES["carnival"], range(2000)
    plain = [house.knobs(seed) for seed in seeds]
    asked = [house.knobs(seed, {"bad-kerning"}) for seed in seeds]
    before, after = (sum("bad-kerning" in knobs for knobs in some) for some in (plain, asked))
    assert after / before == pytest.approx(HEEDED, abs=0.05)
    assert all(knobs.items() <= old.items() for knobs, old in zip(asked, plain))  # no flaw is new or stronger
    others = [{kind: value for kind, value in knobs.items() if kind != "bad-kerning"} for knobs in plain]
    assert others == [{kind: value for kind, value in knobs.items() if kind != "bad-kerning"} for knobs in asked]


def test_what_a_variant_has_in_all_its_work_cannot_be_asked_away() -> None:
    house = find_house("proof+low-contrast@0.6")
    assert all(house.knobs(seed, {"low-contrast"}) == {"low-contrast": 0.6} for seed in range(20))


def test_a_house_says_what_it_was_asked_to_avoid() -> None:
    asks = [Ask(prompt=prompt, width=320, height=452) for prompt in (FREE, with_asks(FREE, ["misspelling"]))]
    plain, asked = (made for _, made in sorted(house_generator("proof", 1).make(asks)))
    assert "asked" not in plain.facts
    assert asked.facts["asked"] == "misspelling"
    assert plain.image == asked.image  # a house without flaws has nothing to heed
