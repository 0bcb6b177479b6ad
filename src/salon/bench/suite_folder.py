"""A suite as a folder: read, write, hash and freeze; private prompts; built-in suites; small text files.

Hashes are of what the files say, not of their bytes: line ends, the order of keys and spelled-out defaults change
nothing, everything else does. A frozen suite has a suite.lock; a file that no longer says what was locked is refused
with the expected hash and the hash that was found.

Nobody can train on private prompts: a suite shows their digests, and its keeper has their texts and points.
digest = SHA-256 of the salt (32 hex digits), the text a generator is given, and for each point in order of ids a line
break and the point as JSON. Whoever later sees the keeper's line can check that nothing was changed. Without the salt,
guessed texts cannot be tried against the digest.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import secrets
import shutil
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import Field

from salon.bench.suite import Reference, Suite, SuiteCard, SuitePrompt, Tag, check_suite
from salon.errors import BadFile, BadValue, DuplicateJudgment, UnknownReference
from salon.store import present_folder, wait_turn, whole_file, whole_folder
from salon.study import PARTS, Noun, Point, Prompt, Route

CARD, TAGS, PROMPTS, POINTS, ROUTES = "suite.toml", "tags.toml", "prompts.jsonl", "points.jsonl", "routes.toml"
REFERENCE, LOCK = "reference.json", "suite.lock"
FILES = (CARD, TAGS, PROMPTS, POINTS, ROUTES, REFERENCE)
"""Files that the hash of a suite covers, in the order it takes them."""


class SuiteLock(Noun):
    """What suite.lock holds."""

    format: str = "salon.lock/1"
    suite: str
    """Hash of all files together."""
    files: dict[str, str]


# -- reading -------------------------------------------------------------------------------------------------------


def is_suite(place: Path) -> bool:
    """Whether `place` is a folder with a suite.toml."""
    return (present_folder(place) / CARD).is_file()


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
        return present_folder(folder)
    return builtin_folder(str(place))


def read_suite(folder: Path) -> Suite:
    """The suite as its files say, its hashes held against suite.lock, its parts not checked against each other."""
    card = SuiteCard.parse(read_toml(folder / CARD), where=str(folder / CARD))
    tags = _tables(folder / TAGS, "tag", Tag)
    prompts = []
    for where, record in read_lines(folder / PROMPTS):
        fields = {name: record[name] for name in Prompt.model_fields if name in record}
        rest = {name: value for name, value in record.items() if name not in fields}
        prompts.append(SuitePrompt.parse({"prompt": Prompt.parse(fields, where=where), **rest}, where=where))
    reference = folder / REFERENCE
    suite = with_hashes(
        Suite(
            card=card,
            tags=tags,
            prompts=tuple(prompts),
            points=tuple(Point.parse(record, where=where) for where, record in read_lines(folder / POINTS)),
            routes=_tables(folder / ROUTES, "route", Route),
            reference=Reference.parse(read_json(reference), where=str(reference)) if reference.exists() else None,
        )
    )
    exposed = sorted(suite.private - suite.closed)
    exposed += [point.id for point in suite.points if point != public_point(point, suite.private)]
    if exposed:
        raise BadValue(
            "texts of private prompts and of their points stand only in the keeper's file",
            found=f"{len(exposed):,} in the suite's own files: {', '.join(exposed[:5])}",
            where=str(folder),
            remedy="take them out; they are known by now to whoever has this folder",
        )
    lock = read_lock(folder)
    if lock is None:
        return suite
    hashes = suite.hashes
    changed = [name for name in FILES if hashes.get(name) != lock.files.get(name)]
    if changed or hash_of_all(hashes) != lock.suite:
        name = changed[0] if changed else LOCK
        expected = lock.files.get(name, "no such file") if changed else hash_of_all(lock.files)
        actual = hashes.get(name, "no such file") if changed else lock.suite
        more = f"; {len(changed) - 1} more files changed" if len(changed) > 1 else ""
        raise BadFile(
            f"a frozen suite stays as it was: {name} with the hash {expected[:16]} is needed",
            found=f"{actual[:16]}{more}",
            where=str(folder / name),
            remedy="put the file back; or copy the suite, raise its version, remove its suite.lock and freeze it anew",
        )
    return replace(suite, frozen=True)


def _tables(path: Path, name: str, noun: type[Any]) -> tuple[Any, ...]:
    records = read_toml(path).get(name, [])
    if not isinstance(records, list):
        raise BadFile(f"[[{name}]] tables are needed", found=type(records).__name__, where=str(path))
    return tuple(noun.parse(record, where=f"{path}, {name} {number}") for number, record in enumerate(records, 1))


# -- hashes --------------------------------------------------------------------------------------------------------


def with_hashes(suite: Suite) -> Suite:
    """The suite with its hashes, as its files would have them."""
    hashes = suite_hashes(suite)
    return replace(suite, hashes=hashes, hash=hash_of_all(hashes))


def suite_hashes(suite: Suite) -> dict[str, str]:
    """SHA-256 of what every file of the suite says."""
    hashes = {}
    for name, records in _records(suite).items():
        lines = [json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")) for record in records]
        hashes[name] = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
    return hashes


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
    records = {
        CARD: [card],
        TAGS: [_bare(tag) for tag in suite.tags],
        PROMPTS: [public_record(prompt) for prompt in suite.prompts],
        POINTS: [_bare(public_point(point, suite.private)) for point in suite.points],
        ROUTES: [_bare(route) for route in suite.routes],
    }
    if suite.reference is not None:
        records[REFERENCE] = [_bare(suite.reference)]
    return records


def _bare(noun: Noun) -> dict[str, Any]:
    return noun.model_dump(mode="json", exclude_defaults=True)


# -- freezing ------------------------------------------------------------------------------------------------------


def read_lock(folder: Path) -> SuiteLock | None:
    """What suite.lock says; None before freezing."""
    path = folder / LOCK
    return SuiteLock.parse(read_json(path), where=str(path)) if path.exists() else None


def lock_suite(folder: Path, reference: Reference | None = None) -> Suite:
    """Freeze the suite in `folder` as it stands, or with this reference; a frozen suite stays as it is."""
    with wait_turn(folder / CARD):  # of two at once the second would lock what the first one's reference replaced
        suite = read_suite(folder)
        if reference is not None and reference != suite.reference:
            if suite.frozen:
                raise BadFile(
                    "a suite that is not frozen is needed for a new reference",
                    found=f"one that is frozen as {suite.hash[:16]}",
                    where=str(folder),
                    remedy="salon bench new FOLDER --from this one, then freeze that",
                )
            updated = with_hashes(replace(suite, reference=reference))
            check_suite(updated, where=str(folder))
            _write(folder / REFERENCE, suite_texts(updated)[REFERENCE])
            suite = updated
        check_suite(suite, where=str(folder))
        _write(folder / LOCK, lock_text(suite))
    return replace(suite, frozen=True)


def lock_text(suite: Suite) -> str:
    """The contents of suite.lock."""
    hashes = suite_hashes(suite)
    return json.dumps(SuiteLock(suite=hash_of_all(hashes), files=hashes).record(), indent=2) + "\n"


# -- writing -------------------------------------------------------------------------------------------------------


def save_suite(suite: Suite, folder: Path) -> Suite:
    """Write the suite as a folder, whole or not at all; a frozen one with its lock. Texts of private prompts stay out.

    A folder that is no suite, or is a frozen suite with another hash, is never replaced. Other files stay.
    """
    saved = with_hashes(suite)
    with whole_folder(folder.resolve()) as new:
        _check_may_replace(saved, folder)
        if folder.is_dir():
            ours = {*FILES, LOCK}
            shutil.copytree(folder, new, dirs_exist_ok=True, ignore=lambda place, names: ours & set(names))
        for name, text in suite_texts(saved).items():
            _write(new / name, text)
    return saved


def suite_texts(suite: Suite) -> dict[str, str]:
    """The files of a suite by name."""
    record = suite.card.record()
    del record["preferences"]
    inner = {name: record.pop(name) for name in ("weights", "metrics")}
    card_toml = "\n".join(
        [tomli_w.dumps(record), _tables_toml("preferences", suite.card.preferences), tomli_w.dumps(inner)]
    )
    texts = {
        CARD: card_toml,
        TAGS: _tables_toml("tag", suite.tags),
        PROMPTS: _jsonl(public_record(prompt) for prompt in suite.prompts),
        POINTS: _jsonl(public_point(point, suite.private).record() for point in suite.points),
        ROUTES: _tables_toml("route", suite.routes),
    }
    if suite.reference is not None:
        texts[REFERENCE] = json.dumps(suite.reference.record(), ensure_ascii=False, indent=1) + "\n"
    if suite.frozen:
        texts[LOCK] = lock_text(suite)
    return texts


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


# -- private prompts ---------------------------------------------------------------------------------------------------

_TEXTS = ("text", *PARTS)


class PrivatePoint(Noun):
    """What a point of a private prompt asks."""

    text: str | None = None
    rule: dict[str, Any] | None = None


class PrivateText(Noun):
    """One line of private.jsonl."""

    id: str
    salt: str = Field(pattern=r"^[0-9a-f]{32}$")
    text: str | None = None
    intent: str | None = None
    description: str | None = None
    aesthetics: str | None = None
    points: dict[str, PrivatePoint] = Field(default_factory=dict)
    """What its points ask, by id."""

    def prompt(self, public: Prompt) -> Prompt:
        """The whole prompt."""
        return public.model_copy(update={name: getattr(self, name) for name in _TEXTS})


def text_digest(private_text: PrivateText) -> str:
    """What a suite shows of a private prompt."""
    lines = [private_text.prompt(Prompt(id=private_text.id)).view()]
    for id, point in sorted(private_text.points.items()):
        lines.append(json.dumps({"id": id, **point.record()}, sort_keys=True, ensure_ascii=False))
    return hashlib.sha256((private_text.salt + "\n".join(lines)).encode()).hexdigest()


def public_record(prompt: SuitePrompt) -> dict[str, Any]:
    """A prompt as prompts.jsonl has it: one flat object, without the text of a private prompt."""
    hidden = set(_TEXTS) if prompt.private else set()
    record = prompt.prompt.model_dump(mode="json", exclude_none=True, exclude=hidden)
    return record | prompt.model_dump(mode="json", exclude_defaults=True, exclude={"prompt"})


def public_point(point: Point, private: frozenset[str]) -> Point:
    """A point as points.jsonl has it: of a private prompt only that there is one, and which judges answer it."""
    return point.model_copy(update={"text": None, "rule": None}) if point.prompt in private else point


def hide(
    suite: Suite, prompts: Iterable[str], before: Mapping[str, PrivateText] | None = None
) -> tuple[Suite, list[PrivateText]]:
    """The suite with these prompts private, and what its keeper must keep; what was kept `before` keeps its salt."""
    prompts_by_id = {prompt.id: prompt for prompt in suite.prompts}
    chosen = list(dict.fromkeys(prompts))
    wrong = [id for id in chosen if id not in prompts_by_id or prompts_by_id[id].private]
    if wrong:
        public = [id for id, prompt in prompts_by_id.items() if not prompt.private]
        raise UnknownReference(
            "prompts of the suite that are not private yet are needed",
            found=", ".join(wrong),
            where=f"suite {suite.card.name!r}",
            remedy=f"there are {', '.join(public[:10])}" if public else "all are private",
        )
    private_texts = {id: _private_text(prompts_by_id[id].prompt, suite.points, (before or {}).get(id)) for id in chosen}
    hidden = tuple(
        prompt.model_copy(update={"private": True, "digest": text_digest(private_texts[prompt.id])})
        if prompt.id in private_texts
        else prompt
        for prompt in suite.prompts
    )
    return replace(suite, prompts=hidden), list(private_texts.values())


def _private_text(prompt: Prompt, points: Iterable[Point], before: PrivateText | None) -> PrivateText:
    own = {point.id: PrivatePoint(text=point.text, rule=point.rule) for point in points if point.prompt == prompt.id}
    texts = {name: getattr(prompt, name) for name in _TEXTS}
    salt = secrets.token_hex(16) if before is None else before.salt
    private_text = PrivateText(id=prompt.id, salt=salt, points=own, **texts)
    if before not in (None, private_text):
        raise BadValue("a keeper's file of this suite's texts is needed", found=f"another text of {prompt.id!r}",
                       remedy="name another file; one text of each prompt can be kept in one")  # fmt: skip
    return private_text


def read_private_texts(path: Path) -> dict[str, PrivateText]:
    """A keeper's file, by prompt."""
    texts = (PrivateText.parse(record, where=where) for where, record in read_lines(path))
    by_id: dict[str, PrivateText] = {}
    for text in texts:
        if text.id in by_id:
            raise DuplicateJudgment("each private prompt may stand once", found=repr(text.id), where=str(path))
        by_id[text.id] = text
    return by_id


