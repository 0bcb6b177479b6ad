"""salon distill ablate: the grid, cells that are kept, intervals over seeds, with a trainer that costs nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browser import chromium, page_faults
from click.testing import CliRunner
from scipy import stats

from salon.cli.distill import ablate as command
from salon.errors import BadValue, InputError
from salon.evaluate import (
    Evaluation,
    PseudoScores,
    ScoreEvaluationSettings,
    ScoreQuestion,
    evaluate_scores,
    read_pseudo_scores,
    write_pseudo_scores,
)
from salon.judge import SCORE_COLUMNS, JudgeSpec
from salon.report import disagreements
from salon.store import save_study
from salon.study import Criterion, Item, Rater, Rating, Scale, Study
from salon.train import AblateReport, AblateSettings, ablation_page
from salon.train.ablation import Ablation, ablate, make_cells, over_seeds
from salon.train.ablation_results import AblationCell

__all__ = ["chromium"]

ITEMS = tuple(f"i{n}" for n in range(24))
TRUTH = np.random.default_rng(0).uniform(1.2, 4.8, len(ITEMS))
GRID = AblateSettings(weigh=("gap", "none"), pool=(6,), opponents=(2, 5), seeds=(0, 1, 2))
NOISE = {"gap": 0.4, "none": 1.2}
"""Of the trainer below: training without confidence weights is noisier."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ablate") / "study"
    tables = {
        "items": [Item(id=item, category="ab"[n % 2]) for n, item in enumerate(ITEMS)],
        "raters": [Rater(id="r")],
        "ratings": [Rating(criterion="c", rater="r", item=item, value=float(v)) for item, v in zip(ITEMS, TRUTH)],
    }
    save_study(Study.build("small", [Criterion(id="c", scale=Scale(low=1, high=5))], tables=tables), folder)
    return folder


class Made:
    """Stand-ins for labels, training and test, which count how often they are called."""

    def __init__(self, home: Path) -> None:
        self.home, self.labelled, self.trained, self.stop_at = home, 0, 0, -1

    def label(self, cell: AblationCell, place: Path) -> None:
        self.labelled += 1
        noise = np.random.default_rng([cell.seed, 1]).normal(0, 1 / cell.opponents, len(ITEMS))
        values = np.clip(TRUTH + noise, 1, 5)[:, None]
        write_pseudo_scores(place, PseudoScores(ITEMS, ("c",), values, np.full_like(values, np.nan), 1, 5, "bridge"))

    def train(self, cell: AblationCell, labels: Path, place: Path) -> None:
        if self.trained == self.stop_at:
            raise KeyboardInterrupt
        self.trained += 1
        rng = np.random.default_rng([cell.seed, 2])
        known = read_pseudo_scores(labels)
        values = np.clip(known.values[:, 0] + rng.normal(0, NOISE[cell.weigh], len(known.items)), 1, 5)
        place.mkdir()
        nothing = [None] * len(values)
        pq.write_table(pa.table([list(known.items), values, nothing, nothing], SCORE_COLUMNS), place / "scores.parquet")

    def test(self, cell: AblationCell, place: Path) -> Evaluation:
        (self.home / "scores").mkdir(exist_ok=True)
        (self.home / "scores" / "one.parquet").write_bytes((place / "scores.parquet").read_bytes())
        return evaluate_scores(self.home, ScoreQuestion(["one"]), ScoreEvaluationSettings(draws=100, within="all"))

    def run(self, out: Path, settings: AblateSettings = GRID) -> AblateReport:
        fixed = Ablation(self.home, "tiny")
        return ablate(fixed, out, settings, label=self.label, train=self.train, test=self.test)


@pytest.fixture(scope="module")
def done(home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Made, Path, AblateReport]:
    made, out = Made(home), tmp_path_factory.mktemp("grid") / "out"
    made.stop_at = 4
    with pytest.raises(KeyboardInterrupt):
        made.run(out)
    made.stop_at = -1
    return made, out, made.run(out)


def test_one_factor_at_a_time() -> None:
    cells = make_cells(GRID)
    assert len(cells) == 9
    assert {(cell.weigh, cell.opponents) for cell in cells} == {("gap", 2), ("none", 2), ("gap", 5)}
    with pytest.raises(BadValue, match="each once"):
        make_cells(GRID.model_copy(update={"pool": (6, 6)}))
    with pytest.raises(BadValue):
        make_cells(GRID.model_copy(update={"weigh": ("sometimes",)}))


