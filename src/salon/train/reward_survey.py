"""Labelled pairs examined before training: what they are, whether they can be learned from; and further test pairs.

One pass over the source counts rows, looks for every picture, and checks that nothing is on two sides of the split.
Names are kept as hashes, 8 bytes each (`name_hashes`). A run that is resumed reads the result of the first survey.

Test sets are further pairs that a model is tried on while it trains: reported, and never used to choose a state. Of a
source with a test split they are its test pairs, of any other all pairs; at most as many as validation uses, the first.
Intervals resample prompts, as those of validation do.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadColumns, BadFile, BadValue, DesignError, TooFew
from salon.evaluate import HeadFigures, validation_figures
from salon.store import write_json
from salon.study import normalize_text
from salon.train.name_hashes import Hashes, NameSet, contains, hash_names
from salon.train.pair_files import FolderPictures
from salon.train.reward_data import LabeledPair, PairFile, pair_rows, store_pairs
from salon.train.settings import RewardSettings

LEAST_PAIRS = 12
"""Training pairs without which nothing can be learned, as for heads."""
_ORDER = "train validation test"
_SURVEY, _PICTURES = "survey.json", "pictures.npy"
_SIDES, _LEARNED, _PRESENT = 0b111111, 64, 128
"""Flags of a name: the sides of the split it stands on, whether it is learned from, whether there is such a file."""
_MAX_NAMED = 3


@dataclass(frozen=True)
class Survey:
    """What a source holds, counted in one pass."""

    rows: dict[str, int]
    """By split, of those that are learned from."""
    criteria: tuple[str, ...]
    dropped: int
    """Under the threshold of confidence, in all splits."""
    ties: float
    """Mean share of ties in training."""
    weight: float
    """Mean weight of the training pairs."""
    pictures: int


def survey_pairs(pairs: PairFile) -> Survey:
    """Count the rows and look for every picture, unless that was done; BadColumns, BadFile, TooFew or DesignError where
    training could not start."""
    check_columns(pairs)
    if not pairs.is_stored() or not (pairs.stored / _SURVEY).is_file():
        survey_pass = _SurveyPass(pairs)
        store_pairs(pairs, survey_pass.take, survey_pass.finish)
    record = json.loads((pairs.stored / _SURVEY).read_text(encoding="utf-8"))
    return Survey(**record | {"criteria": tuple(record["criteria"])})


def surveyed_pictures(pairs: PairFile) -> Hashes:
    """The names of all pictures of the source, as entries of a `NameSet`."""
    names: Hashes = np.load(pairs.stored / _PICTURES)
    return names


def check_columns(pairs: PairFile) -> None:
    """BadColumns where the source lacks one that the settings need."""
    for name in needed_columns(pairs.settings):
        if name not in pairs.shards.names:
            raise BadColumns.missing(name, pairs.shards.names, where=str(pairs.path))


def needed_columns(settings: RewardSettings) -> list[str]:
    """The columns without which pairs cannot be learned from."""
    needed = ["image_a", "image_b", *(["rater", "label"] if settings.labels == "raters" else [])]
    needed += ["label"] if settings.labels == "hard" else ["share"]
    needed += [settings.weigh] if settings.weigh != "none" else []
    return needed + (["p_max"] if settings.confident else [])


class _SurveyPass:
    """What was met on the way through a source."""

    def __init__(self, pairs: PairFile) -> None:
        self.pairs, self.where = pairs, str(pairs.path)
        self.folder = pairs.pictures.folder if isinstance(pairs.pictures, FolderPictures) else None
        self.read, self.rows = 0, Counter[str]()
        self.pictures, self.folders = NameSet(), NameSet()
        self.others: dict[str, NameSet] = {}
        self.sides: list[str] = []
        self.is_split = "split" in pairs.shards.names or pairs.shards.is_split_by_name
        self.missing: list[str] = []
        self.absent = self.unnamed = 0
        self.ties = self.weight = 0.0
        self.shares: dict[str, tuple[float, float]] = {}

    def take(self, table: pa.Table, learned: pa.Table) -> None:
        """Note what is new in these rows."""
        self.read += table.num_rows if not self.pairs.criteria else int(
            pc.sum(pc.is_in(table.column("criterion"), pa.array(self.pairs.criteria))).as_py() or 0
        )  # fmt: skip
        splits = pc.value_counts(learned.column("split").combine_chunks())
        self.rows.update(dict(zip(splits.field("values").to_pylist(), splits.field("counts").to_pylist())))
        side = self._side(table.column("split"))
        for kind, column in _guarded_columns(table) if self.is_split else ():
            names = self.pictures if kind == "image" else self.others.setdefault(kind, NameSet())
            there = pc.fill_null(pc.not_equal(column, ""), False).to_numpy(zero_copy_only=False)
            names.add(hash_names(column)[there], side[there])
        self._look_for(learned)
        self._tally(learned)

    def _side(self, column: pa.ChunkedArray) -> NDArray[np.uint8]:
        """A flag for each row's side of the split."""
        encoded = column.combine_chunks().dictionary_encode()
        self.sides += [name for name in encoded.dictionary.to_pylist() if name not in self.sides]
        if len(self.sides) > 6:
            raise BadValue("a split is train, validation or test", found=repr(self.sides[-1]), where=self.where)
        flags: NDArray[np.uint8] = np.array(
            [1 << self.sides.index(name) for name in encoded.dictionary.to_pylist()], np.uint8
        )
        places: NDArray[np.int32] = encoded.indices.to_numpy(zero_copy_only=False)
        return flags[places]

    def _look_for(self, learned: pa.Table) -> None:
        for column, place in (("image_a", "place_a"), ("image_b", "place_b")):
            names, places = learned.column(column), learned.column(place)
            self.unnamed += names.null_count
            names = names.filter(pc.is_valid(names))
            self.pictures.add(hash_names(names), _LEARNED)
            lost = learned.column(column).filter(pc.and_(pc.is_null(places), pc.is_valid(learned.column(column))))
            self.absent += len(lost.unique())
            self.missing += lost.unique().to_pylist()[:_MAX_NAMED]
            if self.folder is not None:
                self._list_folders(pc.unique(pc.replace_substring_regex(names, "/?[^/]*$", "")))

    def _list_folders(self, folders: pa.Array) -> None:
        """Note the files of folders that were not listed yet."""
        hashes = hash_names(folders)
        fresh = ~contains(self.folders.entries(), hashes)
        for name in folders.filter(pa.array(fresh)).to_pylist():
            files: list[str] = []
            with suppress(OSError), os.scandir(self.folder / name) as entries:
                files = [f"{name}/{entry.name}" if name else entry.name for entry in entries if entry.is_file()]
            self.pictures.add(hash_names(pa.array(files, pa.string())), _PRESENT)
        self.folders.add(hashes)

    def _tally(self, learned: pa.Table) -> None:
        train = learned.filter(pc.equal(learned.column("split"), "train"))
        self.ties += float(pc.sum(train.column("tied")).as_py() or 0)
        self.weight += float(pc.sum(train.column("weight")).as_py() or 0)
        for name in learned.column("criterion").unique().to_pylist():
            share = train.filter(pc.equal(train.column("criterion"), name)).column("target").to_numpy()
            low, high = self.shares.get(name, (np.inf, -np.inf))
            self.shares[name] = (min(low, share.min(initial=np.inf)), max(high, share.max(initial=-np.inf)))

    # -- after the pass ----------------------------------------------------------------------------------------------

    def finish(self, folder: Path) -> None:
        """Refuse what cannot be learned from; else write the survey."""
        train, dropped = self.rows["train"], self.read - self.rows.total()
        self._check_splits()
        self._check_pictures()
        if train < LEAST_PAIRS:
            raise TooFew(
                f"a reward model needs at least {LEAST_PAIRS} pairs to train on",
                found=f"{train:,}" + (f", and {dropped:,} of all below --confident" if dropped else ""),
                where=self.where,
                remedy="collect more judgments, or lower --confident",
            )
        for name, (low, high) in self.shares.items():
            if low == high == 0.5:
                raise TooFew(
                    "pairs with a winner are needed", found="all even", where=f"{self.where}, criterion {name!r}"
                )
        if not self.weight:
            raise BadValue(
                "a training pair with a weight above 0 is needed", found="none", where=self.where,
                remedy="--rater-weights none: no two raters agree more often than coins; or --weigh none",
            )  # fmt: skip
        used = self.pictures.select(_LEARNED)
        np.save(folder / _PICTURES, used)
        rows = dict(sorted(self.rows.items(), key=lambda split: _ORDER.find(split[0])))
        survey = Survey(rows, tuple(self.shares), dropped, self.ties / train, self.weight / train, len(used))
        write_json(folder / _SURVEY, asdict(survey))

    def _check_pictures(self) -> None:
        """BadFile where a picture is not there."""
        if self.folder is not None:
            lost = self.pictures.select(_LEARNED, _PRESENT)
            for name in self._named(lost):  # spelled in another way than its folder's list, perhaps
                if not (self.folder / name).is_file():
                    self.absent += 1
                    self.missing += [name] if len(self.missing) < _MAX_NAMED else []
        if self.absent or self.unnamed:
            unnamed_rows = f"{self.unnamed:,} rows without a picture" if self.unnamed else ""
            remedy = f"they are looked for below {self.pairs.images}; --images names another folder"
            raise BadFile(
                "every pair needs both of its pictures",
                found=unnamed_rows or f"{self.absent:,} missing: {', '.join(self.missing[:_MAX_NAMED])}",
                where=self.where,
                remedy="write the bytes of the pictures too" if self.pairs.shards.has_pictures else remedy,
            )

    def _named(self, hashes: Hashes) -> Iterator[str]:
        """The names of pictures behind hashes, each once: another pass over the source."""
        met: set[str] = set()
        for _, table in self.pairs.tables() if len(hashes) else ():
            learned = self.pairs.learned(table)
            for column in ("image_a", "image_b"):
                names = learned.column(column).drop_null().unique()
                fresh = set(names.filter(pa.array(contains(hashes, hash_names(names)))).to_pylist()) - met
                met |= fresh
                yield from fresh

    def _check_splits(self) -> None:
        """DesignError where a prompt or its text, a group of pairs, an item or an image is in two splits."""
        if len(self.sides) < 2:
            return
        for kind, names in {**self.others, "image": self.pictures}.items():
            leaks = names.in_several(_SIDES)
            where: dict[str, set[str]] = {}
            for _, table in self.pairs.tables() if len(leaks) else ():
                for column_kind, column in _guarded_columns(table):
                    if column_kind == kind:
                        hit = pa.array(contains(leaks, hash_names(column)))
                        for value, split in zip(column.filter(hit).to_pylist(), table.column("split").filter(hit)):
                            where.setdefault(value, set()).add(split.as_py())
                            if value and len(where[value]) > 1:
                                sides = " and ".join(sorted(where[value]))
                                raise DesignError(
                                    f"no {kind} may stand in two splits",
                                    found=f"{kind} {value!r} in {sides} ({len(leaks):,} such)",
                                    where="labels",
                                    remedy="split by prompt, as salon labels does, and unite prompts that share an "
                                    "image or a text",
                                )


