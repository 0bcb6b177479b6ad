"""A reward by names: a model's criteria, a frozen reference made by the command, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import red_study
import reward_worker
from click.testing import CliRunner

import salon
from salon.cli.select_best import reference
from salon.errors import BadFile, BadValue
from salon.judge import trained_model as trained
from salon.select.reward_source import open_scorers
from salon.store import save_study


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of twelve pictures, and a model of two criteria."""
    monkeypatch.setattr(reward_worker.preference_model, "open_encoder", lambda name, **options: reward_worker.Pixels())
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "cache"))
    trained._load_cached.cache_clear()
    study = red_study.study_in(tmp_path / "study", prompts=4)
    save_study(study, tmp_path / "tables")
    for file in (tmp_path / "tables").iterdir():
        file.rename(tmp_path / "study" / file.name)
    reward_worker.make_model(tmp_path / "model")
    return tmp_path


def frozen(home: Path, *more: str) -> dict[str, object]:
    asked = [str(home / "study"), "--model", str(home / "model"), "-o", str(home / "reference.json"), "--json", *more]
    return json.loads(CliRunner().invoke(reference, asked, catch_exceptions=False).output)


def test_a_reward_against_its_reference_has_mean_0_and_deviation_1_on_it(home: Path) -> None:
    told = frozen(home)
    assert [level["criterion"] for level in told["levels"]] == ["taste/mood", "taste/color"]
    assert [level["n"] for level in told["levels"]] == [12, 12]
    taste = salon.reward(f"model:{home}/model", weights="mood=1", reference=home / "reference.json")
    study = salon.open_study(home / "study")
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    items = list(study.nouns("items"))
    rewards = taste([home / "study" / item.image for item in items], [prompts[item.prompt] for item in items])
    assert np.mean(rewards) == pytest.approx(0, abs=1e-6)
    assert np.std(rewards, ddof=1) == pytest.approx(1, rel=1e-6)
    assert f"reference:{told['hash']}" in str(taste.signature)


def test_criteria_of_one_model_share_the_scale_of_its_logits(home: Path) -> None:
    taste = salon.reward(f"model:{home}/model", weights={"mood": 3, "color": 1})
    judged = taste.judged([home / "study" / "images" / "0-0.png"], ["a poster"])
    mood, color = (judged.scores[id][0] for id in ("taste/mood", "taste/color"))
    assert judged.rewards[0] == pytest.approx((3 * mood + color) / 4)
    assert list(open_scorers([f"model:{home}/model@taste/mood"])) == ["taste/mood"]


def test_another_model_s_reference_is_refused(home: Path) -> None:
    frozen(home)
    with (home / "model" / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    with pytest.raises(BadValue, match="same scorer"):
        salon.reward(f"model:{home}/model", reference=home / "reference.json")


def test_a_frozen_file_is_not_replaced_nor_changed_in_silence(home: Path) -> None:
    frozen(home)
    with pytest.raises(BadFile, match="only replaced when asked"):
        frozen(home)
    frozen(home, "--overwrite", "--limit", "10")
    record = json.loads((home / "reference.json").read_text())
    record["levels"][0]["sd"] *= 2
    (home / "reference.json").write_text(json.dumps(record))
    with pytest.raises(BadFile, match="changed after it was written"):
        salon.reward(f"model:{home}/model", reference=home / "reference.json")


def test_one_scorer_for_each_criterion(home: Path) -> None:
    with pytest.raises(BadValue, match="one scorer for each criterion"):
        salon.reward("naturalness", "naturalness")
    with pytest.raises(BadValue, match="name of a scorer"):
        salon.reward("natural")
