"""What `prove.heads` trains and asks: folds over prompts, heads on them, scorers on one of them.

Every run is kept in the scratch folder by settings, data and code, so that a proof which was stopped goes on.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import salon.models.preference_heads
import salon.train.head_data
import salon.train.head_loop
from salon.collect.simulate.taste_drawn import TURNS, draw_taste_briefs
from salon.fuse import LabelSettings, make_labels
from salon.judge import make_scorer, read_scores, score_study
from salon.models import encode_pictures, encode_texts, open_encoder
from salon.study import Study
from salon.train import HeadSettings
from salon.train.head_data import EncodedStudy, head_data
from salon.train.head_loop import pair_logits, train_heads
from salon.train.settings import HEAD_ENCODER

Floats = NDArray[np.float64]
FOLDS, PARTS = 5, 10
SEED = 2026
PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0)
"""Of the ridge regression; differences have a mean square of 1."""
UNDECIDED = 0.5
"""What a pair counts that a scorer leaves open: two equal numbers, or a picture without one."""


@dataclass(frozen=True)
class Bench:
    """The study, its labels and its vectors."""

    study: Study
    folder: Path
    pairs: pa.Table
    votes: pa.Table
    encoded: dict[str, EncodedStudy]
    """By encoder."""
    part: dict[str, int]
    """Prompt to the tenth it falls into; prompts with the same words fall together."""

    def column(self, name: str) -> NDArray[np.object_]:
        """A column of the pairs."""
        return np.array(self.pairs.column(name).to_pylist(), object)

    @property
    def tenths(self) -> NDArray[np.int64]:
        """(pairs,) the tenth of each pair."""
        return np.array([self.part[prompt] for prompt in self.column("group")])


@dataclass(frozen=True)
class Run:
    """One training: the log-odds of the fold's test pairs, and how it went."""

    logits: Floats
    """(pairs,) NaN outside the test pairs."""
    seconds: float
    epochs: int
    validation_loss: float
    validation_accuracy: float


def opened(study: Study, folder: Path, encoders: Sequence[str], prompts: int) -> tuple[Bench, dict[str, float]]:
    """Labels and vectors of the study, and the seconds that each encoder took (next to none from the cache)."""
    pairs = make_labels(study, LabelSettings(rows="pairs")).table
    votes = make_labels(study, LabelSettings(rows="raters")).table
    items = {item.id: folder / item.image for item in study.nouns("items")}
    texts = sorted(set(pairs.column("text").to_pylist()))
    encoded, seconds = {}, {}
    for name in encoders:
        encoder = open_encoder(name)
        started = time.perf_counter()
        pictures, words = encode_pictures(encoder, list(items.values())), encode_texts(encoder, texts)
        seconds[name] = time.perf_counter() - started
        encoded[name] = EncodedStudy(encoder.parts, _places(items), pictures, _places(texts), words)
    return Bench(study, folder, pairs, votes, encoded, _tenths(prompts)), seconds


def _places(names: Sequence[str] | dict[str, Path]) -> dict[str, int]:
    return {name: row for row, name in enumerate(names)}


def _tenths(prompts: int) -> dict[str, int]:
    """Each criterion has as many prompts in every tenth."""
    rng = np.random.default_rng(SEED)
    places = [rng.permutation(prompts) % PARTS for _ in range(TURNS)]
    briefs = draw_taste_briefs(prompts, seed=SEED)
    return {
        brief.id: int(places[number % TURNS][k])
        for number, own in enumerate(briefs.values())
        for k, brief in enumerate(own)
    }


# -- heads -----------------------------------------------------------------------------------------------------------


def fold_run(
    bench: Bench, scratch: Path, fold: int, settings: HeadSettings, *, share: float = 1.0, shuffled: bool = False
) -> Run:
    """Train on seven tenths (or a `share` of them), choose the state by one, and ask about the last two.

    `shuffled` gives every pair of training and validation to either side by a coin: there is nothing left to learn.
    """
    file = scratch / "runs" / f"{_digest(bench, fold, settings, share, shuffled)}.npz"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        run = _trained(bench, fold, settings, share, shuffled)
        np.savez(file, **vars(run))
    with np.load(file) as kept:
        return Run(kept["logits"], *(kept[name].item() for name in list(Run.__dataclass_fields__)[1:]))


def _trained(bench: Bench, fold: int, settings: HeadSettings, share: float, shuffled: bool) -> Run:
    split, encoded = fold_split(bench, fold, share), bench.encoded[settings.encoder]
    pairs, votes = with_split(bench.pairs, split), with_split(bench.votes, split)
    data = head_data(_coins(pairs, fold) if shuffled else pairs, encoded, settings, votes=votes)
    started = time.perf_counter()
    fit = train_heads(data, settings)
    seconds = time.perf_counter() - started
    asked = {
        prompt: "validation" if at == "test" else at.replace("validation", "unused") for prompt, at in split.items()
    }
    test = head_data(with_split(bench.pairs, asked), encoded, settings, votes=votes).validation
    logits = np.full(bench.pairs.num_rows, np.nan)
    logits[np.array(pairs.column("split").to_pylist()) == "test"] = pair_logits(fit.network, data, test)
    return Run(logits, seconds, len(fit.epochs), fit.best.validation_loss, fit.best.validation_accuracy)


