"""What raters say of generators, from a study to a snapshot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arena_study import GENERATORS, SCORES, arena_study

from prove._arena_truth import recorded_posters, snapshot_recovered
from salon.bench import ArenaSettings, ArenaSnapshot, arena_snapshot
from salon.bench.arena_fit import ALIKE, WEIGHED
from salon.collect import DesignerSettings, designers_study
from salon.errors import BadValue, DesignError, TooFew, UnknownReference
from salon.fuse import FuseSettings, fuse_study
from salon.study import Comparison, Item, Rater, Study


@pytest.fixture(scope="module")
def study() -> Study:
    return arena_study(lean=0.6)


@pytest.fixture(scope="module")
def snapshot(study) -> ArenaSnapshot:
    return arena_snapshot(study, by_category=True, covariates=["position"], weights={"color": 3, "type": 1})


def values(places) -> dict[str, float]:
    return {place.generator: place.score.value for place in places}


# -- boards ------------------------------------------------------------------------------------------------------------


def test_a_board_is_the_fusion_of_its_criterion(study, snapshot):
    report = fuse_study(study, FuseSettings(method="davidson", by="generator"), criteria=["color"])
    board = snapshot.board("color")
    assert [(p.generator, p.score.value, p.score.low, p.rank_high, p.tier) for p in board.places] == [
        (row.generator, row.value, row.low, row.rank_high, row.tier) for row in report.scores
    ]
    # 400 points are odds of ten to one
    assert board.places[0].points.value == pytest.approx(1000 + 400 * np.log10(np.exp(board.places[0].score.value)))
    assert board.coverage.comparisons == 24 * 3 * 6
    assert (board.coverage.prompts, board.coverage.pairs_met, board.coverage.pairs) == (24, 6, 6)
    assert board.coverage.raters.words == "3 people"


def test_there_is_a_board_for_every_category_and_it_holds_only_its_answers(study, snapshot):
    assert [(board.criterion, board.category) for board in snapshot.boards] == [
        (criterion, category) for criterion in SCORES for category in (None, "mug", "poster")
    ]
    for criterion in SCORES:
        whole, *parts = (snapshot.board(criterion, category).coverage for category in (None, *snapshot.categories))
        assert whole.comparisons == sum(part.comparisons for part in parts)
        assert [part.prompts for part in parts] == [12, 12]


@pytest.mark.parametrize("protocol", ["comparisons", "rankings", "ratings"])
def test_every_protocol_gives_the_planted_order(protocol):
    made = arena_snapshot(arena_study(protocol, prompts=30, raters=5, seed=1))
    for criterion, scores in SCORES.items():
        board = made.board(criterion)
        wanted = [GENERATORS[i] for i in np.argsort(scores)[::-1]]
        assert [place.generator for place in board.places] == wanted
        assert board.matrix.generators == tuple(wanted)
        assert board.places[0].score.low < board.places[0].score.value < board.places[0].score.high
    assert (
        made.boards[0].method == {"comparisons": "davidson", "rankings": "plackett-luce", "ratings": "mean"}[protocol]
    )
    if protocol == "rankings":  # scores of a ranking are those of Plackett-Luce: Gumbel noise of scale one
        assert all(
            place.score.low < truth < place.score.high for place, truth in zip(board.places, sorted(scores)[::-1])
        )
    if protocol == "ratings":
        assert board.places[0].points is None
        assert board.matrix.duels[0].fitted is None


def test_the_same_study_gives_the_same_snapshot_and_relabelled_answers_the_same_numbers(study, snapshot):
    again = arena_snapshot(study, by_category=True, covariates=["position"], weights={"color": 3, "type": 1})
    assert again == snapshot
    rows = study.table("comparisons")
    turned = Study.build(
        "arena",
        study.criteria,
        tables={**study.tables, "comparisons": rows.take(pa.array(np.random.default_rng(0).permutation(len(rows))))},
    )
    mixed = arena_snapshot(turned, covariates=["position"])
    for criterion in SCORES:
        one, other = mixed.board(criterion), snapshot.board(criterion)
        assert values(one.places) == pytest.approx(values(other.places), abs=1e-9)
        assert values(one.adjusted.places) == pytest.approx(values(other.adjusted.places), abs=1e-7)


def test_a_board_that_answers_do_not_identify_says_so_and_others_stand(study):
    rows = study.table("comparisons").to_pylist()
    for row in rows:
        if row["criterion"] == "type" and "ada" in row["a"]:
            row["outcome"] = "a"  # ada never loses on type
    changed = Study.build(
        "arena", study.criteria, tables={**study.tables, "comparisons": [Comparison(**_given(row)) for row in rows]}
    )
    made = arena_snapshot(changed)
    assert made.board("color").places
    lost = made.board("type")
    assert lost.places == ()
    assert "'ada' never lost" in lost.reason
    assert "--prior" in lost.reason
    assert lost.matrix.duel("ada", "bo").share.value == 1
    assert lost.matrix.duel("ada", "bo").share.low < 1
    jobs = {job.name: job for job in made.routing.jobs}
    assert jobs[ALIKE].reason == "no scores in logits under type"
    assert jobs["type"].recommended is None
    held = arena_snapshot(changed, ArenaSettings(prior=3)).board("type")
    assert held.places[0].generator == "ada"


def _given(row: dict) -> dict:
    return {name: value for name, value in row.items() if value is not None}


# -- who beats whom ----------------------------------------------------------------------------------------------------


def test_shares_are_counted_and_chances_fitted(study, snapshot):
    duel = snapshot.board("color").matrix.duel("di", "ada")
    rows = [r for r in study.nouns("comparisons") if r.criterion == "color" and "ada" in r.a and "di" in r.b]
    wins, ties = (sum(row.outcome == outcome for row in rows) for outcome in ("b", "tie"))
    assert (duel.wins, duel.ties, duel.losses) == (wins, ties, 72 - wins - ties)
    assert duel.share.value == pytest.approx((wins + ties / 2) / 72)
    assert duel.share.low < duel.share.value < duel.share.high
    other = snapshot.board("color").matrix.duel("ada", "di")
    assert other.share.low == pytest.approx(1 - duel.share.high)
    assert other.fitted.low < other.fitted.value < other.fitted.high
    assert abs(other.fitted.value - other.share.value) < 0.1


# -- covariates --------------------------------------------------------------------------------------------------------


def test_the_pull_to_the_left_is_found(snapshot):
    for criterion in SCORES:
        (effect,) = snapshot.board(criterion).adjusted.effects
        assert effect.beta.low < 0.6 < effect.beta.high  # as planted
        assert effect.beta.value == pytest.approx(0.6, abs=0.25)
        assert "two-way" in effect.beta.method
        assert effect.p < 0.1, "three raters: hardly more than two degrees of freedom"


def test_ink_that_goes_with_a_generator_is_taken_from_its_score(study, tmp_path):
    """Pictures of ada have more ink, and ink wins: without it, ada is worth less than the board says."""
    rng = np.random.default_rng(5)
    ink = {item.id: rng.normal() + 1.5 * (item.generator == "ada") for item in study.nouns("items")}
    rows = []
    for pair in study.nouns("comparisons"):
        ahead = 0.8 * (ink[pair.a] - ink[pair.b]) + rng.logistic()
        rows.append(pair.model_copy(update={"outcome": "a" if ahead > 0 else "b"}))
    inked = Study.build("inked", study.criteria, tables={**study.tables, "comparisons": rows})
    (tmp_path / "scores").mkdir()
    known = {item: value for item, value in ink.items() if item != "p0-bo"}
    pq.write_table(pa.table({"item": list(known), "value": list(known.values())}), tmp_path / "scores/ink.parquet")
    board = arena_snapshot(inked, folder=tmp_path, criteria=["color"], covariates=["ink", "position"]).boards[0]
    assert values(board.places)["ada"] > 0.7
    assert board.adjusted.left_out == 9  # three duels of three raters
    adjusted = {place.generator: place.score for place in board.adjusted.places}
    assert all(score.low < 0 < score.high for score in adjusted.values())
    assert values(board.adjusted.plain)["ada"] == pytest.approx(values(board.places)["ada"], abs=0.05)
    spread = np.std([ink[item] for item in known])
    first, second = board.adjusted.effects
    assert first.beta.low < 0.8 * spread < first.beta.high
    assert first.unit == f"one standard deviation ({spread:.3g})"
    assert second.beta.low < 0 < second.beta.high


def test_a_covariate_that_is_the_generator_itself_is_refused_by_name(study, tmp_path):
    (tmp_path / "scores").mkdir()
    items = [(item.id, float(GENERATORS.index(item.generator))) for item in study.nouns("items")]
    table = pa.table({"item": [id for id, _ in items], "value": [value for _, value in items]})
    pq.write_table(table, tmp_path / "scores/size.parquet")
    board = arena_snapshot(study, folder=tmp_path, criteria=["color"], covariates=["size"]).boards[0]
    assert board.places
    assert board.adjusted.places == ()
    assert "size: the same in every meeting" in board.adjusted.reason
    with pytest.raises(UnknownReference, match="one of size, position"):
        arena_snapshot(study, folder=tmp_path, covariates=["ink"])


# -- who for what ------------------------------------------------------------------------------------------------------


def test_weights_decide_who_is_recommended(snapshot):
    jobs = {(job.name, job.category): job for job in snapshot.routing.jobs}
    assert len(jobs) == 3 * 4
    assert jobs["color", None].recommended == "ada"
    assert jobs["type", None].recommended == "bo"
    weighed = jobs[WEIGHED, None]
    assert weighed.weights == {"color": 0.75, "type": 0.25}
    color, type_ = (values(snapshot.board(criterion).places) for criterion in SCORES)
    for one in weighed.candidates:
        assert one.score.value == pytest.approx(0.75 * color[one.generator] + 0.25 * type_[one.generator])
        assert one.score.low < one.score.value < one.score.high
    first, second = weighed.candidates[:2]
    assert weighed.margin.value == pytest.approx(first.score.value - second.score.value)
    assert jobs[ALIKE, None].recommended == "bo"  # (0.3 + 0.8) / 2 against (0.9 - 0.7) / 2
    assert set(jobs[ALIKE, "mug"].best) >= {"bo"}


def test_errors_of_weighted_scores_cover():
    """What is covered is the value a very large study settles at."""
    large = arena_snapshot(arena_study(prompts=300, raters=1, seed=99)).routing.jobs[0]
    truth = {one.generator: one.score.value for one in large.candidates}
    inside = []
    for seed in range(10):
        job = arena_snapshot(arena_study(prompts=16, raters=1, seed=seed)).routing.jobs[0]
        inside += [one.score.low < truth[one.generator] < one.score.high for one in job.candidates]
    assert np.mean(inside) >= 0.875  # of 40; prove.arena draws more


# -- planted truth -----------------------------------------------------------------------------------------------------


def test_the_houses_known_order_is_recovered(tmp_path):
    folder = recorded_posters(tmp_path / "houses", 30, seed=3)
    made = arena_snapshot(designers_study(folder, DesignerSettings(seed=3)))
    assert made.simulated
    assert made.boards[0].coverage.raters.words == "5 simulated people"
    found = snapshot_recovered(made)
    assert len(found) == 9  # the flag has no board unless it is named
    pairs = sum(one.pairs for one in found)
    assert sum(one.right for one in found) > 0.9 * pairs
    assert sum(one.wrong for one in found) <= 0.025 * pairs + 2
    assert sum(one.ranked is True for one in found) >= 8
    assert all(one.best for one in found)


# -- who answered, and bad input ---------------------------------------------------------------------------------------


def test_models_are_raters_too():
    made = arena_snapshot(arena_study(kind="model", raters=1))
    assert made.boards[0].coverage.raters.words == "1 model"
    assert made.boards[0].places[0].generator == "ada"


def test_bad_input_is_named(study):
    items = [Item(id="a", prompt="p0"), Item(id="b", prompt="p0")]
    raters = [Rater(id="r0")]
    bare = {"prompts": study.table("prompts"), "items": items, "raters": raters}
    with pytest.raises(TooFew, match="comparisons, rankings or ratings"):
        arena_snapshot(Study.build("none", study.criteria, tables=bare))
    said = [Comparison(rater="r0", criterion="color", a="a", b="b", outcome="a")]
    with pytest.raises(DesignError, match="name their generator"):
        arena_snapshot(Study.build("unmade", study.criteria, tables={**bare, "comparisons": said}))
    with pytest.raises(UnknownReference, match="'taste'"):
        arena_snapshot(study, weights={"taste": 1})
    with pytest.raises(BadValue, match="--criterion type adds it"):
        arena_snapshot(study, criteria=["color"], weights={"type": 1})
    with pytest.raises(BadValue, match="only zeros"):
        arena_snapshot(study, weights={"type": 0})


def answered(study, outcome):
    """The same study with one answer to everything."""
    table = study.tables["comparisons"]
    place = table.column_names.index("outcome")
    kind = table.schema.field("outcome").type
    column = pa.array([outcome] * len(table))
    column = column.dictionary_encode().cast(kind) if pa.types.is_dictionary(kind) else column.cast(kind)
    return replace(study, tables={**study.tables, "comparisons": table.set_column(place, "outcome", column)})


def test_nothing_but_ties_puts_nobody_before_another(study):
    made = arena_snapshot(answered(study, "tie"), covariates=["position"])
    for board in made.boards:
        assert {place.score.value for place in board.places} == {0.0}
        assert {(place.rank, place.rank_low, place.rank_high) for place in board.places} == {(1, 1, 4)}
        assert all(place.score.low < 0 < place.score.high for place in board.places)
        assert "ties and nothing else" in board.adjusted.reason
        assert {duel.share.value for duel in board.matrix.duels} == {0.5}
    assert all(len(job.best) == 4 for job in made.routing.jobs)


def test_nothing_but_both_bad_is_counted_and_orders_nobody(study):
    made = arena_snapshot(answered(study, "both_bad"))
    for board in made.boards:
        assert (board.places, board.matrix) == ((), None)
        assert "both bad" in board.reason
    assert all(job.recommended is None and job.reason for job in made.routing.jobs)


def test_one_prompt_and_one_rater_still_make_a_board():
    made = arena_snapshot(arena_study(prompts=1, raters=30, ties=0.3, seed=4))
    board = made.board("color")
    assert board.places
    assert board.matrix.duels[0].share.method == "Wilson"
    lonely = arena_snapshot(arena_study("rankings", prompts=6, raters=1, seed=8))
    assert all(board.places or board.reason for board in lonely.boards)
