"""Mean rewards by generator and category, and the report on one generator (bench/rewards.py)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arena_study import GENERATORS, SCORES, arena_study
from browser import chromium, page_faults
from click.testing import CliRunner

from salon.bench import RewardTables, RewardTableSettings, reward_page, reward_tables
from salon.cli.main import salon
from salon.errors import BadValue, DesignError, TooFew, UnknownReference
from salon.report import disagreements
from salon.report.values import numbers_in
from salon.store import open_study, save_study
from salon.study import Item, Prompt, ScorerCard, Study

__all__ = ["chromium"]

PROMPTS = 24


def scored(folder: Path, name: str, values: dict[str, float | None], **card: object) -> None:
    (folder / "scores").mkdir(exist_ok=True)
    pq.write_table(pa.table({"item": list(values), "value": list(values.values())}), folder / f"scores/{name}.parquet")
    if card:
        run = {
            "scorer": name, "items": 1, "scored": 1, "unscored": {}, "reused": 0, "low": 0, "high": 1, "data": "x",
            "card": ScorerCard(**card).model_dump(mode="json"), "signature": f"{name}|1", "file": "x",
        }  # fmt: skip
        (folder / f"scores/{name}.json").write_text(json.dumps(run))


def drawn(criterion: str, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {
        f"p{p}-{g}": SCORES[criterion][k] + float(rng.normal(0, 0.8))
        for p in range(PROMPTS)
        for k, g in enumerate(GENERATORS)
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_study(arena_study(prompts=PROMPTS, raters=1, simulated=True), tmp_path / "study")
    for seed, criterion in enumerate(SCORES):
        scored(tmp_path / "study", criterion, drawn(criterion, seed), is_logit=True)
    return tmp_path / "study"


def tables(folder: Path, missing: str = "refuse", **more: object) -> RewardTables:
    return reward_tables(open_study(folder), folder, RewardTableSettings(missing=missing), **more)


def test_means_are_those_of_the_prompts_and_the_planted_order_is_found(folder: Path) -> None:
    made = tables(folder)
    assert [(board.scorer, board.category) for board in made.boards] == [
        (scorer, category) for scorer in ("color", "type") for category in (None, "mug", "poster")
    ]
    values = drawn("color", 0)
    for board in made.boards[:3]:
        rows = [p for p in range(PROMPTS) if board.category in (None, "poster" if p % 2 else "mug")]
        assert board.prompts == len(rows)
        for place in board.places:
            assert place.mean.value == pytest.approx(np.mean([values[f"p{p}-{place.generator}"] for p in rows]))
    for scorer, scores in SCORES.items():
        best = made.boards[0 if scorer == "color" else 3]
        planted = [GENERATORS[k] for k in np.argsort(scores)[::-1]]
        for place in best.places:
            assert place.rank_low <= 1 + planted.index(place.generator) <= place.rank_high
    report = {board.scorer: place.verdict for board, place in made.of("ada") if board.category is None}
    assert report == {"color": "ahead", "type": "behind"}


@pytest.mark.parametrize("item", [f"p{p}-{g}" for p in (0, 7) for g in GENERATORS])
@pytest.mark.parametrize("how", ["unscored", "not listed"])
def test_taking_away_a_picture_never_raises_a_mean(folder: Path, item: str, how: str) -> None:
    before = {(b.scorer, b.category, p.generator): p.mean.value for b in tables(folder).boards for p in b.places}
    values: dict[str, float | None] = drawn("color", 0)
    if how == "unscored":
        values[item] = None
    else:
        del values[item]
    scored(folder, "color", values)
    after = tables(folder)
    for board in after.boards:
        for place in board.places:
            was = before[board.scorer, board.category, place.generator]
            assert place.mean is None or place.mean.value <= was
            assert (place.mean is None) == (place.lacking > 0)
    gone = next(p for p in after.boards[0].places if p.generator == item.split("-")[1])
    assert (gone.mean, gone.rank, gone.lacking, gone.verdict) == (None, None, 1, "no mean")
    shared = tables(folder, "shared").boards[0]
    assert (shared.prompts, shared.left_out) == (PROMPTS - 1, 1)
    assert all(place.mean is not None for place in shared.places)


def test_another_generator_moves_no_mean(folder: Path, tmp_path: Path) -> None:
    before = {p.generator: p.mean for p in tables(folder).boards[0].places}
    scored(folder, "color", {item: value for item, value in drawn("color", 0).items() if not item.endswith("di")})
    after = {p.generator: p.mean for p in tables(folder).boards[0].places}
    assert after["di"] is None
    assert {name: after[name] for name in ("ada", "bo", "cy")} == {name: before[name] for name in ("ada", "bo", "cy")}


@pytest.mark.browser
def test_pages_hold_the_numbers_of_the_json(folder: Path, chromium, tmp_path: Path) -> None:
    made = tables(folder)
    for generator in (None, "bo"):
        html = reward_page(made, generator).html()
        assert disagreements(html, made.model_dump(mode="json")) == []
        assert "Simulated study" in html
        assert page_faults(chromium, html, tmp_path) == []
    assert "Quality report: bo" in html
    assert {"rank", "rank_low", "rank_high"} <= {key.rsplit(".", 1)[1] for key, _ in numbers_in(html)}
    assert html.count('data-key="boards.') >= 6 * 3


def test_at_the_terminal(folder: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(salon, ["bench", "rewards", str(folder), "-g", "bo", "--html", str(tmp_path / "bo.html")])
    assert run.exit_code == 0, run.output
    assert "not told apart" in run.output or "ahead" in run.output
    assert "policy: Missing" in run.output
    assert (tmp_path / "bo.html").is_file()
    told = CliRunner().invoke(salon, ["bench", "rewards", str(folder), "-s", "color", "--all-together", "--json"])
    assert [board["scorer"] for board in json.loads(told.output)["boards"]] == ["color"]


def test_what_is_refused(folder: Path) -> None:
    with pytest.raises(UnknownReference, match="color, type"):
        tables(folder, names=["beauty"])
    scored(folder, "noise", drawn("color", 0), higher_is_better=False)
    with pytest.raises(DesignError, match="higher"):
        tables(folder, names=["noise"])
    assert {board.scorer for board in tables(folder).boards} == {"color", "type"}  # by itself it is left out
    for value in (float("inf"), float("nan")):
        scored(folder, "odd", {"p0-ada": value})
        with pytest.raises(BadValue, match="finite"):
            tables(folder, names=["odd"])
    scored(folder, "odd", {"elsewhere": 1.0})
    with pytest.raises(BadValue, match="other items"):
        tables(folder, names=["odd"])
    with pytest.raises(TooFew, match="table of scores"):
        reward_tables(open_study(folder), folder / "nowhere")
    run = CliRunner().invoke(salon, ["bench", "rewards", str(folder), "-g", "nobody"])
    assert run.exit_code != 0


def test_an_item_that_the_study_does_not_even_list_is_missing_too(folder: Path, tmp_path: Path) -> None:
    """Of two pictures a prompt, a generator that hands in only its better one has no mean."""
    base = open_study(folder)
    items = base.table("items").to_pylist()
    twice = [row | {"id": f"{row['id']}-2"} for row in items]
    kept = [row for row in twice if row["id"] != "p3-cy-2"]
    study = Study.build(
        "twice",
        base.criteria,
        tables={
            "prompts": [Prompt(id=f"p{p}", text="x") for p in range(PROMPTS)],
            "items": [Item(id=row["id"], prompt=row["prompt"], generator=row["generator"]) for row in (*items, *kept)],
        },
    )
    save_study(study, tmp_path / "twice")
    values = {row["id"]: (-9.0 if row["id"].endswith("-2") else 1.0) for row in (*items, *twice)}
    scored(tmp_path / "twice", "color", {id: value for id, value in values.items() if id != "p3-cy-2"})
    [board] = tables(tmp_path / "twice").boards
    lacking = {place.generator: (place.mean and place.mean.value, place.lacking) for place in board.places}
    assert lacking == {"ada": (-4.0, 0), "bo": (-4.0, 0), "di": (-4.0, 0), "cy": (None, 1)}
