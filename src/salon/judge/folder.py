"""A judge's folder, STUDY/judges/NAME, and what several judges of one checklist say together.

The folder is a study of its own, with the verdicts and a record beside its tables. Where several judges answer a point,
one that gave no readable answer counts among those asked: two of three must agree, not one of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from salon.errors import BadColumns, BadFile, BadValue, UnknownReference
from salon.judge.protocol import JudgeSettings, JudgeVerdict
from salon.store import (
    Metadata,
    arrow_file,
    check_rows,
    present_folder,
    read_json,
    whole_file,
    whole_folder,
    write_json,
    write_metadata,
    write_table,
)
from salon.study import Noun, Point, Route, Rule, Study, agreed, find_route, majority_of_samples

JUDGES = "judges"
VERDICTS = "verdicts.parquet"
RECORD_FILE = "judge.json"
_WORD, _TEXT = pa.dictionary(pa.int32(), pa.string()), pa.string()
VERDICT_SCHEMA = pa.schema(
    {
        "judge": _WORD,
        "protocol": _WORD,
        "criterion": _WORD,
        "prompt": _WORD,
        "a": _WORD,
        "b": _WORD,
        "left": _WORD,
        "point": _WORD,
        "paraphrase": pa.int16(),
        "sample": pa.int16(),
        "outcome": _WORD,
        "value": pa.float64(),
        "chance": pa.float64(),
        "unparsed": _WORD,
        "failed": _WORD,
        "text": _TEXT,
        "model": _WORD,
        "tokens_in": pa.int64(),
        "tokens_out": pa.int64(),
        "cost": pa.float64(),
        "seconds": pa.float64(),
        "at": _TEXT,
    }
)
"""The columns of verdicts.parquet: the fields of `Verdict`."""


class JudgeRecord(Noun):
    """judge.json: who was asked how. It holds nothing that differs between two runs with the same answers."""

    format: Literal["salon-judge-1"] = "salon-judge-1"
    judge: str
    signature: str
    vlm: str
    """Signature of what answered."""
    study: str
    data: str
    """First twelve hex digits of the hash of the study that was judged."""
    settings: JudgeSettings
    templates: str
    """Version and hash of the texts."""
    questions: int
    unparsed: int
    failed: int
    models: tuple[str, ...] = ()
    """What the servers called the model that answered."""
    simulated: bool = False
    """True when no model answered."""


def judge_folder(study: Path | str, name: str) -> Path:
    """Where the answers of the judge `name` about the study in folder `study` are kept."""
    safe = re.sub(r"[^\w.+@-]+", "-", name).strip(".-")
    if not safe:
        raise BadValue("a judge needs a name with letters or digits", found=repr(name), remedy="give one with --name")
    return Path(study) / JUDGES / safe


def judge_names(study: Path | str) -> list[str]:
    """The folders of all judges of the study in folder `study`."""
    home = Path(study) / JUDGES
    return sorted(path.name for path in home.iterdir() if (path / VERDICTS).is_file()) if home.is_dir() else []


def write_judge(folder: Path, study: Study, verdicts: Iterable[JudgeVerdict], record: JudgeRecord) -> None:
    """Write a judge's folder, whole or not at all."""
    with whole_folder(folder.resolve()) as new:
        write_metadata(new, Metadata.of(study))
        for kind in study.counts:
            write_table(kind, study.table(kind), new / f"{kind}.parquet")
        write_verdicts(new, verdicts)
        write_json(new / RECORD_FILE, record)


def write_verdicts(folder: Path, verdicts: Iterable[JudgeVerdict] | pa.Table) -> None:
    """Write verdicts.parquet in `folder`, whole or not at all."""
    table = verdicts if isinstance(verdicts, pa.Table) else verdict_table(verdicts)
    with whole_file(Path(folder) / VERDICTS) as file:
        pq.write_table(table, file, compression="zstd", store_schema=False)


