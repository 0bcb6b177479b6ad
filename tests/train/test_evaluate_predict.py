"""What models are asked, and how scores become margins."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from trial_example import planted_trial

from salon.errors import BadFile
from salon.evaluate import criterion_rows, match_criteria, model_margins, score_margins
from salon.models import ModelCard, ModelCriterion
from salon.study import Signature


def card(*criteria, form="ranknet") -> ModelCard:
    known = tuple(ModelCriterion(id=id, name=id) for id in criteria)
    facts = {"backbone": "b", "backbone_name": "b", "is_logit": True, "study": "s", "data": "d"}
    return ModelCard(kind="reward", name="m", criteria=known, form=form, signature=Signature(method="t"), **facts)


class Brightness:
    """A model that prefers light pictures, and the first of two a little."""

    def __init__(self, *criteria, form="ranknet", lean=0.0):
        self.card, self.lean, self.read = card(*criteria, form=form), lean, []

    def scores(self, images, texts, criterion):
        raise AssertionError("pairs are asked about as pairs")

    def pair_logits(self, a, b, texts, criterion):
        self.read += texts
        light = [np.array([image.getpixel((0, 0))[0] for image in side], float) for side in (a, b)]
        return light[0] - light[1] + self.lean


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A trial of two prompts and two criteria, and pictures as light as the item's number."""
    trial, _ = planted_trial(prompts=1)
    folder = tmp_path_factory.mktemp("pictures")
    paths = {item: folder / f"{item}.png" for item in trial.items}
    for item, path in paths.items():
        Image.new("RGB", (4, 4), (10 * int(item[-1]),) * 3).save(path)
    return trial, paths


def test_a_model_is_asked_about_the_criteria_it_knows(shown):
    trial, paths = shown
    model = Brightness("c1", "other")
    found = model_margins(model, trial, paths, lambda place: [f"{place}: {text}" for text in trial.text])
    assert (found.speaks == (trial.criterion == 1)).all()
    assert np.isnan(found.margin[trial.criterion == 0]).all()
    apart = [10 * (int(a[-1]) - int(b[-1])) for a, b in zip(trial.item_a, trial.item_b)]
    assert found.margin[found.speaks].tolist() == np.array(apart)[found.speaks].tolist()
    assert set(model.read) == {"1: prompt 1"}
    assert found.turned is None


def test_a_form_with_an_order_is_asked_both_ways_round(shown):
    trial, paths = shown
    straight = model_margins(Brightness("c0", "c1"), trial, paths, lambda place: trial.text).margin
    leaning = model_margins(Brightness("c0", "c1", form="pairwise", lean=3.0), trial, paths, lambda place: trial.text)
    assert leaning.margin.tolist() == straight.tolist()
    assert leaning.turned.tolist() == (straight - 3).tolist()


def test_an_item_without_a_picture_is_named(shown):
    trial, paths = shown
    some = {item: path for item, path in paths.items() if item != "p1-2"}
    with pytest.raises(BadFile, match=r"1 of 8 items without one \(p1-2\)"):
        model_margins(Brightness("c0"), trial, some, lambda place: trial.text)


def test_criteria_are_matched_by_id_or_by_being_alone():
    assert match_criteria(card("a", "b"), ["b", "c"]) == {"b": "b"}
    assert match_criteria(card("a"), ["b"]) == {"b": "a"}
    assert match_criteria(card("a"), ["b", "c"]) == {}


def test_scores_as_margins(shown):
    trial, _ = shown
    values = {item: float(item[-1]) for item in trial.items if item != "p0-3"}
    margin = score_margins(trial, values)
    pair = [(a, b) for a, b in zip(trial.item_a, trial.item_b)]
    assert margin[pair.index(("p0-0", "p0-2"))] == -2
    assert np.isnan(margin[pair.index(("p0-0", "p0-3"))])
    assert score_margins(trial, values, higher_is_better=False)[pair.index(("p0-0", "p0-2"))] == 2
    assert criterion_rows(trial, None).all()
    assert (criterion_rows(trial, "c1") == (trial.criterion == 1)).all()
