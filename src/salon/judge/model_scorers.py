"""Scorers that are models: their names, the one-pass question, and how an untrained VLM is asked it.

    model:FOLDER@CRITERION              a trained model: heads, a reward model or a one-pass scorer
    onepass:FOLDER                      a one-pass scorer, or any VLM in transformers' layout
    onepass:openai:MODEL@URL            the VLM at an endpoint, named as for `salon judge run --model`
    ...@CRITERION                       one criterion; without it, all that are asked about

Nothing here loads a model.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from pydantic import Field, model_validator

from salon.errors import BadValue
from salon.models import ROLE, ROLES, Role
from salon.study import (
    Criterion,
    Item,
    Noun,
    Prompt,
    Scale,
    Scorer,
    ScorerCard,
    Study,
    builtin_criterion,
    matching_criteria,
)

if TYPE_CHECKING:
    from salon.models import AnyCard, ModelCriterion

MODEL_KINDS = ("model", "onepass")
MARK = "@"
"""Between the folder of a model and the criterion, in the name of a scorer."""
ENDPOINT_PREFIX = "onepass:openai:"
"""Begins the name of a VLM at an endpoint."""


def scorer_names(folder: Path, criteria: Sequence[str] = (), *, flag: bool = True) -> list[str]:
    """How `salon score` names the scorers of a model: one for each criterion, or for those given.

    Without `flag` a flag head that is not asked for by name is left out: it says what to hold back, not what is better.
    """
    from salon.models import is_one_pass, known_criteria, read_card

    card = read_card(folder)
    chosen = criteria or [criterion.id for criterion in (known_criteria(card) if flag else card.criteria)]
    ids = [known_criterion(card, criterion, where=str(folder)).id for criterion in chosen]
    kind = MODEL_KINDS[is_one_pass(folder)]
    return [f"{kind}:{folder}{MARK}{id}" for id in dict.fromkeys(ids)]


def split_model_name(text: str) -> tuple[Path, str | None] | None:
    """The folder and the criterion in the name of a model's scorer; None for any other name."""
    kind, _, place = text.partition(":")
    if kind not in MODEL_KINDS or not place or text.startswith(ENDPOINT_PREFIX):
        return None
    folder, mark, criterion = (place, "", "") if Path(place).exists() else place.rpartition(MARK)
    return Path(folder if mark else place), criterion or None


def model_folder(text: str) -> Path | None:
    """The folder of the model that `text` names as a scorer, or is; None where it is no model."""
    from salon.models import is_model

    parts = split_model_name(text)
    folder = Path(text) if parts is None else parts[0]
    return folder if is_model(folder) else None


def expand_model(text: str, criteria: Sequence[str] = (), *, flag: bool = True) -> list[str]:
    """A model's folder, also as `model:FOLDER`, stands for all its scorers, and a chat scorer for all its scores; any
    other text names one scorer."""
    from salon.judge.chat_template import CHAT, expand_chat

    if text.startswith(f"{CHAT}:"):
        return expand_chat(text)
    parts, folder = split_model_name(text), model_folder(text)
    if folder is None or (parts is not None and parts[1] is not None):
        return [text]
    return scorer_names(folder, criteria, flag=flag)


def scores_name(card: AnyCard, criterion: str) -> str:
    """What the scores of a model are called: its name, and the criterion where it knows several."""
    from salon.models import known_criteria

    name = card.name if len(known_criteria(card)) == 1 else f"{card.name}{MARK}{criterion}"
    return "".join("-" if letter in "/\\:\0" else letter for letter in name)


def known_criterion(card: AnyCard, criterion: str | None, *, where: str) -> ModelCriterion:
    """What the model knows about `criterion`; BadValue where it knows nothing, or where one has to be named."""
    from salon.models import known_criteria

    by_id = {entry.id: entry for entry in known_criteria(card)}
    if criterion is None and len(by_id) == 1:
        return next(iter(by_id.values()))
    if criterion not in by_id:
        raise BadValue(
            f"a criterion that the model {card.name!r} was trained on is needed",
            found="none named" if criterion is None else repr(criterion),
            where=where,
            remedy="one of " + ", ".join(by_id),
        )
    return by_id[criterion]


