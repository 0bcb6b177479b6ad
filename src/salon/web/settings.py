"""Where a studio is served, under which address, and what it allows; and the files that only its owner may read.

They live in the study folder under mode 0600, so that sessions and links survive a restart: the secret that signs
session cookies, the token of the owner's link, the argon2 hash of the owner's password.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import Field

from salon.errors import BadFile, BadValue
from salon.study import Noun

if TYPE_CHECKING:
    from salon.store import Database

PRIVATE = ".studio"
"""Folder inside the study for what only the owner may read."""
_SECRET_BYTES = 32
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class WebSettings(Noun):
    """How a studio is served."""

    folder: Path = Field(description="The study folder.")
    host: str = Field("127.0.0.1", min_length=1, description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on.")
    base_url: str | None = Field(None, description="Address that people open, such as https://studio.example.org")
    trusted_proxies: tuple[str, ...] = Field(
        ("127.0.0.1", "::1"),
        description="Addresses or networks of reverse proxies whose X-Forwarded-For is believed.",
    )
    session_hours: float = Field(24 * 30, gt=0, description="A rater's session ends after so many hours.")
    owner_hours: float = Field(12, gt=0, description="An owner's session ends after so many hours.")
    most_body: int = Field(1 << 20, ge=1024, description="Bytes that one request may send.")
    most_upload: int = Field(64 << 20, ge=1024, description="Bytes that the owner may send as files at once.")
    header_seconds: float = Field(10, gt=0, description="Seconds within which the head of a request must have arrived.")
    most_connections: int = Field(4096, ge=1, description="Connections that may be open at once.")
    body_seconds: float = Field(30, gt=0, description="Seconds within which a request must have arrived.")
    session_rate: float = Field(20, gt=0, description="Requests a second for one session, once its burst is used up.")
    session_burst: int = Field(200, ge=1, description="Requests one session may send at once.")
    address_rate: float = Field(200, gt=0, description="Requests a second from one address: an office may share it.")
    address_burst: int = Field(2000, ge=1, description="Requests one address may send at once.")
    visitors_rate: float = Field(0.5, gt=0, description="Visitors of a panel a second whom one address may bring.")
    visitors_burst: int = Field(60, ge=1, description="Visitors of a panel whom one address may bring at once.")
    failures_burst: int = Field(10, ge=1, description="Wrong links, or wrong passwords, before an address must wait.")

    @property
    def address(self) -> str:
        """What links begin with; never taken from what a browser says."""
        is_bare_ipv6 = ":" in self.host and not self.host.startswith("[")
        host = f"[{self.host}]" if is_bare_ipv6 else self.host
        return (self.base_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def https(self) -> bool:
        """Do people come by https?"""
        return urlsplit(self.address).scheme == "https"

    @property
    def cookie(self) -> str:
        """Name of the session cookie; browsers keep __Host- cookies to this host and to https."""
        return "__Host-salon" if self.https else "salon"

    @property
    def hosts(self) -> frozenset[str]:
        """Host names under which the studio answers."""
        names = {urlsplit(self.address).hostname or ""}
        return frozenset(names | set(_LOOPBACK_NAMES) if is_loopback(self.host) else names)

    @property
    def origin(self) -> str:
        """Scheme and host of the address, as browsers send it."""
        parts = urlsplit(self.address)
        return f"{parts.scheme}://{parts.netloc}"


def check_web_settings(settings: WebSettings) -> WebSettings:
    """`settings` if people can be let in under them; BadValue names the flag that must change."""
    parts = urlsplit(settings.address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query or parts.username:
        raise BadValue(
            "--base-url: an address without a path is needed",
            found=settings.base_url,
            remedy="--base-url https://studio.example.org",
        )
    if settings.base_url is None and not is_loopback(settings.host):
        raise BadValue(
            "--base-url: who listens to others must say under which address they come",
            found=f"--host {settings.host} alone",
            remedy="--base-url https://studio.example.org",
        )
    for proxy in settings.trusted_proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise BadValue(
                "--trusted-proxy: an address or a network is needed",
                found=repr(proxy),
                remedy="--trusted-proxy 10.89.0.2, or --trusted-proxy 10.89.0.0/24 for a network of containers",
            ) from None
    return settings


def takes_workers(db: str | None) -> bool:
    """Can several processes serve this database?"""
    return db is not None and db.startswith("postgres")


def check_workers(number: int, db: str | None) -> None:
    """BadValue where several workers cannot serve the database `db`."""
    if number > 1 and not takes_workers(db):
        raise BadValue(
            "--workers: several workers need PostgreSQL",
            found=f"{number} workers on SQLite, which has one writer at a time",
            remedy="--db postgresql://user@host/name, or --workers 1; salon backup and salon restore move a study",
        )


def is_loopback(host: str) -> bool:
    """Does `host` reach this machine only?"""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


# -- files of the owner -------------------------------------------------------------------------------------


def read_secret(folder: Path) -> bytes:
    """The secret of the studio in `folder`, made on first use; BadFile when others on the machine may read it."""
    path = _private(folder) / "secret"
    if not path.exists():
        write_private(path, secrets.token_bytes(_SECRET_BYTES))
    check_private(path)
    secret = path.read_bytes()
    if len(secret) != _SECRET_BYTES:
        raise BadFile(
            f"a secret of {_SECRET_BYTES} bytes is needed",
            found=f"{len(secret)} bytes",
            where=str(path),
            remedy="remove the file: a new one is made, and everyone opens their link again",
        )
    return secret


def read_password(folder: Path) -> str | None:
    """The argon2 hash of the owner's password, or None when none was set."""
    path = folder / PRIVATE / "password"
    if not path.exists():
        return None
    check_private(path)
    return path.read_text(encoding="ascii", errors="replace").strip()


def write_password(folder: Path, hashed: str) -> None:
    """Keep the argon2 hash of a new password."""
    write_private(_private(folder) / "password", hashed.encode())


def owner_token(folder: Path, database: Database, *, renew: bool = False) -> tuple[str, bool]:
    """The token of the owner's link, the same at every start, and whether it is new.

    A new one is made at the first start, when its file is gone, or to `renew` it; all older links of owners then end.
    """
    from salon.store import BadLink

    path = _private(folder) / "owner"
    if path.exists() and not renew:
        check_private(path)
        token = path.read_text(encoding="ascii", errors="replace").strip()
        with suppress(BadLink):
            if database.who(token).role == "owner":
                return token, False
    for link in database.links():
        if link.role == "owner" and link.revoked_at is None:
            database.revoke(link.number, by="salon serve")
    token = database.new_link("owner", by="salon serve")
    write_private(path, token.encode())
    return token, True


def read_address(folder: Path) -> str | None:
    """The address under which the studio was served last, or None."""
    path = folder / PRIVATE / "address"
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else None


def write_address(folder: Path, address: str) -> None:
    """Keep the address under which the studio is served, for new links."""
    write_private(_private(folder) / "address", address.encode())


def _private(folder: Path) -> Path:
    private = folder / PRIVATE
    private.mkdir(mode=0o700, exist_ok=True)
    return private


def write_private(path: Path, data: bytes) -> None:
    """Write a file whole, for the eyes of its owner alone."""
    from salon.store import whole_file

    with whole_file(path) as file:
        os.chmod(file.name, 0o600)
        file.write(data)


def check_private(path: Path) -> None:
    """BadFile when others on the machine may read the file."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        raise BadFile(
            "a file that only its owner can read is needed",
            found=f"mode {mode:04o}",
            where=str(path),
            remedy=f"chmod 600 {path}",
        )
