"""The sentences of the interface, by key, in the languages of collect/words."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

from salon.errors import UnknownReference
from salon.study import Criterion

_FOLDER = "words"
_ALONE = ("rate", "flag", "checklist", "regions", "text")
"""Protocols that show one item."""


class Words:
    """Sentences of one language: `Words("de")("compare.left")`."""

    def __init__(self, language: str) -> None:
        if language not in languages():
            raise UnknownReference(
                "a language of the interface is needed",
                found=repr(language),
                where="language",
                remedy="one of " + ", ".join(languages()),
            )
        self.language = language
        self._sentences = sentences(language)

    def __call__(self, key: str, **values: object) -> str:
        """The sentence `key` with its placeholders filled in."""
        if key not in self._sentences:
            raise UnknownReference("a key of the interface's sentences is needed", found=repr(key))
        return self._sentences[key].format(**values)


def criterion_question(criterion: Criterion, protocol: str, words: Words) -> str:
    """What raters are asked about a criterion: its own question, or the general one of the protocol."""
    own = criterion.rate_question if protocol in _ALONE else criterion.question
    return own or words(f"{protocol}.{'drag' if protocol == 'rank' else 'which'}")


@cache
def languages() -> tuple[str, ...]:
    """Languages there are sentences for."""
    files = resources.files("salon.collect").joinpath(_FOLDER).iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


@cache
def sentences(language: str) -> dict[str, str]:
    """All sentences of a language by dotted key."""
    text = resources.files("salon.collect").joinpath(_FOLDER, f"{language}.toml").read_text(encoding="utf-8")
    return {f"{part}.{key}": words for part, found in tomllib.loads(text).items() for key, words in found.items()}