# -- the one-pass question ---------------------------------------------------------------------------------------------

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
    """One question about a picture under all its criteria at once, and how its answer is read.

    The question follows the pointwise prompt of PPaint (appendix D.3): role, criteria with their scales, thoughts
    between <think> and </think>, then one JSON object between <answer> and </answer>.

    The last answer block after the thoughts binds, whatever an earlier one says. It holds one JSON object and nothing
    else (a code fence around it is allowed), with a number for every criterion under its id, each once; other keys are
    ignored. A number in quotes, a word, null and NaN are not numbers. A block that never closes breaks off. Where every
    criterion has its number but one lies off its scale, the verdict is `out of range`: nothing is clipped or guessed.
    """

    criteria: tuple[Criterion, ...] = Field(min_length=1)
    think: bool = True
    """Whether thoughts are asked for first."""
    role: str = ROLE
    """The first line of the question."""
    decimals: int = Field(default=2, ge=0, le=6)
    form: Literal["think-answer"] = "think-answer"

    @model_validator(mode="after")
    def _can_be_rated(self) -> OnePass:
        ids = [criterion.id for criterion in self.criteria]
        if len(set(ids)) < len(ids):
            raise ValueError(f"criteria are asked once each, found {ids}")
        return self

    def model_post_init(self, _: Any) -> None:
        """Every criterion needs a scale."""
        from salon.judge.protocol import check_scale

        for criterion in self.criteria:
            check_scale(criterion)

    @property
    def ids(self) -> tuple[str, ...]:
        """The criteria by id: the keys of an answer."""
        return tuple(criterion.id for criterion in self.criteria)

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
        example = "{" + ", ".join(f"{json.dumps(id, ensure_ascii=False)}: {span}" for id, span in pattern.items()) + "}"
        thoughts = (
            "First output the thinking process in <think> </think> tags and then output" if self.think else "Output"
        )
        lines += [f"{thoughts} the final answer as valid JSON in <answer> </answer> tags:", example]
        return "\n".join(lines)

    def read(self, text: str) -> OnePassAnswer:
        """What `text` says; nothing in it is guessed."""
        before, _, after = text.rpartition("</think>")
        thought, body = "<think>" in before, "" if "<think>" in after else after
        record = _answer_object(body)
        if isinstance(record, str):
            return OnePassAnswer(None, record, thought)
        if any(id not in record for id in self.ids):
            return OnePassAnswer(None, "criterion missing", thought)
        values = [record[id] for id in self.ids]
        is_whole = [isinstance(value, int) and not isinstance(value, bool) for value in values]
        is_finite = [isinstance(value, float) and math.isfinite(value) for value in values]
        if not all(whole or finite for whole, finite in zip(is_whole, is_finite)):
            return OnePassAnswer(None, "not a number", thought)
        if not all(self._scale(n).low <= value <= self._scale(n).high for n, value in enumerate(values)):
            return OnePassAnswer(None, OUT_OF_RANGE, thought)  # also a whole number that no float can hold
        return OnePassAnswer(tuple(float(value) for value in values), None, thought)

    def answer(self, scores: Sequence[float], thought: str = "") -> str:
        """An answer in the right form that gives these scores."""
        values = {}
        for n, (id, value) in enumerate(zip(self.ids, scores)):
            has_levels = self._scale(n).kind == "ordinal" and self._scale(n).levels
            values[id] = f"{value:g}" if has_levels else f"{value:.{self.decimals}f}"
        block = "{" + ", ".join(f"{json.dumps(id, ensure_ascii=False)}: {value}" for id, value in values.items()) + "}"
        return (f"<think>{thought}</think>" if self.think else "") + f"{_OPEN}{block}{_CLOSE}"

    def _scale(self, number: int) -> Scale:
        scale = self.criteria[number].scale
        assert scale is not None  # model_post_init saw to it
        return scale

    def _listed(self) -> list[str]:
        """A line for each criterion: its id, what is meant, its scale."""
        lines = []
        for n, criterion in enumerate(self.criteria):
            question = (criterion.rate_question or "").strip()
            names = [criterion.id] if criterion.title == criterion.id else [criterion.id, criterion.title]
            names += [question] if question else []
            end = "?" if question.endswith("?") else "."
            words = _range_words(self._scale(n), self.decimals)
            lines.append(f"{n + 1}) {': '.join(names).rstrip('.?')}{end} {words}")
        return lines


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


