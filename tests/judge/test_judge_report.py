"""A judge against people: by hand, by recovery, by property, from every kind of record, at the edge."""

from __future__ import annotations

import json

import numpy as np
import pytest
from drawn_studies import Drawn, shared_ranks
from judge_report_example import QUICK, both, full_report, judged, people, report, scorer, simulated_judge, verdict
from scipy import stats

from salon.errors import BadColumns, BadFile, BadValue, TooFew, UnknownReference
from salon.evaluate import ItemOrder, ReportSettings, report_judges, study_pairs
from salon.evaluate.answers import rater_judges, score_judge
from salon.judge import JudgeSettings, SimulatedVlm, judge_study
from salon.stats import spearman_p
from salon.store import save_study
from salon.study import Comparison, Criterion, Rater, Rating, Scale, Study


def voted(*votes, **more):
    """Prompts of two items, each with these votes for (first, second, tie)."""
    drawn = Drawn(len(votes), 2)
    for prompt, counts in enumerate(votes):
        words = [word for word, n in zip(("a", "b", "tie"), counts) for _ in range(n)]
        for rater, word in enumerate(words):
            drawn.vote(f"r{rater}", prompt, 0, 1, word)
    return drawn.study(**more)


def only(made):
    return made.judges[0].criteria[0].figures


def test_by_hand():
    """Five pairs with a majority and one tied panel.

    q0: 3-0, right in both orders 1; q1: 0-3, wrong in both 0; q2: 2-1, takes the first .5; q3: 1-2, a tie .5;
    q4: 3-0, one order unread 0; q5: 1-1, out. Accuracy 2/5; parsed only 2/4; b 1/4, t 1/4, c 1/2, u 1/5.
    With ties counted: q0 right, q5 tied and the judge ties: 2 of 6.
    """
    study = voted((3, 0), (0, 3), (2, 1), (1, 2), (3, 0), (1, 1))
    said = [("a", "a"), ("a", "a"), ("a", "b"), ("tie", "b"), ("a", None), ("tie", "tie")]
    made = report(study, judged(study, [v for i, (x, y) in enumerate(said) for v in both(f"q{i}.0", f"q{i}.1", x, y)]))
    found = only(made)
    names = ("accuracy", "parsed_only", "position_bias", "tie_rate", "conditional", "unseen", "took_first")
    assert [getattr(found, name).value for name in names] == [0.4, 0.5, 0.25, 0.25, 0.5, 0.2, 1.0]
    assert found.identity_gap < 1e-12
    assert made.judges[0].with_ties.value == pytest.approx(2 / 6)
    part = made.judges[0].criteria[0]
    assert (part.asked, part.decided, part.panel_pairs) == (6, 5, 5)
    assert {bucket.split: (bucket.accuracy.value, bucket.pairs) for bucket in part.buckets} == {
        "3-0": (pytest.approx(1 / 3), 3), "2-1": (0.5, 2)}  # fmt: skip
    assert made.panel[0].tied == 1


def test_4320_pairs_in_two_orders_recover_the_judge():
    """Nine criteria of 80 prompts with six pairs: b, c, t and macro lie in their intervals; the identity holds."""
    study = people(80, tuple(f"c{i}" for i in range(9)))
    c, b, t = 0.63, 0.55, 0.05
    judge = simulated_judge(study, c, b, np.random.default_rng(5), t=t)
    one = report(study, judge, settings=ReportSettings(draws=500, deals=99, worst=0)).judges[0]
    assert one.macro.pairs == 4320
    for figure, truth in (
        (one.macro.position_bias, b),
        (one.macro.conditional, c),
        (one.macro.tie_rate, t),
        (one.macro.accuracy, (1 - b - t) * c + (b + t) / 2),
    ):
        assert figure.low <= truth <= figure.high
        assert figure.high - figure.low < 0.06
    assert max(part.figures.identity_gap for part in one.criteria) < 1e-12
    assert one.wordings.p > 0.001
    assert all(len(part.wordings.wordings) == 8 for part in one.criteria)
    spreads = [np.std(part.wordings.means, ddof=1) for part in one.criteria]  # TASTE's Para sigma, within a criterion
    assert [part.wordings.sd for part in one.criteria] == pytest.approx(spreads)
    assert one.wordings.sd == pytest.approx(np.mean(spreads))


