"""What models and scores say about the pairs of a trial.

A model is asked about every pair. Heads are given vectors from the cache, so no picture is looked at twice; others see
the pictures. Where the order of a pair leaves a trace (the pairwise form) it is shown both ways round and the mean of
the two log-odds counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadFile
from salon.evaluate.pairs.evaluate_data import Bools, Floats, Ints, Trial
from salon.models.cards import Card
from salon.models.embeddings import encode_pictures, encode_texts
from salon.models.encoder import Encoder, Vectors
from salon.models.preference import PreferenceModel
from salon.store.pictures import read_picture

ONE_WAY = ("pairwise",)
"""Forms of heads that may answer otherwise when a pair is turned round."""
_TOGETHER = 64
"""Pairs whose pictures are held in memory at once."""

Texts = Callable[[int], Sequence[str]]
"""For the place of a criterion in the trial the text that the model reads, for every pair."""


class Margins(NamedTuple):
    """Log-odds of all pairs; NaN where the model does not know the criterion."""

    margin: Floats
    turned: Floats | None
    speaks: Bools


@runtime_checkable
class ReadsVectors(Protocol):
    """A model that can be given vectors in the place of pictures."""

    encoder: Encoder

    def conditioned(self, texts: Sequence[str], criterion: str) -> list[str]: ...

    def vector_logits(
        self, a: Mapping[str, Vectors], b: Mapping[str, Vectors], texts: Vectors, criterion: str
    ) -> NDArray[np.float64]: ...


def model_margins(model: PreferenceModel, trial: Trial, paths: Mapping[str, Path], texts: Texts) -> Margins:
    """What `model` says about the pairs of `trial`; `paths` finds each item's picture."""
    known = matched(model.card, [id for id, _ in trial.criteria])
    ask = _by_vectors(model, trial, paths) if isinstance(model, ReadsVectors) else _by_pictures(model, trial, paths)
    both = model.card.form in ONE_WAY
    straight, turned = np.full(len(trial), np.nan), np.full(len(trial), np.nan)
    speaks = np.zeros(len(trial), bool)
    for place, (criterion, _) in enumerate(trial.criteria):
        if criterion not in known:
            continue
        rows = np.flatnonzero(trial.criterion == place)
        read = [texts(place)[int(row)] for row in rows]
        speaks[rows] = True
        a, b = list(trial.item_a[rows]), list(trial.item_b[rows])
        straight[rows] = ask(a, b, read, known[criterion])
        if both:
            turned[rows] = -ask(b, a, read, known[criterion])
    return Margins((straight + turned) / 2 if both else straight, turned if both else None, speaks)


def matched(card: Card, criteria: Sequence[str]) -> dict[str, str]:
    """Criteria of a study, each with the model's own that it is held against: the same id, or the only one of both."""
    taught = [one.id for one in card.criteria]
    if len(taught) == len(criteria) == 1:
        return {criteria[0]: taught[0]}
    return {id: id for id in criteria if id in taught}


_Ask = Callable[[Sequence[str], Sequence[str], Sequence[str], str], Floats]


def _by_vectors(model: ReadsVectors, trial: Trial, paths: Mapping[str, Path]) -> _Ask:
    items = trial.items
    row = {item: number for number, item in enumerate(items)}
    pictures = encode_pictures(model.encoder, _paths(items, paths))

    def ask(a: Sequence[str], b: Sequence[str], texts: Sequence[str], criterion: str) -> Floats:
        first, second = (
            {part: rows[[row[item] for item in side]] for part, rows in pictures.items()} for side in (a, b)
        )
        words = encode_texts(model.encoder, model.conditioned(texts, criterion))
        return model.vector_logits(first, second, words, criterion)

    return ask


def _by_pictures(model: PreferenceModel, trial: Trial, paths: Mapping[str, Path]) -> _Ask:
    where = dict(zip(trial.items, _paths(trial.items, paths)))

    def ask(a: Sequence[str], b: Sequence[str], texts: Sequence[str], criterion: str) -> Floats:
        found = []
        for start in range(0, len(a), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            images = {item: read_picture(where[item]).image for item in {*a[part], *b[part]}}
            first, second = ([images[item] for item in side[part]] for side in (a, b))
            found.append(model.pair_logits(first, second, texts[part], criterion))
        return np.concatenate(found)

    return ask


def _paths(items: Sequence[str], paths: Mapping[str, Path]) -> list[Path]:
    missing = [item for item in items if item not in paths]
    if missing:
        raise BadFile(
            "a picture for every item of the test is needed",
            found=f"{len(missing):,} of {len(items):,} items without one ({', '.join(missing[:3])})",
            remedy="give items their pictures (docs/guide/import.md, Pictures)",
        )
    return [paths[item] for item in items]


def score_margins(trial: Trial, values: Mapping[str, float], *, higher_is_better: bool = True) -> Floats:
    """Differences of the numbers that a scorer gave to items; NaN where one of the two has none."""
    first, second = (np.array([values.get(item, np.nan) for item in side]) for side in (trial.item_a, trial.item_b))
    result: Floats = first - second if higher_is_better else second - first
    return result


def spoken(trial: Trial, criterion: str | None) -> Bools:
    """Pairs of one criterion, or all: what a scorer speaks about."""
    known: Ints = trial.criterion
    if criterion is None:
        return np.ones(len(trial), bool)
    return np.array([trial.criteria[place][0] == criterion for place in known], bool)
