"""How likely a VLM found each option at the place of its answer where it chose one.

The place is where the reply names its verdict: the last option that stands as a whole JSON string (`"A"`), else the
last one that stands as a word of its own. Given everything said before it, the chance of an option there is that of all
tokens that begin this option and no other. It is known only where the reply names an option; nothing is made up for a
reply that does not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache


def place_of(text: bytes, options: Sequence[str]) -> int | None:
    """Where in `text`, in bytes, the verdict begins; None when no option is in it."""
    for pattern in _patterns(tuple(options)):
        found = list(pattern.finditer(text))
        if found:
            return found[-1].start(1)
    return None


@cache
def _patterns(options: tuple[str, ...]) -> tuple[re.Pattern[bytes], ...]:
    """An option as a whole JSON string, and as a word of its own."""
    if not options:
        return ()
    words = b"|".join(re.escape(option.encode()) for option in sorted(options, key=len, reverse=True))
    alone = rb"(?<![0-9A-Za-z_\x80-\xff])(%b)(?![0-9A-Za-z_\x80-\xff])" % words
    return re.compile(rb'"(%b)"(?!\s*:)' % words), re.compile(alone)


def option_chances(
    tokens: Sequence[bytes], likely: Callable[[int], Mapping[bytes, float]], options: Sequence[str]
) -> dict[str, float] | None:
    """Log-probability of each option at the verdict's place, from the texts of the reply's tokens.

    `likely` gives the log-probabilities of the tokens that might have stood at a place, as far as they are known; an
    option that none of them begins is left out.
    """
    place = place_of(b"".join(tokens), options)
    if place is None:
        return None
    start = 0
    for number, text in enumerate(tokens):
        if start + len(text) > place:
            return _at(likely(number), text[: place - start], options) or None
        start += len(text)
    return None


def begun_by(text: bytes, before: bytes, options: Sequence[str]) -> str | None:
    """The one option that a token begins, after `before` (a space, a quotation mark) which shares the token with it."""
    fits = [option for option in options if _begins(text, before, option.encode())]
    return fits[0] if len(fits) == 1 else None


def _at(likely: Mapping[bytes, float], before: bytes, options: Sequence[str]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for text, chance in likely.items():
        option = begun_by(text, before, options)
        if option is not None:
            found.setdefault(option, []).append(chance)
    return {option: _log_sum(found[option]) for option in options if option in found}


def _begins(text: bytes, before: bytes, option: bytes) -> bool:
    """Whether the token is the option's first: all of it, a part of it, or it with a quotation mark behind."""
    if len(text) <= len(before) or not text.startswith(before):
        return False
    rest = text[len(before) :]
    return option.startswith(rest) or (rest.startswith(option) and not rest[len(option) :].strip(b'" \t\r\n},.'))


def _log_sum(values: Sequence[float]) -> float:
    top = max(values)
    return top if math.isinf(top) else top + math.log(sum(math.exp(value - top) for value in values))
