"""One reward in the shape that each trainer calls: TRL, verl, ms-swift, flow_grpo, Flow-Factory, MixGRPO, miles, SRPO.

None of the trainers is imported; what each expects was read in its source, at the commit that its section names.

Trainers whose models write text say where the picture of a row is:

    a name               a column of the data set: a path, bytes, a PIL image, a list of one of them
    COMPLETION           the completion is the path of a picture
    a function           draw(text, row) -> picture: what the model wrote becomes one, by a renderer or a generator

A reward from a column is the same for every completion of a row, so it teaches nothing by itself; it goes with others.
`prompt` names the column with the text that the picture was made for; None is for what the user said last.

Trainers that know no missing number get one only if it is declared: `missing` is a number, or "raise".
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal

from salon.errors import BadColumns, BadValue, TooFew
from salon.select.reward_source import DifferentiableReward, Reward, RewardBatch, Text

# -- rows of a data set ------------------------------------------------------------------------------------------------

COMPLETION = "completion"
Draw = Callable[[str, Mapping[str, Any]], Any]
Missing = Literal["raise"] | float


def completion_text(completion: Any) -> str:
    """The text of a completion, plain or as a conversation; of a conversation what was said last."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and completion and isinstance(completion[-1], Mapping):
        return _content(completion[-1].get("content"))
    raise BadValue(
        "a completion is a text or a list of messages", found=type(completion).__name__,
        remedy='"..." or [{"role": "assistant", "content": "..."}]',
    )  # fmt: skip


def prompt_text(prompt: Any) -> Text:
    """The text of a prompt, plain or as a conversation; of a conversation the last that a user said."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    if isinstance(prompt, Sequence) and all(isinstance(message, Mapping) for message in prompt):
        users = [message for message in prompt if message.get("role") == "user"]
        return _content(users[-1].get("content")) if users else None
    raise BadValue("a prompt is a text or a list of messages", found=type(prompt).__name__)


def rows_of(columns: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    """Columns with one value for each completion, as rows; anything else that a trainer passes is left out."""
    lists = {name: value for name, value in columns.items() if isinstance(value, list | tuple) and len(value) == count}
    return [{name: value[n] for name, value in lists.items()} for n in range(count)]


def picture_of(row: Mapping[str, Any], completion: Any, picture: str | Draw, *, where: str) -> Any:
    """The picture of one completion; BadColumns where the column is not there."""
    if callable(picture):
        return picture(completion_text(completion), row)
    if picture == COMPLETION:
        return completion_text(completion).strip()
    return only_picture(read_column(row, picture, where=where), picture)


def prompt_of(row: Mapping[str, Any], prompt: str | None, fallback: Any, *, where: str) -> Text:
    """The text of one row."""
    return prompt_text(fallback if prompt is None else read_column(row, prompt, where=where))


def read_column(row: Mapping[str, Any], name: str, *, where: str) -> Any:
    """The value of a column; BadColumns with the nearest name where there is none."""
    if name not in row:
        raise BadColumns.missing(name, row, where=where)
    return row[name]


def only_picture(value: Any, name: str) -> Any:
    """A picture, or the one picture of a list: which of several is meant nobody can know."""
    if isinstance(value, list | tuple):
        if len(value) != 1:
            raise BadValue(
                "one picture for each row is needed", found=f"{len(value)} in column {name!r}",
                remedy="a column with the picture to be scored, or a function draw(text, row)",
            )  # fmt: skip
        return value[0]
    return value


def fill_missing(batch: RewardBatch, missing: Missing, *, where: str) -> list[float]:
    """Rewards for a trainer that knows no missing number: the declared one in its place, or TooFew."""
    if not batch.missing:
        return [float(value) for value in batch.rewards if value is not None]
    if missing == "raise":
        first = next(n for n, value in enumerate(batch.rewards) if value is None)
        raise TooFew(
            "every picture needs a reward in this trainer", where=where,
            found=f"{batch.missing} of {len(batch.rewards)} without, the first ({first}): {batch.reasons[first]}",
            remedy="declare what such a picture is worth: missing=-3.0, for instance",
        )  # fmt: skip
    return [missing if value is None else value for value in batch.rewards]


def criterion_logs(reward: Reward, batch: RewardBatch) -> dict[str, list[float]]:
    """What each criterion added, for a trainer's log; NaN where it has no number."""
    parts = batch.parts.items()
    return {f"{reward.name}/{id}": [math.nan if part is None else part for part in of] for id, of in parts}


