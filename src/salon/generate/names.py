"""Ids of items and places of files, made from whatever text prompts and generators are named by.

Two different names never become one: a name that had to be changed gets eight hex digits of its hash.
"""

from __future__ import annotations

import hashlib
import re

from salon.study.generator import Ask

LONGEST_IN_ID = 80
LONGEST_IN_PATH = 60
_SAFE = re.compile(r"[a-z0-9][a-z0-9_-]*")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
"""Names that Windows keeps for itself."""


def item_id(prompt: str, generator: str, seed: int) -> str:
    """`<prompt>/<generator>/<seed>`; parts with a slash, a control character or too many letters are shortened."""
    return f"{_id_part(prompt)}/{_id_part(generator)}/{seed}"


def _id_part(name: str) -> str:
    if len(name) <= LONGEST_IN_ID and "/" not in name and name.isprintable() and name == name.strip():
        return name
    cleaned = "".join(letter if letter.isprintable() and letter != "/" else "-" for letter in name.strip())
    return f"{cleaned[:LONGEST_IN_ID].rstrip()}~{_hash(name)}"


def slug(name: str) -> str:
    """A name for a file or folder on any system: small letters, digits, hyphens and underscores."""
    if _SAFE.fullmatch(name) and len(name) <= LONGEST_IN_PATH and name not in _RESERVED:
        return name
    cleaned = re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-_")[:LONGEST_IN_PATH].strip("-_")
    return f"{cleaned}-{_hash(name)}" if cleaned else _hash(name)


def place(ask: Ask, generator: str) -> str:
    """Where the files of an ask stand below images/, layouts/ and svg/, without their ending."""
    return f"{slug(ask.prompt.id)}/{slug(generator)}-{ask.seed}"


def ask_digest(ask: Ask) -> str:
    """Twelve hex digits of everything that decides a picture but the generator; a category decides nothing."""
    asked = ask.model_dump_json(exclude={"image": True, "layout": True, "prompt": {"category"}})
    start = hashlib.sha256(ask.image).hexdigest() if ask.image else ""
    start += hashlib.sha256(ask.layout.encode()).hexdigest() if ask.layout else ""
    return hashlib.sha256(f"{asked}{start}".encode()).hexdigest()[:12]


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]
