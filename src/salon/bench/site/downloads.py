"""What can be downloaded: the board as JSON and CSV, results of every entry, prompts, snapshots.

Of private prompts there is nothing but numbers: no text, no points, no reasons.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from salon.bench.entry import AxisResult, EntryResult, PictureResult
from salon.bench.site.frame import SitePage
from salon.bench.site.prompt_pages import point_text
from salon.bench.site.site_data import SiteData, SiteEntry
from salon.report import Column, Section, Table, numbers
from salon.report.svg import element
from salon.study.nouns import Noun

FORMAT: Final = "salon.site/1"
HIDDEN: dict[str, object] = {"points": {}, "said": {}, "missing": None, "image": None}
"""What is left of a picture of a private prompt: its numbers."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Download:
    """A file below data/."""

    path: str
    about: str
    data: bytes


def downloads(material: SiteData) -> Iterator[Download]:
    """Every file, in the order they are listed."""
    yield Download("board.json", "The board: axes, intervals, ranks, tie groups", _json(board_document(material)))
    yield Download("board.csv", "The same as a table", board_csv(material))
    yield Download("prompts.csv", "Prompts with tags and points", prompts_csv(material))
    for one in (*material.published, *material.provisional):
        if one.result:
            path = f"results/{material.entry_pages[one.name]}.json"
            yield Download(
                path, f"Every answer and score of {material.labels[one.name]}", _noun(public_result(material, one))
            )
    for snapshot in material.arenas:
        yield Download(f"arena/{snapshot.number:04}.json", "What raters say", _noun(snapshot))
    for tables in material.raters:
        yield Download(f"raters/{tables.number:04}.json", "What raters are worth", _noun(tables))


def board_document(material: SiteData) -> dict[str, Any]:
    """data/board.json; the front page's numbers name their paths in it."""
    card = material.suite.card
    return {
        "format": FORMAT,
        "title": material.title,
        "suite": {
            "name": card.name,
            "version": card.version,
            "hash": material.suite.hash,
            "files": material.suite.hashes,
        },
        "axes": [{"id": axis.id, "title": axis.title, "about": axis.hint} for axis in material.axes],
        "entries": [_entry_record(material, one) for one in material.published],
        "provisional": [_entry_record(material, one) for one in material.provisional],
        "retracted": [
            {"name": one.name, "reason": one.retraction.reason, "at": one.retraction.at} for one in material.retracted
        ],
    }


def _entry_record(material: SiteData, one: SiteEntry) -> dict[str, Any]:
    entry, result = one.entry, one.result
    record: dict[str, Any] = {
        "name": entry.name,
        "title": entry.title,
        "by": entry.by,
        "generator": entry.generator,
        "licence": entry.licence,
    }
    if result is None:
        return record
    axes = {
        axis.id: _axis_record(material, one, axis.id, found) for axis in material.axes if (found := axis.of(result))
    }
    return record | {
        "axes": axes,
        "points": _axis_record(material, one, "points", result.points),
        "oracle": _axis_record(material, one, "oracle", result.oracle) if result.oracle else None,
        "digest": result.digest,
        "signature": result.signature_line,
    }


def _axis_record(material: SiteData, one: SiteEntry, axis: str, found: AxisResult) -> dict[str, Any]:
    standing = material.standing.get(axis, {}).get(one.name) if one.published else None
    ranks = {"rank": standing.rank, "rank_low": standing.low, "rank_high": standing.high, "tier": standing.tier,
             "tied": list(standing.tied)} if standing else {}  # fmt: skip
    return asdict(found.figure) | {"at_best": found.at_best, "coverage": found.coverage.model_dump()} | ranks


def board_csv(material: SiteData) -> bytes:
    """One row for each published entry."""
    head = ["entry", "title", "by", "licence"]
    for axis in material.axes:
        head += [axis.id, *(f"{axis.id}_{part}" for part in ("low", "high", "rank", "rank_low", "rank_high", "tier"))]
    head += ["oracle", "digest", "signature"]
    return _csv(head, (_csv_row(material, one) for one in material.published))


def _csv_row(material: SiteData, one: SiteEntry) -> list[object]:
    row: list[object] = [one.entry.name, one.entry.title, one.entry.by, one.entry.licence]
    for axis in material.axes:
        found, standing = axis.of(one.computed), material.standing[axis.id].get(one.name)
        row += [found.figure.value, found.figure.low, found.figure.high] if found else [None] * 3
        row += [standing.rank, standing.low, standing.high, standing.tier] if standing else [None] * 4
    oracle = one.computed.oracle
    return [*row, oracle.figure.value if oracle else None, one.computed.digest, one.computed.signature_line]


def prompts_csv(material: SiteData) -> bytes:
    """One row for each point of each prompt; of a private one only its tag and digest."""
    points: dict[str, list[str]] = {}
    for point in material.suite.points:
        points.setdefault(point.prompt or "", []).append(point_text(point))
    rows = []
    for one in material.suite.prompts:
        tag = material.suite.tag_of(one.prompt.id)
        asked = [] if one.private else [*points.get("", []), *points.get(one.prompt.id, [])]
        known = [one.prompt.id, tag.id, tag.group, int(tag.eps), int(one.private), one.digest]
        rows += [[*known, material.words_of(one), text] for text in asked or [""]]
    return _csv(["prompt", "tag", "group", "eps", "private", "digest", "text", "point"], rows)


def public_result(material: SiteData, one: SiteEntry) -> EntryResult:
    """A result without what would give private prompts away."""
    private = {prompt.prompt.id for prompt in material.suite.prompts if prompt.private}
    return _hidden(one.computed, private)


def _hidden(result: EntryResult, private: set[str]) -> EntryResult:
    def hide(picture: PictureResult) -> PictureResult:
        return picture.model_copy(update=HIDDEN)

    prompts = tuple(
        prompt.model_copy(update={"pictures": tuple(map(hide, prompt.pictures))})
        if prompt.prompt in private
        else prompt
        for prompt in result.prompts
    )
    return result.model_copy(update={"prompts": prompts})


def downloads_page(material: SiteData, files: Sequence[tuple[str, str, int]]) -> SitePage:
    """data/index.html: (path, about, bytes) of every file."""
    rows = [
        {"file": element("a", path, href=path, download=""), "about": about, "size": size}
        for path, about, size in files
    ]
    columns = [Column("file", "File"), Column("about", "What"), Column("size", "Bytes", "count")]
    return SitePage(
        path="data/index.html",
        title="Data",
        subtitle="Every number of this site, to compute with.",
        head=material.head,
        sections=[Section("Files", [Table(columns, rows, label="Files")], "JSON as the board keeps it; CSV in UTF-8.")],
        notes=[
            "In results, points, answers and pictures of private prompts are left out; their numbers are not.",
            "In CSV files a text that a spreadsheet would take for a formula begins with an apostrophe.",
            f"{numbers.count(len(files))} files.",
        ],
    )


def _noun(held: Noun) -> bytes:
    """The same JSON, from the noun itself: ten times as fast where there are thousands of answers."""
    return (held.model_dump_json(indent=1) + "\n").encode()


def _json(record: object) -> bytes:
    return (json.dumps(record, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def _csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    target = io.StringIO(newline="")
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_inert(cell) for cell in row] for row in rows)
    return target.getvalue().encode()


def _inert(cell: object) -> object:
    """A text that no spreadsheet runs."""
    if cell is None:
        return ""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
