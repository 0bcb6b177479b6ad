"""Prompts that nobody can train on: a suite shows their digests, its keeper has their texts and their points.

digest = SHA-256 of the salt (32 hex digits), the text a generator is given, and for each point in order of ids a line
break and the point as JSON. Whoever is later shown the keeper's line can check that nothing was changed; without the
salt, guessed texts cannot be tried against the digest.
"""

from __future__ import annotations

import hashlib
import json
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
from salon.study.point import Point
from salon.study.prompt import PARTS, Prompt

_TEXTS = ("text", *PARTS)


class PrivatePoint(Noun):
    """What a point of a private prompt asks."""

    text: str | None = None
    rule: dict[str, Any] | None = None


class PrivateText(Noun):
    """One line of private.jsonl."""

    id: str
    salt: str = Field(pattern=r"^[0-9a-f]{32}$")
    text: str | None = None
    intent: str | None = None
    description: str | None = None
    aesthetics: str | None = None
    points: dict[str, PrivatePoint] = Field(default_factory=dict)
    """What its points ask, by id."""

    def prompt(self, public: Prompt) -> Prompt:
        """The whole prompt."""
        return public.model_copy(update={name: getattr(self, name) for name in _TEXTS})


def text_digest(kept: PrivateText) -> str:
    """What a suite shows of a private prompt."""
    lines = [kept.prompt(Prompt(id=kept.id)).view()]
    for id, point in sorted(kept.points.items()):
        lines.append(json.dumps({"id": id, **point.record()}, sort_keys=True, ensure_ascii=False))
    return hashlib.sha256((kept.salt + "\n".join(lines)).encode()).hexdigest()


def public_record(one: SuitePrompt) -> dict[str, Any]:
    """A prompt as prompts.jsonl has it: one flat object, without the text of a private prompt."""
    hidden = set(_TEXTS) if one.private else set()
    record = one.prompt.model_dump(mode="json", exclude_none=True, exclude=hidden)
    return record | one.model_dump(mode="json", exclude_defaults=True, exclude={"prompt"})


def public_point(point: Point, private: frozenset[str]) -> Point:
    """A point as points.jsonl has it: of a private prompt only that there is one, and which judges answer it."""
    return point.model_copy(update={"text": None, "rule": None}) if point.prompt in private else point


def hide(
    suite: Suite, prompts: Iterable[str], before: Mapping[str, PrivateText] | None = None
) -> tuple[Suite, list[PrivateText]]:
    """The suite with these prompts private, and what its keeper must keep; what was kept `before` keeps its salt."""
    known = {one.prompt.id: one for one in suite.prompts}
    chosen = list(dict.fromkeys(prompts))
    wrong = [id for id in chosen if id not in known or known[id].private]
    if wrong:
        public = [id for id, one in known.items() if not one.private]
        raise UnknownReference(
            "prompts of the suite that are not private yet are needed",
            found=", ".join(wrong),
            where=f"suite {suite.card.name!r}",
            remedy=f"there are {', '.join(public[:10])}" if public else "all are private",
        )
    kept = {id: _kept(known[id].prompt, suite.points, (before or {}).get(id)) for id in chosen}
    hidden = tuple(
        one.model_copy(update={"private": True, "digest": text_digest(kept[one.prompt.id])})
        if one.prompt.id in kept
        else one
        for one in suite.prompts
    )
    return replace(suite, prompts=hidden), list(kept.values())


def _kept(prompt: Prompt, points: Iterable[Point], before: PrivateText | None) -> PrivateText:
    own = {point.id: PrivatePoint(text=point.text, rule=point.rule) for point in points if point.prompt == prompt.id}
    texts = {name: getattr(prompt, name) for name in _TEXTS}
    salt = secrets.token_hex(16) if before is None else before.salt
    made = PrivateText(id=prompt.id, salt=salt, points=own, **texts)
    if before not in (None, made):
        raise BadValue("a keeper's file of this suite's texts is needed", found=f"another text of {prompt.id!r}",
                       remedy="name another file; one text of each prompt can be kept in one")  # fmt: skip
    return made


def read_kept(path: Path) -> dict[str, PrivateText]:
    """A keeper's file, by prompt."""
    return _by_id((PrivateText.parse(record, where=where) for where, record in read_lines(path)), path)


def fill_private(suite: Suite, path: Path) -> Suite:
    """The suite with the texts in `path`; each must be the one whose digest the suite holds."""
    texts = read_kept(path)
    unknown = sorted(texts.keys() - suite.private)
    if unknown:
        raise UnknownReference(
            "texts of this suite's private prompts are needed",
            found=f"{len(unknown):,} of other prompts: {', '.join(unknown[:5])}",
            where=str(path),
        )
    asked = {id: point for one in texts.values() for id, point in one.points.items()}
    return replace(
        suite,
        prompts=tuple(_filled(one, texts, path) for one in suite.prompts),
        points=tuple(_filled_point(point, asked) if point.prompt in texts else point for point in suite.points),
    )


def _filled_point(point: Point, asked: Mapping[str, PrivatePoint]) -> Point:
    return point.model_copy(update=dict(asked[point.id])) if point.id in asked else point


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
    found = text_digest(kept)
    if found != one.digest:
        raise BadValue(
            f"the text of private prompt {one.prompt.id!r} with the digest {(one.digest or 'none')[:16]} is needed",
            found=f"{found[:16]}: its text, its points or its salt are others",
            where=str(path),
            remedy="find the keeper's file of this version of the suite",
        )
    return one.model_copy(update={"prompt": kept.prompt(one.prompt)})
