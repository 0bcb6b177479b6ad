"""Rewards by criterion, in batches of several threads, with gradients, and as MixGRPO, miles and SRPO call them."""

from __future__ import annotations

import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from loops import awaited
from PIL import Image
from reward_scorers import blue, red, reference, swatch

import salon
from salon.errors import BadValue, TooFew
from salon.judge.scorers import released
from salon.select.reward_source import DifferentiableReward, Reward, picture_digest
from salon.select.rewards import (
    flow_grpo_reward,
    miles_reward,
    mixgrpo_reward,
    srpo_reward,
    trl_reward,
    verl_omni_score,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "models"))
from tiny_clip import save_clip

TEXTS = ["a fair by the sea", "a quiet room"]


def taste(**options: Any) -> Reward:
    both = {"red": red(), "blue": blue()}
    return Reward(both, weights="red=3,blue=1", reference=reference(*both.values()), name="taste", **options)


# -- each criterion ----------------------------------------------------------------------------------------------------


def test_each_criterion_is_a_reward_and_all_are_scored_once() -> None:
    whole = taste(clip=1.5)
    each = whole.each()
    pictures, prompts = [swatch(255, 9, 51), swatch(128, 0, 255), swatch(255, 9, 0)], ["a", "b", "c"]
    found = {id: one(pictures, prompts) for id, one in each.items()}
    assert whole.scorers["red"].asked == whole.scorers["blue"].asked == [1, 1, 1]  # type: ignore[attr-defined]
    assert found["red"] == [1.5, pytest.approx((128 / 255 - 0.5) / 0.25), 1.5]  # 2 standard deviations are clipped
    assert found["blue"] == [pytest.approx(-1.2), 1.5, None]
    total = [0.75 * found["red"][n] + 0.25 * found["blue"][n] for n in (0, 1)]
    assert total == pytest.approx(whole(pictures, prompts)[:2])
    batch = each["blue"].judged(pictures, prompts)
    assert batch.reasons[2] == "blue: the scorer gave no number"
    assert batch.parts == {"blue": batch.rewards}
    assert {one.name for one in each.values()} == {"taste/red", "taste/blue"}
    assert len({str(one.signature) for one in (whole, *each.values())}) == 3
    again = each["red"](pictures, ["a", "b", "another"])
    assert again[:2] == found["red"][:2]
    assert len(whole.scorers["red"].asked) == 3 + 3 + 1  # type: ignore[attr-defined]  # the whole, and a new prompt


def test_trl_takes_them_as_several_functions() -> None:
    functions = [trl_reward(one) for one in taste().each().values()]
    columns = {"image": [Image.fromarray(swatch(255, 9, 51))]}
    values = [function(prompts=["a"], completions=["x"], **columns) for function in functions]
    assert values == [[pytest.approx(2)], [pytest.approx(-1.2)]]
    assert [function.__name__ for function in functions] == ["taste/red", "taste/blue"]


def test_pictures_are_known_again_by_their_content(tmp_path: Path) -> None:
    pixels = swatch(1, 2, 3)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    same = {picture_digest(picture) for picture in (str(tmp_path / "a.png"), data, {"bytes": data, "path": None})}
    assert len(same) == 1
    other = {
        picture_digest(picture) for picture in (pixels, pixels.astype(np.float32) / 255, torch.tensor(pixels), None)
    }
    assert len(other) == 4


# -- adapters ----------------------------------------------------------------------------------------------------------


def test_verl_omni_looks_at_pictures_of_several_threads_together() -> None:
    together, alone = taste(alone=False), taste()
    images = [torch.tensor(swatch(9 + n, 9, 51)).permute(2, 0, 1) for n in range(8)]
    score = verl_omni_score(together, batch=8, seconds=20)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda image: score("jpeg", image, "a fair", {}), images))
    assert together.scorers["red"].asked == [8]  # type: ignore[attr-defined]
    single = verl_omni_score(alone)
    assert found == [single("jpeg", image, "a fair", {}) for image in images]
    assert verl_omni_score(together, seconds=0)("jpeg", images[0], "a fair", {}) == found[0]


def test_an_error_reaches_all_who_wait() -> None:
    broken = taste(alone=False)
    broken.scorers["red"].score = lambda items, prompts: 1 / 0  # type: ignore[attr-defined]
    score = verl_omni_score(broken, batch=3, seconds=20)
    image = torch.tensor(swatch(9, 9, 51)).permute(2, 0, 1)
    with ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(score, "jpeg", image, "a", {}) for _ in range(3)]
    assert [type(entry.exception()) for entry in waiting] == [ZeroDivisionError] * 3


