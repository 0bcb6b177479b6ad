"""The whole check: what was planted is found, the same seed gives the same report, odd studies are said to be odd."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from drawn_studies import Drawn, names, random_ranks, shared_ranks
from hypothesis import HealthCheck, given, settings
from studies import studies

from salon.check import AnchorFigures, CheckReport, CheckSettings, check_page, check_study
from salon.collect import taste_like_study, taste_like_truth
from salon.errors import TooFew
from salon.report import disagreements
from salon.study import Checklist, Comparison, Criterion, Design, Item, Prompt, Ranking, Rater, Scale, Study

RNG = np.random.default_rng
GOLDEN = Path(__file__).parent.parent / "golden" / "check"
QUICK = CheckSettings(draws=200, tie_repeats=3, null_draws=20_000)


def document(report: CheckReport) -> dict:
    """The report as `--json` prints it: NaN and infinity would raise."""
    return json.loads(json.dumps(report.model_dump(mode="json"), allow_nan=False))


def checked(study: Study, **changes) -> CheckReport:
    """A quick check whose JSON is valid and whose page says the same numbers."""
    report = check_study(study, QUICK.model_copy(update=changes))
    assert disagreements(check_page(report).html(), document(report)) == []
    return report


# -- what was planted ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def taste_like() -> CheckReport:
    return check_study(taste_like_study(controls=True))


def test_golden(taste_like: CheckReport) -> None:
    golden = json.loads((GOLDEN / "taste_like.json").read_text())
    found = {criterion.criterion: criterion for criterion in taste_like.criteria}
    assert set(found) == set(golden)  # the hallucination flag is no criterion that items are ranked by
    assert [(one.cohort, one.answers, one.items) for one in taste_like.flags] == [
        ("aesthetics", 1600, 320),
        ("descriptions", 1600, 320),
    ]
    for id, expected in golden.items():
        one = found[id]
        assert (one.answer, one.prompts, one.judgments) == tuple(
            expected[k] for k in ("answer", "prompts", "judgments")
        )
        assert one.alpha.value == pytest.approx(expected["alpha"])
        if "statistics" not in expected:
            assert one.tie_rate == pytest.approx(expected["tie_rate"])
            continue
        statistics = {name: getattr(one.statistics, name) for name in expected["statistics"]}
        assert statistics == pytest.approx(expected["statistics"])
        assert {test.name: test.p for test in one.tests} == pytest.approx(expected["p"], rel=1e-6, abs=1e-300)
        assert {name: share.value for name, share in one.ceilings.buckets.items()} == pytest.approx(expected["buckets"])


def test_the_truth_is_found(taste_like: CheckReport) -> None:
    """Mean tau within four standard errors of what was planted, and no verdict against the truth."""
    verdicts = {criterion.criterion: criterion for criterion in taste_like.criteria}
    for planted in taste_like_truth(controls=True):
        one = verdicts[planted.criterion]
        ends = one.statistics.intervals["mean_tau"]
        assert abs(one.statistics.mean_tau - planted.tau) < ends.high - ends.low  # the width is four standard errors
        if planted.criterion == "control/random":
            assert one.agree != "yes"
        elif planted.criterion == "control/factions":
            assert one.answer == "yes, in camps"
            assert [sorted(camp) for camp in one.factions.split] == [
                ["control-A", "control-B", "control-C"],
                ["control-D", "control-E"],
            ]
        else:
            assert one.agree == "yes"
            assert one.taste != "camps"


def test_the_strongest_comes_first(taste_like: CheckReport) -> None:
    taus = [criterion.statistics.mean_tau for criterion in taste_like.criteria]
    assert taus == sorted(taus, reverse=True)


def test_the_page_and_the_json_agree_number_for_number(taste_like: CheckReport) -> None:
    page = check_page(taste_like).html()
    assert disagreements(page, document(taste_like)) == []
    assert page.count("data-key") > 500
    assert disagreements(page.replace("0.18166666666666667", "0.2"), document(taste_like)) != []


def test_simulated_is_said(taste_like: CheckReport) -> None:
    assert taste_like.simulated
    assert any("no person gave these answers" in said for said in taste_like.warnings)
    assert [anchor.name for anchor in taste_like.anchors] == ["Sushi", "HPSv2 top-4"]


def test_the_same_seed_gives_the_same_report() -> None:
    study = Drawn(30, 4).rate(RNG(0).integers(1, 5, (30, 5, 4))).study()
    one, again, other = (checked(study, seed=seed).model_dump(exclude={"seconds"}) for seed in (1, 1, 2))
    assert one == again
    assert one["criteria"] != other["criteria"]
    assert "seed:1" in one["signature_line"]
    assert study.hash[:12] in one["signature_line"]


def test_one_criterion_of_several() -> None:
    rng = RNG(1)
    drawn = Drawn(40, 4).rank(shared_ranks(40, 5, 4, 1.5, rng)).rank(shared_ranks(40, 5, 4, 1.0, rng), criterion="d")
    study = drawn.study()
    both = {one.criterion: one for one in checked(study).criteria}
    report = check_study(study, QUICK, criteria=["d"])
    (only,) = report.criteria
    assert only.statistics == both["d"].statistics
    assert only.tests[0].p_holm < both["d"].tests[0].p_holm  # fewer tests to adjust for
    assert "criteria:d" in report.signature_line


def test_anchors_are_shown_where_the_shape_is_theirs() -> None:
    study = Drawn(20, 3).rank(random_ranks(20, 3, 3, RNG(2))).study()
    numbers = {"median_T": 0.1, "mean_tau": 0.1, "mean_pmax": 0.8, "cycle_rate": 0.0}
    mine = AnchorFigures(name="films", items=3, raters=3, source="test", **numbers)
    other = mine.model_copy(update={"items": 5})
    assert check_study(study, QUICK, anchors=[mine, other]).anchors == (mine,)


# -- designs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", [Design(kind="adaptive"), Design(kind="complete", stop="until_confidence")])
def test_adaptive_designs_are_refused(design: Design) -> None:
    report = checked(Drawn(60, 4).rank(shared_ranks(60, 5, 4, 0.5, RNG(3))).study(design=design))
    (one,) = report.criteria
    assert one.answer == "cannot tell"
    assert "adaptive" in one.sentence
    assert any("not valid" in said for said in report.warnings)


def test_merge_ranked_raters_are_transitive_by_construction() -> None:
    ranks = shared_ranks(40, 5, 4, 1.0, RNG(4))
    merged = checked(Drawn(40, 4).compare(ranks).study(design=Design(kind="merge_ranking")))
    assert any("merge ranking" in said for said in merged.warnings)
    assert all(row.intransitive is None for row in merged.raters)
    plain = checked(Drawn(40, 4).compare(ranks).study(design=Design(kind="complete")))
    assert all(row.intransitive.value == 0 for row in plain.raters)
    assert plain.criteria[0].statistics == merged.criteria[0].statistics


def test_a_design_not_stated_is_said() -> None:
    report = checked(Drawn(5, 3).rank(random_ranks(5, 3, 3, RNG(5))).study())
    assert any("does not state its design" in said for said in report.warnings)


def test_stable_ties_warn_with_the_figure_of_the_shuffle_control() -> None:
    study = Drawn(40, 4).rate(RNG(6).integers(1, 3, (40, 5, 4))).study()
    report = checked(study, ties="stable")
    (said,) = [line for line in report.warnings if "manufactures agreement" in line]
    control = report.criteria[0].tie_control
    assert control > 0.1
    assert f"{control:+.3f}" in said
    assert not any("manufactures" in line for line in checked(study).warnings)


# -- odd studies -----------------------------------------------------------------------------------------------------


def odd(name: str) -> Study:
    rng = RNG(7)
    if name == "even raters":
        return Drawn(60, 4).rank(shared_ranks(60, 4, 4, 0.7, rng)).study()
    if name == "two raters":
        return Drawn(60, 4).rank(shared_ranks(60, 2, 4, 0.7, rng)).study()
    if name == "two items":
        return Drawn(60, 2).rank(shared_ranks(60, 5, 2, 0.7, rng)).study()
    if name == "one prompt":
        return Drawn(1, 4).rank(shared_ranks(1, 5, 4, 0.1, rng)).study()
    if name == "one prompt of two items and two raters":
        return Drawn(1, 2).rank([[[0, 1], [1, 0]]]).study()
    if name == "all agree":
        return Drawn(30, 4).rank(np.tile(np.arange(4), (30, 5, 1))).study()
    if name == "all tied":
        return Drawn(30, 4).rate(np.ones((30, 5, 4))).study()
    if name == "all votes tied":
        return Drawn(10, 2).compare(np.zeros((10, 3, 2))).study()
    if name == "opposed":
        order = np.arange(4)
        return Drawn(30, 4).rank(np.tile([order, order[::-1]] * 2, (30, 1, 1))).study()
    if name == "one long list":
        return Drawn(1, 40).rank(shared_ranks(1, 12, 40, 0.5, rng)).study()
    if name == "crowd":
        drawn = Drawn(6, 3)
        for prompt in range(6):
            for _ in range(8):
                i, j = sorted(rng.permutation(3)[:2].tolist())
                drawn.vote("anyone", prompt, i, j, "a" if rng.random() < 0.8 else "b")
        return drawn.study(raters=[Rater(id="anyone", kind="crowd")])
    if name == "300 raters":
        drawn = Drawn(150, 3)
        for prompt in range(150):
            drawn.rank(random_ranks(1, 4, 3, rng), raters=[f"r{i}" for i in rng.permutation(300)[:4]], first=prompt)
        return drawn.study()
    if name == "ragged":
        sizes = [2, 3, 4, 5] * 10
        drawn = Drawn(40, sizes)
        for prompt, size in enumerate(sizes):
            drawn.rank(shared_ranks(1, 2 + prompt % 5, size, 1.0, rng), first=prompt)
        return drawn.study()
    if name == "flags":
        flag = Scale(kind="ordinal", low=0, high=2, step=1, labels=("No", "Minor", "Major"), higher_is_better=False)
        return Drawn(20, 3).rate(rng.integers(0, 3, (20, 4, 3))).study(Criterion(id="c", scale=flag))
    if name == "one rater each":
        drawn = Drawn(20, 4).rank(random_ranks(20, 1, 4, rng))
        return drawn.rank(random_ranks(20, 3, 4, rng), criterion="d").study()
    raise AssertionError(name)


ODD = {
    "even raters": "yes, one taste",
    "two raters": "yes; one taste or camps: cannot tell",
    "two items": None,
    "one prompt": "yes; one taste or camps: cannot tell",
    "one prompt of two items and two raters": "cannot tell",
    "all agree": "yes, one taste",
    "all tied": None,
    "all votes tied": None,
    "opposed": "no, opposed camps",
    "one long list": None,
    "crowd": None,
    "300 raters": None,
    "ragged": None,
    "flags": None,
    "one rater each": None,
}


@pytest.mark.parametrize("name", ODD)
def test_odd_studies_are_reported_without_a_fault(name: str) -> None:
    report = checked(odd(name))
    if ODD[name]:
        assert report.criteria[0].answer == ODD[name], report.criteria[0].sentence
    if name == "even raters":
        assert "cycles need" in report.criteria[0].tests[3].refused
        assert report.criteria[0].statistics.cycle_rate is None
    if name == "one rater each":
        by = {one.criterion: one for one in report.criteria}
        assert by["c"].answer == "cannot tell"
        assert "two raters" in by["c"].sentence
    if name == "300 raters":
        assert len(report.raters) == len(odd(name).ids("raters"))
        assert report.criteria[0].raters.left_out > 200


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(studies())
def test_any_valid_study_is_reported_or_refused_by_name(study: Study) -> None:
    """Studies of any shape with the worst labels a file may hold."""
    with suppress(TooFew):
        checked(study, null_draws=10_000)


def test_numbers_without_intervals_are_told_why() -> None:
    """One prompt cannot be drawn again, pairs of a catalogue can, and panels as even as coins leave a range."""
    told = "intervals need two prompts or more, so the numbers of a single one have none: c"
    lone = checked(odd("one prompt"))
    assert lone.criteria[0].ceilings.panel.low is None
    assert told in lone.warnings
    assert told not in checked(odd("two items")).warnings
    flips = checked(Drawn(6, 3).rank([[[0, 1, 2], [2, 1, 0], [1, 0, 2], [2, 0, 1], [1, 2, 0]]] * 6).study())
    made = flips.criteria[0].ceilings
    for one in (made.next_rater, made.oracle):
        assert (one.value, one.low) == pytest.approx((0.5, 0.5), abs=1e-6)
        assert one.high > 0.55
    drawn = Drawn(1, 5)
    for i, j in combinations(range(5), 2):
        for rater in ("r0", "r1") if (i + j) % 2 else ("r2", "r3"):
            drawn.vote(rater, 0, i, j, "a")
    catalogue = checked(drawn.study(compare_within="all"))
    assert told not in catalogue.warnings
    assert any("pairs of items are drawn again" in policy for policy in catalogue.criteria[0].policies)


def test_nothing_to_check_is_a_named_error() -> None:
    with pytest.raises(TooFew, match="comparisons, rankings or ratings"):
        check_study(Study.build("empty", [Criterion(id="c")], tables={}))
    point = Checklist(criterion="c", rater="r0", item="q0.0", points=("legible",), answers=(True,))
    with pytest.raises(TooFew, match="1 checklists"):
        check_study(Drawn(1, 2).add("checklists", point).study())


def test_every_answer_skipped() -> None:
    rows = [Ranking(criterion="c", rater=r, items=(), ranks=(), skipped="cannot judge") for r in names(3)]
    with pytest.raises(TooFew):
        check_study(Drawn(1, 3).add("rankings", *rows).study())


def test_settings_change_what_they_say() -> None:
    study = Drawn(40, 4).rank(shared_ranks(40, 5, 4, 1.5, RNG(8))).study()
    narrow, wide = (checked(study, level=level).criteria[0].statistics.intervals["mean_tau"] for level in (0.8, 0.99))
    assert wide.low < narrow.low < narrow.high < wide.high
    silent = Drawn(80, 4).rank(random_ranks(80, 5, 4, RNG(9))).study()
    assert checked(silent, smallest_tau=0.15).criteria[0].answer == "no"
    assert checked(silent, smallest_tau=0.02).criteria[0].answer == "cannot tell"
    assert checked(silent, smallest_tau=0.95).criteria[0].answer == "no"


def test_a_side_that_wins_too_often_is_said() -> None:
    """Comparisons in which the left item always wins carry a warning; balanced ones do not."""
    items = [Item(id=f"p{n}-{i}", prompt=f"p{n}") for n in range(60) for i in range(2)]

    def study(outcome: str) -> Study:
        rows = [
            Comparison(criterion="c", rater=r, a=f"p{n}-0", b=f"p{n}-1", outcome="a", left=left)
            for n in range(60)
            for r in ("r", "s")
            for left in ("a" if outcome == "left" or n % 2 else "b",)
        ]
        tables = {"prompts": [Prompt(id=f"p{n}") for n in range(60)], "items": items, "comparisons": rows}
        return Study.build("s", [Criterion(id="c")], tables=tables | {"raters": [Rater(id="r"), Rater(id="s")]})

    quick = CheckSettings(draws=100)
    assert any("on the left won 100%" in warning for warning in check_study(study("left"), quick).warnings)
    assert not any("on the left" in warning for warning in check_study(study("either"), quick).warnings)


def test_a_crowd_left_out_of_orders_is_counted() -> None:
    items = [Item(id=f"p{n}-{i}", prompt=f"p{n}") for n in range(10) for i in range(3)]
    raters = [Rater(id="r"), Rater(id="s"), Rater(id="all", kind="crowd")]
    rows = [
        Ranking(criterion="c", rater=r, items=tuple(f"p{n}-{i}" for i in range(3)), ranks=(1, 2, 3))
        for n in range(10)
        for r in ("r", "s", "all")
    ]
    tables = {"prompts": [Prompt(id=f"p{n}") for n in range(10)], "items": items, "raters": raters, "rankings": rows}
    report = check_study(Study.build("s", [Criterion(id="c")], tables=tables), CheckSettings(draws=100))
    assert any("a crowd): 10" in policy for policy in report.criteria[0].policies)
