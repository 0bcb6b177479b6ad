"""The folder of trained heads: the card, the card in words, and the leak guard, beside the weights.

MODEL/model.json          the card
MODEL/model.safetensors   weights, with the shape of the networks in their header
MODEL/README.md           the card in words
MODEL/guard.parquet       hashes of what it was trained on (see `leaks`)
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from salon.errors import BadFile
from salon.evaluate.leaks import FILE, Guard, save_guard
from salon.evaluate.pairs.validation_figures import HeadFigures
from salon.models.encoder import Encoder
from salon.models.preference import CARD, Criterionwise, ModelCard
from salon.models.preference_model import save_heads
from salon.report.numbers import estimate
from salon.stats.result import Estimate
from salon.store.folder import written_inside
from salon.store.markdown import inert
from salon.study import Signature, Study
from salon.train.data import HeadData
from salon.train.loop import Trained
from salon.train.settings import HeadSettings


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Raise BadFile unless a model may be written to `folder`: nothing there, or a model that may be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / CARD).is_file():
        raise BadFile(
            "a new folder is needed for the model", found="a folder or file of something else", where=str(folder)
        )
    if not overwrite:
        raise BadFile(
            "a new folder is needed for the model", found="another model", where=str(folder), remedy="--overwrite"
        )


def head_card(
    study: Study,
    data: HeadData,
    trained: Trained,
    encoder: Encoder,
    settings: HeadSettings,
    figures: Sequence[HeadFigures],
    *,
    name: str,
    counts: dict[str, int],
) -> ModelCard:
    """All there is to know about trained heads."""
    network = trained.network
    tau = network.tau.tolist() if settings.form == "scalar" else []
    return ModelCard(
        kind="heads",
        name=name,
        criteria=tuple(_criterionwise(study, id, settings) for id in data.criteria),
        flag=data.flag,
        backbone=encoder.signature,
        backbone_name=settings.encoder,
        form=settings.form,
        is_logit=settings.form == "scalar",
        temperature=dict(zip(data.criteria, tau)),
        settings=settings.model_dump(),
        study=study.name,
        data=study.hash,
        revision=study.revision,
        simulated=study.simulated,
        split={
            "train": settings.train, "validation": settings.validation, "test": settings.test,
            "seed": settings.split_seed,
        },
        trained_on=counts,
        figures={
            "validation": [one.model_dump(mode="json") for one in figures],
            "best_pass": trained.best.number,
            "passes": len(trained.epochs),
            "stopped": trained.stopped,
            "rater_reliability": trained.reliability,
        },
        licence=encoder.licence,
        signature=head_signature(study, data.criteria, settings),
    )  # fmt: skip


def head_signature(study: Study, criteria: Sequence[str], settings: HeadSettings) -> Signature:
    """What reproduces the model."""
    plain: dict[str, Any] = settings.model_dump(exclude={"seed", "device"})
    plain["criteria"] = ",".join(criteria)
    return Signature(method="heads", data=study.hash[:12], revision=study.revision, settings=plain, seed=settings.seed)


def write_model(folder: Path, trained: Trained, card: ModelCard, guard: Guard, *, overwrite: bool = False) -> ModelCard:
    """Write the folder whole; the card as it is there, with its guard. A model is only replaced with `overwrite`."""
    with tempfile.TemporaryDirectory(prefix="salon-") as place:
        card = card.model_copy(update={"guard": save_guard(guard, Path(place))})
        kept = (Path(place) / FILE).read_bytes()
    with written_inside(folder):
        check_target(folder, overwrite=overwrite)  # again: another model may have come while this one was trained
        save_heads(folder, trained.network, card, readme=card_words(card), files={FILE: kept})
    return card


def card_words(card: ModelCard) -> str:
    """The card for people, as Markdown."""
    said = [
        f"# {inert(card.name)}",
        "",
        "A preference model by Salon: small heads on a frozen encoder.",
        *(["", "**Simulated: no person gave the answers it learned from.**"] if card.simulated else []),
        "",
        f"- form: {card.form}; encoder: {card.backbone_name}",
        f"- encoder in full: {card.backbone}",
        f"- study: {inert(card.study)}, data {card.data[:12]}, revision {card.revision}",
        f"- criteria: {', '.join(inert(one.id) for one in card.criteria)}"
        + (f"; flags: {inert(card.flag)}" if card.flag else ""),
        "- trained on: " + ", ".join(f"{count:,} {what}" for what, count in card.trained_on.items()),
        f"- licence of the encoder: {card.licence}; that of the data is the study's own",
        "",
        *validation_words(card),
        "",
        f"    {card.signature}",
        "",
    ]
    return "\n".join(said)


def validation_words(card: ModelCard) -> list[str]:
    """The figures of a card by which its state was chosen, as a table."""
    figures = [HeadFigures.model_validate(one) for one in card.figures["validation"]]
    return [
        "Validation, by which the state was chosen (so these lean upwards; `salon evaluate` says what it is worth):",
        "",
        *_table(figures, "no validation pairs"),
        "",
        "Chance is .500. Pairs without a majority are left out; intervals draw prompts again.",
    ]


def also_words(card: ModelCard) -> list[str]:
    """The figures of a card on further pairs, by which nothing was chosen."""
    words = []
    for name, rows in card.figures.get("also", {}).items():
        figures = [HeadFigures.model_validate(one) for one in rows]
        words += ["", f"Also tried on {inert(name)}, by which nothing was chosen:", "", *_table(figures, "no pairs")]
    return words


def _table(figures: Sequence[HeadFigures], without: str) -> list[str]:
    rows = [f"| {inert(one.criterion or 'all')} | {one.pairs:,} | {_told(one.accuracy)} | {_told(one.ceiling)} |"
            for one in figures]  # fmt: skip
    head = ["| criterion | pairs | accuracy | one more rater would reach |", "|---|---:|---|---|"]
    return head + (rows or [f"| {without} | 0 | not known | not known |"])


def _told(figure: Estimate | None) -> str:
    return "not known" if figure is None else estimate(figure.value, figure.low, figure.high, 3)


def _criterionwise(study: Study, id: str, settings: HeadSettings) -> Criterionwise:
    criterion = study.criterion(id)
    view = criterion.view if settings.text == "criterion" else ()
    return Criterionwise(id=id, name=criterion.title, view=view)
