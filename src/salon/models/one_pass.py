"""A one-pass scorer in its folder: a VLM that answers one question about one picture with a number for each criterion.

MODEL/one_pass.json      the card: criteria, question, pixels, how it was trained, on what, figures, signature
MODEL/README.md          the card in words
MODEL/guard.parquet      hashes of what was trained on
MODEL/run/               the log of its training
MODEL/...                the VLM itself in transformers' layout, so the folder is a VLM like any other
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from PIL import Image
from pydantic import AfterValidator, Field

from salon.models.preference import Criterionwise
from salon.store.atomic import present, read_json
from salon.study.noun import Noun
from salon.study.signature import Signature

CARD = "one_pass.json"
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
    criteria: tuple[Criterionwise, ...]
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
    return (Path(folder) / CARD).is_file()


def read_one_pass_card(folder: Path | str) -> OnePassCard:
    """The card of a one-pass scorer; BadFile where the folder holds none."""
    path = present(Path(folder)) / CARD
    needed = "the folder of a one-pass scorer is needed"
    return OnePassCard.parse(read_json(path, needed, remedy="salon distill train makes one"), where=str(path))


def chat(picture: Image.Image, question: str) -> list[dict[str, Any]]:
    """One picture and one question, the picture first, as training and scoring both ask."""
    parts = [{"type": "image", "image": picture}, {"type": "text", "text": question}]
    return [{"role": "user", "content": parts}]


def greedy_answers(
    vlm: Any,
    count: int,
    asked: Callable[[int], tuple[Image.Image, str]],
    *,
    max_tokens: int,
    batch: int = 8,
) -> list[str]:
    """The answers to `count` questions, each in one greedy pass; `asked` gives picture and question of one."""
    told: list[str] = []
    for start in range(0, count, batch):
        chats = [chat(*asked(number)) for number in range(start, min(start + batch, count))]
        told += [said.text for said in vlm.say(chats, max_tokens=max_tokens)]
    return told


def write_card(folder: Path, card: OnePassCard, words: str) -> None:
    """Card and README of a scorer."""
    told = json.dumps(card.model_dump(mode="json"), ensure_ascii=False, indent=2) + "\n"
    (folder / CARD).write_text(told, encoding="utf-8")
    (folder / "README.md").write_text(words, encoding="utf-8")
