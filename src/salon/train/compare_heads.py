"""TASTE's Table 6 on any study: four forms of heads on a frozen encoder, and one on an encoder with adapters (LoRA).

All rows have the same labels, split, width, rate and seeds. What varies is what a head is given: one picture or two,
with the criterion before the prompt or without; and in the last row whether the encoder may change. Accuracy is on the
validation pairs, by how the panel split, averaged over seeds; intervals resample whole prompts.

Adapters on a CLIP or SigLIP are learned with scalar heads from pairs:

    score of picture i under text t and criterion c     f_c = w_c . [t, i, t * i, |t - i|] + b_c
    log-odds that a is better than b                    z = tau (f_c(a) - f_c(b)),  tau learned
    loss                                                cross-entropy of s(z) against the share of votes

W of every linear layer of both towers stays; W + (alpha / r) B A is used. After each pass the loss of the validation
pairs is read, and the adapters of the best pass are merged into the weights. The result is an encoder like any other:
heads are then trained on its vectors as on those of a frozen one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from salon.engine import EngineSettings
from salon.errors import BadFile, MissingExtra, NotConverged
from salon.evaluate import DRAWS, hits
from salon.models import ClipEncoder, Encoder
from salon.stats import SHARE, Estimate, bootstrap_totals
from salon.store import write_json
from salon.study import Noun, Signature, Study
from salon.train.head_data import EncodedStudy, split_rows
from salon.train.head_loop import pair_logits, train_heads
from salon.train.settings import CompareSettings, HeadSettings
from salon.train.train_heads import PreparedStudy, prepare_study
from salon.train.training_setup import add_encoder_lora, merge_lora

try:
    import torch
    from torch import Tensor, nn
    from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy, normalize
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

COMPARISON_FILE = "comparison.json"
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


class HeadComparisonRow(Noun):
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
    panel: HeadComparisonRow = Field(description="A rater against the majority the rater is part of: TASTE's LOO.")
    rows: tuple[HeadComparisonRow, ...] = Field(
        description="Forms of heads, in the order of TASTE's Table 6, LoRA last."
    )
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
    if out.exists() and (not out.is_dir() or {path.name for path in out.iterdir()} - {COMPARISON_FILE}):
        raise BadFile("a new folder, or that of a comparison, is needed", found="something else", where=str(out))
    plain = settings.model_copy(update={"conditioned": False, "flags": False})
    prepared = {False: prepare_study(study, folder, plain, criteria=criteria, engine=engine)}
    encoder = prepared[False].encoder
    with_criterion = plain.model_copy(update={"conditioned": True})
    prepared[True] = prepare_study(study, folder, with_criterion, criteria=criteria, engine=engine, encoder=encoder)
    table = _ValidationPairs(prepared[False])
    rows = []
    for name, form, conditioned in FORMS:
        progress(name)
        chosen = plain.model_copy(update={"form": form, "conditioned": conditioned})
        rows.append(
            table.row(name, [_accuracy(prepared[conditioned], seeded) for seeded in _with_seeds(chosen, compare)])
        )
    progress(LORA)
    last, lora_notes = _lora_row(table, prepared[False], folder, plain, compare, progress)
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
            *lora_notes,
            *prepared[False].notes,
        ),
        signature=Signature(
            method="head-comparison", data=study.hash[:12], revision=study.revision,
            settings=plain.model_dump(exclude={"seed", "device", "form", "conditioned"}) | compare.model_dump(),
            seed=settings.seed,
        ),
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / COMPARISON_FILE, report, indent=1)
    return report


def _with_seeds(settings: HeadSettings, compare: CompareSettings) -> list[HeadSettings]:
    return [settings.model_copy(update={"seed": settings.seed + number}) for number in range(compare.compare_seeds)]


def _accuracy(prepared: PreparedStudy, settings: HeadSettings) -> Floats:
    """1, 1/2 or 0 for each validation pair, NaN without a majority, of heads trained by these settings."""
    data = prepared.data(settings)
    logits = pair_logits(train_heads(data, settings).network.cpu(), data, data.validation)
    return hits(logits, split_rows(prepared.labels, "validation").column("share").to_numpy())


class _ValidationPairs:
    """The validation pairs that all rows are held against."""

    def __init__(self, prepared: PreparedStudy) -> None:
        pairs = split_rows(prepared.labels, "validation")
        self.bucket = np.array(pairs.column("bucket").cast(pa.string()).to_pylist(), object)
        self.prompts = np.unique(pairs.column("group").to_pylist(), return_inverse=True)[1]
        share = pairs.column("share").to_numpy()
        self.decided = share != 0.5
        self.panel = np.where(self.decided, np.maximum(share, 1 - share), np.nan)

    def row(self, name: str, by_seed: Sequence[Floats]) -> HeadComparisonRow:
        """One row from what each seed's heads got right."""
        right = np.mean(by_seed, axis=0)
        return HeadComparisonRow(
            name=name,
            accuracy=self._figure(right, self.decided),
            buckets=tuple(
                BucketAccuracy(split=split, accuracy=self._figure(right, rows), pairs=int(rows.sum()))
                for split in self._splits()
                if (rows := self.decided & (self.bucket == split)).any()
            ),
            by_seed=tuple(float(seed_accuracy[self.decided].mean()) for seed_accuracy in by_seed),
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
    table: _ValidationPairs,
    prepared: PreparedStudy,
    folder: Path,
    settings: HeadSettings,
    compare: CompareSettings,
    progress: Callable[[str], None],
) -> tuple[HeadComparisonRow, list[str]]:
    """Adapters for each seed, then scalar heads on the adapted encoder's vectors; why not, for other encoders."""
    encoder = prepared.encoder
    if compare.lora == "off":
        return HeadComparisonRow(name=LORA, accuracy=None, reason="left out with --lora off"), []
    if not isinstance(encoder, ClipEncoder):
        why = f"{encoder.name} has no weights to adapt here: name a CLIP or SigLIP with --encoder clip:FOLDER"
        return HeadComparisonRow(name=LORA, accuracy=None, reason=why), []
    images = {item.id: item.image or "" for item in prepared.study.nouns("items")}
    paths = {item: folder / images[item] for item in prepared.encoded.items}
    accuracies, notes = [], []
    for seeded in _with_seeds(settings.model_copy(update={"form": "scalar"}), compare):
        lora = LoraEncoderSettings(
            rank=compare.lora_rank, alpha=2.0 * compare.lora_rank, rate=compare.lora_rate, passes=compare.lora_passes,
            seed=seeded.seed,
        )  # fmt: skip
        tuned = tune_encoder(
            encoder, prepared.labels, paths, lora, lambda number, loss: progress(f"{LORA}, pass {number}: {loss:.3f}")
        )
        loss_texts = ", ".join(f"{loss:.3f}" for loss in tuned.losses)
        notes.append(f"adapters, seed {seeded.seed}: validation loss {loss_texts} by pass; pass {tuned.best_pass} kept")
        accuracies.append(_accuracy(_encode_again(prepared, tuned.encoder, paths), seeded))
    return table.row(LORA, accuracies), notes


