"""A reward for verl and verl-omni: a function in a file that `reward.custom_reward_function.path` names.

    reward = salon.reward("model:taste@taste/mood")
    compute_score = verl_score(reward, picture=draw, missing=-3.0)     naive manager: one text at a time
    compute_score = verl_scores(reward, picture=draw)                  batch manager: all texts at once
    compute_score = verl_omni_score(reward)                            verl-omni: pictures

What the managers call, each with names:

    naive    compute_score(data_source, solution_str, ground_truth, extra_info[, reward_router_address, ...])
    batch    compute_score(data_sources, solution_strs, ground_truths, extra_infos)        a list comes back
    visual   compute_score(data_source, solution_image, ground_truth, extra_info)          a uint8 tensor CHW

Each wants a number, or a record with "score", whose other keys are logged. There is no missing number: see `rows`.
Columns are those of `extra_info`. For verl-omni the prompt is `ground_truth`, as in its own PickScore. The naive
manager calls from several threads, with one picture each.

Read in verl-project/verl: verl/experimental/reward_loop/reward_manager/naive.py at 247f1ac and batch.py at a9ba065,
verl/workers/reward_manager/batch.py at 45c6d15; verl-project/verl-omni: verl_omni/reward_loop/reward_manager/visual.py
at 1486d9c, verl_omni/utils/reward_score/pickscore_reward.py at 06082eb.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from salon.errors import BadValue
from salon.select.reward import Judged, Reward, Text
from salon.select.rewards.rows import COMPLETION, Draw, Missing, check_missing, filled, picture_of, prompt_of, told

Score = dict[str, float]
_WHERE = "extra_info that verl gives"


def verl_score(
    reward: Reward, *, picture: str | Draw = COMPLETION, prompt: str = "prompt", missing: Missing = "raise"
) -> Callable[..., Score]:
    """`compute_score` for verl's naive manager; the prompt is in the column `prompt` of `extra_info`."""
    many = verl_scores(reward, picture=picture, prompt=prompt, missing=missing)

    def compute_score(
        data_source: Any, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **more: Any
    ) -> Score:
        return many([data_source], [solution_str], [ground_truth], [extra_info])[0]

    return compute_score


def verl_scores(
    reward: Reward, *, picture: str | Draw = COMPLETION, prompt: str = "prompt", missing: Missing = "raise"
) -> Callable[..., list[Score]]:
    """`compute_score` for verl's batch manager: all rows at once."""
    check_missing(missing)

    def compute_score(
        data_sources: Sequence[Any],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Sequence[Mapping[str, Any] | None],
        **more: Any,
    ) -> list[Score]:
        rows = [dict(one or {}) for one in extra_infos]
        pictures = [picture_of(row, said, picture, where=_WHERE) for row, said in zip(rows, solution_strs, strict=True)]
        texts = [prompt_of(row, prompt, None, where=_WHERE) for row in rows]
        return _records(reward, reward.judged(pictures, texts), missing)

    return compute_score


def verl_omni_score(reward: Reward, *, prompt: str | None = None, missing: Missing = "raise") -> Callable[..., Score]:
    """`compute_score` for verl-omni's visual manager; the prompt is `ground_truth`, or a column of `extra_info`."""
    check_missing(missing)

    def compute_score(
        data_source: Any,
        solution_image: Any,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Score:
        if len(getattr(solution_image, "shape", (0, 0, 0))) != 3:
            raise BadValue(
                "one still picture is needed", found=f"shape {tuple(solution_image.shape)}", where="solution_image"
            )
        text: Text = prompt_of(extra_info or {}, prompt, ground_truth, where=_WHERE)
        return _records(reward, reward.judged([solution_image], [text]), missing)[0]

    return compute_score


def _records(reward: Reward, judged: Judged, missing: Missing) -> list[Score]:
    """Score and parts; every record has the same keys, as verl's tables need it. A part that is missing is NaN."""
    scores = filled(judged, missing, where=f"reward {reward.name!r}")
    parts = told(reward, judged)
    return [{"score": score, **{name: of[n] for name, of in parts.items()}} for n, score in enumerate(scores)]
