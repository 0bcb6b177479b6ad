"""Scorers and judges against people, on one study or several."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arena_study import SCORES, arena_study
from scipy import stats

from salon.bench import rater_tables
from salon.errors import TooFew, UnknownReference
from salon.evaluate import ReportSettings
from salon.study import Study

SETTINGS = ReportSettings(draws=100)


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """Two studies; one scorer knows the truth of color, one guesses and has gaps, one is only in the first."""
    made = []
    for number, seed in enumerate((1, 2)):
        study, folder = arena_study(prompts=12, raters=5, ties=0.0, seed=seed), tmp_path_factory.mktemp("held")
        rng = np.random.default_rng(seed)
        (folder / "scores").mkdir()
        tables = {"knows": _scored(study, 0.1, rng), "guesses": _scored(study, 50.0, rng)}
        if number == 0:
            tables["once"] = _scored(study, 1.0, rng)
        tables["guesses"]["value"][:4] = [None] * 4
        for name, table in tables.items():
            pq.write_table(pa.table(table), folder / "scores" / f"{name}.parquet")
        made.append((study, folder))
    return made


def _scored(study: Study, noise: float, rng: np.random.Generator) -> dict[str, list]:
    items = list(study.nouns("items"))
    truth = dict(zip(("ada", "bo", "cy", "di"), np.add(SCORES["color"], SCORES["type"])))
    values = [float(truth[item.generator] + noise * rng.normal()) for item in items]
    return {"item": [item.id for item in items], "value": values}


@pytest.fixture(scope="module")
def tables(held):
    return rater_tables(held, SETTINGS, check=False)


def test_rows_are_raters_and_columns_studies(tables):
    assert [study.study for study in tables.studies] == ["arena", "arena #2"]
    assert tables.raters[0].rater == "knows"
    assert {row.rater: len(row.studies) for row in tables.raters} == {"knows": 2, "guesses": 2, "once": 1}
    for row in tables.raters:
        for on in row.studies:
            assert set(on.criteria) == set(SCORES)
            assert on.accuracy.low < on.accuracy.value < on.accuracy.high


def test_accuracy_is_agreement_with_the_majority_on_every_pair(held, tables):
    study = held[0][0]
    votes: dict[tuple[str, str, str], int] = {}
    for one in study.nouns("comparisons"):
        votes[one.criterion, one.a, one.b] = votes.get((one.criterion, one.a, one.b), 0) + (-1) ** (one.outcome == "b")
    table = pq.read_table(held[0][1] / "scores/knows.parquet").to_pydict()
    value = dict(zip(table["item"], table["value"]))
    right = [(value[a] > value[b]) == (ahead > 0) for (_, a, b), ahead in votes.items()]  # five votes: no ties
    on = tables.raters[0].on("arena")
    assert on.accuracy.value == pytest.approx(np.mean(right))
    assert (on.pairs, on.panel_pairs) == (len(right), len(right))


def test_gaps_count_as_wrong_and_are_shown(tables):
    guess = next(row for row in tables.raters if row.rater == "guesses").on("arena")
    assert guess.unread.value == pytest.approx(12 / 144)  # all six pairs of one prompt, twice
    assert guess.pairs == 144
    assert guess.order.pairs == 144 - 12


def test_ceilings_stand_beside_accuracies(tables):
    for study in tables.studies:
        assert 0.5 < study.next_rater.low < study.next_rater.value < 1
        assert all(one.next_rater.value < one.oracle.value for one in study.criteria)
        assert (study.raters, study.generators) == (5, 4)


def test_the_order_of_generators_is_that_of_points_won(held, tables):
    study = held[0][0]
    won: dict[str, list[float]] = {}
    for one in study.nouns("comparisons"):
        for item, side in ((one.a, "a"), (one.b, "b")):
            won.setdefault(item.split("-")[1], []).append(float(one.outcome == side))
    people = {name: np.mean(points) for name, points in won.items()}
    order = tables.raters[0].on("arena").order
    truth = [SCORES["color"][i] + SCORES["type"][i] for i in range(4)]  # the scorer's own order
    wanted = stats.spearmanr([people[name] for name in ("ada", "bo", "cy", "di")], truth).statistic
    assert order.spearman.value == pytest.approx(wanted)
    assert order.generators == 4
    assert 0 <= order.nmse.value < 0.2
    assert order.nmse.low <= order.nmse.value <= order.nmse.high


def test_the_same_studies_give_the_same_tables_and_a_study_more_moves_no_other(held, tables):
    assert rater_tables(held, SETTINGS, check=False) == tables
    alone = rater_tables(held[:1], SETTINGS, check=False, names=["knows"])
    assert alone.raters[0].on("arena") == tables.raters[0].on("arena")


def test_a_study_without_raters_is_named_and_left_out(held, tables):
    bare = arena_study(prompts=4, raters=3, seed=3)
    made = rater_tables([*held, (bare, None)], SETTINGS, check=False)
    assert [study.study for study in made.studies] == ["arena", "arena #2"]
    assert any("arena #3: left out: at least one judge" in words for words in made.warnings)
    with pytest.raises(TooFew, match="at least one judge"):
        rater_tables([(bare, None)], SETTINGS, check=False)
    once = rater_tables(held, SETTINGS, check=False, names=["once"])
    assert [row.rater for row in once.raters] == ["once"]
    assert "arena #2: left out" in once.warnings[0]
    with pytest.raises(UnknownReference, match="'nobody'"):
        rater_tables(held, SETTINGS, check=False, names=["knows", "nobody"])


def test_items_without_generators_have_accuracies_and_no_order(held):
    study, folder = held[0]
    items = [item.model_copy(update={"generator": None}) for item in study.nouns("items")]
    made = rater_tables([(Study.build("plain", study.criteria, tables={**study.tables, "items": items}), folder)],
                        SETTINGS, check=False)  # fmt: skip
    order = made.raters[0].studies[0].order
    assert order.spearman is None
    assert order.reason == "items do not name two generators"
    assert made.raters[0].studies[0].accuracy.value > 0.6
