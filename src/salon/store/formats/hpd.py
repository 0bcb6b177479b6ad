"""The Human Preference Datasets v2 and v3, and ImageReward: JSON records of a prompt and its images.

HPDv2 train   {"prompt", "file_path": [2], "human_preference": [1, 0]}            one person's comparison
HPDv2 test    {"prompt", "image_path": [n], "rank": [n], "raw_annotations": [{"rank": [n], "user_hash"}]}
HPDv3         {"prompt", "path1" (preferred), "path2", "confidence", "choice_dist"?, "model1"?, "model2"?}
ImageReward   {"id", "prompt", "generations": [n], "ranking": [n]}                one consensus ranking
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from salon.errors import BadValue
from salon.store.formats.columnar import text_id
from salon.store.formats.head import Head
from salon.store.formats.ledger import Ledger, each_record
from salon.store.formats.record import Record
from salon.store.formats.source import CROWD, Draft, Source
from salon.study import Design, builtin_criterion

CRITERION = builtin_criterion("hps/overall")
CONSENSUS = "consensus"
MAX_VOTES = 1000


def _prompt(ledger: Ledger, record: Record, id: str | None = None) -> str:
    text = record.text("prompt")
    return ledger.prompt(id or text_id(text), record.where, text=text)


def _item(ledger: Ledger, path: str, record: Record, **facts: Any) -> str:
    """An item named by its path, which is where its picture is once the images stand in the study's folder."""
    return ledger.item(path, record.where, image=path if inside_folder(path) else None, **facts)


def inside_folder(path: str) -> bool:
    """Whether a path of a file may be looked up below a folder: not absolute, and not out of it again."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    return bool(parts) and parts[0] != "/" and ":" not in parts[0] and ".." not in parts


# -- HPDv2 -------------------------------------------------------------------------------------------------------


def is_hpdv2(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and (
        head.has("prompt", "file_path", "human_preference") or head.has("prompt", "image_path", "rank")
    )


def read_hpdv2(source: Source) -> Draft:
    """Train and test files, alone or together."""
    ledger = Ledger()
    for path in source.paths:
        for record in each_record(source, path):
            if record.has("human_preference"):
                _train_record(source, ledger, record)
            else:
                _test_record(source, ledger, record)
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


def _test_record(source: Source, ledger: Ledger, record: Record) -> None:
    prompt = _prompt(ledger, record)
    paths = record.texts("image_path")
    items = [_item(ledger, path, record, prompt=prompt, generator=f"place-{place}") for place, path in enumerate(paths)]
    source.say("generators are named by their place in the list (place-0, ...); a tenth image is the COCO photograph")
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


def is_hpdv3(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and head.has("prompt", "path1", "path2")


def read_hpdv3(source: Source) -> Draft:
    """Pairs with the preferred image first: a layout, not a position, so the left side is unknown."""
    ledger = Ledger()
    rater = ledger.rater(CROWD, "crowd")
    source.say_crowd()
    source.say("the preferred image stands first in the file: which one was shown on the left is unknown")
    for path in source.paths:
        for record in each_record(source, path):
            prompt = _prompt(ledger, record)
            a, b = (
                _item(
                    ledger,
                    record.text(f"path{side}"),
                    record,
                    prompt=prompt,
                    generator=record.maybe_text(f"model{side}"),
                )
                for side in (1, 2)
            )
            pair = {"criterion": CRITERION.id, "rater": rater, "a": a, "b": b}
            confidence = record.maybe_number("confidence")
            for outcome, votes in _votes(source, record):
                if votes:
                    ledger.add("comparisons", votes, **pair, outcome=outcome, confidence=confidence)
    return Draft((CRITERION,), ledger.tables(), "prompt", Design())


def _votes(source: Source, record: Record) -> list[tuple[str, int]]:
    """How many chose each image: the counts in choice_dist where there are any, else one vote for the first."""
    if not record.has("choice_dist"):
        return [("a", 1)]
    counts = record.numbers("choice_dist", 2)
    if any(count != int(count) for count in counts):  # shares, not counts
        source.say("choice_dist holds shares, not counts: each pair is kept as one vote for the preferred image")
        return [("a", 1)]
    if not 0 < sum(counts) <= MAX_VOTES or min(counts) < 0:
        raise BadValue(
            f"'choice_dist' must count from 1 to {MAX_VOTES:,} votes", found=repr(counts), where=record.where
        )
    source.say("choice_dist counts votes: each becomes a comparison by the crowd")
    return [("a", int(counts[0])), ("b", int(counts[1]))]


# -- ImageReward -------------------------------------------------------------------------------------------------


def is_imagereward(head: Head) -> bool:
    """By the fields of its first record."""
    return head.record is not None and head.has("prompt", "generations", "ranking")


def read_imagereward(source: Source) -> Draft:
    """One ranking a prompt, agreed on by several people; equal ranks are ties."""
    ledger = Ledger()
    rater = ledger.rater(CONSENSUS, "crowd")
    source.say(f"the file has one agreed ranking a prompt: all are by the crowd {CONSENSUS!r}")
    for path in source.paths:
        for record in each_record(source, path):
            id = record.text("id") if record.has("id") else None
            prompt = _prompt(ledger, record, id)
            paths = record.texts("generations")
            items = [_item(ledger, image, record, prompt=prompt) for image in paths]
            places = record.numbers("ranking", len(items))
            ledger.rank(items, places, record.where, criterion=CRITERION.id, rater=rater)
    ranks = ledger.judgments["rankings"]["ranks"]
    tied = sum(len(set(one)) < len(one) for one in ranks)
    source.say(f"{tied:,} of {len(ranks):,} rankings have ties: equal ranks are kept")
    return Draft((CRITERION,), ledger.tables(), "prompt", Design())
