"""From a field of entries to a frozen reference, and entries carried over to the board of the suite that has it.

Before a reference is frozen a board has Capability alone. Its entries are scored all the same; their median logits,
prompt by prompt, become the reference. The suite with the reference in it is another suite, with another hash, so it
has a board of its own: entries go there with their pictures, answers and scores, and nothing is made or asked again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from salon.bench import entry as files
from salon.bench.board import Board, check_new_name, entry_folder
from salon.bench.entry_files import PUBLISHED, read_answers, read_logits, write_answers, write_logits
from salon.bench.reference import FieldScorer, make_reference
from salon.bench.scoring import check_scorers, table_logits
from salon.bench.suite import Reference, Suite
from salon.bench.suite_folder import POINTS, ROUTES, hashed, prompts_hash
from salon.errors import BadFile, BadValue
from salon.judge.score import FOLDER
from salon.judge.scorers.table import TableScorer
from salon.store.atomic import whole_folder
from salon.study.scorer import ScorerCard


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


def _logits(board: Board, entry: files.Entry, tables: Mapping[str, TableScorer]) -> pa.Table:
    """The logits in an entry's folder, those of a column with a table from there."""
    kept = read_logits(entry_folder(board, entry.name))
    kept = kept.filter(pc.invert(pc.is_in(kept.column("preference"), pa.array(list(tables), pa.string()))))
    return pa.concat_tables([kept, *(table_logits(entry, column, table) for column, table in tables.items())])


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
    return hashed(replace(suite, reference=reference, frozen=True))


def field_scorers(board: Board, tables: Mapping[str, TableScorer] | None = None) -> dict[str, FieldScorer]:
    """Name, signature and card of the scorer behind every column, as they stand beside the entries' scores."""
    cards = dict(_cards(board))
    found: dict[str, FieldScorer] = {
        column: (table.name, str(table.signature), table.card) for column, table in (tables or {}).items()
    }
    for entry in board.entries:
        table = read_logits(entry_folder(board, entry.name))
        for column, signature in zip(table.column("preference").to_pylist(), table.column("scorer").to_pylist()):
            if column not in found and signature in cards:
                found[column] = (*cards[signature][:1], signature, cards[signature][1])
    lacking = [rule.id for rule in board.suite.card.preferences if rule.id not in found]
    if lacking or not found:
        raise BadFile(
            "scores of every column of the suite are needed to freeze a reference",
            found=_lacks(board, lacking),
            where=str(board.folder),
            remedy=f"salon bench run {board.folder} {'' if board.entries else '-g NAME '}"
            f"--scorer {lacking[0] if lacking else 'COLUMN'}=NAME",
        )
    return found


def _lacks(board: Board, columns: list[str]) -> str:
    if not board.entries:
        return "a board without entries"
    return f"none of {', '.join(columns)}" if columns else "a suite without a column of EPS"


def _cards(board: Board) -> Iterator[tuple[str, tuple[str, ScorerCard]]]:
    for entry in board.entries:
        for path in sorted((entry_folder(board, entry.name) / FOLDER).glob("*.json")):
            told = json.loads(path.read_text(encoding="utf-8"))
            card = ScorerCard.parse(told["card"], where=str(path))
            yield told["signature"], (told["scorer"], card)


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
    there = {one.name for one in target.entries}
    brought = [one.name for one in source.entries if one.name not in there]
    for name in brought:
        check_new_name(target, name)
        _carry(entry_folder(source, name), entry_folder(target, name), same_points=_same_points(source, target))
    return brought


def _same_points(source: Board, target: Board) -> bool:
    return all(source.suite.hashes[name] == target.suite.hashes[name] for name in (POINTS, ROUTES))


def _carry(source: Path, target: Path, *, same_points: bool) -> None:
    left = {files.RESULT, PUBLISHED, files.ANSWERS_FILE, files.LOGITS_FILE}
    with whole_folder(target.resolve()) as new:
        shutil.copytree(source, new, dirs_exist_ok=True, ignore=lambda folder, names: left & set(names))
        write_logits(new, read_logits(source))
        if same_points:
            write_answers(new, read_answers(source))
