"""A suite as a folder: read, write, hash and freeze.

Hashes are of what the files say, not of their bytes: line ends, the order of keys and defaults that are spelled out
change nothing, everything else does. A frozen suite has a suite.lock; a file that no longer says what was locked is
refused with the hash that was expected and the one that was found.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from salon.bench.builtin import builtin_folder
from salon.bench.private_prompts import fill_private, public_point, public_record
from salon.bench.suite import Reference, Suite, SuiteCard, SuitePrompt, Tag
from salon.bench.suite_checks import check_suite
from salon.bench.suite_records import read_json, read_lines, read_toml
from salon.errors import BadFile, BadValue
from salon.store.atomic import in_turn, present, whole_file, whole_folder
from salon.study.noun import Noun
from salon.study.point import Point, Route
from salon.study.prompt import Prompt

CARD, TAGS, PROMPTS, POINTS, ROUTES = "suite.toml", "tags.toml", "prompts.jsonl", "points.jsonl", "routes.toml"
REFERENCE, LOCK = "reference.json", "suite.lock"
FILES = (CARD, TAGS, PROMPTS, POINTS, ROUTES, REFERENCE)
"""Files that the hash of a suite covers, in the order it takes them."""


class Lock(Noun):
    """What suite.lock holds."""

    format: str = "salon.lock/1"
    suite: str
    """Hash of all files together."""
    files: dict[str, str]


# -- reading -------------------------------------------------------------------------------------------------------


def is_suite(place: Path) -> bool:
    """Whether `place` is a folder with a suite.toml."""
    return (present(place) / CARD).is_file()


def open_suite(place: str | Path, *, private: Path | None = None) -> Suite:
    """The checked suite in the folder `place`, or the built-in suite of that name.

    `private` names the keeper's file with the texts of private prompts; a text that is not the one whose digest the
    suite holds is refused. Without it those prompts have no text.
    """
    folder = suite_folder(place)
    suite = read_suite(folder)
    check_suite(suite, where=str(folder))
    if private is None:
        return suite
    filled = fill_private(suite, private)
    check_suite(filled, where=f"{folder} with {private}")
    return filled


def suite_folder(place: str | Path) -> Path:
    """The folder that `place` names: a folder with a suite.toml, or that of a built-in suite."""
    folder = Path(place)
    if is_suite(folder):
        return present(folder)
    return builtin_folder(str(place))


def read_suite(folder: Path) -> Suite:
    """The suite as its files say, its hashes held against suite.lock, its parts not checked against each other."""
    suite = hashed(
        Suite(
            card=SuiteCard.parse(read_toml(folder / CARD), where=str(folder / CARD)),
            tags=_tables(folder / TAGS, "tag", Tag),
            prompts=tuple(_prompt(record, where) for where, record in read_lines(folder / PROMPTS)),
            points=tuple(Point.parse(record, where=where) for where, record in read_lines(folder / POINTS)),
            routes=_tables(folder / ROUTES, "route", Route),
            reference=_reference(folder / REFERENCE),
        )
    )
    _check_hidden(suite, folder)
    lock = read_lock(folder)
    if lock is None:
        return suite
    _check_locked(suite.hashes, lock, folder)
    return replace(suite, frozen=True)


def _check_hidden(suite: Suite, folder: Path) -> None:
    """No hash covers the texts of private prompts: one that stands in a public file is refused, not passed by."""
    shown = sorted(suite.private - suite.closed)
    shown += [point.id for point in suite.points if point != public_point(point, suite.private)]
    if shown:
        raise BadValue(
            "texts of private prompts and of their points stand only in the keeper's file",
            found=f"{len(shown):,} in the suite's own files: {', '.join(shown[:5])}",
            where=str(folder),
            remedy="take them out; they are known by now to whoever has this folder",
        )


def _tables(path: Path, name: str, noun: type[Any]) -> tuple[Any, ...]:
    records = read_toml(path).get(name, [])
    if not isinstance(records, list):
        raise BadFile(f"[[{name}]] tables are needed", found=type(records).__name__, where=str(path))
    return tuple(noun.parse(record, where=f"{path}, {name} {number}") for number, record in enumerate(records, 1))


def _prompt(record: dict[str, Any], where: str) -> SuitePrompt:
    told = {name: record[name] for name in Prompt.model_fields if name in record}
    rest = {name: value for name, value in record.items() if name not in told}
    return SuitePrompt.parse({"prompt": Prompt.parse(told, where=where), **rest}, where=where)


def _reference(path: Path) -> Reference | None:
    return Reference.parse(read_json(path), where=str(path)) if path.exists() else None


# -- hashes --------------------------------------------------------------------------------------------------------


def hashed(suite: Suite) -> Suite:
    """The suite with its hashes, as its files would have them."""
    hashes = suite_hashes(suite)
    return replace(suite, hashes=hashes, hash=hash_of_all(hashes))


def suite_hashes(suite: Suite) -> dict[str, str]:
    """SHA-256 of what every file of the suite says."""
    return {name: hashlib.sha256(_canonical(records)).hexdigest() for name, records in _records(suite).items()}


def hash_of_all(hashes: Mapping[str, str]) -> str:
    """One hash over the hashes of all files."""
    lines = [f"{hashes[name]}  {name}\n" for name in FILES if name in hashes]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def prompts_hash(suite: Suite) -> str:
    """The hash of its prompts alone: what an entry's pictures and a reference are for."""
    return suite.hashes.get(PROMPTS) or suite_hashes(suite)[PROMPTS]


