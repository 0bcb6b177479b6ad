"""Errors over HTTP: JSON for /api and /v1, a page for everyone else. Never a traceback, never a path.

    SalonError
    └── WebError
        ├── TwoLengths        400  says two things about its own end
        ├── NotSignedIn       401  no session, or one that has ended
        ├── NotAllowed        403  signed in as somebody who may not do this
        ├── NotFromHere       403  a form or script of another site, or a page that is too old
        ├── NoSuchPage        404
        ├── WrongMethod       405
        ├── TooLong           413  more bytes, or slower, than a request may be
        ├── WrongHost         421  asked for under a name that is not the studio's
        ├── TooMany           429  too many requests; says how long to wait
        └── Fault             500  Salon's own; the log has the rest under the same request id

Errors of other packages are shown when `STATUS` names them. All others are faults: their words go to the log only.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Scope

from salon.collect import TooEarly
from salon.errors import BadFile, BadValue, ConflictingJudgment, DesignError, InputError, SalonError, StatsError
from salon.store import PicturesUnavailable
from salon.store.database import connection as database
from salon.web.rendering import PageWords, render_page

log = logging.getLogger("salon.web")
_JSON = ("/api/", "/v1/")


class WebError(SalonError):
    """A request that cannot be answered."""

    wait: int | None = None
    """Seconds after which trying again makes sense."""


class TwoLengths(WebError):
    """A request whose end a proxy and we might see in two places; what follows may be another's."""


class NotSignedIn(WebError):
    """No session, or one that has ended."""


class NotAllowed(WebError):
    """Signed in, as somebody who may not do this."""


class NotFromHere(WebError):
    """Sent by another site, or by a page without its token."""


class NoSuchPage(WebError):
    """Nothing is here, or nothing for you."""


class WrongMethod(WebError):
    """The page is there and cannot do that."""


class TooLong(WebError):
    """More bytes, or slower, than a request may be."""


class WrongHost(WebError):
    """Asked for under a name that is not the studio's."""


class TooMany(WebError):
    """Too many requests."""

    def __init__(self, wait: float) -> None:
        self.wait = max(1, math.ceil(wait))
        super().__init__(
            "fewer requests are needed", found="too many at once", remedy=f"try again in {self.wait} seconds"
        )


class Fault(WebError):
    """Salon's own."""

    def __init__(self) -> None:
        super().__init__(
            "something went wrong on our side",
            remedy="try again; if it stays, tell whoever invited you and name the request",
        )


class Busy(Fault):
    """The database, or the store with the pictures, does not answer now."""

    wait = 5


STATUS: dict[type[SalonError], int] = {
    TwoLengths: 400,
    NotSignedIn: 401,
    NotAllowed: 403,
    NotFromHere: 403,
    NoSuchPage: 404,
    WrongMethod: 405,
    TooLong: 413,
    WrongHost: 421,
    TooMany: 429,
    Busy: 503,
    Fault: 500,
    WebError: 400,
    database.BadLink: 401,
    database.NotActive: 403,
    database.NotYours: 404,
    database.UnknownRater: 404,
    database.AlreadyAnswered: 409,
    database.KeyReused: 409,
    database.NothingToUndo: 409,
    TooEarly: 425,
    ConflictingJudgment: 409,
    BadFile: 500,  # its words name files of the server
    InputError: 422,
    StatsError: 422,
    DesignError: 422,
}
"""The status of every error that is shown in its own words; its subclasses too. `salon.web.scoring` adds its own."""


