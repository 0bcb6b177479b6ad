"""The card of a one-pass scorer, for machines and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from salon.evaluate.pseudo_scores import LabelCard, PseudoScores
from salon.models.one_pass import OnePassCard
from salon.models.preference import Criterionwise
from salon.store.markdown import inert
from salon.study import Signature
from salon.train.distill_loop import Trained
from salon.train.distill_settings import FREE, DistillSettings
from salon.train.distill_validation import LOOK_COLUMNS, Look, look_cells, shown_looks

_LABELS = ("source", "judge", "judge_signature", "calls_made", "simulated", "signature")


@dataclass(frozen=True)
class Taught:
    """What a scorer was trained on."""

    study: str
    data: str
    """Content hash of the study."""
    revision: int | None
    split: dict[str, Any]
    items: dict[str, int]
    """Items by split, and those left out."""
    criteria: tuple[Criterionwise, ...]
    asked: dict[str, Any]
    """The record of the question's form."""
    question_hash: str


def one_pass_card(
    name: str,
    trained: Trained,
    settings: DistillSettings,
    labels: PseudoScores,
    taught: Taught,
    *,
    backbone: str,
    backbone_name: str,
    guard: dict[str, str],
) -> OnePassCard:
    """All there is to know about a one-pass scorer."""
    card = labels.card
    source = labels.source if card is None else card.signature or labels.source
    signature = Signature(
        method="one-pass", data=taught.data[:12], revision=taught.revision,
        settings=settings.model_dump(exclude={"seed"} | FREE)
        | {"backbone": backbone, "labels": source, "question": taught.question_hash}, seed=settings.seed,
    )  # fmt: skip
    return OnePassCard(
        name=name,
        criteria=taught.criteria,
        asked=taught.asked,
        show_prompt=settings.show_prompt,
        pixels=settings.pixels,
        max_tokens=settings.max_tokens,
        backbone=backbone,
        backbone_name=backbone_name,
        labels=_about_labels(labels, card),
        settings=settings.model_dump(mode="json"),
        study=taught.study,
        data=taught.data,
        revision=taught.revision,
        simulated=card is not None and card.simulated,
        split=taught.split,
        guard=guard,
        trained_on=taught.items,
        format_steps=settings.format_steps,
        figures={
            "verdict": trained.verdict.model_dump(mode="json"),
            "before": _record(trained.curve.at(0)),
            "validation": _record(trained.curve.at(trained.best_step)),
            "looks": [look.model_dump(mode="json") for look in trained.curve.looks],
            "steps": trained.steps,
            "best_step": trained.best_step,
            "seconds": round(trained.seconds, 1),
            "processes": trained.processes,
            "precision": trained.precision,
            "answers": trained.counts,
        },
        signature=signature,
    )


def one_pass_words(card: OnePassCard) -> str:
    """The card for people, as Markdown."""
    counts, verdict, kept = card.figures["answers"], card.figures["verdict"], card.figures["best_step"]
    looks = [Look.model_validate(look) for look in card.figures["looks"]]
    rows = [look_cells(look, kept) for look in shown_looks(looks, kept)]
    said = [
        f"# {inert(card.name)}",
        "",
        "A one-pass scorer by Salon: a vision-language model that gives one picture a number for each criterion in one "
        "greedy answer, trained by GRPO to keep the order of pseudo-scores.",
        *(["", "**Simulated: no model gave the labels it learned from.**"] if card.simulated else []),
        "",
        verdict["words"] if verdict["outcome"] == "learned" else f"**{verdict['words']}**",
        "",
        f"- criteria: {', '.join(inert(one.id) for one in card.criteria)}",
        f"- from: {card.backbone_name} ({card.backbone}); trained: {card.settings['learn']}",
        f"- labels: {card.labels['source']} by {inert(card.labels.get('judge') or 'unknown')}; "
        "no person labelled anything",
        f"- data: {inert(card.study)}, {card.data[:12]}; "
        + ", ".join(f"{count:,} {what}" for what, count in card.trained_on.items()),
        f"- step {card.figures['best_step']} of {card.figures['steps']} kept, {card.figures['processes']} processes, "
        f"{card.figures['precision']}",
        f"- answers sampled: {counts['answers']:,}; not read {counts['unread']:,}, off the scale "
        f"{counts['out_of_range']:,}, without a partner {counts['unranked']:,}",
        *_format_words(card.format_steps),
        "",
        "Validation against the labels, by which the state was chosen (so it leans upwards; `salon distill evaluate` "
        "says what it is worth against people):",
        "",
        f"| {' | '.join(LOOK_COLUMNS)} |",
        "|---|" + "---:|" * (len(LOOK_COLUMNS) - 2) + "---|",
        *(f"| {' | '.join(row)} |" for row in rows or [("no validation items",)]),
        "",
        *([f"{len(rows):,} of {len(looks):,} looks; `one_pass.json` has all.", ""] if len(rows) < len(looks) else []),
        "An answer that cannot be read counts as the mean of those that can. *Scores* counts different scores: at "
        "1, all items got the same, and the policy has collapsed. The reward holds neither mean nor "
        "spread.",
        "",
        f"    {card.signature}",
        "",
    ]
    return "\n".join(said)


def _format_words(steps: int) -> list[str]:
    if not steps:
        return []
    stage = f"{steps:,} supervised steps on the form of an answer alone"
    return [f"- before that, {stage}: scores drawn at random, without regard to the image"]


def _record(look: Look | None) -> dict[str, Any] | None:
    return None if look is None else look.model_dump(mode="json")


def _about_labels(labels: PseudoScores, card: LabelCard | None) -> dict[str, Any]:
    told: dict[str, Any] = {"source": labels.source, "low": labels.low, "high": labels.high}
    if card is None:
        return told
    category = card.settings.get("category")
    told |= {"category": category} if category else {}
    return told | {name: getattr(card, name) for name in _LABELS}
