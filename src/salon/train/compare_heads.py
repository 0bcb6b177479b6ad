"""TASTE's Table 6 on any study: four forms of heads on a frozen encoder, and one on an encoder with adapters (LoRA).

All rows have the same labels, split, width, rate and seeds. What varies is what a head is given: one picture or two,
with the criterion before the prompt or without; and in the last row whether the encoder may change. Accuracy is on the
validation pairs, by how the panel split, averaged over seeds; intervals draw whole prompts again.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from salon.engine.work import EngineSettings
from salon.errors import BadFile
from salon.evaluate.pairs.validation_figures import DRAWS, hits
from salon.models.encoder import Encoder
from salon.stats.resample import SHARE, bootstrap_totals
from salon.stats.result import Estimate
from salon.store.atomic import write_json
from salon.study import Signature, Study
from salon.study.noun import Noun
from salon.train.data import Encoded
from salon.train.loop import pair_logits, train_heads
from salon.train.settings import CompareSettings, HeadSettings
from salon.train.train_heads import Prepared, prepare_study

REPORT = "comparison.json"
FORMS: tuple[tuple[str, str, bool], ...] = (
    ("scalar", "scalar", False),
    ("scalar, criterion before the prompt", "scalar", True),
    ("pairwise", "pairwise", False),
    ("pairwise, criterion before the prompt", "pairwise", True),
)
LORA = "scalar, encoder with LoRA"
Floats = NDArray[np.float64]


class BucketAccuracy(Noun):
    """Accuracy where the panel split so."""

    split: str = Field(description="The larger camp, the smaller one, and ties where there are any: '4-1'.")
    accuracy: Estimate = Field(description="Against the majority, mean over seeds.")
    pairs: int = Field(description="Validation pairs that split so.")


class ComparedHeads(Noun):
    """One row: heads of one form."""

    name: str = Field(description="What heads are given.")
    accuracy: Estimate | None = Field(description="On all validation pairs with a majority; null where it was not run.")
    buckets: tuple[BucketAccuracy, ...] = Field(default=(), description="By how the panel split, clearest first.")
    by_seed: tuple[float, ...] = Field(default=(), description="Accuracy of each seed.")
    reason: str | None = Field(default=None, description="Why there is no number.")


class HeadComparison(Noun):
    """The JSON of `salon train heads --compare`."""

    format: Literal["salon.head-comparison/1"] = "salon.head-comparison/1"
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    encoder: str = Field(description="Name of the encoder.")
    pairs: int = Field(description="Validation pairs with a majority.")
    prompts: int = Field(description="Their prompts.")
    panel: ComparedHeads = Field(description="A rater against the majority the rater is part of: TASTE's LOO.")
    rows: tuple[ComparedHeads, ...] = Field(description="Forms of heads, in the order of TASTE's Table 6, LoRA last.")
    notes: tuple[str, ...] = Field(description="Policies, and how adapters were learned.")
    signature: Signature = Field(description="What reproduces the table.")


def compare_heads(
    study: Study,
    folder: Path,
    settings: HeadSettings,
    compare: CompareSettings,
    out: Path,
    *,
    criteria: Sequence[str] = (),
    engine: EngineSettings | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> HeadComparison:
    """Train every row of the table, and write OUT/comparison.json."""
    if out.exists() and (not out.is_dir() or {path.name for path in out.iterdir()} - {REPORT}):
        raise BadFile("a new folder, or that of a comparison, is needed", found="something else", where=str(out))
    plain = settings.model_copy(update={"conditioned": False, "flags": False})
    prepared = {False: prepare_study(study, folder, plain, criteria=criteria, engine=engine)}
    encoder = prepared[False].encoder
    with_criterion = plain.model_copy(update={"conditioned": True})
    prepared[True] = prepare_study(study, folder, with_criterion, criteria=criteria, engine=engine, encoder=encoder)
    table = _Table(prepared[False])
    rows = []
    for name, form, conditioned in FORMS:
        progress(name)
        chosen = plain.model_copy(update={"form": form, "conditioned": conditioned})
        rows.append(table.row(name, [_accuracy(prepared[conditioned], one) for one in _seeded(chosen, compare)]))
    progress(LORA)
    last, told = _lora_row(table, prepared[False], folder, plain, compare, progress)
    report = HeadComparison(
        study=study.name,
        simulated=study.simulated,
        encoder=encoder.name,
        pairs=int(table.decided.sum()),
        prompts=len(np.unique(table.prompts[table.decided])),
        panel=table.row("panel (LOO)", [table.panel]),
        rows=(*rows, last),
        notes=(
            "accuracy on validation pairs, by which the best state of each training was chosen: it leans upwards",
            "pairs without a majority are left out; intervals draw prompts again, over the mean of the seeds",
            *told,
            *prepared[False].notes,
        ),
        signature=Signature(
            method="head-comparison", data=study.hash[:12], revision=study.revision,
            settings=plain.model_dump(exclude={"seed", "device", "form", "conditioned"}) | compare.model_dump(),
            seed=settings.seed,
        ),
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / REPORT, report, indent=1)
    return report


def _seeded(settings: HeadSettings, compare: CompareSettings) -> list[HeadSettings]:
    return [settings.model_copy(update={"seed": settings.seed + number}) for number in range(compare.compare_seeds)]


def _accuracy(prepared: Prepared, settings: HeadSettings) -> Floats:
    """1, 1/2 or 0 for each validation pair, NaN without a majority, of heads trained by these settings."""
    data = prepared.data(settings)
    logits = pair_logits(train_heads(data, settings).network.cpu(), data, data.validation)
    return hits(logits, _validation(prepared).column("share").to_numpy())


def _validation(prepared: Prepared) -> pa.Table:
    return prepared.labels.filter(pc.equal(prepared.labels.column("split").cast(pa.string()), "validation"))


class _Table:
    """The validation pairs that all rows are held against."""

    def __init__(self, prepared: Prepared) -> None:
        pairs = _validation(prepared)
        self.bucket = np.array(pairs.column("bucket").cast(pa.string()).to_pylist(), object)
        self.prompts = np.unique(pairs.column("group").to_pylist(), return_inverse=True)[1]
        share = pairs.column("share").to_numpy()
        self.decided = share != 0.5
        self.panel = np.where(self.decided, np.maximum(share, 1 - share), np.nan)

    def row(self, name: str, found: Sequence[Floats]) -> ComparedHeads:
        """One row from what each seed's heads got right."""
        right = np.mean(found, axis=0)
        return ComparedHeads(
            name=name,
            accuracy=self._figure(right, self.decided),
            buckets=tuple(
                BucketAccuracy(split=split, accuracy=self._figure(right, rows), pairs=int(rows.sum()))
                for split in self._splits()
                if (rows := self.decided & (self.bucket == split)).any()
            ),
            by_seed=tuple(float(one[self.decided].mean()) for one in found),
        )

    def _splits(self) -> list[str]:
        """Clearest first: by the share of the panel's majority in each."""
        shares = {split: np.nanmean(self.panel[self.bucket == split]) for split in set(self.bucket[self.decided])}
        return sorted(shares, key=lambda split: (-shares[split], split))

    def _figure(self, right: Floats, rows: NDArray[np.bool_]) -> Estimate:
        _, cluster = np.unique(self.prompts[rows], return_inverse=True)
        table = np.stack([np.bincount(cluster, weights=right[rows]), np.bincount(cluster)], axis=1)
        rng = np.random.default_rng(0)
        return bootstrap_totals(lambda t: t[:, 0] / t[:, 1], table, draws=DRAWS, rng=rng, ends=SHARE)


