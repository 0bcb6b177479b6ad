"""Rewards as trainers call them: the very arguments, and doubles of the classes they hand over.

The doubles below are written after the sources that the adapters' docstrings name; TRL itself is in test_reward_trl.
"""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from loops import awaited
from PIL import Image
from reward_scorers import blue, red, reference, swatch

from salon.errors import BadColumns, BadValue, TooFew
from salon.select.reward_source import Reward
from salon.select.rewards import (
    COMPLETION,
    flow_factory_reward,
    flow_grpo_reward,
    flow_grpo_score,
    swift_reward,
    trl_reward,
    verl_omni_score,
    verl_score,
    verl_scores,
)

TALK = [{"role": "system", "content": "be brief"}, {"role": "user", "content": [{"type": "image"}, {"text": "a fair"}]}]


def drawn(text: str, row: Any) -> np.ndarray:
    """A renderer: the text is how red the picture is."""
    return swatch(int(text), 0, 0)


@pytest.fixture
def taste() -> Reward:
    both = {"red": red(), "blue": blue()}
    return Reward(both, weights="red=3,blue=1", reference=reference(*both.values()), name="taste")


def parts_of(reward: Reward) -> list[Any]:
    return reward.scorers["red"].prompts  # type: ignore[attr-defined, no-any-return]


# -- TRL ---------------------------------------------------------------------------------------------------------------


def test_trl_calls_by_name_with_columns_and_loggers(taste: Reward) -> None:
    logged: dict[str, float] = {}
    pictures = [swatch(255, 9, 51), swatch(255, 9, 0)]
    found = trl_reward(taste)(
        prompts=[TALK, TALK], completions=[[{"role": "assistant", "content": "ok"}]] * 2, completion_ids=[[1], [2]],
        image=[Image.fromarray(one) for one in pictures], seed=[1, 2], trainer_state=SimpleNamespace(global_step=1),
        log_extra=lambda name, values: None, log_metric=logged.__setitem__,
    )  # fmt: skip
    assert found == [pytest.approx(1.2), None]
    assert found == taste(pictures)
    assert logged == pytest.approx({"taste/red": 1.5, "taste/blue": -0.3, "taste/without": 0.5})
    assert [one.view() for one in parts_of(taste)[:2]] == ["a fair", "a fair"]
    assert trl_reward(taste).__name__ == "taste"


def test_trl_completions_become_pictures(tmp_path: Path) -> None:
    reward = Reward(red())
    Image.fromarray(swatch(51, 0, 0)).save(tmp_path / "51.png")
    by_path = trl_reward(reward, picture=COMPLETION)
    assert by_path(prompts=["a", "b"], completions=[f" {tmp_path}/51.png\n", "nowhere"]) == [pytest.approx(0.2), None]
    by_drawing = trl_reward(reward, picture=drawn, prompt="brief")
    assert by_drawing(prompts=["x"], completions=["102"], brief=["a fair"]) == [pytest.approx(0.4)]
    assert parts_of(Reward(reward.scorers))[-1].view() == "a fair"


def test_trl_missing_columns_and_lists_are_refused(taste: Reward) -> None:
    with pytest.raises(BadColumns, match="nearest match: 'images'"):
        trl_reward(taste)(prompts=["a"], completions=["b"], images=[[swatch(1, 1, 1)]])
    with pytest.raises(BadColumns, match="'brief'"):
        trl_reward(taste, prompt="brief")(prompts=["a"], completions=["b"], image=[swatch(1, 1, 1)])
    with pytest.raises(BadValue, match="one picture for each row"):
        trl_reward(taste, picture="images")(prompts=["a"], completions=["b"], images=[[swatch(1, 1, 1)] * 2])
    with pytest.raises(BadValue, match="a text or a list of messages"):
        trl_reward(taste, picture=drawn)(prompts=["a"], completions=[7])
    assert len(trl_reward(taste, picture="images")(prompts=["a"], completions=["b"], images=[[swatch(1, 1, 1)]])) == 1


# -- verl --------------------------------------------------------------------------------------------------------------


def test_verl_s_naive_manager_calls_from_threads(taste: Reward) -> None:
    """As NaiveRewardManager.run_single does: by name, in an executor, with a router's arguments where there is one."""
    compute = verl_score(taste, picture="image")
    more = {"reward_router_address": None, "reward_model_tokenizer": None}

    async def run(n: int) -> Any:
        asked = {"image": swatch(n, 0, 51), "prompt": "a fair", "num_turns": 2, "rollout_reward_scores": {}}
        call = lambda: compute(data_source="posters", solution_str="x", ground_truth="", extra_info=asked, **more)  # noqa: E731
        return await asyncio.get_running_loop().run_in_executor(None, call)

    async def everyone() -> list[Any]:
        return await asyncio.gather(*(run(n) for n in (51, 255)))

    low, high = awaited(everyone())
    assert high == pytest.approx({"score": 1.2, "taste/red": 1.5, "taste/blue": -0.3})
    assert low["score"] < high["score"]
    assert not inspect.iscoroutinefunction(compute)


def test_verl_s_batch_manager_calls_once_for_all(taste: Reward) -> None:
    infos = [{"brief": "a fair"}, {"brief": "a feast"}]
    compute = verl_scores(taste, picture=lambda text, row: swatch(int(text), 0, 51), prompt="brief")
    found = compute(data_sources=["a"] * 2, solution_strs=["255", "51"], ground_truths=[None] * 2, extra_infos=infos)
    assert [one["score"] for one in found] == pytest.approx(taste([swatch(255, 0, 51), swatch(51, 0, 51)]))
    assert [one.view() for one in parts_of(taste)[:2]] == ["a fair", "a feast"]


