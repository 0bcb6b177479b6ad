"""One reward object in the shapes that trainers call.

    TRL                f(prompts, completions, completion_ids, **columns) -> list[float]         a column `item`
    verl               f(data_sources, solution_strs, ground_truths, extra_infos) -> list[float]
                       `reward_model.reward_manager=batch`; the item is the ground truth, or extra_info["item"]
    ms-swift           a class for `orms`: C(args=...)(completions, **columns) -> list[float]    a column `item`
    VisualQuality-R1   f(completions, solution, **kwargs) -> list[float]                         `item` or `image_path`

verl's usual reward sees one answer at a time and cannot compare; its batch manager hands over all of them. TRL,
ms-swift and VisualQuality-R1 call the reward in every process with that process's answers: give DistillReward the
processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from salon.errors import BadColumns, BadValue
from salon.train.distill_reward import DistillReward, Rewarded

Told = Callable[[Rewarded], None]


def trl_reward(reward: DistillReward, told: Told | None = None) -> Callable[..., list[float | None]]:
    """The reward as TRL's GRPOTrainer calls it; `told` gets the figures of every call."""

    def one_pass_fidelity(
        prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        found = reward(texts(completions), _items(columns))
        if told is not None:
            told(found)
        return [float(value) for value in found.rewards]

    return one_pass_fidelity


def verl_reward(reward: DistillReward) -> Callable[..., list[float]]:
    """The reward as verl's batch reward manager calls `compute_score`: all answers of a step at once."""

    def compute_score(
        data_sources: Sequence[str],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Sequence[Mapping[str, Any] | None],
        **_: Any,
    ) -> list[float]:
        items = [str((extra or {}).get("item") or truth) for truth, extra in zip(ground_truths, extra_infos)]
        return [float(value) for value in reward(list(solution_strs), items).rewards]

    return compute_score


def swift_reward(reward: DistillReward, *, base: type = object) -> type:
    """The reward as ms-swift wants it: a class, `orms["fidelity"] = swift_reward(reward, base=ORM)`.

    ms-swift makes one object of it, with args= or with nothing, and calls that with texts and columns.
    """

    class OnePassFidelity(base):  # type: ignore[misc]  # a class of a library that may not be here
        """The reward of one-pass answers as ms-swift calls it."""

        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            self.args = args

        def __call__(self, completions: Sequence[Any], **columns: Any) -> list[float]:
            return [float(value) for value in reward(texts(completions), _items(columns)).rewards]

    return OnePassFidelity


def visualquality_reward(reward: DistillReward, items: Mapping[str, str] | None = None) -> Callable[..., list[float]]:
    """The reward as VisualQuality-R1 calls its `accuracy_reward`.

    `items` names the item of every image_path where the data have no column `item`. `solution`, a number of theirs, is
    not looked at: the target is the labels.
    """

    def accuracy_reward(completions: Sequence[Any], solution: Sequence[Any], **kwargs: Any) -> list[float]:
        if "item" not in kwargs and items is not None and "image_path" in kwargs:
            paths = [path[0] if isinstance(path, list) else path for path in kwargs["image_path"]]
            unknown = next((path for path in paths if path not in items), None)
            if unknown is not None:
                raise BadValue("every image_path needs its item", found=repr(unknown))
            kwargs["item"] = [items[path] for path in paths]
        return [float(value) for value in reward(texts(completions), _items(kwargs)).rewards]

    return accuracy_reward


def texts(completions: Sequence[Any]) -> list[str]:
    """The words of completions: plain text, or the last message of a chat."""
    return [_words(one) for one in completions]


def _words(completion: Any) -> str:
    if isinstance(completion, str):
        return completion
    content = completion[-1]["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text") or "" for part in content)


def _items(columns: Mapping[str, Any]) -> list[str]:
    if "item" not in columns:
        raise BadColumns.missing("item", columns, where="the rows that the trainer hands to the reward")
    return [str(item) for item in columns["item"]]