def _answer_object(body: str) -> dict[str, Any] | str:
    """The object in the last answer block, or why there is none."""
    start = body.rfind(_OPEN)
    if start < 0:
        return "no answer"
    inside, mark, _ = body[start + len(_OPEN) :].partition(_CLOSE)
    if not mark:
        return "breaks off"
    fenced = _FENCE.fullmatch(inside.strip())
    block = fenced[1] if fenced else inside.strip()
    twice: list[bool] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        twice.append(len(values) < len(pairs))
        return values

    try:
        record = json.loads(block, object_pairs_hook=once)
    except (ValueError, RecursionError):
        return "not JSON"
    if any(twice):
        return "criterion answered twice"
    return record if isinstance(record, dict) else "not JSON"


# -- untrained VLMs ----------------------------------------------------------------------------------------------------

UNTRAINED = "untrained-vlm"
"""How the signatures of untrained VLMs begin."""
UNREAD_POLICY = (
    "Answers of an untrained VLM are read as those of a trained one: an answer that cannot be read, breaks off or "
    "leaves its scale gives no number, is counted, and is not asked for again."
)
_DEFAULT_SCALE = Scale(low=1, high=5)
"""Of criteria that have none, as for labels."""


class RaterSettings(Noun):
    """How an untrained VLM is asked for scores."""

    role: Role = Field(
        ROLE, description=f"First line of the question: a sentence, or one of {' and '.join(ROLES)} by name."
    )
    think: bool = Field(True, description="Ask for thoughts before the answer.")
    show_prompt: bool = Field(False, description="Show the prompt that an image was made for; the paper does not.")
    max_tokens: int = Field(512, ge=1, le=1_000_000, description="Longest answer; one that is cut off is unread.")
    pixels: int = Field(1024 * 1024, ge=64, description="Larger pictures are made smaller, their shape kept.")
    most_unread: float = Field(
        0.1, ge=0, le=1, description="Stop and write nothing above this share of unreadable answers."
    )
    key_env: str = Field("OPENAI_API_KEY", description="Endpoint: environment variable with the key, or none.")
    allow_http: bool = Field(False, description="Endpoint: allow plain http beyond this machine.")
    concurrency: int = Field(32, ge=1, le=1000, description="Endpoint: most requests at a time.")
    per_minute: float | None = Field(None, gt=0, description="Endpoint: most requests in a minute.")
    prices: Path | None = Field(None, description="Endpoint: price list, TOML.")
    budget: float | None = Field(None, ge=0, description="Endpoint: the most this run may spend.")
    calls: Path | None = Field(
        None, description="Endpoint: file that keeps bought answers  [default: beside the study, STUDY.calls.sqlite]"
    )
    field: tuple[str, ...] = Field((), description="Endpoint: further field of every request, NAME=VALUE (repeatable).")
    criteria: tuple[Criterion, ...] = Field((), description="What it is asked about; those of the study.")

    def on(self, study: Study, folder: Path, criteria: Sequence[str] = ()) -> RaterSettings:
        """The same for the study in `folder`: its criteria, or those named, and where bought answers are kept."""
        home = folder.resolve()
        chosen = [study.criterion(id) for id in criteria] or study.criteria
        calls = self.calls or home.with_name(f"{home.name}.calls.sqlite")
        return self.model_copy(
            update={"criteria": tuple(_with_scale(criterion) for criterion in chosen), "calls": calls}
        )

    def about(self, patterns: Sequence[str]) -> RaterSettings:
        """The same for pictures that are no study: built-in criteria by id, or all that begin with `ppaint/...`."""
        criteria = [_with_scale(criterion) for pattern in patterns for criterion in matching_criteria(pattern)]
        return self.model_copy(update={"criteria": tuple(criteria)})

    def form(self, criterion: str | None) -> OnePass:
        """The question: about all criteria, or without a study about the built-in one that is named."""
        criteria = self.criteria or ((_with_scale(builtin_criterion(criterion)),) if criterion else ())
        if not criteria:
            raise BadValue(
                "criteria to ask an untrained VLM about are needed",
                found="no study, and no criterion in the scorer's name",
                remedy="score a study, which has criteria, or name a built-in one: onepass:...@ppaint/overall",
            )
        return OnePass(criteria=criteria, think=self.think, role=self.role)


