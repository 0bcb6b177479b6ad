"""Which addresses may be asked: https, or plain http on this machine; no name or key inside an address."""

from __future__ import annotations

import asyncio
import ipaddress
from functools import lru_cache
from urllib.parse import urlsplit

from salon.errors import BadValue

LONGEST = 16_000
"""Characters of the longest address that is asked."""


@lru_cache(maxsize=256)
def checked_url(url: str, *, allow_http: bool = False) -> str:
    """`url`, or BadValue when it is no address that a key may be sent to."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in {"http", "https"} or not url.isprintable() or len(url) > LONGEST:
        raise BadValue("an http or https address is needed", found=_shown(url), remedy="https://host/v1")
    if parts.username or parts.password:
        raise BadValue(
            "an address must not hold a name or password",
            found=f"one before @{host}",
            remedy="put the key into an environment variable",
        )
    if parts.scheme == "http" and not allow_http and not is_local(url):
        raise BadValue(
            "a key and a prompt only travel by https",
            found=f"http://{host}",
            remedy="use https, or allow_http = true for a network you trust",
        )
    return url


def base_address(url: str) -> str:
    """An address that more is put behind, without a slash at its end; BadValue with a query: a key might hide there."""
    if "?" in url or "#" in url:
        raise BadValue(
            "an address without ? and # is needed: what is asked for stands behind it",
            found=f"{_shown(url.partition('?')[0].partition('#')[0])} and more",
            remedy="https://host/v1; a key goes into an environment variable",
        )
    return url.rstrip("/")


@lru_cache(maxsize=256)
def origin(url: str) -> str:
    """Scheme, host and port: what a key belongs to."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def is_local(url: str) -> bool:
    """Whether `url` is on this machine by its name alone."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def leads_inside(url: str) -> bool:
    """Whether any address of the host is not a public one: where a server must not be able to send us.

    A name that cannot be resolved here is left to fail, or to a proxy that can.
    """
    host = urlsplit(url).hostname or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None)
    except UnicodeError:  # a name that no server can have
        return True
    except OSError:
        return False
    return any(not ipaddress.ip_address(str(address[4][0]).partition("%")[0]).is_global for address in found)


def _shown(url: str) -> str:
    """`url` without what stands before an @."""
    return url.rpartition("@")[2]
