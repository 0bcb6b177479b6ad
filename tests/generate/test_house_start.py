"""Image-to-image of the houses: what stays at a strength, what is refused, and how children take after parents."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from dots import png

from salon.cli.main import run
from salon.generate import house_generator
from salon.generate.houses import DECISIONS, HOUSES, find_house, kept_decisions, poster_seed, start_from
from salon.render import Seeds, true_quality
from salon.study import Ask, FailedPicture, Prompt

PROMPT = Prompt(id="jazz", text='A calm poster, "Late Tram", "Jazz in the depot", navy and gold, headline at the top')
SMALL = {"width": 200, "height": 280}


def make(house, **ask):
    ((_, found),) = house_generator(house, processes=1).make([Ask(**{"prompt": PROMPT} | SMALL | ask)])
    return found


@pytest.fixture(scope="module")
def parent():
    return make("apprentice", seed=1)


def child(parent, strength, seed=2, house="apprentice", **ask):
    return make(house, seed=seed, image=parent.image, layout=parent.layout, strength=strength, **ask)


def test_the_same_seed_gives_the_same_child_and_another_another(parent):
    assert child(parent, 0.5) == child(parent, 0.5)
    assert child(parent, 0.5).layout != child(parent, 0.5, seed=3).layout


def test_at_strength_one_the_picture_is_forgotten_and_near_nought_it_stays(parent):
    fresh, forgotten, same = make("apprentice", seed=2), child(parent, 1), child(parent, 1e-9)
    assert (forgotten.image, forgotten.layout) == (fresh.image, fresh.layout)
    assert same.image == parent.image != fresh.image
    assert json.loads(same.layout)["defects"] == json.loads(parent.layout)["defects"]


def test_what_is_made_anew_grows_with_strength_decision_by_decision(parent):
    house = find_house("apprentice")
    ask = Ask(prompt=PROMPT, image=parent.image, layout=parent.layout)
    fresh = poster_seed("apprentice", "jazz", 9)
    strengths = (0.01, 0.3, 0.5, 0.8, 1.0)
    kept = [set(start_from(house, ask.model_copy(update={"strength": s}), fresh)[0].kept) for s in strengths]
    assert all(more >= less for more, less in pairwise(kept))
    assert len(kept[0]) >= 20 > len(kept[2]) > len(kept[3]) > len(kept[4]) == 0


def test_a_child_may_have_children(parent):
    second = child(parent, 0.5)
    third = child(second, 0.5, seed=3)
    own, kept = json.loads(third.layout)["seed"], json.loads(third.layout)["kept"]
    seeds = {json.loads(parent.layout)["seed"], json.loads(second.layout)["seed"]}
    assert own not in seeds
    assert set(kept.values()) == seeds
    assert set(kept) <= set(DECISIONS)


def test_texts_and_size_follow_the_ask(parent):
    other = Prompt(id="jazz", text='A calm poster, "Early Tram", navy and gold')
    found = child(parent, 0.2, prompt=other, width=None, height=None)
    layout = json.loads(found.layout)
    assert layout["brief"]["headline"] == "Early Tram"
    assert (layout["width"], layout["height"]) == (200, 280)


def changed(layout, **fields):
    return json.dumps(json.loads(layout) | fields, ensure_ascii=False, indent=1) + "\n"


def test_what_the_house_did_not_draw_is_refused_with_a_reason(parent):
    layout = parent.layout
    more = [*json.loads(layout)["defects"], {"kind": "extra-element", "strength": 1.0, "detail": ""}]
    records = {
        "no JSON": "{",
        "no object": "[]",
        "deep": "[" * 100_000,
        "Field required": '{"seed": 1}',
        "one by carnival": make("carnival", seed=1).layout,
        "that no poster has": changed(layout, seed=-1),
        "decisions or seeds": changed(layout, kept={"../etc": 1}),
        "changed by hand": changed(layout, kept={"style": 5}),
        "it does not draw": changed(layout, defects=more),
        "does not draw": changed(layout, quality={"taste/mood": 1.0}),
    }  # fmt: skip
    for said, record in records.items():
        found = make("apprentice", image=parent.image, layout=record, strength=0.5)
        assert isinstance(found, FailedPicture)
        assert "layout of a poster that apprentice drew" in found.reason
        assert said in found.reason or said == "deep"
    alone = make("apprentice", image=parent.image, strength=0.5)
    assert "a picture alone" in alone.reason
    assert "one size" in make("apprentice", image=png(), layout=layout).reason
    assert isinstance(make("apprentice", image=b"no picture", layout=layout), FailedPicture)


def test_children_take_after_their_parents_the_less_the_stronger():
    """True quality from the flaws that befall child and parent: correlations fall from near 1 to 0 as 1 - strength."""
    house, rng = HOUSES["apprentice"], np.random.default_rng(0)

    def quality(seeds):
        return float(np.mean(list(true_quality(house.knobs(seeds)).values())))

    found = {}
    for strength in (0.1, 0.5, 1.0):
        pairs = [_pair(house, strength, rng, quality) for _ in range(240)]
        found[strength] = float(np.corrcoef(np.transpose(pairs))[0, 1])
    assert found[0.1] > found[0.5] > found[1.0]
    for strength, value in found.items():
        assert abs(value - (1 - strength)) < 0.17, found


def _pair(house, strength, rng, quality):
    """Quality of a parent and of its child; the decisions of `start_from` without drawing either."""
    before, fresh = (int(seed) for seed in rng.integers(2**32, size=2))
    return quality(before), quality(Seeds(fresh, dict.fromkeys(kept_decisions(fresh, strength), before)))


def salon(capsys, *arguments):
    """Exit code, and what was printed."""
    with pytest.raises(SystemExit) as left:
        run(["generate", *(str(argument) for argument in arguments)])
    return left.value.code, capsys.readouterr().out


def test_the_command_finds_the_layout_beside_the_picture(capsys, tmp_path):
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(PROMPT.model_dump_json(exclude_none=True) + "\n")
    assert salon(capsys, prompts, "-g", "atelier", "-o", tmp_path / "one", "--size", "200x280")[0] == 0
    picture = tmp_path / "one" / "images" / "jazz" / "atelier-0.png"
    near = ("--image", picture, "--strength", "0.000001", "--seed", "7")
    assert salon(capsys, prompts, "-g", "atelier", "-o", tmp_path / "two", *near)[0] == 0
    assert (tmp_path / "two" / "images" / "jazz" / "atelier-7.png").read_bytes() == picture.read_bytes()
    alone = tmp_path / "alone.png"
    alone.write_bytes(picture.read_bytes())
    code, said = salon(capsys, prompts, "-g", "atelier", "-o", tmp_path / "three", "--image", alone)
    assert code == 1
    assert "a picture alone" in said