def test_verl_omni_gives_pictures(taste: Reward) -> None:
    image = torch.from_numpy(swatch(255, 0, 51)).permute(2, 0, 1)
    found = verl_omni_score(taste)(data_source="jpeg", solution_image=image, ground_truth="a fair", extra_info={})
    assert found["score"] == pytest.approx(1.2)
    assert parts_of(taste)[0].view() == "a fair"
    with pytest.raises(BadValue, match="one still picture"):
        verl_omni_score(taste)("video", image[None], "a fair", {})


def test_a_missing_number_is_declared_or_an_error(taste: Reward) -> None:
    call = {"data_source": "a", "solution_str": "9", "ground_truth": "", "extra_info": {"prompt": "a fair"}}
    with pytest.raises(TooFew, match="blue: the scorer gave no number"):
        verl_score(taste, picture=drawn)(**call)
    found = verl_score(taste, picture=drawn, missing=-3.0)(**call)
    assert found["score"] == -3
    assert np.isnan(found["taste/blue"])
    for bad in (np.nan, "zero", None):
        with pytest.raises(BadValue, match="missing"):
            verl_score(taste, missing=bad)
    with pytest.raises(BadColumns, match="'prompt'"):
        verl_score(taste, picture=drawn)(**call | {"extra_info": None})


# -- ms-swift ----------------------------------------------------------------------------------------------------------


class ORM:
    """ms-swift's own, swift/rewards/orm.py."""

    def __init__(self, args: Any = None, **kwargs: Any) -> None:
        self.args = args

    def __call__(self, **kwargs: Any) -> list[float]:
        raise NotImplementedError


def test_ms_swift_makes_one_and_calls_it_with_rows_as_columns(taste: Reward) -> None:
    """As GRPOTrainer does: made with the arguments its __init__ names, called with completions and columns."""
    orms: dict[str, type] = {"taste": swift_reward(taste, base=ORM)}
    wanted = inspect.signature(orms["taste"].__init__).parameters
    settings = SimpleNamespace(num_generations=2)
    one = orms["taste"](**{name: settings for name in wanted if name == "args"})
    rows = {
        "messages": [[*TALK, {"role": "assistant", "content": "done"}]] * 2,
        "images": [[{"bytes": None, "path": "nowhere.png"}], [Image.fromarray(swatch(255, 0, 51))]],
        "trainer_state": SimpleNamespace(global_step=0),
    }
    assert one(["done", "done"], **rows) == [None, pytest.approx(1.2)]
    assert isinstance(one, ORM)
    assert one.args is settings
    assert type(one).__name__ == "taste"
    assert parts_of(taste)[-1].view() == "a fair"


# -- flow_grpo ---------------------------------------------------------------------------------------------------------


def test_flow_grpo_tensors_and_arrays(taste: Reward) -> None:
    hwc = np.stack([swatch(255, 0, 51), swatch(51, 0, 51)])
    tensor = torch.from_numpy(hwc).permute(0, 3, 1, 2) / 255.0
    score = flow_grpo_score(taste)
    assert list(inspect.signature(score).parameters) == ["images", "prompts", "metadata"]
    scores, more = score(tensor, ["a", "b"], {})
    assert (scores, more) == (taste(hwc), {})
    assert score(hwc, ("a", "b"), {})[0] == scores
    assert [0.5 * one for one in scores] == pytest.approx([0.6, -0.6])  # as multi_score weighs


def test_flow_grpo_in_the_place_of_multi_score(taste: Reward) -> None:
    details, more = flow_grpo_reward(taste)(swatch(255, 0, 51)[None], ["a"], [{}], ref_images=None, only_strict=True)
    assert details == {
        "taste/red": [pytest.approx(1.5)],
        "taste/blue": [pytest.approx(-0.3)],
        "avg": [pytest.approx(1.2)],
    }
    assert more == {}
    with pytest.raises(TooFew, match="needs a reward"):
        flow_grpo_reward(taste)(swatch(255, 0, 0)[None], ["a"], [{}])


# -- Flow-Factory ------------------------------------------------------------------------------------------------------


@dataclass
class RewardModelOutput:
    """Flow-Factory's own, src/flow_factory/rewards/abc.py."""

    rewards: Any
    extra_info: dict[str, Any] | None = None


class PointwiseRewardModel:
    """Flow-Factory's own, same file."""

    required_fields: tuple[str, ...] = ("image", "prompt")
    use_tensor_inputs: bool = False

    def __init__(self, config: Any, accelerator: Any) -> None:
        self.accelerator, self.config = accelerator, config
        self.device, self.dtype, self.model = accelerator.device, config.dtype, None


def test_flow_factory_makes_one_and_calls_it_with_fields(taste: Reward) -> None:
    """As RewardProcessor does: fields of samples that its __call__ names, and a tensor of what comes back."""
    made = flow_factory_reward(taste, PointwiseRewardModel, RewardModelOutput)
    one = made(SimpleNamespace(dtype="float32"), SimpleNamespace(device="cpu"))
    sample = {"prompt": ["a", "b"], "image": [Image.fromarray(swatch(n, 0, 51)) for n in (255, 51)], "latents": [0, 0]}
    named = inspect.signature(one.__call__).parameters
    output = one(**{key: value for key, value in sample.items() if key in named})
    rewards = torch.as_tensor(output.rewards, dtype=torch.float32)
    assert rewards.tolist() == pytest.approx(taste(sample["image"]))
    assert output.extra_info["red"][0] == pytest.approx(1.5)
    assert one.device == "cpu"
    with pytest.raises(BadValue, match="pictures are needed"):
        one(prompt=["a"])
