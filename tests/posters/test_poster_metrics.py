"""Metrics: a perfect answer is worth 1, a blind one nothing, and silence never helps."""

from __future__ import annotations

import json
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from public_files import ALL, UNDERSTANDING, made
from scipy import stats
from scipy.stats import pearsonr

from salon.bench import TASKS, MetricResult, PosterFile, PosterReport, PosterScoreSettings, score_files, task_named
from salon.bench.posters import item as boxes
from salon.bench.posters.contestants import fill_responses
from salon.bench.posters.metrics import pearson, worst_filled

QUICK = PosterScoreSettings(draws=100)
OPTIONS = [task.name for task in TASKS if task.side == "understanding" and any(m.k for m in task.metrics)]


@cache
def filled(name: str, contestant: str, n: int = 12) -> PosterFile:
    return fill_responses(made(name, n), contestant)  # type: ignore[arg-type]


def metrics(*files: PosterFile) -> dict[str, MetricResult]:
    return {one.id: one for task in score_files(files, QUICK).tasks for one in task.metrics}


def values(*files: PosterFile) -> dict[str, float]:
    return {id: one.figure.value for id, one in metrics(*files).items() if one.figure is not None}


def report(contestant: str, n: int = 12) -> PosterReport:
    return score_files([filled(name, contestant, n) for name in ALL], QUICK)


# -- must show ---------------------------------------------------------------------------------------------------------


def test_all_right_and_all_wrong_have_the_bound_of_every_share() -> None:
    """[(α/2)^(1/n), 1]: twelve of twelve, two-sided at 95%, as Clopper and Pearson have it."""
    least = stats.binomtest(12, 12).proportion_ci(0.95, method="exact").low
    assert least == pytest.approx(0.025 ** (1 / 12))
    for said, low, high in (("Yes", pytest.approx(least), 1.0), ("No", 0.0, pytest.approx(1 - least))):
        file = made("gen_dense").edited({number: {"judge": [said] * 3} for number in range(12)})
        (task,) = score_files([file], QUICK).tasks
        for figure in (*(metric.figure for metric in task.metrics), *(kind.met for kind in task.points)):
            assert figure is not None
            assert (figure.low, figure.high, figure.method) == (low, high, "exact bound for 12 items alike")


@pytest.mark.parametrize("boxes", ["share", "percent", "thousand", "pixel"])
def test_a_perfect_contestant_is_worth_one(boxes: str) -> None:
    names = UNDERSTANDING if boxes == "share" else ("text_localization", "layout_generation")
    for name in names:
        found = score_files(
            [fill_responses(made(name), "perfect", boxes=boxes)], PosterScoreSettings(draws=200, boxes=boxes)
        ).tasks[0]
        assert (found.missing, found.unread, found.bad_boxes, found.owed) == (0, {}, 0, 0)
        for metric in found.metrics:
            wanted = 0.0 if metric.better == "low" else 1.0
            assert metric.figure is not None
            assert metric.figure.value == pytest.approx(wanted, abs=1e-9), (name, metric.id)


def test_a_perfect_generator_too() -> None:
    for name in ("gen_dense", "gen_font", "gen_style", "gen_composition", "gen_intention"):
        assert set(values(filled(name, "perfect")).values()) == {1.0}


@pytest.mark.parametrize("name", OPTIONS)
def test_a_random_contestant_is_worth_nothing_within_its_interval(name: str) -> None:
    for metric in metrics(filled(name, "random", 300)).values():
        if metric.k is None:
            continue
        assert metric.figure is not None
        assert metric.figure.low <= 0 <= metric.figure.high, (name, metric)  # type: ignore[operator]
        assert metric.chance == 0


@pytest.mark.parametrize("name", UNDERSTANDING)
def test_listing_every_option_is_no_better_than_chance(name: str) -> None:
    for metric in metrics(filled(name, "list-everything", 36)).values():
        if metric.figure is not None and metric.chance is not None and metric.better == "high":
            assert metric.figure.value <= metric.chance + 1e-12, (name, metric.id)


@pytest.mark.parametrize("name", OPTIONS)
def test_one_answer_for_all_is_at_chance_on_balanced_files(name: str) -> None:
    k = task_named(name).metrics[0].k or 1
    assert values(filled(name, "always-a", 48 * k if name == "font_effect_2" else 4 * k))[
        task_named(name).metrics[0].id
    ] == pytest.approx(0, abs=1e-9)


def test_silence_is_worth_less_than_chance() -> None:
    found = report("empty")
    worst = {"bias": math.sqrt(2), "sd": 0.0, "pearson": -1.0}
    for task in found.tasks:
        assert task.missing == task.items
        for metric in task.metrics:
            assert metric.figure is not None
            floor = -1 / (metric.k - 1) if metric.k and metric.id != "effect" else worst.get(metric.id, 0.0)
            assert metric.figure.value == pytest.approx(floor, abs=0.05 if metric.id == "effect" else 1e-6)


