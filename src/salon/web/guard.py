"""What every request passes before any route sees it, and what every answer carries.

In this order: a request id; the host name; the rate of the address and of the session; the size of the body, read whole
before the routes run, so that none can be surprised half-way. What the routes do not answer themselves becomes one
error page. It is plain ASGI: it stands outside the framework's own error handling, so even a fault has its headers.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from salon.web.errors import TooLong, TwoLengths, WrongHost, error_form, error_response, language_of
from salon.web.limits import MakeBuckets, make_buckets, take_in_loop
from salon.web.settings import WebSettings

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Robots-Tag": "noindex, nofollow",
}
"""On every answer, whatever it is."""
UPLOADS = frozenset({"/owner/settings", "/owner/import", "/owner/pictures"})
"""The only places that take files, and from the owner alone."""


def headers_for_sites(sites: Sequence[str], *, framed: bool = False) -> dict[str, str | None]:
    """`own_headers` of a page whose form may be sent to these sites; `framed`: they may show it in a frame, too."""
    allowed = " ".join(sites)
    policy = HEADERS["Content-Security-Policy"].replace("form-action 'self'", f"form-action 'self' {allowed}")
    if not framed:
        return {"Content-Security-Policy": policy}
    policy = policy.replace("frame-ancestors 'none'", f"frame-ancestors {allowed}")
    return {"Content-Security-Policy": policy, "X-Frame-Options": None}


_HOST = re.compile(r"(?:\[(?P<bracketed>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_MOST_HEAD = 32 << 10
_HTTPS = {"Strict-Transport-Security": "max-age=31536000"}


class RequestGuard:
    """The ASGI layer around a studio."""

    def __init__(
        self,
        app: ASGIApp,
        settings: WebSettings,
        may_upload: Callable[[Scope], bool] = lambda scope: False,
        *,
        uploads: frozenset[str] = UPLOADS,
        headers: Mapping[str, str] = HEADERS,
        make_buckets: MakeBuckets = make_buckets,
    ) -> None:
        """`may_upload` is asked before a body is read at `uploads`; it may also raise what is to be answered."""
        self.app, self.settings, self.may_upload, self.uploads = app, settings, may_upload, uploads
        self.sessions = make_buckets("session", settings.session_rate, settings.session_burst)
        self.addresses = make_buckets("address", settings.address_rate, settings.address_burst)
        self.headers = dict(headers) | (_HTTPS if settings.https else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # lifespan; nobody is offered a websocket
            await self.app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        own_headers = scope["state"].setdefault("own_headers", {})
        answer = _ResponseSender(
            send, self.headers | {"X-Request-Id": request_id}, own_headers, head_only=scope.get("method") == "HEAD"
        )
        if answer.head_only:  # routes know GET alone; what they would answer is sent without its body
            scope = dict(scope, method="GET")
        try:
            headers = Headers(scope=scope)
            size = len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"")
            if size + sum(len(name) + len(value) for name, value in scope["headers"]) > _MOST_HEAD:
                raise _too_long(f"at most {_MOST_HEAD:,} bytes of address and headers may be sent")
            if "content-length" in headers and "transfer-encoding" in headers:
                raise TwoLengths("one way to say where a request ends is needed", found="a length and chunks")
            self._check_host(headers)
            await self._check_rate(scope, headers)
            body = await self._body(scope, headers, receive)
            await self.app(scope, _replay(body, receive), answer)
        except ClientDisconnect:
            return  # half a request is none
        except Exception as error:
            if answer.started:  # too late to say anything: the browser sees a broken answer, not a whole wrong one
                raise
            if isinstance(error, TwoLengths):
                answer.headers["Connection"] = "close"
            response = error_response(error, scope["path"], request_id, language_of(scope), error_form(scope))
            await response(scope, receive, answer)

    def _check_host(self, headers: Headers) -> None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self.settings.hosts:
            raise WrongHost(
                "the studio's own address is needed", remedy=f"open {self.settings.address}, or serve with --base-url"
            )

    async def _check_rate(self, scope: Scope, headers: Headers) -> None:
        await take_in_loop(self.addresses, address_of(scope))
        session = bearer_token(headers) or session_cookie(headers, self.settings.cookie)
        if session:
            await take_in_loop(self.sessions, hashlib.sha256(session.encode("latin-1", "replace")).hexdigest())

    async def _body(self, scope: Scope, headers: Headers, receive: Receive) -> bytes:
        stated = headers.get("content-length", "0")
        uploading = scope["path"] in self.uploads and await run_in_threadpool(self.may_upload, scope)
        most = self.settings.most_upload if uploading else self.settings.most_body
        if not stated.isdecimal() or len(stated) > 15 or int(stated) > most:
            raise _too_long(f"at most {most:,} bytes may be sent")
        try:
            async with asyncio.timeout(self.settings.body_seconds):
                return await _read(receive, most)
        except TimeoutError:
            raise _too_long(f"a request must arrive within {self.settings.body_seconds:g} seconds") from None


class _ResponseSender:
    """`send` with Salon's headers. It remembers whether the answer has begun."""

    def __init__(
        self, send: Send, headers: dict[str, str], own_headers: dict[str, str | None], *, head_only: bool
    ) -> None:
        """`own_headers` are filled by the route: what stands there instead of ours, None for nothing at all."""
        self.send, self.headers, self.own_headers = send, headers, own_headers
        self.head_only, self.started = head_only, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            headers.setdefault("Cache-Control", "no-store")
            for name, value in (self.headers | self.own_headers).items():
                if value is not None:
                    headers[name] = value
        elif self.head_only and message["type"] == "http.response.body":
            message = dict(message, body=b"")
        await self.send(message)


async def _read(receive: Receive, most: int) -> bytes:
    """The whole body, counted as it comes: the length stated may be wrong or missing."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        body += message.get("body", b"")
        if len(body) > most:
            raise _too_long(f"at most {most:,} bytes may be sent")
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    replayed = False

    async def again() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _too_long(needed: str) -> TooLong:
    return TooLong(needed, found="more, or slower")


def host_name(host: str) -> str:
    """The name in a Host header, without its port; "" when it is malformed."""
    match = _HOST.fullmatch(host)
    return "" if match is None else (match["bracketed"] or match["name"]).lower()


def address_of(scope: Scope) -> str:
    """Where a request comes from; an IPv6 network of /64 is one place."""
    client = scope.get("client")
    return _neighborhood(client[0] if client else "unknown")


@lru_cache(maxsize=4096)
def _neighborhood(host: str) -> str:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


def bearer_token(headers: Headers) -> str | None:
    """The token that a script sends with its request; it goes before any cookie."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def session_cookie(headers: Headers, name: str) -> str | None:
    """The session cookie as it was sent; of several the last, as everywhere."""
    cookies = [cookie_parser(header).get(name) for header in headers.getlist("cookie")]
    return next((cookie for cookie in reversed(cookies) if cookie is not None), None)
