"""Labels for training: votes counted by hand, splits that never leak, and what is refused."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from drawn_studies import Drawn, names, random_ranks
from hypothesis import HealthCheck, given, settings, strategies as st
from studies import example, studies

from salon.collect import taste_like_study
from salon.errors import BadColumns, BadValue, DesignError, TooFew, UnknownReference
from salon.fuse import LabelSettings, check_splits, make_labels, prompt_texts
from salon.fuse.labels import Labels
from salon.study import Comparison, Criterion, Item, Prompt, Ranking, Rater, Rating, Scale, Study, normalize_text

WHOLE = {"train": 1, "validation": 0, "test": 0}


def made(study: Study, *criteria: str, **changes: Any) -> Labels:
    return make_labels(study, LabelSettings(**(WHOLE | changes)), criteria=criteria)


def rows(study: Study, **changes: Any) -> list[dict[str, Any]]:
    return made(study, **changes).table.to_pylist()


def compared(*outcomes: str) -> Study:
    """One pair, q0.0 with q0.1, judged by one rater for each outcome."""
    drawn = Drawn(1, 2)
    for number, outcome in enumerate(outcomes):
        drawn.vote(f"r{number}", 0, 0, 1, outcome)
    return drawn.study()


# -- votes by hand -----------------------------------------------------------------------------------------------


def test_a_pair_by_hand() -> None:
    # Three for the first, one for the second, one tie: share (3 + 1/2)/5 = .7, agreement |1.4 - 1| = .4.
    (row,) = rows(compared("a", "a", "b", "tie", "a", "both_bad"))
    assert (row["item_a"], row["item_b"], row["label"], row["group"]) == ("q0.0", "q0.1", "a", "q0")
    assert (row["share"], row["p_max"], row["agreement"]) == pytest.approx((0.7, 0.7, 0.4))
    assert (row["votes"], row["for_a"], row["for_b"], row["ties"], row["both_bad"]) == (5, 3, 1, 1, 1)
    assert row["bucket"] == "3-1-1"


def test_both_bad_is_never_a_tie() -> None:
    (row,) = rows(compared("a", "both_bad", "both_bad"))
    assert (row["share"], row["votes"], row["both_bad"]) == (1.0, 1, 2)
    study = Drawn(2, 2).vote("r0", 0, 0, 1, "a").vote("r0", 1, 0, 1, "both_bad").study()
    labels = made(study, ties="keep")
    assert labels.table.num_rows == 1
    assert (labels.report.criteria[0].without, labels.report.criteria[0].both_bad) == (1, 1)
    with pytest.raises(TooFew, match="1 answers 'both bad' and nothing else"):
        made(compared("both_bad"))


@pytest.mark.parametrize("outcomes", [("a", "b"), ("tie",), ("a", "b", "tie")])
def test_even_pairs_are_left_out_and_counted_or_kept(outcomes: tuple[str, ...]) -> None:
    dropped, (kept,) = made(compared(*outcomes)), rows(compared(*outcomes), ties="keep")
    assert dropped.table.num_rows == 0
    assert dropped.report.criteria[0].even == 1
    assert (kept["label"], kept["share"], kept["agreement"], kept["p_max"]) == ("tie", 0.5, 0.0, 0.5)


def test_rankings_are_all_their_pairs() -> None:
    """By definition: the votes of a panel of rankers are those its comparisons would be."""
    ranks = random_ranks(6, 5, 4, np.random.default_rng(0))
    ranked, voted = Drawn(6, 4).rank(ranks).study(), Drawn(6, 4).compare(ranks).study()
    assert made(ranked).table.equals(made(voted).table)
    share = {(row["item_a"], row["item_b"]): row["share"] for row in rows(ranked)}
    for prompt in range(6):
        for i, j in combinations(range(4), 2):
            ahead = np.mean(ranks[prompt, :, i] < ranks[prompt, :, j])
            assert share[f"q{prompt}.{i}", f"q{prompt}.{j}"] == pytest.approx(ahead)


def test_partial_rankings_with_ties() -> None:
    ranking = Ranking(criterion="c", rater="r", items=("q0.2", "q0.0", "q0.3"), ranks=(1, 2, 2))
    found = {(row["item_a"], row["item_b"]): row["label"] for row in rows(_with(ranking), ties="keep")}
    assert found == {("q0.0", "q0.2"): "b", ("q0.0", "q0.3"): "tie", ("q0.2", "q0.3"): "a"}


@pytest.mark.parametrize(("outcome", "turned"), [("a", "b"), ("b", "a"), ("tie", "tie"), ("both_bad", "both_bad")])
def test_a_pair_asked_the_other_way_round_is_the_same_pair(outcome: str, turned: str) -> None:
    one, other = Drawn(1, 2).vote("r", 0, 1, 0, outcome), Drawn(1, 2).vote("r", 0, 0, 1, turned)
    told = [made(study.vote("s", 0, 0, 1, "a").study(), ties="keep").table for study in (one, other)]
    assert told[0].equals(told[1])


def _with(*rankings: Ranking) -> Study:
    return Drawn(1, 4).add("rankings", *rankings).study()


def test_a_rater_has_one_vote_on_a_pair() -> None:
    """A comparison goes before a ranking, and a repeat is no vote."""
    drawn = Drawn(1, 2).rank([[[0, 1]]]).vote("r0", 0, 0, 1, "b").vote("r0", 0, 0, 1, "a", repeat=1)
    labels = made(drawn.study())
    assert labels.table.to_pylist()[0]["label"] == "b"
    assert labels.table.to_pylist()[0]["votes"] == 1
    assert any("1 that said it again" in note for note in labels.report.notes)


def test_a_crowd_is_many_people() -> None:
    drawn = Drawn(1, 2)
    for outcome in ("a", "a", "b"):
        drawn.vote("crowd", 0, 0, 1, outcome)
    (row,) = rows(drawn.study(raters=[Rater(id="crowd", kind="crowd")]))
    assert row["bucket"] == "2-1"


def test_ratings_make_pairs_only_by_name() -> None:
    # r0 rates 4 2 3; r1 rates 3 3 and not the third.
    drawn = Drawn(1, 3).rate([[[4, 2, 3], [3, 3, np.nan]]])
    with pytest.raises(TooFew, match="comparisons or rankings"):
        made(drawn.study())
    found = {(row["item_a"], row["item_b"]): row["bucket"] for row in rows(drawn.study(), rating_pairs=True)}
    assert found == {("q0.0", "q0.1"): "1-0-1", ("q0.0", "q0.2"): "1-0", ("q0.1", "q0.2"): "1-0"}
    both = drawn.vote("r0", 0, 0, 1, "b").study()  # what r0 said of the pair itself goes before the ratings
    assert rows(both, rating_pairs=True)[0]["label"] == "b"


def test_lower_may_be_better() -> None:
    flags = Criterion(id="c", scale=Scale(low=0, high=2, step=1, higher_is_better=False))
    study = Drawn(1, 2).rate([[[0, 2]]]).study(flags)
    (row,) = make_labels(
        study, LabelSettings(rating_pairs=True, train=1, validation=0, test=0), criteria=["c"]
    ).table.to_pylist()
    assert row["label"] == "a"
    with pytest.raises(TooFew, match="of a flag, pairs are made only when it is named"):
        rows(study, rating_pairs=True)


def test_rows_of_raters() -> None:
    labels = made(compared("a", "b", "tie", "both_bad"), rows="raters", ties="keep")
    found = labels.table.to_pylist()
    assert [(row["rater"], row["label"]) for row in found] == [("r0", "a"), ("r1", "b"), ("r2", "tie")]
    assert {row["share"] for row in found} == {0.5}
    assert [row["label"] for row in rows(compared("a", "b", "tie"), rows="raters")] == ["a", "b"]
    assert labels.report.criteria[0].judgments == 3


def test_rated_items() -> None:
    found = rows(Drawn(1, 2).rate([[[4, 2], [5, np.nan], [3, np.nan]]]).study(), rows="ratings")
    # 4, 5, 3: mean 4, sd 1; a single rating has a mean and no sd.
    assert [(row["item"], row["mean"], row["sd"], row["n"]) for row in found] == [
        ("q0.0", 4.0, 1.0, 3),
        ("q0.1", 2.0, None, 1),
    ]
    with pytest.raises(TooFew, match="need ratings"):
        made(compared("a"), rows="ratings")


def test_criteria_are_kept_apart_and_chosen() -> None:
    study = Drawn(1, 2).vote("r", 0, 0, 1, "a", criterion="x").vote("r", 0, 0, 1, "b", criterion="y").study()
    assert [(row["criterion"], row["label"]) for row in rows(study)] == [("x", "a"), ("y", "b")]
    assert [row["criterion"] for row in made(study, "y").table.to_pylist()] == ["y"]
    assert "criteria:y" in str(made(study, "y").report.signature)
    with pytest.raises(UnknownReference):
        made(study, "z")


def test_a_study_of_every_kind() -> None:
    labels = made(example(), ties="keep")
    assert labels.table.num_rows == 4
    assert labels.table.column("text")[0].as_py() == "A poster\n\nfor a jazz night\n\nin blue"
    assert labels.report.simulated
    assert "skipped judgments left out: 2" in labels.report.notes


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(studies(), st.booleans())
def test_any_study_gives_sound_rows(study: Study, rating_pairs: bool) -> None:
    assert prompt_texts(study).to_pylist() == [prompt.view() or None for prompt in study.nouns("prompts")]
    try:
        labels = made(study, ties="keep", rating_pairs=rating_pairs)
    except TooFew:
        return
    for row in labels.table.to_pylist():
        assert row["votes"] == row["for_a"] + row["for_b"] + row["ties"] > 0
        assert row["agreement"] == pytest.approx(2 * row["p_max"] - 1)
        assert (row["label"] == "tie") == (row["share"] == 0.5)
    again = made(study, ties="keep", rating_pairs=rating_pairs)
    assert again.table.equals(labels.table)
    by_rater = made(study, ties="keep", rating_pairs=rating_pairs, rows="raters")
    assert by_rater.table.num_rows == sum(row["votes"] for row in labels.table.to_pylist())


# -- splits ------------------------------------------------------------------------------------------------------


def prompted(prompts: int, **more: Any) -> Study:
    ranks = np.tile(np.arange(2), (prompts, 1, 1))
    return Drawn(prompts, 2).rank(ranks).study(**more)


def splits(labels: Labels) -> dict[str, str]:
    return {row["group"]: row["split"] for row in labels.table.to_pylist()}


def test_shares_are_met_and_seeds_differ() -> None:
    found = make_labels(prompted(2000))
    count = found.report.criteria[0].splits
    for name, share in (("train", 0.8), ("validation", 0.1), ("test", 0.1)):  # within 4 standard errors
        assert abs(count[name] / 2000 - share) < 4 * np.sqrt(share * (1 - share) / 2000)
    assert splits(found) == splits(make_labels(prompted(2000)))
    assert splits(found) != splits(make_labels(prompted(2000), LabelSettings(seed=1)))


def test_prompts_added_later_move_nobody() -> None:
    before, after = splits(make_labels(prompted(100))), splits(make_labels(prompted(150)))
    assert {name: after[name] for name in before} == before


def test_all_pairs_of_a_prompt_fall_together() -> None:
    labels = make_labels(taste_like_study())
    by_group: dict[str, set[str]] = {}
    for row in labels.table.select(["group", "split"]).to_pylist():
        by_group.setdefault(row["group"], set()).add(row["split"])
    assert all(len(found) == 1 for found in by_group.values())
    assert labels.report.parts == 720
    assert labels.report.criteria[0].buckets.keys() == {"5-0", "4-1", "3-2"}


def linked(texts: list[str | None], images: list[list[str]], seed: int = 0) -> dict[str, str]:
    """Splits of prompts with these texts and images; two items each, judged by one rater."""
    prompts = [Prompt(id=f"q{number}", text=text) for number, text in enumerate(texts)]
    items = [
        Item(id=f"q{number}.{place}", prompt=f"q{number}", image=image)
        for number, pair in enumerate(images)
        for place, image in enumerate(pair)
    ]
    study = prompted(len(texts), tables={"prompts": prompts, "items": items})
    return splits(make_labels(study, LabelSettings(train=0.5, validation=0.5, test=0, seed=seed)))


def test_prompts_that_share_an_image_or_a_text_fall_together() -> None:
    """0 and 1 share a text but for case, form and spaces; 1 and 2 an image: all three stay together, whatever the
    seed. 3 and 4 share nothing, so some seed parts them."""
    texts = ["A  Fox\u00a0in SNOW", "a fox in snow ", "owl", "elk", None]
    images = [["a", "b"], ["c", "d"], ["d", "e"], ["f", "g"], ["h", "i"]]
    found = [linked(texts, images, seed) for seed in range(12)]
    assert all(split["q0"] == split["q1"] == split["q2"] for split in found)
    assert any(split["q3"] != split["q4"] for split in found)
    assert any(split["q0"] != split["q3"] for split in found)
    assert normalize_text("A  Fox\u00a0in SNOW") == "a fox in snow"


def test_prompts_without_a_text_or_an_image_share_nothing() -> None:
    found = [linked([None, ""], [["", ""], ["", ""]], seed) for seed in range(12)]
    assert any(split["q0"] != split["q1"] for split in found)


def test_one_group_cannot_be_split() -> None:
    items = [Item(id=id) for id in "xyz"]
    comparisons = [Comparison(criterion="c", rater="r", a=a, b=b, outcome="a") for a, b in combinations("xyz", 2)]
    ratings = [Rating(criterion="c", rater="r", item=id, value=3) for id in "xyz"]
    tables = {"items": items, "raters": [Rater(id="r")], "comparisons": comparisons, "ratings": ratings}
    study = Study.build("flat", [Criterion(id="c")], tables=tables, compare_within="all")
    with pytest.raises(DesignError, match="--train 1 --validation 0 --test 0"):
        make_labels(study)
    assert made(study).table.num_rows == 3
    assert make_labels(study, LabelSettings(rows="ratings")).table.num_rows == 3  # single items can be parted


def test_an_empty_split_is_said() -> None:
    labels = make_labels(prompted(3), LabelSettings(train=0.98, validation=0.01, test=0.01))
    assert any("no rows fell to validation or test" in note for note in labels.report.notes)


@pytest.mark.parametrize(
    ("changes", "leak"),
    [
        ({}, None),
        ({"group": ["p", "p"]}, "group 'p' in test and train"),
        ({"item_b": ["b", "a"]}, "item 'a' in test and train"),
        ({"image_b": ["1", "1"]}, "image '1'"),
        ({"text": ["One  fox", "one FOX"]}, "prompt text 'one fox'"),
        ({"prompt": ["p", "p"]}, "prompt 'p'"),
    ],
)
def test_leaks_are_named(changes: dict[str, list[str]], leak: str | None) -> None:
    table = {
        "split": ["train", "test"],
        "group": ["p", "q"],
        "item_a": ["a", "c"],
        "item_b": ["b", "d"],
        "image_a": [None, None],
        "image_b": ["1", "2"],
        "text": [None, "fox"],
    }
    labels = pa.table(table | changes)
    if leak is None:
        check_splits(labels)
        check_splits(labels.schema.empty_table())
        return
    with pytest.raises(DesignError, match=leak):
        check_splits(labels)


def test_a_table_without_splits_is_refused() -> None:
    with pytest.raises(BadColumns, match="split"):
        check_splits(pa.table({"item_a": ["x"]}))


@pytest.mark.parametrize("shares", [{"train": 0.5}, {"train": 0.9, "validation": 0.1, "test": 0.1}])
def test_shares_must_make_a_whole(shares: dict[str, float]) -> None:
    with pytest.raises(BadValue, match="sum to 1"):
        LabelSettings(**shares)


def test_names_of_raters_are_those_of_the_study() -> None:
    labels = made(Drawn(2, 3).rank(random_ranks(2, 3, 3, np.random.default_rng(1))).study(), rows="raters")
    assert set(labels.table.column("rater").to_pylist()) == set(names(3))