def _guarded_columns(table: pa.Table) -> Iterator[tuple[str, pa.ChunkedArray]]:
    """Columns whose values may not stand on two sides of the split, with what they are."""
    kinds = {"prompt": ("prompt",), "item": ("item", "item_a", "item_b"), "image": ("image", "image_a", "image_b")}
    kinds |= {"group": ("group",)} if "item_a" in table.column_names else {}  # pairs stay in their group
    for kind, names in kinds.items():
        yield from ((kind, table.column(name)) for name in names if name in table.column_names)
    texts = table.column("text").combine_chunks().dictionary_encode()
    plain = pa.array([normalize_text(text) or None for text in texts.dictionary.to_pylist()], pa.string())
    yield "prompt text", pa.chunked_array([plain.take(texts.indices)])


# -- test sets ---------------------------------------------------------------------------------------------------------

TEST_SET_SETTINGS = {"labels": "soft", "weigh": "none", "rater_weights": "none", "confident": 0.0}
"""Settings of pairs to be tried on: all of them, by the share of their votes."""


@dataclass(frozen=True)
class TestSet:
    """Pairs to be tried on."""

    __test__ = False  # nothing for pytest

    name: str
    pairs: PairFile
    table: pa.Table

    @cached_property
    def rows(self) -> list[LabeledPair]:
        """The same, one by one."""
        return list(pair_rows([self.table]))

    def figures(self, logits: NDArray[np.float64]) -> tuple[HeadFigures, ...]:
        """How well log-odds of the pairs do: all criteria together, then each."""
        criteria = self.table.column("criterion").unique().to_pylist()
        return pair_figures(self.table, logits, criteria, seed=self.pairs.settings.seed)

    def summary(self, loss: float, logits: NDArray[np.float64]) -> dict[str, float | None]:
        """What the log says of a look at them."""
        accuracy = self.figures(logits)[0].accuracy
        if accuracy is None:
            return {"loss": loss, "accuracy": None}
        return {"loss": loss, "accuracy": accuracy.value, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high}


