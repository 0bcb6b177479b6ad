"""`salon score IMAGES`: folders and Parquet files of pictures, by any scorer."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from PIL import Image

from salon.cli.score import score
from salon.errors import BadColumns, BadFile, BadValue, InputError
from salon.judge import open_pictures, picture_scores as scoring

RNG = np.random.default_rng(5)


def png(size=96):
    sink = io.BytesIO()
    Image.fromarray(RNG.integers(0, 255, (size, size, 3), dtype=np.uint8)).save(sink, "PNG")
    return sink.getvalue()


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "renders"
    (place / "b").mkdir(parents=True)
    for name in ("a.png", "b/c.png", "b/.hidden.png", "d.jpg"):
        (place / name).write_bytes(png())
    (place / "d.jpg").write_bytes(b"\xff\xd8 broken")
    (place / "notes.txt").write_text("no picture")
    return place


def run(*arguments):
    return CliRunner().invoke(score, [str(one) for one in arguments], catch_exceptions=False)


def column(path, name):
    return pq.read_table(path).column(name).to_pylist()


def test_a_folder_is_scored_by_name_and_a_broken_file_stays_with_its_reason(folder):
    done = run(folder, "-s", "naturalness", "--json")
    (told,) = json.loads(done.output)["scorers"]
    assert done.exit_code == 0
    assert (told["items"], told["scored"]) == (3, 2)
    table = folder.with_name(f"{folder.name}-scores") / "naturalness.parquet"
    assert column(table, "item") == ["a.png", "b/c.png", "d.jpg"]
    assert "cannot be read" in column(table, "unscored")[2]
    assert json.loads(table.with_suffix(".json").read_text())["data"] == told["data"]
    assert [path.name for path in table.parent.iterdir() if path.is_dir()] == []  # no shards are left behind
    told = run(folder, "-s", "naturalness").output
    assert f"in {folder}-scores" in told
    assert all(path.name in told for path in folder.glob("*.png")), "few pictures are printed one by one"
    assert not (folder / "scores").exists(), "nothing is written among the pictures"


def test_bytes_paths_and_structs_in_parquet_give_what_the_files_give(folder, tmp_path):
    run(folder, "-s", "naturalness", "-o", tmp_path / "files")
    wanted = column(tmp_path / "files" / "naturalness.parquet", "value")[:2]
    data = [(folder / name).read_bytes() for name in ("a.png", "b/c.png")]
    forms = {
        "bytes": pa.array(data),
        "path": pa.array(["renders/a.png", "renders/b/c.png"]),
        "struct": pa.array([{"bytes": one, "path": None} for one in data]),
    }
    for form, cells in forms.items():
        table = pa.table({"image": pa.concat_arrays([cells, pa.nulls(1, cells.type)]), "prompt": ["x"] * 3})
        pq.write_table(table, tmp_path / f"{form}.parquet", row_group_size=2)
        assert run(tmp_path / f"{form}.parquet", "-s", "naturalness").exit_code == 0
        made = tmp_path / f"{form}-scores" / "naturalness.parquet"
        assert column(made, "value") == [*wanted, None]
        assert column(made, "unscored")[2] == "the item has no picture"
    assert column(tmp_path / "bytes-scores" / "naturalness.parquet", "item") == ["0", "1", "2"]
    assert column(tmp_path / "path-scores" / "naturalness.parquet", "item")[0] == "renders/a.png"


def test_prompts_come_from_beside_from_a_file_or_for_all(folder, tmp_path):
    (folder / "metadata.csv").write_text('file_name,text\na.png,a fox\n"b/c.png","an owl, grey"\n')
    assert [one.prompt and one.prompt.text for one in open_pictures(folder)] == ["a fox", "an owl, grey", None]
    assert {one.prompt.view(("intent",)) for one in open_pictures(folder, prompt="a tea house")} == {"a tea house"}
    given = tmp_path / "mine.jsonl"
    given.write_text('{"image": "a.png", "intent": "sell tea", "aesthetics": "calm"}\n')
    first, *_ = open_pictures(folder, prompts=given)
    assert first.prompt.view() == "sell tea\n\ncalm"


def test_an_interrupted_run_goes_on_where_it_stopped(folder, tmp_path, monkeypatch):
    source = open_pictures(folder)
    monkeypatch.setattr(scoring, "_PICTURES_PER_TASK", 1)
    settings = scoring.ScoreSettings(batch=1)

    def stop(done, wanted):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scoring.score_pictures(source, tmp_path / "out", "naturalness", settings, stop)
    assert not (tmp_path / "out" / "naturalness.parquet").exists()
    again = scoring.score_pictures(source, tmp_path / "out", "naturalness", settings)
    whole = scoring.score_pictures(source, tmp_path / "whole", "naturalness", settings)
    assert (again.reused, again.items, whole.reused) == (2, 3, 0)
    assert pq.read_table(tmp_path / "out/naturalness.parquet") == pq.read_table(tmp_path / "whole/naturalness.parquet")


def test_a_limit_takes_the_first(folder, tmp_path):
    run(folder, "-s", "naturalness", "--limit", 1, "-o", tmp_path / "out")
    assert column(tmp_path / "out" / "naturalness.parquet", "item") == ["a.png"]


def test_misuse(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    pq.write_table(pa.table({"picture": ["x"]}), tmp_path / "other.parquet")
    pq.write_table(pa.table({"image": [3]}), tmp_path / "numbers.parquet")
    with pytest.raises(BadFile, match="without pictures"):
        run(tmp_path / "empty", "-s", "naturalness")
    with pytest.raises(BadFile, match="a study, a folder of pictures"):
        run(tmp_path / "nowhere", "-s", "naturalness", "--prompt", "x")
    with pytest.raises(BadColumns, match="'image'"):
        run(tmp_path / "other.parquet", "-s", "naturalness")
    with pytest.raises(BadValue, match="paths or bytes"):
        run(tmp_path / "numbers.parquet", "-s", "naturalness")
    with pytest.raises(BadValue, match="both"):
        run(folder, "-s", "naturalness", "--prompt", "x", "--prompts", folder / "notes.txt")
    with pytest.raises(InputError, match="--criterion goes with --model"):
        run(folder, "-s", "naturalness", "--criterion", "c")
