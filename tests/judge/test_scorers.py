"""Scores of a study: each picture once, gaps with their reasons, the table whole."""

import json
import os

import pyarrow.parquet as pq
import pytest
from scored_study import Redness, study_in

from salon.errors import BadColumns, BadFile, BadValue, InputError
from salon.judge import MEASUREMENTS, ScoreSettings, TableScorer, make_scorer, read_scores, score_study, scorer_lines
from salon.models import ResultCache
from salon.study import Item, Scorer, ScorerCard


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "study").mkdir()
    return tmp_path / "study"


@pytest.fixture
def kept(tmp_path):
    return ResultCache(tmp_path / "kept.sqlite")


def test_gaps_have_reasons_and_never_a_value(folder, kept):
    run = score_study(study_in(folder), folder, Redness().scorer, cache=kept)
    rows = {row["item"]: row for row in pq.read_table(folder / run.file).to_pylist()}
    assert len(rows) == run.items == 10
    assert rows["p0-red"]["value"] == 1
    assert rows["p0-red"]["sigma"] == 0.1
    for item, why in (("p0-teal", "no red"), ("broken", "cannot be read"), ("bare", "no picture")):
        assert rows[item]["value"] is rows[item]["sigma"] is None
        assert why in rows[item]["unscored"]
    assert run.scored == 4  # red and gold, twice
    assert sum(run.unscored.values()) == 6
    assert (run.low, run.high) == (1, 1)
    card = json.loads((folder / "scores" / "redness.json").read_text())
    assert card["signature"] == "redness|salon:test"
    assert card["card"]["reads"] == "image"


def test_a_picture_is_looked_at_once(folder, kept):
    red = Redness()
    study = study_in(folder)
    first = score_study(study, folder, red.scorer, cache=kept)
    assert len(red.looked) == 4  # the same four pictures under both prompts
    again = score_study(study, folder, red.scorer, cache=kept)
    assert len(red.looked) == 6  # gaps are tried again: teal and navy
    assert again.reused > first.reused
    assert again.model_copy(update={"reused": first.reused}) == first


def test_the_prompt_counts_where_it_is_read(folder, kept):
    red = Redness("image and prompt")
    study = study_in(folder, broken=False)
    score_study(study, folder, red.scorer, cache=kept)
    assert len(red.looked) == 8
    values = pq.read_table(folder / "scores" / "redness.parquet").to_pylist()
    by_item = {row["item"]: row["value"] for row in values}
    assert by_item["p0-red"] - 1 == len("a fair\n\nby the sea")
    assert by_item["p1-red"] - 1 == len("a tea house")


def test_intent_alone_leaves_prompts_without_one_unscored(folder, kept):
    red = Redness("image and prompt", view=("intent",))
    run = score_study(study_in(folder, broken=False), folder, red.scorer, cache=kept)
    rows = {row["item"]: row for row in pq.read_table(folder / run.file).to_pylist()}
    assert rows["p0-red"]["value"] - 1 == len("a fair")
    assert "no intent" in rows["p1-red"]["unscored"]


def test_a_killed_run_goes_on(folder, kept):
    red, study = Redness(), study_in(folder)
    told = []

    def stop(done, wanted):
        told.append((done, wanted))
        if len(red.looked) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_study(study, folder, red.scorer, ScoreSettings(batch=1), stop, cache=kept)
    assert not (folder / "scores").exists()
    whole = score_study(study, folder, red.scorer, ScoreSettings(batch=1), cache=kept)
    assert whole.scored == 4
    assert red.looked.count(red.looked[0]) == 1  # red was kept before the stop
    assert told[-1][1] == 10


def test_limit_and_names(folder, kept):
    study, red = study_in(folder), Redness()
    assert score_study(study, folder, red.scorer, ScoreSettings(limit=3), cache=kept).items == 3
    red.scorer.name = "../outside"
    with pytest.raises(BadValue, match="plain word"):
        score_study(study, folder, red.scorer, cache=kept)


def test_a_scorer_of_numbers_alone(folder, kept):
    class Lengths:
        name, signature = "lengths", Redness().scorer.signature

        def score(self, items, prompts):
            return [None if item.image is None else float(len(item.id)) for item in items]

    assert isinstance(Lengths(), Scorer)
    run = score_study(study_in(folder), folder, Lengths(), cache=kept)
    assert (run.scored, run.unscored) == (9, {"the scorer gave no number": 1})


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("last", [1, 2])
def test_a_table_is_never_read_by_the_card_of_another(folder, kept, monkeypatch, again, last):
    """A run that ends between its two files leaves no table: what is higher, and whose it is, hangs on the card."""

    class Numbers:
        name, card, value = "numbers", ScorerCard(), 1.0
        signature = Redness().scorer.signature

        def score(self, items, prompts):
            return [self.value for _ in items]

    study, other = study_in(folder), Numbers()
    if again:
        score_study(study, folder, Numbers(), cache=kept)
    other.card, other.value = ScorerCard(higher_is_better=False), 2.0
    put, seen = os.replace, []

    def stop(part, place):
        seen.append(place)
        if len(seen) == last:
            raise KeyboardInterrupt
        put(part, place)

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        score_study(study, folder, other, cache=kept)
    monkeypatch.undo()
    assert not (folder / "scores" / "numbers.parquet").exists()
    assert score_study(study, folder, other, cache=kept).low == 2.0