def read_test_set(name: str, pairs: PairFile, learned: Sequence[str]) -> TestSet:
    """The pairs of a source to be tried on: those of criteria that are `learned`, or of its only one if one is learned.

    BadValue where there is no such criterion, BadFile where there are no pairs or a picture is missing.
    """
    check_columns(pairs)
    pairs = replace(pairs, criteria=tuple(learned))
    table = _test_pairs(pairs)
    if not table.num_rows:
        table = _test_pairs(replace(pairs, criteria=()))
        own = table.column("criterion").unique().to_pylist()
        if not len(own) == len(learned) == 1:
            raise BadValue(
                "--also: pairs of a criterion that is learned are needed", found=", ".join(own) or "none",
                where=name, remedy=f"learned are {', '.join(learned)}",
            )  # fmt: skip
        pairs = replace(pairs, names={own[0]: pairs.names.get(learned[0], learned[0])})
    folder = getattr(pairs.pictures, "folder", None)
    for side in "ab":
        for image, place in zip(*(table.column(f"{what}_{side}").to_pylist() for what in ("image", "place"))):
            if not image or place is None or (folder is not None and not (folder / image).is_file()):
                raise BadFile("every pair needs both of its pictures", found=f"{image} is missing", where=name)
    return TestSet(name, pairs, table)


def _test_pairs(pairs: PairFile) -> pa.Table:
    """The first test pairs, or the first pairs of any split where there are none."""
    most = pairs.settings.validate_pairs
    everything: list[pa.Table] = []
    test: list[pa.Table] = []
    for _, table in pairs.tables():
        learned = pairs.learned(table)
        if sum(part.num_rows for part in everything) < most:
            everything.append(learned)
        test.append(learned.filter(pc.equal(learned.column("split"), "test")))
        if sum(part.num_rows for part in test) >= most:
            break
    return pa.concat_tables(test if any(part.num_rows for part in test) else everything).slice(0, most)


def pair_figures(
    table: pa.Table, logits: NDArray[np.float64], criteria: Sequence[str], *, seed: int
) -> tuple[HeadFigures, ...]:
    """Accuracy with its interval and ceiling of log-odds of pairs: all criteria together, then each."""
    groups = pc.fill_null(table.column("group"), "")
    table = table.set_column(table.schema.get_field_index("group"), "group", groups)
    for name in ("for_a", "for_b"):
        counts = pc.fill_null(table.column(name), 0).cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(name), name, counts)
    return validation_figures(table, logits, criteria, rng=np.random.default_rng(seed))