def check_missing(missing: Missing) -> Missing:
    """The same, if it is "raise" or a finite number."""
    if missing != "raise" and not (isinstance(missing, int | float) and math.isfinite(missing)):
        raise BadValue('missing is "raise" or a finite number', found=repr(missing))
    return missing


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, Sequence):
        return "".join(part.get("text") or "" for part in content if isinstance(part, Mapping))
    raise BadValue("the content of a message is a text or a list of parts", found=type(content).__name__)


# -- TRL ---------------------------------------------------------------------------------------------------------------

TrlReward = Callable[..., list[float | None]]
_TRL_WHERE = "columns that TRL gives"


def trl_reward(reward: Reward, *, picture: str | Draw = "image", prompt: str | None = None) -> TrlReward:
    """The function for `reward_funcs` of GRPOTrainer, RLOOTrainer and others.

        trainer = GRPOTrainer(model, reward_funcs=[trl_reward(reward, picture=draw)], ...)

    TRL calls f(prompts=, completions=, completion_ids=, **columns) with every column of the data set as a list, and
    with trainer_state, log_extra and log_metric besides; it wants a list of numbers of the same length, and None where
    there is none. Read in trl 1.16.0, trainer/grpo_trainer.py, `_calculate_rewards`; every process gives its own rows.

    What each criterion added is logged by its mean, and the share of completions without a number.
    """

    def score(
        prompts: list[Any], completions: list[Any], completion_ids: list[Any] | None = None, **columns: Any
    ) -> list[float | None]:
        rows = rows_of(columns, len(completions))
        pictures = [
            picture_of(row, completion, picture, where=_TRL_WHERE)
            for row, completion in zip(rows, completions, strict=True)
        ]
        texts = [prompt_of(row, prompt, entry, where=_TRL_WHERE) for row, entry in zip(rows, prompts, strict=True)]
        batch = reward.judged(pictures, texts)
        log_metric = columns.get("log_metric")
        if log_metric is not None and batch.rewards:
            for criterion, parts in batch.parts.items():
                there = [part for part in parts if part is not None]
                if there:
                    log_metric(f"{reward.name}/{criterion}", sum(there) / len(there))
            log_metric(f"{reward.name}/without", batch.missing / len(batch.rewards))
        return batch.rewards

    score.__name__ = reward.name
    return score


# -- verl and verl-omni ------------------------------------------------------------------------------------------------
#
#     reward = salon.reward("model:taste@taste/mood")
#     compute_score = verl_score(reward, picture=draw, missing=-3.0)     naive manager: one text at a time
#     compute_score = verl_scores(reward, picture=draw)                  batch manager: all texts at once
#     compute_score = verl_omni_score(reward)                            verl-omni: pictures
#
# compute_score stands in a file that `reward.custom_reward_function.path` names. The managers call, each with names:
#
#     naive    compute_score(data_source, solution_str, ground_truth, extra_info[, reward_router_address, ...])
#     batch    compute_score(data_sources, solution_strs, ground_truths, extra_infos)        a list comes back
#     visual   compute_score(data_source, solution_image, ground_truth, extra_info)          a uint8 tensor CHW
#
# Each wants a number, or a record with "score", whose other keys are logged. Columns are those of `extra_info`. For
# verl-omni the prompt is `ground_truth`, as in its own PickScore. The naive manager calls from several threads, with
# one picture each.
#
# Read in verl-project/verl: verl/experimental/reward_loop/reward_manager/naive.py at 247f1ac and batch.py at a9ba065,
# verl/workers/reward_manager/batch.py at 45c6d15. In verl-project/verl-omni:
# verl_omni/reward_loop/reward_manager/visual.py at 1486d9c,
# verl_omni/utils/reward_score/pickscore_reward.py at 06082eb.

VerlScore = dict[str, float]
_VERL_WHERE = "extra_info that verl gives"


def verl_score(
    reward: Reward, *, picture: str | Draw = COMPLETION, prompt: str = "prompt", missing: Missing = "raise"
) -> Callable[..., VerlScore]:
    """`compute_score` for verl's naive manager; the prompt is in the column `prompt` of `extra_info`."""
    many = verl_scores(reward, picture=picture, prompt=prompt, missing=missing)

    def compute_score(
        data_source: Any, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Any] | None = None, **more: Any
    ) -> VerlScore:
        return many([data_source], [solution_str], [ground_truth], [extra_info])[0]

    return compute_score


