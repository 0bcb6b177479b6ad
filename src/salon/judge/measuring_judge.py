"""A judge that measures: it answers points of checklists by their rules, under the same protocol as every other judge.

It reads no words of the question: a point's `rule` says what must be so. All points of a picture are answered by one
look at it, in several processes where there are many pictures. What was found out about a picture is kept by the
content of all files it rests on, so that a second run looks at none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from salon.engine.processes import cores, over_processes
from salon.errors import BadFile, BadValue
from salon.judge.pixel_rules import Finding, Rule, read_rule
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.models.kept import Kept
from salon.store.pictures import read_bytes
from salon.study import Study
from salon.study.point import Point
from salon.study.signature import Signature

_PICTURES_EACH = 8
"""Pictures that are worth another process."""


class Look(NamedTuple):
    """One picture, and the rules to answer about it."""

    place: Path
    """The file that is looked at."""
    rules: tuple[Rule, ...]
    kept: Path


class _Asked(NamedTuple):
    """The questions about one picture."""

    place: Path
    indices: tuple[int, ...]
    options: tuple[str, ...]
    rules: tuple[Rule, ...]
    keys: tuple[str, ...]


class MeasuringJudge:
    """`look` answers the rules of a picture; `place` says which file it looks at: the picture itself unless given."""

    def __init__(
        self,
        name: str,
        study: Study,
        points: Sequence[Point],
        *,
        method: Signature,
        look: Callable[[Look], list[Finding]],
        place: Callable[[Path], Path] | None = None,
        kept: Kept | None = None,
        processes: int | None = None,
    ) -> None:
        self.name = name
        self._rules = {(one.prompt, one.id): _rule(one, name) for one in points}
        told = sorted(json.dumps([*key, rule.record()], default=str) for key, rule in self._rules.items())
        data = hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:12]
        self.signature = method.model_copy(update={"data": data})
        self._method, self._look, self._place = str(method), look, place or (lambda picture: picture)
        self._prompts = {item.id: item.prompt for item in study.nouns("items")}
        self._kept, self._processes = kept or Kept(), processes

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, answer): first what is known or cannot be looked at, then picture by picture."""
        fresh: list[_Asked] = []
        by_picture = groupby(enumerate(conversations), key=lambda one: one[1].sights[0] if one[1].sights else None)
        for _, group in by_picture:
            asked = self._asked(list(group))
            if isinstance(asked, _Asked):
                known = self._kept.many(set(asked.keys))
                if len(known) == len(set(asked.keys)):
                    yield from _replies(asked, [Finding(*known[key]) for key in asked.keys], stored=True)
                else:
                    fresh.append(asked)
            else:
                yield from asked
        yield from self._fresh(fresh)

    def _fresh(self, fresh: Sequence[_Asked]) -> Iterator[tuple[int, Reply | NoReply]]:
        looks = [Look(one.place, one.rules, self._kept.path) for one in fresh]
        processes = self._processes or min(cores(), -(-len(looks) // _PICTURES_EACH) or 1)
        for number, found in over_processes(self._look, looks, processes=processes):
            asked = fresh[number]
            if isinstance(found, BadFile):
                yield from _none(asked.indices, found)
            elif isinstance(found, Exception):
                raise found
            else:
                self._kept.keep({key: list(one) for key, one in zip(asked.keys, found, strict=True)})
                yield from _replies(asked, found, stored=False)

    def _asked(self, group: Sequence[tuple[int, Conversation]]) -> _Asked | list[tuple[int, NoReply]]:
        indices = tuple(index for index, _ in group)
        rules = tuple(self._rule_of(one) for _, one in group)
        first = group[0][1]
        place = self._place(first.sights[0].path)
        try:
            content = hashlib.sha256(read_bytes(place)).hexdigest()
        except BadFile as error:
            return list(_none(indices, error))
        keys = tuple(self._key(content, rule) for rule in rules)
        return _Asked(place, indices, first.options, rules, keys)

    def _rule_of(self, one: Conversation) -> Rule:
        prompt = self._prompts.get(one.sights[0].item) if len(one.sights) == 1 else None
        rule = self._rules.get((prompt, one.point or "")) or self._rules.get((None, one.point or ""))
        if rule is None:
            raise BadValue(
                f"{self.name} answers points of checklists",
                found="another question"
                if one.point is None
                else f"the point {one.point!r}, of which no rule is known",
                remedy="--protocol checklist, with --points FILE",
            )
        return rule

    def _key(self, content: str, rule: Rule) -> str:
        return f"{self._method}|{content}|{json.dumps(rule.record(), sort_keys=True, ensure_ascii=False)}"


def _rule(point: Point, judge: str) -> Rule:
    if point.rule is None:
        raise BadValue(
            f"a point that {judge} can answer has a rule",
            found="none",
            where=f"point {point.id!r}" + (f" of {point.prompt!r}" if point.prompt else ""),
            remedy='add one, such as rule = {kind = "contrast", least = 3}, or send it to another judge with --routes',
        )
    return read_rule(point.rule, where=f"rule of point {point.id!r}")


def _replies(asked: _Asked, found: Sequence[Finding], *, stored: bool) -> Iterator[tuple[int, Reply]]:
    yes, no = asked.options
    for index, one in zip(asked.indices, found, strict=True):
        said: dict[str, Any] = {"why": one.why, "verdict": yes if one.holds else no}
        yield index, Reply(text=json.dumps(said, ensure_ascii=False), model="measured", stored=stored)


def _none(indices: Sequence[int], error: BadFile) -> Iterator[tuple[int, NoReply]]:
    for index in indices:
        yield index, NoReply(kind="broken-image", reason=f"{error.needed}: {error.found}")
