"""Settings of `salon distill train`, and the reward of one-pass answers that they describe.

    reward = rank_weight * R       R by stats.fidelity, over all images that are answered at one time
             - format_penalty      if the answer cannot be read, or lacks the thought that was asked for
             - range_penalty       if every criterion has its number and one of them is off its scale
             + absolute_weight * C C by stats.closeness: nearness to the labels themselves; not in the paper, default 0

The rank reward fixes an order and no scale; the absolute term fixes the scale, for labels that have values. An answer
that cannot be read, or is off the scale, has no rank reward and no part in the mean and variance of its image. An image
without a partner has no rank reward for any of its answers; format and range still count. So an answer is worth 0 to
`rank_weight` if it is read and on its scale, and less than 0 otherwise.

Answers are grouped by item and gathered from all processes before anything is compared. They are sorted first, so the
numbers are the same to the last bit for 1, 2 or 4 processes.

Defaults of the settings are PPaint's (appendix D.2, Table 16) where it gives them: six answers for an image, 64 images
a step, AdamW at 1e-6, clipping at 1, ten epochs, 512 tokens. It gives neither tau, eps, beta nor the weights of the
format and range terms: eps, ddof and beta are those of VisualQuality-R1's code, the others are Salon's.

The reward in the shapes that trainers call:

    TRL                f(prompts, completions, completion_ids, **columns) -> list[float]         a column `item`
    verl               f(data_sources, solution_strs, ground_truths, extra_infos) -> list[float]
                       `reward_model.reward_manager=batch`; the item is the ground truth, or extra_info["item"]
    ms-swift           a class for `orms`: C(args=...)(completions, **columns) -> list[float]    a column `item`
    VisualQuality-R1   f(completions, solution, **kwargs) -> list[float]                         `item` or `image_path`

verl's usual reward sees one answer at a time and cannot compare; its batch manager passes all of them. TRL, ms-swift
and VisualQuality-R1 call the reward in every process with that process's answers: give DistillReward the processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import BadColumns, BadValue, UnknownReference
from salon.models import ROLE, ROLES, Role
from salon.stats import TAU, Weighing
from salon.study import Noun

if TYPE_CHECKING:
    from salon.evaluate import PseudoPairs, PseudoScores
    from salon.stats import Fidelity

Floats = NDArray[np.float64]


class ScoredAnswer(Protocol):
    """What the reader of answers gives back."""

    @property
    def scores(self) -> tuple[float, ...] | None:
        """A number for every criterion on its scale, or None."""

    @property
    def problem(self) -> str | None:
        """Why there are none."""

    @property
    def thought(self) -> bool:
        """Whether a closed thought came first."""

    @property
    def is_read(self) -> bool:
        """Whether the form was kept, on the scale or off it."""


Read = Callable[[str], ScoredAnswer]


class Processes(Protocol):
    """The processes that share the answers of one step."""

    @property
    def number(self) -> int:
        """Which of them this is, from 0."""

    def gather(self, mine: Any) -> list[Any]:
        """What each of them has, in their order; the same list everywhere."""


@dataclass(frozen=True)
class SingleProcess:
    """One process."""

    number: int = 0

    def gather(self, mine: Any) -> list[Any]:
        """Only its own."""
        return [mine]


class RewardTerms(Noun):
    """What an answer is worth."""

    rank_weight: float = Field(1.0, ge=0, description="Weight of the rank reward, itself between 0 and 1.")
    format_penalty: float = Field(
        1.0, ge=0, description="Taken off an answer that cannot be read or lacks its thought."
    )
    range_penalty: float = Field(0.5, ge=0, description="Taken off an answer with a number off its scale.")
    absolute_weight: float = Field(
        0.0,
        ge=0,
        description="Weight of nearness to the labels themselves, between 0 and 1: it fixes the scale. Not in the "
        "paper.",
    )
    weigh: Weighing = Field(
        "gap",
        description="Weight of a pair: by the gap of its labels (the paper), by how sure their errors make its order, "
        "or the same for all.",
    )
    tau: float = Field(TAU, gt=0, description="Gap of labels from which a pair counts fully, on their scale.")
    eps: float = Field(1e-6, gt=0, description="Added to the variances under the root.")
    ddof: int = Field(1, ge=0, le=1, description="Variance of G answers: divided by G - ddof.")


@dataclass(frozen=True)
class AnswerRewards:
    """The rewards of one process's answers, and figures over those of all processes."""

    rewards: Floats
    """(m,) of this process's answers, in their order."""
    rank: Floats
    """(m,) the rank reward alone; NaN where there is none."""
    answers: int
    """Answers of all processes."""
    images: int
    unread: int
    """Answers that cannot be read."""
    out_of_range: int
    thoughtless: int
    """Answers that were read, without the thought that was asked for."""
    unranked: int
    """Answers with scores whose image had no partner."""
    problems: dict[str, int] = field(default_factory=dict)
    """Answers without scores, by reason."""
    figures: dict[str, float] = field(default_factory=dict)
    """Means over all answers, for logs."""


