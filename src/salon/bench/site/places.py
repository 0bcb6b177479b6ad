"""Names of pages that every disk and web server takes, and links that lead nowhere but to the web."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

LONGEST = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_RESERVED = re.compile(r"(index|con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def places(names: Iterable[str]) -> dict[str, str]:
    """The name of a page for each name: itself where that is safe, else what can be read of it and a hash."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        place = name if _is_safe(name) else _hashed(name)
        if place.lower() in taken:  # a disk that does not tell A from a
            place = _hashed(name)
        taken.add(place.lower())
        found[name] = place
    return found


def web_link(address: str) -> str | None:
    """`address` where it is one of the web; None for anything else (javascript:, file:, data:)."""
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    return address.strip() if parts.scheme.lower() in ("http", "https") and parts.netloc else None


def _is_safe(name: str) -> bool:
    return 0 < len(name) <= LONGEST and not _UNSAFE.search(name) and not _RESERVED.fullmatch(name)


def _hashed(name: str) -> str:
    readable = _UNSAFE.sub("-", name).strip("-")[:LONGEST]
    return f"{readable}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:8]}".lstrip("-")