@settings(max_examples=40)
@given(data=st.data())
def test_deleting_answers_never_raises_a_score(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(UNDERSTANDING))
    start = filled(name, data.draw(st.sampled_from(["perfect", "random", "always-a", "list-everything"])))
    mixed = _mixed(start, filled(name, "perfect"), data.draw(st.sets(st.integers(0, 11))))
    gone = data.draw(st.sets(st.integers(0, 11), min_size=1))
    before, after = metrics(mixed), metrics(mixed.edited({i: {"response": None} for i in gone}))
    for id, metric in before.items():
        if id == "sd":  # a spread is no score
            continue
        assert metric.figure is not None and after[id].figure is not None  # noqa: PT018
        better, worse = metric.figure.value, after[id].figure.value
        better, worse = (better, worse) if metric.better == "high" else (-better, -worse)
        assert worse <= better + 1e-6, (name, id, gone)


def _mixed(one: PosterFile, other: PosterFile, taken: set[int]) -> PosterFile:
    held = {i: {key: other.records[i].get(key) for key in ("response", "judge")} for i in taken}
    return one.edited(held)


# -- by hand -----------------------------------------------------------------------------------------------------------


def answers(name: str, said: list[str], n: int = 0) -> PosterFile:
    file = made(name, n or len(said))
    return file.edited({i: {"response": text} for i, text in enumerate(said)})


def test_k_options_by_hand() -> None:
    # gt A B C D A B C D: 5 of 8 right, k = 4: (4 * 5/8 - 1) / 3 = 0.5
    assert values(answers("font_effect", list("ABCDAAAA")))["score"] == pytest.approx(0.5)
    # halves of font matching, 3 items each: 3/3 and 0/3, mean 1/2, k = 9: (4.5 - 1) / 8
    assert values(answers("font_matching", list("ABCAAA")))["score"] == pytest.approx((9 * 0.5 - 1) / 8)


def test_effects_by_hand() -> None:
    # item 0: black? gt [azure, stone]; item 1: gt [black-like color, ice cubes, neon-light]
    file = made("font_effect_2", 2)
    (c0, _), (_, *e1) = (file.items[i].truth for i in range(2))
    found = values(answers("font_effect_2", [json.dumps([c0, "stone", "fur"]), f"no color, {e1[0]}"]))
    # effects: 1 of max(1, 2) named; 1 of max(2, 2) -> with "no color" as a second name: acc (1/2 + 1/2)/2, c = 3/96
    assert found["effect"] == pytest.approx((0.5 - 3 / 96) / (1 - 3 / 96))
    assert found["color"] == pytest.approx((16 * 0.5 - 1) / 15)


def test_word_recall_by_hand() -> None:
    # "Orangebridge0underWinter0SAILSquietly0pastlemon0gardenwalls0": 60 characters, 12 units
    found = values(answers("simple_ocr", ["Orange bridge0\nunder Winter0"], 2))
    assert found["wr"] == pytest.approx(5 / 12 / 2)  # Orang ebrid ge0un derWi nter0, and a silent second item


def test_sizes_are_averaged_and_spread_by_hand() -> None:
    file = made("font_size_ocr", 28)  # 14 sizes, twice each
    only = file.edited({i: {"response": file.records[i]["gt"]} for i in range(14) if i % 2 == 0})
    found = score_files([only], QUICK)
    assert found.tasks[0].metrics[0].figure.value == pytest.approx(0.25)  # type: ignore[union-attr]
    assert found.tasks[0].metrics[1].figure.value == pytest.approx(np.std([0.5, 0] * 7, ddof=1))  # type: ignore[union-attr]
    curve = found.curves[0]
    assert [point.x for point in curve.points] == list(range(15, 81, 5))
    assert [point.figure.value for point in curve.points] == pytest.approx([0.5, 0] * 7)


def test_boxes_by_hand() -> None:
    assert boxes.iou((0, 0, 0.5, 1), (0.25, 0, 0.75, 1)) == pytest.approx(1 / 3)
    assert boxes.iou((0, 0, 0.5, 1), (0.5, 0, 1, 1)) == 0
    assert boxes.area_ratio((0, 0, 0.5, 1), (0, 0, 1, 1)) == 0.5
    swapped = made("text_localization", 1)
    truth = list(swapped.items[0].truth)
    truth[0], truth[1] = truth[1], truth[0]
    found = values(swapped.edited({0: {"response": json.dumps(truth[:3])}}))
    assert (found["top1"], found["recall"]) == (0.0, 0.75)
    assert found["top3"] == pytest.approx(1 / 3)
    assert found["mean"] == pytest.approx(1 / 4)
    assert found["assigned"] == pytest.approx(3 / 4)


