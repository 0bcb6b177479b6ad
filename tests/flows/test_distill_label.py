"""Labels from a judge's own answers: four sources, exact budgets, and what happens when answers are missing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr

from salon.errors import BadFile, BadValue, TooFew
from salon.evaluate import PseudoScores, read_label_card, read_pseudo_scores
from salon.judge import Conversation, JudgeSpec, NoReply, ScriptedVlm
from salon.models import ROLES
from salon.study import Criterion, Item, Scale, Study
from salon.train import DistillLabelSettings, LabelPlan, plan_labels, write_labels
from salon.train.distill_label_settings import plan_budget

TEXTS = {"question": "Which is better?", "rate_question": "How good is it?", "rubric": "Look at it."}
CRITERIA = tuple(Criterion(id=id, scale=Scale(low=1, high=5), **TEXTS) for id in ("mood", "overall"))
ITEMS = [f"item-{number:02}" for number in range(14)]
NAMED = JudgeSpec(simulated="accuracy=1")
SMALL = {"pool": 6, "opponents": 4}


def _study(**changes) -> Study:
    items = [Item(id=id, category="oil" if number < 10 else "ink") for number, id in enumerate(ITEMS)]
    return Study.build("labels", CRITERIA, compare_within="all", tables={"items": items}, **changes)


def _worth(item: str) -> float:
    return float(item[-2:])


def _answer(**said: str | float) -> str:
    return f"<think>so</think><answer>{json.dumps(said)}</answer>"


def _better(asked: Conversation) -> str:
    first, second = (_worth(sight.item) for sight in asked.sights)
    said = "A" if first > second else "B"
    return _answer(mood=said, overall="TIE" if abs(first - second) < 2 else said)


def _plan(study: Study | None = None, **settings) -> LabelPlan:
    return plan_labels(study or _study(), Path("nowhere"), NAMED, DistillLabelSettings(**settings))


def _labels(tmp_path: Path, say=_better, **settings) -> PseudoScores:
    write_labels(_plan(**settings), ScriptedVlm("judge", say), tmp_path / "labels", overwrite=True)
    return read_pseudo_scores(tmp_path / "labels")


def test_where_lower_is_better_a_number_is_turned_round(tmp_path: Path) -> None:
    """Labels are higher for the better item under every criterion; flaws of 0 to 10 become 5 to 1."""
    flaws = Criterion(id="flaws", scale=Scale(low=0, high=10, higher_is_better=False), **TEXTS)
    study = Study.build(
        "labels", (CRITERIA[0], flaws), compare_within="all", tables={"items": [Item(id=i) for i in ITEMS]}
    )

    def say(asked: Conversation) -> str:
        worth = _worth(asked.sights[0].item)  # 0 to 13
        return _answer(mood=1 + worth / 4, flaws=10 - worth / 2)

    plan = plan_labels(study, Path("nowhere"), NAMED, DistillLabelSettings(source="pointwise"))
    write_labels(plan, ScriptedVlm("judge", say), tmp_path / "labels")
    found = read_pseudo_scores(tmp_path / "labels")
    worth = np.array([_worth(item) for item in found.items])
    assert (found.low, found.high) == (1, 5)
    assert found.values[:, 0] == pytest.approx(1 + worth / 4)
    assert found.values[:, 1] == pytest.approx(1 + 4 * worth / 20)


# -- budgets ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "calls"),
    [
        ({}, 30_725),  # C(50, 2) + 2,950 x 10
        ({"both_orders": True}, 61_450),
        ({"source": "majority"}, 96_000),  # 32 votes on one pair for each item
        ({"source": "pointwise"}, 3_000),
        ({"source": "elo"}, 4_498_500),
    ],
)
def test_the_papers_budgets(settings, calls) -> None:
    assert plan_budget(3000, DistillLabelSettings(**settings)).calls == calls


def test_an_equal_budget_buys_what_each_source_can_use() -> None:
    budgets = {
        source: plan_budget(3000, DistillLabelSettings(source=source, max_calls=30_725))
        for source in ("bridge", "majority", "pointwise", "elo")
    }
    assert (budgets["bridge"].pool, budgets["bridge"].opponents, budgets["bridge"].calls) == (50, 10, 30_725)
    assert (budgets["majority"].pairs, budgets["majority"].each, budgets["majority"].calls) == (3000, 10, 30_000)
    assert (budgets["pointwise"].each, budgets["pointwise"].calls) == (10, 30_000)
    few = plan_budget(4, DistillLabelSettings(source="majority", partners=3, votes=2))
    assert (few.pairs, few.calls) == (6, 12)  # four items have no more pairs
    assert (budgets["elo"].pairs, budgets["elo"].calls) == (30_725, 30_725)
    few = plan_budget(3000, DistillLabelSettings(max_calls=3_500))  # the pool shrinks: C(33, 2) + 2,967 x 1 is the most
    assert (few.pool, few.opponents, few.calls) == (33, 1, 528 + 2967)
    more = plan_budget(3000, DistillLabelSettings(max_calls=96_000))
    assert (more.opponents, more.calls) == (32, 1225 + 2950 * 32)


@pytest.mark.parametrize(("source", "calls"), [("bridge", 12), ("pointwise", 13), ("elo", 12)])
def test_too_few_calls_are_refused_with_the_least(source, calls) -> None:
    with pytest.raises(BadValue, match=f"at least {calls + 1}"):
        plan_budget(14, DistillLabelSettings(source=source, max_calls=calls))


# -- the bridge ------------------------------------------------------------------------------------------------------


def test_the_bridge_finds_the_order_with_the_calls_it_announced(tmp_path) -> None:
    asked: Counter[tuple[str, ...]] = Counter()

    def say(conversation: Conversation) -> str:
        asked[tuple(sorted(sight.item for sight in conversation.sights))] += 1
        return _better(conversation)

    found = _labels(tmp_path, say, **SMALL)
    assert found.card.calls_planned == found.card.calls_made == asked.total() == 15 + 8 * 4
    assert set(asked.values()) == {1}  # one order
    assert spearmanr(found.values[:, 0], np.arange(14)).statistic > 0.9
    assert ((found.values > 1) & (found.values < 5) & (found.sd > 0)).all()
    twice = _labels(tmp_path / "twice", low=1, high=9, **SMALL)  # errors are on the labels' scale: sd(q) dv/dq
    np.testing.assert_allclose(twice.values - 1, 2 * (found.values - 1))
    np.testing.assert_allclose(twice.sd, 2 * found.sd)
    middle, end = np.abs(found.values - 3).argmin(axis=0)[0], np.abs(found.values - 3).argmax(axis=0)[0]
    assert found.sd[middle, 0] > found.sd[end, 0]  # the curve is flat at its ends
    assert (found.n[:, 0] >= 4).all()
    assert 0 < found.card.ties["overall"] < 1
    calls = pq.read_table(tmp_path / "labels" / "answers.parquet")
    assert calls.num_rows == 47
    assert set(calls.column("mood").to_pylist()) == {"first", "second"}
    # The same again is the same to the last byte of every table.
    before = [(tmp_path / "labels" / name).read_bytes() for name in ("labels.parquet", "answers.parquet", "card.json")]
    _labels(tmp_path, say, **SMALL)
    assert before == [
        (tmp_path / "labels" / name).read_bytes() for name in ("labels.parquet", "answers.parquet", "card.json")
    ]


def test_both_orders_undo_a_judge_that_likes_the_first(tmp_path) -> None:
    def first(asked: Conversation) -> str:
        said = _better(asked) if abs(_worth(asked.sights[0].item) - _worth(asked.sights[1].item)) > 3 else ""
        return said or _answer(mood="A", overall="A")

    found = _labels(tmp_path, first, both_orders=True, **SMALL)
    assert found.card.calls_made == 2 * (15 + 8 * 4)
    assert spearmanr(found.values[:, 0], np.arange(14)).statistic > 0.9


def test_adaptive_opponents_stop_when_certain_or_when_the_budget_ends(tmp_path) -> None:
    certain = _labels(tmp_path, adaptive=True, target_sd=5.0, **SMALL)
    assert certain.card.calls_made < certain.card.calls_planned == 47
    cut = _labels(tmp_path, adaptive=True, max_calls=30, **SMALL)
    assert cut.card.calls_made <= 30
    assert cut.card.labelled == 14


def test_a_study_smaller_than_the_pool_is_compared_exhaustively(tmp_path) -> None:
    found = _labels(tmp_path, category="ink")
    assert found.items == tuple(ITEMS[10:])
    assert found.card.calls_made == 6
    with pytest.raises(TooFew, match="at least 2"):
        _plan(category="gouache")
    with pytest.raises(BadValue, match="--opponents"):
        DistillLabelSettings(pool=5, opponents=10)


def test_items_of_several_groups_share_no_scale_unasked() -> None:
    apart = _study()
    apart = Study.build("apart", CRITERIA, compare_within="category", tables={"items": apart.table("items")})
    with pytest.raises(BadValue, match="--across"):
        _plan(apart)
    assert len(_plan(apart, across=True).items) == 14
    assert len(_plan(apart, category="oil").items) == 10


# -- answers that say nothing ----------------------------------------------------------------------------------------


def test_a_judge_that_always_ties_is_refused(tmp_path) -> None:
    for source in ("bridge", "majority", "elo"):
        for said in ("TIE", "A"):  # and one that names the first picture, whatever it is
            with pytest.raises(BadValue, match="tells items apart"):
                _labels(
                    tmp_path, lambda _, said=said: _answer(mood=said, overall=said), source=source, votes=2, **SMALL
                )
    assert not (tmp_path / "labels").exists()


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_criterion_of_ties_alone_has_no_values(tmp_path, adaptive) -> None:
    def say(asked: Conversation) -> str:
        return (
            _better(asked).replace('"overall": "A"', '"overall": "TIE"').replace('"overall": "B"', '"overall": "TIE"')
        )

    found = _labels(tmp_path, say, adaptive=adaptive, **SMALL)
    assert np.isfinite(found.values[:, 0]).all()
    assert np.isnan(found.values[:, 1]).all()
    assert any(told.startswith("overall: nothing but ties") for told in found.card.warnings)


def test_votes_that_decide_no_pair_are_no_labels(tmp_path) -> None:
    def say(asked: Conversation) -> str:
        return _answer(mood=json.loads(_better(asked)[25:-9])["mood"], overall="TIE")

    found = _labels(tmp_path, say, source="majority", votes=2)
    assert set(found.pairs.criterion) == {0}  # level pairs would ask for equal scores
    assert any(told.startswith("overall: nothing but ties") for told in found.card.warnings)


def test_the_same_number_for_every_item_is_no_order(tmp_path) -> None:
    with pytest.raises(BadValue, match=r"(?s)tells items apart.*same numbers for all 14 items"):
        _labels(tmp_path, lambda _: _answer(mood=4.5, overall=4.0), source="pointwise")
    say = lambda asked: _answer(mood=1 + _worth(asked.sights[0].item) / 4, overall=4.0)  # noqa: E731
    found = _labels(tmp_path, say, source="pointwise")
    assert np.isfinite(found.values[:, 0]).all()
    assert np.isnan(found.values[:, 1]).all()
    assert any(told.startswith("overall: the same number") for told in found.card.warnings)


def test_a_judge_that_leans_to_one_side_is_told(tmp_path) -> None:
    def say(asked: Conversation) -> str:
        close = abs(_worth(asked.sights[0].item) - _worth(asked.sights[1].item)) < 9
        return _answer(mood="A", overall="A") if close else _better(asked)

    assert any("name the picture shown first" in told for told in _labels(tmp_path, say, **SMALL).card.warnings)
    both = _labels(tmp_path, say, both_orders=True, **SMALL)
    assert not any("name the picture shown first" in told for told in both.card.warnings)


@pytest.mark.parametrize("source", ["bridge", "majority", "elo"])
def test_a_criterion_that_is_never_answered_is_named(tmp_path, source) -> None:
    with pytest.raises(BadValue, match="every criterion") as error:
        _labels(
            tmp_path, lambda asked: _answer(mood=json.loads(_better(asked)[25:-9])["mood"]), source=source, votes=2,
            **SMALL,
        )  # fmt: skip
    assert "'overall'" in str(error.value)


def test_numbers_that_cannot_be_read_are_refused_with_the_reason(tmp_path) -> None:
    for said, told in (
        (_answer(mood=3.0), "criterion missing 14"),
        (_answer(mood=3.0, overall=9.0), "out of range 14"),
    ):
        with pytest.raises(TooFew, match=f"14 items without a single answer; not read: {told}"):
            _labels(tmp_path, lambda _, said=said: said, source="pointwise")


def test_missing_criteria_are_counted_and_leave_wider_errors(tmp_path) -> None:
    def say(asked: Conversation) -> str:
        said = json.loads(_better(asked)[25:-9])
        if "item-03" in {sight.item for sight in asked.sights}:
            del said["overall"]
        return _answer(**said)

    found = _labels(tmp_path, say, **SMALL)
    assert found.card.unread["overall"] > 0
    assert np.isnan(found.values[3, 1]) or found.n[3, 1] == 0
    assert np.isfinite(found.values[3, 0])


def test_a_dead_pool_item_leaves_and_the_next_takes_its_place(tmp_path) -> None:
    whole = _labels(tmp_path, **SMALL)
    dead = str(pq.read_table(tmp_path / "labels" / "answers.parquet").column("first")[0])  # of the pool

    def say(asked: Conversation):
        return NoReply(kind="refused", reason="no") if dead in {s.item for s in asked.sights} else _better(asked)

    found = _labels(tmp_path, say, **SMALL)
    assert found.card.dead == (dead,)
    assert np.isnan(found.values[ITEMS.index(dead)]).all()
    assert np.isfinite(np.delete(found.values, ITEMS.index(dead), axis=0)).all()
    assert found.card.calls_failed == 5  # its five pool pairs; nobody else is asked about it
    assert found.card.calls_made == 15 + 5 + 7 * 4  # five more for the newcomer, and one item fewer to place
    assert found.card.labelled == whole.card.labelled - 1


def test_a_judge_that_never_replies_is_refused(tmp_path) -> None:
    with pytest.raises(TooFew, match="6 items without a single answer; no reply: timeout 15"):
        _labels(tmp_path, lambda _: NoReply(kind="timeout", reason="late"), **SMALL)


# -- the other sources -----------------------------------------------------------------------------------------------


def test_majority_votes_by_hand(tmp_path) -> None:
    """Six votes a pair, three in each order: under mood four for the better and two for the other; under overall
    one for each and four ties, but all for the best item of all."""

    def say(asked: Conversation) -> str:
        better = json.loads(_better(asked)[25:-9])["mood"]
        worse = "B" if better == "A" else "A"
        first, best = asked.sample == 0, ITEMS[13] in {sight.item for sight in asked.sights}
        return _answer(mood=worse if first else better, overall=better if best else "A" if first else "TIE")

    found = _labels(tmp_path, say, source="majority", votes=6)
    assert found.card.calls_made == 14 * 6
    pairs = found.pairs
    assert np.isnan(found.values).all()
    assert len(pairs) == 28
    assert set(pairs.votes) == {6}
    mood = pairs.criterion == 0
    np.testing.assert_array_equal(pairs.p[mood], (pairs.a[mood] > pairs.b[mood]).astype(float))
    expected = np.where(pairs.a == 13, 1, np.where(pairs.b == 13, 0, 0.5))  # else the first wins once in each order
    np.testing.assert_array_equal(pairs.p[~mood], expected[~mood])
    assert set(np.bincount(np.concatenate([pairs.a[mood], pairs.b[mood]]))) == {2}  # a ring: two pairs each


def test_single_answers_are_averaged_and_an_incomplete_one_is_no_answer(tmp_path) -> None:
    def say(asked: Conversation) -> str:
        (item,) = (sight.item for sight in asked.sights)
        if item == "item-05" or (item == "item-06" and asked.sample == 1):
            return _answer(mood=3.0)
        if item == "item-07":
            return _answer(mood=3.0, overall=9.0)
        if item == "item-09":
            return _answer(mood=2.0, overall=5.0)
        return _answer(mood=4.0 + asked.sample / 2, overall=4.0 if item == "item-08" else 5.0)

    found = _labels(tmp_path, say, source="pointwise", answers=2)
    assert found.card.calls_made == 28
    assert found.values[0].tolist() == [4.25, 5.0]
    np.testing.assert_allclose(found.sd[0], [0.25, np.nan])  # sd of 4, 4.5 is .3536; of their mean .25
    # twice the same is not exact: ten items with squares of .125 and this one make 1.25 / 11 a variance, half for two
    np.testing.assert_allclose(found.sd[9], [np.sqrt(1.25 / 11 / 2), np.nan])
    assert np.isnan(found.values[[5, 7]]).all()
    assert found.values[6].tolist() == [4.0, 5.0]
    assert np.isnan(found.sd[6]).all()
    assert found.card.dead == ("item-05", "item-07")
    assert found.card.unread == {"mood": 5, "overall": 5}


def test_all_pairs_and_some_of_them(tmp_path) -> None:
    every = _labels(tmp_path, source="elo")
    assert every.card.calls_made == 91
    assert (every.n[:, 0] == 13).all()
    assert spearmanr(every.values[:, 0], np.arange(14)).statistic > 0.99
    assert np.isnan(every.sd).all()  # Elo has none
    some = _labels(tmp_path, source="elo", max_calls=42, method="davidson")
    assert (some.n[:, 0] == 6).all()  # 42 pairs, six for each of 14
    assert np.isfinite(some.sd).all()


def test_one_criterion_alone_is_asked_as_any_judge_is(tmp_path) -> None:
    def say(asked: Conversation) -> str:
        if len(asked.sights) == 1:
            return f"{1 + _worth(asked.sights[0].item) / 4}"  # a bare number will do
        return json.dumps({"verdict": json.loads(_better(asked)[25:-9])["mood"]})

    found = _labels(tmp_path, say, criterion=("mood",), **SMALL)
    assert found.criteria == ("mood",)
    assert spearmanr(found.values[:, 0], np.arange(14)).statistic > 0.9
    single = _labels(tmp_path, say, criterion=("mood",), source="pointwise", low=0, high=100)
    np.testing.assert_allclose(single.values[:, 0], np.arange(14) / 16 * 100)  # from 1-5 to 0-100


def test_a_question_asked_again_needs_warmth() -> None:
    assert _plan(source="majority").asking.settings.temperature == 1
    assert _plan().asking.settings.temperature == 0
    with pytest.raises(BadValue, match="temperature"):
        DistillLabelSettings(source="majority", temperature=0)
    with pytest.raises(BadValue, match="temperature"):
        _plan(source="pointwise", max_calls=28, temperature=0)


# -- the folder ------------------------------------------------------------------------------------------------------


def test_labels_of_other_settings_are_not_replaced_unasked(tmp_path) -> None:
    judge = ScriptedVlm("judge", _better)
    write_labels(_plan(**SMALL), judge, tmp_path / "labels")
    write_labels(_plan(**SMALL), judge, tmp_path / "labels")  # the same may be made again
    for plan, who in ((_plan(pool=6, opponents=5), judge), (_plan(**SMALL), ScriptedVlm("judge", lambda _: "A"))):
        with pytest.raises(BadFile, match="--overwrite"):
            write_labels(plan, who, tmp_path / "labels")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("mine")
    with pytest.raises(BadFile, match="something else"):
        write_labels(_plan(**SMALL), judge, tmp_path / "other", overwrite=True)


def test_labels_that_came_meanwhile_from_another_judge_are_not_replaced(tmp_path: Path) -> None:
    first = ScriptedVlm("first", _better)

    def overtaken(asked: Conversation) -> str:
        if not (tmp_path / "labels").exists():
            write_labels(_plan(), first, tmp_path / "labels")
        return _better(asked)

    with pytest.raises(BadFile, match="only replaced by labels of the same"):
        write_labels(_plan(), ScriptedVlm("second", overtaken), tmp_path / "labels")
    assert read_label_card(tmp_path / "labels").judge == "first"


def test_a_role_opens_every_question_and_is_part_of_the_labels(tmp_path: Path) -> None:
    said: dict[str, set[str]] = {}

    def listen(kind: str, say):
        def heard(asked: Conversation) -> str:
            text = next(part for part in asked.parts if isinstance(part, str))
            said.setdefault(kind, set()).add(text.splitlines()[0])
            return say(asked)

        return heard

    numbers = lambda asked: _answer(mood=1 + _worth(asked.sights[0].item) / 4, overall=3.0)  # noqa: E731
    painting = ROLES["painting"]
    for role in (None, "painting"):
        for source, say in (("bridge", _better), ("pointwise", numbers)):
            kind = f"{source} {role}"
            _labels(tmp_path / kind, listen(kind, say), source=source, role=role, **SMALL)
    first = "Compare two images under each of the criteria below, one after the other."
    assert said["bridge None"] == {first}
    assert said["pointwise None"] == {ROLES["design"]}
    assert said["bridge painting"] == said["pointwise painting"] == {painting}
    for source in ("bridge", "pointwise"):
        plain, told = (read_label_card(tmp_path / f"{source} {role}" / "labels") for role in (None, "painting"))
        assert "role" not in plain.settings
        assert told.settings["role"] == painting
        assert plain.settings["texts"] != told.settings["texts"]
        assert painting in told.signature
    with pytest.raises(ValueError, match="one line"):
        DistillLabelSettings(role=" ")
