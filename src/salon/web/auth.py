"""Sessions: who sends a request, and may they?

A link holds a token (`/enter/<token>`). Opening it puts the link's number, signed and dated, into a cookie that scripts
cannot read: who reads the cookie does not get the link. Every request asks the database again whom the link stands for,
so a revoked link ends its sessions at once. The owner may also come with a password: that makes a link of its own,
which signing out revokes. Scripts send the token as `Authorization: Bearer`, without a cookie and so without the danger
of forged forms.

Forms and JavaScript prove that they are ours with the session's own CSRF token: a field `csrf`, or the header
`X-CSRF-Token`. `check_csrf` stands before every route that changes something; no route can forget it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from fastapi import APIRouter, Depends, Form, Request
from itsdangerous import BadSignature, URLSafeTimedSerializer
from starlette.datastructures import FormData
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Scope

from salon.collect import Studio
from salon.errors import BadValue
from salon.store import BadLink, Database, LinkHolder, now_ms
from salon.web.errors import NotAllowed, NotFromHere, NotSignedIn, log
from salon.web.guard import UPLOADS, address_of, bearer_token, session_cookie
from salon.web.limits import MakeBuckets, make_buckets
from salon.web.rendering import PageWords, render_page
from salon.web.settings import WebSettings, write_password

HOME = {"rater": "/", "owner": "/owner", "adjudicator": "/adjudicate"}
"""Where a link leads."""
SAFE = ("GET", "HEAD", "OPTIONS")
MOST_FILES = 50
_UNKNOWN_PASSWORD_HASH = (
    "$argon2id$v=19$m=65536,t=3,p=4$HBAJeEMgL3Ya3PDU6JGQ9w$2KgrZ7IZfMcnPyJXPlAOB+nHpv6Ou42K1GhVcTGDTYU"
)
"""Hash of a password nobody knows: where none is set, a guess takes as long as where one is."""
_SHORTEST_PASSWORD, _LONGEST_PASSWORD = 10, 1000
_LONGEST_COOKIE = 1000
_PASSWORDS_A_SECOND, _PASSWORDS_AT_ONCE = 1.0, 30
_FAILURES_A_SECOND = 0.2


@dataclass(frozen=True)
class Session:
    """Somebody whom the studio knows, for one request."""

    who: LinkHolder
    csrf: str = field(default="", repr=False)
    """For the forms of this session; empty when a script came with its token."""

    @property
    def role(self) -> str:
        """rater, owner or adjudicator."""
        return self.who.role

    @property
    def rater(self) -> str:
        """The rater's pseudonym; NotAllowed for anybody else."""
        if self.who.rater is None:
            raise NotAllowed("a rater's link is needed for this", found=f"the link of an {self.role}")
        return self.who.rater