def test_correlations_are_over_judges_of_pairs():
    """Four judges and a scorer: the scorer has accuracy and unread pairs too, and is in no correlation."""
    made = full_report()
    assert len(made.judges) == 5
    asked = [one for one in made.judges if one.kind == "pairs"]
    for one in made.correlations:
        assert one.n == 4
        x, y = ([getattr(judge.macro, name).value for judge in asked] for name in (one.x, one.y))
        assert one.value == pytest.approx(stats.spearmanr(x, y).statistic)
        assert one.p == pytest.approx(spearman_p(x, y))


def test_a_run_s_own_folder_is_read(tmp_path):
    """The simulated judge of `salon judge run`, through its folder."""
    study = people(20, ("color",))
    save_study(study, tmp_path)
    truth = _majorities(study)
    judge = SimulatedVlm("sim", lambda _, items: truth[tuple(sorted(items))] * (1 if items[0] < items[1] else -1),
                      accuracy=1.0, position_bias=0.4, unparsed_rate=0.05)  # fmt: skip
    judge_study(study, tmp_path, judge, JudgeSettings(), looks=False)
    made = report_judges(study, tmp_path, QUICK, check=False)
    one = made.judges[0]
    assert (one.name, one.kind, one.orders, one.simulated) == ("sim", "pairs", 2, True)
    assert one.macro.conditional.value == 1
    assert one.macro.took_first.value == 1
    assert one.macro.position_bias.low < 0.4 < one.macro.position_bias.high
    assert one.usage.answers == 240
    assert one.usage.unread == sum(one.usage.reasons.values()) > 0
    assert one.signature.startswith("judge")


def _majorities(study):
    pairs = study_pairs(study, ItemOrder(study))
    return {(a, b): float(winner) for a, b, winner in zip(pairs.item_a, pairs.item_b, pairs.winner)}


# -- the people ------------------------------------------------------------------------------------------------------


def votes_of(study):
    pairs = study_pairs(study, ItemOrder(study))
    return [pairs.votes[pairs.on(place)].tolist() for place in range(len(pairs.criteria))]


def test_rankings_comparisons_and_ratings_are_the_same_votes():
    ranks = shared_ranks(6, 3, 4, 1.0, np.random.default_rng(0))
    as_ranking = Drawn(6, 4).rank(ranks).study()
    as_comparison = Drawn(6, 4).compare(ranks).study()
    as_rating = Drawn(6, 4).rate(-ranks.astype(float)).study()
    low_is_good = Criterion(id="c", scale=Scale(low=0, high=5, higher_is_better=False))
    as_low_rating = Drawn(6, 4).rate(ranks.astype(float)).study(low_is_good)
    assert votes_of(as_ranking) == votes_of(as_comparison) == votes_of(as_rating) == votes_of(as_low_rating)
    assert np.sum(votes_of(as_ranking)) == 6 * 6 * 3


def test_ratings_speak_only_where_nobody_compared_and_models_and_repeats_never():
    drawn = Drawn(1, 2).vote("ann", 0, 0, 1, "a").vote("ann", 0, 0, 1, "b", repeat=1).vote("gpt", 0, 0, 1, "b")
    ratings = [Rating(criterion="c", rater="ann", item=f"q0.{i}", value=float(i)) for i in (0, 1)]
    study = drawn.add("ratings", *ratings).study(raters=[Rater(id="ann"), Rater(id="gpt", kind="model")])
    assert votes_of(study) == [[[1, 0, 0]]]


def test_the_way_round_of_a_comparison_does_not_matter():
    one = Comparison(criterion="c", rater="ann", a="q0.1", b="q0.0", outcome="a")
    assert votes_of(Drawn(1, 2).add("comparisons", one).study()) == [[[0, 1, 0]]]


# -- the judges ------------------------------------------------------------------------------------------------------


