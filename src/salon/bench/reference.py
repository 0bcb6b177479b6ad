"""The frozen reference of EPS: for every prompt the median logit over a field of entries, computed once.

    mu_ref(p)    = median over entries of the field of the mean logit of the entry's pictures for p
    sigma_ref(p) = median of the means of their sigmas, where the scorer states them

An odd field's reference is one entry's value; an even field's is the midpoint between the two in the middle, a picture
nobody made. The entries of the field are inside their own reference. An entry without a scored picture for a prompt is
left out there, and `n` says how many were not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from salon.bench.entry import Entry, Pictured
from salon.bench.preference import Logit, Logits, declares_logits, read_logits
from salon.bench.result import inputs_digest
from salon.bench.suite import FieldEntry, PreferenceReference, Reference, ReferencePoint, Suite
from salon.bench.suite_folder import prompts_hash
from salon.bench.wanted import wanted_pictures
from salon.errors import BadValue, DesignError, TooFew, UnknownReference
from salon.study.scorer import ScorerCard

LEAST = 3
"""Entries of a field: the median of two is their mean, of one that entry itself."""

FieldScorer = tuple[str, str, ScorerCard]
"""Name, signature and card of the scorer behind a column."""


def make_reference(
    suite: Suite,
    field: Sequence[tuple[Entry, pa.Table]],
    scorers: Mapping[str, FieldScorer],
    note: str = "",
) -> Reference:
    """The reference of every column of the suite, from entries with their LOGITS tables."""
    _check_field(field)
    made = [_scored(suite, entry, logits, scorers) for entry, logits in sorted(field, key=lambda one: one[0].name)]
    return Reference(
        prompts=prompts_hash(suite),
        field=tuple(
            FieldEntry(name=entry.name, digest=inputs_digest(pictures, logits=logits))
            for entry, pictures, logits in made
        ),
        preferences=tuple(
            PreferenceReference(
                id=rule.id,
                scorer=scorers[rule.id][0],
                signature=scorers[rule.id][1],
                card=scorers[rule.id][2],
                points=tuple(
                    _point(rule.id, one.prompt.id, made) for one in suite.prompts if suite.tag_of(one.prompt.id).eps
                ),
            )
            for rule in suite.card.preferences
        ),
        note=note,
    )


_Made = tuple[Entry, list[Pictured], Logits]


def _check_field(field: Sequence[tuple[Entry, pa.Table]]) -> None:
    names = [entry.name for entry, _ in field]
    if len(field) < LEAST:
        raise TooFew(
            f"a reference needs a field of at least {LEAST} entries",
            found=f"{len(field)}: {', '.join(names) or 'an empty field'}",
            remedy="add entries to the board before freezing",
        )
    if len(set(names)) < len(names):
        raise BadValue("every entry of a field once", found=f"{len(names)} entries with {len(set(names))} names")
    retracted = [entry.name for entry, _ in field if entry.retracted is not None]
    if retracted:
        raise BadValue("a field holds no retracted entries", found=", ".join(retracted))


def _scored(suite: Suite, entry: Entry, logits: pa.Table, scorers: Mapping[str, FieldScorer]) -> _Made:
    pictures = wanted_pictures(suite, entry)
    scores = read_logits(logits, suite, pictures)
    for rule in suite.card.preferences:
        if rule.id not in scorers:
            raise UnknownReference(f"a scorer for the column {rule.id!r} is needed", found=", ".join(scorers) or "none")
        name, signature, card = scorers[rule.id]
        declares_logits(name, card)
        others = {logit.scorer for (column, _), logit in scores.items() if column == rule.id} - {signature}
        if others:
            raise DesignError(
                f"scores by {signature} are needed",
                found=", ".join(map(str, sorted(others, key=str))),
                where=f"entry {entry.name!r}, column {rule.id!r}",
            )
    return entry, pictures, scores


def _point(column: str, prompt: str, made: Sequence[_Made]) -> ReferencePoint:
    values: list[float] = []
    sigmas: list[list[float]] = []
    stated = True
    for _, pictures, logits in made:
        scored = _of_prompt(column, prompt, pictures, logits)
        if scored:
            values.append(float(np.mean([one.value for one in scored])))
            sigmas.append([one.sigma for one in scored if one.sigma is not None])
            stated = stated and len(sigmas[-1]) == len(scored)
    if not values:
        raise TooFew(
            "a reference needs a scored picture of every prompt that EPS counts",
            found="none in the whole field",
            where=f"column {column!r}, prompt {prompt!r}",
        )

    return ReferencePoint(
        prompt=prompt,
        value=float(np.median(values)),
        sigma=float(np.median([np.mean(own) for own in sigmas])) if stated else None,
        n=len(values),
    )


def _of_prompt(column: str, prompt: str, pictures: Sequence[Pictured], logits: Logits) -> list[Logit]:
    found = (logits.get((column, one.item)) for one in pictures if one.prompt == prompt and one.image is not None)
    return [one for one in found if one is not None and one.value is not None]
