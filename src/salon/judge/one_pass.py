"""One question for all criteria of one picture, and its answer read strictly: a one-pass scorer is asked this way.

The question follows the pointwise prompt of PPaint (appendix D.3): role, criteria with their scales, thoughts between
<think> and </think>, then one JSON object between <answer> and </answer>.

The last answer block after the thoughts binds, whatever an earlier one says. It holds one JSON object and nothing
else (a code fence around it is let pass), with a number for every criterion under its id, each once; other keys say
nothing. A number in quotes, a word, null and NaN are not numbers. A block that never closes breaks off. Where every
criterion has its number but one lies off its scale, the verdict is `out of range`: nothing is cut to fit or guessed.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from salon.judge.points import check_scale
from salon.models.one_pass import ROLE
from salon.study.criterion import Criterion, Scale
from salon.study.noun import Noun

OUT_OF_RANGE = "out of range"
_OPEN, _CLOSE = "<answer>", "</answer>"
_FENCE = re.compile(r"```(?:json)?(.*)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class OnePassAnswer:
    """What an answer says."""

    scores: tuple[float, ...] | None
    """A number for every criterion, in their order; None where the answer cannot be read or leaves the scale."""
    problem: str | None = None
    """Why there are no scores; `out of range` where there are numbers off the scale."""
    thought: bool = False
    """Whether a closed thought came first."""

    @property
    def is_read(self) -> bool:
        """Whether the form was kept: a number for every criterion, on its scale or off it."""
        return self.problem in (None, OUT_OF_RANGE)


class OnePass(Noun):
    """How one picture is asked about under all its criteria at once."""

    criteria: tuple[Criterion, ...] = Field(min_length=1)
    think: bool = True
    """Whether thoughts are asked for first."""
    role: str = ROLE
    """The first line of the question."""
    decimals: int = Field(default=2, ge=0, le=6)
    form: Literal["think-answer"] = "think-answer"

    @model_validator(mode="after")
    def _can_be_rated(self) -> OnePass:
        ids = [one.id for one in self.criteria]
        if len(set(ids)) < len(ids):
            raise ValueError(f"criteria are asked once each, found {ids}")
        return self

    def model_post_init(self, _: Any) -> None:
        """Every criterion needs a scale."""
        for criterion in self.criteria:
            check_scale(criterion)

    @property
    def ids(self) -> tuple[str, ...]:
        """The criteria by id: the keys of an answer."""
        return tuple(one.id for one in self.criteria)

    @property
    def hash(self) -> str:
        """Twelve hex digits that change when the question does."""
        return hashlib.sha256(self.question().encode()).hexdigest()[:12]

    def question(self, prompt: str | None = None) -> str:
        """The text that goes with the picture; `prompt` is what the picture was made for, where that is to be seen."""
        many = f"{len(self.criteria)} criteria" if len(self.criteria) > 1 else "one criterion"
        lines = [self.role, f"Evaluate this image on {many}.", *self._listed()]
        if prompt:
            lines += ["It was made for this prompt:", prompt]
        pattern = {id: f"<{_span(self._scale(n), self.decimals, '-')}>" for n, id in enumerate(self.ids)}
        example = "{" + ", ".join(f"{json.dumps(id, ensure_ascii=False)}: {told}" for id, told in pattern.items()) + "}"
        thoughts = (
            "First output the thinking process in <think> </think> tags and then output" if self.think else "Output"
        )
        lines += [f"{thoughts} the final answer as valid JSON in <answer> </answer> tags:", example]
        return "\n".join(lines)

    def read(self, text: str) -> OnePassAnswer:
        """What `text` says; nothing in it is guessed."""
        thought, body = _after_thoughts(text)
        block = _last_block(body)
        if isinstance(block, _Unread):
            return OnePassAnswer(None, block.reason, thought)
        found = _object(block)
        if isinstance(found, _Unread):
            return OnePassAnswer(None, found.reason, thought)
        missing = [id for id in self.ids if id not in found]
        if missing:
            return OnePassAnswer(None, "criterion missing", thought)
        values = [found[id] for id in self.ids]
        if not all(_is_number(value) for value in values):
            return OnePassAnswer(None, "not a number", thought)
        if not all(self._scale(n).low <= value <= self._scale(n).high for n, value in enumerate(values)):
            return OnePassAnswer(None, OUT_OF_RANGE, thought)  # also a whole number that no float can hold
        return OnePassAnswer(tuple(float(value) for value in values), None, thought)

    def answer(self, scores: Sequence[float], thought: str = "") -> str:
        """An answer in the right form that gives these scores."""
        told = {id: _shown(value, self._scale(n), self.decimals) for n, (id, value) in enumerate(zip(self.ids, scores))}
        block = "{" + ", ".join(f"{json.dumps(id, ensure_ascii=False)}: {value}" for id, value in told.items()) + "}"
        return (f"<think>{thought}</think>" if self.think else "") + f"{_OPEN}{block}{_CLOSE}"

    def _scale(self, number: int) -> Scale:
        scale = self.criteria[number].scale
        assert scale is not None  # model_post_init saw to it
        return scale

    def _listed(self) -> list[str]:
        """A line for each criterion: its id, what is meant, its scale."""
        return [f"{n + 1}) {_described(one)} {_range_words(self._scale(n), self.decimals)}"
                for n, one in enumerate(self.criteria)]  # fmt: skip


# -- the question ----------------------------------------------------------------------------------------------------


def _described(criterion: Criterion) -> str:
    told = [criterion.id] if criterion.title == criterion.id else [criterion.id, criterion.title]
    asked = (criterion.rate_question or "").strip()
    return ": ".join([*told, asked] if asked else told).rstrip(".?") + ("?" if asked.endswith("?") else ".")


def _range_words(scale: Scale, decimals: int) -> str:
    if scale.kind == "ordinal" and scale.levels:
        return f"One of {', '.join(f'{level:g}' for level in scale.levels)}."
    low, high = ("poor", "excellent") if scale.higher_is_better else ("excellent", "poor")
    middle = (scale.low + scale.high) / 2
    return (
        f"A number from {_span(scale, decimals, ' to ')} "
        f"({scale.low:.{decimals}f} = {low}, {middle:.{decimals}f} = moderate, {scale.high:.{decimals}f} = {high})."
    )


def _span(scale: Scale, decimals: int, mark: str) -> str:
    if scale.kind == "ordinal" and scale.levels:
        return f"{scale.low:g}{mark}{scale.high:g}"
    return f"{scale.low:.{decimals}f}{mark}{scale.high:.{decimals}f}"


def _shown(value: float, scale: Scale, decimals: int) -> str:
    return f"{value:g}" if scale.kind == "ordinal" and scale.levels else f"{value:.{decimals}f}"


# -- the answer ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unread:
    reason: str


def _after_thoughts(text: str) -> tuple[bool, str]:
    """Whether a thought was closed, and what comes after the last one."""
    before, _, after = text.rpartition("</think>")
    return "<think>" in before, "" if "<think>" in after else after


def _last_block(body: str) -> str | _Unread:
    start = body.rfind(_OPEN)
    if start < 0:
        return _Unread("no answer")
    inside, mark, _ = body[start + len(_OPEN) :].partition(_CLOSE)
    if not mark:
        return _Unread("breaks off")
    fenced = _FENCE.fullmatch(inside.strip())
    return fenced[1] if fenced else inside.strip()


def _object(block: str) -> dict[str, Any] | _Unread:
    twice: list[bool] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        held = dict(pairs)
        twice.append(len(held) < len(pairs))
        return held

    try:
        found = json.loads(block, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return _Unread("not JSON")
    if any(twice):
        return _Unread("criterion answered twice")
    return found if isinstance(found, dict) else _Unread("not JSON")


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)
