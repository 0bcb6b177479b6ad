"""The cards of trained models, and the interface by which anybody may use a model. No network library is needed here.

A preference model (heads or a reward model):

    MODEL/model.json            the card: kind, criteria, encoder or backbone, settings, data, split, figures, signature
    MODEL/model.safetensors     weights (a reward model keeps its backbone beside them in transformers' layout)
    MODEL/README.md             the card in words

A one-pass scorer, a VLM that answers one question about one picture with a number for each criterion:

    MODEL/one_pass.json         the card: criteria, question, pixels, how it was trained, on what, figures, signature
    MODEL/README.md             the card in words
    MODEL/guard.parquet         hashes of what was trained on
    MODEL/run/                  the log of its training
    MODEL/...                   the VLM itself in transformers' layout, so the folder is a VLM like any other
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, ValidationError

from salon.errors import BadFile
from salon.models.peers import Positions
from salon.store import present_folder, read_json
from salon.study import Noun, Part, Signature

if TYPE_CHECKING:
    from PIL import Image

MODEL_FORMAT: Final = "salon.model/1"
MODEL_CARD = "model.json"
MODEL_WEIGHTS = "model.safetensors"
ModelKind = Literal["heads", "reward"]


class ModelCriterion(Noun):
    """What a model knows about one criterion."""

    id: str
    name: str
    view: tuple[Part, ...] = ()
    """Parts of the prompt it was trained with; all of them when none are named."""
    higher_is_better: bool = True


class ModelCard(Noun):
    """Everything there is to know about a trained model, and what makes its numbers reproducible."""

    format: Literal["salon.model/1"] = MODEL_FORMAT
    kind: ModelKind
    name: str
    criteria: tuple[ModelCriterion, ...]
    flag: str | None = Field(None, description="The criterion of its flag head, where it has one.")
    backbone: str = Field(description="Signature of the frozen encoder, or of the backbone that was tuned.")
    backbone_name: str = Field(description="How the encoder or backbone is named or found again.")
    form: str = Field(description="scalar, pairwise, antisymmetric; or the law of a reward model.")
    is_logit: bool = Field(description="Whether the logistic function of a difference of two scores is a probability.")
    positions: Positions | None = Field(
        None,
        description="Of a reward model's tokens: flat as in HPSv3, m-rope, or the VLM's own; None: not stated.",
    )
    temperature: dict[str, float] = Field(default_factory=dict, description="Learned factor of each criterion's logit.")
    settings: dict[str, Any] = Field(default_factory=dict, description="How it was trained.")
    study: str = Field(description="Name of the study.")
    data: str = Field(description="Content hash of the study, whole, at training.")
    revision: int | None = None
    simulated: bool = Field(False, description="True when no person gave the answers.")
    split: dict[str, Any] = Field(default_factory=dict, description="Shares and seed of the split, units in each part.")
    guard: dict[str, str] = Field(
        default_factory=dict, description="File beside the card with hashes of what was trained on, for the leak guard."
    )
    trained_on: dict[str, int] = Field(default_factory=dict, description="Pairs, judgments, items, prompts by split.")
    figures: dict[str, Any] = Field(default_factory=dict, description="Accuracies with intervals, n and ceilings.")
    licence: str = Field("", description="Of the encoder or backbone; that of the data goes beside it.")
    signature: Signature


def read_model_card(folder: Path) -> ModelCard:
    """The card of a model; BadFile where there is none, or one of another version of the format."""
    path = Path(folder) / MODEL_CARD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        a_study = (Path(folder) / "study.toml").is_file()
        raise BadFile(
            f"a model folder with a {MODEL_CARD} is needed",
            found="a study" if a_study else error.strerror,
            where=str(folder),
            remedy="name the folder that salon train wrote" + ("; the study comes last" if a_study else ""),
        ) from None
    except ValueError as error:
        raise BadFile("a model's card is JSON", found=str(error), where=str(path)) from None
    format = record.get("format") if isinstance(record, dict) else None
    if format != MODEL_FORMAT:
        raise BadFile(
            f"a model of the format {MODEL_FORMAT} is needed", found=repr(format), where=str(path),
            remedy="train it again with this version, or load it with the version that wrote it",
        )  # fmt: skip
    try:
        return ModelCard.model_validate(record)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise BadFile("a model's card is needed", found=f"{where}: {fault['msg']}", where=str(path)) from None


class ModelScore(NamedTuple):
    """A model's number for one picture, and its own standard deviation where it states one."""

    value: float
    sigma: float | None = None


@runtime_checkable
class PreferenceModel(Protocol):
    """A loaded model."""

    card: ModelCard

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str], criterion: str) -> list[ModelScore]:
        """One number for each picture with its prompt's text.

        A head that only compares gives the mean logit against the pictures it keeps for that.
        """
        ...

    def pair_logits(
        self, a: Sequence[Image.Image], b: Sequence[Image.Image], texts: Sequence[str], criterion: str
    ) -> NDArray[np.float64]:
        """Log-odds that the first picture of each pair is preferred, as they stand (a, b)."""
        ...


