"""A trained preference model in its folder: what it is, and the interface by which anybody may use it.

MODEL/model.json            the card: kind, criteria, encoder or backbone, settings, data, split, figures, signature
MODEL/model.safetensors     weights (a reward model keeps its backbone beside them in transformers' layout)
MODEL/README.md             the card in words
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field, ValidationError

from salon.errors import BadFile
from salon.models.peers import Positions
from salon.study.noun import Noun
from salon.study.prompt import Part
from salon.study.signature import Signature

FORMAT: Final = "salon.model/1"
CARD = "model.json"
WEIGHTS = "model.safetensors"
Kind = Literal["heads", "reward"]


class Criterionwise(Noun):
    """What a model knows about one criterion."""

    id: str
    name: str
    view: tuple[Part, ...] = ()
    """Parts of the prompt it was trained with; all of them when none are named."""
    higher_is_better: bool = True


class ModelCard(Noun):
    """Everything there is to know about a trained model, and what makes its numbers reproducible."""

    format: Literal["salon.model/1"] = FORMAT
    kind: Kind
    name: str
    criteria: tuple[Criterionwise, ...]
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


def read_card(folder: Path) -> ModelCard:
    """The card of a model; BadFile where there is none, or one of another version of the format."""
    path = Path(folder) / CARD
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        a_study = (Path(folder) / "study.toml").is_file()
        raise BadFile(
            f"a model folder with a {CARD} is needed",
            found="a study" if a_study else error.strerror,
            where=str(folder),
            remedy="name the folder that salon train wrote" + ("; the study comes last" if a_study else ""),
        ) from None
    except ValueError as error:
        raise BadFile("a model's card is JSON", found=str(error), where=str(path)) from None
    found = record.get("format") if isinstance(record, dict) else None
    if found != FORMAT:
        raise BadFile(
            f"a model of the format {FORMAT} is needed", found=repr(found), where=str(path),
            remedy="train it again with this version, or load it with the version that wrote it",
        )  # fmt: skip
    try:
        return ModelCard.model_validate(record)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise BadFile("a model's card is needed", found=f"{where}: {fault['msg']}", where=str(path)) from None


class Scored(NamedTuple):
    """A model's number for one picture, and its own standard deviation where it states one."""

    value: float
    sigma: float | None = None


@runtime_checkable
class PreferenceModel(Protocol):
    """A loaded model."""

    card: ModelCard

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str], criterion: str) -> list[Scored]:
        """One number for each picture with its prompt's text.

        A head that only compares gives the mean logit against the pictures it keeps for that.
        """
        ...

    def pair_logits(
        self, a: Sequence[Image.Image], b: Sequence[Image.Image], texts: Sequence[str], criterion: str
    ) -> NDArray[np.float64]:
        """Log-odds that the first picture of each pair is preferred, as they stand (a, b)."""
        ...
