"""A sweep: every point with every seed, the lowest loss chosen, nothing made twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from planted import planted

from salon.errors import BadFile, BadValue
from salon.train import HeadSettings, SweepSettings, head_sweep
from salon.train.head_data import HeadData, head_data
from salon.train.head_sweep import SweepRun, run_sweep, sweep_table

HEADS = HeadSettings(axes=0, epochs=1, width=4)
STUDY = planted(prompts=16)


def data_of(settings: HeadSettings) -> HeadData:
    return head_data(STUDY.labels, STUDY.encoded, settings)


def test_the_grid_is_every_combination_once() -> None:
    grid = SweepSettings(widths=(4, 8, 4), dropouts=(0.0, 0.5), weight_decays=(0.1,), label_forms=("soft", "hard"))
    points = grid.points(HEADS)
    assert len(points) == 2 * 2 * 1 * 2
    assert {(one.width, one.dropout, one.labels) for one in points} == {
        (w, d, l) for w in (4, 8) for d in (0.0, 0.5) for l in ("soft", "hard")
    }
    assert len(SweepSettings().points(HEADS)) == 3 * 2 * 3 * 2  # the seed's own grid
    with pytest.raises(BadValue, match="raters"):
        SweepSettings(label_forms=("medium",))


def test_runs_are_kept_and_a_killed_line_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = SweepSettings(widths=(4,), dropouts=(0.0,), weight_decays=(0.0,)).points(HEADS)
    first, made = run_sweep(data_of, points, 2, tmp_path, about="x")
    assert made == 4
    again, made = run_sweep(data_of, points, 2, tmp_path, about="x")
    assert (again, made) == (first, 0)
    file = tmp_path / "runs.jsonl"
    file.write_text(file.read_text()[:-20])
    again, made = run_sweep(data_of, points, 2, tmp_path, about="x")
    assert (again, made) == (first, 1)
    assert len(file.read_text().splitlines()) == 4
    _, made = run_sweep(data_of, points[:1], 1, tmp_path, about="other data")
    assert made == 1
    file.write_text("nonsense\n" + file.read_text())
    with pytest.raises(BadFile, match=r"runs\.jsonl:1"):
        run_sweep(data_of, points, 1, tmp_path, about="x")


def test_the_lowest_mean_loss_is_chosen_and_spreads_are_by_hand() -> None:
    points = [HEADS, HEADS.model_copy(update={"width": 8})]
    runs = [
        [
            SweepRun(key="k", seed=n, validation_accuracy=a, validation_loss=l, best_pass=1)
            for n, (a, l) in enumerate(of)
        ]
        for of in (((0.6, 0.68), (0.7, 0.66)), ((0.5, 0.60), (0.6, 0.64)))
    ]
    first, second = sweep_table(points, runs)
    assert (first.settings["width"], first.chosen, second.chosen) == (8, True, False)
    assert first.loss == pytest.approx(0.62)
    assert first.accuracy_spread == pytest.approx(0.1 / 2**0.5)
    assert head_sweep.sweep_table(points[:1], [runs[0][:1]])[0].loss_spread is None
