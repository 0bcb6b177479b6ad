"""A real scorer's numbers as the reward of TRL's GRPOTrainer, for real: what is logged is what the reward gives.

And pairs as TRL's own collator reads them.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import red_study
from tiny_vlm import build_tiny_vlm

from salon.models import vlm_processor
from salon.select import PreferencePairSettings, reward, vote_candidates, write_pairs
from salon.select.rewards import trl_reward

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the libraries, at their import
    import torch
    from datasets import Dataset, load_dataset
    from PIL import Image
    from transformers import AutoModelForImageTextToText
    from trl import GRPOConfig, GRPOTrainer
    from trl.trainer.dpo_trainer import DataCollatorForVisionPreference

STEPS, ROWS = 3, 4


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_vlm(tmp_path_factory.mktemp("tiny"), planted=False)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL and torch about a CPU, a short run, a model without a hub name
        yield


def drawn(text: str, row: Any) -> Image.Image | None:
    """What a tiny model babbles, as a picture with more or less fine structure; for some texts none."""
    digest = hashlib.sha256(text.encode()).digest()
    if digest[0] < 64:
        return None
    rng = np.random.default_rng(digest[1])
    ramp = np.broadcast_to(np.linspace(40, 200, 96)[:, None, None], (96, 96, 3))
    return Image.fromarray(np.clip(ramp + rng.normal(0, 1 + digest[2] / 8, (96, 96, 3)), 0, 255).astype(np.uint8))


def _row(n: int) -> dict[str, Any]:
    picture = Image.new("RGB", (32, 32), (60 * n, 80, 200))
    return {"prompt": [{"role": "user", "content": "a poster"}], "images": [picture], "brief": f"brief {n}"}


def test_grpo_learns_from_the_numbers_that_the_reward_gives(tiny: Path, tmp_path: Path) -> None:
    taste = reward("naturalness", name="taste")
    calls: list[tuple[list[str], list[float | None]]] = []
    adapted = trl_reward(taste, picture=drawn, prompt="brief")

    def watched(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float | None]:
        given = adapted(prompts, completions, **columns)
        calls.append(([one[0]["content"] for one in completions], given))
        return given

    watched.__name__ = "taste"
    model = AutoModelForImageTextToText.from_pretrained(tiny, dtype=torch.float32)
    before = {name: one.detach().clone() for name, one in model.named_parameters()}
    settings = GRPOConfig(
        output_dir=str(tmp_path / "out"), use_cpu=True, bf16=False, max_steps=STEPS, per_device_train_batch_size=4,
        num_generations=4, max_completion_length=6, learning_rate=1e-3, logging_steps=1, report_to=[],
        save_strategy="no", gradient_checkpointing=False, disable_tqdm=True, seed=1,
    )  # fmt: skip
    rows = Dataset.from_list([_row(n) for n in range(ROWS)])
    trainer = GRPOTrainer(
        model=model, reward_funcs=[watched], args=settings, train_dataset=rows,
        processing_class=vlm_processor(str(tiny), "qwen3_vl"),
    )  # fmt: skip
    trainer.train()

    logged = [one for one in trainer.state.log_history if "reward" in one]
    assert len(logged) == len(calls) == STEPS
    for line, (texts, given) in zip(logged, calls):
        pictures = [drawn(text, {}) for text in texts]
        assert given == taste(pictures)  # the same numbers again, bit for bit
        assert [one is None for one in given] == [picture is None for picture in pictures]
        there = [one for one in given if one is not None]
        assert line["reward"] == pytest.approx(np.mean(there), rel=1e-6)
        assert line["rewards/taste/mean"] == pytest.approx(np.mean(there), rel=1e-6)
        assert line["taste/naturalness"] == pytest.approx(np.mean(there), rel=1e-6)
        assert line["taste/without"] == pytest.approx(1 - len(there) / len(given))
    assert any(None in given for _, given in calls), "a completion without a picture is part of this test"
    assert any(not torch.equal(one, before[name]) for name, one in model.named_parameters())


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    study = red_study.study_in(folder / "study", prompts=3)
    settings = PreferencePairSettings(train=1, validation=0, test=0)
    found = vote_candidates(study, settings)
    write_pairs(study, folder / "study", folder / "pairs", found, settings, source="votes")
    return folder / "pairs"


def test_pairs_load_as_datasets_and_go_through_trl_s_collator(tiny: Path, pairs: Path, tmp_path: Path) -> None:
    rows = load_dataset(str(pairs / "trl"), split="train", cache_dir=str(tmp_path))
    assert {"prompt", "images", "chosen", "rejected"} <= set(rows.column_names)
    assert isinstance(rows[0]["images"][0], Image.Image)
    batch = DataCollatorForVisionPreference(vlm_processor(str(tiny), "qwen3_vl"))([rows[0], rows[1]])
    assert batch["input_ids"].shape[0] == 4  # two chosen, two rejected
    assert batch["image_grid_thw"].shape[0] == 8
    answers = [batch["input_ids"][n][batch["completion_mask"][n].bool()].tolist() for n in range(4)]
    assert answers[0] != answers[2]
    assert answers[1] != answers[3]


def test_pairs_load_as_the_diffusers_script_reads_them(pairs: Path, tmp_path: Path) -> None:
    """train_diffusion_dpo.py: load_dataset(name, split=...), then Image.open(io.BytesIO(row)) of both columns."""
    rows = load_dataset(str(pairs / "diffusers"), split="train", cache_dir=str(tmp_path))
    for row in rows:
        better, worse = (np.asarray(Image.open(io.BytesIO(row[name])).convert("RGB")) for name in ("jpg_0", "jpg_1"))
        if row["label_0"] == 0:
            better, worse = worse, better
        assert better[..., 0].mean() > worse[..., 0].mean()
    assert set(rows["label_0"]) == {0, 1}
    assert isinstance(rows[0]["caption"], str)
    again = load_dataset("parquet", data_files=str(pairs / "diffusers" / "train.parquet"), cache_dir=str(tmp_path))
    assert again["train"].num_rows == rows.num_rows
