"""Studies that a hostile or unlucky user brings to `salon fuse`: a named error, or numbers that make sense."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from typing import Any, get_args

import numpy as np
import pytest
from drawn_studies import Drawn
from hypothesis import HealthCheck, given, settings, strategies as st

import salon
from salon.cli.fuse import print_fuse
from salon.cli.main import run
from salon.errors import BadValue, DesignError, NotIdentified, SalonError, TooFew
from salon.fuse import FuseReport, FuseSettings, LabelSettings, Method, RehearsalSettings, make_labels, rehearse_bridge
from salon.stats import choose_rating_anchors, rating_mean, rating_zscores
from salon.study import Criterion, Item, Ranking, Rater, Scale, Study

FIVE = Criterion(id="c", scale=Scale(low=1, high=5))
METHODS = get_args(Method)


def fused(study: Study, **flags: Any) -> FuseReport:
    report = salon.fuse_study(study, FuseSettings(**flags))
    check(report)
    return report


def check(report: FuseReport) -> None:
    """What holds for every fusion of any study."""
    json.dumps(report.model_dump(mode="json"), allow_nan=False)
    size = Counter((row.criterion, row.group) for row in report.scores)
    for row in report.scores:
        n = size[row.criterion, row.group]
        assert 1 <= row.rank <= n
        assert row.rank_low is None or 1 <= row.rank_low <= row.rank <= row.rank_high <= n
        assert (row.low is None) == (row.high is None) == (row.error is None)
        assert row.low is None or row.low <= row.value <= row.high
        assert row.low is None or (row.error > 0 and row.high > row.low)
        assert report.scale_low is None or report.scale_low <= row.value <= report.scale_high


# -- anything at all ---------------------------------------------------------------------------------------------------


@st.composite
def small_studies(draw: st.DrawFn) -> Study:
    """A few prompts, items and raters, and any of their answers."""
    prompts, items, raters = draw(st.integers(1, 3)), draw(st.integers(2, 4)), draw(st.integers(1, 6))
    drawn = Drawn(prompts, items)
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    seen = draw(st.sampled_from([0.0, 0.5, 1.0, 1.0]))
    ties, steps = draw(st.sampled_from([0.0, 0.3, 1.0])), draw(st.sampled_from([1, 5, 1000]))
    for p in range(prompts):
        for r in range(raters):
            for i in range(items):
                for j in range(i):
                    if rng.random() < seen:
                        answer = "tie" if rng.random() < ties else rng.choice(["a", "b", "both_bad"], p=[0.6, 0.3, 0.1])
                        drawn.vote(f"r{r}", p, i, j, str(answer), left=str(rng.choice(["a", "b", "unknown"])))
    if draw(st.booleans()):
        values = 1 + 4 * rng.integers(0, steps, (prompts, raters, items)) / max(steps - 1, 1)
        drawn.rate(np.where(rng.random(values.shape) < draw(st.sampled_from([0.4, 1.0])), values, np.nan))
    if draw(st.booleans()):
        drawn.rank(rng.permuted(np.broadcast_to(np.arange(items), (prompts, raters, items)), axis=2))
    made = [Item(id=f"q{p}.{i}", prompt=f"q{p}", generator=f"g{i}") for p in range(prompts) for i in range(items)]
    return drawn.study(FIVE, tables={"items": made})


@given(
    study=small_studies(),
    method=st.sampled_from(("auto", *METHODS)),
    prior=st.sampled_from([None, 3.0]),
    cluster=st.sampled_from(["auto", "answer", "rater", "prompt"]),
    interval=st.sampled_from(["auto", "auto", "jackknife", "bootstrap"]),
    by=st.sampled_from(["item", "item", "generator"]),
)
@settings(max_examples=120, derandomize=True, suppress_health_check=list(HealthCheck))
def test_a_fusion_gives_a_named_error_or_numbers_that_make_sense(study, method, prior, cluster, interval, by):
    with suppress(SalonError):
        fused(study, method=method, prior=prior, cluster=cluster, interval=interval, by=by, passes=20, draws=100)


# -- answers that do not vary ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cluster", ["answer", "rater"])
@pytest.mark.parametrize("interval", ["auto", "bootstrap", "jackknife"])
def test_twelve_wins_of_twelve_leave_open_how_much_better(cluster, interval):
    """Mode d with 12 s(-d) = d / 18 at d = 3.97; information 12 p (1 - p) + 1/18 = .276, so d +- 1.90, q +- .95."""
    drawn = Drawn(1, 2)
    for rater in range(12):
        drawn.vote(f"r{rater}", 0, 0, 1, "a")
    report = fused(drawn.study(), method="bradley-terry", prior=3.0, cluster=cluster, interval=interval)
    assert report.scores[0].value == pytest.approx(1.99, abs=0.01)
    assert report.scores[0].error == pytest.approx(0.96, abs=0.02)


def test_one_ranking_of_a_prompt_leaves_its_order_open():
    report = fused(Drawn(2, 3).rank([[[0, 1, 2]], [[2, 0, 1]]]).study())
    assert report.scores[0].low < report.scores[1].value


def test_tied_rankings_are_not_exact():
    ranks = {"items": ("q0.0", "q0.1", "q0.2"), "ranks": (1, 1, 1)}
    drawn = Drawn(1, 3).add("rankings", *(Ranking(criterion="c", rater=f"r{r}", **ranks) for r in range(5)))
    assert fused(drawn.study()).scores[0].error > 0.1


@pytest.mark.parametrize("values", [[[[1, 2, 3]]], [[[3, 3, 3]] * 6], [[[5, 5, 1]] * 6]])
def test_ratings_that_cannot_tell_an_error_give_scores_alone(values):
    """One rater, or raters who agree exactly: the mean is what it is, and nobody knows how far to trust it."""
    report = fused(Drawn(1, 3).rate(values).study(FIVE))
    assert [row.value for row in report.scores] == sorted(values[0][0], reverse=True)
    assert report.scores[0].low is None
    assert any("without an interval" in warning for warning in report.warnings)


def test_a_prompt_without_errors_takes_none_from_the_others():
    report = fused(Drawn(2, 2).rate([[[1, 5]] * 3, [[1, 5], [2, 4], [2, 5]]]).study(FIVE))
    assert [row.low is None for row in report.scores] == [True, True, False, False]


@pytest.mark.parametrize("method", ["elo", "mean"])
def test_a_group_of_one_answer_has_no_jackknife(method):
    drawn = Drawn(2, 2).vote("r0", 0, 0, 1, "a").rate([[[1, 5]], [[2, 3]]])
    for outcome in "abab":
        drawn.vote(f"r{len(drawn.judgments['comparisons'])}", 1, 0, 1, outcome)
    report = fused(drawn.study(FIVE), method=method, interval="jackknife", cluster="answer")
    assert report.scores[0].low is None


def test_elo_says_when_items_run_away():
    report = fused(Drawn(1, 4).compare([[[0, 1, 2, 3]] * 6]).study(), method="elo")
    assert any("only won" in warning for warning in report.warnings)


def test_an_answer_that_elo_rules_out_is_a_residual():
    """With almost no points per logit Elo gives the loser no chance at all."""
    drawn = Drawn(1, 3).compare([[[0, 1, 2], [2, 1, 0], [0, 2, 1]]])
    assert fused(drawn.study(), method="elo", tau=1e-6).groups[0].worst_pairs


# -- what is asked for, and what is said -------------------------------------------------------------------------------


def both_protocols(prompts: int = 6) -> Study:
    """Three generators on several prompts, compared and rated by five raters."""
    rng = np.random.default_rng(1)
    ranks = rng.normal(np.arange(3), 1, (prompts, 5, 3)).argsort(axis=2).argsort(axis=2)
    values = np.clip(np.round(4 - np.arange(3) + rng.normal(0, 0.7, ranks.shape)), 1, 5)
    items = [Item(id=f"q{p}.{i}", prompt=f"q{p}", generator=f"g{i}") for p in range(prompts) for i in range(3)]
    return Drawn(prompts, 3).compare(ranks).rate(values).study(FIVE, tables={"items": items})


def test_generators_are_anchored_by_ratings_of_all_their_items():
    report = fused(both_protocols(), by="generator")
    assert report.method == "anchored-davidson"
    assert [row.generator for row in report.scores] == ["g0", "g1", "g2"]


def test_prompts_are_no_clusters_of_one_prompt():
    for method in ("auto", "elo", "mean", "davidson", "crowd"):
        with pytest.raises(TooFew, match="over prompts needs at least two of them in every group"):
            fused(both_protocols(), method=method, cluster="prompt")


def test_studies_without_prompts_have_no_clusters_of_them():
    study = Study.build(
        "s",
        [FIVE],
        compare_within="all",
        tables={"items": [Item(id="a"), Item(id="b")], "raters": [Rater(id="r")], "rankings": [
            Ranking(criterion="c", rater="r", items=("a", "b"), ranks=(1, 2))]},
    )  # fmt: skip
    with pytest.raises(TooFew, match="no prompts"):
        fused(study, cluster="prompt")


@pytest.mark.parametrize(("method", "interval"), [("mean", "bootstrap"), ("elo", "sandwich"), ("crowd", "bootstrap")])
def test_errors_asked_for_by_name_are_those_given_or_none(method, interval):
    with pytest.raises(BadValue, match=f"--interval {interval} is for"):
        fused(both_protocols(), method=method, interval=interval)


def test_a_prompt_of_ties_alone_does_not_stop_the_others():
    report = fused(Drawn(2, 2).compare([[[0, 0]] * 3, [[0, 1], [1, 0], [0, 1]]]).study())
    assert report.method == "bradley-terry"


def test_items_compared_and_other_items_rated_are_not_anchored():
    values = np.full((1, 3, 4), np.nan)
    values[0, :, 2:] = [[1, 5], [2, 5], [2, 4]]
    ranks = [[0, 1], [1, 0], [0, 1]]
    drawn = Drawn(1, 4).rate(values)
    for rater, (i, j) in enumerate(ranks):
        drawn.vote(f"r{rater}", 0, i, j, "a")
    assert fused(drawn.study(FIVE)).method == "mean"


def test_both_bad_alone_says_what_to_do():
    drawn = Drawn(1, 2).vote("r0", 0, 0, 1, "both_bad")
    with pytest.raises(TooFew, match="--both-bad tie"):
        fused(drawn.study())
    assert fused(drawn.study(), both_bad="tie").scores[0].value == 0


def test_a_ranking_of_one_item_is_left_out_and_counted():
    drawn = Drawn(1, 3).rank([[[0, 1, 2], [1, 2, 0], [2, 0, 1]]])
    drawn.add("rankings", Ranking(criterion="c", rater="r9", items=("q0.0",), ranks=(1,)))
    assert any("single item: 1" in policy for policy in fused(drawn.study()).policies)


def test_the_maths_names_raters_and_items_as_the_study_does():
    ratings = Drawn(1, 3).rate([[[1, 2, 3], [2, 2, 2], [1, 3, 5]]], raters=["ann", "bob", "cy"])
    with pytest.raises(NotIdentified, match="'bob'"):
        fused(ratings.study(FIVE), method="z-score")
    with pytest.raises(NotIdentified, match=r"undefeated.*'q0\.2'"):
        fused(Drawn(1, 3).rank([[[2, 1, 0]] * 2]).study(), method="plackett-luce")


def test_a_scale_is_needed_to_anchor():
    drawn = Drawn(1, 2).compare([[[0, 1], [1, 0]]]).rate([[[1, 5], [2, 4]]])
    with pytest.raises(DesignError, match=r"study\.toml"):
        fused(drawn.study(), method="anchored-elo")


def test_methods_are_not_compared_without_ratings():
    with pytest.raises(DesignError, match="leave out --compare"):
        salon.fuse_study(Drawn(1, 2).compare([[[0, 1], [1, 0]]]).study(FIVE), compare=True)


# -- what must not change the numbers ----------------------------------------------------------------------------------


def test_the_order_of_the_file_does_not_move_intervals():
    study = both_protocols()
    rng = np.random.default_rng(2)
    kinds = ("comparisons", "ratings")
    mixed = {kind: study.table(kind).take(rng.permutation(study.table(kind).num_rows)) for kind in kinds}
    other = Study.build(study.name, study.criteria, tables={**study.tables, **mixed})
    ends = [
        [(row.low, row.high) for row in fused(one, method="anchored-davidson", cluster="answer").scores]
        for one in (study, other)
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-5)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_units_of_the_scale_do_not_matter(factor):
    rng = np.random.default_rng(3)
    item, rater = np.tile(np.arange(8), 5), np.repeat(np.arange(5), 8)
    value = rng.uniform(1, 5, 40)
    for fit in (rating_mean, rating_zscores):
        plain, scaled = fit(item, rater, value, 8, 5), fit(item, rater, factor * value, 8, 5)
        np.testing.assert_allclose(scaled.absolute_se, factor * plain.absolute_se)
    ends = {"low": 1.0, "high": 5.0}
    plain = choose_rating_anchors(item, rater, value, 8, **ends)
    scaled = choose_rating_anchors(item, rater, factor * value, 8, **{k: factor * v for k, v in ends.items()})
    np.testing.assert_array_equal(plain.items, scaled.items)


def test_ratings_beyond_arithmetic_are_refused():
    study = Drawn(1, 2).rate([[[1e300, 2e300], [3e300, 1e300]]]).study()
    with pytest.raises(BadValue, match="at most"):
        fused(study)
    with pytest.raises(BadValue, match="at most"):
        make_labels(study, LabelSettings(rows="ratings", train=1, validation=0, test=0))


# -- the bridge and the terminal ---------------------------------------------------------------------------------------


def test_a_rehearsal_whose_pool_is_everything_ends():
    made = rehearse_bridge(RehearsalSettings(items=12, pool=12, opponents=3))
    assert len(made.curve) == 3


def test_long_labels_leave_room_for_numbers(capsys):
    drawn = Drawn(1, 2).compare([[[0, 1], [1, 0]]], raters=["x" * 2000, "y"], criterion="z" * 2000)
    print_fuse(fused(drawn.study()), top=10, html=None, output=None)
    tables = capsys.readouterr().out.split("policy:")[0]
    assert max(map(len, tables.splitlines())) < 300


def test_labels_and_the_bridge_take_a_file_of_judgments(tmp_path, capsys):
    votes = tmp_path / "votes.csv"
    rows = [f"r{r},p{p},x{p},y{p},{'ab'[r % 2]}" for r in range(3) for p in range(4)]
    votes.write_text("\n".join(["rater,prompt,a,b,outcome", *rows]))
    for command in (["labels", str(votes), "-o", str(tmp_path / "labels.csv")], ["bridge", "score", str(votes)]):
        with pytest.raises(SystemExit) as ended:
            run([*command, "--json"])
        assert ended.value.code == 0
        json.loads(capsys.readouterr().out)