def _encode_again(prepared: PreparedStudy, encoder: Encoder, paths: dict[str, Path]) -> PreparedStudy:
    """The same study as vectors of another encoder; they are kept nowhere."""
    vectors = [np.empty((0, encoder.text_width), np.float32)]
    items = list(prepared.encoded.items)
    for start in range(0, len(items), 8):
        pictures = [_open_image(paths[item]) for item in items[start : start + 8]]
        vectors.append(encoder.pictures(pictures, "image"))
    encoded = EncodedStudy(
        encoder.parts, {item: row for row, item in enumerate(items)}, {"image": np.concatenate(vectors)},
        prepared.encoded.texts, encoder.texts(list(prepared.encoded.texts)),
    )  # fmt: skip
    return replace(prepared, encoder=encoder, encoded=encoded)


# -- adapters on an encoder --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoraEncoderSettings:
    """How adapters are learned."""

    rank: int = 16
    alpha: float = 32.0
    rate: float = 1e-4
    passes: int = 3
    batch: int = 16
    seed: int = 0


@dataclass(frozen=True)
class TunedEncoder:
    """An encoder with its adapters worked in, and how it came there."""

    encoder: ClipEncoder
    losses: tuple[float, ...]
    """Of the validation pairs, pass by pass."""
    best_pass: int


class _Scores(nn.Module):
    """A linear score for each criterion on text and picture, and one temperature."""

    def __init__(self, width: int, criteria: int) -> None:
        super().__init__()
        self.weights = nn.Linear(4 * width, criteria)
        self.log_scale = nn.Parameter(torch.tensor(np.log(10.0), dtype=torch.float32))

    def forward(self, text: Tensor, picture: Tensor, criterion: Tensor) -> Tensor:
        features = torch.cat([text, picture, text * picture, (text - picture).abs()], dim=-1)
        values: Tensor = self.weights(features).gather(1, criterion[:, None])[:, 0] * self.log_scale.exp()
        return values