def _records(suite: Suite) -> dict[str, list[dict[str, Any]]]:
    """What every file says, without defaults: a field that is added later changes no hash."""
    card = _bare(suite.card) | {"metrics": suite.card.metrics}  # its default moves with Salon, so it is always told
    found = {
        CARD: [card],
        TAGS: [_bare(tag) for tag in suite.tags],
        PROMPTS: [public_record(one) for one in suite.prompts],
        POINTS: [_bare(public_point(point, suite.private)) for point in suite.points],
        ROUTES: [_bare(route) for route in suite.routes],
    }
    if suite.reference is not None:
        found[REFERENCE] = [_bare(suite.reference)]
    return found


def _bare(noun: Noun) -> dict[str, Any]:
    return noun.model_dump(mode="json", exclude_defaults=True)


def _canonical(records: Iterable[Mapping[str, Any]]) -> bytes:
    lines = [json.dumps(one, sort_keys=True, ensure_ascii=False, separators=(",", ":")) for one in records]
    return "".join(f"{line}\n" for line in lines).encode()


# -- freezing ------------------------------------------------------------------------------------------------------


def read_lock(folder: Path) -> Lock | None:
    """What suite.lock says; None before freezing."""
    path = folder / LOCK
    return Lock.parse(read_json(path), where=str(path)) if path.exists() else None


def lock(folder: Path, reference: Reference | None = None) -> Suite:
    """Freeze the suite in `folder` as it stands, or with this reference; one that is frozen already stays as it is."""
    with in_turn(folder / CARD):  # of two at once the second would lock what the first one's reference replaced
        suite = read_suite(folder)
        if reference is not None and reference != suite.reference:
            suite = _with_reference(suite, reference, folder)
        check_suite(suite, where=str(folder))
        _write(folder / LOCK, lock_text(suite))
    return replace(suite, frozen=True)


def _with_reference(suite: Suite, reference: Reference, folder: Path) -> Suite:
    if suite.frozen:
        raise BadFile(
            "a suite that is not frozen is needed for a new reference",
            found=f"one that is frozen as {suite.hash[:16]}",
            where=str(folder),
            remedy="salon bench new FOLDER --from this one, then freeze that",
        )
    made = hashed(replace(suite, reference=reference))
    check_suite(made, where=str(folder))
    _write(folder / REFERENCE, suite_texts(made)[REFERENCE])
    return made


def lock_text(suite: Suite) -> str:
    """The contents of suite.lock."""
    hashes = suite_hashes(suite)
    return json.dumps(Lock(suite=hash_of_all(hashes), files=hashes).record(), indent=2) + "\n"


def _check_locked(hashes: Mapping[str, str], lock: Lock, folder: Path) -> None:
    changed = [name for name in FILES if hashes.get(name) != lock.files.get(name)]
    if not changed and hash_of_all(hashes) == lock.suite:
        return
    name = changed[0] if changed else LOCK
    expected = lock.files.get(name, "no such file") if changed else hash_of_all(lock.files)
    found = hashes.get(name, "no such file") if changed else lock.suite
    more = f"; {len(changed) - 1} more files changed" if len(changed) > 1 else ""
    raise BadFile(
        f"a frozen suite stays as it was: {name} with the hash {expected[:16]} is needed",
        found=f"{found[:16]}{more}",
        where=str(folder / name),
        remedy="put the file back; or copy the suite, raise its version, remove its suite.lock and freeze it anew",
    )


# -- writing -------------------------------------------------------------------------------------------------------


def save_suite(suite: Suite, folder: Path) -> Suite:
    """Write the suite as a folder, whole or not at all; a frozen one with its lock. Texts of private prompts stay out.

    A folder that is no suite, or is a frozen suite with another hash, is never replaced. Other files stay.
    """
    made = hashed(suite)
    with whole_folder(folder.resolve()) as new:
        _check_may_replace(made, folder)
        if folder.is_dir():
            ours = {*FILES, LOCK}
            shutil.copytree(folder, new, dirs_exist_ok=True, ignore=lambda place, names: ours & set(names))
        for name, text in suite_texts(made).items():
            _write(new / name, text)
    return made


def suite_texts(suite: Suite) -> dict[str, str]:
    """The files of a suite by name."""
    texts = {
        CARD: _card_toml(suite.card),
        TAGS: _tables_toml("tag", suite.tags),
        PROMPTS: _jsonl(public_record(one) for one in suite.prompts),
        POINTS: _jsonl(public_point(point, suite.private).record() for point in suite.points),
        ROUTES: _tables_toml("route", suite.routes),
    }
    if suite.reference is not None:
        texts[REFERENCE] = json.dumps(suite.reference.record(), ensure_ascii=False, indent=1) + "\n"
    if suite.frozen:
        texts[LOCK] = lock_text(suite)
    return texts


def _card_toml(card: SuiteCard) -> str:
    record = card.record()
    del record["preferences"]
    inner = {name: record.pop(name) for name in ("weights", "metrics")}
    return "\n".join([tomli_w.dumps(record), _tables_toml("preferences", card.preferences), tomli_w.dumps(inner)])


def _tables_toml(name: str, nouns: Iterable[Noun]) -> str:
    """One table each, whatever its length, so that a changed line stays a changed line."""
    return "\n".join(f"[[{name}]]\n{tomli_w.dumps(noun.record())}" for noun in nouns)


def _jsonl(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _write(path: Path, text: str) -> None:
    with whole_file(path) as file:
        file.write(text.encode())


def _check_may_replace(suite: Suite, folder: Path) -> None:
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    there = read_lock(folder) if is_suite(folder) else None
    if is_suite(folder) and (there is None or there.suite == suite.hash):
        return
    raise BadFile(
        "a new folder is needed to write a suite to",
        found="a folder with other files" if there is None else f"a frozen suite, {there.suite[:16]}",
        where=str(folder),
        remedy="choose another place; nothing was changed",
    )
