"""The Human Preference Datasets v2 and v3, and ImageReward: JSON records of a prompt and its images.

    HPDv2 train   {"prompt", "file_path": [2], "human_preference": [1, 0]}            one person's comparison
    HPDv2 test    {"prompt", "image_path": [n], "rank": [n], "raw_annotations": [{"rank": [n], "user_hash"}]}
    HPDv3         {"prompt", "path1" (preferred), "path2", "confidence"?, "choice_dist"?, "model1"?, "model2"?,
                  "category"?}
    ImageReward   {"id", "prompt", "generations": [n], "ranking": [n]}                one consensus ranking

Pictures are named by path:

    relative path       below --image-root, or below the folder of the file that names it
    absolute path       only below a folder that --remap OLD=NEW names: OLD at its beginning becomes NEW

Every picture is decoded once, so that a file that is missing, empty, broken or no picture is found now. Its bytes are
kept as they are; what a reader of it will have to do (turn it upright, convert its colors) is counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from salon.errors import BadColumns, BadFile, BadValue, shorten
from salon.store.formats.column_labels import text_id
from salon.store.formats.files import Head
from salon.store.formats.records import JsonRecord, TableBuilder, list_records
from salon.store.formats.source import CROWD, Draft, Source
from salon.store.formats.vote_files import image_name
from salon.store.pictures import Picture, is_inside, read_picture
from salon.study import Design, builtin_criterion

FOLDER = "images"
_AT_ONCE = 64
_THREADS = 8


def inside_folder(path: str) -> bool:
    """Whether a path of a file may be looked up below a folder: not absolute, and not out of it again."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    return bool(parts) and parts[0] != "/" and ":" not in parts[0] and ".." not in parts


def parse_remap(text: str) -> tuple[PurePosixPath, Path]:
    """OLD=NEW: where absolute paths begin in a file, and which folder here that is."""
    old, mark, new = text.partition("=")
    if not mark or not old.strip() or not new.strip():
        raise BadValue("--remap takes OLD=NEW", found=repr(text), remedy="e.g. --remap /data/hpdv3=images")
    if not Path(new).is_dir():
        raise BadFile("--remap needs a folder that is there", found=repr(new), remedy="OLD=NEW, NEW a folder here")
    return PurePosixPath(_slashes(old)), Path(new)


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


@dataclass
class PictureFiles:
    """Where the pictures of one import are."""

    root: Path | None
    remap: tuple[tuple[PurePosixPath, Path], ...] = ()

    @classmethod
    def of(cls, source: Source) -> PictureFiles:
        """As the options of an import say."""
        return cls.of_flags(source.options.image_root, source.options.remap)

    @classmethod
    def of_flags(cls, image_root: Path | None, remap: Sequence[str]) -> PictureFiles:
        """As --image-root and --remap say; BadFile where a folder of theirs is not there."""
        if image_root is not None and not image_root.is_dir():
            what = "a file" if image_root.exists() else "nothing there"
            raise BadFile("--image-root must be a folder", found=what, where=str(image_root))
        return cls(image_root, tuple(parse_remap(text) for text in remap))

    def locate(self, path: str, beside: Path) -> tuple[Path, str] | str:
        """The file of a path, and its name below the folder it was found in; or why it has none."""
        posix = PurePosixPath(_slashes(path))
        fitting = [(old, new) for old, new in self.remap if posix.is_relative_to(old)]
        if fitting:
            old, folder = max(fitting, key=lambda mapping: len(mapping[0].parts))
            inner = posix.relative_to(old).as_posix()
        else:
            inner, folder = posix.as_posix(), self.root or beside
        if not inside_folder(inner):
            return "named by a place outside the folder; --remap OLD=NEW says which folder OLD is here"
        place = folder / inner
        if not os.path.lexists(place):
            return "no such file"
        return (place, inner) if is_inside(place, folder) else "a link out of the folder"