def fold_split(bench: Bench, fold: int, share: float) -> dict[str, str]:
    """Where each prompt falls in a fold: train, validation, test or unused."""
    test, validation = (2 * fold, 2 * fold + 1), (2 * fold + 2) % PARTS
    split = {}
    chance = np.random.default_rng([SEED, fold])
    for prompt, part in bench.part.items():
        left_out = chance.random() >= share  # drawn for all, so that a larger share holds all of a smaller one
        split[prompt] = (
            "test" if part in test else "validation" if part == validation else "unused" if left_out else "train"
        )
    return split


def with_split(table: pa.Table, split: dict[str, str]) -> pa.Table:
    """Labels with this split in the place of their own."""
    fallen = pa.array([split[prompt] for prompt in table.column("group").to_pylist()])
    return table.set_column(table.column_names.index("split"), "split", fallen)


def _coins(pairs: pa.Table, fold: int) -> pa.Table:
    """Every label turned round or not; the test rows too, since nobody reads them there."""
    turned = np.random.default_rng([SEED, fold, 1]).random(pairs.num_rows) < 0.5
    share = np.asarray(pairs.column("share"))
    changed = pairs.set_column(pairs.column_names.index("share"), "share", pa.array(np.where(turned, 1 - share, share)))
    label = pa.array(np.where(np.asarray(changed.column("share")) > 0.5, "a", "b"))
    return changed.set_column(pairs.column_names.index("label"), "label", label)


def _digest(bench: Bench, fold: int, settings: HeadSettings, share: float, shuffled: bool) -> str:
    modules = (salon.models.preference_heads, salon.train.head_data, salon.train.head_loop)
    code = hashlib.sha256(b"".join(Path(str(module.__file__)).read_bytes() for module in modules)).hexdigest()
    parts = [part.signature for part in bench.encoded[settings.encoder].parts]
    key = [bench.study.hash, parts, fold, settings.model_dump(), share, shuffled, code]
    return hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:20]


# -- what heads are held against ---------------------------------------------------------------------------------------


def hits(bench: Bench, logits: Floats) -> Floats:
    """(pairs,) 1 where the majority is named, 0 where not, 1/2 undecided, NaN where nothing was asked."""
    ahead = np.sign(np.asarray(bench.pairs.column("share")) - 0.5)
    right = np.where(np.sign(logits) == 0, UNDECIDED, (np.sign(logits) == ahead).astype(float))
    return np.where(np.isnan(logits), np.nan, right)


def house_logits(bench: Bench, fold: int) -> Floats:
    """Who knows only which house drew a poster, and how often it won in training under the criterion."""
    generator = {item.id: item.generator for item in bench.study.nouns("items")}
    split = fold_split(bench, fold, 1.0)
    rows = list(
        zip(*(bench.pairs.column(name).to_pylist() for name in ("criterion", "group", "item_a", "item_b", "share")))
    )
    won: dict[tuple[str, str], list[float]] = {}
    for criterion, prompt, a, b, share in rows:
        if split[prompt] == "train":
            won.setdefault((criterion, generator[a]), []).append(share)
            won.setdefault((criterion, generator[b]), []).append(1 - share)
    mean = {key: float(np.mean(values)) for key, values in won.items()}
    return np.array(
        [
            mean[criterion, generator[a]] - mean[criterion, generator[b]] if split[prompt] == "test" else np.nan
            for criterion, prompt, a, b, _ in rows
        ]
    )


def ridge_logits(bench: Bench, fold: int) -> Floats:
    """A ridge regression of vote shares on differences of the image part, for each criterion; no text, no layers.

    Its penalty is chosen by the squared error on validation pairs, all criteria together.
    """
    encoded = bench.encoded[HEAD_ENCODER]
    a, b = ([encoded.items[item] for item in bench.column(name)] for name in ("item_a", "item_b"))
    apart = encoded.pictures["image"][a] - encoded.pictures["image"][b]
    apart = (apart / np.sqrt(np.square(apart).sum(1).mean())).astype(float)
    split, criterion = fold_split(bench, fold, 1.0), bench.column("criterion")
    at = np.array([split[prompt] for prompt in bench.column("group")])
    y = np.asarray(bench.pairs.column("share")) - 0.5
    found = np.zeros((len(PENALTIES), len(y)))
    for name in dict.fromkeys(criterion):
        own = criterion == name
        x, asked = apart[own & (at == "train")], apart[own]
        values, axes = np.linalg.eigh(x @ x.T)
        turned = axes.T @ y[own & (at == "train")]
        for number, penalty in enumerate(PENALTIES):
            found[number, own] = asked @ x.T @ (axes @ (turned / (np.maximum(values, 0) + penalty)))
    held = at == "validation"
    best = np.argmin(np.square(found[:, held] - y[held]).sum(1))
    return np.where(at == "test", found[best], np.nan)


def scorer_logits(bench: Bench, name: str, part: int) -> tuple[Floats, float]:
    """Differences of a scorer's numbers on the pairs of one tenth, 0 where it gives none; and the share it scored."""
    rows = [item for item in bench.study.nouns("items") if bench.part[item.prompt] == part]
    study = Study.build("part", (), tables={"prompts": bench.study.table("prompts"), "items": rows})
    score_study(study, bench.folder, make_scorer(name))
    table = read_scores(bench.folder / "scores" / f"{name}.parquet")
    value = {i: v for i, v in zip(table.column("item").to_pylist(), table.column("value").to_pylist()) if v is not None}
    both = zip(bench.column("item_a"), bench.column("item_b"))
    apart = np.array([value[a] - value[b] if a in value and b in value else 0.0 for a, b in both])
    return np.where(bench.tenths == part, apart, np.nan), len(value) / len(rows)
