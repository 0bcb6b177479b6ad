"""The card of a reward model, for machines and in words."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from salon.evaluate.pairs.validation_figures import HeadFigures
from salon.models.preference import Criterionwise, ModelCard
from salon.store.markdown import inert
from salon.study import Signature
from salon.train.head_folder import also_words, validation_words
from salon.train.reward_loop import Fitted
from salon.train.reward_settings import FREE, RewardSettings
from salon.train.reward_survey import Survey

_STEPS = ("steps", "best_step", "seconds", "processes", "precision", "shard")


@dataclass(frozen=True)
class Learned:
    """What a model was trained on."""

    study: str
    data: str
    """Content hash of the study or file."""
    revision: int | None
    simulated: bool
    split: dict[str, Any]
    names: Mapping[str, str]
    """Of criteria, by id."""


def reward_card(
    name: str,
    fitted: Fitted,
    settings: RewardSettings,
    survey: Survey,
    learned: Learned,
    figures: tuple[HeadFigures, ...],
    also: Mapping[str, tuple[HeadFigures, ...]],
    *,
    backbone: str,
    backbone_name: str,
    guard: dict[str, str],
    instruction: str,
) -> ModelCard:
    """All there is to know about a trained reward model."""
    assert fitted.network is not None  # in the process that writes
    plain: dict[str, Any] = settings.model_dump(exclude={"seed"} | FREE)
    signature = Signature(
        method="reward", data=learned.data[:12], revision=learned.revision,
        settings=plain | {
            "backbone": backbone, "criteria": ",".join(survey.criteria), "positions": fitted.network.positions,
            "instruction": hashlib.sha256(instruction.encode()).hexdigest()[:12],
        }, seed=settings.seed,
    )  # fmt: skip
    return ModelCard(
        kind="reward",
        name=name,
        criteria=tuple(Criterionwise(id=id, name=learned.names.get(id, id)) for id in survey.criteria),
        backbone=backbone,
        backbone_name=backbone_name,
        form=settings.law,
        positions=fitted.network.positions,
        is_logit=settings.law == "ranknet",
        settings=settings.model_dump(),
        study=learned.study,
        data=learned.data,
        revision=learned.revision,
        simulated=learned.simulated,
        split=learned.split,
        guard=guard,
        trained_on={**{f"{split} pairs": n for split, n in survey.rows.items()}, "pairs dropped": survey.dropped},
        figures={
            "validation": [one.model_dump(mode="json") for one in figures],
            "also": {name: [one.model_dump(mode="json") for one in found] for name, found in also.items()},
            "steps": fitted.steps,
            "best_step": fitted.state.best_step if settings.choose == "best" and figures else fitted.steps,
            "seconds": round(fitted.state.seconds, 1),
            "processes": fitted.processes,
            "precision": "float32" if fitted.precision == "no" else "bfloat16",
            "shard": fitted.shard,
        },
        licence="that of the backbone",
        signature=signature,
    )


def reward_words(card: ModelCard) -> str:
    """The card for people, as Markdown."""
    said = [
        f"# {inert(card.name)}",
        "",
        "A reward model by Salon: a vision-language model and a head that gives each picture, under its prompt, a "
        "score mu and its own uncertainty sigma.",
        *(["", "**Simulated: no person gave the answers it learned from.**"] if card.simulated else []),
        "",
        f"- law of a vote: {card.form}; trained: {card.settings['learn']}",
        f"- backbone: {card.backbone_name} ({card.backbone}); positions of its tokens: {card.positions}",
        f"- data: {inert(card.study)}, {card.data[:12]}",
        f"- criteria: {', '.join(inert(one.id) for one in card.criteria)}",
        "- trained on: " + ", ".join(f"{count:,} {what}" for what, count in card.trained_on.items()),
        "- " + ", ".join(f"{name.replace('_', ' ')} {card.figures[name]}" for name in _STEPS),
        f"- licence: {card.licence}; that of the data is its own",
        "",
        *validation_words(card),
        *also_words(card),
        "",
        f"    {card.signature}",
        "",
    ]
    return "\n".join(said)
