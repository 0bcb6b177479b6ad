"""Who may use the scoring service: its settings, its tokens, and how many requests may be under way.

    .salon-scores/tokens.json     [{"name", "sha256", "scopes", "made_at"}, ...], mode 0600

A token holds 256 random bits and is shown once; the service keeps its SHA-256. Scopes: `score` asks for scores,
comparisons, picks, gates and explanations, and may give feedback; `admin` loads and swaps models; `metrics` reads
/metrics. The file is read again when it changes, so a revoked token ends at once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import json
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request
from pydantic import Field
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from salon.errors import BadFile, BadValue, UnknownReference
from salon.select import QueueFull
from salon.study import Noun
from salon.web.auth import check_origin
from salon.web.errors import NotAllowed, NotSignedIn
from salon.web.guard import address_of, bearer_token
from salon.web.limits import Buckets
from salon.web.scoring.settings import SCOPES, ScoringSettings, TokenScope
from salon.web.settings import check_private, check_web_settings, is_loopback, write_private

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: one process at a time
    fcntl = None  # type: ignore[assignment]  # Windows has none


def check_scoring_settings(settings: ScoringSettings) -> ScoringSettings:
    """`settings` if they are safe; BadValue names the flag that must change."""
    check_web_settings(settings)
    if settings.no_token and not is_loopback(settings.host):
        raise BadValue(
            "--no-token: who listens to others must ask for a token", found=f"--host {settings.host}",
            remedy="leave --no-token out, or listen on 127.0.0.1",
        )  # fmt: skip
    for network in settings.trusted_networks:
        _check_network(network)
    for root in (*settings.roots, *([settings.model_root] if settings.model_root else [])):
        if not root.is_dir():
            raise BadValue("--root: a folder is needed", found="none there", where=str(root))
    return settings


def _check_network(network: str) -> None:
    try:
        wide = ipaddress.ip_network(network)
    except ValueError as error:
        raise BadValue(
            "--trusted-network: a network is needed", found=str(error), remedy="--trusted-network 10.0.3.0/24"
        ) from None
    if wide.prefixlen == 0:
        raise BadValue(
            "--trusted-network: a network of your own is needed", found=f"{network}, which is everybody",
            remedy="the network of the training machines, such as 10.0.3.0/24",
        )  # fmt: skip


# -- tokens ---------------------------------------------------------------------------------------------------------

FILE = "tokens.json"
_TOKEN_BYTES = 32
_LONGEST_TOKEN = 200
_FAILURES_A_SECOND = 0.2
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Token(Noun):
    """One token, without itself."""

    name: str
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    scopes: tuple[TokenScope, ...]
    made_at: str = ""


@dataclass(frozen=True)
class ServiceCaller:
    """Whose request it is."""

    name: str
    scopes: frozenset[str]


_NETWORK_SCOPES = frozenset({"score"})
"""What a machine of a trusted network may do."""
EVERYBODY = ServiceCaller("everybody", frozenset(SCOPES))
"""Whoever asks a service without tokens."""


# -- the file ------------------------------------------------------------------------------------------------------


def read_tokens(folder: Path) -> list[Token]:
    """The tokens of a service; BadFile when others on the machine may read the file, or it is none."""
    path = folder / FILE
    if not path.exists():
        return []
    check_private(path)
    try:
        return [Token.parse(entry, where=str(path)) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, RecursionError, BadValue) as error:  # BadFile: its words are never told a caller
        raise BadFile("a file of tokens is needed", found=str(error), where=str(path)) from None


def new_token(folder: Path, name: str, scopes: Sequence[str] = ("score",)) -> str:
    """Make a token; it is given out now and can never be read again."""
    if not _NAME.fullmatch(name):
        raise BadValue("a name of letters, digits, dots and hyphens is needed", found=repr(name))
    if unknown := [item for item in scopes if item not in SCOPES] or not scopes:
        raise BadValue("scopes of a token are needed", found=repr(unknown), remedy=", ".join(SCOPES))
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    entry = Token(
        name=name,
        sha256=_hash(token),
        scopes=tuple(dict.fromkeys(scopes)),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with _locked(folder):
        tokens = read_tokens(folder)
        if any(item.name == name for item in tokens):
            raise BadValue(
                "a name that no other token has is needed", found=repr(name), remedy="revoke the other first"
            )
        _write(folder, [*tokens, entry])
    return token


def revoke_token(folder: Path, name: str) -> None:
    """End a token; a running service knows at its next request."""
    with _locked(folder):
        tokens = read_tokens(folder)
        if all(token.name != name for token in tokens):
            names = ", ".join(token.name for token in tokens) or "there is none"
            raise UnknownReference("the name of a token is needed", found=repr(name), remedy=names)
        _write(folder, [token for token in tokens if token.name != name])


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Nobody else changes the file meanwhile: who makes a token must not bring back one that is being revoked."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(folder / "tokens.lock", "ab") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(folder: Path, tokens: Sequence[Token]) -> None:
    write_private(folder / FILE, json.dumps([token.record() for token in tokens], indent=1).encode())


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


# -- authentication -------------------------------------------------------------------------------------------------


class TokenAuth:
    """Knows tokens again."""

    def __init__(self, settings: ScoringSettings) -> None:
        self.settings = settings
        self._failures = Buckets(_FAILURES_A_SECOND, settings.failures_burst)
        self._mark: tuple[int, int] | None = None
        self._tokens: list[Token] = []
        self._turn = threading.Lock()
        self._networks = [ipaddress.ip_network(network) for network in settings.trusted_networks]

    def who(self, headers: Headers, address: str) -> ServiceCaller:
        """Whose token came with a request; NotSignedIn, or TooMany for who tries and tries.

        Without a token, a machine of a trusted network is let in for scores, under its address."""
        if self.settings.no_token:
            return EVERYBODY
        token = bearer_token(headers) or _password(headers)
        if token is None and self._is_trusted(address):
            return ServiceCaller(address, _NETWORK_SCOPES)
        if token is None:
            raise NotSignedIn("a token is needed", found="none", remedy="send it as Authorization: Bearer TOKEN")
        sent_hash, match = _hash(token[:_LONGEST_TOKEN]), None
        for entry in self._known():  # all of them, whichever fits: the time says nothing
            if hmac.compare_digest(entry.sha256, sent_hash):
                match = entry
        if match is None:
            self._failures.take(address)
            raise NotSignedIn("a token that is known is needed", found="another", remedy="ask whoever runs the service")
        return ServiceCaller(match.name, frozenset(match.scopes))

    def _is_trusted(self, address: str) -> bool:
        try:
            machine = ipaddress.ip_network(address)  # of IPv6 the /64, as addresses are told apart here
        except ValueError:
            return False
        return any(
            machine.subnet_of(network)  # type: ignore[arg-type]  # both are of one version
            for network in self._networks
            if machine.version == network.version
        )

    def _known(self) -> list[Token]:
        try:
            status = (self.settings.folder / FILE).stat()
        except OSError:
            return []
        mark = status.st_mtime_ns, status.st_ino
        with self._turn:
            if mark != self._mark:
                self._tokens, self._mark = read_tokens(self.settings.folder), mark
            return self._tokens


def _password(headers: Headers) -> str | None:
    """The token in an address such as http://salon:TOKEN@host, for trainers that can set nothing but an address."""
    kind, _, encoded = headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        return base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


