"""Best of N, gates and routes from beginning to end, on pictures of one gray."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from arena_study import arena_study
from browser import chromium, page_faults
from PIL import Image
from refine_example import PROMPTS, Lightness, Painter, gray
from scipy import stats

from salon.bench import ArenaSettings, arena_snapshot
from salon.errors import BadFile, BadValue, SalonError, TooFew, UnknownReference
from salon.fuse import FuseSettings, fuse_study
from salon.generate import GenerateSettings
from salon.report import disagreements
from salon.select import (
    SIMULATED_GATE,
    BestReport,
    BestSettings,
    GateSettings,
    PickSettings,
    Routes,
    apply_feedback,
    best_of_study,
    choose_routes,
    draw_and_pick,
    gate_for_study,
    gate_page,
    list_scorers,
    pass_gate,
    read_any_routes,
    read_feedback,
    reference_from_scores,
    route_prompts,
    study_routes,
    study_scores,
    write_best,
    write_sealed,
)
from salon.select.best import NO_ERRORS
from salon.select.route import Arm, GeneratorRoute, RouteFeedback
from salon.select.route_sources import arena_routes, fused_routes, read_arena
from salon.store import open_study, save_study
from salon.study import Criterion, Item, Prompt, Rater, Rating, Scale, Signature, Study

__all__ = ["chromium"]

FOUR = GenerateSettings(seeds=4)


def drawn(folder: Path, painter: Painter | None = None, wish: BestSettings | None = None, **how: object) -> BestReport:
    given = {"scorers": [Lightness()], **how}
    return draw_and_pick(PROMPTS, [painter or Painter()], FOUR, folder, (), wish or BestSettings(), **given)


def test_the_lightest_of_four_is_chosen_for_every_prompt_and_recorded(tmp_path: Path) -> None:
    report = drawn(tmp_path / "study")
    assert (report.prompts, report.items, report.chosen, report.wanted) == (4, 16, 4, 16)
    for one in report.picks:
        assert one.chosen is not None
        assert one.chosen.item == f"{one.prompt}/painter/3"  # gray rises with the seed
        assert one.values["lightness"] == tuple(float(gray(PROMPTS[0], seed)) for seed in range(4))
    page = write_best(report, tmp_path / "out", tmp_path / "study")
    html = page.read_text()
    assert disagreements(html, json.loads((tmp_path / "out" / "best.json").read_text())) == []
    assert html.count("data:image/webp") == 16
    assert "no scorer states an error: only equal totals tie" in html
    lines = [json.loads(line) for line in (tmp_path / "out" / "picks.jsonl").read_text().splitlines()]
    assert [line["pick"]["chosen"] for line in lines] == [f"p{n}/painter/3" for n in range(4)]
    rows = pyarrow.csv.read_csv(tmp_path / "out" / "picks.csv").to_pylist()
    assert [row["total"] for row in rows] == [43, 43, 43, 43]


def test_a_generator_that_fails_half_the_time_is_counted_and_asked_again(tmp_path: Path) -> None:
    def fails(ask) -> bool:
        return ask.seed % 2 == 1 or ask.prompt.id == "p2"

    report = drawn(tmp_path / "study", Painter(fails))
    assert report.not_made == {"error": 10}
    assert report.outcomes == {"best": 3, "none made": 1}
    assert [one.chosen.item if one.chosen else None for one in report.picks if one.prompt != "p2"] == [
        f"{id}/painter/2" for id in ("p0", "p1", "p3")
    ]
    empty = next(one for one in report.picks if one.prompt == "p2")
    assert (empty.wanted, empty.not_made, empty.pick) == (4, {"error": 4}, None)
    html = write_best(report, tmp_path / "out", tmp_path / "study").read_text()
    assert "None of 4 pictures was made" in html
    painter = Painter()
    again = drawn(tmp_path / "study", painter)
    assert len(painter.asked) == 10  # what was there is not drawn again
    assert again.chosen == 4
    painter = Painter()
    assert drawn(tmp_path / "study", painter).picks == again.picks
    assert painter.asked == []


def test_a_generator_that_makes_nothing_leaves_nothing_to_choose_from(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="none of 16 was made"):
        drawn(tmp_path / "study", Painter(lambda _: True))


@pytest.mark.parametrize(
    ("wish", "said"),
    [(BestSettings(weights="lightness=0"), "sum to a number"), (BestSettings(weights="hue=1"), "'hue'")],
)
def test_weights_are_refused_before_anything_is_drawn_or_looked_at(
    tmp_path: Path, wish: BestSettings, said: str
) -> None:
    painter = Painter()
    with pytest.raises(SalonError, match=said):
        drawn(tmp_path / "study", painter, wish)
    assert painter.asked == []
    drawn(tmp_path / "study", painter)
    shutil.rmtree(tmp_path / "study" / "scores")
    with pytest.raises(SalonError, match=said):
        best_of_study(tmp_path / "study", (), wish, scorers=[Lightness()])
    assert not (tmp_path / "study" / "scores").exists()


def test_none_is_good_enough(tmp_path: Path) -> None:
    report = drawn(tmp_path / "study", wish=BestSettings(pick=PickSettings(least=44)))
    assert (report.chosen, report.outcomes) == (0, {"none good enough": 4})


def test_each_prompt_is_drawn_by_the_generator_its_route_names(tmp_path: Path) -> None:
    first, second = Painter(), Painter()
    second.name = "other"  # type: ignore[misc]
    arms = (Arm(generator="painter", score=0.1, sd=1.0), Arm(generator="other", score=0.0, sd=1.0))
    job = GeneratorRoute(job="all", weights={"lightness": 1.0}, arms=arms)
    write_sealed(Routes(source="s", routes=(job,), signature=Signature(method="select-route")), tmp_path / "r.json")
    routing, notes = route_prompts(tmp_path / "r.json", PROMPTS, None, 1, "thompson")
    assert "routes: explored by thompson, seed 1" in notes
    report = draw_and_pick(
        PROMPTS, [first, second], FOUR, tmp_path / "s", (), BestSettings(), routing=routing, scorers=[Lightness()]
    )
    called = {one.prompt: one.chosen.generator for one in report.picks if one.chosen}
    assert set(called.values()) == {"painter", "other"}  # nobody is called twice as often as the other may be better
    assert {prompt for prompt, _, _ in second.asked} == {id for id, name in called.items() if name == "other"}
    for one in report.picks:
        assert one.route is not None
        assert one.route.generator == called[one.prompt]
        assert set(one.route.drawn) == {"painter", "other"}
        assert one.route.drawn[one.route.generator] == max(one.route.drawn.values())
    html = write_best(report, tmp_path / "out", tmp_path / "s").read_text()
    assert html.count("has the highest draw for all") == 4


def test_scores_on_different_scales_need_a_reference(tmp_path: Path) -> None:
    drawn(tmp_path / "study")
    table = tmp_path / "dark.csv"
    items = [item.id for item in open_study(tmp_path / "study").nouns("items")]
    table.write_text("item,value\n" + "".join(f"{id},{-int(id[-1]) * 100}\n" for id in items[:-1]))
    words, scorers = [f"table:{table}"], [Lightness()]
    with pytest.raises(BadValue, match="frozen reference"):
        best_of_study(tmp_path / "study", words, BestSettings(), scorers=scorers)
    scores = study_scores(open_study(tmp_path / "study"), tmp_path / "study", words, scorers=scorers)
    wish = BestSettings(weights="dark=3,lightness=1", reference=reference_from_scores(scores, "all"))
    report = best_of_study(tmp_path / "study", words, wish, scorers=scorers)
    assert {one.chosen.item[-1] for one in report.picks if one.chosen} == {"0"}
    assert NO_ERRORS in report.policies  # "0 tied" is no proof that anything was told apart
    assert report.unscored == 1
    assert report.reasons == {"dark: the table has no value for the item": 1}
    with pytest.raises(UnknownReference, match="'hue'"):
        best_of_study(tmp_path / "study", words, BestSettings(weights="hue=1"), scorers=scorers)
    with pytest.raises(BadValue, match="sum"):
        best_of_study(tmp_path / "study", words, BestSettings(weights="dark=0"), scorers=scorers)


def test_a_scorer_is_needed() -> None:
    with pytest.raises(BadValue, match="at least one scorer"):
        list_scorers([])


# -- gates -------------------------------------------------------------------------------------------------------------


def flagged_study(folder: Path, items: int = 90) -> Path:
    """Dark pictures are flagged by two of three raters; every third item is dark."""
    (folder / "images").mkdir(parents=True)
    flag = Criterion(id="flag", scale=Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False))
    made, ratings, scores = [], [], ["item,value"]
    rng = np.random.default_rng(0)
    for n in range(items):
        level = int(20 + 10 * rng.random()) if n % 3 == 0 else int(60 + 100 * rng.random())
        Image.new("RGB", (8, 8), (level,) * 3).save(folder / "images" / f"{n}.png")
        made.append(Item(id=f"i{n}", prompt=f"p{n // 3}", image=f"images/{n}.png"))
        ratings += [Rating(item=f"i{n}", rater=f"r{r}", criterion="flag", value=float(r > 0 and n % 3 == 0))
                    for r in range(3)]  # fmt: skip
        scores.append(f"i{n},{level}")
    (folder / "light.csv").write_text("\n".join(scores))
    prompts = [Prompt(id=f"p{n}", text=f"poster {n}") for n in range(items // 3)]
    tables = {"prompts": prompts, "items": made, "raters": [Rater(id=f"r{r}") for r in range(3)], "ratings": ratings}
    study = Study.build("flags", [flag], tables=tables, simulated=True)
    save_study(study, folder / "study")
    (folder / "images").rename(folder / "study" / "images")
    return folder / "study"


def test_a_gate_is_made_on_flags_and_used_on_items(tmp_path: Path) -> None:
    study = flagged_study(tmp_path / "a")
    word = f"table:{tmp_path / 'a' / 'light.csv'}"
    gate = gate_for_study(study, word, GateSettings(recall=0.8))
    assert (gate.positives, gate.negatives, gate.holds, gate.simulated) == (30, 60, "below", True)
    assert gate.row.precision is not None
    assert gate.row.precision.value == 1.0
    assert 20 <= gate.threshold <= 30
    run = pass_gate(gate, study)
    assert run.items == 90
    assert 0.8 * 30 <= run.held <= 30
    assert all(int(row.item[1:]) % 3 == 0 for row in run.rows if row.held)
    assert run.table().num_rows == 90
    html = gate_page(run, study).html()
    assert disagreements(html, run.model_dump(mode="json")) == []
    assert html.count("data:image/webp") == 24 + 8  # the worst of those held back, and those that nearly were
    assert run.promise in html
    assert SIMULATED_GATE in html
    assert SIMULATED_GATE not in gate_page(run.model_copy(update={"simulated": False}), study).html()
    assert f">{gate.threshold:.2f}</data>" in html
    with pytest.raises(TooFew, match="at least 59 positives") as error:
        gate_for_study(study, word, GateSettings(recall=0.95))
    assert "among 90 held-out items" in str(error.value)
    other = tmp_path / "other.csv"
    other.write_text("item,value\ni0,1\n")
    with pytest.raises(BadFile, match="scorer that the gate was made with"):
        pass_gate(gate, study, scorer=f"table:{other}")
    with pytest.raises(TooFew, match="flags are needed"):
        gate_for_study(_unflagged(tmp_path / "b"), word, GateSettings())
    save_study(arena_study(prompts=4), tmp_path / "plain")
    with pytest.raises(UnknownReference, match="no criterion of flags"):
        gate_for_study(tmp_path / "plain", word, GateSettings())
    with pytest.raises(BadValue, match="with a scale"):
        gate_for_study(tmp_path / "plain", word, GateSettings(), criterion="color")


@pytest.mark.browser
def test_a_browser_finds_nothing_wrong_with_the_page_of_a_gate(chromium, tmp_path: Path) -> None:
    study = flagged_study(tmp_path / "a")
    gate = gate_for_study(study, f"table:{tmp_path / 'a' / 'light.csv'}", GateSettings(recall=0.8))
    assert page_faults(chromium, gate_page(pass_gate(gate, study), study).html(), tmp_path) == []


def _unflagged(folder: Path) -> Path:
    study = open_study(flagged_study(folder, 9))
    bare = {kind: list(study.nouns(kind)) for kind in ("prompts", "items", "raters")}
    save_study(Study.build("bare", list(study.criteria), tables=bare), folder / "bare")
    return folder / "bare"


# -- routes ------------------------------------------------------------------------------------------------------------


def test_routes_come_from_a_study_or_its_arena_and_decide_for_prompts(tmp_path: Path) -> None:
    study = arena_study(prompts=24, raters=4)
    save_study(study, tmp_path / "study")
    routes = study_routes(tmp_path / "study", weights="type=3,color=1")
    assert {one.category for one in routes.routes} == {None, "mug", "poster"}
    assert routes.route("type=1").arms[0].generator == "bo"
    assert routes.route("color=1").arms[0].generator == "ada"
    assert routes.route("type=6,color=2").arms[0].generator == "bo"
    assert all(arm.sd and arm.sd > 0 for one in routes.routes for arm in one.arms)
    prompts = [Prompt(id="a", text="x", category="mug"), Prompt(id="b", text="x", category="flag")]
    found = choose_routes(routes, prompts, weights="type=1")
    assert [(one.generator, one.category) for one in found] == [("bo", "mug"), ("bo", None)]
    write_sealed(routes, tmp_path / "routes.json")
    routing, notes = route_prompts(tmp_path / "routes.json", prompts, "type=1", 0)
    assert {id: one.generator for id, one in routing.items()} == {"a": "bo", "b": "bo"}
    assert any("1 prompts are of a category without a route" in note for note in notes)
    snapshot = arena_snapshot(study)
    (tmp_path / "arena.json").write_text(snapshot.model_dump_json())
    same = arena_routes(read_arena(tmp_path / "arena.json"))
    assert same.route("type=1").arms == routes.route("type=1").arms


def test_an_arm_has_the_error_of_its_score_whatever_its_interval_was_made_of(tmp_path: Path) -> None:
    """Six prompts: Student's quantile is 2.57, and an interval divided by 1.96 would be a third too much."""
    study = arena_study(prompts=6, raters=4)
    fused = fuse_study(study, FuseSettings(by="generator", cluster="prompt"), criteria=["color"])
    errors = {row.generator: row.error for row in fused.scores}
    snapshot = arena_snapshot(study, ArenaSettings(cluster="prompt"))
    routes = arena_routes(snapshot)
    for arm in routes.route("color=1").arms:
        assert arm.sd == pytest.approx(errors[arm.generator])
    alike = next(job for job in snapshot.routing.jobs if job.name == "all criteria alike")
    for arm, one in zip(next(r for r in routes.routes if r.job == alike.name).arms, alike.candidates, strict=True):
        student = stats.t.ppf((1 + one.score.level) / 2, one.score.n - 1)
        assert arm.sd == pytest.approx((one.score.high - one.score.low) / 2 / student)


