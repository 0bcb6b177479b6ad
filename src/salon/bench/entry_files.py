"""The files of an entry's folder: its card, answers, scores, pictures, and its result once published."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from salon.bench.entry import ANSWERS, ANSWERS_FILE, CARD, LOGITS, LOGITS_FILE, RESULT, Entry, EntryPicture, EntryResult
from salon.bench.suite import Suite
from salon.bench.suite_folder import LOST, read_json
from salon.errors import BadFile
from salon.generate import Generation, item_id, read_generations
from salon.store import arrow_file, check_rows, wait_turn, whole_file, write_json
from salon.study import Generator, Noun

PUBLISHED = "published.json"
_REMEDY = "published numbers never move: add it under another name, or retract this one with a reason"


class PublicationRecord(Noun):
    """What a published result was made from: the hashes that must hold for as long as it is shown."""

    format: Literal["salon.published/1"] = "salon.published/1"
    result: str
    """Of result.json, without the version of Salon that wrote it."""
    suite: str
    pictures: str
    answers: str
    scores: str


# -- the card ------------------------------------------------------------------------------------------------------


def read_entry(folder: Path) -> Entry:
    """The card of an entry."""
    return Entry.parse(read_json(folder / CARD), where=str(folder / CARD))


def write_entry(folder: Path, entry: Entry) -> None:
    """Write the card, whole; pictures of a published result may not change."""
    published = read_published(folder)
    digest = pictures_hash(entry.pictures)
    if published is not None and published.pictures != digest:
        raise BadFile(
            f"the published entry's pictures with the hash {published.pictures[:16]} are needed",
            found=f"other pictures, {digest[:16]}",
            where=str(folder / CARD),
            remedy=_REMEDY,
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / CARD, entry, indent=1)


# -- answers and scores --------------------------------------------------------------------------------------------


def read_answers(folder: Path) -> pa.Table:
    """What judges said; empty before they were asked."""
    return _read_table(folder / ANSWERS_FILE, ANSWERS)


def read_logits(folder: Path) -> pa.Table:
    """What scorers said; empty before they were asked."""
    return _read_table(folder / LOGITS_FILE, LOGITS)


def write_answers(folder: Path, answers: pa.Table) -> None:
    """Keep what judges said, whole."""
    _write_table(folder / ANSWERS_FILE, answers, ANSWERS)


def write_logits(folder: Path, logits: pa.Table) -> None:
    """Keep what scorers said, whole."""
    _write_table(folder / LOGITS_FILE, logits, LOGITS)


def _read_table(path: Path, schema: pa.Schema) -> pa.Table:
    if not path.exists():
        return schema.empty_table()
    try:
        check_rows(path)
        return pq.ParquetFile(arrow_file(path)).read().select(schema.names).cast(schema)
    except (pa.ArrowException, KeyError, OSError, ValueError) as error:
        needed = f"a table with {', '.join(schema.names)} is needed"
        raise BadFile(needed, found=error, where=str(path), remedy=LOST) from None


def _write_table(path: Path, table: pa.Table, schema: pa.Schema) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        pq.write_table(table.select(schema.names).cast(schema), file)


# -- the result ----------------------------------------------------------------------------------------------------


def read_result(folder: Path) -> EntryResult | None:
    """The result as it was written; None before there is one."""
    path = folder / RESULT
    return EntryResult.parse(read_json(path), where=str(path)) if path.exists() else None


def read_published(folder: Path) -> PublicationRecord | None:
    """What a published result was made from; None before publication."""
    path = folder / PUBLISHED
    return PublicationRecord.parse(read_json(path), where=str(path)) if path.exists() else None


def read_checked_result(folder: Path) -> EntryResult | None:
    """The result for a page: a published one only with the numbers that were published."""
    result, published = read_result(folder), read_published(folder)
    if result is not None and published is not None and (digest := result_hash(result)) != published.result:
        raise BadFile(
            f"the published result of {result.entry!r} with the hash {published.result[:16]} is needed",
            found=f"other numbers, {digest[:16]}",
            where=str(folder / RESULT),
            remedy="put back the file as it was published; salon bench verify says what else has changed",
        )
    return result


def write_result(folder: Path, result: EntryResult) -> bool:
    """Keep a result, and publish it when it is complete. True where it is published (now or before).

    A published result is never written again: the same numbers leave it as it is, others are refused with what has
    changed. Killed between the two files, the entry has a result that counts as not published yet.
    """
    published = read_published(folder)
    if published is not None:
        now = current_hashes(folder, result)
        if now.result != published.result:
            changed = changed_parts(published, now)
            raise BadFile(
                f"the published result of {result.entry!r} with the hash {published.result[:16]} is needed",
                found=f"{now.result[:16]}: {'; '.join(changed)}",
                where=str(folder / RESULT),
                remedy=_REMEDY,
            )
        return True
    write_json(folder / RESULT, result, indent=1)
    if result.status != "complete":
        return False
    write_json(folder / PUBLISHED, current_hashes(folder, result), indent=1)
    return True


def current_hashes(folder: Path, result: EntryResult) -> PublicationRecord:
    """The hashes of everything a result rests on, as the folder has it now."""
    return PublicationRecord(
        result=result_hash(result),
        suite=result.suite_hash,
        pictures=pictures_hash(read_entry(folder).pictures),
        answers=table_hash(read_answers(folder)),
        scores=table_hash(read_logits(folder)),
    )


def changed_parts(before: PublicationRecord, now: PublicationRecord) -> list[str]:
    """What is no longer as it was published, with both hashes; the way of computing where no part has changed."""
    parts = ("suite", "pictures", "answers", "scores")
    changes = [
        f"{part} were {old[:16]}, are {new[:16]}"
        for part in parts
        if (old := getattr(before, part)) != (new := getattr(now, part))
    ]
    return changes or ["the same pictures, answers and scores gave other numbers"]


def result_hash(result: EntryResult) -> str:
    """Of all numbers, whichever version of Salon wrote them."""
    record = result.model_dump(mode="json", exclude={"signature": {"version"}, "signature_line": True})
    return _hash([json.dumps(record, sort_keys=True, ensure_ascii=False)])


def pictures_hash(pictures: Iterable[EntryPicture]) -> str:
    """Of which pictures there are, by the hash of each."""
    return _hash(sorted(f"{picture.prompt}\0{picture.seed}\0{picture.sha256 or ''}" for picture in pictures))


def table_hash(table: pa.Table) -> str:
    """Of what a table says, in whatever order its rows stand."""
    return _hash(sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in table.to_pylist()))


def _hash(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


# -- pictures ----------------------------------------------------------------------------------------------------------

OUTAGES = ("timeout", "budget", "error")
"""Kinds of a missing picture that another run may heal: until then, or until told otherwise, nothing is published."""


def generated_pictures(suite: Suite, generator: Generator, folder: Path) -> tuple[EntryPicture, ...]:
    """Every picture the suite asks for, as the record of the generator has it."""
    generations, _ = read_generations(folder)
    pictures = []
    for prompt in (suite_prompt.id for suite_prompt in suite.prompts):
        for seed in suite.seeds:
            item = item_id(prompt, generator.name, seed)
            pictures.append(_picture(prompt, seed, item, generations.get(item), suite.card.size))
    return tuple(pictures)


def _picture(prompt: str, seed: int, item: str, line: Generation | None, size: str | None) -> EntryPicture:
    place = {"prompt": prompt, "seed": seed, "item": item}
    if line is None or not line.ok:
        kind, reason = (line.kind, line.reason) if line else ("missing", "never asked for")
        return EntryPicture(**place, missing=f"{kind or 'error'}: {reason or 'no reason was given'}")
    if size not in (None, f"{line.width}x{line.height}"):
        return EntryPicture(**place, missing=f"wrong-size: {line.width}x{line.height}, where the suite asks for {size}")
    return EntryPicture(**place, image=line.image, sha256=line.sha256, width=line.width, height=line.height)


def renew_entry(folder: Path, entry: Entry) -> None:
    """Write the card, after dropping answers and scores of pictures that changed. A retraction stays."""
    with wait_turn(folder / CARD):
        there = read_entry(folder) if (folder / CARD).exists() else None
        before = {picture.item: picture.sha256 for picture in there.pictures} if there else {}
        same = [
            picture.item for picture in entry.pictures if picture.sha256 and before.get(picture.item) == picture.sha256
        ]
        for read, write in ((read_answers, write_answers), (read_logits, write_logits)):
            table = read(folder)
            remaining = table.filter(pc.is_in(table.column("item"), pa.array(same, pa.string())))
            if remaining.num_rows < table.num_rows:
                write(folder, remaining)
        write_entry(folder, entry.model_copy(update={"retracted": there.retracted if there else None}))


def check_pictures(folder: Path, entry: Entry) -> None:
    """Every picture is the one whose hash the card has; BadFile with both hashes otherwise."""
    for picture in entry.pictures:
        if picture.image is None:
            continue
        path = folder / picture.image
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if digest != picture.sha256:
            raise BadFile(
                f"the picture of {picture.prompt!r} with the hash {(picture.sha256 or 'none')[:16]} is needed",
                found=digest[:16],
                where=str(path),
                remedy="put the file back, or remove the entry and make it anew",
            )
