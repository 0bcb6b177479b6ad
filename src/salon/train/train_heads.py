"""From a study to trained heads: labels, vectors, training, and a model folder.

    MODEL/model.json          the card
    MODEL/model.safetensors   weights, with the shape of the networks in their header
    MODEL/README.md           the card in words
    MODEL/guard.parquet       hashes of what it was trained on (see `evaluate.leaks`)

Pictures that look the same in two splits would leak: their pairs on the training side are left out and counted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from salon.engine import EngineSettings
from salon.errors import BadFile
from salon.evaluate import (
    FILE,
    HeadFigures,
    LeakGuard,
    picture_keys,
    save_guard,
    validation_figures,
    validation_warnings,
    without_look_alikes,
)
from salon.fuse import LabelSettings, item_prompts, make_labels, prompt_texts, split_items
from salon.models import (
    MODEL_CARD,
    Encoder,
    ModelCard,
    ModelCriterion,
    encode_pictures,
    encode_texts,
    open_encoder,
    save_heads,
)
from salon.report import estimate
from salon.stats import Estimate
from salon.store import PictureKey, escape_md, written_inside
from salon.study import SPLITS, Noun, Prompt, Signature, Study
from salon.train.head_data import EncodedStudy, HeadData, agreement_weights, check_enough, head_data, split_rows
from salon.train.head_loop import Epoch, TrainedHeads, pair_logits, train_heads
from salon.train.settings import HeadSettings

_MAX_NAMED = 3
_ITEMS = ("item_a", "item_b", "item")
"""Columns of pairs and of flags that name items."""


class TrainReport(Noun):
    """What a training gave."""

    model: str = Field(description="The model's folder.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    encoder: str = Field(description="Name of the encoder.")
    form: str = Field(description="Form of the heads.")
    counts: dict[str, int] = Field(description="Pairs, prompts and pictures by split.")
    validation: tuple[HeadFigures, ...] = Field(description="All criteria together, then each.")
    best_pass: int = Field(description="The pass whose state was kept.")
    passes: int = Field(description="Passes made.")
    stopped: str = Field(description="Why training ended.")
    seconds: dict[str, float] = Field(description="Time spent on vectors and on training.")
    pairs_per_second: float = Field(description="Rows of pairs learned from in a second, validation apart.")
    rater_reliability: dict[str, float] = Field(description="Learned along, where asked for.")
    notes: tuple[str, ...] = Field(description="Policies and what they left out.")
    signature: Signature = Field(description="What reproduces the model.")


@dataclass(frozen=True)
class PreparedStudy:
    """A study ready for training: labels, vectors, and the keys of its pictures for the leak guard."""

    study: Study
    encoder: Encoder
    labels: pa.Table
    votes: pa.Table
    flags: Mapping[str, pa.Table]
    """At most one criterion."""
    encoded: EncodedStudy
    prefixes: Mapping[str, str]
    keys: Mapping[str, PictureKey]
    """By item."""
    prompt_texts: frozenset[str]
    """Of training and validation prompts, whole."""
    notes: tuple[str, ...]
    seconds: float

    def data(self, settings: HeadSettings) -> HeadData:
        """The tensors for these settings; whatever they say of the encoder, texts and split is done already."""
        weights = agreement_weights([self.votes]) if settings.rater_weights == "agreement" else None
        return head_data(
            self.labels, self.encoded, settings, votes=self.votes, flags=self.flags if settings.flags else None,
            rater_weights=weights, prefixes=self.prefixes,
        )  # fmt: skip

    def guard(self) -> LeakGuard:
        """Hashes of everything that shaped the model: training and validation."""
        items: set[str] = set()
        for table in (self.labels, self.votes, *self.flags.values()):
            learned = table.filter(pc.not_equal(table.column("split").cast(pa.string()), "test"))
            for name in _ITEMS:
                items.update(learned.column(name).to_pylist() if name in table.column_names else ())
        return LeakGuard.of((key for item, key in self.keys.items() if item in items), self.prompt_texts)


def train_study(
    study: Study,
    folder: Path,
    settings: HeadSettings,
    out: Path,
    *,
    criteria: Sequence[str] = (),
    engine: EngineSettings | None = None,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
    watch: Callable[[Epoch], None] | None = None,
) -> TrainReport:
    """Train heads on `study`, whose pictures are in `folder`, and write the model to `out`.

    `progress` is called with the number of pictures encoded, `watch` after every pass of the training.
    """
    check_target(out, overwrite=overwrite)
    prepared = prepare_study(study, folder, settings, criteria=criteria, engine=engine, progress=progress)
    data = prepared.data(settings)
    started = time.perf_counter()
    trained = train_heads(data, settings, watch=watch)
    seconds = {"vectors": prepared.seconds, "training": time.perf_counter() - started}
    return write_trained(prepared, data, trained, settings, out, seconds, overwrite=overwrite)


# -- preparing ---------------------------------------------------------------------------------------------------------


def prepare_study(
    study: Study,
    folder: Path,
    settings: HeadSettings,
    *,
    criteria: Sequence[str] = (),
    engine: EngineSettings | None = None,
    encoder: Encoder | None = None,
    progress: Callable[[int], None] | None = None,
) -> PreparedStudy:
    """Labels and vectors of `study`; `encoder` saves loading the one that the settings name."""
    chosen = [id for id in criteria if not study.criterion(id).is_flag]
    ids = [study.criteria[number].id for number in study.ranking_criteria(chosen)]
    shares = {"train": settings.train, "validation": settings.validation, "test": settings.test}
    label_settings = LabelSettings(ties="keep", seed=settings.split_seed, **shares)
    pairs = make_labels(study, label_settings, criteria=ids)
    votes = make_labels(study, label_settings.model_copy(update={"rows": "raters"}), criteria=ids).table
    flags = _flags(study, settings, criteria)
    tables = [pairs.table, votes, *flags.values()]
    paths = _pictures(study, folder, tables)
    keys = dict(zip(paths, picture_keys(list(paths.values()))))
    (labels, votes, *rest), left_out = without_look_alikes(tables, _ITEMS, keys, SPLITS)
    check_enough(labels)
    prefixes = {}
    if settings.conditioned:
        for id in pc.unique(labels.column("criterion").cast(pa.string())).to_pylist():
            criterion = study.criterion(id)
            prefixes[id] = (
                f"{criterion.title}: {criterion.question}\n\n" if criterion.question else f"{criterion.title}\n\n"
            )
    started = time.perf_counter()
    encoder = encoder or open_encoder(settings.encoder, device=settings.device)
    vectors = encode_pictures(encoder, list(paths.values()), settings=engine, progress=progress)
    learned = labels.filter(pc.not_equal(labels.column("split").cast(pa.string()), "test"))
    prompt_words = frozenset(text for text in learned.column("text").cast(pa.string()).to_pylist() if text)
    labels, votes = (_with_texts(table, study, settings, prefixes) for table in (labels, votes))
    columns = [table.column("text").cast(pa.string()) for table in (labels, votes, *rest)]
    texts = list(dict.fromkeys(text or "" for column in columns for text in pc.unique(column).to_pylist()))
    encoded = EncodedStudy(
        encoder.parts, {item: row for row, item in enumerate(paths)}, vectors,
        {text: row for row, text in enumerate(texts)}, encode_texts(encoder, texts),
    )  # fmt: skip
    return PreparedStudy(
        study, encoder, labels, votes, dict(zip(flags, rest)), encoded, prefixes, keys, prompt_words,
        (*pairs.report.notes, *left_out), time.perf_counter() - started,
    )  # fmt: skip


def _flags(study: Study, settings: HeadSettings, criteria: Sequence[str]) -> dict[str, pa.Table]:
    """The first flagged criterion: for each item the share of raters who gave it more than the lowest level."""
    flag_criteria = [
        candidate for candidate in study.criteria if candidate.is_flag and (not criteria or candidate.id in criteria)
    ]
    view = study.ratings
    for criterion in flag_criteria if settings.flags else ():
        number = study.criteria.index(criterion)
        rows = np.flatnonzero((view.criterion == number) & (view.repeat == 0))
        if len(rows):
            items, place = np.unique(view.item[rows], return_inverse=True)
            assert criterion.scale is not None  # a flag has one
            flagged = np.bincount(place, weights=view.value[rows] > criterion.scale.low) / np.bincount(place)
            shares = (settings.train, settings.validation, settings.test)
            split = split_items(study, study.item_groups, study.ids("groups"), shares, seed=settings.split_seed)
            texts = np.array([*prompt_texts(study).to_pylist(), None], object)[item_prompts(study)[items]]
            flag_table = pa.table(
                {
                    "item": study.ids("items").take(pa.array(items)),
                    "text": pa.array(texts, pa.string()),
                    "split": pa.array(np.array(SPLITS)[split.of_item[items]]),
                    "share": pa.array(flagged),
                }
            )
            return {criterion.id: flag_table}
    return {}


def _pictures(study: Study, folder: Path, tables: Sequence[pa.Table]) -> dict[str, Path]:
    """The picture of every item in the tables; BadFile where an item has none."""
    columns = [t.column(name) for t in tables for name in _ITEMS if name in t.column_names]
    item_ids = set().union(*(pc.unique(column.cast(pa.string())).to_pylist() for column in columns))
    items = study.table("items")
    images = items.column("image").to_pylist() if "image" in items.column_names else [None] * items.num_rows
    image_of = {item: image for item, image in zip(study.ids("items").to_pylist(), images) if item in item_ids}
    missing = [item for item, image in image_of.items() if not image]
    if missing:
        raise BadFile(
            "a picture for every judged item is needed",
            found=f"{len(missing):,} of {len(image_of):,} items without one ({', '.join(missing[:_MAX_NAMED])} ...)",
            where=f"study {study.name!r}",
            remedy="give items their pictures (docs/guide/import.md, Pictures), or salon generate makes them",
        )
    return {item: folder / image for item, image in image_of.items()}


def _with_texts(table: pa.Table, study: Study, settings: HeadSettings, prefixes: Mapping[str, str]) -> pa.Table:
    """The table with each text as the encoder is to read it under its criterion."""
    if settings.text == "full" and not prefixes:
        return table
    prompts: dict[str, Prompt] = {prompt.id: prompt for prompt in study.nouns("prompts")}
    of_item = {item.id: item.prompt for item in study.nouns("items")}
    names = ("criterion", "item_a", "text")
    texts = []
    for criterion, item, text in zip(*(table.column(name).to_pylist() for name in names)):
        view = study.criterion(criterion).view if settings.text == "criterion" else ()
        read = prompts[of_item[item] or ""].view(view) if text and view else text or ""
        texts.append(prefixes.get(criterion, "") + read)
    return table.set_column(table.schema.get_field_index("text"), "text", pa.array(texts, pa.string()))


# -- writing -----------------------------------------------------------------------------------------------------------


def write_trained(
    prepared: PreparedStudy,
    data: HeadData,
    trained: TrainedHeads,
    settings: HeadSettings,
    out: Path,
    seconds: dict[str, float],
    *,
    overwrite: bool = False,
) -> TrainReport:
    """The model folder of trained heads, and the report about it."""
    study = prepared.study
    figures = head_figures(prepared, data, trained, settings)
    counts = {}
    for split in SPLITS:
        pairs, votes = split_rows(prepared.labels, split), split_rows(prepared.votes, split)
        counts[f"{split} pairs"] = pairs.num_rows
        counts[f"{split} prompts"] = len(pc.unique(pairs.column("group")))
        counts[f"{split} votes"] = votes.num_rows
    card = head_card(study, data, trained, prepared.encoder, settings, figures, name=out.name, counts=counts)
    card = write_model(out, trained, card, prepared.guard(), overwrite=overwrite)
    return TrainReport(
        model=str(out), study=study.name, simulated=study.simulated, encoder=prepared.encoder.name, form=settings.form,
        counts=counts, validation=figures, best_pass=trained.best.number, passes=len(trained.epochs),
        stopped=trained.stopped, seconds={name: round(spent, 3) for name, spent in seconds.items()},
        pairs_per_second=round(trained.pairs_per_second), rater_reliability=trained.reliability,
        notes=(*prepared.notes, *validation_warnings(figures)), signature=card.signature,
    )  # fmt: skip


def head_figures(
    prepared: PreparedStudy, data: HeadData, trained: TrainedHeads, settings: HeadSettings
) -> tuple[HeadFigures, ...]:
    """Accuracy and ceiling on the validation pairs."""
    pairs = split_rows(prepared.labels, "validation")
    logits = pair_logits(trained.network.cpu(), data, data.validation)
    return validation_figures(pairs, logits, data.criteria, rng=np.random.default_rng(settings.seed))


# -- the model folder --------------------------------------------------------------------------------------------------


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Raise BadFile unless a model may be written to `folder`: nothing there, or a model that may be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / MODEL_CARD).is_file():
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
    trained: TrainedHeads,
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
        criteria=tuple(
            ModelCriterion(
                id=criterion.id,
                name=criterion.title,
                view=criterion.view if settings.text == "criterion" else (),
            )
            for criterion in map(study.criterion, data.criteria)
        ),
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
            "validation": [figure.model_dump(mode="json") for figure in figures],
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


def write_model(
    folder: Path, trained: TrainedHeads, card: ModelCard, guard: LeakGuard, *, overwrite: bool = False
) -> ModelCard:
    """Write the folder whole; the card as it is there, with its guard. A model is only replaced with `overwrite`."""
    with tempfile.TemporaryDirectory(prefix="salon-") as place:
        card = card.model_copy(update={"guard": save_guard(guard, Path(place))})
        guard_bytes = (Path(place) / FILE).read_bytes()
    with written_inside(folder):
        check_target(folder, overwrite=overwrite)  # again: another model may have come while this one was trained
        save_heads(folder, trained.network, card, readme=card_words(card), files={FILE: guard_bytes})
    return card


def card_words(card: ModelCard) -> str:
    """The card for people, as Markdown."""
    lines = [
        f"# {escape_md(card.name)}",
        "",
        "A preference model by Salon: small heads on a frozen encoder.",
        *(["", "**Simulated: no person gave the answers it learned from.**"] if card.simulated else []),
        "",
        f"- form: {card.form}; encoder: {card.backbone_name}",
        f"- encoder in full: {card.backbone}",
        f"- study: {escape_md(card.study)}, data {card.data[:12]}, revision {card.revision}",
        f"- criteria: {', '.join(escape_md(criterion.id) for criterion in card.criteria)}"
        + (f"; flags: {escape_md(card.flag)}" if card.flag else ""),
        "- trained on: " + ", ".join(f"{count:,} {what}" for what, count in card.trained_on.items()),
        f"- licence of the encoder: {card.licence}; that of the data is the study's own",
        "",
        *validation_words(card),
        "",
        f"    {card.signature}",
        "",
    ]
    return "\n".join(lines)


def validation_words(card: ModelCard) -> list[str]:
    """The figures of a card by which its state was chosen, as a table."""
    figures = [HeadFigures.model_validate(record) for record in card.figures["validation"]]
    return [
        "Validation, by which the state was chosen (so these lean upwards; `salon evaluate` says what it is worth):",
        "",
        *_figures_table(figures, "no validation pairs"),
        "",
        "Chance is .500. Pairs without a majority are left out; intervals draw prompts again.",
    ]


def also_words(card: ModelCard) -> list[str]:
    """The figures of a card on further pairs, by which nothing was chosen."""
    words = []
    for name, rows in card.figures.get("also", {}).items():
        figures = [HeadFigures.model_validate(record) for record in rows]
        words += [
            "",
            f"Also tried on {escape_md(name)}, by which nothing was chosen:",
            "",
            *_figures_table(figures, "no pairs"),
        ]
    return words


def _figures_table(figures: Sequence[HeadFigures], without: str) -> list[str]:
    rows = []
    for figure in figures:
        name, accuracy, ceiling = escape_md(figure.criterion or "all"), _cell(figure.accuracy), _cell(figure.ceiling)
        rows.append(f"| {name} | {figure.pairs:,} | {accuracy} | {ceiling} |")
    head = ["| criterion | pairs | accuracy | one more rater would reach |", "|---|---:|---|---|"]
    return head + (rows or [f"| {without} | 0 | not known | not known |"])


def _cell(figure: Estimate | None) -> str:
    return "not known" if figure is None else estimate(figure.value, figure.low, figure.high, 3)
