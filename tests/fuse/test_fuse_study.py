"""The fusion of a study: every method against its kernel, scales, clusters, policies, and what is refused."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from drawn_studies import Drawn, names, shared_ranks

from salon.errors import DesignError, NotIdentified, TooFew
from salon.fuse import FuseSettings, fuse_study
from salon.stats import count_pairs, fit_pairs
from salon.study import Criterion, Item, Rater, Scale

FIVE = Criterion(id="c", scale=Scale(low=1, high=5, step=1))


def rng(seed=0):
    return np.random.default_rng(seed)


def fused(study, **settings):
    return fuse_study(study, FuseSettings(**settings))


def values(report):
    return {row.item: row.value for row in report.scores}


def judged(items=12, raters=6, seed=0, scale=FIVE.scale, noise=0.7):
    """Items compared by every rater and rated 1 to 5 by every rater, from one shared worth."""
    chance = rng(seed)
    worth = np.linspace(-2, 2, items)
    seen = worth + noise * chance.normal(size=(1, raters, items))
    rated = np.clip(np.round(3 + worth + noise * chance.normal(size=(1, raters, items))), 1, 5)
    low, span = scale.low, scale.high - scale.low
    drawn = Drawn(1, items)
    for i, j in combinations(range(items), 2):
        for rater in range(raters):
            gap = seen[0, rater, i] - seen[0, rater, j] + chance.logistic() * 0.5
            drawn.vote(f"r{rater}", 0, i, j, "tie" if abs(gap) < 0.25 else "a" if gap > 0 else "b")
    return drawn.rate(low + span * (rated - 1) / 4).study(Criterion(id="c", scale=scale))


@pytest.fixture(scope="module")
def study():
    return judged()


@pytest.mark.parametrize("method", ["bradley-terry", "davidson", "rao-kupper", "thurstone"])
def test_a_pair_method_gives_its_kernel_s_scores(study, method):
    report = fused(study, method=method)
    view = study.comparisons
    fit = fit_pairs(count_pairs(view.a, view.b, view.outcome, 12), method)
    assert values(report) == pytest.approx({f"q0.{i}": q for i, q in enumerate(fit.scores)})
    assert report.groups[0].tie == fit.tie
    assert report.cluster == "rater"
    assert all(row.low < row.value < row.high for row in report.scores)


@pytest.mark.parametrize("method", ["crowd", "elo", "mean", "median", "z-score", "sureal", "offset-scale"])
def test_every_other_method_orders_the_items(study, method):
    report = fused(study, method=method)
    found = values(report)
    assert np.mean([found[f"q0.{i}"] for i in range(4)]) < np.mean([found[f"q0.{i}"] for i in range(8, 12)])
    assert all(row.low <= row.value <= row.high and row.low < row.high for row in report.scores)


def test_rankings_alone_are_fused_by_plackett_luce():
    drawn = Drawn(1, 5).rank(shared_ranks(1, 40, 5, 0.8, rng(1)), raters=names(40))
    report = fused(drawn.study())
    assert (report.method, report.scale) == ("plackett-luce", "logit")
    assert sum(values(report).values()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("method", ["anchored-elo", "anchored-davidson"])
def test_anchored_scores_lie_on_the_rating_scale(study, method):
    report = fused(study, method=method)
    assert (report.scale, report.scale_low, report.scale_high) == ("1-5", 1, 5)
    assert all(1 < row.low < row.value < row.high < 5 for row in report.scores)
    means = values(fused(study, method="mean"))
    assert np.mean([abs(row.value - means[row.item]) for row in report.scores]) < 0.4
    assert {a.level for a in report.rating_anchors} <= {2, 3, 4}
    assert len(report.rating_anchors) == sum(row.rating_anchor for row in report.scores)
    assert len(report.curves) == 1


def test_the_unit_of_the_scale_does_not_matter():
    """Ratings on 0-100 instead of 1-5: the same scores, stretched by 25."""
    five = fused(judged(), method="anchored-davidson")
    hundred = fused(judged(scale=Scale(low=0, high=100)), method="anchored-davidson")
    stretched = {item: 25 * (value - 1) for item, value in values(five).items()}
    assert values(hundred) == pytest.approx(stretched, abs=1e-6)


def test_auto_takes_what_suits_the_judgments(study):
    assert fused(study).method == "anchored-davidson"
    assert fused(Drawn(1, 3).rate(rng().integers(1, 6, (1, 4, 3))).study(FIVE)).method == "mean"
    drawn = Drawn(1, 3)
    for voter, (i, j) in enumerate([(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)]):
        drawn.vote(f"r{voter}", 0, i, j, "a")
    assert fused(drawn.study()).method == "bradley-terry"
    assert fused(drawn.vote("r9", 0, 0, 1, "tie").study()).method == "davidson"


def test_undefeated_items_are_named_and_a_prior_holds_them():
    study = Drawn(1, 3).compare([[[0, 1, 2], [0, 1, 2]]]).study()
    with pytest.raises(NotIdentified, match="never lost") as error:
        fused(study, method="bradley-terry")
    assert error.value.found == "'q0.0' never lost"
    assert "--prior" in error.value.remedy
    assert "criterion 'c'" in error.value.where
    held = fused(study, method="bradley-terry", prior=2.0)
    assert [row.item for row in held.scores] == ["q0.0", "q0.1", "q0.2"]
    auto = fused(study)
    assert auto.signature.settings["prior"] == 3
    assert any("never lost" in warning for warning in auto.warnings)


def test_islands_are_named():
    drawn = Drawn(1, 4)
    for i, j in ((0, 1), (2, 3)):
        drawn.vote("r0", 0, i, j, "a").vote("r1", 0, i, j, "b")
    with pytest.raises(NotIdentified, match="2 sets of items"):
        fused(drawn.study(), method="davidson")


def test_only_ties_say_nothing_but_that():
    study = Drawn(1, 3).compare([[[0, 0, 0], [0, 0, 0]]]).study()
    with pytest.raises(NotIdentified, match="not a tie"):
        fused(study, method="davidson")
    assert set(np.round(list(values(fused(study, method="bradley-terry")).values()), 9)) == {0.0}


def test_a_single_item_is_too_few_and_a_single_group_is_left_out_with_a_word():
    with pytest.raises(TooFew, match="two items"):
        fused(Drawn(1, 1).rate([[[3], [4]]]).study(FIVE), method="mean")
    drawn = Drawn(2, [1, 2]).rate([[[3], [4]]])
    drawn.add("ratings", *Drawn(2, 2).rate([[[np.nan, np.nan]] * 2, [[1, 2], [3, 5]]]).judgments["ratings"])
    report = fused(drawn.study(FIVE), method="mean")
    assert len(report.scores) == 2
    assert any("fewer than two items" in warning for warning in report.warnings)


def test_a_method_without_its_judgments_says_which_there_are(study):
    with pytest.raises(DesignError, match="at least one group of two items with rankings"):
        fused(study, method="plackett-luce")


def test_no_rating_anchor_at_all_is_an_error():
    drawn = Drawn(1, 3).rate([[[1, 1, 5], [1, 1, 5]]])
    for i, j in combinations(range(3), 2):
        drawn.vote("r0", 0, i, j, "a").vote("r1", 0, i, j, "b").vote("r2", 0, i, j, "tie")
    with pytest.raises(NotIdentified, match="rating anchors need items"):
        fused(drawn.study(FIVE), method="anchored-davidson")


def test_a_level_without_a_rating_anchor_is_said(study):
    """No rating below 3: level 2 has no item, and the curve rests on levels 3 and 4."""
    ratings = study.table("ratings")
    lifted = ratings.set_column(
        ratings.column_names.index("value"), "value", pa.array(np.maximum(ratings.column("value").to_numpy(), 3.0))
    )
    report = fused(replace(study, tables={**study.tables, "ratings": lifted}), method="anchored-davidson")
    assert report.groups[0].missing_levels == (2.0,)
    assert any("without a rating anchor" in warning for warning in report.warnings)


def test_lower_is_better_stays_on_its_scale():
    flags = Criterion(id="c", scale=Scale(low=0, high=2, step=1, higher_is_better=False))
    report = fused(Drawn(1, 3).rate([[[0, 1, 2], [0, 1, 1], [1, 1, 2]]]).study(flags), method="mean")
    assert values(report) == pytest.approx({"q0.0": 1 / 3, "q0.1": 1, "q0.2": 5 / 3})
    assert [row.rank for row in report.scores] == [1, 2, 3]
    assert report.scores[0].item == "q0.0"
    assert all(row.low <= row.value <= row.high for row in report.scores)


def test_a_rater_who_always_answers_left_is_named():
    drawn, chance = Drawn(1, 8), rng(4)
    for rater in range(6):
        for i in range(8):
            for j in range(i + 1, 8):
                left = "a" if chance.random() < 0.5 else "b"
                better = "a" if i + chance.normal() * 3 > j else "b"
                drawn.vote(f"r{rater}", 0, i, j, left if rater == 0 else better, left=left)
    study = drawn.study()
    report = fused(study, method="bradley-terry")
    assert any("always answers left: 'r0'" in warning for warning in report.warnings)
    assert report.raters[0].rater == "r0"
    crowd = {one.rater: one for one in fused(study, method="crowd").raters}
    assert crowd["r0"].left_bias > 2 * max(abs(crowd[f"r{n}"].left_bias) for n in range(1, 6))


def test_generators_are_scored_over_prompts():
    """x beats y in 3 of 4 prompts: log-odds 3."""
    drawn = Drawn(4, 2)
    for prompt, outcome in enumerate("aaab"):
        drawn.vote("r0", prompt, 0, 1, outcome)
    items = [Item(id=f"q{q}.{k}", prompt=f"q{q}", generator="xy"[k]) for q in range(4) for k in range(2)]
    report = fused(drawn.study(tables={"items": items}), method="bradley-terry", by="generator", cluster="answer")
    assert {row.generator: row.value for row in report.scores} == pytest.approx(
        {"x": np.log(3) / 2, "y": -np.log(3) / 2}
    )
    assert report.as_scores().by == "generator"


def test_generators_are_meant_for_raters_and_prompts_nobody_asked_yet():
    """Whatever was asked for: comparisons or ratings. Items are meant for these prompts, and other raters."""
    drawn = Drawn(6, 2)
    rated = rng().integers(1, 6, size=(6, 5, 2))
    for prompt in range(6):
        for rater in range(5):
            drawn.vote(f"r{rater}", prompt, 0, 1, "ab"[(prompt + rater) % 2])
    items = [Item(id=f"q{q}.{k}", prompt=f"q{q}", generator="xy"[k]) for q in range(6) for k in range(2)]
    study = drawn.rate(rated).study(FIVE, tables={"items": items})
    for method in ("bradley-terry", "mean"):
        assert fused(study, method=method, by="generator").cluster == "both"
        assert fused(study, method=method).cluster == "rater"


def test_other_clusters_give_other_errors_and_the_same_values(study):
    made = {c: fused(study, method="davidson", cluster=c) for c in ("answer", "rater")}
    assert values(made["answer"]) == values(made["rater"])
    width = {c: np.mean([row.high - row.low for row in report.scores]) for c, report in made.items()}
    assert width["rater"] > 1.2 * width["answer"]
    bootstrap = fused(study, method="davidson", interval="bootstrap", cluster="answer", draws=2000)
    assert np.mean([row.error for row in bootstrap.scores]) == pytest.approx(
        np.mean([row.error for row in made["answer"].scores]), rel=0.1
    )
    jackknife = fused(study, method="davidson", interval="jackknife")
    assert np.mean([row.error for row in jackknife.scores]) == pytest.approx(
        np.mean([row.error for row in made["rater"].scores]), rel=0.15
    )


def test_crowds_are_no_clusters():
    drawn = Drawn(1, 3)
    for voter in range(5):
        drawn.vote(f"r{voter}", 0, 0, 1, "ab"[voter % 2]).vote(f"r{voter}", 0, 1, 2, "ba"[voter % 2])
        drawn.vote(f"r{voter}", 0, 0, 2, "ab"[voter // 3])
    raters = [Rater(id=f"r{n}", kind="crowd") for n in range(5)]
    assert fused(drawn.study(raters=raters), method="bradley-terry").cluster == "answer"
    assert fused(drawn.study(), method="bradley-terry").cluster == "rater"


def test_the_signature_holds_what_was_read_and_nothing_else(study):
    plain = fused(study, method="bradley-terry").signature.settings
    assert "gap" not in plain
    assert "anchors_each" not in plain
    assert plain["cluster"] == "rater"
    anchored = fused(study, method="anchored-elo").signature.settings
    assert anchored["gap"] == 400
    assert fused(study, method="mean").signature_line == fused(study, method="mean").signature_line


def test_the_same_settings_give_the_same_report(study):
    first, second = (fused(study, method="anchored-elo").model_dump(exclude={"seconds"}) for _ in range(2))
    assert first == second


def test_the_comparison_of_methods(study):
    compare = fuse_study(study, FuseSettings(method="anchored-elo"), compare=True).compare
    assert (compare.pairs[0].first, compare.pairs[0].second) == ("anchored-elo", "anchored-davidson")
    assert len(compare.pairs) == 6
    assert compare.pairs[0].srcc > 0.97
    assert all(pair.ks_pass <= pair.groups == 1 for pair in compare.pairs)
    assert (compare.gaps[0].calibration, compare.gaps[0].gap) == ("group", 1200)
    assert len(compare.group_names) == len(compare.by_group) == 1
