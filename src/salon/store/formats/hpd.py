"""The Human Preference Datasets v2 and v3, and ImageReward: JSON records of a prompt and its images.

HPDv2 train   {"prompt", "file_path": [2], "human_preference": [1, 0]}            one person's comparison
HPDv2 test    {"prompt", "image_path": [n], "rank": [n], "raw_annotations": [{"rank": [n], "user_hash"}]}
HPDv3         {"prompt", "path1" (preferred), "path2", "confidence"?, "choice_dist"?, "model1"?, "model2"?, "category"?}
ImageReward   {"id", "prompt", "generations": [n], "ranking": [n]}                one consensus ranking
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats.columnar import text_id
from salon.store.formats.head import Head
from salon.store.formats.ledger import Ledger, each_record
from salon.store.formats.picture_files import inside_folder, keep_pictures
from salon.store.formats.record import Record
from salon.store.formats.source import CROWD, Draft, Source
from salon.study import Design, builtin_criterion

CRITERION = builtin_criterion("hps/overall")
CONSENSUS = "consensus"
MAX_VOTES = 1000
GENERATORS = 9
"""Of the test set of HPDv2; whatever stands after them is a photograph."""


def _prompt(ledger: Ledger, record: Record, id: str | None = None) -> str:
    text = record.text("prompt")
    return ledger.prompt(id or text_id(text), record.where, text=text)


def _item(ledger: Ledger, path: str, record: Record, **facts: Any) -> str:
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
    ledger = Ledger()
    named: dict[str, tuple[str, Path]] = {}
    for path in source.paths:
        for record in each_record(source, path):
            if record.has("human_preference"):
                _train_record(source, ledger, record)
                items = record.texts("file_path", 2)
            else:
                _test_record(source, ledger, record)
                items = record.texts("image_path")
            named.update((item, (item, path.parent)) for item in items)
    if source.options.images is not None:
        keep_pictures(source, ledger, named)
    design = Design(kind="complete" if "comparisons" not in ledger.judgments else "unknown")
    return Draft((CRITERION,), ledger.tables(), "prompt", design)


def _train_record(source: Source, ledger: Ledger, record: Record) -> None:
    prompt = _prompt(ledger, record)
    items = [_item(ledger, path, record, prompt=prompt) for path in record.texts("file_path", 2)]
    outcome = _two_labels(record, "human_preference", record.numbers("human_preference", 2))
    source.say("which image stood on the left is not recorded")
    ledger.add("comparisons", **_by(source, ledger, record), a=items[0], b=items[1], outcome=outcome)


def _two_labels(record: Record, name: str, labels: list[float]) -> str:
    """[1, 0] a, [0, 1] b, equal halves a tie."""
    known = {(1.0, 0.0): "a", (0.0, 1.0): "b", (0.5, 0.5): "tie", (1.0, 1.0): "tie"}
    pair = (labels[0], labels[1])
    if pair not in known:
        raise BadValue(f"{name!r} must be [1, 0], [0, 1] or a tie", found=repr(labels), where=record.where)
    return known[pair]


def _by(source: Source, ledger: Ledger, record: Record) -> dict[str, str]:
    """Criterion and rater: the person where the file names one, else a crowd."""
    if record.has("user_hash"):
        return {"criterion": CRITERION.id, "rater": ledger.rater(record.text("user_hash"), where=record.where)}
    source.say_crowd()
    return {"criterion": CRITERION.id, "rater": ledger.rater(CROWD, "crowd")}


def _made_by(place: int) -> dict[str, str]:
    """The test set shows nine generators in one order, and on some prompts a photograph after them."""
    return {"generator": f"place-{place}"} if place < GENERATORS else {"source": "photograph"}


def _test_record(source: Source, ledger: Ledger, record: Record) -> None:
    prompt = _prompt(ledger, record)
    paths = record.texts("image_path")
    items = [_item(ledger, path, record, prompt=prompt, **_made_by(place)) for place, path in enumerate(paths)]
    source.say("generators are named by their place in the list (place-0, ...)")
    if len(paths) > GENERATORS:
        source.say("a tenth image is the COCO photograph: it has no generator, and salon anchor leaves it out")
    if not record.has("raw_annotations"):
        source.say(f"records without raw_annotations keep their one rank list, as the crowd {CONSENSUS!r}")
        rater = ledger.rater(CONSENSUS, "crowd")
        places = record.numbers("rank", len(items))
        ledger.rank(items, places, record.where, criterion=CRITERION.id, rater=rater)
        return
    source.say("the rankings of single people (raw_annotations) are read; the aggregate rank is left out")
    for annotation in record.records("raw_annotations"):
        by = _by(source, ledger, annotation)
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


def hpdv3_votes(record: Record) -> Hpdv3Votes:
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
    ledger = Ledger()
    rater = ledger.rater(CROWD, "crowd")
    source.say_crowd()
    source.say("the preferred image stands first in the file: which one was shown on the left is unknown")
    category = source.options.columns.category or "category"
    named: dict[str, tuple[str, Path]] = {}
    seen: Counter[str] = Counter()
    pairs: Counter[frozenset[str]] = Counter()
    for path in source.paths:
        for record in each_record(source, path):
            votes = hpdv3_votes(record)
            seen["records"] += 1
            seen["contradictions"] += votes.contradicts
            if votes.contradicts and source.options.policies.contradictions != "sort":
                _contradiction(source, record)
                continue
            seen["votes" if votes.counted else "shares" if record.has("choice_dist") else "single"] += 1
            seen["even"] += votes.preferred == votes.other
            facts = {"prompt": _prompt(ledger, record), "category": _category(source, record, category)}
            sides = [record.text(f"path{side}") for side in (1, 2)]
            if sides[0] == sides[1]:
                raise BadValue("path1 and path2 must be two images", found=repr(sides[0]), where=record.where)
            for side, item in enumerate(sides, 1):
                _item(ledger, item, record, **facts, generator=record.maybe_text(f"model{side}"))
                named.setdefault(item, (item, path.parent))
            pairs[frozenset(sides)] += 1
            confidence = record.maybe_number("confidence")
            pair = {"criterion": CRITERION.id, "rater": rater, "a": sides[0], "b": sides[1], "confidence": confidence}
            for outcome, count in (("a", votes.preferred), ("b", votes.other)):
                if count:
                    ledger.add("comparisons", count, **pair, outcome=outcome)
    _say_hpdv3(source, seen, sum(count - 1 for count in pairs.values()))
    if not pairs:
        raise BadFile("pairs are needed", found="none left", where=str(source.paths[0]))
    if source.options.images is not None:
        keep_pictures(source, ledger, named)
    return Draft((CRITERION,), ledger.tables(), "prompt", Design())


def _category(source: Source, record: Record, field: str) -> str | None:
    if source.options.columns.category is not None and field not in record.fields:
        raise BadColumns.missing(field, record.fields, where=record.where, option="--category")
    return record.maybe_text(field)


def _contradiction(source: Source, record: Record) -> None:
    if source.options.policies.contradictions == "drop":
        source.leave_out("pairs whose choice_dist gives path2 more votes than path1, the preferred image")
        return
    raise BadValue(
        "'choice_dist' must give path1, the preferred image, at least as many votes as path2",
        found=repr(record.fields["choice_dist"]),
        where=record.where,
        remedy="--contradictions sort takes path1 as preferred, as the released code does; drop leaves such pairs out",
    )


def _say_hpdv3(source: Source, seen: Counter[str], repeats: int) -> None:
    if seen["votes"]:
        source.say("choice_dist counts votes: each becomes a comparison by the crowd")
    if seen["shares"]:
        source.say(
            f"choice_dist of {seen['shares']:,} pairs holds shares, not counts: each is kept as one vote for path1"
        )
    if seen["contradictions"] and source.options.policies.contradictions == "sort":
        source.say(
            f"choice_dist of {seen['contradictions']:,} of {seen['records']:,} pairs gives path2 more votes: it was "
            "sorted, as the released code does, so that path1 is the preferred image (--contradictions refuse, drop)"
        )
    if seen["even"]:
        source.say(f"{seen['even']:,} pairs have as many votes for either image: here a tie, path1 in released code")
    if repeats:
        source.say(
            f"{repeats:,} of {seen['records']:,} records repeat a pair: their votes are added up; "
            "salon bench raters FILE --scorer NAME counts every record, as the released evaluation does"
        )


# -- ImageReward -------------------------------------------------------------------------------------------------


def is_imagereward(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and head.has("prompt", "generations", "ranking")


def read_imagereward(source: Source) -> Draft:
    """One ranking a prompt, agreed on by several people; equal ranks are ties."""
    ledger = Ledger()
    rater = ledger.rater(CONSENSUS, "crowd")
    source.say(f"the file has one agreed ranking a prompt: all are by the crowd {CONSENSUS!r}")
    named: dict[str, tuple[str, Path]] = {}
    for path in source.paths:
        for record in each_record(source, path):
            id = record.text("id") if record.has("id") else None
            prompt = _prompt(ledger, record, id)
            paths = record.texts("generations")
            items = [_item(ledger, image, record, prompt=prompt) for image in paths]
            named.update((item, (item, path.parent)) for item in items)
            places = record.numbers("ranking", len(items))
            ledger.rank(items, places, record.where, criterion=CRITERION.id, rater=rater)
    if source.options.images is not None:
        keep_pictures(source, ledger, named)
    ranks = ledger.judgments["rankings"]["ranks"]
    tied = sum(len(set(one)) < len(one) for one in ranks)
    source.say(f"{tied:,} of {len(ranks):,} rankings have ties: equal ranks are kept")
    return Draft((CRITERION,), ledger.tables(), "prompt", Design())