def test_layouts_by_hand() -> None:
    file = made("layout_generation", 2)  # one box, then two; the second of them is not given
    (x1, y1, x2, y2), *_ = file.items[0].truth
    moved = [x1 + 0.03, y1 + 0.04, x2 + 0.03, y2 + 0.04]
    first = file.items[1].truth[0]
    found = values(file.edited({0: {"response": json.dumps([moved])}, 1: {"response": json.dumps([first])}}))
    assert found["bias"] == pytest.approx((0.05 + (0 + math.sqrt(2)) / 2) / 2)
    assert found["area"] == pytest.approx((1 + 0.5) / 2)
    assert found["recall"] == pytest.approx((1 + 0.5) / 2)


def test_patches_by_hand() -> None:
    # gt {0,1,2,3} and {1,2,3,4,5}: {0,1,2,9} is 3 of 5; {1,1,2,3,4} is 4 of 5, and not five of them
    found = values(answers("empty_space", ["[0, 1, 2, 9]", "[1, 1, 2, 3, 4]"]))
    assert found == {"iou": pytest.approx((3 / 5 + 4 / 5) / 2), "match": 0.5}


def test_points_by_hand_and_what_a_judge_owes() -> None:
    file = answers("composition_understanding", ["prose"] * 4).edited(
        {0: {"judge": ["Yes", "Yes."]}, 1: {"judge": ["Yes", "No"]}, 2: {"judge": ["yes", "Error 500"]}}
    )
    task = score_files([file], QUICK).tasks[0]
    share, strict = task.metrics
    assert (share.figure.value, strict.figure.value) == ((1 + 0.5 + 0.5 + 0) / 4, 0.25)  # type: ignore[union-attr]
    assert (share.at_best, strict.at_best) == ((1 + 0.5 + 1 + 1) / 4, 0.75)
    assert task.owed == 3


def test_made_posters_that_are_not_there_fail(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = filled("gen_dense", "perfect")
    place = tmp_path / "images" / "gen_dense" / "0003.png"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"")
    task = score_files([file], QUICK, pictures=tmp_path).tasks[0]
    assert task.metrics[0].figure.value == pytest.approx(1 / 12)  # type: ignore[union-attr]
    assert (task.missing, task.no_picture) == (11, 11)


def test_groups_are_means_of_means() -> None:
    found = report("perfect")
    assert {one.group: one.metrics for one in found.groups} == {
        "OCR": 5, "Font": 5, "Layout": 10, "Understanding": 3, "Rating": 1, "Generation": 5,
    }  # fmt: skip
    assert found.overall.value == 1.0  # type: ignore[union-attr]
    assert all(one.figure.low < 1 for one in found.groups if one.group not in ("Rating",))  # type: ignore[union-attr, operator]
    part = score_files([filled("logo_ocr", "perfect"), filled("alignment", "empty")], QUICK)
    assert part.overall.value == pytest.approx((1 - 0.5) / 2)  # type: ignore[union-attr]
    assert "poster_ocr.share" in part.groups[0].absent


def test_numbers_do_not_depend_on_other_files_or_on_their_order() -> None:
    alone = score_files([filled("alignment", "random")], QUICK).tasks[0]
    files = [filled(name, "random") for name in UNDERSTANDING]
    assert score_files(files, QUICK).tasks[UNDERSTANDING.index("alignment")] == alone
    turned = score_files(files[::-1], QUICK)
    assert turned.overall == score_files(files, QUICK).overall


# -- correlation -------------------------------------------------------------------------------------------------------


def test_ratings_are_pearsons_correlation() -> None:
    file = filled("overall_rating", "random", 40)
    x = [float(record["response"]) for record in file.records]
    y = [record["gt"] for record in file.records]
    assert values(file)["pearson"] == pytest.approx(pearsonr(x, y).statistic)
    assert values(filled("overall_rating", "always-a"))["pearson"] == 0


def test_no_filling_in_is_worse_than_the_worst() -> None:
    rng = np.random.default_rng(5)
    for case in range(30):
        y = rng.uniform(2, 9, 8)
        x = np.clip(rng.choice([1, -1]) * (y - 5) * rng.uniform(0.1, 1) + 5 + rng.normal(0, 0.5 + case % 3, 8), 0, 10)
        x[rng.choice(8, 3, replace=False)] = np.nan
        filled_in = worst_filled(x, y)
        assert ((filled_in >= 0) & (filled_in <= 10) & (np.isnan(x) | (filled_in == x))).all()
        least = pearson(filled_in, y)
        axis = np.linspace(0, 10, 21)
        grid = np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3)
        tried = np.repeat(x[None], len(grid), 0)
        tried[:, np.isnan(x)] = grid
        dx, dy = tried - tried.mean(1, keepdims=True), y - y.mean()
        all_r = dx @ dy / np.sqrt((dx**2).sum(1) * (dy @ dy))
        assert least is not None
        assert least <= all_r.min() + 1e-9
