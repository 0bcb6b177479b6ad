"""A reward for flow_grpo: pictures of a diffusion model, as it made them.

    fn(images, prompts, metadata) -> (scores, {})                    one of `multi_score`'s functions: flow_grpo_score
    fn(images, prompts, metadata, ...) -> ({"avg": ..., ...}, {})    what `multi_score` itself gives: flow_grpo_reward

images are a float tensor NCHW from 0 to 1, or a uint8 array NHWC. There is no missing number: see `rows`. Read in
yifan123/flow_grpo, flow_grpo/rewards.py at 54809b5. Training takes `avg` and logs every key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from salon.select.reward import Reward
from salon.select.rewards.rows import Missing, check_missing, filled, told


def flow_grpo_score(reward: Reward, *, missing: Missing = "raise") -> Callable[..., tuple[list[float], dict[str, Any]]]:
    """A function for `score_functions` in flow_grpo's rewards.py."""
    check_missing(missing)

    def fn(images: Any, prompts: Sequence[str], metadata: Any) -> tuple[list[float], dict[str, Any]]:
        judged = reward.judged(images, list(prompts))
        return filled(judged, missing, where=f"reward {reward.name!r}"), {}

    return fn


def flow_grpo_reward(
    reward: Reward, *, missing: Missing = "raise"
) -> Callable[..., tuple[dict[str, list[float]], dict[str, Any]]]:
    """What stands where `multi_score(device, score_dict)` stood; each criterion is logged beside `avg`."""
    check_missing(missing)

    def fn(
        images: Any, prompts: Sequence[str], metadata: Any, ref_images: Any = None, only_strict: bool = True
    ) -> tuple[dict[str, list[float]], dict[str, Any]]:
        judged = reward.judged(images, list(prompts))
        scores = filled(judged, missing, where=f"reward {reward.name!r}")
        return {**told(reward, judged), "avg": scores}, {}

    return fn
