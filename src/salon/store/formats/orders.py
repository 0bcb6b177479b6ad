"""Ballots of whole or partial orders: PrefLib (.soc .soi .toc .toi) and the Sushi sets (.order)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from salon.errors import BadFile, BadValue
from salon.store.formats.head import Head
from salon.store.formats.ledger import Ledger
from salon.store.formats.source import Draft, Source
from salon.store.formats.text import read_lines
from salon.study import Criterion, Design

PREFLIB_SUFFIXES = (".soc", ".soi", ".toc", ".toi")
CRITERION = Criterion(id="preference")
MAX_BALLOTS = 20_000_000
_LEVEL = re.compile(r"\{([^{}]*)\}|([^,{}]+)")
_NAME = re.compile(r"# ALTERNATIVE NAME (\d+):(.*)")

Lines = list[tuple[int, str]]
"""Line numbers and their text, blank lines left out."""
Order = list[list[str]]
"""Levels of tied alternatives, best first."""
Ballots = Iterator[tuple[str, int, Order]]
"""Where it stands, how many voters cast it, and the order."""


# -- PrefLib -----------------------------------------------------------------------------------------------------


def is_preflib(head: Head) -> bool:
    """By its suffix, or by the metadata lines of the newer layout."""
    return head.suffix in PREFLIB_SUFFIXES or any(line.startswith("# NUMBER ALTERNATIVES") for line in head.lines)


def read_preflib(source: Source) -> Draft:
    """Every voter of every line becomes a rater: PrefLib keeps counts of equal ballots, not names."""
    ledger, voters = Ledger(), 0
    for path in source.paths:
        lines = [(number, line.strip()) for number, line in enumerate(read_lines(source, path), 1) if line.strip()]
        names, ballots = _new_layout(path, lines) if lines[0][1].startswith("#") else _old_layout(path, lines)
        items = _item_ids(names)
        for where, count, order in ballots:
            _check_count(voters + count, where)
            for _ in range(count):
                voters += 1
                _vote(ledger, f"voter-{voters}", order, items, where)
    if not voters:
        raise BadFile("a file with ballots is needed", found="none", where=str(source.paths[0]))
    source.say(f"PrefLib counts equal ballots: each of the {voters:,} voters became a rater of their own")
    complete = all(path.suffix.lower() in (".soc", ".toc") for path in source.paths)
    return Draft((CRITERION,), ledger.tables(), "all", Design(kind="complete" if complete else "unknown"))


def _item_ids(names: dict[str, str]) -> dict[str, str]:
    """Alternatives by name; by number where two share a name or one has none."""
    named = len(set(names.values())) == len(names) and all(names.values())
    return names if named else {number: number for number in names}


def _new_layout(path: Path, lines: Lines) -> tuple[dict[str, str], Ballots]:
    """Metadata in lines that start with '#', then 'count: 1,2,{3,4}'."""
    matches = [match for _, line in lines if (match := _NAME.match(line))]
    names = {match[1]: match[2].strip() for match in matches}
    if not names:
        raise BadFile("lines '# ALTERNATIVE NAME 1: ...' are needed", found="none", where=str(path))
    return names, _ballots(path, [(number, line) for number, line in lines if not line.startswith("#")], ":")


def _old_layout(path: Path, lines: Lines) -> tuple[dict[str, str], Ballots]:
    """A count of alternatives, a line for each, a line of totals, then 'count,1,2,{3,4}'."""
    count = _whole(lines[0][1], f"{path}, line {lines[0][0]}")
    if len(lines) < count + 3:
        raise BadFile(
            f"{count:,} lines of names, a line of totals and ballots are needed",
            found=f"{len(lines):,} lines",
            where=str(path),
        )
    names = {}
    for number, line in lines[1 : count + 1]:
        key, comma, name = line.partition(",")
        if not comma:
            raise BadFile("'NUMBER,NAME' is needed", found=line, where=f"{path}, line {number}")
        names[key.strip()] = name.strip().strip('"')
    return names, _ballots(path, lines[count + 2 :], ",")


def _ballots(path: Path, lines: Lines, mark: str) -> Ballots:
    for number, line in lines:
        where = f"{path}, line {number}"
        count, found, order = line.partition(mark)
        if not found:
            raise BadFile(f"'COUNT{mark} ORDER' is needed", found=line, where=where)
        yield where, _whole(count, where), _levels(order.strip(), where)


def _levels(text: str, where: str) -> Order:
    """'1,{2,3},4' as [[1], [2, 3], [4]]."""
    levels = [[part.strip() for part in (tied or single).split(",")] for tied, single in _LEVEL.findall(text)]
    rest = _LEVEL.sub("", text).replace(",", "").strip()
    if rest or not levels or not all(part for level in levels for part in level):
        raise BadFile("an order such as '1,{2,3},4' is needed", found=text, where=where)
    return levels


def _vote(ledger: Ledger, voter: str, order: Order, items: dict[str, str], where: str) -> None:
    numbers = [number for level in order for number in level]
    missing = next((number for number in numbers if number not in items), None)
    if missing is not None:
        raise BadValue("a ballot may only name alternatives of the file", found=repr(missing), where=where)
    ids = [ledger.item(items[number], where) for number in numbers]
    places = [place for place, level in enumerate(order, 1) for _ in level]
    ledger.rank(ids, places, where, criterion=CRITERION.id, rater=ledger.rater(voter))


def _whole(text: str, where: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise BadFile("a count is needed", found=repr(text), where=where)
    return int(text)


def _check_count(total: int, where: str) -> None:
    if total > MAX_BALLOTS:
        raise BadValue(f"at most {MAX_BALLOTS:,} ballots can be read", found=f"{total:,}", where=where)


# -- Sushi -------------------------------------------------------------------------------------------------------


def is_sushi(head: Head) -> bool:
    """By its suffix, or a first line 'ITEMS 1' over rows '0 LENGTH ITEM ITEM ...'."""
    if head.suffix == ".order":
        return True
    rows = [line.split() for line in head.lines[:5] if line.strip()]
    digits = all(cell.isdigit() for row in rows for cell in row)
    return len(rows) > 1 and digits and len(rows[0]) == 2 and all(row[0] == "0" and len(row) > 3 for row in rows[1:])


def read_sushi(source: Source) -> Draft:
    """Each row is one rater's order, best first, of the item numbers it lists."""
    ledger, complete, number_of_items = Ledger(), True, 0
    for path in source.paths:
        rows = [(number, line.split()) for number, line in enumerate(read_lines(source, path), 1) if line.strip()]
        number_of_items = _whole(rows[0][1][0], f"{path}, line 1")
        if len(rows) < 2:
            raise BadFile("a file with orders is needed", found="a header only", where=str(path))
        for number, row in rows[1:]:
            where = f"{path}, line {number}"
            if len(row) < 3 or row[0] != "0" or _whole(row[1], where) != len(row) - 2:
                raise BadFile("a row '0 LENGTH ITEM ITEM ...' is needed", found=" ".join(row), where=where)
            if any(_whole(item, where) >= number_of_items for item in row[2:]):
                raise BadValue(f"items are numbered below {number_of_items}", found=" ".join(row), where=where)
            complete &= len(row) - 2 == number_of_items
            ids = [ledger.item(f"sushi-{int(item)}", where) for item in row[2:]]
            rater = ledger.rater(f"rater-{len(ledger.named['raters']) + 1}")
            ledger.rank(ids, range(1, len(ids) + 1), where, criterion=CRITERION.id, rater=rater)
    source.say("each row of a Sushi file is one rater, numbered in the file's order")
    return Draft((CRITERION,), ledger.tables(), "all", Design(kind="complete" if complete else "fraction"))