def caller_of(request: Request, scope: str) -> ServiceCaller:
    """Whose request it is; NotAllowed without the scope."""
    caller_in_scope = request.scope.setdefault("state", {}).get("caller")
    caller: ServiceCaller = caller_in_scope or request.app.state.auth.who(request.headers, address_of(request.scope))
    if scope not in caller.scopes:
        raise NotAllowed(f"a token with the scope {scope!r} is needed", found="one without it")
    return caller


def with_scope(scope: str) -> Callable[[Request], ServiceCaller]:
    """What a route depends on: the caller, let in for `scope`; also keeps other sites' pages out."""

    def let_in(request: Request) -> ServiceCaller:
        if request.method not in ("GET", "HEAD"):
            check_origin(request, request.app.state.settings)
        return caller_of(request, scope)

    return let_in


async def _scoring(request: Request) -> ServiceCaller:  # async: no thread is needed
    return with_scope("score")(request)


async def _admin(request: Request) -> ServiceCaller:
    return with_scope("admin")(request)


async def _metrics(request: Request) -> ServiceCaller:
    return with_scope("metrics")(request)


ScoreCaller = Annotated[ServiceCaller, Depends(_scoring)]
AdminCaller = Annotated[ServiceCaller, Depends(_admin)]
MetricsCaller = Annotated[ServiceCaller, Depends(_metrics)]


# -- requests under way ---------------------------------------------------------------------------------------------

_WAIT_SECONDS = 1.0


class RequestSlots:
    """Places of requests under way."""

    def __init__(self, settings: ScoringSettings) -> None:
        self.settings = settings
        self.taken = self.bytes = 0
        self._turn = threading.Lock()

    def enter(self, scope: Scope) -> bool:
        """A place for a request, whose caller is let in first; QueueFull where there is none."""
        caller = caller_of(Request(scope), "score")
        stated = Headers(scope=scope).get("content-length", "")
        size = int(stated) if stated.isdecimal() and len(stated) < 15 else self.settings.most_upload
        size = min(size, self.settings.most_upload)
        with self._turn:
            full = self.taken >= self.settings.most_at_once
            if full or self.bytes + size > max(self.settings.most_bytes_at_once, size if not self.taken else 0):
                raise QueueFull(f"{self.taken:,} requests of {self.bytes:,} bytes under way", wait=_WAIT_SECONDS)
            self.taken, self.bytes = self.taken + 1, self.bytes + size
        scope["state"] |= {"caller": caller, "place": size}
        return True

    def leave(self, scope: Scope) -> None:
        """Give a place back, where one was taken."""
        size = scope.get("state", {}).pop("place", None)
        if size is not None:
            with self._turn:
                self.taken, self.bytes = self.taken - 1, self.bytes - size


class SlotRelease:
    """The outermost layer: whatever becomes of a request, its place is free afterwards."""

    def __init__(self, app: ASGIApp, places: RequestSlots) -> None:
        self.app, self.places = app, places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        finally:
            self.places.leave(scope)
