"""A plan of memory: what one use of it takes, and all of them together."""

from __future__ import annotations

from pydantic import Field

from salon.study.noun import Noun
from salon.train.memory_available import words

LEFT_OUT = (
    "CUDA's context, the allocator's fragments and temporary results inside one operation (the margin is for them)",
    "logits: a reward reads one hidden state, and TRL's fused head makes log-probabilities tile by tile",
    "pairs of which a picture or prompt is larger than planned",
)


class MemoryRow(Noun):
    """One use of memory."""

    name: str = Field(description="What it is for.")
    bytes: int = Field(description="Bytes on each GPU.")
    how: str = Field(description="How it was counted.")


class MemoryPlan(Noun):
    """What a training needs on each GPU."""

    backbone: str = Field(description="What is trained.")
    source: str = Field(description="Where its shape is from.")
    parameters: int = Field(description="Parameters in all, the head and adapters included.")
    trained: int = Field(description="Parameters that learn.")
    learn: str = Field(description="What is trained: full, lora or head.")
    gpus: int = Field(description="Processes, one for each GPU.")
    shard: str = Field(description="How weights are shared out: none, fsdp2, zero2 or zero3.")
    precision: str = Field(description="Numbers of the forward pass.")
    recompute: bool = Field(description="Whether activations are computed again.")
    at_once: int = Field(description="Pairs, or answers, that one process holds at once.")
    picture_tokens: int = Field(description="Tokens of one picture.")
    tokens: int = Field(description="Tokens of one sequence: picture, text and answer.")
    rows: tuple[MemoryRow, ...] = Field(description="Uses of memory.")
    fixed: int = Field(description="Bytes of parameters, gradients and optimizer: counted, not estimated.")
    margin: int = Field(description="Bytes added for what is left out.")
    total: int = Field(description="Bytes needed on each GPU, the margin included.")
    memory: int | None = Field(description="Bytes that are there; none where unknown.")
    fits: bool | None = Field(description="Whether the total fits; none where memory is unknown.")
    change: str | None = Field(description="The smallest change that fits, where it does not fit.")
    left_out: tuple[str, ...] = Field(description="What is not counted.")

    @property
    def headline(self) -> str:
        """The plan in one line."""
        there = "" if self.memory is None else f" of {words(self.memory)}"
        return (
            f"{words(self.total)}{there} on each of {self.gpus} GPU{'s' * (self.gpus > 1)}: {self.learn}, shard "
            f"{self.shard}, {self.precision}, {self.at_once} at once, recompute {'on' if self.recompute else 'off'}"
        )