def test_routes_come_from_fused_scores_of_generators(tmp_path: Path) -> None:
    study = arena_study(prompts=24, raters=4)
    fused = fuse_study(study, FuseSettings(by="generator"))
    (tmp_path / "fused.json").write_text(json.dumps(fused.model_dump(mode="json")))
    routes = read_any_routes(tmp_path / "fused.json", "type=3,color=1")
    top = routes.route("type=3,color=1").arms[0]
    assert top.generator == "bo"
    rows = {row.criterion: row for row in fused.scores if row.generator == "bo"}
    assert top.score == pytest.approx(0.75 * rows["type"].value + 0.25 * rows["color"].value)
    assert top.sd == pytest.approx(np.hypot(0.75 * rows["type"].error, 0.25 * rows["color"].error))
    assert routes.route("color=1").arms[0].generator == "ada"
    with pytest.raises(BadValue, match="scores of generators"):
        fused_routes(fuse_study(study, FuseSettings(), criteria=["color"]))
    (tmp_path / "fused.json").write_text('{"format": "salon.fuse/1"}')
    with pytest.raises(BadFile, match="fused scores"):
        read_any_routes(tmp_path / "fused.json")


def test_ratings_give_routes_that_feedback_does_not_move(tmp_path: Path) -> None:
    routes = arena_routes(arena_snapshot(arena_study("ratings", prompts=12), criteria=["color"]))
    assert routes.routes[0].scale != "logit"
    with pytest.raises(UnknownReference, match="in logits"):
        apply_feedback(routes, [RouteFeedback(winner="ada", loser="bo")])


