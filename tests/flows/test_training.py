"""From a study with pictures to a model folder, and what stands in the way."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PIL import Image
from red_study import Colors, study_in

from salon.errors import BadFile, BadValue, DesignError, TooFew
from salon.models import load_model, preference_model, read_model_card
from salon.study import Item, Rating, Study
from salon.train import HeadSettings, train_heads as training, train_study
from salon.train.train_heads import prepare_study

QUICK = HeadSettings(
    width=8, axes=0, epochs=25, lr=0.02, batch=32, test=0.2, train=0.6, validation=0.2, encoder="colors"
)


@pytest.fixture(autouse=True)
def _colors(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (training, preference_model):
        monkeypatch.setattr(module, "open_encoder", lambda name, **options: Colors())


@pytest.fixture(scope="module")
def red(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    folder = tmp_path_factory.mktemp("flow") / "red"
    return study_in(folder), folder


def test_a_planted_preference_is_learned_written_and_used(red: tuple[Study, Path], tmp_path: Path) -> None:
    study, folder = red
    report = train_study(study, folder, QUICK, tmp_path / "model")
    overall = report.validation[0]
    assert overall.accuracy.value > 0.85
    assert overall.ceiling.value > 0.6
    assert report.simulated
    model = load_model(tmp_path / "model")
    images = [Image.new("RGB", (4, 4), color) for color in ((250, 120, 120), (20, 120, 120))]
    bright, dark = (one.value for one in model.scores(images, ["t", "t"], "mood"))
    assert bright > dark
    flags = [one.value for one in model.scores(images, ["t", "t"], "flag")]
    assert flags[0] < flags[1]
    assert (report.counts["train pairs"], report.counts["train votes"]) == (3 * report.counts["train prompts"],) + (
        15 * report.counts["train prompts"],
    )


def test_the_card_says_everything_and_the_guard_holds_no_test_item(red: tuple[Study, Path], tmp_path: Path) -> None:
    study, folder = red
    report = train_study(study, folder, QUICK, tmp_path / "model")
    card = read_model_card(tmp_path / "model")
    assert card.data == study.hash
    assert HeadSettings(**card.settings) == QUICK
    assert (card.study, card.flag, card.simulated) == ("red", "flag", True)
    assert card.figures["validation"][0]["ceiling"]["value"] > 0.5
    assert str(report.signature).startswith(f"heads|data:{study.hash[:12]}@r1|axes:0|")
    kinds = pq.read_table(tmp_path / "model" / "guard.parquet").column("kind").to_pylist()
    learned = report.counts["train prompts"] + report.counts["validation prompts"]
    assert (kinds.count("picture"), kinds.count("text")) == (3 * learned, learned)
    words = (tmp_path / "model" / "README.md").read_text()
    assert "no person gave the answers" in words
    assert "one more rater would reach" in words


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(red: tuple[Study, Path], tmp_path: Path) -> None:
    study, folder = red
    short = QUICK.model_copy(update={"epochs": 2})
    for name, seed in (("one", 0), ("two", 0), ("three", 1)):
        train_study(study, folder, short.model_copy(update={"seed": seed}), tmp_path / name)
    one, two, three = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two", "three"))
    assert one == two
    assert one != three


def test_a_criterion_can_be_read_with_its_own_view_and_words(red: tuple[Study, Path]) -> None:
    study, folder = red
    settings = QUICK.model_copy(update={"text": "criterion", "conditioned": True})
    prepared = prepare_study(study, folder, settings)
    assert "mood: Which has the mood?\n\nintent 7" in prepared.encoded.texts
    assert prepared.prefixes == {"mood": "mood: Which has the mood?\n\n"}
    assert "intent 7\n\nd d d d d d d " in {*prepared.prompt_texts, *_full(study)}


def _full(study: Study) -> set[str]:
    return {prompt.view() for prompt in study.nouns("prompts")}


def test_near_copies_across_the_split_are_left_out_of_training(tmp_path: Path) -> None:
    study = study_in(tmp_path)
    before = prepare_study(study, tmp_path, QUICK)
    splits = dict(zip(before.labels.column("group").to_pylist(), before.labels.column("split").to_pylist()))
    train, test = (next(int(q[1:]) for q, side in splits.items() if side == wanted) for wanted in ("train", "test"))
    copy = Image.open(tmp_path / "images" / f"{test}-0.png").resize((16, 16), Image.Resampling.NEAREST)
    copy.save(tmp_path / "images" / f"{train}-0.png")
    after = prepare_study(study, tmp_path, QUICK)
    assert before.labels.num_rows - after.labels.num_rows == 2  # the two pairs of that picture
    assert any("2 pairs" in note for note in after.notes)


def test_flags_that_all_say_the_same_are_an_error_with_a_way_out(tmp_path: Path) -> None:
    same = [Rating(criterion="flag", rater="r0", item=f"{n}-0", value=0) for n in range(40)]
    study = study_in(tmp_path / "study", ratings=same)
    with pytest.raises(DesignError, match="--no-flags") as error:
        train_study(study, tmp_path / "study", QUICK, tmp_path / "model")
    assert "'flag'" in str(error.value.where)
    report = train_study(
        study, tmp_path / "study", QUICK.model_copy(update={"flags": False, "epochs": 1}), tmp_path / "model"
    )
    assert report.passes == 1


def test_missing_pictures_are_named(tmp_path: Path) -> None:
    study = study_in(tmp_path / "study")
    (tmp_path / "study" / "images" / "3-1.png").unlink()
    with pytest.raises(BadFile, match=r"3-1\.png"):
        train_study(study, tmp_path / "study", QUICK, tmp_path / "model")
    bare = Study.build("bare", study.criteria, tables=dict(study.tables) | {
        "items": [Item(id=item.id, prompt=item.prompt) for item in study.nouns("items")]})  # fmt: skip
    with pytest.raises(BadFile, match="120 of 120"):
        train_study(bare, tmp_path / "study", QUICK, tmp_path / "model")


def test_too_few_judgments_say_how_many_are_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "encode_pictures", None)  # nothing is encoded before that is known
    study = study_in(tmp_path / "study", prompts=3)
    with pytest.raises(TooFew, match="at least 12"):
        train_study(study, tmp_path / "study", QUICK, tmp_path / "model")


def test_a_folder_of_something_else_is_never_replaced(red: tuple[Study, Path], tmp_path: Path) -> None:
    study, folder = red
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary.txt").write_text("mine")
    with pytest.raises(BadFile, match="something else"):
        train_study(study, folder, QUICK, tmp_path / "notes", overwrite=True)
    (tmp_path / "notes" / "diary.txt").unlink()
    (tmp_path / "notes" / "model.json").write_text(json.dumps({}))
    with pytest.raises(BadFile, match="--overwrite"):
        train_study(study, folder, QUICK, tmp_path / "notes")


def test_a_model_that_came_while_another_was_trained_is_not_replaced(red: tuple[Study, Path], tmp_path: Path) -> None:
    study, folder = red
    out = tmp_path / "model"

    def overtaken(epoch: object) -> None:
        out.mkdir(exist_ok=True)
        (out / "model.json").write_text("the first")

    with pytest.raises(BadFile, match="another model"):
        train_study(study, folder, QUICK, out, watch=overtaken)
    assert (out / "model.json").read_text() == "the first"


def test_settings_that_contradict_each_other() -> None:
    with pytest.raises(BadValue, match="sum to 1"):
        HeadSettings(train=0.5)
    with pytest.raises(BadValue, match="--labels raters"):
        HeadSettings(rater_weights="learned")
