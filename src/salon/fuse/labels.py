"""Labels for training: what a panel of raters preferred, how clearly, and in which split it falls.

Pairs. Of the votes on a pair (see `study.votes`), w are for item_a, l for item_b, t are ties; n = w + l + t.

    share = (w + t/2) / n        the soft label
    label = a, b or tie          the majority: share above, below or at 1/2
    p_max = max(share, 1 - share),  agreement = |2 share - 1|      two weights, 1 when all agree
    bucket = "4-1", "3-1-1"      the larger camp, the smaller one, and ties where there are any

"Both bad" is neither a preference nor a tie: it has a column of its own and does not count in n or share. A pair with
no other answer has no label; it is left out and counted. Even pairs are left out or kept as ties.

Ratings. Mean, standard deviation (n - 1) and number of each item's ratings, on the criterion's own scale.

Every row carries its criterion, group, split, items with their images, and the text of the prompt: a trainer needs no
other table. Rows are in the order of the study's criteria and items. item_a is the item that comes first in the study:
swap the items of a pair at random before training on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import BadValue, TooFew
from salon.fuse.settings import LabelSettings, Rows
from salon.fuse.splits import Split, check_splits, item_prompts, prompt_texts, split_items
from salon.stats import LARGEST_RATING
from salon.study import BOTH_BAD, SPLITS, TIE, Noun, Signature, Study, Votes, study_votes, to_references

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Columns = dict[str, pa.Array]


@dataclass(frozen=True)
class CountedPairs:
    """Votes counted by criterion and pair; a stands before b in the study."""

    criterion: Ints
    a: Ints
    b: Ints
    counts: Ints
    """(pairs, 4): for a, for b, ties, both bad."""
    of_vote: Ints
    """(votes,) the pair of each vote."""

    @cached_property
    def judged(self) -> Bools:
        """Did anybody say anything but 'both bad'?"""
        mask: Bools = self.counts[:, :BOTH_BAD].sum(axis=1) > 0
        return mask

    @cached_property
    def even(self) -> Bools:
        """As many votes for a as for b."""
        mask: Bools = self.judged & (self.counts[:, 0] == self.counts[:, 1])
        return mask

    @property
    def majority(self) -> Ints:
        """0 a, 1 b, 2 tie."""
        return np.where(self.even, TIE, self.counts[:, 0] < self.counts[:, 1])


def count_votes(votes: Votes, items: int) -> CountedPairs:
    """Pairs in the order of criteria and items."""
    key = (votes.criterion.astype(np.int64) * items + votes.a) * items + votes.b
    once, pair = np.unique(key, return_inverse=True)
    counts = np.bincount(pair * 4 + votes.outcome, minlength=4 * len(once)).reshape(-1, 4)
    return CountedPairs(once // (items * items), once // items % items, once % items, counts, pair)


def pair_table(study: Study, pairs: CountedPairs, split: Split, *, keep_ties: bool) -> pa.Table:
    """One row for each pair with a majority, and for even ones if ties are kept."""
    rows = np.flatnonzero(pairs.judged if keep_ties else pairs.judged & ~pairs.even)
    return pa.table(_pair_columns(study, pairs, split, rows, {"label": _label_words(pairs.majority[rows])}))


def vote_table(study: Study, votes: Votes, pairs: CountedPairs, split: Split, *, keep_ties: bool) -> pa.Table:
    """One row for each vote that prefers an item, and for ties if they are kept."""
    usable = np.flatnonzero(votes.outcome <= (TIE if keep_ties else 1))
    rows = usable[np.argsort(pairs.of_vote[usable], kind="stable")]
    own = {"rater": to_references(votes.rater[rows], study.ids("raters")), "label": _label_words(votes.outcome[rows])}
    return pa.table(_pair_columns(study, pairs, split, pairs.of_vote[rows], own))


def rating_table(study: Study, rows: Ints, split: Split) -> pa.Table:
    """One row for each criterion and item among these ratings."""
    view = study.ratings
    items = len(study.item_groups)
    once, code = np.unique(view.criterion[rows].astype(np.int64) * items + view.item[rows], return_inverse=True)
    n = np.bincount(code)
    mean = np.bincount(code, weights=view.value[rows]) / n
    squares = np.bincount(code, weights=(view.value[rows] - mean[code]) ** 2)
    item = once % items
    prompt = item_prompts(study)[item]
    columns = {
        "criterion": to_references(once // items, study.ids("criteria")),
        "group": to_references(study.item_groups[item], study.ids("groups")),
        "split": to_references(split.of_item[item], pa.array(SPLITS)),
        "item": to_references(item, study.ids("items")),
        "mean": pa.array(mean),
        "sd": pa.array(np.sqrt(squares / np.maximum(n - 1, 1)), mask=n < 2),
        "n": pa.array(n),
        "image": _images(study).take(pa.array(item)),
        "prompt": to_references(prompt, study.ids("prompts")),
        "text": _texts(study, prompt),
    }
    return pa.table(columns)


# -- columns ---------------------------------------------------------------------------------------------------------


def _pair_columns(study: Study, pairs: CountedPairs, split: Split, rows: Ints, own: Columns) -> Columns:
    """Columns of the pairs in `rows`, in their order."""
    a, b = pairs.a[rows], pairs.b[rows]
    w, l, t, both_bad = pairs.counts[rows].T
    n = w + l + t
    share = (w + t / 2) / n
    images, prompts = _images(study), item_prompts(study)
    room = int((w + l + t).max(initial=0)) + 1
    once, code = np.unique((np.maximum(w, l) * room + np.minimum(w, l)) * room + t, return_inverse=True)
    kinds = zip((once // room // room).tolist(), (once // room % room).tolist(), (once % room).tolist())
    names = [f"{more}-{less}-{ties}" if ties else f"{more}-{less}" for more, less, ties in kinds]
    bucket_column = to_references(code, pa.array(names, pa.string()))
    return {
        "criterion": to_references(pairs.criterion[rows], study.ids("criteria")),
        "group": to_references(study.item_groups[a], study.ids("groups")),
        "split": to_references(split.of_item[a], pa.array(SPLITS)),
        "item_a": to_references(a, study.ids("items")),
        "item_b": to_references(b, study.ids("items")),
        **own,
        "share": pa.array(share),
        "votes": pa.array(n),
        "for_a": pa.array(w),
        "for_b": pa.array(l),
        "ties": pa.array(t),
        "both_bad": pa.array(both_bad),
        "agreement": pa.array(np.abs(w - l) / n),
        "p_max": pa.array(np.maximum(share, 1 - share)),
        "bucket": bucket_column,
        "image_a": images.take(pa.array(a)),
        "image_b": images.take(pa.array(b)),
        "text": _texts(study, np.where(prompts[a] == prompts[b], prompts[a], -1)),
    }


def _label_words(outcome: NDArray[Any]) -> pa.DictionaryArray:
    return to_references(outcome, pa.array(["a", "b", "tie"]))


def _images(study: Study) -> pa.Array:
    items = study.table("items")
    if "image" in items.column_names:
        return items.column("image").combine_chunks()
    return pa.nulls(items.num_rows, pa.string())


def _texts(study: Study, prompt: NDArray[Any]) -> pa.DictionaryArray:
    """The texts of prompts, each kept once; null where two items answer different prompts."""
    return prompt_texts(study).dictionary_encode().take(pa.array(prompt, mask=prompt < 0))


# -- making labels -----------------------------------------------------------------------------------------------------

FLAG_NOTE = "{0} is a flag and orders no items: no labels of pairs (--criterion {0} makes them)"


class CriterionLabels(Noun):
    """How many labels one criterion gave."""

    criterion: str = Field(description="Its id.")
    rows: int = Field(description="Rows of the table.")
    judgments: int = Field(description="Votes (or ratings) behind them; 'both bad' is not among them.")
    both_bad: int = Field(description="Answers 'both bad', on all pairs.")
    even: int = Field(description="Pairs (or votes) without a winner; left out unless ties are kept.")
    without: int = Field(description="Pairs left out because every answer was 'both bad'.")
    splits: dict[str, int] = Field(description="Rows by split.")
    buckets: dict[str, int] = Field(description="Rows by bucket, the most frequent first; none for ratings.")


class LabelReport(Noun):
    """What was made, and by which rules."""

    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    rows: Rows = Field(description="What a row is.")
    criteria: tuple[CriterionLabels, ...] = Field(description="Counts by criterion.")
    units: int = Field(description="Prompts, or what else items are compared within.")
    parts: int = Field(description="The same after uniting those that share an image or a prompt text.")
    notes: tuple[str, ...] = Field(description="Policies and what they left out.")
    signature: Signature = Field(description="What reproduces the labels.")


@dataclass(frozen=True)
class Labels:
    """A table of labels and the report about it."""

    table: pa.Table
    report: LabelReport


@dataclass(frozen=True)
class _LabelTable:
    """A table, what was counted on the way by criterion, and what is to be said about it."""

    table: pa.Table
    split: Split
    left_out: dict[str, NDArray[np.int64]]
    notes: list[str]


def make_labels(study: Study, settings: LabelSettings | None = None, *, criteria: Sequence[str] = ()) -> Labels:
    """Labels of all criteria, or of those named, from the judgments of `study`; the split is checked for leaks."""
    settings = settings or LabelSettings()
    criterion_ids = study.ids("criteria").to_pylist()
    rated = settings.rows == "ratings"
    numbers = list(range(len(criterion_ids)) if rated and not criteria else study.ranking_criteria(criteria))
    flags = [id for number, id in enumerate(criterion_ids) if number not in numbers and study.criteria[number].is_flag]
    labels = _from_ratings(study, settings, numbers) if rated else _from_votes(study, settings, numbers)
    check_splits(labels.table)
    plain: dict[str, Any] = settings.model_dump(exclude={"seed"})
    if criteria:
        plain["criteria"] = ",".join(criteria)
    labels_signature = Signature(
        method="labels", data=study.hash[:12], revision=study.revision, settings=plain, seed=settings.seed
    )
    notes, split = [], labels.split
    if split.parts < split.units:
        notes.append(
            f"{split.units:,} groups, some with an image or a prompt in common, were united into {split.parts:,}"
        )
    counts = _frequencies(labels.table, "split")
    empty = [name for name, share in zip(SPLITS, settings.shares) if share > 0 and name not in counts]
    if empty:
        notes.append(f"no rows fell to {' or '.join(empty)}: {split.parts:,} groups are few for these shares")
    counts_by_criterion = []
    for number in numbers:
        rows = labels.table.filter(pc.equal(labels.table.column("criterion").cast(pa.string()), criterion_ids[number]))
        splits = _frequencies(rows, "split")
        weight = next(name for name in ("rater", "votes", "n") if name in rows.column_names)
        judgments = rows.num_rows if weight == "rater" else pc.sum(rows.column(weight)).as_py() or 0
        criterion_labels = CriterionLabels(
            criterion=criterion_ids[number],
            rows=rows.num_rows,
            judgments=int(judgments),
            splits={name: splits.get(name, 0) for name in SPLITS},
            buckets=_frequencies(rows, "bucket") if "bucket" in rows.column_names else {},
            **{name: int(left_out[number]) for name, left_out in labels.left_out.items()},
        )
        counts_by_criterion.append(criterion_labels)
    report = LabelReport(
        study=study.name,
        simulated=study.simulated,
        rows=settings.rows,
        criteria=tuple(counts_by_criterion),
        units=labels.split.units,
        parts=labels.split.parts,
        notes=(*labels.notes, *(() if criteria else map(FLAG_NOTE.format, flags)), *notes),
        signature=labels_signature,
    )
    return Labels(labels.table, report)


def _from_votes(study: Study, settings: LabelSettings, numbers: list[int]) -> _LabelTable:
    votes = study_votes(study, numbers, rating_pairs=settings.rating_pairs)
    if not (votes.outcome != BOTH_BAD).any():
        raise TooFew(
            "labels of pairs need comparisons or rankings",
            found=f"{len(votes):,} answers 'both bad' and nothing else" if len(votes) else "none",
            where=f"study {study.name!r}",
            remedy="--rows ratings for labels of rated items, or --rating-pairs for pairs made of ratings; of a flag, "
            "pairs are made only when it is named with --criterion",
        )
    pairs = count_votes(votes, len(study.item_groups))
    split = split_items(study, study.item_groups, study.ids("groups"), settings.shares, seed=settings.seed)
    keep_ties = settings.ties == "keep"
    if settings.rows == "pairs":
        table, even = pair_table(study, pairs, split, keep_ties=keep_ties), pairs.criterion[pairs.even]
    else:
        table = vote_table(study, votes, pairs, split, keep_ties=keep_ties)
        even = votes.criterion[votes.outcome == TIE]
    criteria = len(study.criteria)
    bad = np.bincount(pairs.criterion, weights=pairs.counts[:, BOTH_BAD], minlength=criteria)
    left_out = {
        "both_bad": bad.astype(np.int64),
        "even": np.bincount(even, minlength=criteria),
        "without": np.bincount(pairs.criterion[~pairs.judged], minlength=criteria),
    }
    kinds = ("comparisons", "rankings", *(("ratings",) if settings.rating_pairs else ()))
    notes = [f"votes from {', '.join(kinds[:-1])} and {kinds[-1]}; repeats are left out"]
    if votes.twice:
        notes.append(f"one vote for each rater and pair: {votes.twice:,} that said it again are left out")
    skipped = sum(getattr(study, kind).skipped for kind in kinds)
    if skipped:
        notes.append(f"skipped judgments left out: {skipped:,}")
    vote_notes = notes
    return _LabelTable(table, split, left_out, vote_notes)


def _from_ratings(study: Study, settings: LabelSettings, numbers: list[int]) -> _LabelTable:
    """A rated item is one row, so its own prompt is all that must hold together, whatever items are compared within."""
    rows = np.flatnonzero(np.isin(study.ratings.criterion, numbers) & (study.ratings.repeat == 0))
    if not len(rows):
        raise TooFew("labels of rated items need ratings", found="none", where=f"study {study.name!r}")
    largest = float(np.abs(study.ratings.value[rows]).max())
    if largest > LARGEST_RATING:
        raise BadValue(f"ratings are at most {LARGEST_RATING:g} either way", found=f"{largest:g}")
    split = split_items(study, item_prompts(study), study.ids("prompts"), settings.shares, seed=settings.seed)
    notes = ["means of ratings on the criterion's own scale; repeats are left out"]
    if study.ratings.skipped:
        notes.append(f"skipped judgments left out: {study.ratings.skipped:,}")
    nothing = np.zeros(len(study.criteria), np.int64)
    left_out = {"both_bad": nothing, "even": nothing, "without": nothing}
    return _LabelTable(rating_table(study, rows, split), split, left_out, notes)


# -- the report ------------------------------------------------------------------------------------------------------


def _frequencies(rows: pa.Table, column: str) -> dict[str, int]:
    counts = pc.value_counts(rows.column(column).cast(pa.string())).to_pylist()
    return {
        entry["values"]: entry["counts"]
        for entry in sorted(counts, key=lambda entry: (-entry["counts"], entry["values"]))
    }