def fill_private(suite: Suite, path: Path) -> Suite:
    """The suite with the texts in `path`; each must be the one whose digest the suite holds."""
    texts = read_private_texts(path)
    unknown = sorted(texts.keys() - suite.private)
    if unknown:
        raise UnknownReference(
            "texts of this suite's private prompts are needed",
            found=f"{len(unknown):,} of other prompts: {', '.join(unknown[:5])}",
            where=str(path),
        )
    points_by_id = {id: point for part in texts.values() for id, point in part.points.items()}
    return replace(
        suite,
        prompts=tuple(_fill_prompt(part, texts, path) for part in suite.prompts),
        points=tuple(
            (point.model_copy(update=dict(points_by_id[point.id])) if point.id in points_by_id else point)
            if point.prompt in texts
            else point
            for point in suite.points
        ),
    )


def _fill_prompt(prompt: SuitePrompt, texts: Mapping[str, PrivateText], path: Path) -> SuitePrompt:
    if not prompt.private:
        return prompt
    if prompt.id not in texts:
        raise BadFile(f"the text of private prompt {prompt.id!r} is needed", found="none", where=str(path))
    private_text = texts[prompt.id]
    digest = text_digest(private_text)
    if digest != prompt.digest:
        raise BadValue(
            f"the text of private prompt {prompt.id!r} with the digest {(prompt.digest or 'none')[:16]} is needed",
            found=f"{digest[:16]}: its text, its points or its salt are others",
            where=str(path),
            remedy="find the keeper's file of this version of the suite",
        )
    return prompt.model_copy(update={"prompt": private_text.prompt(prompt.prompt)})