class DistillReward:
    """Rewards for answers about items with labels. Call it with texts and the ids of their items."""

    def __init__(
        self,
        labels: PseudoScores,
        read: Read,
        terms: RewardTerms | None = None,
        *,
        think: bool = False,
        processes: Processes | None = None,
    ) -> None:
        self.labels, self.read, self.terms, self.think = labels, read, terms or RewardTerms(), think
        self.processes: Processes = processes or SingleProcess()
        if self.terms.absolute_weight and not np.isfinite(labels.values).any():
            raise BadValue(
                "nearness to labels needs labels with values",
                found=f"labels by {labels.source}, without any",
                remedy="--absolute-weight 0, or labels by the bridge",
            )
        if self.terms.weigh == "posterior" and labels.pairs is None and not np.isfinite(labels.sd).any():
            raise BadValue(
                "weights by error need labels with their errors",
                found=f"labels by {labels.source}, without any",
                remedy="--weigh gap, or labels by the bridge",
            )

    def __call__(self, texts: Sequence[str], items: Sequence[str]) -> AnswerRewards:
        """The rewards of this process's answers; every process must call it, be it with no answers at all."""
        if len(texts) != len(items):
            raise BadValue("every answer needs its item", found=f"{len(texts)} answers, {len(items)} items")
        mine = [(self._code(item), *self._read(text)) for text, item in zip(texts, items)]
        everyone = self.processes.gather(mine)
        before = sum(len(part) for part in everyone[: self.processes.number])
        rows = [row for part in everyone for row in part]
        return self._reward_rows(rows, slice(before, before + len(mine)))

    def targets(self, items: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """(n, n, D) p_gt and w among items, given by their place in the labels."""
        from salon.stats import targets_from_scores, targets_from_votes

        labels = self.labels
        if labels.pairs is not None:
            return targets_from_votes(labels.pairs.a, labels.pairs.b, self._shares, items)
        sd = labels.sd[items] if self.terms.weigh == "posterior" else None
        return targets_from_scores(labels.values[items], self.terms.tau, sd, weigh=self.terms.weigh)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {item: place for place, item in enumerate(self.labels.items)}

    @cached_property
    def _shares(self) -> Floats:
        return (
            vote_shares(self.labels.pairs, len(self.labels.criteria)) if self.labels.pairs is not None else _NO_SHARES
        )

    def _code(self, item: str) -> int:
        if item not in self._places:
            raise UnknownReference(
                "answers are rewarded for items with labels", found=repr(item), where=f"{len(self._places)} labels"
            )
        return self._places[item]

    def _read(self, text: str) -> tuple[tuple[float, ...] | None, str | None, bool, bool]:
        answer = self.read(text)
        return answer.scores, answer.problem, answer.is_read, answer.thought or not self.think

    def _reward_rows(self, rows: list[tuple[Any, ...]], mine: slice) -> AnswerRewards:
        from salon.stats import closeness_rewards

        empty = (np.nan,) * len(self.labels.criteria)
        code = np.array([row[0] for row in rows], np.int64)
        scores = np.array([row[1] or empty for row in rows], float).reshape(len(rows), len(empty))
        fidelity = self._rank_answers(code, scores)
        is_read, thought = (np.array([row[n] for row in rows], bool) for n in (3, 4))
        lost = np.isnan(scores).any(1)
        rank = np.where(np.isfinite(fidelity.rank), fidelity.rank, 0.0)
        total = (
            self.terms.rank_weight * rank
            - self.terms.format_penalty * ~(is_read & thought)
            - self.terms.range_penalty * (is_read & lost)
        )
        if self.terms.absolute_weight:
            near = closeness_rewards(scores, self.labels.values[code], low=self.labels.low, high=self.labels.high)
            total = total + self.terms.absolute_weight * np.where(np.isfinite(near), near, 0.0)
        return AnswerRewards(
            rewards=total[mine],
            rank=fidelity.rank[mine],
            answers=len(rows),
            images=len(set(code.tolist())),
            unread=int((~is_read).sum()),
            out_of_range=int((is_read & lost).sum()),
            thoughtless=int((is_read & ~thought).sum()),
            unranked=int((np.isnan(fidelity.rank) & ~lost).sum()),
            problems=dict(Counter(row[2] for row in rows if row[2] is not None)),
            figures=_figures(total, fidelity, scores) if rows else {},
        )

    def _rank_answers(self, code: NDArray[np.int64], scores: Floats) -> Fidelity:
        """Eq. 4-8 over all answers, computed in an order that does not depend on which process gave which."""
        from salon.stats import Fidelity, fidelity_rewards

        items, image = np.unique(code, return_inverse=True)
        order = np.lexsort((*scores.T[::-1], image))
        wins, weights = self.targets(items)
        fidelity = fidelity_rewards(
            scores[order], image[order], wins, weights, eps=self.terms.eps, ddof=self.terms.ddof
        )
        back = np.argsort(order)
        return Fidelity(
            fidelity.rank[back], fidelity.by_criterion[back], fidelity.parsed[back], fidelity.mean, fidelity.variance
        )


_NO_SHARES: Floats = np.empty((0, 0))


def vote_shares(pairs: PseudoPairs, criteria: int) -> Floats:
    """(pairs, criteria) the share of a, NaN where a row is about another criterion."""
    shares = np.full((len(pairs), criteria), np.nan)
    shares[np.arange(len(pairs)), pairs.criterion] = pairs.p
    return shares


def _figures(total: Floats, fidelity: Fidelity, scores: Floats) -> dict[str, float]:
    is_ranked = np.isfinite(fidelity.rank)
    parsed = scores[fidelity.parsed]
    return {
        "reward": float(total.mean()),
        "rank": float(fidelity.rank[is_ranked].mean()) if is_ranked.any() else float("nan"),
        "read": float(fidelity.parsed.mean()),
        "score_mean": float(parsed.mean()) if len(parsed) else float("nan"),
        "score_sd": float(parsed.std(0).mean()) if len(parsed) else float("nan"),
        "answer_sd": float(np.sqrt(np.nanmean(fidelity.variance)))
        if np.isfinite(fidelity.variance).any()
        else float("nan"),
    }


# -- settings ----------------------------------------------------------------------------------------------------------

DISTILL_FULL_RATE, DISTILL_LORA_RATE = 1e-6, 1e-5
DISTILL_FREE = frozenset(
    {"at_once", "recompute", "attention", "save_every", "keep", "log", "vllm_server_base_url", "vllm_server_host",
     "vllm_server_port", "vllm_server_timeout", "vllm_group_port", "vllm_gpu_memory_utilization",
     "vllm_tensor_parallel_size", "vllm_enable_sleep_mode"}
)  # fmt: skip
"""Settings that change memory and time but not the result: an interrupted run may go on under others."""


class DistillSettings(RewardTerms):
    """How `salon distill train` works."""

    group: int = Field(6, ge=2, le=256, description="Answers sampled for each image.")
    images: int = Field(64, ge=2, description="Images in a step, over all processes: partners of each other.")
    at_once: int = Field(
        6,
        ge=1,
        description="Answers that one process learns from at once, or the next number below that divides its share.",
    )
    epochs: int = Field(10, ge=1, le=1000, description="Times that every image is seen.")
    steps: int | None = Field(None, ge=1, description="Steps in all, in place of --epochs.")
    lr: float | None = Field(
        None, gt=0, description=f"Learning rate  [default: {DISTILL_FULL_RATE:g}; {DISTILL_LORA_RATE:g} for adapters]"
    )
    warmup: float = Field(0.0, ge=0, lt=1, description="Share of the steps over which the rate rises from 0.")
    decay: Literal["constant", "linear", "cosine"] = Field("constant", description="What the rate does after that.")
    weight_decay: float = Field(0.0, ge=0, description="AdamW's weight decay.")
    clip: float = Field(1.0, gt=0, description="Largest norm of a step's gradient.")
    beta: float = Field(0.04, ge=0, description="Weight of the divergence from the model as it began; 0: no such term.")
    entropy_bonus: float = Field(
        0.0, ge=0, description="Weight of a bonus for varied answers, against scores that collapse; not in the paper."
    )
    loss: Literal["grpo", "dapo", "dr_grpo"] = Field("grpo", description="TRL's form of the objective.")
    temperature: float = Field(1.0, gt=0, description="Of sampling while it learns; scoring is greedy.")
    max_tokens: int = Field(512, ge=1, description="Longest answer.")
    think: bool = Field(True, description="Ask for thoughts before the answer.")
    role: Role = Field(
        ROLE, description=f"First line of the question: a sentence, or one of {' and '.join(ROLES)} by name."
    )
    show_prompt: bool = Field(False, description="Show the prompt that an image was made for; the paper does not.")
    pixels: int = Field(1024 * 1024, ge=64, description="Larger pictures are made smaller, their shape kept.")
    learn: Literal["full", "lora"] = Field("full", description="What is trained: all weights, or low-rank adapters.")
    lora_on: Literal["language", "vision", "both"] = Field(
        "language", description="Where adapters go: the language model, the vision encoder, or both."
    )
    lora_rank: int = Field(16, ge=1, le=1024, description="Rank of the adapters.")
    lora_alpha: float = Field(32.0, gt=0, description="Adapters are scaled by alpha over rank.")
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout before adapters.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Numbers of the forward pass; auto: bfloat16 where a GPU has it, else float32."
    )
    recompute: bool | None = Field(
        None,
        description="Keep fewer activations and compute them again: less memory, more time  [default: with a GPU]",
    )
    attention: Literal["auto", "sdpa", "flash_attention_2", "eager"] = Field(
        "auto",
        description="How attention is computed; auto: as transformers chooses (mostly sdpa). flash_attention_2 "
        "needs a GPU, bfloat16 and the package flash-attn.",
    )
    vllm: Literal["off", "colocate", "server"] = Field(
        "off",
        description="What samples the answers: the model as it trains (off), vLLM in the same processes on the same "
        "GPUs (colocate), or a vLLM server on other GPUs (server). The other --vllm flags are TRL's, under its names.",
    )
    vllm_server_base_url: str | None = Field(
        None, description="Address of the vLLM server, http://HOST:PORT; in place of the next two."
    )
    vllm_server_host: str = Field("127.0.0.1", description="Host of the vLLM server.")
    vllm_server_port: int = Field(8000, ge=1, le=65535, description="Port of the vLLM server.")
    vllm_server_timeout: float = Field(240.0, ge=0, description="Seconds to wait for the vLLM server.")
    vllm_group_port: int = Field(51216, ge=1, le=65535, description="Port over which weights go to the vLLM server.")
    vllm_gpu_memory_utilization: float = Field(
        0.3, gt=0, le=1, description="Share of each GPU's memory for vLLM (colocate)."
    )
    vllm_tensor_parallel_size: int = Field(1, ge=1, description="GPUs over which vLLM spreads a model (colocate).")
    vllm_max_model_length: int | None = Field(
        None, ge=1, description="Longest question and answer for vLLM, in tokens  [default: the model's] (colocate)"
    )
    vllm_enable_sleep_mode: bool = Field(
        False, description="Let vLLM give up its memory while the weights are trained (colocate)."
    )
    vllm_importance_sampling_correction: bool = Field(
        True, description="Correct for the difference between vLLM's chances of words and the trained model's."
    )
    format_steps: int = Field(
        0,
        ge=0,
        description="Supervised steps on the form of an answer alone, before: scores are drawn at random, without "
        "regard to the image. For models that cannot keep the form at all.",
    )
    format_batch: int = Field(16, ge=1, description="Answers in such a step.")
    format_lr: float = Field(1e-5, gt=0, description="Learning rate of these steps.")
    validate_every: int = Field(25, ge=1, description="Steps between looks at the validation images.")
    validate_images: int = Field(500, ge=1, description="Validation images to look at.")
    choose: Literal["best", "last"] = Field(
        "best",
        description="The state to keep: the latest within one standard error of the highest validation SRCC, or the "
        "last. Fewer than 30 validation items of 5 prompts: the last.",
    )
    save_every: int = Field(25, ge=1, description="Steps between checkpoints that a run can go on from.")
    keep: int = Field(2, ge=1, le=100, description="Checkpoints to keep.")
    log: str = Field(
        "tensorboard",
        description="Trackers that are told every step, with commas, as accelerate names them (tensorboard, wandb, "
        "trackio, mlflow, ...) or python:MODULE:CLASS; none: log.jsonl alone.",
    )
    train: float = Field(0.8, gt=0, le=1, description="Share of the prompts to train on.")
    validation: float = Field(0.1, ge=0, lt=1, description="Share of the prompts to choose the best by.")
    test: float = Field(0.1, ge=0, lt=1, description="Share of the prompts kept for the evaluation.")
    split_seed: int = Field(0, ge=0, description="Seed of the split, by a hash of it and a prompt's id.")
    recipe: str | None = Field(
        None, description="Settings of a paper by name: psdistill. Flags that are given override it."
    )
    seed: int = Field(0, ge=0, description="Seed of the order of images, the adapters and sampling.")

    @property
    def learning_rate(self) -> float:
        """The rate given, or the usual one of what is trained."""
        return self.lr or (DISTILL_FULL_RATE if self.learn == "full" else DISTILL_LORA_RATE)


