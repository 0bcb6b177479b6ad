"""The hash puzzle that a newcomer's browser solves, and captchas of others by their word.

A puzzle is a signed text. Its solution is a number such that SHA-256 of `text:number` begins with as many zero bits as
the text says. The more newcomers came from an address on a day, the more bits: one more for every doubling. A solution
is good for half an hour and one voter.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping

from itsdangerous import BadSignature, URLSafeTimedSerializer
from markupsafe import Markup, escape

from salon.errors import BadValue
from salon.study import GROUPS, Captcha, load_plugin

MINUTES = 30
_LONGEST = 500


class HashPuzzle:
    """Work that costs a voter a second and ten thousand voters hours."""

    name = "hash puzzle"
    sources: tuple[str, ...] = ()

    def __init__(self, key: bytes, difficulty: int) -> None:
        self._signer = URLSafeTimedSerializer(key, salt="salon arena puzzle")
        self.difficulty = difficulty

    def bits(self, newcomers: int) -> int:
        """Zero bits that a solution needs."""
        return min(40, self.difficulty + newcomers.bit_length()) if self.difficulty else 0

    def widget(self, newcomers: int) -> str:
        """Hidden fields that `arena.js` fills in."""
        bits = self.bits(newcomers)
        text = self._signer.dumps([secrets.token_urlsafe(12), bits])
        return Markup(
            '<input type="hidden" name="puzzle" value="{}" data-bits="{}"><input type="hidden" name="solution">'
        ).format(escape(text), bits)

    def verify(self, form: Mapping[str, str], newcomers: int) -> str:
        """The puzzle's text where it is solved; BadValue otherwise."""
        text, solution = form.get("puzzle", ""), form.get("solution", "")
        try:
            _, bits = self._signer.loads(text, max_age=60 * MINUTES)
        except (BadSignature, ValueError, TypeError):
            raise _unsolved("none, or one that is too old") from None
        if bits < self.bits(newcomers) - 1:  # gathered while it was easier
            raise _unsolved("one that was given out before others came from here")
        if len(solution) > _LONGEST or leading_zeros(hashlib.sha256(f"{text}:{solution}".encode()).digest()) < bits:
            raise _unsolved("a wrong solution")
        return text


def leading_zeros(digest: bytes) -> int:
    """Zero bits at the start."""
    return 8 * len(digest) - int.from_bytes(digest, "big").bit_length()


def _unsolved(found: str) -> BadValue:
    return BadValue("a solved puzzle is needed: it keeps programs out", found=found, remedy="load the page again")


def open_captcha(word: str | None, key: bytes, difficulty: int) -> Captcha:
    """The captcha that `word` names, or the hash puzzle."""
    if word is None:
        return HashPuzzle(key, difficulty)
    loaded = load_plugin("captchas", word)
    if loaded is None:
        raise BadValue(
            f"{GROUPS['captchas'].form} is needed", found=repr(word), remedy="salon plugins list, or python:MODULE:NAME"
        )
    captcha: Captcha = loaded.part
    return captcha