def tune_encoder(
    encoder: ClipEncoder,
    labels: pa.Table,
    paths: Mapping[str, Path],
    settings: LoraEncoderSettings,
    on_pass: Callable[[int, float], None] = lambda number, loss: None,
) -> TunedEncoder:
    """Learn adapters from the training pairs of `labels`, whose pictures are at `paths`."""
    columns = ["criterion", "item_a", "item_b", "text", "share"]
    training, validation = (split_rows(labels, split).select(columns).to_pylist() for split in ("train", "validation"))
    criteria = {name: n for n, name in enumerate(dict.fromkeys(labels.column("criterion").to_pylist()))}
    rng = np.random.default_rng(settings.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = add_encoder_lora(encoder.network_copy(), rank=settings.rank, alpha=settings.alpha)
        scores = _Scores(encoder.text_width, len(criteria)).to(encoder.device)
        learned = [parameter for parameter in (*network.parameters(), *scores.parameters()) if parameter.requires_grad]
        optimizer = torch.optim.AdamW(learned, lr=settings.rate)
        tuned = encoder.with_network(network, f"lora {settings}")
        losses: list[float] = []
        best: dict[str, Tensor] = {}
        for number in range(1, settings.passes + 1):
            network.train()
            order = rng.permutation(len(training))
            for start in range(0, len(order), settings.batch):
                rows = [training[row] for row in order[start : start + settings.batch]]
                turned = rng.random(len(rows)) < 0.5
                loss = _loss(tuned, scores, rows, criteria, paths, turned)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            losses.append(_mean_loss(tuned, scores, validation, criteria, paths, settings.batch))
            on_pass(number, losses[-1])
            if not np.isfinite(losses[-1]):
                break
            if losses[-1] <= min(losses):
                best = {
                    name: parameter.detach().clone()
                    for name, parameter in network.state_dict().items()
                    if "lora_" in name
                }
        if not best:
            raise NotConverged("a loss that is a number is needed", found=losses[0], remedy="a lower --lora-rate")
        network.load_state_dict(best, strict=False)
        network.eval()
        best_pass = int(np.nanargmin(losses)) + 1
        return TunedEncoder(
            encoder.with_network(merge_lora(network), f"lora {settings} pass {best_pass}"), tuple(losses), best_pass
        )


def _loss(
    encoder: ClipEncoder,
    scores: _Scores,
    rows: Sequence[Mapping[str, Any]],
    criteria: Mapping[str, int],
    paths: Mapping[str, Path],
    turned: np.ndarray | None = None,
) -> Tensor:
    """Mean cross-entropy of some pairs; `turned` ones are shown the other way round."""
    turned = np.zeros(len(rows), bool) if turned is None else turned
    items = list(dict.fromkeys(row[name] for row in rows for name in ("item_a", "item_b")))
    texts = list(dict.fromkeys(row["text"] or "" for row in rows))
    pictures = normalize(encoder.picture_features([_open_image(paths[item]) for item in items]), dim=-1)
    words = normalize(encoder.text_features([text if text.strip() else "." for text in texts]), dim=-1)
    there = torch.tensor([bool(text.strip()) for text in texts], device=words.device)
    words = words * there[:, None]  # as the encoder has it: a text without a word is a row of zeros
    place, line = ({key: n for n, key in enumerate(keys)} for keys in (items, texts))
    text = words[[line[row["text"] or ""] for row in rows]]
    sides = [("item_b", "item_a") if flip else ("item_a", "item_b") for flip in turned]
    criterion = torch.tensor([criteria[row["criterion"]] for row in rows], device=words.device)
    first, second = (
        scores(text, pictures[[place[row[side[n]]] for row, side in zip(rows, sides)]], criterion) for n in (0, 1)
    )
    share = [1 - row["share"] if flip else row["share"] for row, flip in zip(rows, turned)]
    return cross_entropy(first - second, torch.tensor(share, dtype=torch.float32, device=words.device))


@torch.no_grad()
def _mean_loss(
    encoder: ClipEncoder,
    scores: _Scores,
    rows: Sequence[Mapping[str, Any]],
    criteria: Mapping[str, int],
    paths: Mapping[str, Path],
    batch: int,
) -> float:
    encoder.network.eval()
    total = 0.0
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        total += float(_loss(encoder, scores, part, criteria, paths)) * len(part)
    return total / max(len(rows), 1)


def _open_image(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB").copy()
