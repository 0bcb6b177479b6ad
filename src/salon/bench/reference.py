"""The frozen reference of EPS: for every prompt the median logit over a field of entries, computed once.

    mu_ref(p)    = median over entries of the field of the mean logit of the entry's pictures for p
    sigma_ref(p) = median of the means of their sigmas, where the scorer states them

The reference of an odd field is one entry's value; that of an even field is the midpoint between the two in the middle,
which nobody made. The entries of the field are inside their own reference. An entry without a scored picture for a
prompt is left out there, and `n` says how many were not.

Before a reference is frozen, a board has Capability alone; its entries are scored all the same. The suite with the
reference in it is another suite with another hash, so it has a board of its own. Entries go there with their pictures,
answers and scores; nothing is made or asked again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.bench.axes import Logits, index_logits, require_logits
from salon.bench.board import Board, check_new_name, entry_folder
from salon.bench.entry import ANSWERS_FILE, LOGITS_FILE, RESULT, Entry, EntryPicture, required_pictures
from salon.bench.entry_files import PUBLISHED, read_answers, read_logits, write_answers, write_logits
from salon.bench.judging import check_scorers, table_logits
from salon.bench.result import inputs_digest
from salon.bench.suite import FieldEntry, PreferenceReference, Reference, ReferencePoint, Suite
from salon.bench.suite_folder import POINTS, ROUTES, prompts_hash, with_hashes
from salon.errors import BadFile, BadValue, DesignError, TooFew, UnknownReference
from salon.judge import SCORES_FOLDER, TableScorer
from salon.store import whole_folder
from salon.study import ScorerCard

LEAST = 3
"""Entries of a field: the median of two is their mean, of one that entry itself."""

FieldScorer = tuple[str, str, ScorerCard]
"""Name, signature and card of the scorer behind a column."""


def make_reference(
    suite: Suite, field: Sequence[tuple[Entry, pa.Table]], scorers: Mapping[str, FieldScorer], note: str = ""
) -> Reference:
    """The reference of every column of the suite, from entries with their LOGITS tables."""
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
    field_scores = []
    for entry, logits in sorted(field, key=lambda pair: pair[0].name):
        pictures = required_pictures(suite, entry)
        scores = index_logits(logits, suite, pictures)
        for rule in suite.card.preferences:
            if rule.id not in scorers:
                raise UnknownReference(
                    f"a scorer for the column {rule.id!r} is needed", found=", ".join(scorers) or "none"
                )
            name, signature, card = scorers[rule.id]
            require_logits(name, card)
            other_scorers = {logit.scorer for (column, _), logit in scores.items() if column == rule.id} - {signature}
            if other_scorers:
                raise DesignError(
                    f"scores by {signature} are needed",
                    found=", ".join(map(str, sorted(other_scorers, key=str))),
                    where=f"entry {entry.name!r}, column {rule.id!r}",
                )
        field_scores.append((entry, pictures, scores))
    return Reference(
        prompts=prompts_hash(suite),
        field=tuple(
            FieldEntry(name=entry.name, digest=inputs_digest(pictures, logits=logits))
            for entry, pictures, logits in field_scores
        ),
        preferences=tuple(
            PreferenceReference(
                id=rule.id,
                scorer=scorers[rule.id][0],
                signature=scorers[rule.id][1],
                card=scorers[rule.id][2],
                points=tuple(
                    _point(rule.id, prompt.id, field_scores) for prompt in suite.prompts if suite.tag_of(prompt.id).eps
                ),
            )
            for rule in suite.card.preferences
        ),
        note=note,
    )


_FieldScores = tuple[Entry, list[EntryPicture], Logits]


def _point(column: str, prompt: str, field_scores: Sequence[_FieldScores]) -> ReferencePoint:
    values: list[float] = []
    sigmas: list[list[float]] = []
    stated = True
    for _, pictures, logits in field_scores:
        prompt_logits = (
            logits.get((column, logit_of_picture.item))
            for logit_of_picture in pictures
            if logit_of_picture.prompt == prompt and logit_of_picture.image is not None
        )
        scored = [
            logit_of_picture
            for logit_of_picture in prompt_logits
            if logit_of_picture is not None and logit_of_picture.value is not None
        ]
        if scored:
            values.append(float(np.mean([logit.value for logit in scored])))
            sigmas.append([logit.sigma for logit in scored if logit.sigma is not None])
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


# -- freezing a reference ----------------------------------------------------------------------------------------------


def field_reference(board: Board, note: str = "", tables: Mapping[str, TableScorer] | None = None) -> Reference:
    """The reference that the scored entries of a board make; those that were retracted are no part of the field.

    `tables` are scores made elsewhere, by column: they stand in the place of those in the entries' folders, which stay
    as they were published.
    """
    tables = tables or {}
    check_scorers(replace(board.suite, reference=None), tables)
    entries = [entry for entry in board.entries if entry.retracted is None]
    field = [(entry, _logits(board, entry, tables)) for entry in entries]
    scorers = field_scorers(board, tables)
    words = " ".join(dict.fromkeys(card.measures for _, _, card in scorers.values() if card.measures))
    return make_reference(board.suite, field, scorers, note or words)


def _logits(board: Board, entry: Entry, tables: Mapping[str, TableScorer]) -> pa.Table:
    """The logits in an entry's folder, those of a column with a table from there."""
    stored = read_logits(entry_folder(board, entry.name))
    stored = stored.filter(pc.invert(pc.is_in(stored.column("preference"), pa.array(list(tables), pa.string()))))
    return pa.concat_tables([stored, *(table_logits(entry, column, table) for column, table in tables.items())])


