"""The owner's page of data: the study out in many forms, answers of other tools in, pictures for reference."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, HTMLResponse, Response

from salon.collect.studio.imported import ImportReport, import_answers
from salon.collect.studio.studio import Studio
from salon.errors import BadFile, SalonError
from salon.store.atomic import whole_file
from salon.store.formats import KINDS
from salon.store.pictures import ENDINGS, read_picture
from salon.web.auth import OwnerSession, Session, studio_of
from salon.web.packing import FORMS, packed
from salon.web.pages.owner import owner_page
from salon.web.pages.owner_form import Fields, files_of, text_of

router = APIRouter(include_in_schema=False)

REFERENCES = "references"
"""Folder of uploaded pictures, inside the study."""
PACKED = b"\x1f\x8b"
"""How gzip files begin."""
_SUFFIXES = frozenset({".json", ".jsonl", ".csv", ".tsv", ".parquet", ".soc", ".soi", ".toc", ".toi", ".order", ".dat"})


@dataclass(frozen=True)
class Taken:
    """What became of one uploaded picture."""

    name: str
    path: str = ""
    """Where it is now, as studio.toml names it; empty when it was refused."""
    words: str = ""


@router.get("/owner/data")
def data(session: OwnerSession, request: Request) -> HTMLResponse:
    """What can go out, and come in."""
    return _page(session, request)


@router.get("/owner/export")
def export(session: OwnerSession, request: Request, to: str = "parquet", images: bool = False) -> FileResponse:
    """The study as it stands now, as a zip."""
    return packed(studio_of(request), to, images=images)


@router.post("/owner/import")
async def import_file(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """Answers of another tool, into the study."""
    files = files_of(fields, "file")
    criterion, kind = text_of(fields, "criterion"), text_of(fields, "kind", default="")
    if not files:
        return _page(session, request, wrong=BadFile("a file is needed", found="none"))
    given = await files[0].read()
    only_known = "only_known" in fields
    try:
        report = await run_in_threadpool(
            _imported, studio_of(request), given, files[0].filename or "", criterion, kind or None, only_known
        )
    except SalonError as error:
        return _page(session, request, wrong=error)
    return _page(session, request, report=report)


def _imported(
    studio: Studio, given: bytes, name: str, criterion: str, kind: str | None, only_known: bool
) -> ImportReport:
    """The file is kept under a name of our own while it is read; what is wrong with it is told without that name.

    Packed files are refused: 64 MB of them unpack to more than any server has.
    """
    if given.startswith(PACKED):
        raise BadFile("a file that is not packed is needed", found="a gzip file", remedy="unpack it first")
    suffix = Path(name).suffix.lower()
    with tempfile.TemporaryDirectory(prefix="salon-import-") as room:
        path = Path(room) / f"answers{suffix if suffix in _SUFFIXES else '.txt'}"
        path.write_bytes(given)
        try:
            return import_answers(studio, path, criterion=criterion, kind=kind, only_known=only_known)
        except SalonError as error:
            needed, found, remedy = (str(part or "").replace(str(path), "the file") for part in _parts(error))
            raise type(error)(needed, found=found or None, remedy=remedy or None) from None


def _parts(error: SalonError) -> tuple[object, object, object]:
    return f"{error.where}: {error.needed}" if error.where else error.needed, error.found, error.remedy


@router.post("/owner/pictures")
async def pictures(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """Pictures for the reference panel, each decoded whole before it is kept."""
    taken = []
    for one in files_of(fields, "files"):
        taken.append(await run_in_threadpool(_taken, studio_of(request).folder, one.filename or "", await one.read()))
    if not taken:
        return _page(session, request, wrong=BadFile("pictures are needed", found="none"))
    kept = [one.path for one in taken if one.path]
    if kept:
        studio_of(request).database.note("owner", "pictures uploaded", count=len(kept))
    return _page(session, request, taken=taken)


def _taken(folder: Path, name: str, data: bytes) -> Taken:
    """Named by content: nothing of the name that was sent becomes a path."""
    shown = name[-80:]
    try:
        picture = read_picture(data)
    except SalonError as error:
        return Taken(shown, words=f"{error.needed}, found {error.found}")
    kept, form = picture.plain()
    place = folder / REFERENCES / f"{picture.sha256[:24]}{ENDINGS[form]}"
    place.parent.mkdir(exist_ok=True)
    with whole_file(place) as file:
        file.write(kept)
    return Taken(shown, f"{REFERENCES}/{place.name}", f"{form}, {picture.width} × {picture.height}")


def _page(
    session: Session,
    request: Request,
    *,
    wrong: SalonError | None = None,
    report: ImportReport | None = None,
    taken: list[Taken] | None = None,
) -> HTMLResponse:
    studio = studio_of(request)
    folder = studio.folder / REFERENCES
    there = sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []
    return owner_page(
        "data",
        session,
        request,
        422 if wrong else 200,
        wrong=wrong,
        report=report,
        taken=taken or [],
        forms=FORMS,
        kinds={name: form.about for name, form in KINDS.items() if not form.folder},
        criteria=[(id, criterion.title) for id, criterion in studio.criteria.items()],
        references=[f"{REFERENCES}/{name}" for name in there],
        most=request.app.state.settings.most_upload >> 20,
    )
