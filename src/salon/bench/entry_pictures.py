"""The pictures of an entry: what a generator's record says of them, and whether they are still what it was."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from salon.bench.entry import CARD, Entry, Pictured
from salon.bench.entry_files import (
    read_answers,
    read_entry,
    read_logits,
    write_answers,
    write_entry,
    write_logits,
)
from salon.bench.suite import Suite
from salon.errors import BadFile
from salon.generate.names import item_id
from salon.generate.record import Generation, read_generations
from salon.store.atomic import in_turn
from salon.study import Generator

OUTAGES = ("timeout", "budget", "error")
"""Kinds of a missing picture that another run may heal: until then, or until told otherwise, nothing is published."""


def pictured(suite: Suite, generator: Generator, folder: Path) -> tuple[Pictured, ...]:
    """Every picture the suite asks for, as the record of the generator has it."""
    known, _ = read_generations(folder)
    found = []
    for prompt in (one.prompt.id for one in suite.prompts):
        for seed in suite.seeds:
            item = item_id(prompt, generator.name, seed)
            found.append(_picture(prompt, seed, item, known.get(item), suite.card.size))
    return tuple(found)


def _picture(prompt: str, seed: int, item: str, line: Generation | None, size: str | None) -> Pictured:
    place = {"prompt": prompt, "seed": seed, "item": item}
    if line is None or not line.ok:
        kind, reason = (line.kind, line.reason) if line else ("missing", "never asked for")
        return Pictured(**place, missing=f"{kind or 'error'}: {reason or 'no reason was given'}")
    if size not in (None, f"{line.width}x{line.height}"):
        return Pictured(**place, missing=f"wrong-size: {line.width}x{line.height}, where the suite asks for {size}")
    return Pictured(**place, image=line.image, sha256=line.sha256, width=line.width, height=line.height)


def renew_entry(folder: Path, entry: Entry) -> None:
    """Write the card; answers and scores of pictures that are others now are let go first. A retraction stays."""
    with in_turn(folder / CARD):
        there = read_entry(folder) if (folder / CARD).exists() else None
        before = {one.item: one.sha256 for one in there.pictures} if there else {}
        same = [one.item for one in entry.pictures if one.sha256 and before.get(one.item) == one.sha256]
        for read, write in ((read_answers, write_answers), (read_logits, write_logits)):
            table = read(folder)
            kept = table.filter(pc.is_in(table.column("item"), pa.array(same, pa.string())))
            if kept.num_rows < table.num_rows:
                write(folder, kept)
        write_entry(folder, entry.model_copy(update={"retracted": there.retracted if there else None}))


def check_pictures(folder: Path, entry: Entry) -> None:
    """Every picture is the one whose hash the card has; BadFile with both hashes otherwise."""
    for one in entry.pictures:
        if one.image is None:
            continue
        path = folder / one.image
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if found != one.sha256:
            raise BadFile(
                f"the picture of {one.prompt!r} with the hash {(one.sha256 or 'none')[:16]} is needed",
                found=found[:16],
                where=str(path),
                remedy="put the file back, or remove the entry and make it anew",
            )