class SessionAuth:
    """Gives out sessions and knows them again."""

    def __init__(
        self,
        database: Database,
        settings: WebSettings,
        *,
        secret: bytes,
        password: str | None,
        make_buckets: MakeBuckets = make_buckets,
    ) -> None:
        self.database, self.settings = database, settings
        self._secret = secret
        self._signer = URLSafeTimedSerializer(
            secret,
            salt="salon session of a link",
            signer_kwargs={"key_derivation": "hmac", "digest_method": hashlib.sha256},
        )
        self._hasher = PasswordHasher()
        self._password = password
        self._bad_links = make_buckets("bad link", _FAILURES_A_SECOND, settings.failures_burst)
        self._bad_passwords = make_buckets("bad password", _FAILURES_A_SECOND, settings.failures_burst)
        self._attempts = make_buckets("password", _PASSWORDS_A_SECOND, _PASSWORDS_AT_ONCE)

    # -- coming in ------------------------------------------------------------------------------------------

    def enter(self, token: str, address: str) -> Session:
        """The session of a link's token; BadLink, or TooMany for who tries and tries.

        Only failures are counted: a valid token has 256 random bits, so letting it in tells a guesser nothing, and
        whoever shares an address with a guesser is not locked out.
        """
        try:
            return Session(self.database.who(token))
        except BadLink:
            self._bad_links.take(address)
            raise

    def enter_link(self, link: int) -> Session:
        """The session of a link by its number, for somebody who was let in by other means; BadLink if it ended."""
        return Session(self.database.who_of_link(link))

    def login(self, password: str, address: str) -> Session:
        """A new session of the owner. A wrong password and none set take the same time and say the same."""
        self._bad_passwords.take(address)  # before the slow part: guesses sent at once are counted too
        self._attempts.take("everyone")
        if not self._is_right(password):
            log.warning("wrong password from %s", address)
            raise NotSignedIn("the owner's password is needed", found="another", remedy="or open the owner's link")
        self._bad_passwords.give_back(address)
        ends = now_ms() + int(self.settings.owner_hours * 3_600_000)
        token = self.database.new_link("owner", expires_at=ends, by="password")
        return Session(self.database.who(token))

    def logout(self, session: Session) -> None:
        """End a session that a password began; a link stays good until it is revoked."""
        expires = {link.number: link.expires_at for link in self.database.links()}
        if session.role == "owner" and expires.get(session.who.link) is not None:
            self.database.revoke(session.who.link)

    def _is_right(self, password: str) -> bool:
        password_hash = self._password or _UNKNOWN_PASSWORD_HASH
        try:
            return self._hasher.verify(password_hash, password) and self._password is not None
        except (VerificationError, InvalidHashError):
            return False

    # -- cookies --------------------------------------------------------------------------------------------

    def give_cookie(self, response: Response, session: Session) -> None:
        """Put the session into the answer."""
        hours = self.settings.session_hours if session.role == "rater" else self.settings.owner_hours
        response.set_cookie(
            self.settings.cookie,
            self._signer.dumps([session.who.link, secrets.token_urlsafe(16)]),
            max_age=int(hours * 3600),
            **self._cookie_rules,
        )

    def take_cookie(self, response: Response) -> None:
        """Tell the browser to forget the session."""
        response.delete_cookie(self.settings.cookie, **self._cookie_rules)

    @property
    def _cookie_rules(self) -> dict[str, Any]:
        return {"path": "/", "httponly": True, "samesite": "lax", "secure": self.settings.https}

    # -- knowing again --------------------------------------------------------------------------------------

    def session(self, request: Request) -> Session | None:
        """Who sent the request, as of now; None for nobody, or nobody any more."""
        token = bearer_token(request.headers)
        if token is not None:
            return self.enter(token, address_of(request.scope))
        cookie = self._cookie(request)
        if cookie is None:
            return None
        link, nonce, age = cookie
        try:
            who = self.database.who_of_link(link)
        except BadLink:
            return None
        if who.role != "rater" and abs(age) > self.settings.owner_hours * 3600:
            return None
        return Session(who, self._csrf(nonce))

    def may_upload(self, scope: Scope) -> bool:
        """Does the request come from the owner, who may send files?"""
        session = self.session(Request(scope))
        return session is not None and session.role == "owner"

    def csrf_of(self, request: Request) -> str | None:
        """The CSRF token that a form of this request's session holds; None without a session cookie."""
        cookie = self._cookie(request)
        return None if cookie is None else self._csrf(cookie[1])

    def _csrf(self, nonce: str) -> str:
        return hmac.new(self._secret, b"csrf " + nonce.encode(), hashlib.sha256).hexdigest()

    def _cookie(self, request: Request) -> tuple[int, str, float] | None:
        """Number of the link, nonce and age in seconds of a cookie that we signed and that is not too old.

        Where the clock was set back a cookie is younger than new; it is no reason to show somebody out.
        """
        text = session_cookie(request.headers, self.settings.cookie)
        if not text or len(text) > _LONGEST_COOKIE:
            return None
        try:
            (link, nonce), signed = self._signer.loads(text, return_timestamp=True)
        except BadSignature:
            return None
        age = now_ms() / 1000 - signed.timestamp()
        return None if abs(age) > self.settings.session_hours * 3600 else (link, nonce, age)


def new_password(folder: Path, password: str) -> None:
    """Keep the hash of a new password of the owner; the running studio knows it after its next start."""
    if not _SHORTEST_PASSWORD <= len(password) <= _LONGEST_PASSWORD:
        raise BadValue(
            f"a password of {_SHORTEST_PASSWORD} to {_LONGEST_PASSWORD:,} characters is needed",
            found=f"{len(password):,}",
        )
    write_password(folder, PasswordHasher().hash(password))


# -- what routes ask for --------------------------------------------------------------------------------------


def get_auth(request: Request) -> SessionAuth:
    """The sessions of the app."""
    auth: SessionAuth = request.app.state.auth
    return auth


def get_studio(request: Request) -> Studio:
    """The studio of the app."""
    studio: Studio = request.app.state.studio
    return studio


def require_session(request: Request) -> Session:
    """The session of a request; NotSignedIn without one."""
    session = get_auth(request).session(request)
    if session is None:
        raise NotSignedIn(
            "a link that was given to you is needed",
            found="no session, or one that has ended",
            remedy="open the link of your invitation again, or ask whoever invited you for a new one",
        )
    return session


