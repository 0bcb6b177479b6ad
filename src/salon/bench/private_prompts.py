"""Prompts that nobody can train on: a suite shows their digests, its keeper has their texts.

digest = SHA-256 of the salt (32 hex digits) followed by the text a generator is given. Whoever is later shown salt and
text can check that the prompt was never changed; without the salt, guessed texts cannot be tried against the digest.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from salon.bench.suite import Suite, SuitePrompt
from salon.bench.suite_records import read_lines
from salon.errors import BadFile, BadValue, DuplicateJudgment, UnknownReference
from salon.study.noun import Noun
from salon.study.prompt import PARTS, Prompt

FILE = "private.jsonl"
_TEXTS = ("text", *PARTS)


class PrivateText(Noun):
    """One line of private.jsonl."""

    id: str
    salt: str = Field(pattern=r"^[0-9a-f]{32}$")
    text: str | None = None
    intent: str | None = None
    description: str | None = None
    aesthetics: str | None = None

    def prompt(self, public: Prompt) -> Prompt:
        """The whole prompt."""
        return public.model_copy(update={name: getattr(self, name) for name in _TEXTS})


def text_digest(salt: str, prompt: Prompt) -> str:
    """What a suite shows of a private prompt."""
    return hashlib.sha256((salt + prompt.view()).encode()).hexdigest()


def public_record(one: SuitePrompt) -> dict[str, Any]:
    """A prompt as prompts.jsonl has it: one flat object, without the text of a private prompt."""
    hidden = set(_TEXTS) if one.private else set()
    record = one.prompt.model_dump(mode="json", exclude_none=True, exclude=hidden)
    return record | one.model_dump(mode="json", exclude_defaults=True, exclude={"prompt"})


def hide(prompt: Prompt, tag: str) -> tuple[SuitePrompt, PrivateText]:
    """A prompt made private: what the suite gets, and what its keeper keeps."""
    salt = secrets.token_hex(16)
    kept = PrivateText(id=prompt.id, salt=salt, **{name: getattr(prompt, name) for name in _TEXTS})
    return SuitePrompt(prompt=prompt, tag=tag, private=True, digest=text_digest(salt, prompt)), kept


def fill_private(suite: Suite, path: Path) -> Suite:
    """The suite with the texts in `path`; each must be the text whose digest the suite holds."""
    texts = _by_id((PrivateText.parse(record, where=where) for where, record in read_lines(path)), path)
    unknown = sorted(texts.keys() - suite.private)
    if unknown:
        raise UnknownReference(
            "texts of this suite's private prompts are needed",
            found=f"{len(unknown):,} of other prompts: {', '.join(unknown[:5])}",
            where=str(path),
        )
    return replace(suite, prompts=tuple(_filled(one, texts, path) for one in suite.prompts))


def _by_id(texts: Iterable[PrivateText], path: Path) -> dict[str, PrivateText]:
    found: dict[str, PrivateText] = {}
    for one in texts:
        if one.id in found:
            raise DuplicateJudgment("each private prompt may stand once", found=repr(one.id), where=str(path))
        found[one.id] = one
    return found


def _filled(one: SuitePrompt, texts: Mapping[str, PrivateText], path: Path) -> SuitePrompt:
    if not one.private:
        return one
    if one.prompt.id not in texts:
        raise BadFile(f"the text of private prompt {one.prompt.id!r} is needed", found="none", where=str(path))
    kept = texts[one.prompt.id]
    whole = kept.prompt(one.prompt)
    found = text_digest(kept.salt, whole)
    if found != one.digest:
        raise BadValue(
            f"the text of private prompt {one.prompt.id!r} with the digest {(one.digest or 'none')[:16]} is needed",
            found=f"{found[:16]}: its text or salt is another",
            where=str(path),
            remedy="find the keeper's file of this version of the suite",
        )
    return one.model_copy(update={"prompt": whole})