# -- shapes of trainers ------------------------------------------------------------------------------------------------

OnReward = Callable[[AnswerRewards], None]


def trl_reward(reward: DistillReward, on_reward: OnReward | None = None) -> Callable[..., list[float | None]]:
    """The reward as TRL's GRPOTrainer calls it; `on_reward` gets the figures of every call."""

    def one_pass_fidelity(
        prompts: Sequence[Any], completions: Sequence[Any], completion_ids: Sequence[Any], **columns: Any
    ) -> list[float | None]:
        rewards = reward(completion_texts(completions), _items(columns))
        if on_reward is not None:
            on_reward(rewards)
        return [float(value) for value in rewards.rewards]

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
            return [float(value) for value in reward(completion_texts(completions), _items(columns)).rewards]

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
        return [float(value) for value in reward(completion_texts(completions), _items(kwargs)).rewards]

    return accuracy_reward


def completion_texts(completions: Sequence[Any]) -> list[str]:
    """The words of completions: plain text, or the last message of a chat."""
    texts = []
    for completion in completions:
        content = completion if isinstance(completion, str) else completion[-1]["content"]
        texts.append(content if isinstance(content, str) else "".join(part.get("text") or "" for part in content))
    return texts


def _items(columns: Mapping[str, Any]) -> list[str]:
    if "item" not in columns:
        raise BadColumns.missing("item", columns, where="the rows that the trainer hands to the reward")
    return [str(item) for item in columns["item"]]