# -- the encoder too ---------------------------------------------------------------------------------------------------


def _lora_row(
    table: _Table,
    prepared: Prepared,
    folder: Path,
    settings: HeadSettings,
    compare: CompareSettings,
    progress: Callable[[str], None],
) -> tuple[ComparedHeads, list[str]]:
    """Adapters for each seed, then scalar heads on the adapted encoder's vectors; why not, for other encoders."""
    encoder = prepared.encoder
    if compare.lora == "off":
        return ComparedHeads(name=LORA, accuracy=None, reason="left out with --lora off"), []
    if not hasattr(encoder, "with_network"):
        why = f"{encoder.name} has no weights to adapt here: name a CLIP or SigLIP with --encoder clip:FOLDER"
        return ComparedHeads(name=LORA, accuracy=None, reason=why), []
    tuning = importlib.import_module("salon.train.lora_encoder")  # transformers and peft come with it
    images = {item.id: item.image or "" for item in prepared.study.nouns("items")}
    paths = {item: folder / images[item] for item in prepared.encoded.items}
    found, told = [], []
    for one in _seeded(settings.model_copy(update={"form": "scalar"}), compare):
        lora = tuning.LoraEncoderSettings(
            rank=compare.lora_rank, alpha=2.0 * compare.lora_rank, rate=compare.lora_rate, passes=compare.lora_passes,
            seed=one.seed,
        )  # fmt: skip
        tuned = tuning.tune_encoder(
            encoder, prepared.labels, paths, lora, lambda number, loss: progress(f"{LORA}, pass {number}: {loss:.3f}")
        )
        shown = ", ".join(f"{loss:.3f}" for loss in tuned.losses)
        told.append(f"adapters, seed {one.seed}: validation loss {shown} by pass; pass {tuned.best_pass} kept")
        found.append(_accuracy(_reencoded(prepared, tuned.encoder, paths), one))
    return table.row(LORA, found), told


def _reencoded(prepared: Prepared, encoder: Encoder, paths: dict[str, Path]) -> Prepared:
    """The same study as vectors of another encoder; they are kept nowhere."""
    vectors = [np.empty((0, encoder.text_width), np.float32)]
    items = list(prepared.encoded.items)
    for start in range(0, len(items), 8):
        pictures = []
        for item in items[start : start + 8]:
            with Image.open(paths[item]) as image:
                pictures.append(image.convert("RGB"))
        vectors.append(encoder.pictures(pictures, "image"))
    encoded = Encoded(
        encoder.parts, {item: row for row, item in enumerate(items)}, {"image": np.concatenate(vectors)},
        prepared.encoded.texts, encoder.texts(list(prepared.encoded.texts)),
    )  # fmt: skip
    return replace(prepared, encoder=encoder, encoded=encoded)
