"""Answers from elsewhere into a running study: a Label Studio or Argilla export, a table of votes, any known file.

The file is read as a study of its own, its items and criteria are found among those of the studio, and all of it is
validated together before one row is written. Raters of the file become raters of the cohort `imported`, under names
that no rater of the studio has. The same file again changes nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.collect.studio.studio import Studio
from salon.errors import BadValue, UnknownReference
from salon.store import KIND_OF, ImportOptions, Policies, format_named, import_files, judged_items, recognize
from salon.study import JUDGMENTS, Item, Judgment, Rater, Study, table_from_nouns

IMPORTED = "imported"
"""The cohort of raters that came with a file, and what their names begin with."""


@dataclass(frozen=True)
class ImportReport:
    """What became of a file."""

    kind: str
    about: str
    judgments: dict[str, int]
    """By criterion."""
    raters: int
    notes: tuple[str, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    repeated: bool = False
    """The same file was imported before; nothing was written now."""


def import_answers(
    studio: Studio, path: Path, *, criterion: str, kind: str | None = None, only_known: bool = False
) -> ImportReport:
    """Put the answers of a file into the study of a studio.

    criterion     what they are about, where the file does not name a criterion of the study
    only_known    leave out answers about items that the study does not have, instead of refusing the file
    """
    if criterion not in studio.criteria:
        raise BadValue("a criterion of the study is needed", found=repr(criterion))
    kind = kind or recognize(path)
    result = import_files(kind, [path], ImportOptions(policies=Policies(criterion_id=criterion)))
    left_out = Counter(result.left_out)
    people = {
        rater.id: rater.model_copy(update={"id": f"{IMPORTED}-{rater.id}", "cohort": IMPORTED})
        for rater in result.study.nouns("raters")
    }
    items = _item_map(studio, result.study)
    answers = []
    judgments = (noun for table in JUDGMENTS for noun in result.study.nouns(table) if isinstance(noun, Judgment))
    for judgment in judgments:
        unknown = [item for item in judged_items(judgment) if item not in items]
        if unknown and not only_known:
            size = result.study.table("items").num_rows
            raise UnknownReference(
                "items of this study are needed, by id or by the name of their picture",
                found=f"{unknown[0]!r}; {len(items)} of the file's {size} items are known here",
                remedy="leave out answers about other items, or name the items as the gallery does",
            )
        if unknown:
            left_out["about items that are not in this study"] += 1
        else:
            about = judgment.criterion if judgment.criterion in studio.criteria else criterion
            answers.append(_translate(judgment, people, items, about))
    if not answers:
        raise BadValue("a file with answers about items of this study is needed", found="none in it")
    new = [people[id] for id in dict.fromkeys(answer.rater.removeprefix(f"{IMPORTED}-") for answer in answers)]
    key = f"import {hashlib.sha256(path.read_bytes()).hexdigest()}"
    if not studio.database.has_key(key):
        _check_together(studio, new, answers)
    saved = studio.database.add_judgments(
        [(answer.rater, answer) for answer in answers], key=key, what="file imported", new=new
    )
    counts = Counter(answer.criterion for answer in answers)
    return ImportReport(
        kind, format_named(kind).about, dict(counts), len(new), result.notes, dict(left_out), saved.repeated
    )


def _item_map(studio: Studio, study: Study) -> dict[str, str]:
    """Items of the file by what they are called in the studio: by id, or else by the name of their picture."""
    by_name = Counter(_picture(item) for item in studio.items.values())
    names = {_picture(item): item.id for item in studio.items.values() if by_name[_picture(item)] == 1}
    matches: dict[str, str] = {}
    for item in study.nouns("items"):
        same = item.id if item.id in studio.items else names.get(_picture(item)) or names.get(_last(item.id))
        if same is not None:
            matches[item.id] = same
    twice = [id for id, n in Counter(matches.values()).items() if n > 1]
    if twice:
        raise BadValue("each item of the study may stand once in the file", found=f"{twice[0]!r} under two names")
    return matches


def _picture(item: Item) -> str:
    return _last(item.image or item.id)


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


def _translate(judgment: Judgment, people: dict[str, Rater], items: dict[str, str], criterion: str) -> Judgment:
    changes: dict[str, Any] = {"rater": people[judgment.rater].id, "criterion": criterion}
    for name in ("a", "b", "item", "chosen"):
        value = getattr(judgment, name, None)
        if value is not None:
            changes[name] = items[value]
    if hasattr(judgment, "items"):
        changes["items"] = tuple(items[item] for item in judgment.items)
    return judgment.model_copy(update=changes)


def _check_together(studio: Studio, new: list[Rater], answers: list[Judgment]) -> None:
    """Validate the study as it would be: what is written cannot spoil a reading afterwards."""
    study = studio.database.read_study()
    tables: dict[str, Any] = dict(study.tables)
    added: dict[str, list[Any]] = {"raters": new}
    for answer in answers:
        added.setdefault(KIND_OF[type(answer)], []).append(answer)
    for kind, nouns in added.items():
        more = table_from_nouns(kind, nouns)
        tables[kind] = pa.concat_tables([study.table(kind), more], promote_options="permissive")
    Study.build(study.name, study.criteria, tables=tables, compare_within=study.compare_within)