def status_of(error: SalonError) -> int:
    """The HTTP status of an error: that of the nearest class in `STATUS`, else 500."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def public_error(error: Exception, request_id: str) -> SalonError:
    """What may be said about an error; faults go to the log, whole."""
    if isinstance(error, database.Unavailable | PicturesUnavailable):
        log.error("request %s: %s", request_id, error)
        return Busy()
    if isinstance(error, SalonError) and (isinstance(error, Fault) or status_of(error) != 500):
        return error
    log.error("request %s failed", request_id, exc_info=error)
    return Fault()


ErrorForm = Callable[[SalonError, int], Response]
"""How a protocol of others says an error."""


def error_form(scope: Scope) -> ErrorForm | None:
    """The form of the protocol whose route was asked; None for Salon's own."""
    app = scope.get("app")
    forms = {} if app is None else getattr(app.state, "error_forms", {})
    form: ErrorForm | None = forms.get((scope.get("method"), scope["path"]))
    return form


def error_response(
    error: Exception, path: str, request_id: str, language: str | None = "en", form: ErrorForm | None = None
) -> Response:
    """The one answer to an error: JSON below /api and /v1, a page elsewhere; a `language` of None is a service's.

    Routes that speak a protocol of others have a `form` of their own.
    """
    error_to_show = public_error(error, request_id)
    status = status_of(error_to_show)
    wait = _wait(error_to_show)
    headers = {} if wait is None else {"Retry-After": str(wait)}
    if form is not None:
        response = form(error_to_show, status)
        response.headers.update(headers)
        return response
    if path.startswith(_JSON) or path == "/api":
        return JSONResponse(error_to_show.as_json() | {"request": request_id}, status, headers)
    response = _page(error_to_show, status, request_id, language)
    response.headers.update(headers)
    return response


def _wait(error: SalonError) -> int | None:
    """Seconds after which trying again makes sense."""
    if isinstance(error, TooEarly):
        return math.ceil(error.seconds_left)
    return getattr(error, "wait", None)


def install_error_handlers(app: FastAPI) -> None:
    """Answer every error of the routes of `app` in the one way."""

    async def answer(request: Request, error: Exception) -> Response:
        await request.close()  # with files of a form that was refused
        salon_error = _as_salon_error(error, str(request.app.openapi_url))
        language, form = language_of(request.scope), error_form(request.scope)
        return error_response(salon_error, request.url.path, request.state.request_id, language, form)

    for kind in (SalonError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer)


def language_of(scope: Scope) -> str | None:
    """The language that raters of the studio read; None where there is no studio."""
    app = scope.get("app")
    studio = None if app is None else getattr(app.state, "studio", None)
    return None if studio is None else str(studio.settings.language)


def _as_salon_error(error: Exception, schema: str) -> Exception:
    """Errors of the framework as Salon's own. What was sent is not repeated."""
    if isinstance(error, RequestValidationError):
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return BadValue(f"{where}: {first['msg']}", remedy=f"the schema is at {schema}")
    if not isinstance(error, HTTPException):
        return error
    if error.status_code == 404:
        if schema.startswith("/v1/"):
            return NoSuchPage("a route of this service is needed", found="none here", remedy=f"see {schema}")
        return NoSuchPage("a page of this studio is needed", found="none here", remedy="open your link again")
    if error.status_code == 405:
        return WrongMethod("another method is needed here", remedy=f"the schema is at {schema}")
    if error.status_code < 500:
        return BadValue(HTTPStatus(error.status_code).phrase)
    return error


def _page(error: SalonError, status: int, request_id: str, language: str | None) -> HTMLResponse:
    """The friendly page: what happened in the rater's language, the error's own words for whoever wants them.

    A service has no raters, and no links to open again: its page holds the error's own words alone.
    """
    t = PageWords(language or "en")
    status_with_words = (
        status if f"status.{status}_title" in t else 500 if status >= HTTPStatus.INTERNAL_SERVER_ERROR else 400
    )
    sentences = (
        []
        if isinstance(error, Fault)
        else [f"{part[:1].upper()}{part[1:]}." for part in (error.needed, error.remedy) if part]
    )
    return render_page(
        "message.html",
        language=language or "en",
        status=status,
        title=t(f"status.{status_with_words}_title"),
        words=t(f"status.{status_with_words}_words") if language else " ".join(sentences),
        said=" ".join(sentences) if language else "",
        code=status,
        request_id=request_id,
    )