# -- built-in suites ---------------------------------------------------------------------------------------------------


def builtin_suites() -> dict[str, str]:
    """Name of every built-in suite, and what it is about."""
    cards = {path.name: tomllib.loads((path / CARD).read_text(encoding="utf-8")) for path in _folders()}
    return {name: str(card.get("title", "")) for name, card in cards.items()}


def builtin_folder(name: str) -> Path:
    """The folder of the built-in suite `name`; BadFile when there is none."""
    for folder in _folders():
        if folder.name == name:
            return folder
    names = [folder.name for folder in _folders()]
    near = difflib.get_close_matches(name, names, n=1)
    raise BadFile(
        "a suite is needed: a folder with a suite.toml in it, or the name of a built-in one",
        found="a folder without a suite.toml" if Path(name).is_dir() else "nothing there",
        where=name,
        remedy=f"did you mean {near[0]!r}?" if near else f"built in: {', '.join(names) or 'none'}; salon bench list",
    )


def _folders() -> list[Path]:
    home = Path(str(files("salon.bench"))) / "suites"
    return sorted(path.parent for path in home.glob("*/suite.toml"))


# -- small text files: TOML, JSON and JSONL, with the place of every fault ---------------------------------------------

LARGEST = 200_000_000
"""Bytes of the largest file that is read."""
LOST = "bring the file back from a copy; salon bench verify says what else is not as it was"


def read_text(path: Path) -> str:
    """A file as text, or BadFile."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadFile(f"at most {LARGEST:,} bytes", found=f"{path.stat().st_size:,}", where=str(path))
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile("text in UTF-8 is needed", found=f"byte {error.start:,}", where=str(path)) from None
    except OSError as error:
        raise BadFile("a file that can be read is needed", found=error.strerror, where=str(path)) from None


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file."""
    try:
        return tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadFile("a file in TOML is needed", found=error, where=str(path)) from None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds one object."""
    try:
        return parse_object(read_text(path), str(path))
    except BadFile as error:
        raise BadFile(error.needed, found=error.found, where=error.where, remedy=LOST) from None


def read_lines(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file, each with its place."""
    lines = read_text(path).split("\n")  # a JSON text may hold what splitlines takes for an end
    return [
        (f"{path}, line {number}", parse_object(line, f"{path}, line {number}"))
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]


def parse_object(text: str, where: str) -> dict[str, Any]:
    """A JSON text that is one object, no key twice."""
    try:
        record = json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise BadFile("a JSON object is needed", found=error, where=where) from None
    if not isinstance(record, dict):
        raise BadFile("a JSON object is needed", found=type(record).__name__, where=where)
    return record


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key stands twice")
    return record
