"""Facts about raters: planted habits are found, honest raters left alone, every figure follows its definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from drawn_studies import Drawn, names, random_ranks, shared_ranks

from salon.check import CheckSettings, RaterSummary, check_study
from salon.check.raters import FEW_JUDGMENTS, MOST_ROWS, rater_rows
from salon.study import Comparison, Criterion, Ranking, Rater, Rating, Scale, Study

RNG = np.random.default_rng
SETTINGS = CheckSettings(draws=200)


def rows(study: Study, settings: CheckSettings = SETTINGS) -> dict[str, RaterSummary]:
    return {row.rater: row for row in rater_rows(study, (), settings)}


def vote(rater: str, prompt: int, i: int, j: int, outcome: str | None, **more) -> Comparison:
    made = {"criterion": "c", "rater": rater, "a": f"q{prompt}.{i}", "b": f"q{prompt}.{j}", "outcome": outcome}
    return Comparison(**(made | more))


def honest(n: int, raters: int, rng: np.random.Generator) -> list[Comparison]:
    """All pairs of n prompts of four items, sides at random, time as people take it."""
    made = []
    for prompt, panel in enumerate(shared_ranks(n, raters, 4, 1.0, rng)):
        for rater, row in zip(names(raters), panel):
            for i, j in combinations(range(4), 2):
                facts = {"left": "a" if rng.random() < 0.5 else "b", "seconds": float(rng.lognormal(2, 0.5))}
                made.append(vote(rater, prompt, i, j, "a" if row[i] < row[j] else "b", **facts))
    return made


# -- by hand ---------------------------------------------------------------------------------------------------------


def test_by_hand() -> None:
    """Ten votes: six with a known side and a winner, four of them won by the left; two ties; two of unknown side."""
    sides = [("a", "a"), ("b", "b"), ("a", "a"), ("b", "b"), ("a", "b"), ("b", "a"), ("a", "tie"), ("b", "tie")]
    drawn = Drawn(10, 2)
    for prompt, (left, outcome) in enumerate(sides):
        drawn.add("comparisons", vote("ann", prompt, 0, 1, outcome, left=left, seconds=1.0 + prompt))
    drawn.add("comparisons", vote("ann", 8, 0, 1, "a"), vote("ann", 9, 0, 1, "a"))
    row = rows(drawn.study())["ann"]
    assert row.left_rate.value == pytest.approx(4 / 6)
    assert row.left_rate.n == 6
    assert row.tie_rate == pytest.approx(2 / 10)
    assert row.median_seconds == 4.5  # of 1..8; the two without a time are left out
    assert row.judgments == 10
    assert row.repeat_agreement is None


def test_repeats_are_matched_whichever_way_round_they_were_shown() -> None:
    drawn = Drawn(4, 2)
    for prompt, (first, again) in enumerate([("a", "a"), ("a", "b"), ("tie", "tie"), ("b", "b")]):
        turned = {"a": "b", "b": "a"}.get(again, again)
        drawn.add("comparisons", vote("ann", prompt, 0, 1, first), vote("ann", prompt, 1, 0, turned, repeat=1))
    study = drawn.study()
    figure = rows(study)["ann"].repeat_agreement
    assert (figure.value, figure.n) == (0.75, 4)
    sure = rows(study, SETTINGS.model_copy(update={"level": 0.99}))["ann"].repeat_agreement
    assert sure.low < figure.low < figure.high < sure.high


def test_a_repeat_without_a_first_answer_is_no_repeat() -> None:
    drawn = Drawn(2, 2).add("comparisons", vote("ann", 0, 0, 1, "a"), vote("ann", 1, 0, 1, "a", repeat=1))
    assert rows(drawn.study())["ann"].repeat_agreement is None


def test_intransitive_triples_by_definition() -> None:
    rng = RNG(1)
    drawn, shares = Drawn(12, 4), []
    for prompt in range(12):
        wins = np.zeros((4, 4))
        for i, j in combinations(range(4), 2):
            first = rng.random() < 0.5
            wins[i, j], wins[j, i] = first, not first
            drawn.vote("ann", prompt, i, j, "a" if first else "b")
        shares += [wins[a, b] == wins[b, c] == wins[c, a] for a, b, c in combinations(range(4), 3)]
    figure = rows(drawn.study())["ann"].intransitive
    assert figure.value == pytest.approx(np.mean(shares))
    assert figure.n == 12 * 4
    assert 0 < figure.value < 1


def test_stated_ties_are_not_loops() -> None:
    """Three ties on three items leave every item one win, as a loop does; a rater who cannot decide is no fool."""
    drawn = Drawn(2, 3)
    for i, j in combinations(range(3), 2):
        drawn.vote("tied", 0, i, j, "tie")
        drawn.vote("loop", 0, i, j, "a" if (i, j) != (0, 2) else "b")
    found = rows(drawn.study())
    assert found["tied"].intransitive is None
    assert found["loop"].intransitive.value == 1


def test_extreme_scores_by_hand() -> None:
    scale = Scale(low=1, high=5, step=1)
    values = [[[1, 5, 3, 2]], [[5, 5, 4, 2]]]
    row = rows(Drawn(2, 4).rate(values, raters=["ann"]).study(Criterion(id="c", scale=scale)))["ann"]
    assert row.extreme_share == 0.5
    assert row.longest_run == 2


def test_rankings_count_as_judgments() -> None:
    row = rows(Drawn(3, 3).rank(random_ranks(3, 1, 3, RNG(2)), raters=["ann"]).study())["ann"]
    assert row.judgments == 3
    assert row.left_rate is None
    assert row.longest_run is None


# -- planted habits --------------------------------------------------------------------------------------------------


def planted(rng: np.random.Generator) -> Study:
    """Five honest raters and one of each bad habit, on the same 40 prompts."""
    made = honest(40, 5, rng)
    for rater in ("left", "hasty", "fickle", "lines"):
        for prompt, row in enumerate(shared_ranks(40, 1, 4, 1.0, rng)[:, 0]):
            for number, (i, j) in enumerate(combinations(range(4), 2)):
                outcome = "a" if row[i] < row[j] else "b"
                left = "a" if rng.random() < 0.5 else "b"
                if rater == "left" and rng.random() < 0.4:
                    outcome = left
                if rater == "lines" and 10 <= prompt < 20:
                    outcome = left
                seconds = float(rng.uniform(0.3, 1.5)) if rater == "hasty" else float(rng.lognormal(2, 0.5))
                made.append(vote(rater, prompt, i, j, outcome, left=left, seconds=seconds))
                if rater == "fickle" and number == 0:
                    again = "a" if rng.random() < 0.4 else "b"
                    made.append(vote(rater, prompt, i, j, again, repeat=1))
    return Drawn(40, 4).add("comparisons", *made).study()


def test_planted_habits_are_found() -> None:
    found = rows(planted(RNG(3)))
    assert any("prefers the left side" in flag for flag in found["left"].flags)
    assert any("very fast" in flag for flag in found["hasty"].flags)
    assert any("contradicts own repeats" in flag for flag in found["fickle"].flags)
    assert any("straight-lines" in flag for flag in found["lines"].flags)
    assert found["left"].left_rate.low > 0.5
    for rater in names(5):
        assert found[rater].flags == ()


def test_honest_raters_are_seldom_flagged() -> None:
    """Position and straight lines are flagged in one case of 200 each: of 200 honest raters six would be many."""
    rng = RNG(4)
    flags = []
    for _ in range(20):
        study = Drawn(30, 4).add("comparisons", *honest(30, 10, rng)).study()
        flags += [row.flags for row in rater_rows(study, (), SETTINGS)]
    assert len(flags) == 200
    assert sum(bool(flag) for flag in flags) / 200 <= 0.03, [flag for flag in flags if flag]


def test_a_rater_at_random_agrees_least_in_every_criterion() -> None:
    rng = RNG(5)
    drawn = Drawn(60, 4)
    for criterion in "cdef":
        drawn.rank(shared_ranks(60, 5, 4, [0.7, 0.7, 0.7, 0.7, 50.0], rng), criterion=criterion)
    found = {row.rater: row for row in check_study(drawn.study(), SETTINGS).raters}
    assert "agrees least in 4 of 4 criteria" in found["r4"].flags
    assert any("no more than chance" in flag for flag in found["r4"].flags)
    for rater in names(4):
        assert found[rater].flags == ()
        assert found[rater].mean_tau.low > 0.1


def test_few_judgments_raise_no_flag() -> None:
    drawn = Drawn(FEW_JUDGMENTS - 1, 2)
    for prompt in range(FEW_JUDGMENTS - 1):
        drawn.add("comparisons", vote("ann", prompt, 0, 1, "a", left="a", seconds=0.1))
    row = rows(drawn.study())["ann"]
    assert row.left_rate.value == 1
    assert row.flags == ()


# -- who is shown ----------------------------------------------------------------------------------------------------


def test_crowds_have_no_row_and_models_are_named() -> None:
    raters = [Rater(id="anyone", kind="crowd"), Rater(id="judge", kind="model", cohort=None), Rater(id="ann")]
    drawn = Drawn(3, 2)
    for prompt in range(3):
        for rater in ("anyone", "judge", "ann"):
            drawn.vote(rater, prompt, 0, 1, "a")
    found = rows(drawn.study(raters=raters))
    assert {name: row.kind for name, row in found.items()} == {"judge": "model", "ann": "person"}


def test_the_most_active_come_first_and_the_table_has_an_end() -> None:
    drawn = Drawn(3, 2)
    for number in range(MOST_ROWS + 20):
        for prompt in range(1 + number % 3):
            drawn.add(
                "rankings",
                Ranking(criterion="c", rater=f"r{number}", items=(f"q{prompt}.0", f"q{prompt}.1"), ranks=(1, 2)),
            )
    shown = rater_rows(drawn.study(), (), SETTINGS)
    counts = [row.judgments for row in shown]
    assert len(shown) == MOST_ROWS
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == 3


def test_a_rater_without_judgments_has_no_row() -> None:
    study = Drawn(1, 2).vote("ann", 0, 0, 1, "a").study(raters=[Rater(id="ann"), Rater(id="idle")])
    assert list(rows(study)) == ["ann"]


def test_skipped_judgments_are_not_counted_as_answers() -> None:
    drawn = Drawn(2, 2).vote("ann", 0, 0, 1, "a").vote("ann", 1, 0, 1, None, skipped="broken image")
    drawn.add("ratings", Rating(criterion="c", rater="ann", item="q0.0", skipped="cannot judge"))
    assert rows(drawn.study())["ann"].judgments == 1
