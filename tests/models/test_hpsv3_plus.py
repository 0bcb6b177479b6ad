"""HPSv3++: the numbers of its own code, whatever the company, with a gradient, and what is refused."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from peer_reference import GOLDEN, asked
from PIL import Image
from tiny_rewards import save_hpsv3_plus

from salon.errors import BadFile, BadValue
from salon.judge import PictureScore, ScoreSettings, make_scorer
from salon.models import ConditionedReward
from salon.models.weights import MissingWeights

ROWS: list[dict[str, Any]] = json.loads((GOLDEN / "hpsv3++.json").read_text())["rows"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_hpsv3_plus(tmp_path_factory.mktemp("hpsv3++"))


@pytest.mark.parametrize(("step", "batch", "near"), [(0.0, 1, 1e-5), (0.0, 16, 5e-5), (0.65, 1, 1e-5)])
def test_numbers_of_the_release_for_every_picture_whatever_its_company(
    folder: Path, step: float, batch: int, near: float
) -> None:
    """The release was asked for one picture in a call: with several it judges one capability for all."""
    rows = [row for row in ROWS if row["step"] == step]
    scorer: Any = make_scorer(f"hpsv3++:{folder}", ScoreSettings(device="cpu", batch=batch, rl_step=step))
    names, prompts = (list(dict.fromkeys(row[key] for row in rows)) for key in ("image", "prompt"))
    results = scorer.results(*asked(GOLDEN / "images", names, prompts))
    assert all(isinstance(result, PictureScore) for result in results)
    for key, found in (("mu", [one.value for one in results]), ("second", [math.log(one.sigma) for one in results])):
        wanted = np.array([row[key] for row in rows])
        assert np.abs(np.array(found) - wanted).max() / wanted.std() < near
    assert f"|step:{step:g}|" in str(scorer.signature)


def test_the_step_moves_the_numbers_and_has_bounds(folder: Path) -> None:
    first = [row["mu"] for row in ROWS if row["step"] == 0.65]
    start = [row["mu"] for row in ROWS if row["step"] == 0 and row["prompt"] == ROWS[0]["prompt"]]
    assert np.abs(np.array(first) - start).max() > 0.05
    with pytest.raises(BadValue, match="from 0 to 1"):
        ConditionedReward(folder, device="cpu", step=1.5)


def test_pictures_as_tensors_have_a_gradient_and_nearly_the_numbers_of_files(folder: Path) -> None:
    network = ConditionedReward(folder, device="cpu")
    picture = Image.open(GOLDEN / "images" / "photo-640x427.jpg").convert("RGB")
    tensor = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float().div(255).requires_grad_()
    numbers = network.tensor_scores([tensor], ["a fair"])
    numbers[0, 0].backward()
    assert tensor.grad is not None
    assert float(tensor.grad.abs().max()) > 0
    assert numbers[0].tolist() == pytest.approx(network.scores([picture], ["a fair"])[0], abs=0.05)


def test_weights_of_another_kind_are_refused(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    state = torch.load(folder / "hpsv3++.pth", weights_only=True)["model"]
    for change, match in (
        ({name: part for name, part in state.items() if not name.startswith("film_gen.")}, "film_gen"),
        (state | {"cap_encoder.more": torch.ones(1)}, "left over"),
        ({name: part for name, part in state.items() if name != "cond_encoder.2.bias"}, "cond_encoder.2.bias"),
        ({name: part for name, part in state.items() if name != "model.language_model.norm.weight"}, "1 that do not"),
    ):
        torch.save(change, tmp_path / "hpsv3++.pth")
        with pytest.raises(MissingWeights, match=match):
            ConditionedReward(tmp_path, device="cpu")


def test_the_instruction_may_be_read_from_the_releases_own_module(folder: Path, tmp_path: Path) -> None:
    module = tmp_path / "data_collator_qwen.py"
    module.write_text('raise RuntimeError("run")\nINSTRUCTION = "Rate: {text_prompt}"\n'
                      'prompt_with_special_token = " <|Reward|> END"\n')  # fmt: skip
    network = ConditionedReward(folder, device="cpu", instruction=module, accept_other=True)
    assert network.instruction.text == "Rate: {text_prompt} <|Reward|> END"
    with pytest.raises(BadFile, match=r"HPSv3\+\+'s own instruction"):
        ConditionedReward(folder, device="cpu", instruction=module)
