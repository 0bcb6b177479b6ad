"""study.toml: all of a study but its tables."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import tomli_w
from pydantic import Field, model_validator

from salon.errors import BadFile
from salon.store.atomic import whole_file
from salon.study import Cohort, Criterion, Design, Revision, Study
from salon.study.noun import Noun
from salon.study.study import FIRST, CompareWithin

FORMAT = 1
"""The version of the folder format this Salon writes, and the newest it reads."""
FILE = "study.toml"


class Metadata(Noun):
    """The contents of study.toml, in the order they are written."""

    format: int = FORMAT
    name: str = Field(min_length=1)
    compare_within: CompareWithin = "prompt"
    simulated: bool = False
    note: str | None = None
    excel_safe: bool = False
    """Text cells of its CSV tables have an apostrophe where a spreadsheet would see a formula."""
    design: Design = Design()
    criteria: tuple[Criterion, ...] = ()
    cohorts: tuple[Cohort, ...] = ()
    revisions: tuple[Revision, ...] = Field(default=(FIRST,), min_length=1)

    @model_validator(mode="after")
    def _revisions_go_up(self) -> Metadata:
        numbers = [revision.number for revision in self.revisions]
        if any(later <= earlier for earlier, later in pairwise(numbers)):
            raise ValueError(f"revisions are numbered upwards, found {numbers}")
        return self

    @classmethod
    def of(cls, study: Study) -> Self:
        """What study.toml says about `study`."""
        names = [name for name in cls.model_fields if name not in ("format", "excel_safe")]
        return cls.parse({name: getattr(study, name) for name in names}, where=f"study {study.name!r}")

    def study(self, tables: dict[str, pa.Table], *, where: str) -> Study:
        """The validated study with these tables."""
        rest = {name: getattr(self, name) for name in type(self).model_fields if name not in _GIVEN}
        return Study.build(self.name, self.criteria, tables=tables, where=where, conformed=True, **rest)


_GIVEN = {"format", "name", "criteria", "excel_safe"}


def write_metadata(folder: Path, metadata: Metadata) -> None:
    """Write study.toml, whole or not at all."""
    with whole_file(folder / FILE) as file:
        file.write(_as_toml(metadata).encode())


def _as_toml(metadata: Metadata) -> str:
    """One table per criterion, cohort and revision whatever its length, so that a changed line stays a changed line."""
    record = metadata.record()
    if not metadata.excel_safe:
        record.pop("excel_safe", None)
    lists = {name: record.pop(name) for name in ("criteria", "cohorts", "revisions")}
    tables = [("[design]", record.pop("design")), *((f"[[{name}]]", one) for name in lists for one in lists[name])]
    return "\n".join([tomli_w.dumps(record), *(_table(head, fields) for head, fields in tables)])


def _table(head: str, fields: dict[str, Any]) -> str:
    given = {name: value for name, value in fields.items() if value != []}
    inner = {name: given.pop(name) for name, value in fields.items() if isinstance(value, dict)}
    below = [_table(f"[{head.strip('[]')}.{name}]", value) for name, value in inner.items()]
    return "\n".join([head, tomli_w.dumps(given), *below])


def read_metadata(folder: Path) -> Metadata:
    """study.toml as it stands in `folder`, or BadFile or BadValue with the place of the fault."""
    path = folder / FILE
    record = _parse(path)
    _check_format(record.get("format"), path)
    return Metadata.parse(record, where=str(path))


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = f"{path}:{line[1]}" if line else str(path)
        raise BadFile("a study.toml in TOML is needed", found=error, where=place, remedy=_REMEDY) from None
    except UnicodeDecodeError as error:
        raise BadFile("a study.toml in UTF-8 is needed", found=error, where=str(path), remedy=_REMEDY) from None
    except (OSError, RecursionError) as error:
        raise BadFile("a study.toml that can be read is needed", found=error, where=str(path)) from None


def _check_format(number: object, path: Path) -> None:
    if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= FORMAT:
        return
    newer = isinstance(number, int) and number > FORMAT
    raise BadFile(
        f"study.toml with format = {FORMAT} is needed",
        found="no format" if number is None else f"format = {number!r}",
        where=str(path),
        remedy="a newer Salon wrote it: update Salon" if newer else f"write format = {FORMAT} as its first line",
    )


_REMEDY = "correct the line; docs/data.md shows a whole study.toml"
