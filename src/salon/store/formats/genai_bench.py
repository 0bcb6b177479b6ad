"""GenAI-Bench: human votes between two anonymous images, and the verdicts of many judges on the same pairs.

One table     idx,prompt,human_vote,<judge>,<judge>,...   with [[A>B]], [[B>A]], [[A=B=Good]], [[A=B=Bad]] in the cells
Or one file   {"idx", "prompt", "response", "model_vote", "human_vote"} a line, in a folder named after the judge

A verdict that is none of the four is left out and counted: it is never guessed at.
"""

from __future__ import annotations

import re
from pathlib import Path

from salon.errors import BadColumns, BadValue
from salon.store.formats.head import Head
from salon.store.formats.ledger import Ledger, each_record
from salon.store.formats.record import Record
from salon.store.formats.sheet import open_sheet
from salon.store.formats.source import Draft, Source
from salon.study import Criterion, Design

CRITERION = Criterion(id="preference")
HUMANS = "human voters"
VOTES = {"leftvote": "a", "rightvote": "b", "tievote": "tie", "bothbad_vote": "both_bad"}
VERDICTS = {"[[a>b]]": "a", "[[b>a]]": "b", "[[a=b=good]]": "tie", "[[a=b=bad]]": "both_bad"}
FIXED = ("idx", "prompt", "human_vote")


def is_genai_bench(head: Head) -> bool:
    """By its columns."""
    return head.has(*FIXED)


def read_genai_bench(source: Source) -> Draft:
    """Human votes by a crowd, verdicts by raters of kind 'model'."""
    ledger = Ledger()
    source.say(f"human votes carry no ids: they are by the crowd {HUMANS!r}; judges are raters of kind 'model'")
    source.say("image A was shown on the left; the generators are anonymous")
    voted: set[str] = set()
    for path in source.paths:
        if _is_judge_file(source, path):
            _read_judge_file(source, ledger, path, voted)
        else:
            _read_table(source, ledger, path, voted)
    return Draft((CRITERION,), ledger.tables(), "prompt", Design())


def _is_judge_file(source: Source, path: Path) -> bool:
    return "model_vote" in open_sheet(source, path).names


def _read_table(source: Source, ledger: Ledger, path: Path, voted: set[str]) -> None:
    sheet = open_sheet(source, path)
    for name in FIXED:
        if name not in sheet.names:
            raise BadColumns.missing(name, sheet.names, where=str(path))
    judges = [name for name in sheet.names if name not in FIXED]
    for number, row in enumerate(sheet.read(sheet.names).to_pylist(), 1):
        pair = _vote(ledger, Record(row, f"{path}, data row {number}"), voted)
        for judge in judges:
            _verdict(source, ledger, judge, row[judge], pair)


def _read_judge_file(source: Source, ledger: Ledger, path: Path, voted: set[str]) -> None:
    judge = path.parent.name if path.stem == "pairwise" and path.parent.name else path.stem
    for record in each_record(source, path):
        pair = _vote(ledger, record, voted)
        _verdict(source, ledger, judge, record.maybe_text("model_vote"), pair, record.maybe_text("response"))


def _vote(ledger: Ledger, record: Record, voted: set[str]) -> dict[str, str]:
    """The pair of one record; its human vote is written down the first time the pair is met."""
    idx = record.text("idx")
    prompt = ledger.prompt(idx, record.where, text=record.text("prompt"))
    a, b = (ledger.item(f"{idx}/{side}", record.where, prompt=prompt) for side in "AB")
    pair = {"criterion": CRITERION.id, "a": a, "b": b, "left": "a"}
    vote = record.text("human_vote")
    if vote not in VOTES:
        raise BadValue("human_vote must be one of " + ", ".join(VOTES), found=repr(vote), where=record.where)
    if idx not in voted:
        voted.add(idx)
        ledger.add("comparisons", **pair, rater=ledger.rater(HUMANS, "crowd"), outcome=VOTES[vote])
    return pair


def _verdict(
    source: Source, ledger: Ledger, judge: str, text: str | None, pair: dict[str, str], rationale: str | None = None
) -> None:
    rater = ledger.rater(judge, "model", "judge column")
    word = re.sub(r"\s+", "", text or "").lower()
    if not word:
        source.leave_out("judge verdicts that are blank")
    elif word not in VERDICTS:
        source.leave_out("judge verdicts that are none of the four")
    else:
        ledger.add("comparisons", **pair, rater=rater, outcome=VERDICTS[word], rationale=rationale or None)
