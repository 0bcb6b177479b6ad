"""A study into the database, and out of it as Arrow columns.

Judgments are kept as the lines of JSON they would be in a folder, so a million of them are read as a file would be: in
blocks, by Arrow, without an object for each.

The revision number grows with every rater, answer and undo, so that a signature made from a running study names one
state of it. Only what takes answers away (a rater removed, withdrawn, brought back or erased) is a line of its own;
what came since the last line is counted.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.json
from sqlalchemy import Connection, Select, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from salon.store import jsonl_table
from salon.store.database import tables
from salon.store.database.connection import DatabaseConnection, NoStudy, StudyThere, now_ms
from salon.store.database.records import AnswerFrame, as_json, check_text
from salon.store.folder import Metadata
from salon.study import JUDGMENTS, NAMED, Cohort, Design, Revision, Study, conform


def count_changes(connection: Connection) -> int:
    """Raters, judgments and undos in the tables: between two lines of the revisions it only grows."""
    counts = [select(func.count()).select_from(table) for table in (tables.raters, tables.judgments, tables.undos)]
    return sum(connection.execute(count).scalar_one() for count in counts)


def current_revisions(connection: Connection) -> list[Revision]:
    """Every line, and one more for what came since the last."""
    rows = connection.execute(select(tables.revisions).order_by(tables.revisions.c.number)).all()
    revisions = [Revision(number=row.number, reason=row.reason, at=row.at) for row in rows]
    since = count_changes(connection) - rows[-1].changes
    if since > 0:
        revisions.append(Revision(number=revisions[-1].number + since, reason="answers collected"))
    return revisions


def lock_revisions(connection: Connection) -> None:
    """Wait for other transactions that take answers away."""
    connection.execute(select(tables.study.c.one).with_for_update())


def add_revision(connection: Connection, reason: str, at: int, number: int) -> None:
    """A line of its own for a change, numbered `number`; call it when the change is made."""
    day = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")
    row = {"number": number, "reason": reason, "at": day, "changes": count_changes(connection)}
    connection.execute(insert(tables.revisions), row)


# -- studies -----------------------------------------------------------------------------------------------------------

ROWS_AT_ONCE = 50_000
_OWN_TABLE = {"prompts": tables.prompts, "items": tables.items}


class StudyMethods(DatabaseConnection):
    """The one study of a database."""

    _frame: AnswerFrame | None = None

    def has_study(self) -> bool:
        """Does the database hold a study?"""
        with self.reading() as connection:
            return connection.execute(select(tables.study.c.one)).first() is not None

    def put_study(self, study: Study, *, at: int | None = None) -> None:
        """Write a whole study, judgments included, into a database that has none; all of it or nothing."""
        at = now_ms() if at is None else at
        record = Metadata.of(study).record()
        del record["revisions"]
        row = {"one": 1, "record": as_json(record, where=f"study {study.name!r}"), "created_at": at}
        try:
            with self.writing() as connection:
                connection.execute(insert(tables.study), row)  # there is room for one
                for kind in NAMED:
                    _insert(connection, kind, _named_rows(study, kind, at))
                for kind in JUDGMENTS:
                    _insert(connection, "judgments", _judgment_rows(study, kind))
                count = count_changes(connection)
                rows = [
                    {"number": revision.number, "reason": revision.reason, "at": revision.at, "changes": count}
                    for revision in study.revisions
                ]
                connection.execute(insert(tables.revisions), rows)
        except IntegrityError:
            raise StudyThere(
                "a database without a study is needed",
                found="one that holds a study",
                where=self.name,
                remedy="name another database; nothing was changed",
            ) from None

    def read_study(self) -> Study:
        """The study as it stands now: undone judgments, and raters removed or withdrawn, left out.

        Every read is one snapshot; its revision number grows with each answer, undo and rater.
        """
        with self.snapshot() as connection:
            metadata = _metadata(connection, self.name)
            study_tables = {kind: _read_named(connection, kind) for kind in NAMED} | _read_judgments(connection)
        raters = study_tables["raters"]
        if metadata.cohorts and "cohort" in raters.column_names:
            # Cohorts that came while the study was collected are named beside those it describes.
            ids = {cohort.id for cohort in metadata.cohorts}
            there = dict.fromkeys(raters.column("cohort").cast(pa.string()).drop_null().to_pylist())
            more = tuple(Cohort(id=id) for id in there if id not in ids)
            metadata = metadata.model_copy(update={"cohorts": (*metadata.cohorts, *more)})
        return metadata.study({kind: table for kind, table in study_tables.items() if table.num_rows}, where=self.name)

    def revision(self) -> int:
        """The number `read_study` would give now: what was computed from that revision is still true."""
        with self.snapshot() as connection:
            return _metadata(connection, self.name).revisions[-1].number

    def put_design(self, design: Design, *, at: int | None = None) -> None:
        """Say how the study is collected; where that is news, a new revision."""
        at = now_ms() if at is None else at
        with self.writing() as connection:
            lock_revisions(connection)
            metadata = _metadata(connection, self.name)
            if metadata.design == design:
                return
            record = metadata.model_copy(update={"design": design}).record()
            del record["revisions"]
            connection.execute(update(tables.study).values(record=as_json(record, where="the design")))
            add_revision(connection, "the design of the study changed", at, metadata.revisions[-1].number + 1)

    def frame(self) -> AnswerFrame:
        """What judgments may name. Read once: criteria and items stay as they are while a study is collected."""
        if self._frame is None:
            with self.snapshot() as connection:
                self._frame = _frame(_metadata(connection, self.name), _read_named(connection, "items"))
        return self._frame


# -- writing -----------------------------------------------------------------------------------------------


def _insert(connection: Connection, name: str, rows: Iterator[dict[str, Any]]) -> None:
    block: list[dict[str, Any]] = []
    table = tables.metadata.tables[name]
    for row in rows:
        block.append(row)
        if len(block) == ROWS_AT_ONCE:
            connection.execute(insert(table), block)
            block = []
    if block:
        connection.execute(insert(table), block)


def _named_rows(study: Study, kind: str, at: int) -> Iterator[dict[str, Any]]:
    """Prompts and items as records; raters as columns, for the studio asks for those."""
    table = study.table(kind)
    for line in _lines(kind, table):
        record = json.loads(line)
        id = check_text(record["id"], where=f"the ids of {kind}")
        if kind != "raters":
            yield {"id": id, "record": line}
            continue
        cohort = record.get("cohort")
        cohort = None if cohort is None else check_text(cohort, where="the cohorts of raters")
        person = record.get("kind", "person")
        yield {"id": id, "kind": person, "cohort": cohort, "status": "active", "created_at": at}


def _judgment_rows(study: Study, kind: str) -> Iterator[dict[str, Any]]:
    table = study.table(kind)
    raters, criteria = (table.column(name).to_pylist() for name in ("rater", "criterion"))
    prompts = study.table("items").column("prompt").to_pylist() if "prompt" in study.table("items").column_names else []
    firsts = _first_items(study, table)
    for number, line in enumerate(_lines(kind, table)):
        yield {
            "rater": raters[number],
            "kind": kind,
            "criterion": check_text(criteria[number], where="criteria"),
            "prompt": prompts[firsts[number]] if prompts and firsts[number] >= 0 else None,
            "payload": line,
            "counted": True,
            "part": 0,
        }


def _first_items(study: Study, table: pa.Table) -> list[int]:
    """The number of the first item of every judgment, -1 where it names none."""
    for name in ("a", "item"):
        if name in table.column_names:
            codes: list[int] = study.codes("items", table.column(name)).tolist()
            return codes
    numbers = {id: number for number, id in enumerate(study.ids("items").to_pylist())}
    return [numbers[items[0]] if items else -1 for items in table.column("items").to_pylist()]


def _lines(kind: str, table: pa.Table) -> Iterator[str]:
    file = io.BytesIO()
    jsonl_table.write(kind, table, file)
    return (line for line in file.getvalue().decode().split("\n") if line)


# -- reading -----------------------------------------------------------------------------------------------


def _metadata(connection: Connection, where: str) -> Metadata:
    record = connection.execute(select(tables.study.c.record)).scalar()
    if record is None:
        raise NoStudy(
            "a database with a study in it is needed",
            found="one without",
            where=where,
            remedy="salon serve STUDY puts one there",
        )
    revisions = [revision.record() for revision in current_revisions(connection)]
    return Metadata.parse(json.loads(record) | {"revisions": revisions}, where=where)


def _read_named(connection: Connection, kind: str) -> pa.Table:
    if kind == "raters":
        columns = ("id", "kind", "cohort")
        active = (
            select(*(tables.raters.c[name] for name in columns))
            .where(tables.raters.c.status.not_in(tables.LEFT_OUT))
            .order_by(tables.raters.c.number)
        )
        stored = connection.execute(active).all()
        text = {name: pa.array([row[place] for row in stored], pa.string()) for place, name in enumerate(columns)}
        return conform("raters", pa.table(text))
    table = _OWN_TABLE[kind]
    query = select(table.c.record).order_by(table.c.number)
    return _join_tables(kind, [_parse_lines(kind, [row[0] for row in rows]) for rows in _blocks(connection, query)])


def _read_judgments(connection: Connection) -> dict[str, pa.Table]:
    """All kinds in one pass over the table, in the order the answers came."""
    parts: dict[str, list[pa.Table]] = {kind: [] for kind in JUDGMENTS}
    judgments, undos, raters = tables.judgments, tables.undos, tables.raters
    gone = select(raters.c.id).where(raters.c.status.in_(tables.LEFT_OUT))
    live_query = (
        select(judgments.c.kind, judgments.c.payload)
        .where(
            judgments.c.counted,
            judgments.c.kind.in_(JUDGMENTS),
            judgments.c.rater.not_in(gone),
            ~select(undos.c.judgment).where(undos.c.judgment == judgments.c.id).exists(),
        )
        .order_by(judgments.c.id)
    )
    for rows in _blocks(connection, live_query):
        kinds, payloads = zip(*rows)
        for kind in set(kinds):
            lines = payloads if len(set(kinds)) == 1 else [line for kind_of_row, line in rows if kind_of_row == kind]
            parts[kind].append(_parse_lines(kind, lines))
    return {kind: _join_tables(kind, some) for kind, some in parts.items() if some}


def _blocks(connection: Connection, query: Select[Any]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows as the driver gives them, a block at a time: SQLAlchemy's own rows would take as long again.

    The query holds no value but the program's own words, and these are written out in its text.
    """
    statement = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
    driver = connection.connection.driver_connection
    assert driver is not None  # the connection is open
    streamed = {} if connection.dialect.name == "sqlite" else {"name": "salon_blocks"}  # a cursor in the server
    with closing(driver.cursor(**streamed)) as cursor:
        cursor.execute(statement)
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield rows


def _parse_lines(kind: str, lines: Any) -> pa.Table:
    block = "\n".join(lines).encode()
    options = pa.json.ParseOptions(explicit_schema=jsonl_table.text_schema(kind), unexpected_field_behavior="error")
    table = pa.json.read_json(io.BytesIO(block), pa.json.ReadOptions(block_size=len(block) + 1), options)
    return conform(kind, table)


def _join_tables(kind: str, parts: list[pa.Table]) -> pa.Table:
    if not parts:
        return pa.table({})
    whole = pa.concat_tables(parts, promote_options="default")
    return conform(kind, whole).unify_dictionaries().combine_chunks()


def _frame(metadata: Metadata, items: pa.Table) -> AnswerFrame:
    ids = items.column("id").to_pylist()
    prompts, groups = (
        dict(zip(ids, items.column(name).to_pylist() if name in items.column_names else [None] * len(ids)))
        for name in ("prompt", metadata.compare_within)
    )
    return AnswerFrame(
        {criterion.id: criterion for criterion in metadata.criteria}, prompts, groups, metadata.compare_within
    )
