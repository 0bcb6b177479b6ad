"""Judgments become the same orders whatever protocol they came by, and nothing leaves without being counted."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from salon.check.signal import (
    MOST_ITEMS,
    answers_comparisons,
    answers_rankings,
    answers_ratings,
    rank_scores,
    ranked_groups,
)
from salon.study import Comparison, Criterion, Item, Prompt, Ranking, Rater, Rating, Scale, Study

RNG = np.random.default_rng


def make(judgments: dict[str, list], *, sizes: dict[str, int], scale: Scale | None = None, **more) -> Study:
    """A study of prompts with so many items, and raters r0.. as the judgments need."""
    raters = {j.rater: Rater(id=j.rater) for rows in judgments.values() for j in rows}
    items = [Item(id=f"{p}{i}", prompt=p) for p, size in sizes.items() for i in range(size)]
    tables = {"prompts": [Prompt(id=p) for p in sizes], "items": items, "raters": list(raters.values()), **judgments}
    return Study.build("s", [Criterion(id="c", scale=scale)], tables=tables, **more)


def ranking(rater: str, *items: str, ranks: tuple[int, ...] | None = None, **more) -> Ranking:
    return Ranking(criterion="c", rater=rater, items=items, ranks=ranks or tuple(range(1, len(items) + 1)), **more)


def rating(rater: str, item: str, value: float) -> Rating:
    return Rating(criterion="c", rater=rater, item=item, value=value)


def comparison(rater: str, a: str, b: str, outcome: str = "a") -> Comparison:
    return Comparison(criterion="c", rater=rater, a=a, b=b, outcome=outcome)


def test_the_three_protocols_give_the_same_order() -> None:
    orders = {"r0": ("p2", "p0", "p1"), "r1": ("p0", "p1", "p2")}
    by_rank = make({"rankings": [ranking(r, *order) for r, order in orders.items()]}, sizes={"p": 3})
    by_rate = make(
        {"ratings": [rating(r, item, 5 - place) for r, order in orders.items() for place, item in enumerate(order)]},
        sizes={"p": 3},
    )
    pairs = [(0, 1), (0, 2), (1, 2)]
    by_pair = make(
        {"comparisons": [comparison(r, o[j], o[i], "b") for r, o in orders.items() for i, j in pairs]}, sizes={"p": 3}
    )
    expected = [[[1, 2, 0], [0, 1, 2]]]
    for answers in (answers_rankings(by_rank, 0), answers_ratings(by_rate, 0), answers_comparisons(by_pair, 0)):
        (shape,) = ranked_groups(answers, ties="random", rng=RNG(0))
        assert (shape.items, shape.raters) == (3, 2)
        assert shape.ranks.tolist() == expected
        assert answers.incomplete == answers.intransitive == 0


def test_a_flag_scale_counts_downwards() -> None:
    scale = Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False)
    study = make(
        {"ratings": [rating("r", "p0", 2), rating("r", "p1", 0), rating("r", "p2", 1)]}, sizes={"p": 3}, scale=scale
    )
    answers = answers_ratings(study, 0)
    assert rank_scores(answers.scores, ties="stable", rng=RNG(0)).tolist() == [[2, 0, 1]]


def test_answers_with_gaps_are_left_out_and_counted() -> None:
    study = make(
        {"rankings": [ranking("r0", "p0", "p1", "p2"), ranking("r1", "p0", "p1"), ranking("r2", "p2", "p1", "p0")]},
        sizes={"p": 3},
    )
    answers = answers_rankings(study, 0)
    assert (len(answers), answers.incomplete) == (2, 1)


def test_a_larger_group_that_nobody_answered_in_full_changes_no_order() -> None:
    pairs = [ranking(f"r{r}", *order) for r, order in enumerate([("p0", "p1"), ("p1", "p0"), ("p0", "p1")])]
    gaps = [ranking(f"r{r}", f"q{r}", "q3") for r in range(3)]
    answers = answers_rankings(make({"rankings": pairs + gaps}, sizes={"p": 2, "q": 4}), 0)
    assert (answers.scores.shape, answers.incomplete) == ((3, 2), 3)
    (shape,) = ranked_groups(answers, ties="random", rng=RNG(0))
    assert shape.ranks.tolist() == [[[0, 1], [1, 0], [0, 1]]]


def test_items_nobody_judged_do_not_make_an_answer_incomplete() -> None:
    study = make({"rankings": [ranking("r0", "p0", "p1"), ranking("r1", "p1", "p0")]}, sizes={"p": 3})
    assert answers_rankings(study, 0).incomplete == 0


def test_an_intransitive_set_of_comparisons_is_counted_and_ties() -> None:
    loop = [comparison("r", "p0", "p1"), comparison("r", "p1", "p2"), comparison("r", "p2", "p0")]
    answers = answers_comparisons(make({"comparisons": loop}, sizes={"p": 3}), 0)
    assert answers.intransitive == 1
    assert answers.tie_rate == 1
    stated = [
        comparison("r", "p0", "p1", "tie"),
        comparison("r", "p1", "p2", "tie"),
        comparison("r", "p2", "p0", "tie"),
    ]
    assert answers_comparisons(make({"comparisons": stated}, sizes={"p": 3}), 0).intransitive == 0


def test_comparisons_of_some_pairs_are_no_order() -> None:
    study = make({"comparisons": [comparison("r", "p0", "p1"), comparison("r", "p1", "p2")]}, sizes={"p": 3})
    answers = answers_comparisons(study, 0)
    assert (len(answers), answers.incomplete) == (0, 1)


def test_planted_repeats_and_crowds_are_not_answers() -> None:
    study = make({"rankings": [ranking("r0", "p0", "p1"), ranking("r0", "p1", "p0", repeat=1)]}, sizes={"p": 2})
    assert len(answers_rankings(study, 0)) == 1
    tables = {
        "prompts": [Prompt(id="p")],
        "items": [Item(id="p0", prompt="p"), Item(id="p1", prompt="p")],
        "raters": [Rater(id="anyone", kind="crowd")],
        "comparisons": [comparison("anyone", "p0", "p1"), comparison("anyone", "p0", "p1", "b")],
    }
    assert len(answers_comparisons(Study.build("s", [Criterion(id="c")], tables=tables), 0)) == 0


def test_huge_groups_are_left_out_and_counted() -> None:
    size = MOST_ITEMS + 1
    rows = [ranking(r, *(f"p{i}" for i in range(size))) for r in ("r0", "r1")]
    answers = answers_rankings(make({"rankings": rows}, sizes={"p": size}), 0)
    assert (len(answers), answers.too_large, answers.incomplete) == (0, 1, 0)


def test_ragged_groups_are_sorted_into_shapes() -> None:
    rows = [ranking(r, "p0", "p1") for r in ("r0", "r1")] + [ranking(r, "q2", "q1", "q0") for r in ("r0", "r1", "r2")]
    rows += [ranking("r0", "s0", "s1")]
    study = make({"rankings": rows}, sizes={"p": 2, "q": 3, "s": 2})
    found = ranked_groups(answers_rankings(study, 0), ties="random", rng=RNG(0))
    assert [(shape.items, shape.raters, shape.n) for shape in found] == [(2, 2, 1), (3, 3, 1)]
    assert found[1].ranks.tolist() == [[[2, 1, 0]] * 3]


def test_random_ties_are_fair_and_stable_ties_go_by_item_order() -> None:
    scores = np.tile(np.array([[1, 0, 1, 1]], np.float32), (60_000, 1))
    ranks = rank_scores(scores, ties="random", rng=RNG(5))
    assert (ranks[:, 1] == 3).all()
    orders, counts = np.unique(ranks, axis=0, return_counts=True)
    assert len(orders) == 6  # 3! orders of the tied items, 10,000 each: standard error 91
    assert abs(counts - 10_000).max() < 5 * 91
    assert (rank_scores(scores[:3], ties="stable", rng=RNG(5)) == [0, 3, 1, 2]).all()


@settings(max_examples=60)
@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=8), st.integers(0, 9))
def test_ranks_are_orders_that_respect_the_scores(rows: list[list[int]], seed: int) -> None:
    scores = np.array(rows, np.float32)
    for ranks, row in zip(rank_scores(scores, ties="random", rng=RNG(seed)), scores):
        assert sorted(ranks) == [0, 1, 2, 3]
        assert all(ranks[i] < ranks[j] for i in range(4) for j in range(4) if row[i] > row[j])


def test_rows_of_a_large_study_equal_the_slow_reading() -> None:
    """Random rankings, shuffled and with gaps, against a dictionary built noun by noun."""
    rng = RNG(8)
    sizes = {f"q{n}-": int(rng.integers(2, 6)) for n in range(40)}
    rows = []
    for prompt, size in sizes.items():
        for r in range(int(rng.integers(1, 5))):
            order = rng.permutation(size)[: size if rng.random() < 0.8 else size - 1]
            rows.append(ranking(f"r{r}", *(f"{prompt}{i}" for i in order)))
    rng.shuffle(rows)
    study = make({"rankings": rows}, sizes=sizes)
    answers = answers_rankings(study, 0)
    judged = {item for row in rows for item in row.items}
    slow = {}
    for row in rows:
        prompt = row.items[0].split("-")[0] + "-"
        members = [f"{prompt}{i}" for i in range(sizes[prompt]) if f"{prompt}{i}" in judged]
        if len(row.items) == len(members) > 1:
            slow[prompt, row.rater] = [row.items.index(item) for item in members]
    fast = {}
    for row in range(len(answers)):
        key = study.label("groups", answers.group[row]), study.label("raters", answers.rater[row])
        order = rank_scores(answers.scores[row : row + 1, : answers.size[row]], ties="stable", rng=rng)[0]
        fast[key] = order.tolist()
    assert fast == slow
    assert answers.incomplete == len(rows) - len(slow)


def test_no_answers_no_shapes() -> None:
    study = make({"rankings": [ranking("r0", "p0", "p1")]}, sizes={"p": 2})
    assert ranked_groups(answers_ratings(study, 0), ties="random", rng=RNG(0)) == []