def test_a_cell_is_done_once_and_labels_are_shared(done: tuple[Made, Path, AblateReport]) -> None:
    made, out, report = done
    assert (made.trained, made.labelled) == (9, 6)  # weighing needs no labels of its own; nothing was done twice
    again = made.run(out)
    assert made.trained == 9
    assert again == report
    assert len(report.cells) == 9


def test_intervals_are_over_seeds(done: tuple[Made, Path, AblateReport]) -> None:
    report = done[2]
    reference, none = report.rows[:2]
    by_seed = {(one.cell.weigh, one.cell.opponents, one.cell.seed): one.srcc for one in report.cells}
    own = [by_seed["gap", 2, seed] for seed in GRID.seeds]
    low, high = stats.t.interval(0.95, 2, np.mean(own), stats.sem(own))
    assert high > 1  # which no correlation is
    assert (reference.srcc.low, reference.srcc.value, reference.srcc.high) == pytest.approx((low, np.mean(own), 1.0))
    gaps = [by_seed["none", 2, seed] - by_seed["gap", 2, seed] for seed in GRID.seeds]
    assert none.difference.value == pytest.approx(np.mean(gaps))
    assert none.difference.value < 0  # the planted effect
    assert reference.difference is None


def test_one_seed_has_no_interval(home: Path, tmp_path: Path) -> None:
    report = Made(home).run(tmp_path / "one", GRID.model_copy(update={"seeds": (0,), "opponents": (2,)}))
    assert report.rows[0].srcc.low is None
    alike = over_seeds([0.0, 0.0, 0.0], 0.95, (-1.0, 1.0))  # three scorers that say the same of every item
    assert (alike.value, alike.low, alike.high, alike.n) == (0, None, None, 3)
    html = ablation_page(report).html()
    assert disagreements(html, report.model_dump(mode="json")) == []


@pytest.mark.browser
def test_the_page_says_what_the_json_says(done: tuple[Made, Path, AblateReport], chromium, tmp_path: Path) -> None:
    report = done[2]
    html = ablation_page(report).html()
    assert disagreements(html, json.loads(report.model_dump_json())) == []
    assert "confidence weights: none" in html
    assert page_faults(chromium, html, tmp_path) == []


def test_labels_are_those_of_salon_distill_label(home: Path, tmp_path: Path) -> None:
    made, few = Made(home), GRID.model_copy(update={"weigh": ("gap",), "opponents": (2,), "seeds": (0,)})
    grid = few.model_copy(update={"source": ("bridge", "pointwise"), "category": ("", "a")})
    fixed = Ablation(home, "tiny", JudgeSpec(simulated="accuracy=0.9"), labels={"across": True, "low": 1, "high": 5})
    report = ablate(fixed, tmp_path / "out", grid, train=made.train, test=made.test)
    calls = {(row.factor, row.value): row.calls for row in report.rows}
    assert calls[report.rows[0].factor, report.rows[0].value] == 15 + 18 * 2  # C(6, 2) + (24 - 6) x 2
    assert calls["source", "pointwise"] == 24
    assert calls["category", "a"] == 15 + 6 * 2
    names = {path.name for path in (tmp_path / "out" / "labels").iterdir()}
    assert names == {
        "source-bridge_pool-6_opponents-2_category-all_seed-0",
        "source-pointwise_pool-6_opponents-2_category-all_seed-0",
        "source-bridge_pool-6_opponents-2_category-a_seed-0",
    }


def test_what_cannot_be_is_refused_before_anything_is_spent(
    home: Path, tmp_path: Path, done: tuple[Made, Path, AblateReport]
) -> None:
    made = Made(home)
    with pytest.raises(BadValue, match="category"):
        made.run(tmp_path / "a", GRID.model_copy(update={"category": ("", "z")}))
    with pytest.raises(BadValue, match="opponents"):
        made.run(tmp_path / "a", GRID.model_copy(update={"opponents": (7,)}))
    assert made.labelled == 0
    with pytest.raises(InputError, match="this ablation"):
        ablate(Ablation(home, "another"), done[1], GRID)
    told = CliRunner().invoke(command, [str(home), "--vlm", "x", "-o", str(tmp_path / "b"), "--set", "steps"])
    assert told.exit_code != 0
    assert "NAME=VALUE" in str(told.exception)
