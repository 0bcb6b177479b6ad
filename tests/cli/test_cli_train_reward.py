"""`salon train reward`: a study and a file in, a model folder out."""

import json
import subprocess
import sys
from itertools import islice

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from PIL import Image
from reward_example import INSTRUCTION, red_pairs, tiny

from salon.cli.train import train
from salon.errors import BadFile, BadValue, DesignError
from salon.evaluate import load_guard, text_key
from salon.models import load_model
from salon.store import picture_key, read_picture, save_study
from salon.study import Comparison, Criterion, Item, Prompt, Rater, Study
from salon.train import RewardSettings
from salon.train.reward_data import PairFile, pair_rows
from salon.train.run_folder import RunFolder, hold_run, read_log

SMALL = ["--steps", 2, "--batch", 4, "--at-once", 4, "--lr", 1e-3, "--pixels", 256, "--dropout", 0, "--save-every", 1]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli-reward")
    (folder / "asked.txt").write_text(INSTRUCTION)
    tiny(folder / "vlm")
    return folder


@pytest.fixture(scope="module")
def study(place):
    """Twelve prompts of two pictures, under two criteria, three raters."""
    prompts = [Prompt(id=f"p{n}", text=f"poster {n}") for n in range(12)]
    save_study(_study(prompts), place / "study")
    for number, prompt in enumerate(prompts):
        for side in "ab":
            picture = Image.linear_gradient("L").rotate(90 * (number % 4)).resize((24, 24)).convert("RGB")
            picture.putpixel((number, 3 if side == "a" else 9), (255, 0, 0))
            picture.paste(((37 * number + (90 if side == "a" else 0)) % 256, 9 * number, 99), (0, 0, 12, 6 + number))
            picture.save(place / "study" / f"{prompt.id}{side}.png")
    return place / "study"


def _study(prompts):
    items = [Item(id=f"{p.id}{side}", prompt=p.id, image=f"{p.id}{side}.png") for p in prompts for side in "ab"]
    raters = [Rater(id=name) for name in ("ada", "bo", "cy")]
    votes = [
        Comparison(rater=rater.id, criterion=id, a=f"{p.id}a", b=f"{p.id}b",
                   outcome="a" if (number + (rater.id == "cy")) % 3 else "b")
        for id in ("x/warm", "x/calm") for number, p in enumerate(prompts) for rater in raters
    ]  # fmt: skip
    criteria = [Criterion(id="x/warm", name="Warm", question="Which?"), Criterion(id="x/calm", question="Which?")]
    tables = {"prompts": prompts, "items": items, "raters": raters, "comparisons": votes}
    return Study.build("posters", criteria, tables=tables)


def run(*arguments, place=None):
    vlm = ["--backbone", place / "vlm", "--instruction", place / "asked.txt", *SMALL] if place else []
    return CliRunner().invoke(train, ["reward", *map(str, [*arguments, *vlm])], catch_exceptions=False)


def test_a_study_becomes_a_model(place, study, tmp_path):
    done = run(study, "-o", tmp_path / "m", "--labels", "raters", "--rater-weights", "agreement", "--json",
               "--also", study, place=place)  # fmt: skip
    told = json.loads(done.output)
    assert done.exit_code == 0
    assert (told["steps"], told["law"], told["study"]) == (2, "quadrature", "posters")
    assert told["signature_line"].startswith("reward|data:")
    assert [row["pairs"] for row in told["also"]["study"]] == [24, 12, 12]  # all its pairs, whatever it was split for
    model = load_model(tmp_path / "m", device="cpu")
    assert [(one.id, one.name) for one in model.card.criteria] == [("x/warm", "Warm"), ("x/calm", "x/calm")]
    assert model.card.trained_on["train pairs"] == told["counts"]["train pairs"] > 20
    guard = load_guard(tmp_path / "m", model.card.guard)
    settings = RewardSettings.model_validate(model.card.settings)
    pairs = PairFile(tmp_path / "m" / "run" / "labels.parquet", study, settings)
    shaped_it = {*islice(pairs.training(start=0), 8), *pair_rows([pairs.validation()])}  # two steps of four
    pictures = {read_picture(study / name).sha256 for row in shaped_it for name in (row.image_a, row.image_b)}
    assert {key.sha256 for key in guard.pictures} == pictures
    assert guard.texts == {text_key(row.text) for row in shaped_it}
    assert {path.name for path in (tmp_path / "m" / "run").iterdir()} == {"labels.parquet", "log.jsonl", "tensorboard"}
    assert "poster" not in (tmp_path / "m" / "guard.parquet").read_text(errors="ignore")
    with pytest.raises(BadFile, match="another model"):
        run(study, "-o", tmp_path / "m", place=place)


