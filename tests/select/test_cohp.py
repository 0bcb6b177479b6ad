"""What a chain decides: by hand, at the edge, with scores of any sign, and as released."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.stats import ttest_ind

from salon.errors import BadValue
from salon.select import CohpSettings
from salon.select.cohp import ChainPicture, best_picture, choose_answer, choose_generator, choose_start


def seen(name, *scores):
    return [ChainPicture(item=f"{name}/{n}", generator=name, score=score) for n, score in enumerate(scores)]


def chain(settings, shift=0.0):
    """Stage 1 with the best single picture outside the chosen generator, two rounds; all scores moved by `shift`."""
    first = choose_generator(
        "p", {"a": seen("a", 5 + shift, 1 + shift), "b": seen("b", 4 + shift, 3 + shift), "c": seen("c", 0 + shift)}
    )
    second = choose_start(first, 1, 0.8, seen("b-1", 4.5 + shift, 4.2 + shift))
    third = choose_start(second, 2, 0.8, seen("b-2", 4.1 + shift, 3.9 + shift))
    return [first, second, third], choose_answer([first, second, third], settings)


def test_settings_are_the_papers_and_the_released_ones():
    paper, released = CohpSettings(), CohpSettings(variant="released")
    assert (paper.each, paper.rounds, paper.batch) == (4, 4, 4)
    assert [paper.strength(k) for k in (1, 2, 3, 4, 9)] == [0.8, 0.8, 0.5, 0.5, 0.5]
    assert (released.each, released.rounds, released.batch) == (2, 4, 4)
    assert [released.strength(k) for k in (1, 2, 3, 4)] == [0.8, 0.8, 0.8, 0.5]
    assert paper.pictures(4) == 32
    seeds = [paper.first_seed(k) + i for k in range(5) for i in range(4)]
    assert seeds == list(range(20))


@pytest.mark.parametrize("text", ["", "0", "0.8,", "1.1", "nan", "0.8;0.5"])
def test_strengths_that_are_none_are_refused(text):
    with pytest.raises(ValidationError, match="strengths"):
        CohpSettings(strengths=text)


def test_the_highest_mean_goes_on_and_its_best_picture_is_the_start():
    """Means: a (5 + 1) / 2 = 3, b (4 + 3) / 2 = 3.5, c 0. b goes on from its 4; the best so far is a's 5."""
    decisions, answer = chain(CohpSettings())
    first = decisions[0]
    assert [mean.figure.value for mean in first.means] == [3, 3.5, 0]
    assert (first.generator, first.start, first.best) == ("b", "b/0", "a/0")
    assert [one.start for one in decisions] == ["b/0", "b-1/0", "b-2/0"]  # of the round, not of all rounds
    assert [one.began for one in decisions[1:]] == ["b/0", "b-1/0"]
    assert (answer.item, answer.score, answer.round) == ("a/0", 5, 0)
    assert first.tied == ("a", "c")  # two pictures tell nothing apart, one even less
    assert first.means[2].figure.low is None


def test_scores_of_any_sign_give_the_same_decisions_and_the_released_rule_answers_nothing_below_0():
    for shift in (0.0, -100.0, 100.0):
        decisions, answer = chain(CohpSettings(), shift)
        assert [one.start for one in decisions] == ["b/0", "b-1/0", "b-2/0"]
        assert answer.item == "a/0"
        assert answer.score == max(one.score for decision in decisions for one in decision.seen)
    released = CohpSettings(variant="released")
    assert chain(released)[1].item == "b-1/0"  # never held against stage 1, where a/0 is better
    assert chain(released, -100.0)[1].item is None
    assert "exceeds 0" in chain(released, -100.0)[1].why


def test_generators_are_told_apart_as_by_welch():
    a, b = [3.0, 3.1, 2.9, 3.05], [2.0, 2.6, 2.4, 2.2]
    assert ttest_ind(a, b, equal_var=False).pvalue < 0.05
    assert choose_generator("p", {"a": seen("a", *a), "b": seen("b", *b)}).tied == ()
    near = [3.0, 2.4, 3.2, 2.8]
    assert ttest_ind(a, near, equal_var=False).pvalue > 0.05
    assert choose_generator("p", {"a": seen("a", *a), "b": seen("b", *near)}).tied == ("b",)
    alike = choose_generator("p", {"a": seen("a", 1, 1), "b": seen("b", 0, 0)})
    assert alike.tied == ("b",)  # two pictures each that happen to score alike show no spread: that is not none
    rng = np.random.default_rng(0)
    told = []
    for _ in range(200):  # spreads and sizes that differ: pooled degrees of freedom would tell too many apart
        x, y = rng.normal(1.2, 1, 4), rng.normal(0, 0.1, 8)
        both = {"a": seen("a", *x), "b": seen("b", *y)}
        told.append(choose_generator("p", both).tied == ())
        assert told[-1] == (ttest_ind(x, y, equal_var=False).pvalue < 0.05)
    assert 20 < sum(told) < 180
    equal = choose_generator("p", {"a": seen("a", 1, 1), "b": seen("b", 1, 1)})
    assert (equal.generator, equal.tied) == ("a", ("b",))


def test_what_was_not_made_or_not_scored_is_counted_and_never_chosen():
    lost = ChainPicture(item="a/9", generator="a", made=False, missing="timeout: too late")
    odd = ChainPicture(item="a/8", generator="a", missing="broken image")
    first = choose_generator("p", {"a": [lost, odd, *seen("a", -2)], "b": [lost.model_copy(update={"generator": "b"})]})
    a, b = first.means
    assert (a.asked, a.failed, a.unscored, a.figure.n) == (3, 1, 1, 1)
    assert (b.asked, b.failed, b.figure) == (1, 1, None)
    assert first.generator == "a"
    empty = choose_start(first, 1, 0.8, [lost, odd])
    assert (empty.best, empty.start) == (None, first.start)
    assert "same start" in empty.why
    assert choose_answer([first, empty], CohpSettings()).item == "a/0"
    assert choose_generator("p", {"a": [lost], "b": [odd]}) is None
    assert best_picture([lost, odd]) is None
    with pytest.raises(BadValue, match="begun"):
        choose_answer([], CohpSettings())


def test_equal_answers_are_declared_and_the_first_is_taken():
    first = choose_generator("p", {"a": seen("a", 2, 2)})
    answer = choose_answer([first, choose_start(first, 1, 0.5, seen("a-1", 2, 1))], CohpSettings())
    assert answer.item == "a/0"
    assert answer.tied == ("a/1", "a-1/0")


def test_a_score_that_is_no_number_is_no_score():
    with pytest.raises(ValidationError):
        ChainPicture(item="a", generator="a", score=float("nan"))
