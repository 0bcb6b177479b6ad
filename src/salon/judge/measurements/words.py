"""Are the words there that the brief asks for?

A word is what stands between spaces and holds a letter or a digit. Words are compared without case and without
anything but letters and digits; accents count. Engines put spaces wrong, so runs are compared: consecutive words of
one text as asked, written together, with consecutive words of one line as read, written together. The longest runs are
struck out first, and every word read accounts for at most one run: a word asked for three times has to be read three
times.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

from salon.judge.measurements.seen import Seen

_Run = tuple[int, int, int]
_Words = list[list[str | None]]


def word_accuracy(seen: Seen) -> float | None:
    """Share of the words asked for that were read; None where the prompt quotes none."""
    wanted = [folded(text.split()) for text in seen.asked.values()]
    found = [one for text in found_words(wanted, (line.text for line in seen.lines)) for one in text]
    return sum(found) / len(found) if found else None


def folded(words: Iterable[str]) -> list[str]:
    """Words as they are compared; those without a letter or digit are gone."""
    plain = (unicodedata.normalize("NFKC", word).casefold() for word in words)
    return [word for word in ("".join(filter(str.isalnum, word)) for word in plain) if word]


def found_words(wanted: Sequence[Sequence[str]], lines: Iterable[str]) -> list[list[bool]]:
    """For every word of every text in `wanted` (as `folded` gives them), whether it is in the lines read."""
    left: _Words = [list(folded(line.split())) for line in lines]
    open_: _Words = [list(text) for text in wanted]
    places: dict[str, list[_Run]] = {}
    for run, text in _runs(left):
        places.setdefault(text, []).append(run)
    for run, text in sorted(_runs(open_), key=lambda one: -len(one[1])):
        there = next((place for place in places.get(text, ()) if _is_whole(left, place)), None)
        if there and _is_whole(open_, run):
            _strike(left, there)
            _strike(open_, run)
    return [[word is None for word in text] for text in open_]


def _runs(rows: _Words) -> list[tuple[_Run, str]]:
    """Every run of consecutive words of a row: (row, start, end), and the words written together."""
    return [
        ((number, start, stop), "".join(filter(None, row[start:stop])))
        for number, row in enumerate(rows)
        for start in range(len(row))
        for stop in range(start + 1, len(row) + 1)
    ]


def _is_whole(rows: _Words, run: _Run) -> bool:
    number, start, stop = run
    return None not in rows[number][start:stop]


def _strike(rows: _Words, run: _Run) -> None:
    number, start, stop = run
    rows[number][start:stop] = [None] * (stop - start)
