"""Ordinal flags against arithmetic by hand and the krippendorff package."""

from __future__ import annotations

from dataclasses import replace

import krippendorff
import numpy as np
import pytest
from drawn_studies import Drawn

from salon.check import FLAGS_NOT_RANKED, AnchorSettings, CheckSettings, anchor, check_page, check_study
from salon.check.check import flag_figures
from salon.errors import BadValue
from salon.study import Cohort, Criterion, Item, Rater, Rating, Scale, Study
from salon.train import DistillLabelSettings

RNG = np.random.default_rng
SETTINGS = CheckSettings(draws=500)
FLAG = Scale(
    kind="ordinal", low=0, high=2, step=1, labels=("No: fine", "Minor: small", "Major: bad"), higher_is_better=False
)


def flagged(values, scale: Scale = FLAG, **more) -> Study:
    table = np.asarray(values, float)
    return Drawn(len(table), table.shape[2]).rate(table).study(Criterion(id="c", name="Flag", scale=scale), **more)


def test_by_hand() -> None:
    """Two prompts of two items, three raters.

    Item by item: 0 0 0, 0 1 1, 2 2 1, 0 0 2. Twelve flags: six No, three Minor, three Major.
    """
    values = [[[0, 0], [0, 1], [0, 1]], [[2, 0], [2, 0], [1, 2]]]
    (figures,) = flag_figures(flagged(values), SETTINGS)
    assert [share.value for share in figures.shares] == pytest.approx([6 / 12, 3 / 12, 3 / 12])
    assert figures.labels == ("No", "Minor", "Major")
    assert figures.positive_rate == pytest.approx({"r0": 1 / 4, "r1": 2 / 4, "r2": 3 / 4})
    assert figures.top_rate == pytest.approx({"r0": 1 / 4, "r1": 1 / 4, "r2": 1 / 4})
    assert figures.splits == {"No": 1 / 4, "No / Minor": 1 / 4, "Minor / Major": 1 / 4, "No / Major": 1 / 4}
    # Fleiss: agreeing pairs of raters 3, 1, 1, 1 of 3 each: 1/2. By chance 1/4 + 1/16 + 1/16 = 3/8. (1/2 - 3/8) / (5/8)
    assert figures.kappa.value == pytest.approx(1 / 5)
    matrix = np.array(values, float).transpose(1, 0, 2).reshape(3, -1)
    assert figures.alpha.value == pytest.approx(krippendorff.alpha(matrix, level_of_measurement="ordinal"))


def test_alpha_with_gaps_by_another_tool() -> None:
    values = RNG(1).integers(0, 3, (30, 4, 3)) * 1.0
    values[RNG(2).random(values.shape) < 0.3] = np.nan
    (figures,) = flag_figures(flagged(values), SETTINGS)
    matrix = values.transpose(1, 0, 2).reshape(4, -1)
    assert figures.alpha.value == pytest.approx(krippendorff.alpha(matrix, level_of_measurement="ordinal"))
    assert figures.alpha.low < figures.alpha.value < figures.alpha.high
    assert sum(share.value for share in figures.shares) == pytest.approx(1)
    assert sum(figures.splits.values()) == pytest.approx(1)


def test_shares_are_drawn_again_by_prompt() -> None:
    """Every prompt is all No or all Major: 20 prompts carry the error of a coin, not 240 flags."""
    values = np.repeat(np.where(RNG(3).random(20) < 0.5, 0, 2), 12).reshape(20, 4, 3)
    (figures,) = flag_figures(flagged(values), SETTINGS)
    share = figures.shares[0]
    assert share.n == 20
    error = np.sqrt(share.value * (1 - share.value) / 20)
    assert share.high - share.low == pytest.approx(2 * 1.96 * error, rel=0.25)


def test_positive_is_a_setting() -> None:
    values = [[[0, 1, 2]]]
    (mild,) = flag_figures(flagged(values), SETTINGS)
    (strict,) = flag_figures(flagged(values), SETTINGS.model_copy(update={"flag_from": 2.0}))
    assert (mild.positive_rate["r0"], strict.positive_rate["r0"]) == pytest.approx((2 / 3, 1 / 3))
    assert (mild.positive_from, strict.positive_from) == (1, 2)


def test_one_rater_or_one_level_has_no_agreement() -> None:
    (alone,) = flag_figures(flagged([[[0, 1, 2]]]), SETTINGS)
    assert alone.alpha is None
    assert alone.kappa is None
    (same,) = flag_figures(flagged(np.zeros((4, 3, 2))), SETTINGS)
    assert same.alpha is None
    assert same.shares[0].value == 1


def test_other_scales_have_no_flags() -> None:
    """A flag is a short scale on which more is worse; levels without words are named by their number."""
    for scale in (
        Scale(low=1, high=5, step=1),
        Scale(kind="ordinal", low=1, high=3, step=1),
        Scale(kind="ordinal", low=0, high=1, higher_is_better=False),
        Scale(kind="ordinal", low=0, high=20, step=1, higher_is_better=False),
    ):
        assert flag_figures(flagged([[[1, 1, 1]]], scale), SETTINGS) == ()
    wordless = Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False)
    (figures,) = flag_figures(flagged([[[0, 2, 2]]], wordless), SETTINGS)
    assert figures.labels == ("0", "1", "2")
    assert figures.top_rate["r0"] == pytest.approx(2 / 3)


