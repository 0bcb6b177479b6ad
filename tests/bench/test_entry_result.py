"""What an entry is worth, and that nothing but its own pictures, answers and scores can move it (bench/result.py)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit
from scipy.stats import t as student
from suite_example import answers, asked, entered, logits, result

from salon.bench import EntryResult, Suite, entry_result
from salon.bench.entry import Entry
from salon.stats import bootstrap_interval, score_interval, win_chance
from salon.study import Point

SAID = st.sampled_from(["pass", "pass", "pass", "fail", "unread", None])
GIVEN = st.one_of(st.floats(-6, 6), st.none(), st.just("broken"))


@st.composite
def entries(draw: st.DrawFn) -> tuple[Suite, Entry, pa.Table, pa.Table]:
    """A small suite and an entry with pictures, answers and scores missing here and there."""
    suite = asked(
        draw(st.sampled_from([("look", "words"), ("look", "mood", "words")])),
        images=draw(st.integers(1, 2)),
        points=draw(st.integers(1, 2)),
        judges=draw(st.sampled_from(["a", "abc"])),
        rule=draw(st.sampled_from(["majority", "unanimous"])),
        passes=draw(st.sampled_from(["all", "share"])),
        integrate=draw(st.booleans()),
        interval=draw(st.sampled_from(["score", "bootstrap"])),
        draws=100,
    )
    missing = draw(st.sets(st.sampled_from(["p0/0", "p1/0"]), max_size=1))
    entry = entered(suite, missing=tuple(missing))
    said = answers(suite, entry, lambda *_: draw(SAID))
    return suite, entry, said, logits(suite, entry, lambda _: draw(GIVEN))


def numbers(result: EntryResult) -> dict[str, float]:
    """Every mean of a result, and every value of a prompt."""
    axes = {"capability": result.capability, "points": result.points, "overall": result.overall, **result.eps}
    found = {name: axis.figure.value for name, axis in axes.items()}
    for group in result.groups:
        found[f"{group.kind} {group.id}"] = group.capability.value
        found |= {f"{group.kind} {group.id} {name}": figure.value for name, figure in group.eps.items()}
    for one in result.prompts:
        found[one.prompt] = one.passed
        found |= {f"{one.prompt} {name}": value for name, value in one.eps.items()}
    return found


def never_higher(after: EntryResult, before: EntryResult) -> None:
    was, rewards = numbers(before), {group.id: group.reward for group in before.groups}
    assert {name: (value, was[name]) for name, value in numbers(after).items() if value > was[name] + 1e-9} == {}
    assert all(group.reward in ({}, rewards[group.id]) for group in after.groups)


def shorter(table: pa.Table, data: st.DataObject) -> pa.Table:
    """Without one of its rows."""
    row = data.draw(st.integers(0, len(table) - 1))
    return pa.concat_tables([table.slice(0, row), table.slice(row + 1)])


# ----------------------------------------------------------------------------------------------- by hand
def test_everything_by_hand():
    # p0 (look): both points hold, logit ln 3 above the reference. p1 (look): one of two, at it. p2 (words): both.
    # Capability 2/3, points 5/6, EPS (.75 + .5)/2 = .625, Overall .5 (66.67) + .5 (62.5) = 64.58.
    got = result(
        asked(reference=[1.0, 2.0, 3.0]),
        lambda item, point, judge: "fail" if point == "p1-1" else "pass",
        {"p0/0": 1 + math.log(3), "p1/0": 2.0, "p2/0": -50.0}.get,
    )
    assert got.capability.figure.value == pytest.approx(200 / 3)
    assert got.points.figure.value == pytest.approx(500 / 6)
    assert got.eps["eps"].figure.value == pytest.approx(62.5)
    assert got.overall.figure.value == pytest.approx(64.5833333)
    assert (got.status, got.headline, got.weights) == ("complete", "eps", {"capability": 0.5, "eps": 0.5})
    assert got.overall.coverage.model_dump() == {
        "wanted": 3, "made": 3, "asked": 18 + 2, "given": 20, "unread": 0, "open": 0,
    }  # fmt: skip


def test_every_point_counts_once_however_many_a_prompt_has():
    suite = asked(judges="a")  # two points each; p0 gets three more, and all of its five fail
    more = tuple(Point(id=f"p0-{k}", prompt="p0", tag="any") for k in range(2, 5))
    got = result(replace(suite, points=(*suite.points, *more)), lambda item, *_: "fail" if item == "p0/0" else "pass")
    assert got.points.figure.value == pytest.approx(100 * 4 / 9)
    assert got.capability.figure.value == pytest.approx(200 / 3)


def test_weights_of_overall():
    suite = asked(weights={"capability": 0.8, "eps": 0.2})
    assert result(suite).overall.figure.value == 0.8 * 100 + 0.2 * 50


def test_tags_and_groups_by_hand():
    got = result(
        asked(["look", "mood", "look", "words"], judges="a"),
        lambda item, point, judge: "fail" if item == "p0/0" else "pass",
        {"p0/0": 0.0, "p1/0": math.log(3), "p2/0": 2.0, "p3/0": 7.0}.get,
    )
    by_id = {(one.kind, one.id): one for one in got.groups}
    assert list(by_id) == [("tag", "look"), ("tag", "mood"), ("tag", "words"), ("group", "Eye"), ("group", "Text")]
    assert by_id["tag", "look"].capability.value == 50.0
    assert by_id["group", "Eye"].capability.value == pytest.approx(200 / 3)
    assert by_id["tag", "mood"].eps["eps"].value == pytest.approx(75.0)
    assert by_id["tag", "mood"].capability.low is None  # one prompt: no interval
    assert by_id["tag", "words"].eps == {}
    assert by_id["tag", "words"].reward["eps"].value == 7.0
    # Eye: logits 0, ln 3, 2: mean 1.03287, standard deviation 1.00162, t_2 = 4.30265: +- 2.48817
    reward = by_id["group", "Eye"].reward["eps"]
    assert (reward.value, reward.high - reward.value) == pytest.approx((1.03287, 2.48817), abs=1e-4)
    assert student.ppf(0.975, 2) == pytest.approx(4.30265, abs=1e-5)


# ----------------------------------------------------------------------------------------------- by definition
def test_intervals_are_those_of_the_prompts():
    rng = np.random.default_rng(3)
    passed, mu = rng.random(20) < 0.7, rng.normal(0.4, 1, 20)
    tags = ["look"] * 15 + ["words"] * 5
    says = lambda item, *_: "pass" if passed[int(item[1:-2])] else "fail"  # noqa: E731
    wins, counts = expit(mu), np.arange(20) < 15
    both, weights = np.column_stack([passed, wins]), np.column_stack([np.ones(20), counts])
    rng_of = lambda: np.random.default_rng(7)  # noqa: E731
    for kind, of in {
        "score": lambda *arrays: score_interval(*arrays),
        "bootstrap": lambda *arrays: bootstrap_interval(*arrays, draws=300, rng=rng_of()),
    }.items():
        suite = asked(tags, interval=kind, draws=300, seed=7)
        got = result(suite, says, lambda item: float(mu[int(item[1:-2])]))
        expected = {
            "capability": of(passed.astype(float)),
            "eps": of(wins, counts.astype(float)),
            "overall": of(both, weights, [0.5, 0.5]),
        }
        if kind == "bootstrap":  # prompts without EPS are drawn too, and then count nowhere
            expected["eps"] = of(wins, counts.astype(float), [1.0])
        found = {"capability": got.capability, "eps": got.eps["eps"], "overall": got.overall}
        for name, axis in found.items():
            ends = [100 * end for end in (expected[name].value, expected[name].low, expected[name].high)]
            assert [axis.figure.value, axis.figure.low, axis.figure.high] == pytest.approx(ends, abs=1e-7), name


# ----------------------------------------------------------------------------------------------- what cannot move it
@settings(max_examples=25)
@given(entries(), st.data())
def test_nothing_anybody_else_does_moves_a_result(made, data):
    """Another entry before it, after it, taken away, run again with other answers: the same bytes."""
    suite, entry, said, scores = made
    before = entry_result(suite, entry, said, scores).model_dump_json()
    for name in ("another", "a third"):
        other = entered(suite, name)
        table = answers(suite, other, lambda *_: data.draw(SAID))
        entry_result(suite, other, table, logits(suite, other, lambda _: data.draw(GIVEN)))
        assert entry_result(suite, entry, said, scores).model_dump_json() == before


@settings(max_examples=25)
@given(entries(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(made, random):
    suite, entry, said, scores = made
    mixed = [table.take(pa.array(random.sample(range(len(table)), len(table)), pa.int64())) for table in (said, scores)]
    pictures = random.sample(entry.pictures, len(entry.pictures))
    again = entry_result(suite, entry.model_copy(update={"pictures": tuple(pictures)}), *mixed)
    assert again == entry_result(suite, entry, said, scores)


@settings(max_examples=25)
@given(entries())
def test_a_name_is_no_part_of_a_number(made):
    suite, entry, said, scores = made
    one = entry_result(suite, entry, said, scores)
    other = entry_result(suite, entry.model_copy(update={"name": "zzz", "by": "somebody"}), said, scores)
    assert other == one.model_copy(update={"entry": "zzz"})


# ----------------------------------------------------------------------------------------------- deleting never helps
@settings(max_examples=50)
@given(entries(), st.data())
def test_deleting_a_picture_an_answer_or_a_score_never_helps(made, data):
    suite, entry, said, scores = made
    before = entry_result(suite, entry, said, scores)
    place = data.draw(st.integers(0, len(entry.pictures) - 1))
    gone = entry.pictures[place].model_copy(update={"image": None, "sha256": None, "missing": "deleted"})
    pictures = (*entry.pictures[:place], gone, *entry.pictures[place + 1 :])
    never_higher(entry_result(suite, entry.model_copy(update={"pictures": pictures}), said, scores), before)
    if len(said):
        never_higher(entry_result(suite, entry, shorter(said, data), scores), before)
    if len(scores):
        never_higher(entry_result(suite, entry, said, shorter(scores, data)), before)


@settings(max_examples=25)
@given(entries())
def test_at_best_is_what_all_open_answers_would_give(made):
    """Every open answer PASS, and every open score out of sight."""
    suite, entry, said, scores = made
    got = entry_result(suite, entry, said, scores)
    told = {(row["item"], row["point"], row["judge"]): row["said"] for row in said.to_pylist()}
    given_ = {row["item"]: row["unscored"] or row["value"] for row in scores.to_pylist()}
    there = entered(suite, missing=[one.item for one in entry.pictures if one.image is None])
    best = entry_result(
        suite,
        there,
        answers(suite, there, lambda *key: told.get(key, "pass")),
        logits(suite, there, lambda item: given_.get(item, 600.0)),
    )
    assert best.status == "complete"
    assert best.capability.figure.value == got.capability.at_best
    assert best.points.figure.value == got.points.at_best
    assert best.eps["eps"].figure.value == pytest.approx(got.eps["eps"].at_best, abs=1e-6)
    assert best.overall.figure.value == pytest.approx(got.overall.at_best, abs=1e-6)


# ----------------------------------------------------------------------------------------------- by recovery
@pytest.mark.parametrize("integrate", [False, True])
def test_a_planted_eps_is_covered(integrate):
    """Logits N(.6, 1) above the reference, sigma 1 on both sides: E[s] is an integral of the same kind."""
    rng = np.random.default_rng(11)
    suite = asked(["look"] * 24, points=1, judges="a", integrate=integrate)
    truth = 100 * float(win_chance(0.6, math.sqrt(1 + 2 * integrate)))
    made = [result(suite, gives=lambda _: rng.normal(0.6, 1)).eps["eps"].figure for _ in range(60)]
    held = np.mean([one.low <= truth <= one.high for one in made])
    assert held >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 60)


# ----------------------------------------------------------------------------------------------- what it carries
def test_a_result_survives_its_file():
    got = result(asked(oracle="layout"), missing=["p1/0"])
    assert EntryResult.model_validate_json(got.model_dump_json()) == got


def test_signature_and_digest():
    suite = asked()
    one = result(suite)
    assert one.signature.data == one.digest[:12]
    assert f"frozen:{suite.hash[:12]}" in one.signature_line
    assert "interval:score|level:0.95" in one.signature_line
    assert "sigma:dropped" in one.signature_line
    changed = [
        result(suite, gives=lambda item: 0.1),
        result(suite, lambda item, point, judge: "unread" if judge == "a" else "pass"),
        result(suite, missing=["p0/0"]),
        result(suite, name="other pictures"),
    ]
    assert len({one.digest, *(other.digest for other in changed)}) == 5
    assert "draws:100" in result(asked(interval="bootstrap", draws=100)).signature_line


def test_nothing_at_all_is_nothing_and_says_so():
    got = result(asked(), lambda *_: None, lambda _: None, missing=["p0/0", "p1/0", "p2/0"])
    assert got.status == "complete"  # nothing is left to answer
    assert {axis.figure.value for axis in (got.capability, got.points, got.eps["eps"], got.overall)} == {0.0}
    assert got.capability.figure.high > 0