def test_a_file_becomes_a_model_and_a_run_goes_on(place, study, tmp_path):
    labels = red_pairs(tmp_path / "pictures", train=12)
    with pytest.raises(BadValue, match=r"(?s)criterion that is learned.*x/warm, x/calm"):
        run(labels, "-o", tmp_path / "none", "--also", study, place=place)
    (tmp_path / "m" / "run").mkdir(parents=True)  # of a run that ended before its first checkpoint
    with pytest.raises(BadFile, match="not finished") as raised:
        run(labels, "-o", tmp_path / "m", place=place)
    assert "--resume" in raised.value.remedy
    other = red_pairs(tmp_path / "other", train=0, validation=6, seed=1, split="test", criterion="red")
    Image.new("RGB", (16, 16), "white").save(tmp_path / "other" / "0a.png")
    done = run(labels, "-o", tmp_path / "m", "--resume", "--also", other, place=place)
    assert "also on labels, by which nothing was chosen" in done.output
    card = json.loads((tmp_path / "m" / "model.json").read_text())["figures"]
    assert {name: rows[0]["pairs"] for name, rows in card["also"].items()} == {"labels": 6}
    assert card["also"]["labels"][0]["accuracy"]["low"] is not None
    records = [record for record in read_log(tmp_path / "m" / "run") if record["kind"] == "also/labels"]
    assert [record["step"] for record in records] == [2]
    assert records[0]["accuracy"] == card["also"]["labels"][0]["accuracy"]["value"]
    assert "Also tried on labels" in (tmp_path / "m" / "README.md").read_text()
    guard = load_guard(tmp_path / "m", load_model(tmp_path / "m", device="cpu").card.guard)
    assert picture_key(tmp_path / "other" / "0a.png") not in guard.pictures
    assert "12 train pairs, 4 validation pairs" in done.output
    assert "validation, by which it was chosen" in done.output
    assert "reward|data:" in done.output
    assert not (tmp_path / "m" / "run" / "checkpoints").exists()
    words = (tmp_path / "m" / "README.md").read_text()
    assert "| test/red | 4 |" in words


def test_a_model_that_is_to_be_replaced_stays_until_the_new_one_is_whole(place, tmp_path, monkeypatch):
    labels, out = red_pairs(tmp_path / "pictures", train=12), tmp_path / "m"
    run(labels, "-o", out, place=place)
    weights = {path.name: path.read_bytes() for path in out.glob("*.safetensors")}

    save = RunFolder.save

    def killed(*given):
        save(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "save", killed)
        run(labels, "-o", out, "--overwrite", place=place)
    assert weights == {path.name: path.read_bytes() for path in out.glob("*.safetensors")}
    load_model(out, device="cpu")
    with pytest.raises(BadFile, match="not finished"):
        run(labels, "-o", out, place=place)
    assert run(labels, "-o", out, "--resume", place=place).exit_code == 0
    assert not (out / "run" / "checkpoints").exists()


def test_two_runs_in_one_folder_are_one_too_many(place, tmp_path):
    labels, out = red_pairs(tmp_path / "pictures", train=12), tmp_path / "m"
    with hold_run(out / "run", anew=False):
        (out / "run" / "mine").write_text("of the first")
        for how in ("--resume", "--overwrite"):
            with pytest.raises(BadFile, match="nobody holds"):
                run(labels, "-o", out, how, place=place)
    assert [path.name for path in out.rglob("*")] == ["run", "mine"]
    assert run(labels, "-o", out, "--overwrite", place=place).exit_code == 0
    assert not (out / "run" / "mine").exists()


def test_bad_input(place, study, tmp_path):
    labels = red_pairs(tmp_path / "pictures")
    rows = pq.read_table(labels).to_pylist()
    rows[-1]["text"] = rows[0]["text"]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "pictures" / "leaking.parquet")
    with pytest.raises(DesignError, match="prompt text"):
        run(tmp_path / "pictures" / "leaking.parquet", "-o", tmp_path / "m1", place=place)
    (tmp_path / "one.txt").write_text("How good? {text_prompt} <|Reward|>")
    with pytest.raises(BadValue, match="several criteria"):
        run(study, "-o", tmp_path / "m2", "--backbone", place / "vlm", "--instruction", tmp_path / "one.txt",
            "--pixels", 256)  # fmt: skip
    with pytest.raises(BadFile, match="something else"):
        run(labels, "-o", tmp_path / "pictures", place=place)
    with pytest.raises(BadValue, match="--labels raters"):
        run(labels, "-o", tmp_path / "m3", "--rater-weights", "agreement", place=place)
    with pytest.raises(BadFile, match="study folder, a Parquet"):
        run(tmp_path / "none.parquet", "-o", tmp_path / "m4", place=place)


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom salon.cli.train import train\ntry:\n    train(['reward', '--help'])\n"
        "except SystemExit:\n    pass\nprint([m for m in ('torch', 'transformers', 'accelerate') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert "--backbone" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