@runtime_checkable
class UntrainedScorer(Scorer, Protocol):
    """The scorer that an untrained VLM is; `make_scorer` makes one of a name that `split_rater` knows."""

    title: str
    """The VLM's name."""
    card: ScorerCard
    batch: int

    def forecast_words(self, items: Iterable[tuple[Item, Prompt | None]]) -> str:
        """What a run takes at an endpoint, in a line; empty for a VLM in this process."""
        ...


@dataclass(frozen=True)
class RaterName:
    """An untrained VLM in the name of a scorer."""

    source: str
    """A folder, or openai:MODEL@URL."""
    criterion: str | None

    @property
    def is_endpoint(self) -> bool:
        """Whether a server is asked."""
        return self.source.startswith("openai:")

    @property
    def title(self) -> str:
        """What its scores are called."""
        name = self.source.removeprefix("openai:").partition("@http")[0] if self.is_endpoint else ""
        name = name or Path(self.source).resolve().name
        return "".join("-" if letter in "/\\:\0" else letter for letter in name)


def split_rater(text: str) -> RaterName | None:
    """The untrained VLM that `text` names; None where it names anything else, a trained model among others."""
    from salon.models import is_model

    if text.startswith(ENDPOINT_PREFIX):
        place = text.removeprefix("onepass:")
        model, mark, rest = place.rpartition("@http")
        url, _, criterion = rest.partition(MARK) if mark else place.partition(MARK)
        return RaterName(f"{model}@http{url}" if mark else url, criterion or None)
    parts = split_model_name(text)
    if parts is None or not text.startswith("onepass:") or not parts[0].is_dir() or is_model(parts[0]):
        return None
    return RaterName(str(parts[0]), parts[1])


def is_untrained_vlm(folder: Path) -> bool:
    """Whether a folder holds a VLM in transformers' layout, and no model of Salon's."""
    from salon.models import is_model

    return (folder / "config.json").is_file() and not is_model(folder)


def expand_raters(words: Sequence[str], criteria: Sequence[str]) -> list[str]:
    """An untrained VLM without a criterion stands for one scorer of each criterion, a chat scorer for all its scores;
    other words stay as they are."""
    from salon.judge.chat_template import expand_chat

    names: list[str] = []
    for word in [scorer for text in words for scorer in expand_chat(text)]:
        rater = split_rater(word)
        alone = rater is None or rater.criterion is not None
        names += [word] if alone else [f"{word}{MARK}{id}" for id in criteria] or [word]
    return names


def _with_scale(criterion: Criterion) -> Criterion:
    return criterion if criterion.scale is not None else criterion.model_copy(update={"scale": _DEFAULT_SCALE})
