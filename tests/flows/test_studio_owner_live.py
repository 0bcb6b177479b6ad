"""The owner's figures: right by hand, computed in a process of their own that answers, dies and comes back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from scipy import stats

from salon.check import RaterSummary
from salon.collect import Disagreement, Studio, StudioSettings, list_rulings
from salon.collect.studio.figures import compute_figures, judgments_by_hour, judgments_by_item, mean_over_raters
from salon.collect.studio.figures_worker import FiguresFailed, FiguresWorker
from salon.collect.studio.removal import without_items, without_raters
from salon.errors import BadValue
from salon.stats import Estimate
from salon.store import open_database
from salon.study import Choice, Comparison, Criterion, Item, Prompt, Ranking, Rater, Rating, Scale, Study


def row(rater: str, **figures: object) -> RaterSummary:
    return RaterSummary(rater=rater, kind="person", cohort=None, judgments=1, **figures)


def share(value: float) -> Estimate:
    return Estimate(value=value, low=None, high=None, n=9, unit="judgment", level=0.95, method="")


def test_raters_are_the_units_of_a_mean_over_raters() -> None:
    rows = [row("a", left_rate=share(0.5)), row("b", left_rate=share(0.7)), row("c", left_rate=share(0.9)), row("d")]
    made = mean_over_raters(rows, "left_rate")
    assert made is not None
    # mean .7, s = .2, half width t(.975, 2) x .2 / sqrt(3) = 4.303 x .11547 = .497: cut off at 1
    assert (made.n, made.unit, made.high) == (3, "rater", 1.0)
    assert made.value == pytest.approx(0.7)
    assert made.low == pytest.approx(0.7 - stats.t.ppf(0.975, 2) * np.std([0.5, 0.7, 0.9], ddof=1) / np.sqrt(3))
    alone = mean_over_raters(rows[:1], "left_rate")
    assert alone is not None
    assert (alone.n, alone.low, alone.high) == (1, None, None)
    assert mean_over_raters(rows[3:], "left_rate") is None
    slow = mean_over_raters([row("a", median_seconds=20.0), row("b", median_seconds=60.0)], "median_seconds")
    assert slow is not None
    assert slow.high is not None
    assert slow.high > 60, "seconds do not end at 1"


# -- a study without some of it -------------------------------------------------------------------------------


@pytest.fixture
def study() -> Study:
    by = {"criterion": "overall"}
    at = "2026-01-31T12:{:02}:00.000+00:00"
    return Study.build(
        "small",
        [Criterion(id="overall", scale=Scale(low=1, high=5, step=1))],
        tables={
            "prompts": [Prompt(id="p", text="x")],
            "items": [Item(id=id, prompt="p") for id in "abcd"],
            "raters": [Rater(id="x"), Rater(id="y", cohort="adjudicators")],
            "comparisons": [
                Comparison(**by, rater="x", a="a", b="b", outcome="a", at=at.format(1)),
                Comparison(**by, rater="y", a="c", b="d", outcome="b", at=at.replace("T12", "T13").format(2)),
            ],
            "ratings": [Rating(**by, rater="x", item="a", value=2), Rating(**by, rater="x", item="d", value=3)],
            "rankings": [
                Ranking(**by, rater="x", items=("a", "b", "c", "d"), ranks=(1, 2, 2, 4)),
                Ranking(**by, rater="y", items=("a", "b"), ranks=(1, 2)),
            ],
            "choices": [Choice(**by, rater="x", items=("a", "b"), chosen="b")],
        },
    )


def test_judgments_are_counted_by_item_and_by_hour(study: Study) -> None:
    assert judgments_by_item(study) == {"a": 5, "b": 4, "c": 2, "d": 3}
    assert judgments_by_hour(study) == {"2026-01-31T12": 1, "2026-01-31T13": 1}


def test_without_an_item_everything_that_needs_it_goes_and_rankings_close_up(study: Study) -> None:
    left = without_items(study, ["a"])
    assert left.counts == {"prompts": 1, "items": 3, "raters": 2, "comparisons": 1, "rankings": 1, "ratings": 1}
    (ranking,) = left.nouns("rankings")
    assert (ranking.items, ranking.ranks) == (("b", "c", "d"), (1, 1, 3))
    assert left.revision == study.revision
    assert "1 items dropped" in str(left.note)
    assert without_items(study, []) is study


def test_without_a_rater_nothing_of_theirs_is_left(study: Study) -> None:
    left = without_raters(study, ["y"])
    assert left.counts == study.counts | {"raters": 1, "comparisons": 1, "rankings": 1}
    assert without_raters(study, []) is study


# -- the worker -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    place = tmp_path_factory.mktemp("live")
    made = Study.build(
        "small",
        [Criterion(id="overall")],
        tables={"prompts": [Prompt(id="p", text="x")], "items": [Item(id=id, prompt="p") for id in "abc"]},
    )
    phase = {"id": "main", "protocol": "compare", "criteria": ["overall"]}
    settings = StudioSettings.model_validate({"cohorts": [{"id": "designers", "phases": [phase]}]})
    with open_database(f"sqlite:///{place / 'studio.db'}", create=True) as database:
        database.put_study(made)
        opened = Studio(database, settings, place)
        yield opened
        opened.close()


def test_the_worker_computes_what_this_process_would_also_after_one_died(studio) -> None:
    worker = FiguresWorker()
    dies = [sys.executable, "-S", "-c", "input()"]  # reads its job and is gone
    worker._process = subprocess.Popen(dies, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        with pytest.raises(FiguresFailed):
            worker.ask(studio.database, studio.settings)
        found, here = worker.ask(studio.database, studio.settings), compute_figures(studio.database, studio.settings)
        assert (found.revision, found.words, found.judged) == (here.revision, here.words, here.judged)
    finally:
        worker.close()


def test_a_closed_worker_starts_no_process(studio, monkeypatch) -> None:
    """A check that was waiting its turn while the studio closed would leave a process behind."""
    worker = FiguresWorker()
    worker.close()
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    with pytest.raises(FiguresFailed, match="process of their own"):
        worker.ask(studio.database, studio.settings)


def test_figures_that_fail_are_told_and_the_old_ones_stay(studio, monkeypatch) -> None:
    calls = []

    class Broken:
        def ask(self, *_: object):
            calls.append(1)
            if len(calls) > 1:
                raise FiguresFailed("no figures")
            return compute_figures(studio.database, studio.settings)

        def close(self) -> None:
            pass

    monkeypatch.setattr(studio, "_worker", Broken())
    first = studio.live_check(wait=True)
    assert (first.failed, first.figures is not None) == (False, True)
    studio.invite("designers")
    failed = studio.live_check(wait=True)
    assert (failed.failed, failed.figures) == (True, first.figures)
    studio.live_check()
    assert len(calls) == 2, "the next try waits a little"


# -- rulings --------------------------------------------------------------------------------------------------


def test_the_same_key_rules_once(studio) -> None:
    judge = studio.invite_adjudicator().rater
    dispute = Disagreement("overall", ("a", "b"), {"a": 1, "b": 1}, 0.5)
    first = studio.settle(judge, dispute, "a", key="one")
    with pytest.raises(BadValue, match="without a ruling"):
        studio.settle(judge, dispute, "b", key="two")
    assert studio.drop(judge, "overall", "c", key="three").repeated is False
    assert studio.drop(judge, "overall", "c", key="three").repeated is True
    assert [one.ruling.answer for one in list_rulings(studio.database)] == ["a", None]
    studio.take_ruling_back(judge, first.ids[0])
    assert [one.ruling.answer for one in list_rulings(studio.database)] == [None]
    with pytest.raises(BadValue):
        studio.settle(judge, dispute, "c", key="four")