def verdict_table(verdicts: Iterable[JudgeVerdict]) -> pa.Table:
    """Verdicts as columns."""
    records = [verdict.model_dump() for verdict in verdicts]
    columns = {}
    for field in VERDICT_SCHEMA:
        values: list[Any] = [record[field.name] for record in records]
        columns[field.name] = pa.array(values, _TEXT if field.type == _WORD else field.type).cast(field.type)
    return pa.table(columns, schema=VERDICT_SCHEMA)


def read_verdicts(folder: Path | str) -> pa.Table:
    """The verdicts in a judge's folder, every column of `SCHEMA` there."""
    path = present_folder(Path(folder)) / VERDICTS
    try:
        check_rows(path)
        table = pq.read_table(arrow_file(path))
    except (OSError, pa.ArrowException) as error:
        raise BadFile(
            "the verdicts of a judge are needed",
            found=str(error),
            where=str(path),
            remedy="salon judge run STUDY makes them, in STUDY/judges/NAME",
        ) from None
    for name in ("criterion", "a"):
        if name not in table.column_names:
            raise BadColumns.missing(name, table.column_names, where=str(path))
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in VERDICT_SCHEMA
    ]
    return pa.table(columns, schema=VERDICT_SCHEMA).combine_chunks()


def read_record(folder: Path | str) -> JudgeRecord:
    """judge.json of a judge's folder."""
    path = present_folder(Path(folder)) / RECORD_FILE
    return JudgeRecord.parse(read_json(path, "the record of a judge is needed"), where=str(path))


# -- several judges ----------------------------------------------------------------------------------------------------

PointAnswers = dict[tuple[str, str, str], bool | None]
"""(criterion, item, point) -> what one judge says of it; None where it could not be read."""


class SettledPoint(Noun):
    """What the judges of its route say of one point of one item."""

    criterion: str
    item: str
    point: str
    tag: str | None
    rule: Rule
    answer: bool | None
    """None where the rule gives none: no majority, or nothing that could be read."""
    yes: int
    no: int
    unread: int

    @property
    def disputed(self) -> bool:
        """Whether some said yes and some no."""
        return bool(self.yes and self.no)


def settle_points(
    points: Sequence[Point], routes: Sequence[Route], judges: Mapping[str, PointAnswers]
) -> list[SettledPoint]:
    """What the judges say together of every point and item that any judge of its route was asked about."""
    results = []
    by_point: dict[str, list[tuple[str, str, str]]] = {}
    for key in sorted({key for given in judges.values() for key in given}):
        by_point.setdefault(key[2], []).append(key)
    for point in {point.id: point for point in points}.values():
        route = find_route(point, routes)
        for key in by_point.get(point.id, []):
            answers = [judges[name].get(key) for name in route.judges]
            results.append(
                SettledPoint(
                    criterion=key[0],
                    item=key[1],
                    point=key[2],
                    tag=point.tag,
                    rule=route.rule,
                    answer=agreed(answers, route.rule),
                    yes=sum(answer is True for answer in answers),
                    no=sum(answer is False for answer in answers),
                    unread=sum(answer is None for answer in answers),
                )
            )
    return results


def read_point_answers(study: Path, routes: Sequence[Route]) -> dict[str, PointAnswers]:
    """What every judge of the routes said, from its folder; UnknownReference for one that was not run."""
    names = judge_names(study)
    answers = {}
    for name in dict.fromkeys(name for route in routes for name in route.judges):
        folder = judge_folder(study, name)
        if folder.name not in names:
            raise UnknownReference(
                "the judges of every route must have answered",
                found=f"no answers of {name!r}",
                where=str(study),
                remedy=f"salon judge run STUDY --protocol checklist --name {name} ...; there are {', '.join(names)}",
            )
        verdicts = read_verdicts(folder)
        samples: dict[tuple[str, str, str], list[float | None]] = {}
        columns = verdicts.select(["criterion", "a", "point", "value"]).to_pylist()
        for row in columns:
            if row["point"] is not None:
                samples.setdefault((row["criterion"], row["a"], row["point"]), []).append(row["value"])
        answers[name] = {key: majority_of_samples(values) for key, values in samples.items()}
    return answers