def test_mixgrpo_drops_what_has_no_number() -> None:
    model = mixgrpo_reward(taste())
    assert type(model).__name__ == "UnifiedRewardModel"
    rewards, successes = model([Image.fromarray(swatch(255, 9, 51)), Image.fromarray(swatch(255, 9, 0))], ["a", "b"])
    assert rewards[0] == pytest.approx(1.2)
    assert math.isnan(rewards[1])
    assert successes == [True, False]


def test_miles_awaits_one_number_for_each_sample() -> None:
    def sample(*color: int, frames: int = 1) -> SimpleNamespace:
        output = torch.tensor(swatch(*color)).permute(2, 0, 1)[:, None].repeat(1, frames, 1, 1).float() / 255
        return SimpleNamespace(prompt="a fair", generated_output=output)

    function = miles_reward(taste())
    assert awaited(function(None, [sample(255, 9, 51)], evaluation=True)) == [pytest.approx(1.2)]
    assert awaited(miles_reward(taste(), missing=-3.0)(None, [sample(255, 9, 0)])) == [-3]
    with pytest.raises(TooFew):
        awaited(function(None, [sample(255, 9, 0)]))
    with pytest.raises(BadValue, match="one still picture"):
        awaited(function(None, [sample(255, 9, 51, frames=4)]))


def test_diffusion_nft_calls_as_flow_grpo_does() -> None:
    details, _ = flow_grpo_reward(taste())(swatch(255, 9, 51)[None], ["a"], [{}], only_strict=False)
    assert details["avg"] == [pytest.approx(1.2)]


# -- gradients ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clip")
    save_clip(folder)
    return folder


def pictures() -> torch.Tensor:
    return 0.3 + 0.4 * torch.rand(2, 3, 40, 40, generator=torch.Generator().manual_seed(0))


def test_a_reward_with_a_gradient_agrees_with_finite_differences(clip: Path) -> None:
    scorers = [released.clip_score(clip, device="cpu"), released.pickscore(clip, device="cpu")]
    reward = salon.reward(*scorers, weights={"clip": 1, "pickscore": 3}, equal=True, grad=True)
    x = pictures().requires_grad_()
    values = reward(x, TEXTS)
    expected = sum(share * scorer.score(x, TEXTS, differentiable=True) for share, scorer in zip((0.25, 0.75), scorers))
    assert values.tolist() == pytest.approx(expected.tolist(), rel=1e-6)
    values.sum().backward()
    step = x.grad / x.grad.norm()
    with torch.no_grad():
        ahead, behind = (reward(x + sign * 0.02 * step, TEXTS).sum().item() for sign in (1, -1))
    assert (ahead - behind) / 0.04 == pytest.approx((x.grad * step).sum().item(), rel=0.01)
    assert set(reward.parts(x, TEXTS)) == {"clip", "pickscore"}


def test_a_tiny_refl_loop_raises_the_reward(clip: Path) -> None:
    """Gradient steps through a generator of one layer; the reward of files, which has no gradient, rises too."""
    scorer = released.pickscore(clip, device="cpu")
    reward, plain = salon.reward(scorer, grad=True), salon.reward(scorer)
    torch.manual_seed(1)
    generator, noise = torch.nn.Conv2d(4, 3, 3, padding=1), torch.randn(2, 4, 40, 40)
    optimizer = torch.optim.Adam(generator.parameters(), lr=0.05)
    draw = lambda: torch.sigmoid(generator(noise))  # noqa: E731
    before = sum(plain(draw().detach(), TEXTS))
    for _ in range(20):
        optimizer.zero_grad()
        (-reward(draw(), TEXTS).mean()).backward()
        optimizer.step()
    assert sum(plain(draw().detach(), TEXTS)) > before + 0.1


def test_srpo_raises_one_text_over_another(clip: Path) -> None:
    reward = salon.reward(released.clip_score(clip, device="cpu"), grad=True)
    x = pictures().requires_grad_()
    found = srpo_reward(reward, scale=2).SRP_cfg([TEXTS[0]], [TEXTS[1]], x, 0.5)
    expected = 2 * (1.5 * reward(x, [TEXTS[0]] * 2) - reward(x, [TEXTS[1]] * 2))
    assert found.tolist() == pytest.approx(expected.tolist())
    torch.relu(0.7 - found).mean().backward()
    assert x.grad.abs().sum() > 0


def test_scorers_without_a_gradient_are_refused() -> None:
    with pytest.raises(BadValue, match="gradient"):
        DifferentiableReward(taste())
    with pytest.raises(BadValue, match="gradient"):
        salon.reward("balance", grad=True)
