"""From a study to trained heads: labels, vectors, training, and a model folder with its guard.

Composes `fuse` (what the raters preferred, split by prompt) and `train`. Pictures that look the same in two splits
would leak: pairs of the side that is trained on are left out, and counted.
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

from salon.engine.work import EngineSettings
from salon.errors import BadFile
from salon.evaluate.leaks import FILE, LeakGuard, picture_keys, save_guard, without_look_alikes
from salon.evaluate.pair_results import validation_warnings
from salon.evaluate.validation import HeadFigures, validation_figures
from salon.fuse.labels import LabelSettings, make_labels
from salon.fuse.splits import item_prompts, prompt_texts, split_items
from salon.models.cards import MODEL_CARD, ModelCard, ModelCriterion
from salon.models.embeddings import encode_pictures, encode_texts
from salon.models.encoders import Encoder, open_encoder
from salon.models.preference_model import save_heads
from salon.report.numbers import estimate
from salon.stats.result import Estimate
from salon.store.data_card import escape_md
from salon.store.folder import written_inside
from salon.store.near_pictures import PictureKey
from salon.study import Prompt, Signature, Study
from salon.study.nouns import Noun
from salon.study.votes import SPLITS
from salon.train.head_data import EncodedStudy, HeadData, agreement_weights, check_enough, head_data
from salon.train.head_loop import Epoch, TrainedHeads, pair_logits, train_heads
from salon.train.settings import HeadSettings

_SHOWN = 3
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

    `progress` hears of pictures encoded, `watch` of every pass of the training.
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
    labels, votes, notes = _labels(study, settings, criteria)
    flags = _flags(study, settings, criteria)
    tables = [labels, votes, *flags.values()]
    paths = _pictures(study, folder, tables)
    keys = dict(zip(paths, picture_keys(list(paths.values()))))
    (labels, votes, *rest), left_out = without_look_alikes(tables, _ITEMS, keys, SPLITS)
    check_enough(labels)
    prefixes = _prefixes(study, labels, settings)
    started = time.perf_counter()
    encoder = encoder or open_encoder(settings.encoder, device=settings.device)
    vectors = encode_pictures(encoder, list(paths.values()), settings=engine, progress=progress)
    learned = labels.filter(pc.not_equal(labels.column("split").cast(pa.string()), "test"))
    prompt_words = frozenset(text for text in learned.column("text").cast(pa.string()).to_pylist() if text)
    labels, votes = (_with_texts(table, study, settings, prefixes) for table in (labels, votes))
    texts = _distinct_texts([labels, votes, *rest])
    encoded = EncodedStudy(
        encoder.parts, {item: row for row, item in enumerate(paths)}, vectors,
        {text: row for row, text in enumerate(texts)}, encode_texts(encoder, texts),
    )  # fmt: skip
    return PreparedStudy(
        study, encoder, labels, votes, dict(zip(flags, rest)), encoded, prefixes, keys, prompt_words,
        (*notes, *left_out), time.perf_counter() - started,
    )  # fmt: skip


def _labels(study: Study, settings: HeadSettings, criteria: Sequence[str]) -> tuple[pa.Table, pa.Table, list[str]]:
    """Pairs and votes under all criteria but flags, or those named; even pairs are kept as such."""
    named = [id for id in criteria if not study.criterion(id).is_flag]
    wanted = [study.criteria[number].id for number in study.ranking_criteria(named)]
    shares = {"train": settings.train, "validation": settings.validation, "test": settings.test}
    asked = LabelSettings(ties="keep", seed=settings.split_seed, **shares)
    pairs = make_labels(study, asked, criteria=wanted)
    votes = make_labels(study, asked.model_copy(update={"rows": "raters"}), criteria=wanted)
    return pairs.table, votes.table, list(pairs.report.notes)


def _flags(study: Study, settings: HeadSettings, criteria: Sequence[str]) -> dict[str, pa.Table]:
    """The first flagged criterion: for each item the share of raters who gave it more than the lowest level."""
    named = [one for one in study.criteria if one.is_flag and (not criteria or one.id in criteria)]
    view = study.ratings
    for criterion in named if settings.flags else ():
        number = study.criteria.index(criterion)
        rows = np.flatnonzero((view.criterion == number) & (view.repeat == 0))
        if len(rows):
            items, place = np.unique(view.item[rows], return_inverse=True)
            assert criterion.scale is not None  # a flag has one
            flagged = np.bincount(place, weights=view.value[rows] > criterion.scale.low) / np.bincount(place)
            return {criterion.id: _flag_table(study, settings, items, flagged)}
    return {}


def _flag_table(study: Study, settings: HeadSettings, items: np.ndarray, share: np.ndarray) -> pa.Table:
    shares = (settings.train, settings.validation, settings.test)
    split = split_items(study, study.item_groups, study.ids("groups"), shares, seed=settings.split_seed)
    texts = np.array([*prompt_texts(study).to_pylist(), None], object)[item_prompts(study)[items]]
    return pa.table(
        {
            "item": study.ids("items").take(pa.array(items)),
            "text": pa.array(texts, pa.string()),
            "split": pa.array(np.array(SPLITS)[split.of_item[items]]),
            "share": pa.array(share),
        }
    )


def _pictures(study: Study, folder: Path, tables: Sequence[pa.Table]) -> dict[str, Path]:
    """The picture of every item in the tables; BadFile where an item has none."""
    columns = [t.column(name) for t in tables for name in _ITEMS if name in t.column_names]
    wanted = set().union(*(pc.unique(column.cast(pa.string())).to_pylist() for column in columns))
    items = study.table("items")
    images = items.column("image").to_pylist() if "image" in items.column_names else [None] * items.num_rows
    found = {item: image for item, image in zip(study.ids("items").to_pylist(), images) if item in wanted}
    missing = [item for item, image in found.items() if not image]
    if missing:
        raise BadFile(
            "a picture for every judged item is needed",
            found=f"{len(missing):,} of {len(found):,} items without one ({', '.join(missing[:_SHOWN])} ...)",
            where=f"study {study.name!r}",
            remedy="give items their pictures (docs/guide/import.md, Pictures), or salon generate makes them",
        )
    return {item: folder / image for item, image in found.items()}


def _item_rows(table: pa.Table) -> list[tuple[tuple[str, ...], str]]:
    names = [name for name in _ITEMS if name in table.column_names]
    items = zip(*(table.column(name).to_pylist() for name in names))
    return list(zip(items, table.column("split").to_pylist()))


def _prefixes(study: Study, labels: pa.Table, settings: HeadSettings) -> dict[str, str]:
    if not settings.conditioned:
        return {}
    asked = (study.criterion(id) for id in pc.unique(labels.column("criterion").cast(pa.string())).to_pylist())
    return {one.id: f"{one.title}: {one.question}\n\n" if one.question else f"{one.title}\n\n" for one in asked}


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


def _distinct_texts(tables: Sequence[pa.Table]) -> list[str]:
    found = (text or "" for t in tables for text in pc.unique(t.column("text").cast(pa.string())).to_pylist())
    return list(dict.fromkeys(found))


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
    counts = _counts(prepared.labels, prepared.votes)
    card = head_card(study, data, trained, prepared.encoder, settings, figures, name=out.name, counts=counts)
    card = write_model(out, trained, card, _guard(prepared), overwrite=overwrite)
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
    pairs = prepared.labels.filter(pc.equal(prepared.labels.column("split").cast(pa.string()), "validation"))
    logits = pair_logits(trained.network.cpu(), data, data.validation)
    return validation_figures(pairs, logits, data.criteria, rng=np.random.default_rng(settings.seed))


def _counts(labels: pa.Table, votes: pa.Table) -> dict[str, int]:
    counts = {}
    for split in SPLITS:
        pairs, answers = (t.filter(pc.equal(t.column("split").cast(pa.string()), split)) for t in (labels, votes))
        counts[f"{split} pairs"] = pairs.num_rows
        counts[f"{split} prompts"] = len(pc.unique(pairs.column("group")))
        counts[f"{split} votes"] = answers.num_rows
    return counts


def _guard(prepared: PreparedStudy) -> LeakGuard:
    """Hashes of everything that shaped the model: training and validation."""
    tables = [prepared.labels, prepared.votes, *prepared.flags.values()]
    met = {item for table in tables for items, split in _item_rows(table) if split != "test" for item in items}
    return LeakGuard.of((key for item, key in prepared.keys.items() if item in met), prepared.prompt_texts)


# --------------------------------------------------------------------------------------------------
# The folder of trained heads: the card, the card in words, and the leak guard, beside the weights.
#
# MODEL/model.json          the card
# MODEL/model.safetensors   weights, with the shape of the networks in their header
# MODEL/README.md           the card in words
# MODEL/guard.parquet       hashes of what it was trained on (see `leaks`)
# --------------------------------------------------------------------------------------------------


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
        criteria=tuple(_model_criterion(study, id, settings) for id in data.criteria),
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


def write_model(
    folder: Path, trained: TrainedHeads, card: ModelCard, guard: LeakGuard, *, overwrite: bool = False
) -> ModelCard:
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
        f"# {escape_md(card.name)}",
        "",
        "A preference model by Salon: small heads on a frozen encoder.",
        *(["", "**Simulated: no person gave the answers it learned from.**"] if card.simulated else []),
        "",
        f"- form: {card.form}; encoder: {card.backbone_name}",
        f"- encoder in full: {card.backbone}",
        f"- study: {escape_md(card.study)}, data {card.data[:12]}, revision {card.revision}",
        f"- criteria: {', '.join(escape_md(one.id) for one in card.criteria)}"
        + (f"; flags: {escape_md(card.flag)}" if card.flag else ""),
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
        *_figures_table(figures, "no validation pairs"),
        "",
        "Chance is .500. Pairs without a majority are left out; intervals draw prompts again.",
    ]


def also_words(card: ModelCard) -> list[str]:
    """The figures of a card on further pairs, by which nothing was chosen."""
    words = []
    for name, rows in card.figures.get("also", {}).items():
        figures = [HeadFigures.model_validate(one) for one in rows]
        words += [
            "",
            f"Also tried on {escape_md(name)}, by which nothing was chosen:",
            "",
            *_figures_table(figures, "no pairs"),
        ]
    return words


def _figures_table(figures: Sequence[HeadFigures], without: str) -> list[str]:
    rows = [f"| {escape_md(one.criterion or 'all')} | {one.pairs:,} | {_cell(one.accuracy)} | {_cell(one.ceiling)} |"
            for one in figures]  # fmt: skip
    head = ["| criterion | pairs | accuracy | one more rater would reach |", "|---|---:|---|---|"]
    return head + (rows or [f"| {without} | 0 | not known | not known |"])


def _cell(figure: Estimate | None) -> str:
    return "not known" if figure is None else estimate(figure.value, figure.low, figure.high, 3)


def _model_criterion(study: Study, id: str, settings: HeadSettings) -> ModelCriterion:
    criterion = study.criterion(id)
    view = criterion.view if settings.text == "criterion" else ()
    return ModelCriterion(id=id, name=criterion.title, view=view)