# -- one-pass scorers --------------------------------------------------------------------------------------------------

ONE_PASS_CARD = "one_pass.json"
ROLE = "You are an expert in visual design and aesthetics."
ROLES = {
    "design": ROLE,
    "painting": "You are an expert in traditional Chinese painting criticism and aesthetics.",
}
"""First lines of a question by name; `painting` is PPaint's (appendix D.3)."""


def role_sentence(text: str) -> str:
    """The role that `text` names, or the sentence that it is; ValueError unless that is one line."""
    line = ROLES.get(text, text).strip()
    if not line or not line.isprintable():
        raise ValueError(f"a role is one line of text, or one of {', '.join(ROLES)}")
    return line


Role = Annotated[str, AfterValidator(role_sentence)]
"""The first line of a one-pass question."""


class OnePassCard(Noun):
    """Everything there is to know about a one-pass scorer."""

    format: Literal["salon.one-pass/1"] = "salon.one-pass/1"
    name: str
    criteria: tuple[ModelCriterion, ...]
    asked: dict[str, Any] = Field(description="How it is asked: the record of the question's form.")
    show_prompt: bool = Field(description="Whether the prompt is part of the question.")
    pixels: int = Field(description="Larger pictures are made smaller.")
    max_tokens: int = Field(description="Longest answer.")
    backbone: str = Field(description="The VLM it was trained from, with its fingerprint.")
    backbone_name: str
    labels: dict[str, Any] = Field(default_factory=dict, description="Source, judge and signature of the labels.")
    settings: dict[str, Any] = Field(default_factory=dict, description="How it was trained.")
    study: str
    data: str = Field(description="Content hash of the study at training.")
    revision: int | None = None
    simulated: bool = Field(False, description="True when no model and no person gave the labels.")
    split: dict[str, Any] = Field(default_factory=dict, description="Shares and seed of the split.")
    guard: dict[str, str] = Field(default_factory=dict, description="File with hashes of what was trained on.")
    trained_on: dict[str, int] = Field(default_factory=dict, description="Items by split.")
    format_steps: int = Field(0, description="Supervised steps on the form of an answer alone, before.")
    figures: dict[str, Any] = Field(default_factory=dict, description="Validation, by which the state was chosen.")
    signature: Signature


def is_one_pass(folder: Path | str) -> bool:
    """Whether a folder holds a one-pass scorer."""
    return (Path(folder) / ONE_PASS_CARD).is_file()


def read_one_pass_card(folder: Path | str) -> OnePassCard:
    """The card of a one-pass scorer; BadFile where the folder holds none."""
    path = present_folder(Path(folder)) / ONE_PASS_CARD
    needed = "the folder of a one-pass scorer is needed"
    return OnePassCard.parse(read_json(path, needed, remedy="salon distill train makes one"), where=str(path))


def picture_chat(picture: Image.Image, question: str) -> list[dict[str, Any]]:
    """One picture and one question, the picture first, as training and scoring both ask."""
    parts = [{"type": "image", "image": picture}, {"type": "text", "text": question}]
    return [{"role": "user", "content": parts}]


def greedy_answers(
    vlm: Any,
    count: int,
    question_of: Callable[[int], tuple[Image.Image, str]],
    *,
    max_tokens: int,
    batch: int = 8,
) -> list[str]:
    """The answers to `count` questions, each in one greedy pass; `asked` gives picture and question of one."""
    answers: list[str] = []
    for start in range(0, count, batch):
        chats = [picture_chat(*question_of(number)) for number in range(start, min(start + batch, count))]
        answers += [answer.text for answer in vlm.say(chats, max_tokens=max_tokens)]
    return answers


def write_one_pass_card(folder: Path, card: OnePassCard, words: str) -> None:
    """Card and README of a scorer."""
    text = json.dumps(card.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
    (folder / ONE_PASS_CARD).write_text(text, encoding="utf-8")
    (folder / "README.md").write_text(words, encoding="utf-8")


# -- any kind of model -------------------------------------------------------------------------------------------------


AnyCard = ModelCard | OnePassCard


def is_model(folder: Path | str) -> bool:
    """Whether a folder holds a trained model."""
    return any((Path(folder) / name).is_file() for name in (MODEL_CARD, ONE_PASS_CARD))


def read_card(folder: Path | str) -> AnyCard:
    """The card of the model in a folder; BadFile where there is none."""
    return read_one_pass_card(folder) if is_one_pass(folder) else read_model_card(Path(folder))


def known_criteria(card: AnyCard) -> tuple[ModelCriterion, ...]:
    """All that a model has a number for; of a flag head's criterion, the log-odds of being flagged."""
    flag = card.flag if isinstance(card, ModelCard) else None
    if flag is None or flag in {criterion.id for criterion in card.criteria}:
        return card.criteria
    return (*card.criteria, ModelCriterion(id=flag, name=flag, higher_is_better=False))
