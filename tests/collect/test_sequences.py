"""What a rater is asked, from the first question to the last: by property and by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st
from studios import Walker, left, right, studio, study, walker

from salon.collect import NoMoreQuestions, RaterQuestion, Rest
from salon.collect.assignment import AskedQuestion, AssignmentState, next_question
from salon.collect.plan import make_plan
from salon.collect.tallies import HOLD_MS, CountedTallies
from salon.errors import DesignError
from salon.study import Criterion

HOUR = 3_600_000
PHASES = st.fixed_dictionaries(
    {
        "protocol": st.sampled_from(["compare", "rank", "rate", "choose"]),
        "criteria": st.sampled_from([["overall"], ["overall", "type"]]),
        "together": st.booleans(),
        "prompt_in_a_row": st.booleans(),
        "checks": st.fixed_dictionaries(
            {
                "repeats": st.integers(0, 8),
                "gap": st.integers(0, 6),
                "gold": st.integers(0, 3),
                "attention": st.integers(0, 3),
            }
        ),
    }
)


@given(PHASES, st.integers(0, 1000))
@settings(max_examples=60)
def test_all_is_asked_once_and_repeats_keep_their_distance(phase: dict, seed: int) -> None:
    rater = walker(study(gold=3), studio(phase, gold=3, seed=seed))
    assert rater.walk() == NoMoreQuestions("done")
    for run in rater.plan.runs["designers"]:
        asked = [q for q in rater.questions if q.criteria == run.criteria]
        ordinary = [q.key for q in asked if q.why == "ordinary"]
        assert sorted(ordinary) == sorted(run.keys)
        sources = [q.repeat_of for q in asked if q.why == "repeat"]
        assert len(set(sources)) == len(sources) <= run.phase.repeats
        for place, q in enumerate(asked):
            if q.why == "repeat":
                assert place - q.repeat_of > run.phase.gap
                assert (asked[q.repeat_of].key, asked[q.repeat_of].why) == (q.key, "ordinary")


@given(PHASES, st.integers(0, 1000), st.integers(0, 40))
@settings(max_examples=30)
def test_position_n_is_always_the_same(phase: dict, seed: int, stop: int) -> None:
    """A run that is interrupted, on a plan made anew, with other raters about, equals one that is not."""
    made = study(gold=3), studio(phase, gold=3, seed=seed)
    whole = walker(*made)
    whole.walk()
    begun = walker(*made)
    begun.walk(most=stop)
    resumed = Walker(make_plan(*made), tallies=CountedTallies())
    Walker(resumed.plan, "other", 1, resumed.tallies).walk(left)
    resumed.asked = begun.asked
    resumed.walk()
    assert resumed.questions == whole.questions


def test_the_gap_of_the_paper_is_kept_with_all_thirty_repeats() -> None:
    phase = {"checks": {}, "design": {"kind": "fraction", "pairs": 612}}
    rater = walker(study(50, 1, within="all"), studio(phase))
    rater.walk()
    assert Counter(q.why for q in rater.questions) == {"ordinary": 612, "repeat": 30}
    assert all(n - q.repeat_of > 10 for n, q in enumerate(rater.questions) if q.why == "repeat")


def test_a_prompts_questions_follow_each_other() -> None:
    rater = walker(study(6), studio())
    rater.walk()
    prompts = [q.prompt for q in rater.questions]
    assert sum(a != b for a, b in pairwise(prompts)) == 5


def test_raters_have_orders_of_their_own() -> None:
    plan = make_plan(study(), studio())
    first, second = Walker(plan, "a"), Walker(plan, "b", 1)
    first.walk(), second.walk()
    assert [q.items for q in first.questions] != [q.items for q in second.questions]


@given(st.integers(2, 5), st.integers(0, 100), st.lists(st.integers(0, 9), max_size=25))
@settings(max_examples=25)
def test_every_question_reaches_r_raters_even_when_some_drop_out(each: int, seed: int, leave: list[int]) -> None:
    """Ten raters answer in turns; some leave in the middle of a question. The rest finish all, and none too often."""
    made = studio({"stop": {"kind": "fixed", "raters_each": each}}, raters=10, seed=seed)
    plan, tallies = make_plan(study(2), made), CountedTallies()
    raters = [Walker(plan, f"r{n}", n, tallies) for n in range(10)]
    gone = set(leave[: 10 - each])
    for quitter in gone:
        raters[quitter].walk(most=3)
        found = next_question(plan, raters[quitter].state())
        if isinstance(found, RaterQuestion):
            tallies.ask(found, raters[quitter].rater, raters[quitter].now)
    for rater in raters:
        rater.now += HOLD_MS + HOUR
        if rater.number not in gone:
            rater.walk()
    run = plan.runs["designers"][0]
    assert {tallies[key].answers for key in run.keys} == {each}


def test_answers_are_spread_evenly_while_they_come_in() -> None:
    """After any number of answers no question is more than one ahead of another that the rater could see."""
    phase = {"stop": {"kind": "fixed", "raters_each": 3}, "prompt_in_a_row": False, "questions_each": 5}
    plan, tallies = make_plan(study(2), studio(phase, raters=8)), CountedTallies()
    for n in range(7):
        Walker(plan, f"r{n}", n, tallies).walk()
        counts = [tallies[key].answers for key in plan.runs["designers"][0].keys]
        assert max(counts) - min(counts) <= 1


def test_enough_answers_end_a_rater_who_is_not_needed() -> None:
    made = studio({"stop": {"kind": "fixed", "raters_each": 1}}, raters=2)
    plan, tallies = make_plan(study(1), made), CountedTallies()
    assert Walker(plan, "a", 0, tallies).walk() == NoMoreQuestions("done")
    assert Walker(plan, "b", 1, tallies).walk() == NoMoreQuestions("enough answers")


def test_asking_stops_at_the_agreement_wanted() -> None:
    """Least 3, most 6, 90%: unanimous questions stop at 3 raters, split ones at 6."""
    stop = {"kind": "agreement", "least": 3, "most": 6, "agreement": 0.9}
    plan, tallies = make_plan(study(1), studio({"stop": stop}, raters=10)), CountedTallies()
    split = plan.runs["designers"][0].keys[0]

    def answer(number: int):
        def given(shown):
            first = min(shown.order)
            wanted = first if shown.question.key != split or number % 2 else max(shown.order)
            return {"answers": {"overall": ("left", "right")[shown.place(wanted)]}}

        return given

    for n in range(10):
        Walker(plan, f"r{n}", n, tallies).walk(answer(n))
    counts = {key: tallies[key].answers for key in plan.runs["designers"][0].keys}
    assert counts.pop(split) == 6
    assert set(counts.values()) == {3}


def test_a_skipped_question_goes_to_somebody_else() -> None:
    made = studio({"stop": {"kind": "fixed", "raters_each": 1}}, raters=2)
    plan, tallies = make_plan(study(1, 2), made), CountedTallies()
    Walker(plan, "a", 0, tallies).walk(lambda shown: {"skipped": "broken image"})
    second = Walker(plan, "b", 1, tallies)
    second.walk()
    assert len(second.asked) == 1


def test_rest_between_phases() -> None:
    phases = [
        {"id": "ratings", "protocol": "rate"},
        {"id": "pairs", "protocol": "compare", "rest_hours": 48},
    ]
    rater = walker(study(1), studio(*phases))
    ended = rater.walk()
    assert ended == Rest(rater.asked[-1].answered + 48 * HOUR, "pairs")
    assert {q.phase for q in rater.questions} == {"ratings"}
    rater.now += 48 * HOUR
    assert rater.walk() == NoMoreQuestions("done")
    assert [q.phase for q in rater.questions] == ["ratings"] * 4 + ["pairs"] * 6


@given(st.integers(0, 50))
@settings(max_examples=20)
def test_nobody_sees_a_prompt_in_two_views(seed: int) -> None:
    """Two phases with different views: each rater sees half of the prompts in each, and the next the other half."""
    phases = [
        {"id": "short", "view": ["intent"]},
        {"id": "long", "view": ["intent", "description"]},
    ]
    plan = make_plan(study(6), studio(*phases, seed=seed))
    seen = defaultdict(set)
    for n in range(2):
        rater = Walker(plan, f"r{n}", n)
        assert rater.walk() == NoMoreQuestions("done")
        views = defaultdict(set)
        for q in rater.questions:
            views[q.prompt].add(q.view)
            seen[q.prompt].add(q.view)
        assert all(len(found) == 1 for found in views.values())
        assert Counter(view for (view,) in views.values()) == {("intent",): 3, ("intent", "description"): 3}
    assert all(len(found) == 2 for found in seen.values())


def test_criteria_that_ask_for_different_views_are_asked_about_different_prompts() -> None:
    criteria = [Criterion(id="style", view=("aesthetics",)), Criterion(id="facts", view=("description",))]
    apart = make_plan(study(4, criteria=criteria), studio({"criteria": ["style", "facts"]}))
    rater = Walker(apart)
    rater.walk()
    seen = {(q.prompt, q.view) for q in rater.questions}
    assert len({prompt for prompt, _ in seen}) == len(seen) == 4
    assert {view for _, view in seen} == {("aesthetics",), ("description",)}
    for narrowed in ({"together": True}, {"view": ["intent"]}, {"view": []}):
        runs = make_plan(study(4, criteria=criteria), studio({"criteria": ["style", "facts"]} | narrowed)).runs
        assert {run.view for run in runs["designers"]} == {tuple(narrowed.get("view", ()))}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"protocol": "regions"}, {"protocol": "text"}),
        ({"protocol": "rate"}, {"protocol": "flag"}),
        ({}, {"criteria": ["overall", "type"], "together": True}),
    ],
)
def test_two_phases_that_ask_a_rater_the_same_are_refused_before_anyone_is_asked(first: dict, second: dict) -> None:
    phases = [{"id": "one"} | first, {"id": "two"} | second]
    with pytest.raises(DesignError, match="phases 'one' and 'two', both about 'overall'"):
        make_plan(study(), studio(*phases))
    fresh = {"prompts": {"number": 2, "fresh": True}}
    assert make_plan(study(4), studio(*(phase | fresh for phase in phases)))


def test_categories_keep_their_shares_when_work_is_limited() -> None:
    phase = {"prompt_in_a_row": False, "questions_each": 8, "prompts": {"shares": "equal"}}
    plan = make_plan(study(7), studio(phase))
    for n in range(4):
        rater = Walker(plan, f"r{n}", n)
        rater.walk()
        kinds = Counter(int(q.prompt[1:]) % 2 for q in rater.questions)
        assert kinds == {0: 4, 1: 4}


def test_fresh_prompts_make_disjoint_phases() -> None:
    phases = [{"id": name, "prompts": {"number": 3, "fresh": True}} for name in ("a", "b")]
    plan = make_plan(study(6), studio(*phases))
    prompts = [{unit.prompt for unit in run.units} for run in plan.runs["designers"]]
    assert [len(found) for found in prompts] == [3, 3]
    assert not prompts[0] & prompts[1]


def test_the_adaptive_design_spends_its_budget_and_asks_nobody_twice() -> None:
    phase = {"design": {"kind": "adaptive", "fraction": 0.5}, "stop": {"kind": "fixed", "raters_each": 2}}
    plan, tallies = make_plan(study(2, 6), studio(phase, raters=4)), CountedTallies()
    raters = [Walker(plan, f"r{n}", n, tallies) for n in range(4)]
    for _ in range(20):
        for rater in raters:
            rater.step()
    for rater in raters:
        keys = [q.key for q in rater.questions]
        assert len(set(keys)) == len(keys)
    by_prompt = Counter(q.prompt for rater in raters for q in rater.questions)
    assert by_prompt == {"p0": 16, "p1": 16}  # round(.5 x 15) = 8 pairs, 2 raters each


# -- entry ----------------------------------------------------------------------------------------------------------


QUALIFIED = {"gold": 8, "qualification": {"questions": 4, "right": 3, "attempts": 2}}


def test_the_qualification_comes_first_and_lets_the_right_ones_in() -> None:
    rater = walker(study(1, gold=8), studio(**QUALIFIED))
    rater.walk()
    assert [q.why for q in rater.questions] == ["qualification"] * 4 + ["ordinary"] * 6


def test_two_attempts_with_different_gold_and_then_no_more() -> None:
    def wrong(shown):
        place = shown.place(shown.question.expected_item)
        return {"answers": {"overall": ("right", "left")[place]}}

    rater = walker(study(1, gold=8), studio(**QUALIFIED))
    assert rater.walk(wrong) == NoMoreQuestions("not qualified")
    assert len(rater.asked) == 8
    assert len({q.items for q in rater.questions}) == 8
    second = walker(study(1, gold=8), studio(**QUALIFIED), rater="r1")
    second.walk(wrong, most=4)
    assert isinstance(second.walk(right), NoMoreQuestions)
    assert sum(q.why == "ordinary" for q in second.questions) == 6


@pytest.mark.parametrize("status", ["paused", "removed", "withdrawn"])
def test_who_is_out_is_asked_nothing(status: str) -> None:
    plan = make_plan(study(), studio())
    assert next_question(plan, AssignmentState("r", 0, "designers", 0, status)) == NoMoreQuestions(status)


def test_an_open_question_comes_back_after_a_reload_and_after_an_undo() -> None:
    rater = walker(study(), studio())
    rater.walk(most=5)
    again = rater.asked[3].question
    rater.asked[3] = AskedQuestion(again)
    assert next_question(rater.plan, rater.state()) == again
