"""Categories by rule and by table, and the best share of every category."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from salon.errors import BadColumns, BadValue, DesignError
from salon.generate import take_category_turns
from salon.generate.curate import by_keywords, by_table, categorize, keep_top
from salon.study import Criterion, Item, Prompt, Rater, Rating, Scorer, Signature, Study, table_from_nouns

RULES = {"logo": ["logo", "word mark"], "cards": ["card", "invit*"], "posters": ["poster"]}


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("A LOGO for a bakery", "logo"),
        ("An Invitation to dinner", "cards"),
        ("a poster with our logo", "logo"),  # the first rule wins
        ("a cardigan shop's posters", None),  # whole words
        ("a word mark", "logo"),
        ("", None),
    ],
)
def test_words_decide(text, category):
    assert by_keywords(RULES)(Prompt(id="p", text=text)) == category


def test_rules_need_words():
    with pytest.raises(BadValue, match="'empty'"):
        by_keywords({"empty": [" "]})


def test_categories_reach_prompts_and_items_and_what_has_none_is_named():
    prompts = [Prompt(id="a", text="a logo"), Prompt(id="b", text="?"), Prompt(id="c", text="logo", category="mine")]
    items = [Item(id=f"{p.id}{n}", prompt=p.id) for p in prompts for n in range(2)]
    study = Study.build("s", [], tables={"prompts": prompts, "items": items})
    found = categorize(study, by_keywords(RULES))
    assert found.counts == {"logo": 1, "mine": 1}
    assert found.without == ("b",)
    assert [item.category for item in found.study.nouns("items")] == ["logo", "logo", None, None, "mine", "mine"]
    assert categorize(study, by_keywords(RULES), again=True).counts == {"logo": 2}


def test_a_table_decides(tmp_path):
    path = tmp_path / "categories.csv"
    path.write_text("prompt,category\na,cards\nb,logo\n")
    classify = by_table(path)
    assert [classify(Prompt(id=id)) for id in "abc"] == ["cards", "logo", None]
    path.write_text("prompt,category\na,cards\na,logo\n")
    with pytest.raises(BadValue, match="'cards' and 'logo'"):
        by_table(path)
    path.write_text("prompt,kind\na,cards\n")
    with pytest.raises(BadColumns, match="'category'"):
        by_table(path)


def test_categories_take_turns_and_a_larger_limit_only_adds():
    prompts = [Prompt(id=f"{category}{n}", category=category) for category in "aab" for n in range(3)][3:]
    assert [prompt.id for prompt in take_category_turns(prompts, 3)] == ["a0", "a1", "b0"]
    plain = [Prompt(id=str(n)) for n in range(5)]
    assert take_category_turns(plain, 2) == plain[:2]
    assert take_category_turns(plain, 9) == plain
    for limit in range(6):
        assert set(take_category_turns(prompts, limit)) < set(take_category_turns(prompts, limit + 1))


# -- the best share --------------------------------------------------------------------------------------------------


class Fixed:
    """A scorer that knows its numbers."""

    name = "fixed"
    signature = Signature(method="fixed", version="test")

    def __init__(self, scores):
        self.scores = scores

    def score(self, items, prompts):
        return [self.scores.get(item.id) for item in items]


def photographs(counts):
    items = [
        Item(id=f"{category}{n}", category=category or None, source="photograph")
        for category, count in counts.items()
        for n in range(count)
    ]
    return Study.build("photos", [], tables={"items": items}, compare_within="all")


def test_the_best_tenth_of_each_category_not_of_all():
    study = photographs({"arts": 20, "products": 10, "": 3})
    scores = {f"arts{n}": 100.0 + n for n in range(20)} | {f"products{n}": float(n) for n in range(10)}
    scores |= {"0": 5.0, "1": 7.0}  # of three without a category, one could not be scored
    assert isinstance(Fixed(scores), Scorer)
    kept = keep_top(study, Fixed(scores), 0.1)
    assert kept.kept == ("arts18", "arts19", "products9", "1")
    assert kept.unscored == ("2",)
    assert kept.lowest == {"arts": 118.0, "products": 9.0, "": 7.0}
    assert len(kept.dropped) == 29
    assert [item.id for item in kept.study.nouns("items")] == list(kept.kept)
    assert kept.study.revisions[-1].reason == "the best 0.1 of every category by fixed"


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30), st.floats(0.01, 1))
def test_by_definition_nobody_kept_is_worse_than_anybody_dropped(values, share):
    study = photographs({"x": len(values)})
    kept = keep_top(study, Fixed({f"x{n}": float(value) for n, value in enumerate(values)}), share)
    assert len(kept.kept) == max(1, math.ceil(share * len(values) - 1e-9))
    inside = [values[int(id[1:])] for id in kept.kept]
    outside = [values[int(id[1:])] for id in kept.dropped]
    assert not outside or min(inside) >= max(outside)


def test_judged_items_are_not_dropped():
    study = photographs({"x": 2})
    tables = dict(study.tables) | {
        "raters": table_from_nouns("raters", [Rater(id="r")]),
        "ratings": table_from_nouns("ratings", [Rating(criterion="c", rater="r", item="x0", value=1)]),
    }
    judged = replace(study, criteria=(Criterion(id="c"),), tables=tables)
    with pytest.raises(DesignError, match="'x0'"):
        keep_top(judged, Fixed({"x0": 0.0, "x1": 1.0}), 0.5)
    assert keep_top(judged, Fixed({"x0": 1.0, "x1": 0.0}), 0.5).kept == ("x0",)


@pytest.mark.parametrize("share", [0, -1, 1.01, math.nan])
def test_shares_that_make_no_sense(share):
    with pytest.raises(BadValue, match="share"):
        keep_top(photographs({"x": 1}), Fixed({}), share)


def test_scores_that_make_no_sense():
    study = photographs({"x": 1})
    with pytest.raises(BadValue, match="finite"):
        keep_top(study, Fixed({"x0": math.nan}), 0.5)
    short = Fixed({})
    short.score = lambda items, prompts: []
    with pytest.raises(BadValue, match="each of 1 items"):
        keep_top(study, short, 0.5)
