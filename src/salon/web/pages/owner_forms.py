"""The owner's pages with forms: raters, settings and data. A form works once, however often its page is reloaded."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
import threading
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from salon.collect import (
    ADJUDICATORS,
    ImportReport,
    Invitation,
    Studio,
    StudioSettings,
    change_settings as changed,
    current_settings_text,
    import_answers,
    languages,
    set_toml_values,
)
from salon.errors import BadFile, BadValue, SalonError
from salon.store import ENDINGS, KINDS, now_ms, read_picture, whole_file
from salon.web.api_owner import EXPORT_FORMS, pack_study
from salon.web.auth import OwnerSession, Session, get_studio, read_form
from salon.web.images import show_studio
from salon.web.pages.owner import ago, owner_page

_MOST_KEYS = 1000


async def _fields(request: Request) -> AsyncIterator[FormData]:
    form = await read_form(request)
    try:
        yield form
    finally:
        await form.close()  # files too, now that the route is done


Fields = Annotated[FormData, Depends(_fields)]
"""The fields of a form. `check_csrf` has read them before; here they are only looked up."""


def form_text(fields: FormData, name: str, *, most: int = 200, default: str | None = None) -> str:
    """One field; BadValue when it is missing, too long, or a file."""
    value = fields.get(name, default)
    if not isinstance(value, str) or len(value) > most:
        raise BadValue(f"{name}: a text of at most {most:,} characters is needed", found=_found_words(value))
    return value


def form_number(fields: FormData, name: str, *, low: int, high: int) -> int:
    """One field as a whole number between `low` and `high`."""
    text = form_text(fields, name, most=12).strip()
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise BadValue(f"{name}: a whole number from {low:,} to {high:,} is needed", found=repr(text))
    return int(text)


def form_files(fields: FormData, name: str) -> list[UploadFile]:
    """The files of one field that have something in them."""
    return [file for file in fields.getlist(name) if isinstance(file, UploadFile) and (file.filename or file.size)]


def _found_words(value: object) -> str:
    if isinstance(value, str):
        return f"{len(value):,} characters"
    return "nothing" if value is None else "a file"


class FormKeys:
    """Keys of forms that were used: loading the answer of a form again does not do it again."""

    def __init__(self) -> None:
        self._used: OrderedDict[str, None] = OrderedDict()
        self._turn = threading.Lock()

    @staticmethod
    def new() -> str:
        """A key for a form."""
        return secrets.token_urlsafe(9)

    def use(self, key: str) -> bool:
        """Whether the key is used for the first time."""
        with self._turn:
            if key in self._used:
                return False
            self._used[key] = None
            if len(self._used) > _MOST_KEYS:
                self._used.popitem(last=False)
            return True


# -- raters ---------------------------------------------------------------------------------------------------------

router = APIRouter(include_in_schema=False)

MOST_LINKS = 200
"""Links made by one form."""
RATER_CHANGES = {"pause": "paused", "resume": "at work again", "remove": "removed"}
"""What a button does, and how that is told."""
_form_keys = FormKeys()


@dataclass(frozen=True)
class RaterLink:
    """A new link; it is shown on one page and never again."""

    name: str
    address: str


@router.get("/owner/raters")
def raters(session: OwnerSession, request: Request, done: str = "", rater: str = "") -> HTMLResponse:
    """Everyone who was invited."""
    is_rater = any(entry.id == rater for entry in get_studio(request).database.raters())  # a link may say anything
    message = f"{rater} is {RATER_CHANGES[done]}." if done in RATER_CHANGES and is_rater else ""
    message = "The rater and everything they gave is erased." if done == "erase" else message
    return _raters_page(session, request, message=message)


@router.post("/owner/invite")
def invite(session: OwnerSession, request: Request, fields: Fields) -> HTMLResponse:
    """New raters of a cohort, each with a link."""
    cohort, number = form_text(fields, "cohort"), form_number(fields, "count", low=1, high=MOST_LINKS)
    get_studio(request).settings.cohort(cohort)
    if not _form_keys.use(form_text(fields, "once")):
        return _shown_before(session, request)
    invitations = get_studio(request).invite(cohort, number)
    return _raters_page(session, request, links=[_rater_link(invitation, request) for invitation in invitations])


@router.post("/owner/adjudicators")
def invite_adjudicator(session: OwnerSession, request: Request, fields: Fields) -> HTMLResponse:
    """A link for somebody who settles disputed questions."""
    if not _form_keys.use(form_text(fields, "once")):
        return _shown_before(session, request)
    invitation = get_studio(request).invite_adjudicator()
    return _raters_page(session, request, links=[_rater_link(invitation, request)])


@router.post("/owner/raters")
def change_rater(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """Pause a rater, let one go on, remove one, or give one a new link."""
    studio, rater, do = get_studio(request), form_text(fields, "rater"), form_text(fields, "do")
    if do == "reinvite":
        if not _form_keys.use(form_text(fields, "once")):
            return _shown_before(session, request)
        return _raters_page(session, request, links=[_rater_link(studio.reinvite(rater), request)])
    if do not in RATER_CHANGES:
        raise BadValue(f"one of {', '.join(RATER_CHANGES)} is needed", found=repr(do))
    getattr(studio, do)(rater)
    return _redirect_to_raters(done=do, rater=rater)


@router.get("/owner/erase")
def ask_erase(session: OwnerSession, request: Request, rater: str = "") -> HTMLResponse:
    """Ask once more, and say what goes."""
    state = get_studio(request).database.rater(rater)
    answers = get_studio(request).database.answered().get(state.id, 0)
    return owner_page("erase", session, request, here="raters", rater=state, answers=answers, said="")


@router.post("/owner/erase")
def erase(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """Erase a rater whose name was typed."""
    studio, rater = get_studio(request), form_text(fields, "rater")
    state = studio.database.rater(rater)
    if form_text(fields, "typed").strip() != rater:
        answers = studio.database.answered().get(rater, 0)
        message = "That is not the name. Nothing was erased."
        return owner_page("erase", session, request, 422, here="raters", rater=state, answers=answers, said=message)
    studio.erase(rater)
    return _redirect_to_raters(done="erase")


# -- the page -------------------------------------------------------------------------------------------------


def _raters_page(
    session: Session, request: Request, *, message: str = "", links: list[RaterLink] | None = None, status: int = 200
) -> HTMLResponse:
    studio, now = get_studio(request), now_ms()
    paid = studio.payments()
    rows = [
        vars(entry)
        | {"total": max(entry.total, entry.answered), "last": ago(entry.last_at, now)}
        | {"once": FormKeys.new(), "paid": paid[entry.rater]}
        for entry in studio.progress()
    ]
    return owner_page(
        "raters",
        session,
        request,
        status,
        said=message,
        links=links or [],
        rows=rows,
        cohorts=studio.settings.cohorts,
        wanted={cohort.id: cohort.raters for cohort in studio.settings.cohorts},
        invited={cohort.id: sum(row["cohort"] == cohort.id for row in rows) for cohort in studio.settings.cohorts},
        code=studio.settings.completion_code,
        pays=any((studio.settings.pay.per_hour, studio.settings.pay.per_answer, studio.settings.pay.flat)),
        sum_paid=sum((entry.amount for entry in paid.values()), start=0),
        currency=studio.settings.pay.currency,
        adjudicators=[entry for entry in studio.database.raters() if entry.cohort == ADJUDICATORS],
        once=FormKeys.new(),
        most=MOST_LINKS,
    )


def _rater_link(invitation: Invitation, request: Request) -> RaterLink:
    return RaterLink(invitation.rater, f"{request.app.state.settings.address}/enter/{invitation.token}")


def _shown_before(session: Session, request: Request) -> HTMLResponse:
    message = "These links were shown before, and a link is shown only once. Whoever has none can be given a new one."
    return _raters_page(session, request, message=message, status=409)


def _redirect_to_raters(**query: str) -> RedirectResponse:
    return RedirectResponse(f"/owner/raters?{urlencode(query)}", 303)


# -- settings -------------------------------------------------------------------------------------------------------

MOST_TEXT = 500_000
"""Characters of a studio.toml, and of each text in the form."""
NUMBERS = {
    "times.guidelines": "Guidelines",
    "times.prompt": "Prompt alone",
    "times.ready_after": "Before “I’m ready”",
    "times.compare": "Two or more pictures",
    "times.rate": "One picture",
    "break_minutes": "Minutes until a break is suggested",
}
"""Fields of the form that hold numbers, by TOML key."""
TEXTS = ("language", "consent.version", "consent.text", "guidelines", "completion_code")


@router.get("/owner/settings")
def settings(session: OwnerSession, request: Request, saved: bool = False) -> HTMLResponse:
    """How the studio works."""
    return _settings_page(session, request, current_settings_text(get_studio(request)), saved=saved)


@router.post("/owner/settings")
async def change_settings(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """A new studio.toml, typed or uploaded."""
    files = form_files(fields, "file")
    text = _decode_toml(await files[0].read()) if files else form_text(fields, "text", most=MOST_TEXT)
    return await run_in_threadpool(_apply_settings, session, request, fields, text.replace("\r\n", "\n"))


@router.post("/owner/settings/plain")
def change_plain(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """The plain things, set in the studio.toml there is."""
    before = current_settings_text(get_studio(request))
    try:
        text = set_toml_values(before, _values(fields, get_studio(request).settings))
    except SalonError as error:
        return _settings_page(session, request, before, wrong=error, fields=fields)
    return _apply_settings(session, request, fields, text)


def _apply_settings(session: Session, request: Request, fields: FormData, text: str) -> Response:
    """The page anew with what is wrong, or the studio changed."""
    studio = get_studio(request)
    try:
        if form_text(fields, "seen") != _text_mark(current_settings_text(studio)):
            raise BadValue(
                "the newest studio.toml is needed to change it",
                found="an older one: it was changed meanwhile",
                remedy="compare with what stands there now, and save again",
            )
        show_studio(request.app, changed(studio, text))
    except SalonError as error:
        return _settings_page(session, request, text, wrong=error, fields=fields)
    return RedirectResponse("/owner/settings?saved=true", 303)


def _values(fields: FormData, before: StudioSettings) -> dict[str, Any]:
    values: dict[str, Any] = {name: _number(fields, name) for name in NUMBERS}
    values |= {name: form_text(fields, name, most=MOST_TEXT).replace("\r\n", "\n").strip() for name in TEXTS}
    values["completion_code"] = values["completion_code"] or None
    same_version = values["consent.version"] == before.consent.version
    if same_version and values["consent.text"] != before.consent.text.strip() and before.consent.text:
        raise BadValue(
            "consent.version: a new text needs a new version, so that raters agree to it",
            found=f"version {before.consent.version!r} with another text",
        )
    return values


def _number(fields: FormData, name: str) -> float:
    text = form_text(fields, name, most=20).strip()
    try:
        return float(text)
    except ValueError:
        raise BadValue(f"{name}: a number is needed", found=repr(text)) from None


def _decode_toml(data: bytes) -> str:
    text = data[: MOST_TEXT + 1].decode("utf-8", "replace")
    if len(text) > MOST_TEXT or "\x00" in text:
        raise BadValue("a studio.toml is needed", found="a file that is too long, or no text")
    return text


# -- the page -------------------------------------------------------------------------------------------------


def _settings_page(
    session: Session,
    request: Request,
    text: str,
    *,
    wrong: SalonError | None = None,
    fields: FormData | None = None,
    saved: bool = False,
) -> HTMLResponse:
    studio = get_studio(request)
    now = studio.settings.model_dump(mode="json")
    typed = {name: str(value) for name, value in fields.items()} if fields else {}
    agreed: Counter[str] = Counter()  # raters who agreed to each version of the consent text
    for rater in studio.database.raters():
        if rater.cohort in studio.plan.runs:
            agreed.update(studio.database.consents(rater.id).keys())
    return owner_page(
        "settings",
        session,
        request,
        422 if wrong else 200,
        text=text,
        seen=_text_mark(current_settings_text(studio)),
        wrong=wrong,
        saved=saved and wrong is None,
        numbers=[(name, label, typed.get(name, f"{_at(now, name):g}")) for name, label in NUMBERS.items()],
        texts={name: typed.get(name, _at(now, name) or "") for name in TEXTS},
        languages=languages(),
        agreed=agreed,
        keys=list(_keys(StudioSettings)),
    )


def _at(record: dict[str, Any], name: str) -> Any:
    for part in name.split("."):
        record = record[part]
    return record


def _keys(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, str, str]]:
    """Every key of studio.toml: its name, what it means, and what stands there when it is left out."""
    for name, field in model.model_fields.items():
        inner = _model_in(field.annotation)
        default = (
            "needed" if field.is_required() else "" if inner else f"{field.get_default(call_default_factory=True)}"
        )
        yield f"{path}{name}", field.description or "", default
        if inner is not None:
            yield from _keys(inner, f"{path}{name}.")


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model behind a key: itself, one of several, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = (_model_in(part) for part in getattr(annotation, "__args__", ()))
    return next((model for model in models if model is not None), None)


def _text_mark(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# -- data -----------------------------------------------------------------------------------------------------------

REFERENCES = "references"
"""Folder of uploaded pictures, inside the study."""
GZIP_START = b"\x1f\x8b"
"""How gzip files begin."""
_SUFFIXES = frozenset({".json", ".jsonl", ".csv", ".tsv", ".parquet", ".soc", ".soi", ".toc", ".toi", ".order", ".dat"})


@dataclass(frozen=True)
class UploadedPicture:
    """What became of one uploaded picture."""

    name: str
    path: str = ""
    """Where it is now, as studio.toml names it; empty when it was refused."""
    words: str = ""


@router.get("/owner/data")
def data(session: OwnerSession, request: Request) -> HTMLResponse:
    """What can go out, and come in."""
    return _data_page(session, request)


@router.get("/owner/export")
def export(session: OwnerSession, request: Request, to: str = "parquet", images: bool = False) -> FileResponse:
    """The study as it stands now, as a zip."""
    return pack_study(get_studio(request), to, images=images)


@router.post("/owner/import")
async def import_file(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """Answers of another tool, into the study."""
    files = form_files(fields, "file")
    criterion, kind = form_text(fields, "criterion"), form_text(fields, "kind", default="")
    if not files:
        return _data_page(session, request, wrong=BadFile("a file is needed", found="none"))
    data = await files[0].read()
    only_known = "only_known" in fields
    try:
        report = await run_in_threadpool(
            _import_answers, get_studio(request), data, files[0].filename or "", criterion, kind or None, only_known
        )
    except SalonError as error:
        return _data_page(session, request, wrong=error)
    return _data_page(session, request, report=report)


def _import_answers(
    studio: Studio, data: bytes, name: str, criterion: str, kind: str | None, only_known: bool
) -> ImportReport:
    """The file is kept under a name of our own while it is read; what is wrong with it is told without that name.

    Packed files are refused: 64 MB of them unpack to more than any server has.
    """
    if data.startswith(GZIP_START):
        raise BadFile("a file that is not packed is needed", found="a gzip file", remedy="unpack it first")
    suffix = Path(name).suffix.lower()
    with tempfile.TemporaryDirectory(prefix="salon-import-") as room:
        path = Path(room) / f"answers{suffix if suffix in _SUFFIXES else '.txt'}"
        path.write_bytes(data)
        try:
            return import_answers(studio, path, criterion=criterion, kind=kind, only_known=only_known)
        except SalonError as error:
            needed, what, remedy = (
                str(part or "").replace(str(path), "the file")
                for part in (
                    f"{error.where}: {error.needed}" if error.where else error.needed,
                    error.found,
                    error.remedy,
                )
            )
            raise type(error)(needed, found=what or None, remedy=remedy or None) from None


@router.post("/owner/pictures")
async def pictures(session: OwnerSession, request: Request, fields: Fields) -> Response:
    """Pictures for the reference panel, each decoded whole before it is kept."""
    uploads = []
    for upload in form_files(fields, "files"):
        uploads.append(
            await run_in_threadpool(
                _keep_picture, get_studio(request).folder, upload.filename or "", await upload.read()
            )
        )
    if not uploads:
        return _data_page(session, request, wrong=BadFile("pictures are needed", found="none"))
    paths = [upload.path for upload in uploads if upload.path]
    if paths:
        get_studio(request).database.note("owner", "pictures uploaded", count=len(paths))
    return _data_page(session, request, uploads=uploads)


def _keep_picture(folder: Path, name: str, data: bytes) -> UploadedPicture:
    """Named by content: nothing of the name that was sent becomes a path."""
    short_name = name[-80:]
    try:
        picture = read_picture(data)
    except SalonError as error:
        return UploadedPicture(short_name, words=f"{error.needed}, found {error.found}")
    plain, form = picture.plain()
    place = folder / REFERENCES / f"{picture.sha256[:24]}{ENDINGS[form]}"
    place.parent.mkdir(exist_ok=True)
    with whole_file(place) as file:
        file.write(plain)
    return UploadedPicture(short_name, f"{REFERENCES}/{place.name}", f"{form}, {picture.width} × {picture.height}")


def _data_page(
    session: Session,
    request: Request,
    *,
    wrong: SalonError | None = None,
    report: ImportReport | None = None,
    uploads: list[UploadedPicture] | None = None,
) -> HTMLResponse:
    studio = get_studio(request)
    folder = studio.folder / REFERENCES
    there = sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []
    return owner_page(
        "data",
        session,
        request,
        422 if wrong else 200,
        wrong=wrong,
        report=report,
        taken=uploads or [],
        forms=EXPORT_FORMS,
        kinds={name: form.about for name, form in KINDS.items() if not form.folder},
        criteria=[(id, criterion.title) for id, criterion in studio.criteria.items()],
        references=[f"{REFERENCES}/{name}" for name in there],
        most=request.app.state.settings.most_upload >> 20,
    )
