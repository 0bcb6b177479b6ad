"""What must hold on sets drawn here: perfect is 1, chance is 0; lists, fixed answers and silence win nothing."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from public_files import ALL, made

from salon.bench import (
    MetricResult,
    PosterFile,
    PosterScoreSettings,
    find_files,
    score_files,
    task_named,
    with_released,
)
from salon.bench.posters.compat import k_norm
from salon.bench.posters.contestants import Name, fill_responses
from salon.bench.posters.files import new_file
from salon.bench.posters.make import MADE, make_tasks
from salon.bench.posters.make.sets import make_item

QUICK = PosterScoreSettings(draws=200)
SEEDS = 40
OPTIONS = tuple(name for name in MADE if any(metric.k for metric in task_named(name).metrics))


def size(name: str) -> int:
    """Whole packs of cards, so that every option is dealt equally often."""
    ks = [metric.k for metric in task_named(name).metrics if metric.k]
    k = math.lcm(*ks)
    return 6 if not ks else k if k > 17 else 2 * k if k > 4 else 4 * k


@cache
def drawn(name: str) -> PosterFile:
    """A made set of the task: its records, from the makers themselves."""
    records = [make_item(name, at, 3).record(f"{at:05d}", f"pictures/{at:05d}.png") for at in range(size(name))]
    return new_file(task_named(name), records)


def metrics(file: PosterFile) -> dict[str, MetricResult]:
    return {one.id: one for one in score_files([file], QUICK).tasks[0].metrics}


def figures(file: PosterFile) -> dict[str, float]:
    return {id: one.figure.value for id, one in metrics(file).items() if one.figure is not None}


@pytest.mark.parametrize("name", MADE)
def test_perfect_is_worth_one_on_made_sets(name: str) -> None:
    file = fill_responses(drawn(name), "perfect")
    task = score_files([file], QUICK).tasks[0]
    assert (task.missing, task.unread, task.bad_boxes, task.owed) == (0, {}, 0, 0)
    for metric in task.metrics:
        assert metric.figure is not None, metric.why
        assert metric.figure.value == pytest.approx(0.0 if metric.better == "low" else 1.0, abs=1e-9), metric.id


@pytest.mark.parametrize("name", OPTIONS)
def test_random_is_worth_nothing_on_made_sets(name: str) -> None:
    """Over forty seeds: 0 on average, and inside the interval about as often as the interval says."""
    tried = [metrics(fill_responses(drawn(name), "random", seed=seed)) for seed in range(SEEDS)]
    for id in (metric.id for metric in task_named(name).metrics if metric.k):
        found = [one[id].figure for one in tried]
        values = np.array([one.value for one in found if one is not None])
        assert abs(values.mean()) < 4 * values.std(ddof=1) / np.sqrt(SEEDS), (name, id)
        covered = np.mean([one.low <= 0 <= one.high for one in found if one is not None])  # type: ignore[operator]
        assert covered >= 0.8, (name, id)  # 0.95 is promised, of few items; with it, below 0.8 is rarer than 1 in 1,000


@pytest.mark.parametrize("name", OPTIONS)
def test_one_answer_for_all_is_at_chance_on_made_sets(name: str) -> None:
    for metric in metrics(fill_responses(drawn(name), "always-a")).values():
        if metric.k:
            assert metric.figure is not None
            assert metric.figure.value == pytest.approx(0, abs=1e-9), (name, metric.id)
            assert metric.fixed is None or metric.fixed == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("contestant", ["list-everything", "always-a"])
@pytest.mark.parametrize("name", MADE)
def test_listing_everything_is_never_better_than_chance_on_made_sets(name: str, contestant: Name) -> None:
    for metric in metrics(fill_responses(drawn(name), contestant)).values():
        if metric.figure is not None and metric.chance is not None and metric.better == "high":
            assert metric.figure.value <= metric.chance + 1e-9, (name, metric.id)


@settings(max_examples=60)
@given(data=st.data())
def test_deleting_responses_or_verdicts_never_raises_a_score(data: st.DataObject) -> None:
    """On every task of both sides, by whomever it was answered; groups and the overall score included."""
    name = data.draw(st.sampled_from(ALL))
    start = _answered(name, data.draw(st.sampled_from(["perfect", "random", "always-a", "list-everything"])))
    said = data.draw(st.lists(st.sampled_from(["Yes", "No", "maybe", ""]), min_size=3, max_size=3))
    start = start.edited({i: {"judge": said} for i in data.draw(st.sets(st.integers(0, 11)))})
    field = data.draw(st.sampled_from(["response", "judge"]))
    gone = data.draw(st.sets(st.integers(0, 11), min_size=1))
    before = score_files([start], QUICK)
    after = score_files([start.edited({i: {field: None} for i in gone})], QUICK)
    for one, other in zip(before.tasks[0].metrics, after.tasks[0].metrics):
        if one.id != "sd":  # a spread is no score
            assert one.figure is not None and other.figure is not None  # noqa: PT018
            sign = 1 if one.better == "high" else -1
            assert sign * other.figure.value <= sign * one.figure.value + 1e-6, (name, one.id, gone)
    for was, now in zip((*before.groups, before), (*after.groups, after)):
        was_figure, now_figure = (getattr(x, "figure", None) or getattr(x, "overall", None) for x in (was, now))
        assert was_figure is None or now_figure.value <= was_figure.value + 1e-6


@cache
def _answered(name: str, contestant: Name) -> PosterFile:
    return fill_responses(made(name), contestant)


def test_released_numbers_on_a_made_set() -> None:
    """Style is what layout comparison gives, four options are nine, and the house's own numbers stay 1."""
    names = ("font_effect", "layout_comparison", "style_understanding")
    files = [fill_responses(drawn(name), "perfect") for name in names]
    half = files[1].edited({i: {"response": "A"} for i in range(len(files[1].items))})
    told = with_released(score_files([files[0], half, files[2]], QUICK), [files[0], half, files[2]])
    released = {task.task: task.metrics[0].released for task in told.tasks}
    assert released["style_understanding"] == pytest.approx(k_norm(0.5, 17))
    assert figures(files[2])["score"] == 1.0
    always = fill_responses(drawn("font_effect"), "always-a")
    quarter = with_released(score_files([always], QUICK), [always]).tasks[0].metrics[0]
    assert (quarter.figure.value, quarter.released) == (pytest.approx(0), pytest.approx(0.15625))  # type: ignore[union-attr]


def test_a_set_on_disk_is_what_its_makers_say(tmp_path: Path) -> None:
    make_tasks(tmp_path, ["alignment"], 3, seed=3, processes=1)
    (file,) = find_files([tmp_path])
    assert [item.truth for item in file.items] == [item.truth for item in drawn("alignment").items[:3]]
    assert all((tmp_path / item.path).is_file() for item in file.items)