async def require_rater(session: Annotated[Session, Depends(require_session)]) -> Session:  # async: no thread is needed
    """The session of a rater."""
    _ = session.rater
    return session


async def require_owner(session: Annotated[Session, Depends(require_session)]) -> Session:
    """The session of the owner."""
    if session.role != "owner":
        raise NotAllowed("the owner's link is needed for this", found=f"the link of a {session.role}")
    return session


Anyone = Annotated[Session, Depends(require_session)]
RaterSession = Annotated[Session, Depends(require_rater)]
OwnerSession = Annotated[Session, Depends(require_owner)]


async def check_csrf(request: Request) -> None:
    """Refuse what changes something unless it comes from a page of this session. Stands before every route."""
    if request.method in SAFE:
        return
    auth = get_auth(request)
    check_origin(request, auth.settings)
    if bearer_token(request.headers) is not None:
        return  # no browser adds this header by itself
    session_token = auth.csrf_of(request)
    if session_token is None:
        return  # nobody is signed in: there is no session to abuse, and the route says 401
    sent_token = request.headers.get("x-csrf-token") or await _form_field(request)
    if not hmac.compare_digest(session_token.encode(), sent_token.encode("utf-8", "replace")):
        raise NotFromHere(
            "a page of this studio is needed", found="one without its token", remedy="load the page again, and retry"
        )


async def _form_field(request: Request) -> str:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        return ""
    value = (await read_form(request)).get("csrf", "")
    return value if isinstance(value, str) else ""


async def read_form(request: Request) -> FormData:
    """The fields of a form, read once however often it is asked for; files only where they are taken."""
    most = MOST_FILES if request.url.path in UPLOADS else 0
    try:
        return await request.form(max_files=most)
    except UnicodeError:  # it may name any charset that Python knows
        raise BadValue("a form in UTF-8 is needed", found="one that cannot be decoded") from None


def check_origin(request: Request, settings: WebSettings) -> None:
    """Refuse what a page of another site sent.

    Browsers say which site a request comes from. Others do not, and carry no cookies of a browser.
    """
    origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
    same = origin is None or origin == settings.origin or _loopback_origin(origin, settings)
    if not same or site in ("cross-site", "same-site"):
        raise NotFromHere("a page of this studio is needed", found="a request of another site")


def _loopback_origin(origin: str, settings: WebSettings) -> bool:
    """On one's own machine localhost and 127.0.0.1 are the same place, port and all."""
    ours, theirs = urlsplit(settings.origin), urlsplit(origin)
    try:
        same_port = (ours.scheme, ours.port) == (theirs.scheme, theirs.port)
    except ValueError:
        return False
    return same_port and len(settings.hosts) > 1 and (theirs.hostname or "") in settings.hosts


# -- pages ----------------------------------------------------------------------------------------------------

router = APIRouter(include_in_schema=False)


@router.get("/enter/{token}")
def enter(token: str, request: Request) -> Response:
    """Open a link."""
    auth = get_auth(request)
    return redirect_into(auth, auth.enter(token, address_of(request.scope)))


@router.get("/login")
def login_page(request: Request) -> HTMLResponse:
    """Where the owner gives a password; who is signed in already may change to the owner."""
    return _login_page(request)


@router.post("/login")
def login(request: Request, password: Annotated[str, Form(max_length=_LONGEST_PASSWORD)]) -> Response:
    """Let the owner in."""
    auth = get_auth(request)
    try:
        return redirect_into(auth, auth.login(password, address_of(request.scope)))
    except NotSignedIn:
        return _login_page(request, wrong=True)


@router.post("/logout")
def logout(session: Anyone, request: Request) -> Response:
    """End the session."""
    auth = get_auth(request)
    auth.logout(session)
    t = PageWords(_language(request))
    response = render_page(
        "message.html", language=_language(request), title=t("login.bye_title"), words=t("login.bye")
    )
    auth.take_cookie(response)
    return response


def _login_page(request: Request, *, wrong: bool = False) -> HTMLResponse:
    csrf, language = get_auth(request).csrf_of(request) or "", _language(request)
    title = PageWords(language)("login.title")
    status = 401 if wrong else 200
    return render_page("message.html", language=language, status=status, title=title, words="", login=csrf, wrong=wrong)


def _language(request: Request) -> str:
    return get_studio(request).settings.language


def redirect_into(auth: SessionAuth, session: Session) -> Response:
    """To the first page of a session that begins, with its cookie."""
    response = RedirectResponse(HOME[session.role], status_code=303)
    auth.give_cookie(response, session)
    return response
