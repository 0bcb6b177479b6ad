"""A reward for TRL: GRPOTrainer, RLOOTrainer and whoever else takes `reward_funcs`.

    trainer = GRPOTrainer(model, reward_funcs=[trl_reward(reward, picture=draw)], ...)

TRL calls f(prompts=, completions=, completion_ids=, **columns) with every column of the data set as a list, and with
trainer_state, log_extra and log_metric besides; it wants a list of numbers of the same length, and None where there is
none. Read in trl 1.16.0, trainer/grpo_trainer.py, `_calculate_rewards`; every process gives its own rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from salon.select.reward import Judged, Reward
from salon.select.rewards.rows import Draw, picture_of, prompt_of, rows_of

TrlReward = Callable[..., list[float | None]]
_WHERE = "columns that TRL gives"


def trl_reward(reward: Reward, *, picture: str | Draw = "image", prompt: str | None = None) -> TrlReward:
    """The function for `reward_funcs`; `picture` and `prompt` say where these are (see `rows`).

    What each criterion added is logged by its mean, and the share of completions without a number.
    """

    def score(
        prompts: list[Any], completions: list[Any], completion_ids: list[Any] | None = None, **columns: Any
    ) -> list[float | None]:
        rows = rows_of(columns, len(completions))
        pictures = [picture_of(row, said, picture, where=_WHERE) for row, said in zip(rows, completions, strict=True)]
        texts = [prompt_of(row, prompt, one, where=_WHERE) for row, one in zip(rows, prompts, strict=True)]
        judged = reward.judged(pictures, texts)
        _log(judged, columns.get("log_metric"), reward.name)
        return judged.rewards

    score.__name__ = reward.name
    return score


def _log(judged: Judged, log_metric: Any, name: str) -> None:
    if log_metric is None or not judged.rewards:
        return
    for criterion, parts in judged.parts.items():
        there = [part for part in parts if part is not None]
        if there:
            log_metric(f"{name}/{criterion}", sum(there) / len(there))
    log_metric(f"{name}/without", judged.missing / len(judged.rewards))
