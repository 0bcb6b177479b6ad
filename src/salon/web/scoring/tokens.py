"""Who may ask, and for what. A token holds 256 random bits and is shown once; the service keeps its SHA-256.

    .salon-scores/tokens.json     [{"name", "sha256", "scopes", "made_at"}, ...], mode 0600

Scopes: `score` asks for scores, comparisons, picks, gates and explanations, and may give feedback; `admin` loads and
swaps models; `metrics` reads /metrics. The file is read again when it changes, so a token that is revoked ends at once.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, get_args

from fastapi import Depends, Request
from pydantic import Field
from starlette.datastructures import Headers

from salon.errors import BadFile, BadValue, UnknownReference
from salon.study.noun import Noun
from salon.web.auth import check_origin
from salon.web.errors import NotAllowed, NotSignedIn
from salon.web.guard import Buckets, address_of, bearer
from salon.web.scoring.settings import ScoringSettings
from salon.web.settings import check_private, write_private

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: one process at a time
    fcntl = None  # type: ignore[assignment]  # Windows has none

Scope = Literal["score", "admin", "metrics"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
FILE = "tokens.json"
_TOKEN_BYTES = 32
_LONGEST = 200
_FAILURES_A_SECOND = 0.2
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Token(Noun):
    """One token, without itself."""

    name: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    scopes: tuple[Scope, ...]
    made_at: str = ""


@dataclass(frozen=True)
class Caller:
    """Whose request it is."""

    name: str
    scopes: frozenset[str]


EVERYBODY = Caller("everybody", frozenset(SCOPES))
"""Whoever asks a service without tokens."""


# -- the file ------------------------------------------------------------------------------------------------------


def read_tokens(folder: Path) -> list[Token]:
    """The tokens of a service; BadFile when others on the machine may read the file, or it is none."""
    path = folder / FILE
    if not path.exists():
        return []
    check_private(path)
    try:
        return [Token.parse(one, where=str(path)) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, RecursionError, BadValue) as error:  # BadFile: its words are never told a caller
        raise BadFile("a file of tokens is needed", found=str(error), where=str(path)) from None


def new_token(folder: Path, name: str, scopes: Sequence[str] = ("score",)) -> str:
    """Make a token; it is given out now and can never be read again."""
    if not _NAME.fullmatch(name):
        raise BadValue("a name of letters, digits, dots and hyphens is needed", found=repr(name))
    if unknown := [one for one in scopes if one not in SCOPES] or not scopes:
        raise BadValue("scopes of a token are needed", found=repr(unknown), remedy=", ".join(SCOPES))
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    made = Token(name=name, sha256=_hash(token), scopes=tuple(dict.fromkeys(scopes)), made_at=_now())
    with _alone(folder):
        known = read_tokens(folder)
        if any(one.name == name for one in known):
            raise BadValue(
                "a name that no other token has is needed", found=repr(name), remedy="revoke the other first"
            )
        _write(folder, [*known, made])
    return token


def revoke_token(folder: Path, name: str) -> None:
    """End a token; a running service knows at its next request."""
    with _alone(folder):
        known = read_tokens(folder)
        if all(one.name != name for one in known):
            told = ", ".join(one.name for one in known) or "there is none"
            raise UnknownReference("the name of a token is needed", found=repr(name), remedy=told)
        _write(folder, [one for one in known if one.name != name])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Nobody else changes the file meanwhile: who makes a token must not bring back one that is being revoked."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(folder / "tokens.lock", "ab") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(folder: Path, tokens: Sequence[Token]) -> None:
    write_private(folder / FILE, json.dumps([one.record() for one in tokens], indent=1).encode())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# -- the door ------------------------------------------------------------------------------------------------------


class Door:
    """Knows tokens again."""

    def __init__(self, settings: ScoringSettings) -> None:
        self.settings = settings
        self._failures = Buckets(_FAILURES_A_SECOND, settings.failures_burst)
        self._mark: tuple[int, int] | None = None
        self._tokens: list[Token] = []
        self._turn = threading.Lock()

    def who(self, headers: Headers, address: str) -> Caller:
        """Whose token came with a request; NotSignedIn, or TooMany for who tries and tries."""
        if self.settings.no_token:
            return EVERYBODY
        token = bearer(headers)
        if token is None:
            raise NotSignedIn("a token is needed", found="none", remedy="send it as Authorization: Bearer TOKEN")
        given, found = _hash(token[:_LONGEST]), None
        for one in self._known():  # all of them, whichever fits: the time says nothing
            if hmac.compare_digest(one.sha256, given):
                found = one
        if found is None:
            self._failures.take(address)
            raise NotSignedIn("a token that is known is needed", found="another", remedy="ask whoever runs the service")
        return Caller(found.name, frozenset(found.scopes))

    def _known(self) -> list[Token]:
        try:
            found = (self.settings.folder / FILE).stat()
        except OSError:
            return []
        mark = found.st_mtime_ns, found.st_ino
        with self._turn:
            if mark != self._mark:
                self._tokens, self._mark = read_tokens(self.settings.folder), mark
            return self._tokens


def caller_of(request: Request, scope: str) -> Caller:
    """Whose request it is; NotAllowed without the scope."""
    known = request.scope.setdefault("state", {}).get("caller")
    caller: Caller = known or request.app.state.door.who(request.headers, address_of(request.scope))
    if scope not in caller.scopes:
        raise NotAllowed(f"a token with the scope {scope!r} is needed", found="one without it")
    return caller


def with_scope(scope: str) -> Callable[[Request], Caller]:
    """What a route depends on: the caller, let in for `scope`; also keeps other sites' pages out."""

    def let_in(request: Request) -> Caller:
        if request.method not in ("GET", "HEAD"):
            check_origin(request, request.app.state.settings)
        return caller_of(request, scope)

    return let_in


async def _scoring(request: Request) -> Caller:  # async: no thread is needed
    return with_scope("score")(request)


async def _admin(request: Request) -> Caller:
    return with_scope("admin")(request)


async def _metrics(request: Request) -> Caller:
    return with_scope("metrics")(request)


ScoreCaller = Annotated[Caller, Depends(_scoring)]
AdminCaller = Annotated[Caller, Depends(_admin)]
MetricsCaller = Annotated[Caller, Depends(_metrics)]