def keep_pictures(source: Source, ledger: TableBuilder, paths: Mapping[str, tuple[str, Path]]) -> None:
    """Write the pictures of items (by id: path, and folder of the file that names it) where the import keeps them.

    A picture that is missing or cannot be read is an error; with --missing drop its items and their judgments are left
    out and counted.
    """
    target, files = source.options.images, PictureFiles.of(source)
    places: dict[str, Path] = {}
    problems: dict[str, str] = {}
    notes: Counter[str] = Counter()
    (target / FOLDER).mkdir(exist_ok=True)
    for id, outcome in _read_pictures(files, paths):
        if isinstance(outcome, str):
            problems[id] = outcome
            continue
        place, inner, picture = outcome
        notes.update(picture.notes)
        name = inner.removeprefix(f"{FOLDER}/")
        if places.setdefault(name, place) != place:  # two folders, one name
            name = image_name(picture.data)
        copy = target / FOLDER / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(picture.data)
        ledger.named["items"][id]["image"] = f"{FOLDER}/{name}"
        source.paths_of[id] = place
    source.say(f"{len(paths) - len(problems):,} of {len(paths):,} pictures were found, read and kept")
    for note, count in notes.items():
        source.say(f"{count:,} pictures are kept as they are; scorers will see them with: {note}")
    if problems:
        _report_missing(source, ledger, paths, problems)


def _read_pictures(
    files: PictureFiles, paths: Mapping[str, tuple[str, Path]]
) -> Iterator[tuple[str, str | tuple[Path, str, Picture]]]:
    def read(entry: tuple[str, tuple[str, Path]]) -> tuple[str, str | tuple[Path, str, Picture]]:
        id, (path, beside) = entry
        located = files.locate(path, beside)
        if isinstance(located, str):
            return id, located
        try:
            return id, (*located, read_picture(located[0]))
        except BadFile as error:
            return id, str(error.found)

    entries = list(paths.items())
    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
        for start in range(0, len(entries), _AT_ONCE):  # decoded pictures are large: a few at a time
            yield from threads.map(read, entries[start : start + _AT_ONCE])


def _report_missing(
    source: Source, ledger: TableBuilder, paths: Mapping[str, tuple[str, Path]], problems: Mapping[str, str]
) -> None:
    reasons = Counter(problems.values())
    first = next(iter(problems))
    if source.options.policies.missing != "drop":
        listed = "; ".join(f"{count:,} {shorten(reason, 80)}" for reason, count in reasons.most_common(3))
        raise BadFile(
            "every picture that the file names is needed",
            found=f"{len(problems):,} of {len(paths):,} cannot be used ({listed}), the first {paths[first][0]!r}",
            where=str(paths[first][1]),
            remedy="--image-root FOLDER says where relative paths begin, --remap OLD=NEW where absolute ones do; "
            "--missing drop leaves their pairs out and counts them",
        )
    for reason, count in reasons.items():
        source.leave_out(f"pictures: {shorten(reason, 80)}", count)
    for kind, count in ledger.drop_items(problems).items():
        source.leave_out(f"{kind} about a picture that cannot be used", count)


# -- records -----------------------------------------------------------------------------------------------------------

CRITERION = builtin_criterion("hps/overall")
CONSENSUS_RATER = "consensus"
MAX_VOTES = 1000
GENERATORS = 9
"""Of the test set of HPDv2; whatever stands after them is a photograph."""


def _prompt(ledger: TableBuilder, record: JsonRecord, id: str | None = None) -> str:
    text = record.text("prompt")
    return ledger.prompt(id or text_id(text), record.where, text=text)


def _item(ledger: TableBuilder, path: str, record: JsonRecord, **facts: Any) -> str:
    """An item named by its path, which is where its picture is once the images stand in the study's folder."""
    return ledger.item(path, record.where, image=path if inside_folder(path) else None, **facts)


# -- HPDv2 -------------------------------------------------------------------------------------------------------