def test_a_missing_order_is_unread_and_one_order_has_no_bias():
    study = voted((3, 0), (3, 0))
    half = both("q0.0", "q0.1", "a", "a") + [verdict("q1.0", "q1.1", "a", "a")]
    assert only(report(study, judged(study, half))).unseen.value == 0.5
    one_order = [verdict(f"q{i}.0", f"q{i}.1", "a", "a") for i in (0, 1)]
    made = report(study, judged(study, one_order))
    assert only(made).accuracy.value == 1
    assert only(made).position_bias is None
    assert made.judges[0].orders == 1
    assert any("no position bias" in words for words in made.policies)


def test_samples_count_as_their_vote_and_an_even_split_as_a_tie():
    study = voted((3, 0), (3, 0))
    said = [verdict("q0.0", "q0.1", word, side, sample=n) for side in "ab" for n, word in enumerate("aab")]
    said += [verdict("q1.0", "q1.1", word, side, sample=n) for side in "ab" for n, word in enumerate("ab")]
    one = report(study, judged(study, said)).judges[0]
    assert (one.macro.accuracy.value, one.macro.tie_rate.value) == (0.75, 0.5)
    assert one.samples == 3
    assert one.self_agreement.value == pytest.approx((1 / 3 + 0) / 2)


def test_only_the_pairs_that_were_asked_count_and_the_rest_is_said():
    study = voted((3, 0), (3, 0), (0, 3))
    made = report(study, judged(study, both("q0.0", "q0.1", "a", "a")))
    assert only(made).pairs == 1
    assert any("1 of 3 pairs" in words for words in made.warnings)


def test_failed_calls_are_unread_and_said():
    study = voted((3, 0), (3, 0))
    said = both("q0.0", "q0.1", "a", "a") + both("q1.0", "q1.1", None, None, failed="timeout", text="too slow")
    made = report(study, judged(study, said))
    assert only(made).unseen.value == 0.5
    assert made.judges[0].usage.failed == {"timeout": 2}
    assert any("timeout 2" in words for words in made.warnings)


def imported(missing):
    """Three pairs in one order; the judge answers two of them, always the first picture."""
    drawn = Drawn(3, 2)
    for prompt in range(3):
        drawn.vote("crowd", prompt, 0, 1, "a" if prompt else "b", left="a")
    for prompt in range(2):
        drawn.vote("gpt", prompt, 0, 1, "a", left="a")
    study = drawn.study(raters=[Rater(id="crowd", kind="crowd"), Rater(id="gpt", kind="model")])
    judges = rater_judges(study, ItemOrder(study), everywhere=missing == "unparsed")
    return report(study, *judges, settings=QUICK.model_copy(update={"missing": missing}))


def test_an_imported_judge_is_a_rater_and_what_it_left_out_has_a_policy():
    counted, left = imported("unparsed"), imported("not-asked")
    assert (only(counted).accuracy.value, only(counted).parsed_only.value) == (pytest.approx(1 / 3), 0.5)
    assert only(left).accuracy.value == 0.5
    assert counted.judges[0].says_first.value == 1
    assert any("counts as unread: gpt" in words for words in counted.policies)
    assert any("not asked" in words for words in left.policies)
    assert counted.signature_line != left.signature_line


def test_a_scorer_has_no_order_and_a_missing_number_is_unread(tmp_path):
    study = voted((3, 0), (0, 3), (3, 0), (2, 1))
    path = tmp_path / "hps.csv"
    path.write_text("item,value\nq0.0,2\nq0.1,1\nq1.0,5\nq1.1,4\nq2.0,3\nq2.1,\nq3.0,1\nq3.1,1\nelse,9\n")
    one = report(study, score_judge(path, study, ItemOrder(study))).judges[0]
    assert (one.name, one.kind, one.orders) == ("hps", "scorer", 1)
    assert one.macro.accuracy.value == (1 + 0 + 0 + 0.5) / 4
    assert one.macro.unseen.value == 0.25
    left = report(study, score_judge(path, study, ItemOrder(study), everywhere=False)).judges[0]
    assert left.macro.accuracy.value == (1 + 0 + 0.5) / 3
    assert (one.bands[0].n, one.bands[0].missing) == (7, 1)
    path.with_suffix(".json").write_text(json.dumps({"card": {"higher_is_better": False}}))
    turned = report(study, score_judge(path, study, ItemOrder(study))).judges[0]
    assert turned.macro.accuracy.value == (0 + 1 + 0 + 0.5) / 4


