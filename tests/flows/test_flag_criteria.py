"""A hallucination flag is no tenth ranking criterion: what is asked, averaged and labelled by default."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from salon.collect import taste_like_study
from salon.errors import TooFew
from salon.evaluate import NOT_RANKED, ReportSettings, page_with_pictures, report_judges
from salon.fuse import LabelSettings, make_labels
from salon.judge import JudgeSettings, SimulatedVlm, panel_truth, plan_run, run_plan
from salon.report import disagreements
from salon.study import Study

FLAG = "taste/hallucination"


@pytest.fixture(scope="module")
def taste() -> Study:
    return taste_like_study()


def test_a_judge_is_asked_as_many_questions_as_in_the_paper(taste: Study) -> None:
    """4,320 pairs in both orders; the flag adds 1,920 only when it is named."""
    plan = plan_run(taste, "nowhere", JudgeSettings(), looks=False)
    assert len(plan.questions) == 8640
    assert FLAG not in plan.criteria
    assert [note for note in plan.notes if note.startswith(f"{FLAG} is a flag")]
    named = plan_run(taste, "nowhere", JudgeSettings(criterion=(FLAG,)), looks=False)
    assert len(named.questions) == 1920
    assert not [note for note in named.notes if "is a flag" in note]


def test_a_report_keeps_flags_apart(taste: Study, tmp_path) -> None:
    """Two criteria and the flag, eight prompts each; a judge of pairs beside one that was asked for flags."""
    groups = taste.item_groups
    kept = np.isin(groups, np.unique(groups[taste.ratings.item])[:8])
    study = _some_items(taste, kept)
    truth = panel_truth(study)
    every = study.ids("criteria").to_pylist()
    asked = JudgeSettings(criterion=tuple(every))  # somebody asked for the flag too
    run_plan(plan_run(study, tmp_path, asked, looks=False), SimulatedVlm("pairs", truth, accuracy=0.8))
    rated = JudgeSettings(criterion=(FLAG,), protocol="rate")
    run_plan(plan_run(study, tmp_path, rated, looks=False), SimulatedVlm("flags", truth, accuracy=1.0))
    quick = ReportSettings(draws=100, deals=99)
    made = report_judges(study, tmp_path, quick, check=False)
    (judge,) = made.judges
    assert FLAG not in [one.criterion for one in (*judge.criteria, *made.panel)]
    accuracies = [one.figures.accuracy.value for one in judge.criteria if one.figures]
    assert judge.macro.accuracy.value == pytest.approx(np.mean(accuracies))
    assert judge.macro.pairs == judge.pooled.pairs == sum(one.decided for one in judge.criteria)
    (flags,) = [one for one in made.flags if one.cohort == "aesthetics"]
    (judged,) = flags.judges
    assert (judged.judge, judged.items, judged.missing) == ("flags", flags.items, 0)
    assert judged.separation.value > 0.9  # it says the mean of what people said, to the nearest level
    page = page_with_pictures(made, study, None)
    assert NOT_RANKED in page.html()
    assert disagreements(page.html(), made.model_dump(mode="json")) == []
    named = report_judges(study, tmp_path, quick, check=False, criteria=[FLAG])
    assert [one.criterion for one in named.panel] == [FLAG]


def test_labels_of_pairs_leave_flags_out(taste: Study) -> None:
    """Also where ratings become votes, unless the flag is named."""
    settings = LabelSettings(rating_pairs=True)
    assert FLAG not in [one.criterion for one in make_labels(taste, settings).report.criteria]
    assert make_labels(taste, settings, criteria=[FLAG]).table.num_rows > 0
    alone = replace(taste, tables={k: t for k, t in taste.tables.items() if k not in ("rankings", "comparisons")})
    with pytest.raises(TooFew):
        make_labels(alone, settings)


def _some_items(study: Study, kept: np.ndarray) -> Study:
    """The study with the flags, and orders, of some items only."""
    names = set(np.array(study.ids("items").to_pylist(), object)[kept])
    ratings, rankings = study.tables["ratings"], study.tables["rankings"]
    tables = {
        "ratings": ratings.filter([item in names for item in ratings.column("item").to_pylist()]),
        "rankings": rankings.filter([items[0] in names for items in rankings.column("items").to_pylist()]),
    }
    rest = {kind: table for kind, table in study.tables.items() if kind in ("prompts", "items", "raters")}
    return replace(study, tables=rest | tables)