def test_items_without_a_prompt_are_their_own_clusters() -> None:
    drawn = Drawn(0, 0)
    for rater in ("ann", "bob"):
        for number in range(8):
            drawn.add("ratings", Rating(criterion="c", rater=rater, item=f"x{number}", value=number % 3))
    items = [Item(id=f"x{number}") for number in range(8)]
    (figures,) = flag_figures(drawn.study(Criterion(id="c", scale=FLAG), tables={"items": items}), SETTINGS)
    assert figures.shares[0].n == 8
    assert figures.alpha.value == 1


# -- flags order nothing unless they are named -------------------------------------------------------------------------


def study_with_flag(*, kind: str | None = None) -> Study:
    """A ranked criterion, and a flag of two cohorts on the same items."""
    flag = Criterion(id="flag", name="Flag", scale=FLAG, kind=kind)
    criteria = [Criterion(id="c"), flag]
    drawn = Drawn(12, 4).rank(RNG(5).permuted(np.tile([1, 2, 3, 4], (12, 5, 1)), axis=2))
    for prompt in range(12):
        for rater in range(6):
            for item in range(4):
                value = float(RNG([prompt, rater, item]).integers(0, 3))
                drawn.add(
                    "ratings", Rating(criterion="flag", rater=f"f{rater}", item=drawn.item(prompt, item), value=value)
                )
    raters = [Rater(id=f"r{i}") for i in range(5)] + [Rater(id=f"f{i}", cohort="xy"[i % 2]) for i in range(6)]
    return drawn.study(*criteria, raters=raters, cohorts=(Cohort(id="x"), Cohort(id="y")))


def test_flags_enter_no_verdict_no_holm_and_no_rater_row() -> None:
    quick = CheckSettings(draws=100)
    study = study_with_flag()
    report = check_study(study, quick)
    alone = check_study(study, quick, criteria=["c"])
    assert [one.criterion for one in report.criteria] == ["c"]
    assert [test.p_holm for test in report.criteria[0].tests] == [test.p_holm for test in alone.criteria[0].tests]
    assert {row.rater: row.mean_tau for row in report.raters} == {row.rater: row.mean_tau for row in alone.raters}
    assert (len(report.flags), alone.flags) == (2, ())
    assert FLAGS_NOT_RANKED in check_page(report).html()
    named = check_study(study, quick, criteria=["flag"])
    assert [one.criterion for one in named.criteria] == ["flag"]
    assert FLAGS_NOT_RANKED not in check_page(named).html()


def test_a_flag_is_nothing_to_choose_from() -> None:
    """One ranked criterion beside a flag needs no --criterion for an anchor, and is all that a bridge asks about."""
    study = study_with_flag()
    assert anchor(study, AnchorSettings(draws=100)).cluster == "prompt"
    tables = {kind: table for kind, table in study.tables.items() if kind in ("prompts", "items")}
    before = replace(study, tables=tables)
    assert [one.id for one in DistillLabelSettings().criteria(before)] == ["c"]
    assert [one.id for one in DistillLabelSettings(source="pointwise").criteria(before)] == ["c", "flag"]
    assert [one.id for one in DistillLabelSettings(criterion=("flag",)).criteria(before)] == ["flag"]
    assert DistillLabelSettings().scale(before) == (1, 5)  # not that of the flag


def test_a_criterion_may_say_what_it_is() -> None:
    """`kind` overrules the scale; a flag that raters also compared items by orders them."""
    assert study_with_flag(kind="ranking").ranking_criteria() == (0, 1)
    assert flag_figures(study_with_flag(kind="ranking"), SETTINGS) == ()
    assert study_with_flag().ranking_criteria() == (0,)
    assert study_with_flag().ranking_criteria(["flag"]) == (1,)
    compared = Drawn(3, 3).rate(np.zeros((3, 2, 3))).compare(RNG(1).permuted(np.tile([1, 2, 3], (3, 2, 1)), axis=2))
    assert compared.study(Criterion(id="c", scale=FLAG)).ranking_criteria() == (0,)
    with pytest.raises(BadValue, match="higher_is_better = false"):
        Criterion.parse({"id": "c", "kind": "flag", "scale": {"low": 0, "high": 1, "step": 1}})


def test_cohorts_have_flags_of_their_own() -> None:
    """Each cohort's shares and alpha are those of its raters alone."""
    study = study_with_flag()
    for figures, cohort in zip(flag_figures(study, SETTINGS), ("x", "y"), strict=True):
        values = np.array(
            [
                [float(RNG([prompt, rater, item]).integers(0, 3)) for prompt in range(12) for item in range(4)]
                for rater in range("xy".index(cohort), 6, 2)
            ]
        )
        assert (figures.cohort, figures.items, figures.answers) == (cohort, 48, 144)
        assert figures.alpha.value == pytest.approx(krippendorff.alpha(values, level_of_measurement="ordinal"))
        assert [share.value for share in figures.shares] == pytest.approx(
            [(values == level).mean() for level in range(3)]
        )


def test_a_study_of_flags_alone_has_a_report() -> None:
    report = check_study(flagged(RNG(3).integers(0, 3, (6, 3, 4))), SETTINGS)
    assert (report.criteria, len(report.flags)) == ((), 1)
    assert "The study holds no judgments" in check_page(report).html()