def check_field(board: Board, suite: Suite) -> None:
    """Refuse a field that answered other prompts, before anything is said about its scores."""
    if prompts_hash(board.suite) != prompts_hash(suite):
        raise BadValue(
            f"a field that answered the suite's prompts ({prompts_hash(suite)[:16]}) is needed",
            found=f"one of other prompts ({prompts_hash(board.suite)[:16]})",
            where=str(board.folder),
            remedy=f"run the field on {suite.card.name}, as it is now",
        )


def with_reference(suite: Suite, reference: Reference) -> Suite:
    """The suite with its reference, hashed anew and frozen."""
    if reference.prompts != prompts_hash(suite):
        raise BadValue(
            f"a field that answered the suite's prompts ({prompts_hash(suite)[:16]}) is needed",
            found=f"one of other prompts ({reference.prompts[:16]})",
            where=f"suite {suite.card.name!r}",
        )
    return with_hashes(replace(suite, reference=reference, frozen=True))


def field_scorers(board: Board, tables: Mapping[str, TableScorer] | None = None) -> dict[str, FieldScorer]:
    """Name, signature and card of the scorer behind every column, as they stand beside the entries' scores."""
    cards = dict(_cards(board))
    scorers: dict[str, FieldScorer] = {
        column: (table.name, str(table.signature), table.card) for column, table in (tables or {}).items()
    }
    for entry in board.entries:
        table = read_logits(entry_folder(board, entry.name))
        for column, signature in zip(table.column("preference").to_pylist(), table.column("scorer").to_pylist()):
            if column not in scorers and signature in cards:
                scorers[column] = (*cards[signature][:1], signature, cards[signature][1])
    lacking = [rule.id for rule in board.suite.card.preferences if rule.id not in scorers]
    if lacking or not scorers:
        raise BadFile(
            "scores of every column of the suite are needed to freeze a reference",
            found="a board without entries"
            if not board.entries
            else f"none of {', '.join(lacking)}"
            if lacking
            else "a suite without a column of EPS",
            where=str(board.folder),
            remedy=f"salon bench run {board.folder} {'' if board.entries else '-g NAME '}"
            f"--scorer {lacking[0] if lacking else 'COLUMN'}=NAME",
        )
    return scorers


def _cards(board: Board) -> Iterator[tuple[str, tuple[str, ScorerCard]]]:
    for entry in board.entries:
        for path in sorted((entry_folder(board, entry.name) / SCORES_FOLDER).glob("*.json")):
            record = json.loads(path.read_text(encoding="utf-8"))
            card = ScorerCard.parse(record["card"], where=str(path))
            yield record["signature"], (record["scorer"], card)


# -- carrying over -----------------------------------------------------------------------------------------------------


def carry_entries(source: Board, target: Board) -> list[str]:
    """Bring the entries of `source` that `target` does not have, without their results; the names of those brought.

    Pictures, cards and scores go along; answers do where both suites have the same points and routes. Each entry
    appears whole.
    """
    if prompts_hash(source.suite) != prompts_hash(target.suite):
        raise BadValue(
            f"a board with the same prompts ({prompts_hash(target.suite)[:16]}) is needed",
            found=f"one with others ({prompts_hash(source.suite)[:16]})",
            where=str(source.folder),
        )
    there = {entry.name for entry in target.entries}
    names = [entry.name for entry in source.entries if entry.name not in there]
    for name in names:
        check_new_name(target, name)
        _carry(
            entry_folder(source, name),
            entry_folder(target, name),
            same_points=all(source.suite.hashes[name] == target.suite.hashes[name] for name in (POINTS, ROUTES)),
        )
    return names


def _carry(source: Path, target: Path, *, same_points: bool) -> None:
    left = {RESULT, PUBLISHED, ANSWERS_FILE, LOGITS_FILE}
    with whole_folder(target.resolve()) as new:
        shutil.copytree(source, new, dirs_exist_ok=True, ignore=lambda folder, names: left & set(names))
        write_logits(new, read_logits(source))
        if same_points:
            write_answers(new, read_answers(source))
