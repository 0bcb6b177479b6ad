"""The field's training files straight to a table of labelled pairs, for more of them than a study should hold.

HPDv3, HPDv2 (train and test), Pick-a-Pic and ImageReward pass by record for record; what is written has the columns of
`salon labels` (docs/guide/labels.md), in row groups, so that a trainer can read it the same way.

    share, votes, for_a, for_b, ties    the file's votes: counts where it has them, one vote where it has not
    p_max                               the file's own confidence where it has one (HPDv3), else max(share, 1 - share)
    item_a, item_b                      by the order of their paths, never by who won: the files put the winner first
    split                               by a hash of the seed and the prompt's normalised text

Even pairs are left out and counted. A pair that a file holds twice stays two rows; to unite them, or prompts that share
a picture, import the file as a study and run `salon labels`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pydantic import Field, model_validator

from salon.errors import BadFile, BadValue
from salon.store.atomic_files import put_file, whole_file
from salon.store.formats.column_labels import text_id
from salon.store.formats.hpd import CRITERION, hpdv3_votes, inside_folder
from salon.store.formats.records import stream_json_records
from salon.store.formats.vote_files import image_name
from salon.study import Noun, check_shares, normalize_text

_WORD = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        ("criterion", _WORD), ("group", pa.string()), ("split", _WORD), ("item_a", pa.string()),
        ("item_b", pa.string()), ("label", _WORD), ("share", pa.float64()), ("votes", pa.int64()),
        ("for_a", pa.int64()), ("for_b", pa.int64()), ("ties", pa.int64()), ("agreement", pa.float64()),
        ("p_max", pa.float64()), ("bucket", _WORD), ("image_a", pa.string()), ("image_b", pa.string()),
        ("text", pa.string()),
    ]
)  # fmt: skip
_ROWS_IN_GROUP = 20_000


class TrainingPairSettings(Noun):
    """How training pairs are written."""

    train: float = Field(0.9, ge=0, le=1, description="Share of the prompts to train on.")
    validation: float = Field(0.1, ge=0, le=1, description="Share of the prompts to choose settings by.")
    test: float = Field(0.0, ge=0, le=1, description="Share of the prompts kept for the final test.")
    seed: int = Field(0, ge=0, description="Seed of the split; each prompt falls by a hash of the seed and its text.")

    @model_validator(mode="after")
    def _shares_make_a_whole(self) -> TrainingPairSettings:
        check_shares((self.train, self.validation, self.test))
        return self

    def split(self, text: str) -> str:
        """Where a prompt falls."""
        digest = hashlib.sha256(f"{self.seed} {normalize_text(text)}".encode("utf-8", "surrogatepass")).digest()
        place = int.from_bytes(digest[:8], "big") / 2**64
        return "train" if place < self.train else "validation" if place < self.train + self.validation else "test"


class WrittenPairs(Noun):
    """What was written."""

    rows: int
    splits: dict[str, int]
    left_out: dict[str, int]
    """Pairs that did not get there, by reason."""
    sorted: int = 0
    """Pairs whose choice_dist gave the second path more votes: sorted, as the released code does."""


class _PairVotes(NamedTuple):
    """What a file says about two pictures of one prompt."""

    text: str
    first: str
    second: str
    won: int
    lost: int
    tied: int = 0
    confidence: float | None = None
    sorted: bool = False
    """Whether the file gives the first picture, the preferred one, fewer votes: HPDv3 is read sorted."""


def write_pairs(
    kind: str,
    paths: Sequence[Path],
    target: Path,
    settings: TrainingPairSettings | None = None,
    *,
    images: Path | None = None,
) -> WrittenPairs:
    """Write the pairs of the files `paths` of one `kind` to the Parquet file `target`.

    Pictures are named by their paths below the folder that the files belong to. Pick-a-Pic's are inside its files: they
    are written below `images`, each once.
    """
    import pyarrow.parquet as pq

    if kind not in READERS:
        raise BadValue("a kind of training file is needed", found=repr(kind), remedy="one of " + ", ".join(READERS))
    settings, left_out, splits = settings or TrainingPairSettings(), Counter[str](), Counter[str]()
    turned = 0
    votes = (pair for path in paths for pair in READERS[kind](path, images))
    rows = _rows(votes, settings, left_out)
    with whole_file(target) as file, pq.ParquetWriter(file, SCHEMA, compression="zstd") as writer:
        while part := list(islice(rows, _ROWS_IN_GROUP)):
            splits.update(row["split"] for row in part)
            turned += sum(row.pop("sorted") for row in part)
            writer.write_table(pa.Table.from_pylist(part, SCHEMA))
        if not splits:
            raise BadFile(
                "pairs with a winner are needed", found=f"none; left out: {dict(left_out)}", where=str(target)
            )
    return WrittenPairs(rows=splits.total(), splits=dict(splits), left_out=dict(left_out), sorted=turned)


def _rows(
    votes: Iterable[_PairVotes], settings: TrainingPairSettings, left_out: Counter[str]
) -> Iterator[dict[str, Any]]:
    for pair in votes:
        if pair.won == pair.lost:
            left_out["pairs without a winner"] += 1
        elif not (inside_folder(pair.first) and inside_folder(pair.second)):
            left_out["pairs whose pictures are named by a place outside the folder"] += 1
        else:
            yield _row(pair, settings)


def _row(pair: _PairVotes, settings: TrainingPairSettings) -> dict[str, Any]:
    turned = pair.first > pair.second
    a, b = (pair.second, pair.first) if turned else (pair.first, pair.second)
    w, l = (pair.lost, pair.won) if turned else (pair.won, pair.lost)
    n = w + l + pair.tied
    share = (w + pair.tied / 2) / n
    bucket = f"{max(w, l)}-{min(w, l)}" + (f"-{pair.tied}" if pair.tied else "")
    return {
        "criterion": CRITERION.id, "group": text_id(pair.text), "split": settings.split(pair.text),
        "item_a": a, "item_b": b, "image_a": a, "image_b": b, "text": pair.text, "bucket": bucket,
        "label": "a" if w > l else "b", "share": share, "votes": n, "for_a": w, "for_b": l, "ties": pair.tied,
        "agreement": abs(w - l) / n, "p_max": max(share, 1 - share) if pair.confidence is None else pair.confidence,
        "sorted": pair.sorted,
    }  # fmt: skip


# -- the files ---------------------------------------------------------------------------------------------------------


def _hpdv3(path: Path, images: Path | None) -> Iterator[_PairVotes]:
    for record in stream_json_records(path):
        votes = hpdv3_votes(record)
        sides = record.text("path1"), record.text("path2")
        yield _PairVotes(
            record.text("prompt"), *sides, votes.preferred, votes.other,
            confidence=record.maybe_number("confidence"), sorted=votes.contradicts,
        )  # fmt: skip


def _hpdv2(path: Path, images: Path | None) -> Iterator[_PairVotes]:
    for record in stream_json_records(path):
        if record.has("human_preference"):
            first, second = record.numbers("human_preference", 2)
            a, b = record.texts("file_path", 2)
            yield _PairVotes(
                record.text("prompt"), a, b, int(first > second), int(first < second), int(first == second)
            )
            continue
        sides = record.texts("image_path")
        raters = record.records("raw_annotations") if record.has("raw_annotations") else [record]
        yield from _ranked(
            record.text("prompt"), sides, [annotation.numbers("rank", len(sides)) for annotation in raters]
        )


def _imagereward(path: Path, images: Path | None) -> Iterator[_PairVotes]:
    for record in stream_json_records(path):
        sides = record.texts("generations")
        yield from _ranked(record.text("prompt"), sides, [record.numbers("ranking", len(sides))])


def _ranked(text: str, sides: Sequence[str], rankings: Sequence[Sequence[float]]) -> Iterator[_PairVotes]:
    """Every pair of a list, one vote for each ranking; the lower rank is better."""
    for i, j in combinations(range(len(sides)), 2):
        won = sum(ranks[i] < ranks[j] for ranks in rankings)
        lost = sum(ranks[i] > ranks[j] for ranks in rankings)
        yield _PairVotes(text, sides[i], sides[j], won, lost, len(rankings) - won - lost)


def pickapic_rows(path: Path, images: Path | None) -> Iterator[_PairVotes]:
    """Rows with a label; their pictures are kept below `images` under the hash of their bytes."""
    import pyarrow.parquet as pq

    if images is None:
        raise BadValue("Pick-a-Pic holds its pictures inside: a folder for them is needed", remedy="name --images")
    names = ["caption", "jpg_0", "jpg_1", "label_0", "label_1"]
    try:
        with pq.ParquetFile(path) as file:
            labelled = ["has_label"] if "has_label" in file.schema_arrow.names else []
            for batch in file.iter_batches(256, columns=[*names, *labelled]):
                for row in batch.to_pylist():
                    if row.get("has_label") is not False and row.get("has_label") != 0:
                        first, second = float(row["label_0"]), float(row["label_1"])
                        a, b = (_store_image(row[side], images) for side in ("jpg_0", "jpg_1"))
                        yield _PairVotes(
                            str(row["caption"]), a, b, int(first > second), int(first < second), int(first == second)
                        )
    except (pa.ArrowException, OSError, KeyError) as error:
        raise BadFile(
            f"a Parquet file with the columns {', '.join(names)} is needed", found=str(error), where=str(path)
        ) from None


def _store_image(cell: Any, images: Path) -> str:
    data = cell["bytes"] if isinstance(cell, dict) else cell
    if not isinstance(data, bytes):
        raise BadFile("image bytes are needed", found=type(data).__name__)
    file = image_name(data)
    name = f"{file[:2]}/{file}"
    place = images / name
    if not place.is_file() or not place.stat().st_size:  # empty after a power cut
        put_file(place, data)
    return name


READERS: dict[str, Callable[[Path, Path | None], Iterator[_PairVotes]]] = {
    "hpdv3": _hpdv3, "hpdv2": _hpdv2, "pickapic": pickapic_rows, "imagereward": _imagereward,
}  # fmt: skip