def verl_scores(
    reward: Reward, *, picture: str | Draw = COMPLETION, prompt: str = "prompt", missing: Missing = "raise"
) -> Callable[..., list[VerlScore]]:
    """`compute_score` for verl's batch manager: all rows at once."""
    check_missing(missing)

    def compute_score(
        data_sources: Sequence[Any],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Sequence[Mapping[str, Any] | None],
        **more: Any,
    ) -> list[VerlScore]:
        rows = [dict(info or {}) for info in extra_infos]
        pictures = [
            picture_of(row, solution, picture, where=_VERL_WHERE)
            for row, solution in zip(rows, solution_strs, strict=True)
        ]
        texts = [prompt_of(row, prompt, None, where=_VERL_WHERE) for row in rows]
        return _verl_records(reward, reward.judged(pictures, texts), missing)

    return compute_score


class BatchQueue:
    """Gathers pictures that threads ask about one by one, and has them judged together.

    The first caller waits until `batch` pictures are there, `seconds` at most, and has all of them judged.
    So a reward with `alone=False` looks at many pictures at once.
    """

    def __init__(self, reward: Reward, *, batch: int = 16, seconds: float = 0.02) -> None:
        if batch < 1 or not 0 <= seconds <= 60:
            raise BadValue("a batch of at least 1 and 0 to 60 seconds are needed", found=f"{batch}, {seconds:g}")
        self.reward, self.batch, self.seconds = reward, batch, seconds
        self._waiting: list[tuple[Any, Text, Future[RewardBatch]]] = []
        self._full = threading.Condition()

    def judged(self, picture: Any, prompt: Text) -> RewardBatch:
        """The reward of one picture."""
        future: Future[RewardBatch] = Future()
        taken: list[tuple[Any, Text, Future[RewardBatch]]] = []
        with self._full:
            self._waiting.append((picture, prompt, future))
            if len(self._waiting) >= self.batch:
                self._full.notify_all()
            if len(self._waiting) == 1:  # whoever comes first waits for company, and judges for all
                self._full.wait_for(lambda: len(self._waiting) >= self.batch, self.seconds)
                taken, self._waiting = self._waiting, []
        if taken:
            self._judge(taken)
        return future.result()

    def _judge(self, taken: list[tuple[Any, Text, Future[RewardBatch]]]) -> None:
        try:
            batch = self.reward.judged([picture for picture, _, _ in taken], [prompt for _, prompt, _ in taken])
        except BaseException as error:
            for _, _, future in taken:
                future.set_exception(error)
            raise
        for n, (_, _, future) in enumerate(taken):
            parts, scores = ({id: [of[n]] for id, of in table.items()} for table in (batch.parts, batch.scores))
            future.set_result(RewardBatch([batch.rewards[n]], parts, scores, [batch.reasons[n]]))


