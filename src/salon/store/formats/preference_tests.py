"""The field's test sets as their released evaluations count them: one label for each record, and none united.

    HPDv3          every record, path1 being the preferred image; a pair that stands twice counts twice
    ImageReward    every pair of a record's ranking with different ranks
    HPDv2          the same of `rank` in test files (not of single raters); a record of a train file is one pair
    Pick-a-Pic     every row with a label; ties have no winner: they are left out and counted

Sources: evaluate/evaluate.py in the wheel hpsv3 1.0.0 (pairs and rankings), hpsv2/evaluation.py in hpsv2 1.2.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from salon.errors import BadFile, BadValue
from salon.store.formats.hpd import PictureFiles, hpdv3_votes
from salon.store.formats.records import stream_json_records
from salon.store.formats.training_pairs import pickapic_rows
from salon.store.near_pictures import content_hash


class LabelledPair(NamedTuple):
    """Two pictures of one prompt, of which people preferred the first."""

    text: str
    preferred: str
    other: str
    preferred_model: str | None = None
    other_model: str | None = None


@dataclass
class PreferenceTest:
    """One test set."""

    name: str
    kind: str
    sha256: str
    """Of the file."""
    pairs: list[LabelledPair] = field(default_factory=list)
    paths: dict[str, Path] = field(default_factory=dict)
    """Where the pictures are, by the name that pairs give them."""
    tied: int = 0
    """Pairs without a winner: left out."""
    notes: list[str] = field(default_factory=list)

    @property
    def repeats(self) -> int:
        """Records that repeat a pair of the same prompt; each counts."""
        counts = Counter((pair.text, frozenset((pair.preferred, pair.other))) for pair in self.pairs)
        return sum(count - 1 for count in counts.values())


def read_preference_test(kind: str, path: Path, files: PictureFiles, pictures: Path) -> PreferenceTest:
    """The test set in a file. Pictures that are inside of it are written below the folder `pictures`."""
    if kind not in READERS:
        raise BadValue("a test set of pairs is needed", found=repr(kind), where=str(path), remedy=", ".join(READERS))
    test = PreferenceTest(path.stem, kind, content_hash(path))
    test.pairs.extend(READERS[kind](test, path, pictures))
    if not test.pairs:
        raise BadFile("pairs with a winner are needed", found=f"none; {test.tied:,} ties", where=str(path))
    folder = pictures if kind == "pickapic" else path.parent
    problems: dict[str, str] = {}
    for name in dict.fromkeys(name for pair in test.pairs for name in (pair.preferred, pair.other)):
        place = PictureFiles(None).locate(name, folder) if kind == "pickapic" else files.locate(name, folder)
        if isinstance(place, str):
            problems[name] = place
        else:
            test.paths[name] = place[0]
    if problems:
        first = next(iter(problems))
        raise BadFile(
            "every picture that the file names is needed",
            found=f"{len(problems):,} of {len(problems) + len(test.paths):,} are not there, the first {first!r}: "
            f"{problems[first]}",
            where=str(path),
            remedy="--image-root FOLDER says where relative paths begin, --remap OLD=NEW where absolute ones do",
        )
    return test


def _hpdv3(test: PreferenceTest, path: Path, pictures: Path) -> Iterator[LabelledPair]:
    turned = records = 0
    for record in stream_json_records(path):
        records += 1
        turned += hpdv3_votes(record).contradicts
        yield LabelledPair(
            record.text("prompt"), record.text("path1"), record.text("path2"), record.maybe_text("model1"),
            record.maybe_text("model2"),
        )  # fmt: skip
    if turned:
        test.notes.append(
            f"choice_dist of {turned:,} of {records:,} records gives path2 more votes; path1 is preferred"
        )


def _hpdv2(test: PreferenceTest, path: Path, pictures: Path) -> Iterator[LabelledPair]:
    for record in stream_json_records(path):
        if record.has("human_preference"):
            sides, labels = record.texts("file_path", 2), record.numbers("human_preference", 2)
            yield from _ranked(test, record.text("prompt"), sides, [-label for label in labels])
        else:
            sides = record.texts("image_path")
            yield from _ranked(test, record.text("prompt"), sides, record.numbers("rank", len(sides)))


def _imagereward(test: PreferenceTest, path: Path, pictures: Path) -> Iterator[LabelledPair]:
    for record in stream_json_records(path):
        sides = record.texts("generations")
        yield from _ranked(test, record.text("prompt"), sides, record.numbers("ranking", len(sides)))


def _ranked(test: PreferenceTest, text: str, sides: list[str], ranks: list[float]) -> Iterator[LabelledPair]:
    for i, j in combinations(range(len(sides)), 2):
        if ranks[i] == ranks[j]:
            test.tied += 1
        else:
            yield LabelledPair(text, *((sides[i], sides[j]) if ranks[i] < ranks[j] else (sides[j], sides[i])))


def _pickapic(test: PreferenceTest, path: Path, pictures: Path) -> Iterator[LabelledPair]:
    for votes in pickapic_rows(path, pictures):
        if votes.won == votes.lost:
            test.tied += 1
        else:
            yield LabelledPair(votes.text, *((votes.first, votes.second) if votes.won else (votes.second, votes.first)))


READERS: dict[str, Callable[[PreferenceTest, Path, Path], Iterator[LabelledPair]]] = {
    "hpdv3": _hpdv3, "hpdv2": _hpdv2, "imagereward": _imagereward, "pickapic": _pickapic,
}  # fmt: skip
