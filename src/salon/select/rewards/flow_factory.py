"""A reward for Flow-Factory: a class that its registry loads by name.

    # my_package/taste.py, named in the configuration as reward_model: my_package.taste.Taste
    Taste = flow_factory_reward(salon.reward("model:taste@taste/mood"), PointwiseRewardModel, RewardModelOutput)

Flow-Factory makes one object of the class with config and accelerator and calls it with prompt= and image=, lists of
texts and PIL images. It wants a RewardModelOutput(rewards, extra_info); there is no missing number: see `rows`. Read in
X-GenGroup/Flow-Factory, src/flow_factory/rewards/abc.py at 5f6cda1.
"""

from __future__ import annotations

from typing import Any

from salon.errors import BadValue
from salon.select.reward import Reward
from salon.select.rewards.rows import Missing, check_missing, filled


def flow_factory_reward(reward: Reward, base: type, output: type, *, missing: Missing = "raise") -> type:
    """The class; `base` and `output` are Flow-Factory's PointwiseRewardModel and RewardModelOutput."""
    check_missing(missing)

    class SalonReward(base):  # type: ignore[misc]  # a class of a library that is not here
        """A reward of Salon as Flow-Factory calls it."""

        required_fields = ("image", "prompt")
        use_tensor_inputs = False

        def __init__(self, config: Any, accelerator: Any) -> None:
            super().__init__(config, accelerator)

        def __call__(
            self,
            prompt: list[str],
            image: list[Any] | None = None,
            video: Any = None,
            audio: Any = None,
            condition_images: Any = None,
            condition_videos: Any = None,
            **kwargs: Any,
        ) -> Any:
            if image is None:
                raise BadValue("pictures are needed", found="none", where="image that Flow-Factory gives")
            judged = reward.judged(image, prompt)
            return output(
                rewards=filled(judged, missing, where=f"reward {reward.name!r}"),
                extra_info={**judged.parts, "without": judged.missing},
            )

    SalonReward.__name__ = SalonReward.__qualname__ = reward.name
    return SalonReward
