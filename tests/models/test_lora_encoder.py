"""Table 6 in one command: four forms of heads on a frozen encoder, and adapters on a tiny CLIP that learn."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from red_study import Colors, study_in
from tiny_clip import pictures, save_clip

from salon.errors import BadFile, BadValue
from salon.models import ClipEncoder
from salon.study import Study
from salon.train import CompareSettings, HeadSettings, train_heads as training
from salon.train.compare_heads import COMPARISON_FILE, LORA, LoraEncoderSettings, compare_heads, tune_encoder
from salon.train.train_heads import prepare_study

QUICK = HeadSettings(
    width=8, axes=0, epochs=10, lr=0.02, batch=32, test=0.2, train=0.6, validation=0.2, encoder="colors"
)


@pytest.fixture(scope="module")
def red(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    folder = tmp_path_factory.mktemp("compared") / "red"
    return study_in(folder), folder


def test_the_table_of_heads(red: tuple[Study, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Redder is better: all four learn it; every bucket is one of the panel's, and together they are all pairs."""
    monkeypatch.setattr(training, "open_encoder", lambda name, **options: Colors())
    made = compare_heads(*red, QUICK, CompareSettings(compare_seeds=2), tmp_path / "t")
    assert [one.name.split(",")[0] for one in made.rows] == ["scalar", "scalar", "pairwise", "pairwise", "scalar"]
    for one in made.rows[:4]:
        assert one.accuracy.value > 0.7
        assert one.accuracy.value == pytest.approx(np.mean(one.by_seed))
        assert len(one.by_seed) == 2
        assert sum(bucket.pairs for bucket in one.buckets) == made.pairs
        weighed = sum(bucket.pairs * bucket.accuracy.value for bucket in one.buckets) / made.pairs
        assert weighed == pytest.approx(one.accuracy.value)
    for bucket in made.panel.buckets:
        larger, smaller = map(int, bucket.split.split("-")[:2])
        assert bucket.accuracy.value == pytest.approx(larger / (larger + smaller))
    assert made.rows[4].accuracy is None
    assert "name a CLIP or SigLIP" in made.rows[4].reason
    assert json.loads((tmp_path / "t" / COMPARISON_FILE).read_text())["pairs"] == made.pairs
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("")
    with pytest.raises(BadFile, match="that of a comparison"):
        compare_heads(*red, QUICK, CompareSettings(), tmp_path / "other")


def test_adapters_learn_and_are_the_fifth_row(
    red: tuple[Study, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CLIP of random weights: the loss falls, the frozen one stays as it was, and its row has numbers."""
    save_clip(tmp_path / "clip")
    encoder = ClipEncoder("clip:tiny", str(tmp_path / "clip"), device="cpu")
    before = encoder.pictures(pictures(), "image")
    study, folder = red
    prepared = prepare_study(study, folder, QUICK, encoder=encoder)
    images = {item.id: folder / item.image for item in study.nouns("items")}
    tuned = tune_encoder(encoder, prepared.labels, images, LoraEncoderSettings(rate=5e-3, passes=3, rank=4))
    assert min(tuned.losses) < 0.69
    assert tuned.losses[tuned.best_pass - 1] == min(tuned.losses)
    assert np.array_equal(encoder.pictures(pictures(), "image"), before)
    after = tuned.encoder.pictures(pictures(), "image")
    assert np.abs(after - before).max() > 1e-3
    assert not any("lora" in name for name, _ in tuned.encoder.network.named_parameters())
    again = tune_encoder(encoder, prepared.labels, images, LoraEncoderSettings(rate=5e-3, passes=3, rank=4))
    assert again.losses == tuned.losses
    with pytest.raises(BadValue, match="other processes"):
        pickle.dumps(tuned.encoder)
    monkeypatch.setattr(training, "open_encoder", lambda name, **options: encoder)
    settings = CompareSettings(compare_seeds=1, lora_rank=4, lora_rate=5e-3, lora_passes=1)
    made = compare_heads(study, folder, QUICK.model_copy(update={"epochs": 3}), settings, tmp_path / "t")
    assert made.rows[4].name == LORA
    assert 0 <= made.rows[4].accuracy.value <= 1
    assert any(note.startswith("adapters, seed 0: validation loss") for note in made.notes)
    assert torch.is_grad_enabled()
