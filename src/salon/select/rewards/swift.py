"""A reward for ms-swift: a class for `orms`, in a file that `--external_plugins` names.

    from swift.rewards import ORM, orms
    orms["taste"] = swift_reward(salon.reward("model:taste@taste/mood"), picture=draw, base=ORM)

ms-swift makes one object of the class, with args=, and calls it with completions (texts) and every column of the rows
as a list: messages, images, and those of the data set. None is a missing number there as in TRL. Read in modelscope/
ms-swift, swift/rewards/orm.py at 0431a5d; how rows become columns in its GRPO trainer (`rows_to_batched`).
"""

from __future__ import annotations

from typing import Any

from salon.select.reward import Reward
from salon.select.rewards.rows import Draw, picture_of, prompt_of, rows_of

_WHERE = "columns that ms-swift gives"


def swift_reward(
    reward: Reward, *, picture: str | Draw = "images", prompt: str | None = None, base: type = object
) -> type:
    """The class for `orms`; `base` is ms-swift's ORM. The prompt is the last that a user said in `messages`."""

    class SalonReward(base):  # type: ignore[misc]  # a class of a library that is not here
        """A reward of Salon as ms-swift calls it."""

        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            self.args = args

        def __call__(self, completions: list[str], **kwargs: Any) -> list[float | None]:
            rows = rows_of(kwargs, len(completions))
            pictures = [picture_of(row, one, picture, where=_WHERE) for row, one in zip(rows, completions)]
            texts = [prompt_of(row, prompt, row.get("messages"), where=_WHERE) for row in rows]
            return reward.judged(pictures, texts).rewards

    SalonReward.__name__ = SalonReward.__qualname__ = reward.name
    return SalonReward
