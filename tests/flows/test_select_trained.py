"""A model that was really trained, at work: its flag head as a gate, its criteria for the best of three."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import red_study
from PIL import Image

from salon.cli.main import run
from salon.errors import TooFew
from salon.judge import trained_model as trained
from salon.models import preference_model
from salon.select import BestSettings, GateSettings, best_of_study, gate_for_study, list_scorers, pass_gate
from salon.store import open_study, save_study
from salon.study import Study
from salon.train import HeadSettings, train_heads as training


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 90 prompts, and a model trained on 60% of them that knows mood and flags."""
    folder = tmp_path_factory.mktemp("select-trained")
    study = red_study.study_in(folder / "study", prompts=90)
    save_study(study, folder / "tables")
    for file in (folder / "tables").iterdir():
        file.rename(folder / "study" / file.name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SALON_CACHE", str(folder / "cache"))
        patch.setattr(training, "open_encoder", lambda name, **options: red_study.Colors())
        settings = HeadSettings(
            encoder="colors", form="scalar", width=8, lr=0.02, epochs=15, axes=0, train=0.5, validation=0.1, test=0.4
        )
        training.train_study(study, folder / "study", settings, folder / "model")
    return folder


@pytest.fixture(autouse=True)
def _colors(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    monkeypatch.setenv("SALON_CACHE", str(home / "cache"))
    monkeypatch.setattr(preference_model, "open_encoder", lambda name, **options: red_study.Colors())
    trained._load_cached.cache_clear()


def redness(home: Path, item: str) -> float:
    return float(np.asarray(Image.open(home / "study" / "images" / f"{item}.png"))[..., 0].mean())


def test_the_flag_head_is_a_gate_made_on_what_the_model_has_not_seen(home: Path) -> None:
    word = f"model:{home / 'model'}@flag"
    gate = gate_for_study(home / "study", word, GateSettings(recall=0.8))
    seen = gate.left_out["that the model was trained on"]
    assert seen % 3 == 0  # whole prompts
    assert 90 < seen < 230
    assert gate.positives + gate.negatives == 270 - seen
    assert gate.column.higher_is_better is False
    assert gate.holds == "above"
    run = pass_gate(gate, home / "study")
    held = [row.item for row in run.rows if row.held]
    assert np.mean([redness(home, item) < 70 for item in held]) > 0.8
    assert sum(redness(home, item) < 70 for item in held) > 0.8 * sum(redness(home, row.item) < 70 for row in run.rows)


def test_a_study_that_was_all_trained_on_makes_no_gate(home: Path, tmp_path: Path) -> None:
    gate = gate_for_study(home / "study", f"model:{home / 'model'}@flag", GateSettings(recall=0.8))
    whole = open_study(home / "study")
    split = training.split_items(whole, whole.item_groups, whole.ids("groups"), (0.5, 0.1, 0.4), seed=0)
    kept = {id for id, part in zip(whole.ids("items").to_pylist(), split.of_item) if part == 0}
    tables = {kind: list(whole.nouns(kind)) for kind in ("prompts", "raters")}
    tables["items"] = [item for item in whole.nouns("items") if item.id in kept]
    tables["ratings"] = [one for one in whole.nouns("ratings") if one.item in kept]
    save_study(Study.build("seen", list(whole.criteria), tables=tables), tmp_path / "seen")
    (tmp_path / "seen" / "images").symlink_to(home / "study" / "images")
    assert gate.positives
    with pytest.raises(TooFew, match="held-out items with flags are needed"):
        gate_for_study(tmp_path / "seen", f"model:{home / 'model'}@flag", GateSettings(recall=0.8))


def test_the_redder_picture_is_the_best_and_the_flag_head_has_no_say(home: Path) -> None:
    words = list_scorers([], [home / "model"])
    assert [word.rpartition("@")[2] for word in words] == ["mood"]
    report = best_of_study(home / "study", words, BestSettings())
    assert report.chosen == 90
    assert report.scale.startswith("logits of ")
    right = [
        one.chosen.item == max((c.item for c in one.items), key=lambda item: redness(home, item))
        for one in report.picks
        if one.chosen
    ]
    assert np.mean(right) > 0.8


def test_the_commands_take_a_model(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        run(["select", "gate", str(home / "study"), "--model", str(home / "model"), "--recall", "0.8", "--json"])
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out)["criterion"] == "flag"
    with pytest.raises(SystemExit) as left:
        run(["select", "best", str(home / "study"), "--model", str(home / "model"), "-o", str(tmp_path), "--limit", "6",
             "--json"])  # fmt: skip
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out)["weights"] == {"mood": 1.0}
