"""Draws of R raters and p items for a reference anchor.

A catalogue is one group of items (ten sushi, the films of a site). A draw is a panel of R different raters and p items
that all of them judged. `panels` draws raters first and takes p of the items they share; panels that share too few are
drawn again. `items` draws p items first and takes R of the raters who judged them all. Without gaps the two are the
same law; with gaps the first favors raters who judged much, the second asks about every set of items alike.

With several groups (prompts) raters and items are drawn inside a group, and draws of a group belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MOST_TRIES = 4_000_000
"""Panels, or sets of items, that are tried before the usable ones have to do."""
MOST_CELLS = 20_000_000
MAX_TRIES = 50
"""Panels of a prompt that share too few items are drawn again this often before the prompt is given up."""


@dataclass(frozen=True)
class Draws:
    """What was drawn."""

    scores: Scores
    """(n, R, p), higher = better."""
    cluster: Ints
    """(n,) the prompt of each draw; zeros in a catalogue."""
    raters: Ints | None
    """(n, R) who was drawn, in a catalogue; None with prompts."""
    tried: int
    """Panels or sets of items that were drawn, usable or not; prompts, where there are several."""
    usable: int
    """Of those, how many could give a draw."""

    @property
    def panels(self) -> int:
        """Different panels of raters; 0 where they were not followed."""
        return 0 if self.raters is None else len(np.unique(np.sort(self.raters, axis=1), axis=0))


def draw_catalogue(
    scores: Scores, draws: int, R: int, p: int, by: str, rng: np.random.Generator, most_tries: int = MOST_TRIES
) -> Draws | None:
    """`draws` draws from one group's scores (raters, items), NaN where there is none; None where no draw can be."""
    known = np.isfinite(scores)
    count, size = known.shape
    if count < R or size < p:
        return None
    if known.all():
        raters, items = choose(rng, count, R, draws), np.sort(choose(rng, size, p, draws), axis=1)
        return _draws(scores, raters, items, draws, draws)
    find = _panels if by == "panels" else _sets
    found, tried = find(known, draws, R, p, rng, most_tries)
    usable = len(found)
    if not usable:
        return None
    found = np.resize(found, (draws, found.shape[1]))  # too few usable ones are used again
    if by == "items":
        return _draws(scores, _raters_of(known, found, R, rng), found, tried, usable)
    parts = [
        np.sort(_choose_among(np.asarray(known[rows].all(axis=1)), p, rng), axis=1)
        for rows in np.array_split(found, -(-found.size * size // MOST_CELLS))
    ]
    return _draws(scores, found, np.concatenate(parts), tried, usable)


def _raters_of(known: Bools, sets: Ints, R: int, rng: np.random.Generator) -> Ints:
    """(n, R): for each set of items R of the raters who judged them all."""
    columns = np.ascontiguousarray(known.T)
    different, of = np.unique(sets, axis=0, return_inverse=True)
    made = np.empty((len(sets), R), np.int64)
    rows = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    for items, members in zip(different, rows):
        judged = np.flatnonzero(columns[items].all(axis=0))
        made[members] = judged[choose(rng, len(judged), R, len(members))]
    return made


def _draws(scores: Scores, raters: Ints, items: Ints, tried: int, usable: int) -> Draws:
    drawn = scores[raters[:, :, None], items[:, None, :]]
    return Draws(drawn, np.zeros(len(drawn), np.int64), raters, tried, usable)


def _panels(known: Bools, draws: int, R: int, p: int, rng: np.random.Generator, most_tries: int) -> tuple[Ints, int]:
    """Up to `draws` panels of R raters who share p items or more, and how many were tried."""
    bits = np.packbits(known, axis=1)

    def usable(panels: Ints) -> Bools:
        shared = np.bitwise_and.reduce(bits[panels], axis=1)
        enough: Bools = np.bitwise_count(shared).sum(axis=1, dtype=np.int64) >= p
        return enough

    return _until(draws, most_tries, lambda n: choose(rng, len(known), R, n), usable)


def _sets(known: Bools, draws: int, R: int, p: int, rng: np.random.Generator, most_tries: int) -> tuple[Ints, int]:
    """Up to `draws` sets of p items that R raters or more judged, and how many were tried."""
    bits = np.packbits(known, axis=0)

    def usable(sets: Ints) -> Bools:
        judged = np.bitwise_and.reduce(bits[:, sets], axis=2)
        enough: Bools = np.bitwise_count(judged).sum(axis=0, dtype=np.int64) >= R
        return enough

    return _until(draws, most_tries, lambda n: np.sort(choose(rng, known.shape[1], p, n), axis=1), usable)


def _until(
    draws: int, most_tries: int, make: Callable[[int], Ints], usable: Callable[[Ints], Bools]
) -> tuple[Ints, int]:
    """Rows of `make(n)` that are usable, until there are `draws` of them or all tries are spent."""
    found: list[Ints] = []
    kept = tried = 0
    while kept < draws and tried < most_tries:
        batch = make(min(20_000, most_tries - tried))
        good = np.flatnonzero(usable(batch))
        if kept + len(good) >= draws:
            good = good[: draws - kept]
            batch, size = batch[good], int(good[-1]) + 1
        else:
            batch, size = batch[good], len(batch)
        found.append(batch)
        kept, tried = kept + len(good), tried + size
    return np.concatenate(found), tried


def draw_prompts(groups: Sequence[Scores], draws: int, R: int, p: int, rng: np.random.Generator) -> Draws | None:
    """As many draws from every prompt; None where no prompt can give one.

    As in a check, a rater counts in a prompt when they judged all of it; where that leaves no prompt, whatever items a
    panel shares are taken.
    """
    whole = [scores[np.isfinite(scores).all(axis=1)] for scores in groups]
    fit = [scores for scores in whole if len(scores) >= R and scores.shape[1] >= p]
    wanted = -(-draws // max(len(fit), 1))
    parts = [_within(scores, wanted, R, p, rng) for scores in fit]
    if not parts:
        wanted = -(-draws // max(len(groups), 1))
        parts = [np.array(list(_sharing(scores, wanted, R, p, rng)), np.float32) for scores in groups]
    parts = [drawn for drawn in parts if len(drawn)]
    if not parts:
        return None
    cluster = np.repeat(np.arange(len(parts)), [len(drawn) for drawn in parts])
    return Draws(np.concatenate(parts), cluster, None, len(groups), len(parts))


def _within(scores: Scores, wanted: int, R: int, p: int, rng: np.random.Generator) -> Scores:
    """`wanted` draws from a matrix without gaps; items keep their order."""
    raters = choose(rng, scores.shape[0], R, wanted)
    items = np.sort(choose(rng, scores.shape[1], p, wanted), axis=1)
    return scores[raters[:, :, None], items[:, None, :]]


def _sharing(scores: Scores, wanted: int, R: int, p: int, rng: np.random.Generator) -> Iterator[Scores]:
    """Up to `wanted` draws of R raters and p of the items they share."""
    for _ in range(wanted * (len(scores) >= R)):
        for _ in range(MAX_TRIES):
            panel = scores[rng.permutation(len(scores))[:R]]
            shared = panel[:, np.isfinite(panel).all(axis=0)]
            if shared.shape[1] >= p:
                yield _within(shared, 1, R, p, rng)[0]
                break
        else:
            return


def choose(rng: np.random.Generator, of: int, k: int, times: int) -> Ints:
    """(times, k): k different numbers below `of`, in random order, `times` times."""
    if of <= 8 * k:
        return rng.random((times, of)).argsort(axis=1)[:, :k]
    drawn = rng.integers(0, of, (times, k))
    while True:
        ordered = np.sort(drawn, axis=1)
        again = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
        if not len(again):
            return drawn
        drawn[again] = rng.integers(0, of, (len(again), k))


def _choose_among(allowed: Bools, k: int, rng: np.random.Generator) -> Ints:
    """(n, k): k different places of each row of `allowed`, every set of them as likely."""
    keys = np.where(allowed, rng.random(allowed.shape), 2.0)
    return np.argpartition(keys, k - 1, axis=1)[:, :k]
