"""Which state of a one-pass scorer is kept, and whether it is called learned: by hand, by simulation, at the edge."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import spearmanr

from prove.distill_choice import WORLDS, simulate
from salon.evaluate import PseudoPairs, PseudoScores
from salon.train.distill_validation import (
    BEST,
    LEAST_ITEMS,
    STEP,
    OnePassData,
    QuestionForm,
    ValidationCurve,
    look_cells,
    read_looks,
    shown_looks,
)


def read(text):
    """Numbers apart by blanks; anything else cannot be read."""
    try:
        return SimpleNamespace(scores=tuple(float(word) for word in text.split()) or None)
    except ValueError:
        return SimpleNamespace(scores=None)


def data_of(values, *, pairs=None, prompts=None):
    values = np.asarray(values, float)
    items = tuple(f"i{number}" for number in range(len(values)))
    criteria = ("q", "r")[: values.shape[1]]
    labels = PseudoScores(items, criteria, values, np.full_like(values, np.nan), -9, 9, "bridge", pairs)
    asking = QuestionForm(lambda item: "?", read, lambda rng: "0")
    return OnePassData(labels, dict.fromkeys(items, "x.png"), asking, (), items, prompts=prompts or {})


TRUTH = np.random.default_rng(1).normal(size=40)


def said(quality, seed=0):
    """Answers with the correlation `quality` with the truth, exactly."""
    noise = np.random.default_rng(seed).normal(size=len(TRUTH))
    truth, noise = TRUTH - TRUTH.mean(), noise - noise.mean()
    noise -= truth * (noise @ truth) / (truth @ truth)
    noise *= np.linalg.norm(truth) / np.linalg.norm(noise)
    return [str(value) for value in quality * truth + np.sqrt(1 - quality**2) * noise]


@pytest.fixture
def curve():
    data = data_of(TRUTH[:, None])
    return ValidationCurve(data, data.validation)


CONSTANT, SILENT = ["3"] * 40, ["no number"] * 40


def test_a_look_is_spearmans_correlation_with_an_interval(curve):
    curve.add(0, said(0.8), None)
    look = curve.looks[0]
    scores = np.array([float(text) for text in said(0.8)])
    assert look.srcc == pytest.approx(spearmanr(scores, TRUTH).statistic)
    assert look.low < look.srcc < look.high
    assert (look.images, look.read, look.levels) == (40, 40, 40)
    assert (look.mean, look.sd) == (pytest.approx(scores.mean()), pytest.approx(scores.std()))


def test_an_unreadable_answer_counts_as_the_mean_and_a_constant_as_zero():
    values = [1.0, 2.0, 3.0, 4.0]
    data = data_of(np.array(values)[:, None])
    curve = ValidationCurve(data, data.validation)
    for step, answers in enumerate((["1", "2", "3", "?"], ["5"] * 4, ["?"] * 4)):
        curve.add(step, answers, None)
    part, constant, silent = curve.looks
    assert part.srcc == pytest.approx(spearmanr([1, 2, 3, 2], values).statistic)
    assert (part.read, part.levels, part.fault) == (3, 3, None)
    assert (constant.srcc, constant.low, constant.fault) == (0, None, "all 4 validation items got the same score")
    assert (silent.srcc, silent.mean, silent.fault) == (0, None, "4 of 4 answers could not be read")


def test_equal_scores_are_equal_to_their_mean(curve):
    """In the last digit np.mean([3.66] * 31) is not 3.66: unread answers would have a rank of their own."""
    curve.add(1, ["?" if TRUTH[number] < -0.7 else "3.66" for number in range(40)], None)
    assert 20 < curve.looks[0].read < 40
    assert curve.looks[0].srcc == 0


def test_labels_of_pairs_are_looked_at_pair_by_pair():
    pairs = PseudoPairs(*(np.array(c) for c in ([0, 1, 2], [1, 2, 3], [0, 0, 0])), np.array([1.0, 0.0, 0.5]),
                        np.full(3, 4))  # fmt: skip
    data = data_of(np.full((4, 1), np.nan), pairs=pairs)
    curve = ValidationCurve(data, data.validation)
    curve.add(1, ["5", "3", "2", "9"], None)  # one right, one wrong, a tie left out
    curve.add(2, ["5", "3", "4", "9"], None)  # the first above the second, the third above the second
    assert [look.srcc for look in curve.looks] == [0, 1]


def test_the_latest_look_within_one_standard_error_of_the_best_is_kept(curve):
    for step, quality in enumerate((0.0, 0.3, 0.9, 0.88, 0.2)):
        curve.add(10 * step, said(quality, seed=10 + step), None)
    assert [look.srcc for look in curve.looks].index(max(look.srcc for look in curve.looks)) == 2
    gap = curve.looks[2].srcc - curve.looks[3].srcc
    error = np.std(curve._draws[2] - curve._draws[3])
    assert 0 < gap < error  # the rule by hand
    assert curve.kept == 30
    assert "step 30 is the latest within one standard error of the highest SRCC" in curve.notes(30)[0]


def test_ties_keep_the_later_and_a_constant_state_never_replaces_one_with_a_spread(curve):
    for step, answers in enumerate((said(0.5), said(0.5), CONSTANT, SILENT), start=1):
        curve.add(step, answers, None)
    assert curve.kept == 2
    weak = ValidationCurve(curve.data, curve.items)
    assert weak.add(1, said(-0.3), None)
    assert not weak.add(2, CONSTANT, None)  # 0 is above it, but says nothing
    assert weak.kept == 1


def test_the_model_as_it_began_is_no_candidate_but_is_compared_with(curve):
    curve.add(0, said(0.9), None)
    assert curve.kept is None
    curve.add(1, said(0.6, seed=2), None)
    assert curve.kept == 1
    assert any("nothing shows that SRCC is above that of the model as it began: -" in note for note in curve.notes(1))


@pytest.mark.parametrize("size", [0, 1, 2, LEAST_ITEMS - 1])
def test_with_few_items_nothing_is_chosen_and_that_is_said(size):
    data = data_of(TRUTH[:size, None] if size else np.zeros((1, 1)))
    curve = ValidationCurve(data, data.validation[:size])
    for step in (1, 2):
        if size:
            assert not curve.add(step, said(0.9)[:size], None)
    verdict = curve.verdict(2)
    assert (curve.kept, verdict.outcome, verdict.is_broken) == (None, "unknown", False)
    assert verdict.words.startswith("Nothing shows whether the policy learned: ")
    assert ("there are no validation items" if not size else f"{size} validation item") in verdict.words
    if size > 1:  # that all scores are equal needs no statistics
        curve.add(3, ["3"] * size, None)
        assert curve.verdict(3).outcome == "constant"


def test_items_of_one_prompt_are_drawn_together(curve):
    """Answers that know the prompt alone: forty items, but as much evidence as five prompts."""
    prompts = {f"i{number}": f"p{number % 5}" for number in range(40)}
    order = np.array([number % 5 for number in range(40)], float)
    data = data_of(order[:, None], prompts=prompts)
    by_prompt, by_item = (
        ValidationCurve(data, data.validation),
        ValidationCurve(data_of(order[:, None]), data.validation),
    )
    answers = [str([1, 0, 3, 2, 4][number % 5]) for number in range(40)]
    for one in (by_prompt, by_item):
        one.add(1, answers, None)
    assert (by_prompt.units, by_prompt.unit, by_item.units) == (5, "prompt", 40)
    assert by_prompt.looks[0].srcc == by_item.looks[0].srcc
    assert by_prompt.looks[0].low < by_item.looks[0].low
    few = data_of(order[:, None], prompts=dict.fromkeys(prompts, "p"))
    assert "40 validation items of 1 prompt" in ValidationCurve(few, few.validation).too_few


def outcome(curve, *looks):
    for step, answers in enumerate(looks):
        curve.add(10 * step, answers, None)
    return curve.verdict(curve.kept or 10 * (len(looks) - 1))


@pytest.mark.parametrize(
    ("looks", "kind", "words"),
    [
        ((said(0), said(0.8), said(0.85)), "learned", "The policy learned: SRCC "),
        ((said(0), said(0.8), CONSTANT), "fell back",
         "The policy collapsed after step 10: at step 20 all 40 validation items got the same score. The state of step "
         "10 is kept"),
        ((said(0), said(0.8), SILENT), "fell back", "at step 20 40 of 40 answers could not be read"),
        ((said(0), said(0.8), said(0)), "fell back", "is not above chance. The state of step 10 is kept"),
        ((said(0), CONSTANT, CONSTANT), "constant", "The policy collapsed after step 0: at step 20 all 40"),
        ((CONSTANT, CONSTANT, CONSTANT), "constant", "The policy did not learn: at step 20 all 40"),
        ((said(0), SILENT, SILENT), "unreadable", "collapsed after step 0: at step 20 40 of 40 answers could not"),
        ((said(0), said(0, 5), said(0, 6)), "chance", "is not above chance, among 2 looks"),
        ((said(0), said(-0.9), said(-0.9)), "chance", "is not above chance"),
    ],
)  # fmt: skip
def test_the_verdict_says_what_happened(curve, looks, kind, words):
    verdict = outcome(curve, *looks)
    assert verdict.outcome == kind
    assert words in verdict.words
    assert verdict.is_broken == (kind in ("constant", "unreadable", "chance"))


def test_a_perfect_order_has_no_interval_and_is_above_chance(curve):
    assert outcome(curve, said(0), [str(value) for value in TRUTH]).outcome == "learned"
    assert curve.looks[1].srcc == pytest.approx(1)


def test_a_criterion_with_one_score_for_all_is_named():
    data = data_of(np.stack([TRUTH, TRUTH], axis=1))
    curve = ValidationCurve(data, data.validation)
    curve.add(1, [f"{text} 3" for text in said(0.9)], None)
    assert curve.looks[0].by_criterion["r"] == 0
    assert curve.notes(1)[-1] == "criteria under which all validation items got the same score: r"


def test_the_last_state_is_kept_where_that_was_asked_for():
    data = data_of(TRUTH[:, None])
    curve = ValidationCurve(data, data.validation, choose="last")
    assert outcome(curve, said(0), said(0.9), said(0.6)).outcome == "learned"
    assert curve.kept is None


def test_looks_are_stored_for_a_run_that_goes_on(curve, tmp_path):
    for step, quality in enumerate((0.0, 0.4, 0.9, 0.3)):
        curve.add(step, [*said(quality)[:-1], "?"], 0.5)
    curve.seconds = 12.0
    curve.save(tmp_path)
    (tmp_path / BEST).mkdir()
    (tmp_path / BEST / STEP).write_text("2")
    again = ValidationCurve(curve.data, curve.items)
    again.load(read_looks(tmp_path), 1)
    assert [look.step for look in again.looks] == [0, 1, 2]  # the checkpoint is at 1, the stored weights are of 2
    assert again.looks == curve.looks[:3]
    assert (again.kept, again.seconds) == (2, 12.0)
    assert not again.add(2, said(0), 0.5)  # repeated: its weights are there
    assert again.looks == curve.looks[:3]
    (tmp_path / BEST / STEP).unlink()
    lost = ValidationCurve(curve.data, curve.items)
    lost.load(read_looks(tmp_path), 2)
    assert lost.kept is None
    assert lost.add(3, said(0.3), 0.5)  # the better ones are gone


def test_long_tables_show_the_first_the_kept_and_the_last(curve):
    for step in range(40):
        curve.add(step, said(0.5, step), None)
    shown = [look.step for look in shown_looks(curve.looks, 7)]
    assert {0, 7, 39} <= set(shown)
    assert len(shown) <= 13
    assert look_cells(curve.looks[7], 7)[-1] == "kept"


def test_the_rule_beats_the_bare_maximum_and_chance_is_not_called_learning():
    """Sixty runs for each planted curve; the page of `make prove ONLY=distill_choice` has more."""
    found = simulate(50, repeats=60, seed=3)
    regret = {rule: np.mean([found[world][rule].regret for world in WORLDS]) for rule in found["still rising"]}
    optimism = {rule: np.mean([found[world][rule].optimism for world in WORLDS]) for rule in regret}
    assert regret["latest within one error"] < regret["bare maximum"] < regret["earliest within one error"]
    assert optimism["latest within one error"] < 0.75 * optimism["bare maximum"]
    assert found["nothing"]["latest within one error"].learned <= 0.1
    assert found["rise and stay"]["latest within one error"].learned >= 0.9