# -- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_scores_made_elsewhere(tmp_path, form):
    file = tmp_path / f"hpsv3.{form}"
    rows = [{"item": "a", "value": 1.5, "sigma": 0.2}, {"item": "b", "value": -2}]
    if form == "csv":
        file.write_text("item,value,sigma\na,1.5,0.2\nb,-2,\n")
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = TableScorer(file)
    items = [Item(id="b"), Item(id="c"), Item(id="a")]
    assert table.score(items, [None] * 3) == [-2, None, 1.5]
    assert table.results(items, [None] * 3)[2].sigma == 0.2
    assert table.name == "hpsv3"
    other = tmp_path / "other.csv"
    other.write_text("item,value\na,1\n")
    assert TableScorer(other).signature.data != table.signature.data


def test_a_table_says_what_its_numbers_are(tmp_path):
    """By a card beside it, or by the record that salon score leaves; whoever made them is the scorer."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(f"item,value\n{name},1\n")
        (tmp_path / f"{name}.toml").write_text('scorer = "HPSv3"\nis_logit = true\nhigher_is_better = false\n')
    first, second = (TableScorer(tmp_path / f"{name}.csv") for name in ("a", "b"))
    assert str(first.signature) == str(second.signature)
    assert (first.card.is_logit, first.card.higher_is_better, first.card.source) == (True, False, "a.csv")
    assert (first.knows("a"), first.knows("b")) == (True, False)
    (tmp_path / "c.csv").write_text("item,value\na,1\n")
    (tmp_path / "c.json").write_text(json.dumps({"card": {"is_logit": True}, "signature": "hpsv3|x", "scorer": "c"}))
    assert TableScorer(tmp_path / "c.csv").card.is_logit
    assert "hpsv3|x" in str(TableScorer(tmp_path / "c.csv").signature)


@pytest.mark.parametrize(
    ("card", "words"),
    [("is_logit = maybe", "card of a table"), ("logit = true", "logit"), ("scorer = 3", "named by a text"),
     ("is_logit = 'perhaps'", "is_logit")],
)  # fmt: skip
def test_cards_that_say_nothing(tmp_path, card, words):
    (tmp_path / "t.csv").write_text("item,value\na,1\n")
    (tmp_path / "t.toml").write_text(card)
    with pytest.raises(InputError, match=words):
        TableScorer(tmp_path / "t.csv")


@pytest.mark.parametrize(
    ("text", "error"),
    [("item,score\na,1\n", BadColumns), ("item,value\na,1\na,2\n", BadValue), ("item,value\na,inf\n", BadValue),
     ("item,value\na,high\n", BadValue), ("", BadFile)],
)  # fmt: skip
def test_bad_tables(tmp_path, text, error):
    file = tmp_path / "t.csv"
    file.write_text(text)
    with pytest.raises(error):
        TableScorer(file)


def test_reading_scores_back(folder, kept):
    run = score_study(study_in(folder), folder, Redness().scorer, cache=kept)
    assert read_scores(folder / run.file).column_names == ["item", "value", "sigma", "unscored"]
    with pytest.raises(BadFile):
        read_scores(folder / "study.toml")


# -- names ------------------------------------------------------------------------------------------------------------


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(BadValue, match="did you mean contrast"):
        make_scorer("contrst")
    with pytest.raises(BadValue):
        make_scorer("clip")  # without a folder


def test_every_measurement_is_listed_and_there():
    assert list(dict(scorer_lines()))[: len(MEASUREMENTS)] == list(MEASUREMENTS)
    assert len(dict(scorer_lines())) == len(scorer_lines())
    assert all(callable(rule.measure) and rule.rests_on for rule in MEASUREMENTS.values())


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_kept_values_come_back(tmp_path):
    kept = ResultCache(tmp_path / "deep" / "kept.sqlite")
    kept.keep({f"k{n}": {"value": n} for n in range(1200)})
    kept.keep({"k7": {"value": -1}})
    found = ResultCache(kept.path).many([f"k{n}" for n in range(1300)])
    assert len(found) == 1200
    assert found["k7"] == {"value": -1}


def test_a_cache_that_cannot_be_opened_costs_only_time(tmp_path):
    (tmp_path / "file").write_text("no folder")
    kept = ResultCache(tmp_path / "file" / "kept.sqlite")
    kept.keep({"a": 1})
    assert kept.many(["a"]) == {"a": 1}