def is_hpdv2(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and (
        head.has("prompt", "file_path", "human_preference") or head.has("prompt", "image_path", "rank")
    )


def read_hpdv2(source: Source) -> Draft:
    """Train and test files, alone or together."""
    ledger = TableBuilder()
    paths: dict[str, tuple[str, Path]] = {}
    for path in source.paths:
        for record in list_records(source, path):
            if record.has("human_preference"):
                _train_record(source, ledger, record)
                items = record.texts("file_path", 2)
            else:
                _test_record(source, ledger, record)
                items = record.texts("image_path")
            paths.update((item, (item, path.parent)) for item in items)
    if source.options.images is not None:
        keep_pictures(source, ledger, paths)
    design = Design(kind="complete" if "comparisons" not in ledger.judgments else "unknown")
    return Draft((CRITERION,), ledger.tables(), "prompt", design)


def _train_record(source: Source, ledger: TableBuilder, record: JsonRecord) -> None:
    prompt = _prompt(ledger, record)
    items = [_item(ledger, path, record, prompt=prompt) for path in record.texts("file_path", 2)]
    labels = record.numbers("human_preference", 2)
    outcomes = {(1.0, 0.0): "a", (0.0, 1.0): "b", (0.5, 0.5): "tie", (1.0, 1.0): "tie"}
    pair = (labels[0], labels[1])
    if pair not in outcomes:
        raise BadValue("'human_preference' must be [1, 0], [0, 1] or a tie", found=repr(labels), where=record.where)
    outcome = outcomes[pair]
    source.say("which image stood on the left is not recorded")
    ledger.add("comparisons", **_criterion_and_rater(source, ledger, record), a=items[0], b=items[1], outcome=outcome)


def _criterion_and_rater(source: Source, ledger: TableBuilder, record: JsonRecord) -> dict[str, str]:
    """Criterion and rater: the person where the file names one, else a crowd."""
    if record.has("user_hash"):
        return {"criterion": CRITERION.id, "rater": ledger.rater(record.text("user_hash"), where=record.where)}
    source.say_crowd()
    return {"criterion": CRITERION.id, "rater": ledger.rater(CROWD, "crowd")}


def _test_record(source: Source, ledger: TableBuilder, record: JsonRecord) -> None:
    prompt = _prompt(ledger, record)
    paths = record.texts("image_path")
    items = [
        _item(
            ledger,
            path,
            record,
            prompt=prompt,
            **({"generator": f"place-{place}"} if place < GENERATORS else {"source": "photograph"}),
        )
        for place, path in enumerate(paths)
    ]
    source.say("generators are named by their place in the list (place-0, ...)")
    if len(paths) > GENERATORS:
        source.say("a tenth image is the COCO photograph: it has no generator, and salon anchor leaves it out")
    if not record.has("raw_annotations"):
        source.say(f"records without raw_annotations keep their one rank list, as the crowd {CONSENSUS_RATER!r}")
        rater = ledger.rater(CONSENSUS_RATER, "crowd")
        places = record.numbers("rank", len(items))
        ledger.rank(items, places, record.where, criterion=CRITERION.id, rater=rater)
        return
    source.say("the rankings of single people (raw_annotations) are read; the aggregate rank is left out")
    for annotation in record.records("raw_annotations"):
        by = _criterion_and_rater(source, ledger, annotation)
        ledger.rank(items, annotation.numbers("rank", len(items)), annotation.where, **by)


# -- HPDv3 -------------------------------------------------------------------------------------------------------


class Hpdv3Votes(NamedTuple):
    """What `choice_dist` says of one pair, read as the released code does: sorted, path1 being the preferred image."""

    preferred: int
    other: int
    counted: bool
    """Whether these are counts; without them the pair is one vote for path1."""
    contradicts: bool
    """Whether the file gives the second path more."""


def hpdv3_votes(record: JsonRecord) -> Hpdv3Votes:
    """The votes of a record; BadValue where `choice_dist` holds none, too many or less than none."""
    if not record.has("choice_dist"):
        return Hpdv3Votes(1, 0, counted=False, contradicts=False)
    first, second = record.numbers("choice_dist", 2)
    if min(first, second) < 0 or not 0 < first + second <= MAX_VOTES:
        raise BadValue(
            f"'choice_dist' must hold from 1 to {MAX_VOTES:,} votes, or shares of them",
            found=repr([first, second]),
            where=record.where,
        )
    contradicts = second > first
    if first != int(first) or second != int(second):
        return Hpdv3Votes(1, 0, counted=False, contradicts=contradicts)
    return Hpdv3Votes(int(max(first, second)), int(min(first, second)), counted=True, contradicts=contradicts)


def is_hpdv3(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and head.has("prompt", "path1", "path2")


def read_hpdv3(source: Source) -> Draft:
    """Pairs with the preferred image first: a layout, not a position, so the left side is unknown."""
    ledger = TableBuilder()
    rater = ledger.rater(CROWD, "crowd")
    source.say_crowd()
    source.say("the preferred image stands first in the file: which one was shown on the left is unknown")
    category = source.options.columns.category or "category"
    paths: dict[str, tuple[str, Path]] = {}
    counts: Counter[str] = Counter()
    pairs: Counter[frozenset[str]] = Counter()
    for path in source.paths:
        for record in list_records(source, path):
            votes = hpdv3_votes(record)
            counts["records"] += 1
            counts["contradictions"] += votes.contradicts
            if votes.contradicts and source.options.policies.contradictions != "sort":
                if source.options.policies.contradictions == "drop":
                    source.leave_out("pairs whose choice_dist gives path2 more votes than path1, the preferred image")
                else:
                    raise BadValue(
                        "'choice_dist' must give path1, the preferred image, at least as many votes as path2",
                        found=repr(record.fields["choice_dist"]),
                        where=record.where,
                        remedy="--contradictions sort takes path1 as preferred, as the released code does; "
                        "drop leaves such pairs out",
                    )
                continue
            counts["votes" if votes.counted else "shares" if record.has("choice_dist") else "single"] += 1
            counts["even"] += votes.preferred == votes.other
            if source.options.columns.category is not None and category not in record.fields:
                raise BadColumns.missing(category, record.fields, where=record.where, option="--category")
            facts = {"prompt": _prompt(ledger, record), "category": record.maybe_text(category)}
            sides = [record.text(f"path{side}") for side in (1, 2)]
            if sides[0] == sides[1]:
                raise BadValue("path1 and path2 must be two images", found=repr(sides[0]), where=record.where)
            for side, item in enumerate(sides, 1):
                _item(ledger, item, record, **facts, generator=record.maybe_text(f"model{side}"))
                paths.setdefault(item, (item, path.parent))
            pairs[frozenset(sides)] += 1
            confidence = record.maybe_number("confidence")
            pair = {"criterion": CRITERION.id, "rater": rater, "a": sides[0], "b": sides[1], "confidence": confidence}
            for outcome, count in (("a", votes.preferred), ("b", votes.other)):
                if count:
                    ledger.add("comparisons", count, **pair, outcome=outcome)
    _say_hpdv3(source, counts, sum(count - 1 for count in pairs.values()))
    if not pairs:
        raise BadFile("pairs are needed", found="none left", where=str(source.paths[0]))
    if source.options.images is not None:
        keep_pictures(source, ledger, paths)
    return Draft((CRITERION,), ledger.tables(), "prompt", Design())


def _say_hpdv3(source: Source, counts: Counter[str], repeats: int) -> None:
    if counts["votes"]:
        source.say("choice_dist counts votes: each becomes a comparison by the crowd")
    if counts["shares"]:
        source.say(
            f"choice_dist of {counts['shares']:,} pairs holds shares, not counts: each is kept as one vote for path1"
        )
    if counts["contradictions"] and source.options.policies.contradictions == "sort":
        source.say(
            f"choice_dist of {counts['contradictions']:,} of {counts['records']:,} pairs gives path2 more votes: "
            "it was sorted, as the released code does, so that path1 is the preferred image (--contradictions refuse, "
            "drop)"
        )
    if counts["even"]:
        source.say(f"{counts['even']:,} pairs have as many votes for either image: here a tie, path1 in released code")
    if repeats:
        source.say(
            f"{repeats:,} of {counts['records']:,} records repeat a pair: their votes are added up; "
            "salon bench raters FILE --scorer NAME counts every record, as the released evaluation does"
        )


# -- ImageReward -------------------------------------------------------------------------------------------------


def is_imagereward(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and head.has("prompt", "generations", "ranking")


def read_imagereward(source: Source) -> Draft:
    """One ranking a prompt, agreed on by several people; equal ranks are ties."""
    ledger = TableBuilder()
    rater = ledger.rater(CONSENSUS_RATER, "crowd")
    source.say(f"the file has one agreed ranking a prompt: all are by the crowd {CONSENSUS_RATER!r}")
    picture_paths: dict[str, tuple[str, Path]] = {}
    for path in source.paths:
        for record in list_records(source, path):
            id = record.text("id") if record.has("id") else None
            prompt = _prompt(ledger, record, id)
            paths = record.texts("generations")
            items = [_item(ledger, image, record, prompt=prompt) for image in paths]
            picture_paths.update((item, (item, path.parent)) for item in items)
            places = record.numbers("ranking", len(items))
            ledger.rank(items, places, record.where, criterion=CRITERION.id, rater=rater)
    if source.options.images is not None:
        keep_pictures(source, ledger, picture_paths)
    ranks = ledger.judgments["rankings"]["ranks"]
    tied = sum(len(set(ranking)) < len(ranking) for ranking in ranks)
    source.say(f"{tied:,} of {len(ranks):,} rankings have ties: equal ranks are kept")
    return Draft((CRITERION,), ledger.tables(), "prompt", Design())
