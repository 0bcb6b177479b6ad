"""The bridge (fuse/bridge*.py): questions, answers, scores, and the calls they cost."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.special import expit
from scipy.stats import norm

from salon.errors import BadValue, NotIdentified, TooFew, UnknownReference
from salon.fuse import (
    BridgeSettings,
    RehearsalSettings,
    next_questions,
    next_round,
    no_answers,
    plan_bridge,
    plan_group,
    planned_calls,
    rehearse_bridge,
    score_bridge,
)
from salon.fuse.bridge import run_bridge
from salon.fuse.bridge_plan import study_answers
from salon.fuse.bridge_simulation import RehearsalPoint, opponents_needed
from salon.stats import count_pairs, fit_pairs
from salon.study import Comparison, Criterion, Item, Rater, Study

WORDS = ("a", "b", "tie", "both_bad")
SMALL = BridgeSettings(pool=6, opponents=3)


def ids(count: int) -> list[str]:
    return [f"item-{k:03}" for k in range(count)]


def sharp(pairs: np.ndarray) -> np.ndarray:
    """A judge who prefers the higher number, except for a fixed third of pairs of neighbours, which tie."""
    a, b = pairs[:, 0], pairs[:, 1]
    tie = (np.abs(a - b) < 3) & ((a + b) % 3 == 0)
    return np.where(tie, 2, np.where(a > b, 0, 1))


def answered(table, judge=sharp, *, criterion="overall", rater="judge") -> list[Comparison]:
    """The pairs of a table, answered."""
    rows = table.to_pylist()
    numbers = np.array([[int(row["a"][-3:]), int(row["b"][-3:])] for row in rows]).reshape(-1, 2)
    return [
        Comparison(
            criterion=criterion, rater=rater, a=row["a"], b=row["b"], left=row["left"], repeat=row["repeat"],
            outcome=WORDS[code],
        )
        for row, code in zip(rows, judge(numbers))
    ]  # fmt: skip


def study(comparisons=(), items: int = 20, criteria=("overall",), **metadata) -> Study:
    tables = {
        "items": [Item(id=id) for id in ids(items)],
        "raters": [Rater(id="judge", kind="model"), Rater(id="crowd", kind="crowd")],
        "comparisons": list(comparisons),
    }
    tables |= metadata.pop("tables", {})
    metadata = {"compare_within": "all"} | metadata
    return Study.build("posters", [Criterion(id=id) for id in criteria], tables=tables, **metadata)


def complete(settings: BridgeSettings = SMALL, **options) -> Study:
    empty = study(**options)
    return study(answered(plan_bridge(empty, settings)[0]), **options)


def values(report) -> dict[str, float]:
    return {row.item: row.value for row in report.rows}


# ----------------------------------------------------------------------------------------------- by hand
def test_the_calls_of_the_paper():
    # C(50, 2) + (3000 - 50) 10 = 1,225 + 29,500.
    assert planned_calls(3000, BridgeSettings()) == 30_725
    plan = plan_group(ids(3000), BridgeSettings(both_orders=True))
    assert len(plan.pool_pairs) == 2 * 1_225
    assert plan.opponents(10).shape == (2950, 10)


def test_the_best_and_worst_item_by_hand():
    # 1 + 4 / (1 + e^3) = 1.1897 and 1 + 4 / (1 + e^-3) = 4.8103, whatever the answers.
    found = values(score_bridge(complete(), SMALL))
    assert (min(found.values()), max(found.values())) == pytest.approx((1.189703, 4.810297), abs=1e-6)


def test_questions_of_a_small_plan():
    table, questions = plan_bridge(study(), SMALL)
    assert (questions.pairs, questions.planned_one_order, questions.planned_both_orders) == (57, 57, 114)  # 15 + 14 * 3
    rows = table.to_pylist()
    assert [row["stage"] for row in rows] == ["pool"] * 15 + ["placement"] * 42
    pool = {row[side] for row in rows[:15] for side in "ab"}
    assert len(pool) == 6
    assert all((row["a"] in pool) != (row["b"] in pool) for row in rows[15:])
    assert len({frozenset((row["a"], row["b"])) for row in rows}) == 57


def test_reached_between_rounds():
    # .80 lies halfway between the first (.70) and second (.90) adaptive opponent.
    points = [RehearsalPoint(opponents=k, calls=k, random=r, adaptive=a) for k, r, a in ((1, 0.6, 0.7), (2, 0.8, 0.9))]
    assert opponents_needed(tuple(points)) == pytest.approx(1.5)
    assert opponents_needed(tuple(p.model_copy(update={"adaptive": 0.1}) for p in points)) is None


# ---------------------------------------------------------------------------------------------- by definition
def test_a_placement_is_the_posterior_on_the_frozen_scale():
    settings = SMALL.model_copy(update={"method": "bradley-terry", "pool_errors": False})
    full = complete(settings)
    report = score_bridge(full, settings)
    plan = plan_group(ids(20), settings)
    calls = study_answers(full, ("overall",), ())
    place, outcome = plan.place[calls.pairs], calls.outcomes[:, 0]
    inside = (place >= 0).all(axis=1)
    pool = fit_pairs(count_pairs(*place[inside].T, outcome[inside], 6), prior=10.0).scores
    item = plan.rest[4]
    grid = np.linspace(-60, 60, 24_001)
    weight = norm.pdf(grid, pool.mean(), pool.std(ddof=1))
    for pair, code in zip(calls.pairs, outcome):
        if item not in pair:
            continue
        d = grid - pool[plan.place[pair].max()]
        won = 0.5 if code == 2 else float((pair[0] == item) == (code == 0))
        weight = weight * expit(d) ** won * expit(-d) ** (1 - won)
    mean = (weight @ grid) / weight.sum()
    row = next(row for row in report.rows if row.item == ids(20)[item])
    assert row.mean == pytest.approx(mean, abs=1e-4)
    assert row.sd == pytest.approx(np.sqrt(weight @ (grid - mean) ** 2 / weight.sum()), abs=1e-4)
    assert (row.calls, row.pool) == (3, False)


# -------------------------------------------------------------------------------------------- by property
def test_the_pool_follows_from_the_ids_alone():
    names = ids(40)
    plan = plan_group(names, SMALL)
    shuffled = list(np.random.default_rng(0).permutation(names))
    again = plan_group(shuffled, SMALL)
    assert {names[i] for i in plan.pool} == {shuffled[i] for i in again.pool}
    other = plan_group(names, SMALL.model_copy(update={"seed": 1}))
    assert set(plan.pool) != set(other.pool)
    more = plan_group([*names, "one more"], SMALL)
    assert len(set(plan.pool) & set(more.pool)) >= 5


def test_every_pool_item_is_drawn_as_often_and_shown_first_as_often():
    plan = plan_group(ids(3000), BridgeSettings(pool=20, opponents=5))
    drawn = np.bincount(plan.opponents(5).ravel(), minlength=20)
    assert drawn.sum() == 5 * 2980
    assert np.all(np.abs(drawn - 745) < 5 * np.sqrt(745))
    pairs = plan.questions(np.repeat(plan.rest, 5), plan.pool[plan.opponents(5).ravel()])
    first = np.isin(pairs[:, 0], plan.pool).mean()
    assert first == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(len(pairs)))


def test_which_item_is_called_a_does_not_matter():
    full = complete()
    swap = {"a": "b", "b": "a", "tie": "tie"}
    turned = [
        one.model_copy(update={"a": one.b, "b": one.a, "outcome": swap[one.outcome], "left": "b"})
        for one in full.nouns("comparisons")
    ]
    assert values(score_bridge(study(turned), SMALL)) == pytest.approx(values(score_bridge(full, SMALL)))


def test_both_bad_skipped_and_foreign_answers_order_nothing_and_are_counted():
    full = complete()
    pool = {ids(20)[i] for i in plan_group(ids(20), SMALL).pool}
    outside = [id for id in ids(20) if id not in pool]
    extra = [
        Comparison(criterion="overall", rater="crowd", a=outside[0], b=outside[1], outcome="a"),
        Comparison(criterion="overall", rater="crowd", a=outside[0], b=min(pool), outcome="both_bad"),
        Comparison(criterion="overall", rater="crowd", a=outside[0], b=max(pool), skipped="cannot judge"),
    ]
    report = score_bridge(study([*full.nouns("comparisons"), *extra]), SMALL)
    calls = report.accounting
    assert (calls.asked, calls.pool_calls, calls.placement_calls, calls.other_calls) == (60, 15, 44, 1)
    assert (calls.answers, calls.both_bad, calls.no_answer) == (57, 1, 1)
    assert values(report) == pytest.approx(values(score_bridge(full, SMALL)))
    assert any("1 calls name no pool item" in text for text in report.warnings)
    only = SMALL.model_copy(update={"rater": ("judge",)})
    assert score_bridge(study([*full.nouns("comparisons"), *extra]), only).accounting.asked == 57


def test_a_crowd_may_answer_a_question_often():
    table = plan_bridge(study(), SMALL)[0]
    twice = [*answered(table, rater="crowd"), *answered(table, rater="crowd")]
    report = score_bridge(study(twice), SMALL)
    assert (report.accounting.asked, report.accounting.answers) == (114, 114)
    assert min(row.calls for row in report.rows if not row.pool) == 6


def test_criteria_share_calls_and_have_scales_of_their_own():
    table = plan_bridge(study(criteria=("color", "mood")), SMALL)[0]
    mood = answered(table, lambda pairs: sharp(pairs[:, ::-1]), criterion="mood")
    report = score_bridge(study([*answered(table, criterion="color"), *mood], criteria=("color", "mood")), SMALL)
    assert (report.accounting.asked, report.accounting.answers) == (57, 114)
    by = {one: np.array([row.value for row in report.rows if row.criterion == one]) for one in ("color", "mood")}
    assert np.corrcoef(by["color"], by["mood"])[0, 1] < -0.9
    assert len(report.as_scores().values) == 40


def test_groups_have_pools_of_their_own():
    items = [Item(id=id, category="one" if k < 12 else "two") for k, id in enumerate(ids(17))]
    options = {"tables": {"items": items}, "items": 17, "compare_within": "category"}
    empty = study(**options)
    table, questions = plan_bridge(empty, SMALL)
    assert questions.pairs == (15 + 6 * 3) + 10  # the second group is smaller than a pool: all its pairs
    report = score_bridge(study(answered(table), **options), SMALL)
    assert [(scale.group, scale.items, scale.pool) for scale in report.scales] == [("one", 12, 6), ("two", 5, 5)]
    assert report.scales[1].reliability is None


# ---------------------------------------------------------------------------------------- asking and going on
def test_a_stopped_plan_goes_on_where_it_was():
    settings = SMALL.model_copy(update={"both_orders": True})
    table, _ = plan_bridge(study(), settings)
    some = study(answered(table.slice(0, 20)))
    rest, questions = next_questions(some, settings)
    assert (questions.stage, questions.asked) == ("pool", 20)
    pool = study([*some.nouns("comparisons"), *answered(rest)])
    last, questions = next_questions(pool, settings)
    assert questions.stage == "placement"
    done = study([*pool.nouns("comparisons"), *answered(last)])
    assert done.counts["comparisons"] == table.num_rows == 114
    assert next_questions(done, settings)[1].stage == "done"
    assert values(score_bridge(done, settings)) == pytest.approx(values(score_bridge(complete(settings), settings)))


@pytest.mark.parametrize("changes", [{}, {"adaptive": True}, {"adaptive": True, "both_orders": True, "batch": 2}])
def test_a_run_stopped_at_any_round_ends_the_same(changes):
    settings = SMALL.model_copy(update=changes)
    rounds = []
    whole = run_bridge(ids(30), sharp, settings, save=rounds.append)
    for known in rounds:
        again = run_bridge(ids(30), sharp, settings, answers=known)
        assert again.report == whole.report
    assert whole.report.accounting.asked == planned_calls(30, settings) * settings.orders


def test_adaptive_questions_follow_the_answers_and_never_repeat():
    settings = BridgeSettings(pool=10, opponents=4, adaptive=True)
    found = run_bridge(ids(60), sharp, settings)
    names = np.sort(found.answers.pairs, axis=1)
    assert len(np.unique(names, axis=0)) == len(names) == 45 + 50 * 4
    plan = plan_group(ids(60), settings)
    place = plan.place[found.answers.pairs]
    scored = {row.item: row.mean for row in found.report.rows}
    pool = np.array([scored[ids(60)[i]] for i in plan.pool])
    distance = [
        abs(scored[ids(60)[pair[at < 0][0]]] - pool[at.max()])
        for pair, at in zip(found.answers.pairs, place)
        if (at < 0).any()
    ]
    anyone = np.abs(np.array(list(scored.values()))[:, None] - pool).mean()
    assert np.mean(distance) < 0.75 * anyone


def test_asking_stops_when_items_are_certain_enough():
    settings = BridgeSettings(pool=12, opponents=10, adaptive=True)
    rng = np.random.default_rng(0)
    judge = lambda pairs: np.where(rng.random(len(pairs)) < expit((pairs[:, 0] - pairs[:, 1]) / 8), 0, 1)  # noqa: E731
    target = 1.2
    found = run_bridge(ids(60), judge, settings.model_copy(update={"target_sd": target}))
    asked = np.array([row.calls for row in found.report.rows if not row.pool])
    sd = np.array([row.sd for row in found.report.rows if not row.pool])
    assert 1 < asked.min() < asked.max() <= 10
    assert np.all((sd < target) | (asked == 10))
    assert found.report.accounting.asked < planned_calls(60, settings)


def test_an_item_waits_until_every_criterion_is_certain():
    settings = BridgeSettings(pool=8, opponents=6, adaptive=True, target_sd=1.2)

    def judge(pairs):
        return np.stack([np.where(pairs[:, 0] > pairs[:, 1], 0, 1), np.full(len(pairs), -1)], axis=1)

    plan = plan_group(ids(20), settings)
    pool = plan.pool_pairs
    known = no_answers(2).plus(pool, np.stack([sharp(pool), sharp(pool)], axis=1))
    for _ in range(6):
        known = known.plus(pairs := next_round(plan, known, settings), judge(pairs))
        assert len(pairs) == 12  # the second criterion never answers, so everybody waits to the end
    assert not len(next_round(plan, known, settings))


# -------------------------------------------------------------------------------------------- by recovery
def test_scores_find_the_truth_and_intervals_cover():
    made = [rehearse_bridge(RehearsalSettings(items=500, spread=2.5, seed=seed)) for seed in range(6)]
    assert np.mean([one.srcc for one in made]) > 0.9
    assert all(one.srcc_low < one.srcc < one.srcc_high for one in made)
    assert np.mean([one.coverage for one in made]) == pytest.approx(0.95, abs=0.02)
    assert np.mean([one.placement_share for one in made]) < 0.85
    assert all(later.random > earlier.random for one in made for earlier, later in zip(one.curve, one.curve[2:]))


def test_a_judge_who_guesses_is_seen_as_such():
    settings = BridgeSettings(pool=20, opponents=5)
    rng = np.random.default_rng(1)
    report = run_bridge(ids(200), lambda pairs: rng.integers(0, 2, len(pairs)), settings).report
    assert report.scales[0].reliability < 0.5
    assert any("more than half" in text for text in report.warnings)


def test_elo_gives_the_papers_scale_without_errors_of_the_pool():
    settings = SMALL.model_copy(update={"method": "elo"})
    report = score_bridge(complete(settings), settings)
    assert report.scales[0].unit == "elo"
    assert report.scales[0].prior_mean == pytest.approx(1500)
    assert all((row.sd is None) == row.pool == (row.low is None) for row in report.rows)
    other = values(score_bridge(complete(), SMALL))
    found = values(report)
    assert np.corrcoef([found[id] for id in other], list(other.values()))[0, 1] > 0.95


# --------------------------------------------------------------------------------------------- at the edge
def test_items_without_answers_keep_the_prior_and_are_listed():
    table = plan_bridge(study(), SMALL)[0]
    gone = table.to_pylist()[-1]
    pool = {ids(20)[i] for i in plan_group(ids(20), SMALL).pool}
    lost = gone["a"] if gone["b"] in pool else gone["b"]
    kept = [one for one in answered(table) if lost not in (one.a, one.b)]
    report = score_bridge(study(kept), SMALL)
    row = next(row for row in report.rows if row.item == lost)
    assert report.unplaced == (lost,)
    assert report.incomplete == 1
    assert (row.calls, row.mean) == (0, pytest.approx(report.scales[0].prior_mean, abs=1e-9))
    assert row.sd == pytest.approx(report.scales[0].prior_sd, rel=1e-6)
    assert any("1 items have no answer" in text for text in report.warnings)


def test_one_extreme_item_moves_the_others_and_it_is_said():
    def judge(pairs):  # item 0 loses to everybody; the others differ little
        lost = np.where(pairs == 0, -50.0, pairs / 10.0)
        return np.where(lost[:, 0] > lost[:, 1], 0, 1)

    rng = np.random.default_rng(3)

    def noisy(pairs):
        return np.where((pairs == 0).any(axis=1) | (rng.random(len(pairs)) < 0.6), judge(pairs), 1 - judge(pairs))

    report = run_bridge(ids(80), noisy, BridgeSettings(pool=15, opponents=10)).report
    assert report.scales[0].outlier_shift > 0.1
    assert any("leaving out one extreme item" in text for text in report.warnings)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: score_bridge(study(), SMALL), TooFew, "criterion 'overall', group 'posters'"),
        (lambda: score_bridge(study(items=1), SMALL), TooFew, "at least 2 items"),
        (lambda: plan_bridge(study(items=3, compare_within="prompt"), SMALL), TooFew, "compared within prompt"),
        (lambda: score_bridge(complete(), BridgeSettings(rater=("nobody",))), UnknownReference, "nobody"),
        (lambda: score_bridge(complete(), BridgeSettings(criterion=("nothing",))), UnknownReference, "nothing"),
        (lambda: run_bridge(["x", "x"], sharp), BadValue, "id of its own"),
        (lambda: run_bridge(ids(9), lambda pairs: np.full(len(pairs), 7), SMALL), BadValue, "7"),
        (lambda: run_bridge(ids(9), sharp, SMALL, criteria=("one", "two")), BadValue, "2 criteria"),
        (lambda: run_bridge(ids(9), lambda pairs: np.full(len(pairs), 2), SMALL), NotIdentified, "criterion 'overall'"),
    ],
)
def test_wrong_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("wrong", [{"pool": 5, "opponents": 6}, {"low": 5.0, "high": 1.0}, {"pool": 1}])
def test_impossible_settings_are_refused(wrong):
    with pytest.raises((ValidationError, BadValue)):
        BridgeSettings(**wrong)


def test_two_items_are_all_pool():
    report = run_bridge(ids(2), lambda pairs: np.where(pairs[:, 0] == 1, 0, 1), BridgeSettings()).report
    assert report.accounting.asked == report.accounting.exhaustive == 1
    assert values(report)[ids(2)[1]] == pytest.approx(4.810297, abs=1e-6)