def test_where_lower_is_better_the_lowest_is_called() -> None:
    """Flags: who is flagged least, not most."""
    flag = Criterion(id="flag", scale=Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False))
    items = [Item(id=f"{p}-{g}", prompt=f"p{p}", generator=g) for p in range(12) for g in ("clean", "wild")]
    bad = {one.id for one in items if one.generator == "wild" or one.id[0] == "1"}
    ratings = [Rating(item=one.id, rater="r", criterion="flag", value=float(one.id in bad)) for one in items]
    tables = {"prompts": [Prompt(id=f"p{p}", text="x") for p in range(12)], "items": items, "raters": [Rater(id="r")],
              "ratings": ratings}  # fmt: skip
    study = Study.build("flags", [flag], tables=tables)
    with pytest.raises(TooFew, match="--criterion"):
        arena_snapshot(study)
    routes = arena_routes(arena_snapshot(study, criteria=["flag"]))
    assert [arm.generator for arm in routes.routes[0].arms] == ["clean", "wild"]
    assert "turned round" in routes.routes[0].scale
    assert choose_routes(routes, [Prompt(id="a", text="x")])[0].generator == "clean"
    fused = fused_routes(fuse_study(study, FuseSettings(by="generator", method="mean")))
    assert choose_routes(fused, [Prompt(id="a", text="x")])[0].generator == "clean"


def test_files_that_are_no_arena_and_no_feedback_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, said in (("{}", "format"), ("{", "snapshot"), ('{"format": "salon.arena/1"}', "snapshot")):
        path.write_text(content)
        with pytest.raises(BadFile, match=said):
            read_arena(path)
    for content in ("{", "[1]", '{"winner": "a"}'):
        path.write_text(content)
        with pytest.raises((BadFile, BadValue)):
            read_feedback(path)
    path.write_text("\n")
    with pytest.raises(BadValue, match="empty"):
        read_feedback(path)
    path.write_text('{"winner": "a", "loser": "b"}\n\n{"winner": "b", "loser": "a", "tie": true}\n')
    assert [one.tie for one in read_feedback(path)] == [False, True]
