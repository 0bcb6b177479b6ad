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

from salon.bench.entry import AxisResult, EntryResult
from salon.bench.site.frame import SitePage
from salon.bench.site.prompt_pages import point_text
from salon.bench.site.site_data import SiteData, SiteEntry
from salon.report import Column, Section, Table, element, numbers
from salon.study import Noun

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


def downloads(site: SiteData) -> Iterator[Download]:
    """Every file, in the order they are listed."""
    yield Download(
        "board.json",
        "The board: axes, intervals, ranks, tie groups",
        (json.dumps(board_document(site), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode(),
    )
    yield Download("board.csv", "The same as a table", board_csv(site))
    yield Download("prompts.csv", "Prompts with tags and points", prompts_csv(site))
    for site_entry in (*site.published, *site.provisional):
        if site_entry.result:
            path = f"results/{site.entry_pages[site_entry.name]}.json"
            yield Download(
                path,
                f"Every answer and score of {site.labels[site_entry.name]}",
                _noun(public_result(site, site_entry)),
            )
    for snapshot in site.arenas:
        yield Download(f"arena/{snapshot.number:04}.json", "What raters say", _noun(snapshot))
    for tables in site.raters:
        yield Download(f"raters/{tables.number:04}.json", "What raters are worth", _noun(tables))


def board_document(site: SiteData) -> dict[str, Any]:
    """data/board.json; the front page's numbers name their paths in it."""
    card = site.suite.card
    return {
        "format": FORMAT,
        "title": site.title,
        "suite": {"name": card.name, "version": card.version, "hash": site.suite.hash, "files": site.suite.hashes},
        "axes": [{"id": axis.id, "title": axis.title, "about": axis.hint} for axis in site.axes],
        "entries": [_entry_record(site, site_entry) for site_entry in site.published],
        "provisional": [_entry_record(site, site_entry) for site_entry in site.provisional],
        "retracted": [
            {"name": site_entry.name, "reason": site_entry.retraction.reason, "at": site_entry.retraction.at}
            for site_entry in site.retracted
        ],
    }


def _entry_record(site: SiteData, site_entry: SiteEntry) -> dict[str, Any]:
    entry, result = site_entry.entry, site_entry.result
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
        axis.id: _axis_record(site, site_entry, axis.id, axis_result)
        for axis in site.axes
        if (axis_result := axis.of(result))
    }
    return record | {
        "axes": axes,
        "points": _axis_record(site, site_entry, "points", result.points),
        "oracle": _axis_record(site, site_entry, "oracle", result.oracle) if result.oracle else None,
        "digest": result.digest,
        "signature": result.signature_line,
    }


def _axis_record(site: SiteData, site_entry: SiteEntry, axis: str, axis_result: AxisResult) -> dict[str, Any]:
    standing = site.standing.get(axis, {}).get(site_entry.name) if site_entry.published else None
    ranks = {"rank": standing.rank, "rank_low": standing.low, "rank_high": standing.high, "tier": standing.tier,
             "tied": list(standing.tied)} if standing else {}  # fmt: skip
    return (
        asdict(axis_result.figure)
        | {"at_best": axis_result.at_best, "coverage": axis_result.coverage.model_dump()}
        | ranks
    )


def board_csv(site: SiteData) -> bytes:
    """One row for each published entry."""
    head = ["entry", "title", "by", "licence"]
    for axis in site.axes:
        head += [axis.id, *(f"{axis.id}_{part}" for part in ("low", "high", "rank", "rank_low", "rank_high", "tier"))]
    head += ["oracle", "digest", "signature"]
    return _csv(head, (_csv_row(site, site_entry) for site_entry in site.published))


def _csv_row(site: SiteData, site_entry: SiteEntry) -> list[object]:
    row: list[object] = [site_entry.entry.name, site_entry.entry.title, site_entry.entry.by, site_entry.entry.licence]
    for axis in site.axes:
        axis_result, standing = axis.of(site_entry.computed), site.standing[axis.id].get(site_entry.name)
        row += (
            [axis_result.figure.value, axis_result.figure.low, axis_result.figure.high] if axis_result else [None] * 3
        )
        row += [standing.rank, standing.low, standing.high, standing.tier] if standing else [None] * 4
    oracle = site_entry.computed.oracle
    return [
        *row,
        oracle.figure.value if oracle else None,
        site_entry.computed.digest,
        site_entry.computed.signature_line,
    ]


def prompts_csv(site: SiteData) -> bytes:
    """One row for each point of each prompt; of a private one only its tag and digest."""
    points: dict[str, list[str]] = {}
    for point in site.suite.points:
        points.setdefault(point.prompt or "", []).append(point_text(point))
    rows = []
    for prompt in site.suite.prompts:
        tag = site.suite.tag_of(prompt.id)
        texts = [] if prompt.private else [*points.get("", []), *points.get(prompt.id, [])]
        fields = [prompt.id, tag.id, tag.group, int(tag.eps), int(prompt.private), prompt.digest]
        rows += [[*fields, site.words_of(prompt), text] for text in texts or [""]]
    return _csv(["prompt", "tag", "group", "eps", "private", "digest", "text", "point"], rows)


def public_result(site: SiteData, site_entry: SiteEntry) -> EntryResult:
    """A result without what would give private prompts away."""
    result = site_entry.computed
    prompts = [
        prompt.model_copy(update={"pictures": tuple(p.model_copy(update=HIDDEN) for p in prompt.pictures)})
        if prompt.prompt in site.suite.private
        else prompt
        for prompt in result.prompts
    ]
    return result.model_copy(update={"prompts": tuple(prompts)})


def downloads_page(site: SiteData, files: Sequence[tuple[str, str, int]]) -> SitePage:
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
        head=site.head,
        sections=[Section("Files", [Table(columns, rows, label="Files")], "JSON as the board keeps it; CSV in UTF-8.")],
        notes=[
            "In results, points, answers and pictures of private prompts are left out; their numbers are not.",
            "In CSV files a text that a spreadsheet would take for a formula begins with an apostrophe.",
            f"{numbers.count(len(files))} files.",
        ],
    )


def _noun(noun: Noun) -> bytes:
    """The same JSON, from the noun itself: ten times as fast where there are thousands of answers."""
    return (noun.model_dump_json(indent=1) + "\n").encode()


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
