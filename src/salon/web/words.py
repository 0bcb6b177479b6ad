"""The sentences of the pages: those of collecting, and those that only a browser needs (sentences/*.toml)."""

from __future__ import annotations

import tomllib
from pathlib import Path

from salon.collect.language import Words, languages

_FOLDER = Path(__file__).parent / "sentences"


def _read(language: str) -> dict[str, str]:
    found = tomllib.loads((_FOLDER / f"{language}.toml").read_text(encoding="utf-8"))
    return {f"{part}.{key}": sentence for part, some in found.items() for key, sentence in some.items()}


_MORE = {language: _read(language) for language in languages()}


class PageWords(Words):
    """Sentences of one language, by key."""

    def __init__(self, language: str) -> None:
        super().__init__(language)
        self._sentences = self._sentences | _MORE[language]

    def __contains__(self, key: str) -> bool:
        return key in self._sentences
