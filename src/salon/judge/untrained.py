"""An untrained VLM as a one-pass rater: how it is asked, and how it is named among scorers.

    onepass:FOLDER                      the VLM in a folder, in transformers' layout and without Salon's card
    onepass:openai:MODEL@URL            the VLM at an endpoint, named as for `salon judge run --model`
    ...@CRITERION                       one criterion; without it, all that are asked about

It gets the question that a one-pass scorer is trained with, and its answer is read in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import Field

from salon.errors import BadValue
from salon.judge.one_pass import OnePass
from salon.judge.scorers.of_model import ENDPOINT, MARK, split_name
from salon.models.cards import is_model
from salon.models.one_pass import ROLE, ROLES, Role
from salon.study import Item, Prompt, Scorer, Study
from salon.study.criterion import Criterion, Scale, builtin_criterion, matching_criteria
from salon.study.noun import Noun
from salon.study.scorer import ScorerCard

UNTRAINED = "untrained-vlm"
"""How the signatures of untrained VLMs begin."""
UNREAD_POLICY = (
    "Answers of an untrained VLM are read as those of a trained one: an answer that cannot be read, breaks off or "
    "leaves its scale gives no number, is counted, and is not asked for again."
)
_SCALE = Scale(low=1, high=5)
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
    criteria: tuple[Criterion, ...] = Field((), description="What it is asked about; those of the study.")

    def on(self, study: Study, folder: Path, criteria: Sequence[str] = ()) -> RaterSettings:
        """The same for the study in `folder`: its criteria, or those named, and where bought answers are kept."""
        home = folder.resolve()
        chosen = [study.criterion(id) for id in criteria] or study.criteria
        calls = self.calls or home.with_name(f"{home.name}.calls.sqlite")
        return self.model_copy(update={"criteria": tuple(_with_scale(one) for one in chosen), "calls": calls})

    def about(self, patterns: Sequence[str]) -> RaterSettings:
        """The same for pictures that are no study: built-in criteria by id, or all that begin with `ppaint/...`."""
        found = [_with_scale(one) for pattern in patterns for one in matching_criteria(pattern)]
        return self.model_copy(update={"criteria": tuple(found)})

    def form(self, criterion: str | None) -> OnePass:
        """The question: about all criteria, or without a study about the built-in one that is named."""
        asked = self.criteria or ((_with_scale(builtin_criterion(criterion)),) if criterion else ())
        if not asked:
            raise BadValue(
                "criteria to ask an untrained VLM about are needed",
                found="no study, and no criterion in the scorer's name",
                remedy="score a study, which has criteria, or name a built-in one: onepass:...@ppaint/overall",
            )
        return OnePass(criteria=asked, think=self.think, role=self.role)


@runtime_checkable
class Rater(Scorer, Protocol):
    """The scorer that an untrained VLM is; `scorer_named` makes one of a name that `split_rater` knows."""

    title: str
    """The VLM's name."""
    card: ScorerCard
    batch: int

    def forecast_words(self, asked: Iterable[tuple[Item, Prompt | None]]) -> str:
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
    if text.startswith(ENDPOINT):
        place = text.removeprefix("onepass:")
        model, mark, rest = place.rpartition("@http")
        url, _, criterion = rest.partition(MARK) if mark else place.partition(MARK)
        return RaterName(f"{model}@http{url}" if mark else url, criterion or None)
    named = split_name(text)
    if named is None or not text.startswith("onepass:") or not named[0].is_dir() or is_model(named[0]):
        return None
    return RaterName(str(named[0]), named[1])


def is_untrained_vlm(folder: Path) -> bool:
    """Whether a folder holds a VLM in transformers' layout, and no model of Salon's."""
    return (folder / "config.json").is_file() and not is_model(folder)


def expanded(words: Sequence[str], criteria: Sequence[str]) -> list[str]:
    """An untrained VLM without a criterion stands for one scorer of each criterion; other words stay as they are."""
    found: list[str] = []
    for word in words:
        rater = split_rater(word)
        alone = rater is None or rater.criterion is not None
        found += [word] if alone else [f"{word}{MARK}{id}" for id in criteria] or [word]
    return found


def _with_scale(criterion: Criterion) -> Criterion:
    return criterion if criterion.scale is not None else criterion.model_copy(update={"scale": _SCALE})
