"""The rows of labels: votes counted by pair, one row per vote, or ratings averaged by item.

Every row carries its criterion, its group, its split, the items with their images, and the text of the prompt: a
trainer needs no other table. What the numbers mean is said in `labels`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.fuse.splits import Split, item_prompts, prompt_texts
from salon.study import Study
from salon.study.split import SPLITS
from salon.study.votes import BOTH_BAD, TIE, Votes

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
    return pa.table(_pair_columns(study, pairs, split, rows, {"label": _words(pairs.majority[rows])}))


def vote_table(study: Study, votes: Votes, pairs: CountedPairs, split: Split, *, keep_ties: bool) -> pa.Table:
    """One row for each vote that prefers an item, and for ties if they are kept."""
    wanted = np.flatnonzero(votes.outcome <= (TIE if keep_ties else 1))
    rows = wanted[np.argsort(pairs.of_vote[wanted], kind="stable")]
    own = {"rater": _reference(votes.rater[rows], study.ids("raters")), "label": _words(votes.outcome[rows])}
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
        "criterion": _reference(once // items, study.ids("criteria")),
        "group": _reference(study.item_groups[item], study.ids("groups")),
        "split": _reference(split.of_item[item], pa.array(SPLITS)),
        "item": _reference(item, study.ids("items")),
        "mean": pa.array(mean),
        "sd": pa.array(np.sqrt(squares / np.maximum(n - 1, 1)), mask=n < 2),
        "n": pa.array(n),
        "image": _images(study).take(pa.array(item)),
        "prompt": _reference(prompt, study.ids("prompts")),
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
    return {
        "criterion": _reference(pairs.criterion[rows], study.ids("criteria")),
        "group": _reference(study.item_groups[a], study.ids("groups")),
        "split": _reference(split.of_item[a], pa.array(SPLITS)),
        "item_a": _reference(a, study.ids("items")),
        "item_b": _reference(b, study.ids("items")),
        **own,
        "share": pa.array(share),
        "votes": pa.array(n),
        "for_a": pa.array(w),
        "for_b": pa.array(l),
        "ties": pa.array(t),
        "both_bad": pa.array(both_bad),
        "agreement": pa.array(np.abs(w - l) / n),
        "p_max": pa.array(np.maximum(share, 1 - share)),
        "bucket": _buckets(w, l, t),
        "image_a": images.take(pa.array(a)),
        "image_b": images.take(pa.array(b)),
        "text": _texts(study, np.where(prompts[a] == prompts[b], prompts[a], -1)),
    }


def _buckets(w: Ints, l: Ints, t: Ints) -> pa.DictionaryArray:
    room = int((w + l + t).max(initial=0)) + 1
    once, code = np.unique((np.maximum(w, l) * room + np.minimum(w, l)) * room + t, return_inverse=True)
    kinds = zip((once // room // room).tolist(), (once // room % room).tolist(), (once % room).tolist())
    names = [f"{more}-{less}-{ties}" if ties else f"{more}-{less}" for more, less, ties in kinds]
    return _reference(code, pa.array(names, pa.string()))


def _reference(codes: NDArray[Any], ids: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), ids)


def _words(outcome: NDArray[Any]) -> pa.DictionaryArray:
    return _reference(outcome, pa.array(["a", "b", "tie"]))


def _images(study: Study) -> pa.Array:
    items = study.table("items")
    if "image" in items.column_names:
        return items.column("image").combine_chunks()
    return pa.nulls(items.num_rows, pa.string())


def _texts(study: Study, prompt: NDArray[Any]) -> pa.DictionaryArray:
    """The texts of prompts, each kept once; null where two items answer different prompts."""
    return prompt_texts(study).dictionary_encode().take(pa.array(prompt, mask=prompt < 0))
