"""Misspelling: the slips a generator makes when it draws letters instead of writing words."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

_WORD = re.compile(r"[^\W\d_]+")
LEAST_LETTERS = 3


def misspell(
    texts: Mapping[str, str], share: float, rng: np.random.Generator
) -> tuple[dict[str, str], tuple[tuple[str, str, str], ...]]:
    """The texts with `share` of their words misspelled, and (role, right word, wrong word) for each.

    At least one word, where one has three letters or more; shorter ones are left alone.
    """
    words = [(role, match) for role, text in texts.items() for match in _WORD.finditer(text)]
    long = [one for one in words if len(one[1].group()) >= LEAST_LETTERS]
    count = min(len(long), max(1, round(share * len(words)))) if share > 0 else 0
    chosen = sorted(rng.choice(len(long), size=count, replace=False)) if count else []
    slips = [(role, match, slip(match.group(), rng)) for role, match in (long[i] for i in chosen)]
    changed = dict(texts)
    for role, match, wrong in reversed(slips):  # from the end, so that earlier places stay right
        changed[role] = changed[role][: match.start()] + wrong + changed[role][match.end() :]
    return changed, tuple((role, match.group(), wrong) for role, match, wrong in slips)


def slip(word: str, rng: np.random.Generator) -> str:
    """`word` with one letter swapped, dropped, doubled or replaced; never the same word, and never its first letter."""
    ways = [_swapped, _dropped, _doubled, _replaced]
    for at in rng.permutation(len(ways)):
        wrong = ways[int(at)](word, rng)
        if wrong.casefold() != word.casefold():
            return wrong
    return word + word[-1]


def _swapped(word: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(1, max(2, len(word) - 1)))
    return word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]


def _dropped(word: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(1, len(word)))
    return word[:at] + word[at + 1 :]


def _doubled(word: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(1, len(word)))
    return word[:at] + word[at] + word[at:]


def _replaced(word: str, rng: np.random.Generator) -> str:
    """A letter of the same word in a wrong place: no letter that the face might lack."""
    at = int(rng.integers(1, len(word)))
    other = word[int(rng.integers(len(word)))]
    other = other.upper() if word[at].isupper() else other.lower()
    return word[:at] + other + word[at + 1 :]
