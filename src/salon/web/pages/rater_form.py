"""From the fields of a form to an answer. What the fields hold is checked below, where answers become judgments.

Fields end in the number of their criterion: `answer0`; ranks and points add their own, `rank0.2`, `point0.3`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.datastructures import FormData

from salon.collect.merge_ranking import PairAnswer
from salon.collect.question import Given, Question
from salon.errors import BadValue

_SHORT: dict[str, PairAnswer] = {"1": "first", "2": "second", "t": "tie"}
_MOST_PAIRS = 1000
_POINTS = {"yes": True, "no": False, "unclear": None}


def given_of(fields: FormData, question: Question) -> Given:
    """The answer on a form."""
    skipped = _text(fields, "skip") or None
    rationale = _text(fields, "rationale") or None
    if skipped:
        return Given.parse({"skipped": skipped})
    read = _READERS[question.kind]
    answers = {criterion: read(fields, k, question) for k, criterion in enumerate(question.criteria)}
    return Given.parse({"answers": answers, "rationale": rationale})


def pair_of(fields: FormData) -> tuple[tuple[PairAnswer, ...], PairAnswer]:
    """The pairs answered before, and the answer to this one; each is one letter on the form: 1, 2, t."""
    before, answer = _text(fields, "pairs"), _text(fields, "pair")
    if not set(before) <= set(_SHORT) or answer not in _SHORT or len(before) > _MOST_PAIRS:
        raise BadValue("answers to pairs are needed", found=repr(before + answer)[:40], where="the ranking")
    return tuple(_SHORT[one] for one in before), _SHORT[answer]


def short_pairs(pairs: Sequence[PairAnswer]) -> str:
    """Answers to pairs as a form holds them."""
    return "".join(letter for pair in pairs for letter, answer in _SHORT.items() if answer == pair)


def _compare(fields: FormData, k: int, question: Question) -> str:
    return _text(fields, f"answer{k}")


def _number(fields: FormData, k: int, question: Question) -> float:
    text = _text(fields, f"answer{k}")
    try:
        return float(text)
    except ValueError:
        raise BadValue("a number is needed", found=repr(text), where="the answer") from None


def _place(fields: FormData, k: int, question: Question) -> int:
    text = _text(fields, f"answer{k}")
    if not text.isdecimal() or len(text) > 4:
        raise BadValue("a place is needed", found=repr(text), where="the answer")
    return int(text)


def _rank(fields: FormData, k: int, question: Question) -> list[list[int]]:
    """Places by the rank written beside them; equal ranks stand together."""
    ranks = [_text(fields, f"rank{k}.{place}") for place in range(len(question.items))]
    if not all(rank.isdecimal() and len(rank) < 4 for rank in ranks):
        raise BadValue("a rank for every picture is needed", found=", ".join(map(repr, ranks)), where="the answer")
    numbers = [int(rank) for rank in ranks]
    return [[place for place, rank in enumerate(numbers) if rank == one] for one in sorted(set(numbers))]


def _points(fields: FormData, k: int, question: Question) -> list[bool | None]:
    chosen = [_text(fields, f"point{k}.{point}") for point in range(len(question.points))]
    if not all(one in _POINTS for one in chosen):
        raise BadValue("an answer for every point is needed", found=", ".join(map(repr, chosen)), where="the answer")
    return [_POINTS[one] for one in chosen]


def _cells(fields: FormData, k: int, question: Question) -> list[int]:
    marked = [text for text in fields.getlist(f"cell{k}") if isinstance(text, str)]
    if not all(text.isdecimal() and len(text) < 4 for text in marked):
        raise BadValue("numbers of cells are needed", found=", ".join(map(repr, marked)), where="the answer")
    return sorted({int(text) for text in marked})


_READERS: dict[str, Any] = {
    "compare": _compare,
    "rate": _number,
    "flag": _number,
    "choose": _place,
    "rank": _rank,
    "checklist": _points,
    "regions": _cells,
    "text": _compare,
}


def texts(fields: FormData, names: Sequence[str]) -> dict[str, str]:
    """Some fields as text; "" where one is missing or a file."""
    return {name: _text(fields, name) for name in names}


def _text(fields: FormData, name: str) -> str:
    value = fields.get(name, "")
    return value if isinstance(value, str) else ""
