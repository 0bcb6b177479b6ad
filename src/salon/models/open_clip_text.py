"""Texts as open_clip's SimpleTokenizer reads them: cleaned, split into words, each word in pairs of bytes.

transformers' CLIP tokenizer has the same vocabulary and the same pairs, but it mends no mojibake, knows no HTML, and
takes other strings for special tokens. Source: hpsv2 1.2.0, src/open_clip/tokenizer.py.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import cache
from typing import Any

from salon.errors import BadFile, MissingExtra

try:
    import ftfy
    import regex
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

_STARTS, _ENDS = "<start_of_text>", "<end_of_text>"
_WORDS = regex.compile(
    rf"{_STARTS}|{_ENDS}|'s|'t|'re|'ve|'m|'ll|'d|[\p{{L}}]+|[\p{{N}}]|[^\s\p{{L}}\p{{N}}]+", regex.IGNORECASE
)


def clean_text(text: str) -> str:
    """Broken encodings mended, HTML unescaped twice, white space in single spaces, lower case."""
    mended = html.unescape(html.unescape(ftfy.fix_text(text))).strip()
    return str(regex.sub(r"\s+", " ", mended).strip().lower())


class OpenClipTokenizer:
    """Token ids by the vocabulary and the pairs of a CLIP tokenizer of transformers."""

    def __init__(self, tokenizer: Any, *, where: str) -> None:
        self._model = tokenizer.backend_tokenizer.model
        self._ends = {_STARTS: tokenizer.bos_token_id, _ENDS: tokenizer.eos_token_id}
        if None in self._ends.values() or not self._model.tokenize("a"):
            raise BadFile(
                "a CLIP tokenizer with a token for the start and one for the end is needed",
                found=type(tokenizer).__name__,
                where=where,
            )

    def ids(self, text: str, longest: int) -> list[int]:
        """At most `longest` ids, those of the start and the end included."""
        found = [self._ends[_STARTS]]
        for word in _WORDS.findall(clean_text(text)):
            if word in self._ends:
                found.append(self._ends[word])
            else:
                found += (token.id for token in self._model.tokenize(_as_letters(word)))
        return [*found[: longest - 1], self._ends[_ENDS]]

    def batch(self, texts: Sequence[str], longest: int) -> list[list[int]]:
        """One row for each text, filled up with zeros after its end."""
        rows = [self.ids(text, longest) for text in texts]
        return [row + [0] * (longest - len(row)) for row in rows]


def _as_letters(word: str) -> str:
    """Every byte of a word as the letter that stands for it in the vocabulary."""
    letters = _letters()
    return "".join(letters[byte] for byte in word.encode("utf-8", "replace"))


@cache
def _letters() -> list[str]:
    """A visible letter for each byte: itself where it is visible, else one past 255, in order."""
    visible = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return [chr(byte) if byte in visible else chr(next(others)) for byte in range(256)]