def verl_omni_score(
    reward: Reward, *, prompt: str | None = None, missing: Missing = "raise", batch: int = 16, seconds: float = 0.02
) -> Callable[..., VerlScore]:
    """`compute_score` for verl-omni's visual manager; the prompt is `ground_truth`, or a column of `extra_info`.

    It calls from several threads with one picture each. With a reward of `alone=False` a picture waits up to `seconds`
    for others, and they are looked at together once there are `batch`.
    """
    check_missing(missing)
    queue = None if reward.alone else BatchQueue(reward, batch=batch, seconds=seconds)

    def compute_score(
        data_source: Any,
        solution_image: Any,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> VerlScore:
        if len(getattr(solution_image, "shape", (0, 0, 0))) != 3:
            raise BadValue(
                "one still picture is needed", found=f"shape {tuple(solution_image.shape)}", where="solution_image"
            )
        text: Text = prompt_of(extra_info or {}, prompt, ground_truth, where=_VERL_WHERE)
        judged = reward.judged([solution_image], [text]) if queue is None else queue.judged(solution_image, text)
        return _verl_records(reward, judged, missing)[0]

    return compute_score


def _verl_records(reward: Reward, batch: RewardBatch, missing: Missing) -> list[VerlScore]:
    """Score and parts; every record has the same keys, as verl's tables need it. A part that is missing is NaN."""
    scores = fill_missing(batch, missing, where=f"reward {reward.name!r}")
    parts = criterion_logs(reward, batch)
    return [{"score": score, **{name: of[n] for name, of in parts.items()}} for n, score in enumerate(scores)]


# -- ms-swift ----------------------------------------------------------------------------------------------------------
#
#     from swift.rewards import ORM, orms
#     orms["taste"] = swift_reward(salon.reward("model:taste@taste/mood"), picture=draw, base=ORM)
#
# The file is named with `--external_plugins`. ms-swift makes one object of the class, with args=, and calls it with
# completions (texts) and every column of the rows as a list: messages, images, and those of the data set. None is a
# missing number there as in TRL. Read in modelscope/ms-swift, swift/rewards/orm.py at 0431a5d; how rows become columns
# in its GRPO trainer (`rows_to_batched`).

_SWIFT_WHERE = "columns that ms-swift gives"


def swift_reward(
    reward: Reward, *, picture: str | Draw = "images", prompt: str | None = None, base: type = object
) -> type:
    """The class for `orms`; `base` is ms-swift's ORM. The prompt is the last that a user said in `messages`."""

    class SwiftReward(base):  # type: ignore[misc]  # a class of a library that is not here
        """A reward of Salon as ms-swift calls it."""

        def __init__(self, args: Any = None, **kwargs: Any) -> None:
            self.args = args

        def __call__(self, completions: list[str], **kwargs: Any) -> list[float | None]:
            rows = rows_of(kwargs, len(completions))
            pictures = [
                picture_of(row, completion, picture, where=_SWIFT_WHERE) for row, completion in zip(rows, completions)
            ]
            texts = [prompt_of(row, prompt, row.get("messages"), where=_SWIFT_WHERE) for row in rows]
            return reward.judged(pictures, texts).rewards

    SwiftReward.__name__ = SwiftReward.__qualname__ = reward.name
    return SwiftReward


# -- flow_grpo ---------------------------------------------------------------------------------------------------------
#
#     fn(images, prompts, metadata) -> (scores, {})                    one of `multi_score`'s functions: flow_grpo_score
#     fn(images, prompts, metadata, ...) -> ({"avg": ..., ...}, {})    what `multi_score` itself gives: flow_grpo_reward
#
# images are a float tensor NCHW from 0 to 1, or a uint8 array NHWC. Read in yifan123/flow_grpo, flow_grpo/rewards.py at
# 54809b5. Training takes `avg` and logs every key. NVlabs/DiffusionNFT at 24af555 calls the same two shapes.


def flow_grpo_score(reward: Reward, *, missing: Missing = "raise") -> Callable[..., tuple[list[float], dict[str, Any]]]:
    """A function for `score_functions` in flow_grpo's rewards.py."""
    check_missing(missing)

    def fn(images: Any, prompts: Sequence[str], metadata: Any) -> tuple[list[float], dict[str, Any]]:
        batch = reward.judged(images, list(prompts))
        return fill_missing(batch, missing, where=f"reward {reward.name!r}"), {}

    return fn


def flow_grpo_reward(
    reward: Reward, *, missing: Missing = "raise"
) -> Callable[..., tuple[dict[str, list[float]], dict[str, Any]]]:
    """What stands where `multi_score(device, score_dict)` stood; each criterion is logged beside `avg`."""
    check_missing(missing)

    def fn(
        images: Any, prompts: Sequence[str], metadata: Any, ref_images: Any = None, only_strict: bool = True
    ) -> tuple[dict[str, list[float]], dict[str, Any]]:
        batch = reward.judged(images, list(prompts))
        scores = fill_missing(batch, missing, where=f"reward {reward.name!r}")
        return {**criterion_logs(reward, batch), "avg": scores}, {}

    return fn


# -- Flow-Factory ------------------------------------------------------------------------------------------------------
#
#     # my_package/taste.py, named in the configuration as reward_model: my_package.taste.Taste
#     Taste = flow_factory_reward(salon.reward("model:taste@taste/mood"), PointwiseRewardModel, RewardModelOutput)
#
# Flow-Factory makes one object of the class with config and accelerator and calls it with prompt= and image=, lists of
# texts and PIL images. It wants a RewardModelOutput(rewards, extra_info). Read in X-GenGroup/Flow-Factory,
# src/flow_factory/rewards/abc.py at 5f6cda1.


def flow_factory_reward(reward: Reward, base: type, output: type, *, missing: Missing = "raise") -> type:
    """The class; `base` and `output` are Flow-Factory's PointwiseRewardModel and RewardModelOutput."""
    check_missing(missing)

    class FlowFactoryReward(base):  # type: ignore[misc]  # a class of a library that is not here
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
            batch = reward.judged(image, prompt)
            return output(
                rewards=fill_missing(batch, missing, where=f"reward {reward.name!r}"),
                extra_info={**batch.parts, "without": batch.missing},
            )

    FlowFactoryReward.__name__ = FlowFactoryReward.__qualname__ = reward.name
    return FlowFactoryReward


# -- MixGRPO -----------------------------------------------------------------------------------------------------------
#
#     reward_models = [mixgrpo_reward(salon.reward("model:taste@taste/mood"))]
#     reward_weights = {"UnifiedRewardModel": 1.0}
#
# MixGRPO knows its reward models by the names of their classes, and of those it knows UnifiedRewardModel alone says
# which pictures it could score: model(images, prompts) -> (rewards, successes). Pictures without success are dropped,
# so nothing has to be declared for a missing number. Read in Tencent-Hunyuan/MixGRPO,
# fastvideo/models/reward_model/utils.py at e5cdd6a.


class UnifiedRewardModel:
    """A reward of Salon under a name that MixGRPO knows."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward

    def __call__(self, images: Sequence[Any], prompts: Sequence[str]) -> tuple[list[float], list[bool]]:
        rewards = self.reward.judged(list(images), list(prompts)).rewards
        return [math.nan if value is None else value for value in rewards], [value is not None for value in rewards]


def mixgrpo_reward(reward: Reward) -> UnifiedRewardModel:
    """The object for MixGRPO's `reward_models`; its weight stands under "UnifiedRewardModel"."""
    return UnifiedRewardModel(reward)


# -- miles_diffusion ---------------------------------------------------------------------------------------------------
#
#     # my_package/taste.py, named as --custom-rm-path my_package.taste.taste
#     taste = miles_reward(salon.reward("model:taste@taste/mood"))
#
# It is awaited as f(args, samples, **kwargs) with samples that have `prompt` and `generated_output`, a tensor CTHW
# from 0 to 1 or in bytes, and wants one number for each. Scoring runs in a thread, so that other rollouts go on.


def miles_reward(reward: Reward, *, missing: Missing = "raise") -> Callable[..., Awaitable[list[float]]]:
    """The async function for `--custom-rm-path`."""
    check_missing(missing)

    async def rewards(args: Any, samples: Sequence[Any], **kwargs: Any) -> list[float]:
        pictures = [_one_frame(sample.generated_output) for sample in samples]
        batch = await asyncio.to_thread(reward.judged, pictures, [prompt_text(sample.prompt) for sample in samples])
        return fill_missing(batch, missing, where=f"reward {reward.name!r}")

    return rewards


def _one_frame(output: Any) -> Any:
    """(C, T, H, W) with one frame, or (C, H, W)."""
    shape = tuple(getattr(output, "shape", ()))
    if len(shape) == 4 and shape[1] == 1:
        return output[:, 0]
    if len(shape) == 4:
        raise BadValue("one still picture is needed", found=f"shape {shape}", where="generated_output")
    return output


# -- SRPO --------------------------------------------------------------------------------------------------------------
#
#     reward_model = srpo_reward(salon.reward("hpsv2:weights/hpsv2", grad=True))
#
# SRPO calls reward_model.SRP_cfg(prompt, neg_prompt, image, k) with lists of one text and a float tensor NCHW from 0
# to 1 that carries a gradient, and takes relu(0.7 - r) as the loss. Its reward is (1 + k) r(image, prompt) - r(image,
# neg_prompt), which for scores that are linear in the text vector is its own formula. Read in Tencent-Hunyuan/SRPO,
# fastvideo/SRPO.py at 81e5898. Its threshold of 0.7 fits HPSv2's cosine: `scale` brings others there.


class SrpoReward:
    """A reward of Salon as SRPO calls it."""

    def __init__(self, reward: DifferentiableReward, scale: float = 1.0) -> None:
        self.reward, self.scale = reward, scale

    def SRP_cfg(self, prompt: Sequence[str], neg_prompt: Sequence[str], image: Any, k: Any) -> Any:
        """(n,) (1 + k) times the reward under `prompt` less the one under `neg_prompt`, with a gradient."""
        wanted, unwanted = (self._texts(texts, len(image)) for texts in (prompt, neg_prompt))
        return self.scale * ((1 + k) * self.reward(image, wanted) - self.reward(image, unwanted))

    def _texts(self, texts: Sequence[str], count: int) -> list[str]:
        return list(texts) * count if len(texts) == 1 else list(texts)


def srpo_reward(reward: DifferentiableReward, *, scale: float = 1.0) -> SrpoReward:
    """The object for SRPO's `reward_model`."""
    return SrpoReward(reward, scale)
