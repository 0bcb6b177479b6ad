"""Public rankings and ratings: PrefLib (.soc .soi .toc .toi), Sushi, MovieLens, DSG's TIFA160 and ImagenHub."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from salon.errors import BadFile, BadValue, shorten
from salon.store.formats.column_labels import (
    constant_column,
    filled_labels,
    name_items,
    name_prompts,
    name_raters,
    parse_scale,
    read_numbers,
)
from salon.store.formats.column_mapping import load_cells, open_sheets
from salon.store.formats.files import (
    ColumnFile,
    Head,
    open_sheet,
    read_bytes,
    read_lines,
    read_text,
    require_columns,
)
from salon.store.formats.records import TableBuilder
from salon.store.formats.source import Draft, Source
from salon.study import Criterion, Design, Scale

PREFLIB_SUFFIXES = (".soc", ".soi", ".toc", ".toi")
PREFERENCE = Criterion(id="preference")
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
    ledger, voters = TableBuilder(), 0
    for path in source.paths:
        lines = [(number, line.strip()) for number, line in enumerate(read_lines(source, path), 1) if line.strip()]
        names, ballots = _new_layout(path, lines) if lines[0][1].startswith("#") else _old_layout(path, lines)
        have_names = len(set(names.values())) == len(names) and all(names.values())
        items = names if have_names else {number: number for number in names}
        for where, count, order in ballots:
            total = voters + count
            if total > MAX_BALLOTS:
                raise BadValue(f"at most {MAX_BALLOTS:,} ballots can be read", found=f"{total:,}", where=where)
            for _ in range(count):
                voters += 1
                voter = f"voter-{voters}"
                numbers = [number for level in order for number in level]
                missing = next((number for number in numbers if number not in items), None)
                if missing is not None:
                    raise BadValue("a ballot may only name alternatives of the file", found=repr(missing), where=where)
                ids = [ledger.item(items[number], where) for number in numbers]
                places = [place for place, level in enumerate(order, 1) for _ in level]
                ledger.rank(ids, places, where, criterion=PREFERENCE.id, rater=ledger.rater(voter))
    if not voters:
        raise BadFile("a file with ballots is needed", found="none", where=str(source.paths[0]))
    source.say(f"PrefLib counts equal ballots: each of the {voters:,} voters became a rater of their own")
    complete = all(path.suffix.lower() in (".soc", ".toc") for path in source.paths)
    return Draft((PREFERENCE,), ledger.tables(), "all", Design(kind="complete" if complete else "unknown"))


def _new_layout(path: Path, lines: Lines) -> tuple[dict[str, str], Ballots]:
    """Metadata in lines that start with '#', then 'count: 1,2,{3,4}'."""
    matches = [match for _, line in lines if (match := _NAME.match(line))]
    names = {match[1]: match[2].strip() for match in matches}
    if not names:
        raise BadFile("lines '# ALTERNATIVE NAME 1: ...' are needed", found="none", where=str(path))
    return names, _ballots(path, [(number, line) for number, line in lines if not line.startswith("#")], ":")


def _old_layout(path: Path, lines: Lines) -> tuple[dict[str, str], Ballots]:
    """A count of alternatives, a line for each, a line of totals, then 'count,1,2,{3,4}'."""
    count = _parse_count(lines[0][1], f"{path}, line {lines[0][0]}")
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
        count, separator, order = line.partition(mark)
        if not separator:
            raise BadFile(f"'COUNT{mark} ORDER' is needed", found=line, where=where)
        # '1,{2,3},4' as [[1], [2, 3], [4]]
        text = order.strip()
        levels = [[part.strip() for part in (tied or single).split(",")] for tied, single in _LEVEL.findall(text)]
        rest = _LEVEL.sub("", text).replace(",", "").strip()
        if rest or not levels or not all(part for level in levels for part in level):
            raise BadFile("an order such as '1,{2,3},4' is needed", found=text, where=where)
        yield where, _parse_count(count, where), levels


def _parse_count(text: str, where: str) -> int:
    text = text.strip()
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise BadFile("a count is needed", found=repr(text), where=where)
    return int(text)


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
    ledger, complete, number_of_items = TableBuilder(), True, 0
    for path in source.paths:
        rows = [(number, line.split()) for number, line in enumerate(read_lines(source, path), 1) if line.strip()]
        number_of_items = _parse_count(rows[0][1][0], f"{path}, line 1")
        if len(rows) < 2:
            raise BadFile("a file with orders is needed", found="a header only", where=str(path))
        for number, row in rows[1:]:
            where = f"{path}, line {number}"
            if len(row) < 3 or row[0] != "0" or _parse_count(row[1], where) != len(row) - 2:
                raise BadFile("a row '0 LENGTH ITEM ITEM ...' is needed", found=" ".join(row), where=where)
            if any(_parse_count(item, where) >= number_of_items for item in row[2:]):
                raise BadValue(f"items are numbered below {number_of_items}", found=" ".join(row), where=where)
            complete &= len(row) - 2 == number_of_items
            ids = [ledger.item(f"sushi-{int(item)}", where) for item in row[2:]]
            rater = ledger.rater(f"rater-{len(ledger.named['raters']) + 1}")
            ledger.rank(ids, range(1, len(ids) + 1), where, criterion=PREFERENCE.id, rater=rater)
    source.say("each row of a Sushi file is one rater, numbered in the file's order")
    return Draft((PREFERENCE,), ledger.tables(), "all", Design(kind="complete" if complete else "fraction"))


# -- MovieLens ---------------------------------------------------------------------------------------------------------

MOVIELENS_COLUMNS = ("user", "item", "rating", "timestamp")
STARS = Criterion(id="rating", question="How many stars?", scale=Scale(low=0.5, high=5, step=0.5))
WHOLE_STARS = Scale(low=1, high=5, step=1)
"""Of the older files, which have no half stars."""
_MOVIELENS_ROW = re.compile(r"^\d+(\t|::|,)\d+\1[\d.]+\1\d+\s*$")
_MOVIELENS_HEADER = re.compile(r"^\s*user(_?id)?(:\w+)?\s*(\t|::|,)", re.IGNORECASE)


def is_movielens(head: Head) -> bool:
    """Rows 'user item rating time' of numbers, or the header of ratings.csv."""
    lines = [line for line in head.lines[:6] if line.strip()]
    rows = lines[1:] if lines and _MOVIELENS_HEADER.match(lines[0]) else lines
    return bool(rows) and all(_MOVIELENS_ROW.match(row) for row in rows)


def read_movielens(source: Source) -> Draft:
    """Ratings of films; there are no prompts, so all films may be compared."""
    cells = load_cells(
        source,
        [_open_ratings(source, path) for path in source.paths],
        {"rater": "user", "item": "item", "value": "rating"},
    )
    source.say("time stamps are left out")
    rater, item = filled_labels(cells, "rater"), filled_labels(cells, "item")
    values = read_numbers(cells, "value")
    if values.null_count:
        raise BadFile("every row needs a rating", found=f"{values.null_count:,} blank", where=cells.where(0))
    criterion = STARS.model_copy(update={"scale": _scale(source, values)})
    ratings = {
        "criterion": constant_column(STARS.id, len(cells)),
        "rater": rater.refer(),
        "item": item.refer(),
        "value": values,
    }
    tables = {
        "items": pa.table({"id": item.texts}),
        "raters": pa.table({"id": rater.texts}),
        "ratings": pa.table(ratings),
    }
    return Draft((criterion,), tables, "all", Design(kind="unknown", note="raters chose what to rate"))


def _scale(source: Source, values: pa.Array) -> Scale:
    """As the user says, else stars as the values show them."""
    if source.options.policies.scale is not None:
        return parse_scale(source.options.policies.scale)
    distinct = values.unique().to_numpy(zero_copy_only=False)
    whole = all(value in WHOLE_STARS.levels for value in distinct)
    scale = WHOLE_STARS if whole else STARS.scale
    assert scale is not None
    text = f"{scale.low:g}:{scale.high:g}:{scale.step:g}"
    source.say(f"the scale is taken as {text} from the values (--scale LOW:HIGH:STEP says otherwise)")
    return scale


def _open_ratings(source: Source, path: Path) -> ColumnFile:
    start = read_bytes(path, 1 << 16).decode("utf-8-sig", "replace")
    first = next((line for line in start.splitlines() if line.strip()), "")
    has_header = bool(_MOVIELENS_HEADER.match(first))
    if "::" in first:
        rows = [line.split("::") for line in read_text(source, path).splitlines() if line.strip()][has_header:]
        bad = next(
            (number for number, row in enumerate(rows, 1 + has_header) if len(row) != len(MOVIELENS_COLUMNS)), None
        )
        if bad is not None:
            raise BadFile("every line needs user::item::rating::time", where=f"{path}, line {bad}")
        by_column = list(zip(*rows)) or [()] * len(MOVIELENS_COLUMNS)
        table = {
            name: pa.array(cells, pa.string()).dictionary_encode() for name, cells in zip(MOVIELENS_COLUMNS, by_column)
        }
        return ColumnFile(
            path, list(MOVIELENS_COLUMNS), lambda columns: pa.table({name: table[name] for name in columns})
        )
    sheet = open_sheet(
        source, path, header=None if has_header else MOVIELENS_COLUMNS, delimiter="\t" if "\t" in first else ","
    )
    if len(sheet.names) != len(MOVIELENS_COLUMNS):
        raise BadFile(
            "four columns are needed: user, item, rating, time", found=", ".join(sheet.names), where=str(path)
        )
    names = sheet.names
    return ColumnFile(path, list(MOVIELENS_COLUMNS), lambda columns: _renamed(sheet, names, columns))


def _renamed(sheet: ColumnFile, names: Sequence[str], columns: Sequence[str]) -> pa.Table:
    chosen = [names[MOVIELENS_COLUMNS.index(column)] for column in columns]
    return sheet.read(chosen).rename_columns(list(columns))


# -- DSG ---------------------------------------------------------------------------------------------------------

DSG_COLUMNS = {
    "prompt": "item_id",
    "generator": "t2i_model",
    "rater": "worker_id",
    "question": "question",
    "value": "answer",
}
FIVE_LEVELS = Scale(kind="ordinal", low=1, high=5, step=1)


def is_dsg(head: Head) -> bool:
    """By its columns."""
    return head.has(*DSG_COLUMNS.values())


def read_dsg(source: Source) -> Draft:
    """Each answer (1-5) as a rating of prompt/generator; each question is a criterion."""
    sheets = open_sheets(source)
    require_columns(sheets, DSG_COLUMNS.values())
    cells = load_cells(source, sheets, DSG_COLUMNS)
    filled_labels(cells, "value")
    prompts = name_prompts(source, cells)
    items = name_items(source, cells, ("generator",), prompts[0] if prompts else None)
    questions = filled_labels(cells, "question")
    texts = questions.texts.to_pylist()
    ids = ["consistency"] if len(texts) == 1 else [f"question-{i}" for i in range(1, len(texts) + 1)]
    criteria = tuple(
        Criterion.parse({"id": id, "rate_question": text, "scale": FIVE_LEVELS.model_dump()}, where="question")
        for id, text in zip(ids, texts)
    )
    rater, raters = name_raters(source, cells)
    ratings = {
        "criterion": questions.refer(pa.array([criterion.id for criterion in criteria])),
        "rater": rater,
        "item": items.refer(),
        "value": read_numbers(cells, "value"),
    }
    tables = {"items": items.table, "raters": raters, "ratings": pa.table(ratings)}
    if prompts:
        tables["prompts"] = prompts[1]
    return Draft(criteria, tables, "prompt", Design(kind="complete"))


# -- ImagenHub ---------------------------------------------------------------------------------------------------

THREE_LEVELS = Scale(kind="ordinal", low=0, high=1, step=0.5)
IMAGENHUB_CRITERIA = (
    Criterion(id="semantic-consistency", rate_question="Does the image follow the text?", scale=THREE_LEVELS),
    Criterion(id="perceptual-quality", rate_question="Does the image look right?", scale=THREE_LEVELS),
)
_IMAGENHUB_CELL = re.compile(r"^\s*\[\s*[\d.]+\s*,\s*[\d.]+\s*\]\s*$")


def is_imagenhub(head: Head) -> bool:
    """A column uid, and cells such as [0.5, 1]."""
    second = head.lines[1].split("\t")[1:] if len(head.lines) > 1 else []
    return head.columns[:1] == ("uid",) and bool(second) and all(_IMAGENHUB_CELL.match(cell) for cell in second)


def read_imagenhub(source: Source) -> Draft:
    """One file a rater; each cell [SC, PQ] is two ratings, of semantic consistency and perceptual quality."""
    ledger = TableBuilder()
    for path in source.paths:
        rater = ledger.rater(Path(path.name.removesuffix(".gz")).stem.rsplit("_", 1)[-1])
        sheet = open_sheet(source, path)
        require_columns([sheet], ["uid"])
        models = [name for name in sheet.names if name != "uid"]
        for number, row in enumerate(sheet.read(sheet.names).to_pylist(), 1):
            where = f"{path}, data row {number}"
            if not (row["uid"] or "").strip():
                raise BadValue("every row needs a uid", where=where)
            prompt = ledger.prompt(row["uid"], where)
            for model in models:
                item = ledger.item(f"{prompt}/{model}", where, prompt=prompt, generator=model)
                for criterion, value in zip(
                    IMAGENHUB_CRITERIA, _two_values(row[model], f"{where}, column {shorten(model, 60)!r}")
                ):
                    ledger.add("ratings", criterion=criterion.id, rater=rater, item=item, value=value)
    source.say("raters are named by the end of their file's name")
    return Draft(IMAGENHUB_CRITERIA, ledger.tables(), "prompt", Design(kind="complete"))


def _two_values(cell: str | None, where: str) -> list[float]:
    if cell is None or not _IMAGENHUB_CELL.match(cell):
        raise BadValue("a cell [SC, PQ] is needed, such as [0.5, 1]", found=repr(cell), where=where)
    try:
        return [float(value) for value in json.loads(cell)]
    except ValueError:
        raise BadValue("a cell [SC, PQ] is needed, such as [0.5, 1]", found=repr(cell), where=where) from None