@pytest.mark.parametrize(
    ("text", "error"),
    [("item,score\nq0.0,1\n", BadColumns), ("item,value\nelse,1\n", BadValue), ("item,value\nq0.0,high\n", BadValue),
     ("item,value\nq0.0,1\nq0.0,2\n", BadValue), ("", BadFile)],
)  # fmt: skip
def test_bad_tables_of_scores_are_named(tmp_path, text, error):
    study = voted((1, 0))
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(error):
        score_judge(path, study, ItemOrder(study))
    with pytest.raises(BadFile):
        score_judge(tmp_path / "x.xlsx", study, ItemOrder(study))


def test_a_judge_of_numbers_is_held_against_the_same_pairs():
    """Means over samples; on a scale of 1 to 5 it uses 4 and 5 only: a band, that still tells strong from weak."""
    ranks = shared_ranks(12, 5, 4, 0.5, np.random.default_rng(2))
    study = Drawn(12, 4).rank(ranks).study(Criterion(id="c", scale=Scale(low=1, high=5)))
    facts = {"judge": "p", "protocol": "rate", "criterion": "c", "left": None, "b": None}
    mean = ranks.mean(axis=1)
    said = [
        verdict(f"q{q}.{i}", **(facts | {"outcome": None, "value": 5.0 if mean[q, i] < 1.5 else 4.0, "unparsed": None}))
        for q in range(12)
        for i in range(4)
    ]
    one = report(study, judged(study, said, "p")).judges[0]
    assert (one.kind, one.orders) == ("points", 1)
    assert one.macro.accuracy.value > 0.6
    assert one.macro.tie_rate.value > 0.2
    (band,) = one.bands
    assert (band.width, band.criterion, band.n) == (0.25, "c", 48)
    assert 1 < band.levels <= 2
    assert band.separation.value > 0.9


# -- properties ------------------------------------------------------------------------------------------------------


def test_a_judge_s_figures_do_not_depend_on_its_company():
    study, rng = people(), np.random.default_rng(3)
    one, other = (simulated_judge(study, 0.7, 0.2, rng, name) for name in "ab")
    alone = report(study, one).judges[0]
    beside = next(j for j in report(study, other, one).judges if j.name == "a")
    assert alone.macro == beside.macro
    assert alone.criteria == beside.criteria


def test_judges_stand_best_first_with_the_difference_to_the_best():
    made = full_report()
    values = [one.macro.accuracy.value for one in made.judges]
    assert values == sorted(values, reverse=True)
    assert made.judges[0].to_best is None
    last = made.judges[-1]
    assert last.to_best.value == pytest.approx(last.macro.accuracy.value - values[0])
    assert last.to_best.high < 0


def test_a_judge_that_says_what_people_say_has_their_orders_and_stands_beside_their_ceilings():
    """Of items and of generators: the item that most people prefer wins each pair."""
    study = people(12, ("color",))
    items = [item.model_copy(update={"generator": f"g{item.id[-1]}"}) for item in study.nouns("items")]
    tables = {kind: study.table(kind) for kind in study.counts if kind != "items"} | {"items": items}
    study = Study.build("named", study.criteria, tables=tables)
    one = report(study, simulated_judge(study, 1.0, 0.0, np.random.default_rng(0))).judges[0]
    assert one.tau.value == one.criteria[0].tau.value == 1
    assert len(one.generators.generators) == 4
    assert one.generators.spearman.value > 0.7
    assert one.criteria[0].figures.ceilings == one.pooled.ceilings
    assert one.pooled.ceilings.oracle.low <= 1


