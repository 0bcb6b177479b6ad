"""Pairs of a study on disk: from votes, fused scores and scorers, through the command, into files of both trainers."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import red_study
from click.testing import CliRunner
from PIL import Image

from salon.cli.select_decisions import pairs
from salon.errors import BadColumns, BadFile, DesignError, InputError, UnknownReference
from salon.judge import ScoreRun
from salon.select import (
    PairCandidate,
    PreferencePairSettings,
    fused_candidates,
    pair_export as flow,
    scorer_candidates,
    vote_candidates,
)
from salon.select.pair_export import _check_apart
from salon.store import save_study
from salon.study import ScorerCard, Study

PROMPTS = 8


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pictures for each of eight prompts; of five raters four prefer the redder one."""
    folder = tmp_path_factory.mktemp("red") / "study"
    study = red_study.study_in(folder, prompts=PROMPTS)
    place = folder.with_name("tables")
    save_study(study, place)
    for file in place.iterdir():
        file.rename(folder / file.name)
    return folder


@pytest.fixture(scope="module")
def study(folder: Path) -> Study:
    return red_study.study_in(folder.with_name("again"), prompts=PROMPTS)


def run(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(pairs, [*map(str, arguments), "--json"], catch_exceptions=False)
    return json.loads(done.output)


def redness(data: bytes) -> float:
    return float(np.asarray(Image.open(io.BytesIO(data)))[..., 0].mean())


def test_votes_become_rows_that_diffusers_reads(folder: Path, tmp_path: Path) -> None:
    report = run(folder, "-o", tmp_path / "pairs", "--train", 0.5, "--validation", 0.25, "--test", 0.25)
    assert report["candidates"] == report["pairs"] == 3 * PROMPTS
    assert report["simulated"] is True
    assert abs(report["first"] - 0.5) <= 1.5 / report["pairs"]
    tables = {split: pq.read_table(tmp_path / "pairs" / "diffusers" / f"{split}.parquet") for split, n in
              report["splits"].items() if n}  # fmt: skip
    assert {split: table.num_rows for split, table in tables.items()} == {
        k: n for k, n in report["splits"].items() if n
    }
    for row in pa.concat_tables(tables.values()).to_pylist():
        better, worse = (row["jpg_0"], row["jpg_1"]) if row["label_0"] == 1 else (row["jpg_1"], row["jpg_0"])
        assert row["label_0"] + row["label_1"] == 1
        assert redness(better) > redness(worse)
        assert row["caption"].startswith("intent")
        assert (row["margin"], row["margin_error"]) == (pytest.approx(0.6), pytest.approx(5**-0.5))
        assert (row["votes"], row["share"]) == (5, pytest.approx(0.8))
    captions = [set(table.column("caption").to_pylist()) for table in tables.values()]
    assert sum(map(len, captions)) == len(set.union(*captions))  # no prompt in two splits


def test_pairs_that_came_meanwhile_are_not_replaced(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, keep = tmp_path / "out", flow.select_pairs

    def overtaken(*given: Any) -> Any:
        out.mkdir()
        (out / "pairs.json").write_text("the first")
        return keep(*given)

    monkeypatch.setattr(flow, "select_pairs", overtaken)
    with pytest.raises(BadFile, match="only replaced when asked to"):
        run(folder, "-o", out)
    assert (out / "pairs.json").read_text() == "the first"


def test_the_question_of_trl_is_the_judge_s_and_its_answer_the_people_s(folder: Path, tmp_path: Path) -> None:
    run(folder, "-o", tmp_path / "pairs", "--format", "trl", "--train", 1, "--validation", 0, "--test", 0)
    assert not (tmp_path / "pairs" / "diffusers").exists()
    for row in pq.read_table(tmp_path / "pairs" / "trl" / "train.parquet").to_pylist():
        (message,) = row["prompt"]
        parts = message["content"]
        assert [part["type"] for part in parts].count("image") == 2
        text = " ".join(part["text"] or "" for part in parts)
        assert "Which has the mood?" in text
        assert "intent" in text
        better = json.loads(row["chosen"][0]["content"])["verdict"]
        assert better != json.loads(row["rejected"][0]["content"])["verdict"]
        a, b = (redness(image["bytes"]) for image in row["images"])
        assert better == ("A" if a > b else "B")


def test_fused_scores_and_scorers_order_pairs_too(folder: Path, study: Study, tmp_path: Path) -> None:
    items = list(study.nouns("items"))
    values = {item.id: redness((folder / str(item.image)).read_bytes()) / 255 for item in items}
    fused = [
        {"criterion": "mood", "group": item.prompt, "item": item.id, "value": values[item.id], "error": 0.02,
         "latent": values[item.id]} for item in items
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(fused), tmp_path / "fused.parquet")
    by_scores = run(folder, "-o", tmp_path / "one", "--scores", tmp_path / "fused.parquet", "--least-errors", 3,
                    "--format", "diffusers")  # fmt: skip
    assert by_scores["pairs"] + by_scores["dropped"]["gap too uncertain"] == 3 * PROMPTS
    assert by_scores["dropped"]["gap too uncertain"] > 0
    (folder / "scores").mkdir(exist_ok=True)
    table = [{"item": item, "value": -value, "sigma": None} for item, value in values.items()]
    pq.write_table(pa.Table.from_pylist(table[:-1]), folder / "scores" / "paleness.parquet")
    by_scorer = run(folder, "-o", tmp_path / "two", "--scorer", "paleness", "--most", 1, "--format", "diffusers")
    assert by_scorer["pairs"] == PROMPTS
    assert by_scorer["criteria"] == {"paleness": PROMPTS}
    row = pq.read_table(tmp_path / "two" / "diffusers" / "train.parquet").to_pylist()[0]
    better, worse = (row["jpg_0"], row["jpg_1"]) if row["label_0"] == 1 else (row["jpg_1"], row["jpg_0"])
    assert redness(better) < redness(worse)


def test_values_on_a_scale_where_lower_is_better_are_turned(study: Study, tmp_path: Path) -> None:
    rows = [{"criterion": "flag", "group": "q0", "item": f"0-{n}", "value": n, "latent": -n} for n in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "fused.parquet")
    found = fused_candidates(study, PreferencePairSettings(), tmp_path / "fused.parquet")
    assert {(one.chosen, one.rejected) for one in found} == {("0-0", "0-1"), ("0-0", "0-2"), ("0-1", "0-2")}


def test_a_scorer_s_numbers_where_lower_is_better_are_turned(folder: Path, study: Study) -> None:
    (folder / "scores").mkdir(exist_ok=True)
    items = [item.id for item in study.nouns("items")][:3]  # of one prompt
    rows = [{"item": item, "value": float(n), "sigma": None} for n, item in enumerate(items)]
    file = folder / "scores" / "flaws.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    card = ScorerCard(higher_is_better=False, criterion="mood")
    run = ScoreRun(scorer="flaws", items=3, scored=3, unscored={}, reused=0, low=0, high=2, card=card, data="",
                   signature="test", file=file.name)  # fmt: skip
    file.with_suffix(".json").write_text(json.dumps(run.model_dump(mode="json")))
    found = scorer_candidates(study, PreferencePairSettings(), folder, "flaws")
    a, b, c = items
    assert {(one.chosen, one.rejected) for one in found} == {(a, b), (a, c), (b, c)}
    file.unlink()


def test_copies_of_a_picture_are_found_by_their_looks(tmp_path: Path) -> None:
    """The second picture of a prompt is its first one saved again as a JPEG."""
    folder = tmp_path / "study"
    study = red_study.study_in(folder, prompts=4)
    rng = np.random.default_rng(3)
    for prompt in range(4):
        blocks = rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)
        image = Image.fromarray(blocks).resize((96, 96), Image.Resampling.BICUBIC)
        image.save(folder / "images" / f"{prompt}-0.png")
        image.resize((90, 90)).save(folder / "images" / f"{prompt}-1.png")
    save_study(study, tmp_path / "tables")
    for file in (tmp_path / "tables").iterdir():
        file.rename(folder / file.name)
    near = run(folder, "-o", tmp_path / "near", "--format", "diffusers")
    assert near["dropped"]["same picture"] == 4
    assert run(folder, "-o", tmp_path / "all", "--no-near", "--format", "diffusers")["pairs"] == 12


def test_leaks_are_refused() -> None:
    rows = [
        PairCandidate(criterion="c", group=split, split=split, a=f"{split}-a", b=f"{split}-b", gap=1.0, text="A  Fair")
        for split in ("train", "test")
    ]
    looks = {item: n for n, item in enumerate(item for row in rows for item in (row.a, row.b))}
    with pytest.raises(DesignError, match="prompt text"):
        _check_apart(rows, looks)
    with pytest.raises(DesignError, match="image"):
        _check_apart([row.model_copy(update={"text": row.group}) for row in rows], dict.fromkeys(looks, 7))


def test_bad_input_is_told(folder: Path, study: Study, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    with pytest.raises(BadFile, match="only replaced when asked"):
        run(folder, "-o", tmp_path / "there")
    with pytest.raises(UnknownReference, match="'modo'"):
        run(folder, "-o", tmp_path / "new", "--criterion", "modo")
    with pytest.raises(UnknownReference, match="table of scores"):
        run(folder, "-o", tmp_path / "new", "--scorer", "nobody")
    with pytest.raises(InputError, match="or by --scorer"):
        run(folder, "-o", tmp_path / "new", "--scorer", "a", "--scores", "b.csv")
    (tmp_path / "bare.csv").write_text("item,value\n0-0,1\n")
    with pytest.raises(BadColumns, match="'criterion'"):
        fused_candidates(study, PreferencePairSettings(), tmp_path / "bare.csv")
    assert not (tmp_path / "new").exists()
    assert len(vote_candidates(study, PreferencePairSettings(), ["mood"])) == 3 * PROMPTS
