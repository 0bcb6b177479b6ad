"""Key points of a poster: what is asked, how it can be measured, what was said of it, and by whom beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from salon.bench.posters.answers import Read
from salon.bench.posters.answers_judged import read_yes
from salon.bench.posters.files import PosterFile
from salon.bench.posters.item import PosterItem
from salon.errors import BadValue

ONLY_EYES = "eyes"
"""The kind of a point that nothing but looking can answer."""


class PointVerdict(NamedTuple):
    """One key point of one poster."""

    text: str
    kind: str
    """The kind of its rule; `eyes` where it has none."""
    holds: bool | None
    """None where the verdict is owed."""
    why: str
    oracle: bool | None
    """What the record of how the poster was drawn says; None where it says nothing."""


def rules_of(file: PosterFile, item: PosterItem) -> tuple[Mapping[str, Any] | None, ...]:
    """How each point of the item can be measured; None where it cannot. BadValue where the rules do not fit."""
    rules = file.records[item.number].get("rules")
    if rules is None:
        return (None,) * len(item.truth)
    if not isinstance(rules, list) or len(rules) != len(item.truth) or not all(map(_is_rule, rules)):
        raise BadValue(
            f"a rule with a kind, or null, for each of {len(item.truth)} points is needed under 'rules'",
            found=f"{len(rules)} entries" if isinstance(rules, list) else type(rules).__name__,
            where=f"{file.path}, record {item.number + 1}",
        )
    return tuple(rules)


def _is_rule(one: Any) -> bool:
    return one is None or (isinstance(one, dict) and isinstance(one.get("kind"), str))


def said_of(file: PosterFile, item: PosterItem, field: str, n: int) -> list[str]:
    """The entries of a field that says something of each of n points; empty where there is nothing."""
    held = file.records[item.number].get(field)
    texts = [held] if isinstance(held, str) else held if isinstance(held, list) else []
    return [str(text or "") for text in (*texts, *[""] * n)][:n]


def point_verdicts(file: PosterFile, item: PosterItem) -> list[PointVerdict]:
    """The points of an item with what is known of them."""
    n = len(item.truth)
    judged, whys, oracle = (said_of(file, item, field, n) for field in ("judge", "why", "oracle"))
    return [
        PointVerdict(text, ONLY_EYES if rule is None else rule["kind"], yes(said), why, yes(other))
        for text, rule, said, why, other in zip(item.truth, rules_of(file, item), judged, whys, oracle, strict=True)
    ]


def yes(said: str) -> bool | None:
    """What a verdict says; None where it says neither."""
    read = read_yes(said)
    return bool(read.value) if isinstance(read, Read) else None


def with_oracle(file: PosterFile) -> PosterFile | None:
    """The file as if the oracle had judged it; None where it was not asked."""
    said = {item.number: file.records[item.number].get("oracle") for item in file.items}
    if not any(said.values()):
        return None
    return file.edited({number: {"judge": held} for number, held in said.items()})