def test_judges_agree_by_what_both_name():
    """Two judges alike on q0, apart on q1, one undecided on q2."""
    study = voted((3, 0), (3, 0), (3, 0))
    said = {"x": ["aa", "aa", "aa"], "y": ["aa", "bb", "ab"]}
    judges = [
        judged(study, [v for i, (f, s) in enumerate(words) for v in both(f"q{i}.0", f"q{i}.1", f, s)], name)
        for name, words in said.items()
    ]
    (pair,) = report(study, *judges).agreement
    assert (pair.agreement.value, pair.pairs) == (0.5, 2)


def test_what_a_point_costs():
    """Four answers at .5 on two pairs: 1,000 per thousand pairs; accuracy .75 is 25 points above chance: 40 a point."""
    study = voted((3, 0), (3, 0))
    said = both("q0.0", "q0.1", "a", "a", cost=0.5, seconds=1.0) + both("q1.0", "q1.1", "a", "b", cost=0.5, seconds=3.0)
    usage = report(study, judged(study, said)).judges[0].usage
    assert (usage.cost, usage.cost_per_1000, usage.seconds_median) == (2.0, 1000.0, 2.0)
    assert usage.cost_per_point.value == pytest.approx(40)
    assert usage.cost_per_point.high is None, "the accuracy may be chance"


def test_worst_disagreements_begin_where_people_were_clearest():
    study = voted((2, 0), (5, 0), (4, 1), (5, 0))
    said = [v for i in range(3) for v in both(f"q{i}.0", f"q{i}.1", "b", "b", text=f"I prefer {i}")]
    one = report(study, judged(study, said + both("q3.0", "q3.1", "a", "b"))).judges[0]
    assert [case.votes[:2] for case in one.worst] == [(5, 0), (2, 0), (4, 1)]
    assert one.worst_of == 3
    assert (one.worst[0].panel_choice, one.worst[0].judge_choice, one.worst[0].said) == ("q1.0", "q1.1", "I prefer 1")


def test_a_judge_above_the_oracle_and_people_without_signal_are_warned_of():
    rng = np.random.default_rng(0)
    study = Drawn(40, 4).rank(rng.permuted(np.tile(np.arange(4), (40, 5, 1)), axis=2)).study()
    perfect = simulated_judge(study, 1.0, 0.0, rng, "perfect")
    made = report(study, perfect, signals={"c": ("no", "People flip coins.")})
    assert any("leak" in words and "perfect" in words for words in made.warnings)
    assert any("by chance" in words for words in made.warnings)


# -- at the edge -----------------------------------------------------------------------------------------------------


def test_what_cannot_be_reported_is_named():
    study = voted((3, 0))
    with pytest.raises(TooFew, match="at least one judge"):
        report(study)
    with pytest.raises(TooFew, match="majority"):
        report(voted((1, 1)), judged(voted((1, 1)), both("q0.0", "q0.1", "a", "a")))
    with pytest.raises(UnknownReference, match="item of the study"):
        judged(study, both("q0.0", "q9.1", "a", "a"))
    with pytest.raises(UnknownReference, match="criterion of the study"):
        judged(study, both("q0.0", "q0.1", "a", "a", criterion="taste"))
    with pytest.raises(TooFew, match="none by j"):
        report(voted((3, 0), (1, 1)), judged(voted((3, 0), (1, 1)), both("q1.0", "q1.1", "a", "a")))


def test_a_judge_nobody_can_read_is_worth_nothing_and_says_so():
    study = voted((3, 0), (3, 0))
    one = report(study, judged(study, [v for i in (0, 1) for v in both(f"q{i}.0", f"q{i}.1", None, None)])).judges[0]
    assert one.macro.accuracy.value == 0
    assert one.macro.parsed_only is None
    assert one.usage.reasons == {"no verdict": 4}


def test_a_scorer_of_one_number_ties_everything():
    study = people()
    one = report(study, scorer(study, np.ones(len(study.ids("items"))))).judges[0]
    assert (one.macro.accuracy.value, one.macro.tie_rate.value) == (0.5, 1.0)
    assert one.macro.conditional is None
    assert one.bands[0].separation.value == 0.5
    assert one.bands[0].commonest == 1
